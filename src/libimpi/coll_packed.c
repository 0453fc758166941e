/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The short form of Gather and Scatter (impi/schedule.h, "packed").  The
 * process that speaks for a client has a buffer with the blocks of its subtree,
 * each as it is on the wire, by vertex and then by rank; the root's begins
 * behind its own client's, whose processes it talks to straight.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "libimpi/coll.h"
#include "libimpi/coll_packed.h"
#include "libimpi/data.h"

struct packed {
    bool up;
    uint32_t root, vertex;
    uint32_t first, end; /* vertices in the buffer */
    size_t len;          /* of a block */
    char *buffer;
    struct blocks all, own; /* the user's: root's, everybody's */
    /* Of all blocks, singles by rank, then bundles by vertex. */
    void **at;
    int *counts;
    MPI_Datatype *types;
};

/* ---- the buffer ---- */

static uint32_t processes(const struct coll *x, const struct packed *k,
                          uint32_t v)
{
    const struct impi_group *g = x->c->units;

    return impi_group_num_local_to_master(g, impi_packed_client(g, k->root, v));
}

/* Bytes of vertices [from, to). */
static size_t room(const struct coll *x, const struct packed *k, uint32_t from,
                   uint32_t to)
{
    size_t n = 0;

    for (uint32_t v = from; v < to; v++)
        n += processes(x, k, v);
    return n * k->len;
}

static char *vertex_at(const struct coll *x, const struct packed *k, uint32_t v)
{
    return k->buffer + room(x, k, k->first, v);
}

typedef int block_f(struct packed *k, char *at, uint32_t rank);

/* For each block in the buffer. */
static int each_block(struct coll *x, struct packed *k, block_f *what)
{
    const struct impi_group *g = x->c->units;
    char *at = k->buffer;
    int rc = MPI_SUCCESS;

    for (uint32_t v = k->first; v < k->end; v++) {
        const uint32_t *ranks =
            impi_group_locals_to_master(g, impi_packed_client(g, k->root, v));

        for (uint32_t i = 0; i < processes(x, k, v) && rc == MPI_SUCCESS; i++) {
            rc = what(k, at, ranks[i]);
            at += k->len;
        }
    }
    return rc;
}

static int pack_one(struct packed *k, char *at, uint32_t rank)
{
    return block_put(at, k->len, &k->all, (int)rank);
}

static int unpack_one(struct packed *k, char *at, uint32_t rank)
{
    return block_take(at, k->len, &k->all, (int)rank);
}

static int name_one(struct packed *k, char *at, uint32_t rank)
{
    k->at[rank] = at;
    return MPI_SUCCESS;
}

/* ---- what the steps name ---- */

static void name_bytes(struct packed *k, size_t i, void *at, size_t n)
{
    k->at[i] = at;
    k->counts[i] = (int)n;
    k->types[i] = MPI_BYTE;
}

static void name_bundles(struct coll *x, struct packed *k)
{
    struct impi_coll_rules rules = coll_rules();
    const struct impi_group *g = x->c->units;

    for (uint32_t v = k->first; v < k->end; v++) {
        uint32_t to = v + impi_packed_span(g, &rules, v);

        if (v == 0 || to > k->end)
            continue;
        name_bytes(k, (size_t)x->c->size + v, vertex_at(x, k, v),
                   room(x, k, v, to));
    }
}

static void name_user(struct packed *k, size_t i, const struct blocks *b)
{
    k->at[i] = block_at(b, (int)i);
    k->counts[i] = block_count(b, (int)i);
    k->types[i] = block_type(b, (int)i);
}

/* Singles: the root and its client have the user's own blocks. */
static void name_singles(struct coll *x, struct packed *k)
{
    uint32_t me = (uint32_t)x->c->rank;

    for (size_t i = 0; i < (size_t)x->c->size; i++)
        name_bytes(k, i, NULL, k->len);
    if (me == k->root) {
        for (size_t i = 0; i < (size_t)x->c->size; i++)
            name_user(k, i, &k->all);
    } else if (k->vertex == 0) {
        name_user(k, me, &k->own);
    } else {
        each_block(x, k, name_one);
    }
}

/* ---- make and finish ---- */

static void packed_free(struct packed *k)
{
    free(k->buffer);
    free(k->at);
    free(k->counts);
    free(k->types);
    free(k);
}

/* A process of another client than the root's: its own block's place. */
static char *own_at(const struct coll *x, const struct packed *k)
{
    return k->at[x->c->rank];
}

