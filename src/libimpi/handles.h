/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A table of what has a handle of ours: an index leads to a pointer.  Under
 * the lock.
 */
#ifndef LIBIMPI_HANDLES_H
#define LIBIMPI_HANDLES_H

#include <stdint.h>

struct handles {
    void **at;
    uint32_t count, size; /* places used so far, places there are */
    uint32_t *free;       /* [nfree] places given back; room for size */
    uint32_t nfree;
};

/* A place for p, or UINT32_MAX without memory. */
uint32_t handles_add(struct handles *h, void *p);
/* NULL: nothing is there. */
void *handles_get(const struct handles *h, uint32_t index);
void handles_remove(struct handles *h, uint32_t index);

#endif
