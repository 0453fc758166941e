/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists of node names, written as Slurm writes them: n[0-3,7],login.
 */
#ifndef SF_SFABRIC_NAMES_H
#define SF_SFABRIC_NAMES_H

#include <stddef.h>

/* The names (sorted here, repetitions dropped) as one text; free() it.  NULL:
 * no memory. */
char *names_compress(const char **names, size_t n);

#endif
