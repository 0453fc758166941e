/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of requests: chunks that never move.
 */
#include <stdlib.h>
#include <string.h>

#include "libimpi/persist.h"
#include "libimpi/req.h"

#define CHUNKS_MAX ((HANDLE_INDEX_MAX + 1u) / REQ_CHUNK)

struct req_table req_table;

static bool add_chunk(void)
{
    struct req *c;

    if (req_table.nchunks == req_table.size) {
        size_t size = req_table.size ? 2 * req_table.size : 16;
        struct req **p = realloc(req_table.chunk, size * sizeof(*p));

        if (!p)
            return false;
        req_table.chunk = p;
        req_table.size = size;
    }
    if (req_table.nchunks == CHUNKS_MAX || !(c = calloc(REQ_CHUNK, sizeof(*c))))
        return false;
    for (uint32_t i = REQ_CHUNK; i > 0; i--) {
        c[i - 1].index = (uint32_t)req_table.nchunks * REQ_CHUNK + i - 1;
        c[i - 1].next = req_table.free;
        req_table.free = &c[i - 1];
    }
    req_table.chunk[req_table.nchunks++] = c;
    return true;
}

void req_init(struct req *r)
{
    memset(&r->native, 0, sizeof(*r) - offsetof(struct req, native));
    r->native = MPI_REQUEST_NULL;
    r->data.staging = NULL;
    r->data.held = false;
    r->core.user = r;
}

struct req *req_alloc(void)
{
    struct req *r;
    uint32_t index;

    if (!req_table.free && !add_chunk())
        return NULL;
    r = req_table.free;
    req_table.free = r->next;
    index = r->index;
    req_init(r);
    r->index = index;
    return r;
}

void req_free(struct req *r)
{
    data_drop(&r->data);
    persist_free(r->persist);
    r->persist = NULL;
    r->next = req_table.free;
    req_table.free = r;
}

void req_again(struct req *r)
{
    struct persist *p = r->persist;
    uint32_t index = r->index;

    req_init(r);
    r->index = index;
    r->persist = p;
}

bool req_active(const struct req *r)
{
    return !r->persist || r->persist->active;
}
