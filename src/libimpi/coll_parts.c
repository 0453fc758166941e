/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the parts of vectors are.
 */
#include "libimpi/coll_parts.h"

#include <stdlib.h>

#include "libimpi/data.h"

int parts_cut(struct coll *x, int64_t all)
{
    const struct impi_parts *parts = &x->steps.parts;
    int64_t *cuts;

    if (parts->n == 0)
        return MPI_SUCCESS;
    cuts = coll_keep(x, calloc((size_t)parts->n + 1, sizeof(*cuts)));
    if (!cuts)
        return MPI_ERR_NO_MEM;
    impi_parts_cut(parts, x->lens, all, cuts);
    x->cuts = cuts;
    return MPI_SUCCESS;
}

uint64_t parts_wire(const struct coll *x)
{
    struct type_info info;

    return type_look_up(&info, x->type) == MPI_SUCCESS
               ? info.wire * (uint64_t)x->count
               : 0;
}

/* ---- a broadcast's data in their form on the wire ---- */

struct broadcast {
    bool source, open;
    struct data data;
};

/* Before the parts: where they are, or come to. */
static int begin(struct coll *x, struct broadcast *b)
{
    void *buf = x->buf[IMPI_BUF_DATA];
    int rc = b->source ? data_for_send(&b->data, buf, x->count, x->type)
                       : data_for_recv(&b->data, buf, x->count, x->type);

    if (rc != MPI_SUCCESS)
        return rc;
    b->open = true;
    x->wire = b->data.base;
    return MPI_SUCCESS;
}

static void drop(struct broadcast *b)
{
    if (b->open)
        data_drop(&b->data);
    b->open = false;
}

static int turn(struct coll *x)
{
    struct broadcast *b = x->arg;
    uint64_t bytes;

    if (!b->open)
        return begin(x, b);
    if (b->source) {
        drop(b);
        return MPI_SUCCESS;
    }
    b->open = false;
    return data_received(&b->data, b->data.len, &bytes);
}

static int finish(struct coll *x, int rc)
{
    drop(x->arg);
    return rc;
}

int parts_broadcast(struct coll *x, bool source)
{
    struct broadcast *b;

    if (x->steps.parts.n == 0)
        return MPI_SUCCESS;
    b = coll_keep(x, calloc(1, sizeof(*b)));
    if (!b)
        return MPI_ERR_NO_MEM;
    b->source = source;
    x->arg = b;
    x->local = turn;
    x->finish = finish;
    return parts_cut(x, (int64_t)parts_wire(x));
}
