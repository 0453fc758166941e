/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "hsn/pages.h"

static void *libc_alloc(void *arg, size_t size)
{
    (void)arg;
    return aligned_alloc(size, size);
}

static void libc_free(void *arg, void *page, size_t size)
{
    (void)arg;
    (void)size;
    free(page);
}

void hsn_pages_init(struct hsn_pages *p, size_t size,
                    const struct hsn_memory *memory)
{
    *p = (struct hsn_pages){.size = size};
    if (memory)
        p->memory = *memory;
    if (!p->memory.alloc)
        p->memory = (struct hsn_memory){libc_alloc, libc_free, NULL};
}

void *hsn_pages_get(struct hsn_pages *p)
{
    void *page = p->memory.alloc(p->memory.arg, p->size);

    if (page)
        p->allocated++;
    return page;
}

void hsn_pages_put(struct hsn_pages *p, void *page)
{
    if (!page)
        return;
    p->freed++;
    p->memory.free(p->memory.arg, page, p->size);
}
