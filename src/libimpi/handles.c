/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A table of what has a handle of ours.
 */
#include "libimpi/handles.h"

#include <stdlib.h>

#include "libimpi/family.h"

static int grow(struct handles *h)
{
    uint32_t size = h->size ? 2 * h->size : 16;
    void **at = realloc(h->at, size * sizeof(*at));
    uint32_t *list;

    if (at)
        h->at = at;
    list = realloc(h->free, size * sizeof(*list));
    if (list)
        h->free = list;
    if (!at || !list)
        return -1;
    h->size = size;
    return 0;
}

uint32_t handles_add(struct handles *h, void *p)
{
    uint32_t index;

    if (h->nfree > 0) {
        index = h->free[--h->nfree];
    } else {
        if (h->count == h->size && grow(h) < 0)
            return UINT32_MAX;
        if (h->count > HANDLE_INDEX_MAX)
            return UINT32_MAX;
        index = h->count++;
    }
    h->at[index] = p;
    return index;
}

void *handles_get(const struct handles *h, uint32_t index)
{
    return index < h->count ? h->at[index] : NULL;
}

void handles_remove(struct handles *h, uint32_t index)
{
    if (!handles_get(h, index))
        return;
    h->at[index] = NULL;
    h->free[h->nfree++] = index;
}
