/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allgather by clients.  All blocks lie in their form on the wire, client by
 * client, in a buffer, or in the program's own where they lie there like that.
 */
#include "libimpi/coll_gathered.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "libimpi/coll.h"
#include "libimpi/coll_parts.h"
#include "libimpi/data.h"

struct gathered {
    struct data own;
    bool open;            /* own is */
    bool all_there;       /* in the client's master, or behind that */
    void *buffer;         /* NULL: the program's */
    int *counts, *displs; /* of the client's blocks, by native rank */
    int total;
};

static bool is_alone(const struct coll *x)
{
    return impi_group_num_local_to_rank(x->c->units, (uint32_t)x->c->rank) == 1;
}

static int native_master(const struct coll *x)
{
    return x->c->native[impi_group_local_master_rank(x->c->units,
                                                     (uint32_t)x->c->rank)];
}

/* What this process has, to its client's master. */
static int gather(struct coll *x, struct gathered *k)
{
    const struct blocks *b = &x->out;
    char *place = x->wire + x->places[x->c->rank];
    const void *own;
    int rc = data_for_send(&k->own, block_at(b, 0), block_count(b, 0),
                           block_type(b, 0));

    if (rc != MPI_SUCCESS)
        return rc;
    k->open = true;
    if (k->own.len > (uint64_t)x->lens[x->c->rank])
        return MPI_ERR_TRUNCATE;
    own = k->own.base;
    if (is_alone(x)) {
        if (own != place && k->own.len > 0)
            memcpy(place, own, k->own.len);
        return MPI_SUCCESS;
    }
    if (own == place && x->c->native_rank == native_master(x))
        own = MPI_IN_PLACE;
    return coll_started(x, impi_real.Igatherv(own, (int)k->own.len, MPI_BYTE,
                                              x->wire, k->counts, k->displs,
                                              MPI_BYTE, native_master(x),
                                              x->c->hidden, coll_native(x)));
}

static int hand_round(struct coll *x, struct gathered *k)
{
    if (is_alone(x))
        return MPI_SUCCESS;
    return coll_started(x, impi_real.Ibcast(x->wire, k->total, MPI_BYTE,
                                            native_master(x), x->c->hidden,
                                            coll_native(x)));
}

static int turn(struct coll *x)
{
    struct gathered *k = x->arg;

    if (k->all_there)
        return hand_round(x, k);
    k->all_there = true;
    return gather(x, k);
}

static int finish(struct coll *x, int rc)
{
    struct gathered *k = x->arg;

    if (k->open)
        data_drop(&k->own);
    for (int r = 0; k->buffer && rc == MPI_SUCCESS && r < x->c->size; r++)
        rc = block_take(x->wire + x->places[r], (size_t)x->lens[r], &x->in, r);
    free(k->buffer);
    free(k->counts);
    return rc;
}

/* ---- make ---- */

/* Bytes of block i on the wire. */
static uint64_t wire_of(const struct blocks *in, const struct type_info *info,
                        int i)
{
    return info->wire * (uint64_t)block_number(in, i);
}

bool gathered_is_better(const struct impi_comm *c, const struct blocks *in,
                        bool agreed)
{
    struct type_info info;
    uint64_t total = 0;

    if (!agreed || c->inter || type_look_up(&info, in->type) != MPI_SUCCESS)
        return false;
    for (int i = 0; i < c->size && total <= INT_MAX; i++)
        total += wire_of(in, &info, i);
    if (total > INT_MAX)
        return false;
    return c->size > SF_IMPI_STRAIGHT_MAX ||
           (total >= IMPI_COLL_LONG && c->units->nmasters < c->units->size);
}

/* lens, by_rank, places. */
static int place(struct coll *x, struct gathered *k)
{
    size_t n = (size_t)x->c->size;
    int *lens = coll_keep(x, calloc(3 * n, sizeof(int)));
    struct type_info info;
    int rc = type_look_up(&info, x->in.type);

    if (!lens)
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < x->c->size && rc == MPI_SUCCESS; i++) {
        lens[i] = (int)wire_of(&x->in, &info, i);
        k->total += lens[i];
    }
    impi_parts_places(&x->steps.parts, lens, (uint32_t)n, lens + n,
                      lens + 2 * n);
    x->lens = lens;
    x->places = lens + 2 * n;
    return rc;
}

/* As they are in the program's buffer, from its first one on? */
static bool lies_so(const struct coll *x)
{
    char *first = block_at(&x->in, (int)x->steps.parts.ranks[0]);
    uint64_t len;

    for (int i = 0; i < x->c->size; i++) {
        if (!data_is_plain(block_count(&x->in, i), block_type(&x->in, i),
                           &len) ||
            (char *)block_at(&x->in, i) != first + x->places[i])
            return false;
    }
    return true;
}

static int set_buffer(struct coll *x, struct gathered *k)
{
    size_t n = (size_t)x->c->native_size;

    k->counts = calloc(2 * n, sizeof(int));
    if (!k->counts)
        return MPI_ERR_NO_MEM;
    k->displs = k->counts + n;
    for (size_t q = 0; q < n; q++) {
        k->counts[q] = x->lens[x->c->members[q]];
        k->displs[q] = x->places[x->c->members[q]];
    }
    if (lies_so(x)) {
        x->wire = block_at(&x->in, (int)x->steps.parts.ranks[0]);
        return MPI_SUCCESS;
    }
    x->wire = k->buffer = malloc((size_t)k->total + 1);
    return k->buffer ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int gathered_make(struct coll *x)
{
    struct gathered *k = coll_keep(x, calloc(1, sizeof(*k)));
    int rc;

    if (!k)
        return MPI_ERR_NO_MEM;
    rc = coll_made(impi_schedule_allgather(&x->steps, x->c->units,
                                           (uint32_t)x->c->rank, x->tag));
    if (rc == MPI_SUCCESS)
        rc = place(x, k);
    if (rc == MPI_SUCCESS)
        rc = parts_cut(x, 0);
    if (rc == MPI_SUCCESS)
        rc = set_buffer(x, k);
    if (rc != MPI_SUCCESS) {
        free(k->buffer);
        free(k->counts);
        return rc;
    }
    x->arg = k;
    x->local = turn;
    x->finish = finish;
    return MPI_SUCCESS;
}
