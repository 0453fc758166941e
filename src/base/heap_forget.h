/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Clear what a library left of a secret in memory that it has freed.
 */
#ifndef SF_BASE_HEAP_FORGET_H
#define SF_BASE_HEAP_FORGET_H

#include <stddef.h>

/* Overwrite each copy of secret[0..len) in this process's heap (the part that
 * grows by brk(2), where the first thread's memory is) but secret itself.
 * Call it before anything else is allocated; one look at the whole heap.
 * Returns how many there were; -1 with errno: it could not look. */
int heap_forget(const void *secret, size_t len);

#endif
