/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Page-size buffers of the receive queue and the fragment queue.  The balance
 * is kept: allocated = freed + with the driver.  Those that processes get are
 * other ones (hsn/page_pool.h).
 */
#ifndef SF_HSN_PAGES_H
#define SF_HSN_PAGES_H

#include <stddef.h>
#include <stdint.h>

/* Where pages come from; NULL members: aligned memory of the C library. */
struct hsn_memory {
    void *(*alloc)(void *arg, size_t page_size); /* page-aligned, or NULL */
    void (*free)(void *arg, void *page, size_t page_size);
    void *arg;
};

struct hsn_pages {
    struct hsn_memory memory;
    size_t size;
    uint64_t allocated, freed; /* ever */
};

void hsn_pages_init(struct hsn_pages *p, size_t size,
                    const struct hsn_memory *memory);
void *hsn_pages_get(struct hsn_pages *p);
void hsn_pages_put(struct hsn_pages *p, void *page); /* NULL is fine */

#endif
