/* SPDX-License-Identifier: BSD-3-Clause
 *
 * New communicators from a spanning one.  All its members agree on a context
 * id (IMPI 4.6, 4.7), each client makes its native part, and the new one
 * spans if its members lie in several clients; else it is the native one.
 */
#include <stdlib.h>

#include "impi/constants.h"
#include "libimpi/assist.h"
#include "libimpi/coll.h"
#include "libimpi/state.h"

/* ---- context ids ---- */

/* The highest id of all members, made odd, plus one; the pair above is used.
 * Called by all members of c, also by those that get no communicator. */
static int next_cid(struct impi_comm *c, uint64_t *cid)
{
    uint64_t own = impi_be.max_cid | 1, max;
    int rc = coll_allreduce(c, &own, &max, 1, MPI_UINT64_T, MPI_MAX);

    if (rc != MPI_SUCCESS)
        return rc;
    if (max >= IMPI_MAX_CID - 1)
        return be_raise(c->comm, MPI_ERR_INTERN);
    *cid = max + 1;
    impi_be.max_cid = max + 2;
    return MPI_SUCCESS;
}

/* ---- putting one together ---- */

static bool in_one_client(const int *world, int size)
{
    for (int i = 1; i < size; i++) {
        if (impi_be.world.procs[world[i]].client !=
            impi_be.world.procs[world[0]].client)
            return false;
    }
    return true;
}

/* made: the native part.  The hidden duplicate comes by a split, which calls
 * no attribute callbacks. */
static int span(MPI_Comm made, uint64_t cid, const int *world, int size)
{
    struct impi_comm *n;
    MPI_Comm hidden;
    int rc;

    if (in_one_client(world, size))
        return MPI_SUCCESS;
    rc = impi_real.Comm_split(made, 0, 0, &hidden);
    if (rc != MPI_SUCCESS)
        return rc;
    impi_real.Comm_set_errhandler(hidden, MPI_ERRORS_RETURN);
    n = comm_create(made, hidden, cid, world, size, impi_be.rank,
                    impi_be.client_of);
    if (!n)
        return MPI_ERR_NO_MEM;
    be_lock();
    rc = impi_span_add(made, n) < 0 ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    be_unlock();
    return rc;
}

/* ---- MPI_Comm_dup ---- */

static int finish_dup(struct impi_comm *c, uint64_t cid, int rc,
                      MPI_Comm *newcomm)
{
    if (rc != MPI_SUCCESS)
        return rc; /* the native library has told the error handler */
    return be_raise(c->comm, span(*newcomm, cid, c->world, c->size));
}

int impi_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm)
{
    struct impi_comm *c = impi_span_find(comm);
    uint64_t cid;
    int rc;

    if (!c)
        return ASSISTED(impi_real.Comm_dup(comm, newcomm));
    rc = next_cid(c, &cid);
    if (rc != MPI_SUCCESS)
        return rc;
    return finish_dup(c, cid, impi_real.Comm_dup(comm, newcomm), newcomm);
}

int impi_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
    struct impi_comm *c = impi_span_find(comm);
    uint64_t cid;
    int rc;

    if (!c)
        return ASSISTED(impi_real.Comm_dup_with_info(comm, info, newcomm));
    rc = next_cid(c, &cid);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = impi_real.Comm_dup_with_info(comm, info, newcomm);
    return finish_dup(c, cid, rc, newcomm);
}

/* ---- MPI_Comm_split ---- */

struct place {
    int color, key, rank;
};

static int by_key(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->rank < y->rank ? -1 : 1;
}

/* World ranks of all with this color, in the new order. */
static int pick(const struct impi_comm *c, struct place *all, int color,
                int *world)
{
    int n = 0;

    qsort(all, (size_t)c->size, sizeof(*all), by_key);
    for (int i = 0; i < c->size; i++) {
        if (all[i].color == color)
            world[n++] = c->world[all[i].rank];
    }
    return n;
}

static int split(struct impi_comm *c, int color, int key, struct place *all,
                 int *world, MPI_Comm *newcomm)
{
    struct place own = {color, key, c->rank};
    uint64_t cid;
    int rc;

    if (!all || !world)
        return be_raise(c->comm, MPI_ERR_NO_MEM);
    rc = next_cid(c, &cid);
    if (rc == MPI_SUCCESS)
        rc = coll_allgather_ints(c, &own.color, 3, &all->color);
    if (rc == MPI_SUCCESS)
        rc = impi_real.Comm_split(c->comm, color, key, newcomm);
    if (rc != MPI_SUCCESS || color == MPI_UNDEFINED)
        return rc;
    return be_raise(c->comm,
                    span(*newcomm, cid, world, pick(c, all, color, world)));
}

int impi_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
    struct impi_comm *c = impi_span_find(comm);
    struct place *all;
    int *world, rc;

    if (!c)
        return ASSISTED(impi_real.Comm_split(comm, color, key, newcomm));
    all = calloc((size_t)c->size, sizeof(*all));
    world = calloc((size_t)c->size, sizeof(*world));
    rc = split(c, color, key, all, world, newcomm);
    free(all);
    free(world);
    return rc;
}

/* Those that can share memory are of one client: a native affair. */
int impi_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info,
                         MPI_Comm *newcomm)
{
    return ASSISTED(
        impi_real.Comm_split_type(comm, split_type, key, info, newcomm));
}

/* ---- the rest of a communicator's life ---- */

/* IMPI ends a communicator with a barrier.  Among our own it is left out:
 * context ids are never used again, and programs count on both libraries'
 * not waiting there. */
static int last_barrier(struct impi_comm *c)
{
    if (impi_be.world.flags & IMPI_WORLD_EXTENDED)
        return MPI_SUCCESS;
    return coll_barrier(c);
}

int impi_Comm_free(MPI_Comm *comm)
{
    struct impi_comm *c = impi_span_find(*comm);
    MPI_Comm hidden;
    int rc;

    if (!c || *comm == MPI_COMM_WORLD)
        return ASSISTED(impi_real.Comm_free(comm));
    rc = last_barrier(c);
    if (rc != MPI_SUCCESS)
        return rc;
    hidden = c->hidden;
    be_lock();
    impi_span_remove(*comm);
    c->comm = MPI_COMM_WORLD; /* for errors of requests still open */
    comm_release(c);
    be_unlock();
    impi_real.Comm_free(&hidden);
    return impi_real.Comm_free(comm);
}

static int order_rank(const struct impi_comm *c, int world)
{
    for (int i = 0; i < c->size; i++) {
        if (c->world[i] == world)
            return i;
    }
    return -1;
}

static int compare(const struct impi_comm *a, const struct impi_comm *b)
{
    int result = MPI_CONGRUENT;

    if (!a || !b || a->size != b->size)
        return MPI_UNEQUAL;
    for (int i = 0; i < a->size; i++) {
        if (a->world[i] == b->world[i])
            continue;
        if (order_rank(b, a->world[i]) < 0)
            return MPI_UNEQUAL;
        result = MPI_SIMILAR;
    }
    return result;
}

int impi_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int *result)
{
    struct impi_comm *a = impi_span_find(comm1), *b = impi_span_find(comm2);

    if (!a && !b)
        return impi_real.Comm_compare(comm1, comm2, result);
    *result = a == b ? MPI_IDENT : compare(a, b);
    return MPI_SUCCESS;
}