static int finish(struct coll *x, int rc)
{
    struct packed *k = x->arg;

    if (rc == MPI_SUCCESS && k->up && (uint32_t)x->c->rank == k->root)
        rc = each_block(x, k, unpack_one);
    if (rc == MPI_SUCCESS && !k->up && k->vertex > 0)
        rc = block_take(own_at(x, k), k->len, &k->own, 0);
    packed_free(k);
    return rc;
}

/* The vertices whose blocks pass this process; a process that speaks for
 * nobody has its own block only, as if it were a client. */
static void set_range(struct coll *x, struct packed *k)
{
    struct impi_coll_rules rules = coll_rules();
    const struct impi_group *g = x->c->units;
    uint32_t me = (uint32_t)x->c->rank, v = k->vertex;

    k->first = k->end = v;
    if (me == k->root) {
        k->first = 1;
        k->end = impi_group_num_masters(g);
    } else if (v > 0 && impi_group_is_master(g, me)) {
        k->end = v + impi_packed_span(g, &rules, v);
    }
}

static int allocate(struct coll *x, struct packed *k)
{
    size_t n = (size_t)x->c->size + impi_group_num_masters(x->c->units);
    size_t bytes = room(x, k, k->first, k->end);

    k->buffer = calloc(1, bytes > k->len ? bytes : k->len + 1);
    k->at = calloc(n, sizeof(*k->at));
    k->counts = calloc(n, sizeof(*k->counts));
    k->types = calloc(n, sizeof(*k->types));
    return k->buffer && k->at && k->counts && k->types ? MPI_SUCCESS
                                                       : MPI_ERR_NO_MEM;
}

static int fill(struct coll *x, struct packed *k)
{
    uint32_t me = (uint32_t)x->c->rank;

    name_singles(x, k);
    name_bundles(x, k);
    if (k->vertex > 0 && !k->at[me])
        k->at[me] = k->buffer;
    if (k->up && k->vertex > 0)
        return block_put(own_at(x, k), k->len, &k->own, 0);
    if (!k->up && me == k->root)
        return each_block(x, k, pack_one);
    return MPI_SUCCESS;
}

/* The root's own block: from one of its user's buffers into the other. */
static int copy_self(struct coll *x, struct packed *k)
{
    const struct blocks *from = k->up ? &k->own : &k->all;
    const struct blocks *to = k->up ? &k->all : &k->own;
    int rc = block_put(k->buffer, k->len, from, x->c->rank);

    return rc == MPI_SUCCESS ? block_take(k->buffer, k->len, to, x->c->rank)
                             : rc;
}

static int make(struct coll *x, struct packed *k, bool self)
{
    struct impi_coll_rules rules = coll_rules();
    uint32_t me = (uint32_t)x->c->rank;
    int rc;

    set_range(x, k);
    rc = allocate(x, k);
    if (rc == MPI_SUCCESS && me == k->root && self)
        rc = copy_self(x, k);
    if (rc == MPI_SUCCESS)
        rc = fill(x, k);
    if (rc == MPI_SUCCESS)
        rc = coll_made(impi_schedule_packed(&x->steps, x->c->units, &rules, me,
                                            k->root, k->up));
    return rc;
}

int packed_make(struct coll *x, bool up, const struct blocks *all,
                const struct blocks *own, uint32_t root, bool self, size_t len)
{
    struct packed *k = calloc(1, sizeof(*k));
    int rc;

    if (!k)
        return MPI_ERR_NO_MEM;
    k->up = up;
    k->root = root;
    k->vertex = impi_packed_vertex(x->c->units, root, (uint32_t)x->c->rank);
    k->len = len;
    k->all = *all;
    k->own = *own;
    rc = make(x, k, self);
    if (rc != MPI_SUCCESS) {
        packed_free(k);
        return rc;
    }
    x->in = x->out =
        (struct blocks){.at = k->at, .counts = k->counts, .types = k->types};
    x->arg = k;
    x->finish = finish;
    return MPI_SUCCESS;
}

bool packed_is_short(const struct impi_comm *c, const struct blocks *b,
                     size_t *len)
{
    struct type_info info;
    uint64_t n;

    if (c->inter || type_look_up(&info, b->type) != MPI_SUCCESS)
        return false;
    n = info.wire * (uint64_t)b->count;
    *len = n;
    return n < (uint64_t)impi_be.world.coll_xsize &&
           n * (uint64_t)c->size <= INT_MAX;
}
