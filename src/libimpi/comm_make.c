/* SPDX-License-Identifier: BSD-3-Clause
 *
 * New communicators from a spanning one.  All its members agree on a context
 * id, each client makes its native part, and the new one spans if its members
 * lie in several clients; else it is the native one.
 */
#include "libimpi/comm_make.h"

#include <stdlib.h>

#include "impi/constants.h"
#include "libimpi/assist.h"
#include "libimpi/coll.h"
#include "libimpi/state.h"
#include "libimpi/topo.h"

/* ---- putting one together ---- */

bool comm_in_one_client(const int *world, int size)
{
    for (int i = 1; i < size; i++) {
        if (impi_be.client_of[world[i]] != impi_be.client_of[world[0]])
            return false;
    }
    return true;
}

int comm_place(const int *world, int size, int rank)
{
    for (int i = 0; i < size; i++) {
        if (world[i] == rank)
            return i;
    }
    return MPI_UNDEFINED;
}

struct impi_comm *comm_add(const struct comm_parts *parts)
{
    struct impi_comm *c =
        comm_create(parts, impi_be.rank, impi_be.client_of, impi_be.crowded_of);

    if (!c)
        return NULL;
    if (impi_span_add(parts->comm, c) == 0)
        return c;
    comm_release(c);
    return NULL;
}

/* A native intercommunicator in place of our two native parts. */
static int native_inter(const struct comm_parts *parts, MPI_Comm *made)
{
    struct impi_comm *w = impi_be.world_comm;
    bool low = false;
    MPI_Comm comm = parts->comm, p2p = parts->p2p;
    int rc;

    for (int i = 0; i < parts->low; i++)
        low = low || parts->world[i] == w->rank;
    rc = ASSISTED(impi_real.Intercomm_create(comm, 0, p2p, low ? parts->low : 0,
                                             IMPI_MERGE_TAG, made));
    impi_real.Comm_free(&comm);
    impi_real.Comm_free(&p2p);
    return rc;
}

/* The hidden duplicate comes by a split, which calls no attribute callbacks. */
int comm_span(struct comm_parts *parts, MPI_Comm *made)
{
    struct impi_comm *c;
    int rc;

    *made = parts->comm;
    if (comm_in_one_client(parts->world, parts->size))
        return parts->low > 0 ? native_inter(parts, made) : MPI_SUCCESS;
    rc = ASSISTED(impi_real.Comm_split(parts->p2p, 0, 0, &parts->hidden));
    if (rc != MPI_SUCCESS)
        return rc;
    impi_real.Comm_set_errhandler(parts->hidden, MPI_ERRORS_RETURN);
    be_lock();
    c = comm_add(parts);
    be_unlock();
    return c ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

/* ---- MPI_Comm_dup ---- */

/* comm: the native duplicate of the program's handle. */
static int finish_dup(struct impi_comm *c, uint64_t cid, MPI_Comm comm,
                      MPI_Comm *newcomm)
{
    struct comm_parts parts = {.comm = comm,
                               .p2p = comm,
                               .cid = cid,
                               .world = c->world,
                               .size = c->size,
                               .low = c->inter ? c->first + c->peer : 0};
    int rc = MPI_SUCCESS;

    if (c->inter)
        rc = ASSISTED(impi_real.Comm_split(c->p2p, 0, 0, &parts.p2p));
    if (rc == MPI_SUCCESS)
        rc = comm_span(&parts, newcomm);
    if (rc == MPI_SUCCESS && c->topo)
        impi_span_find(*newcomm)->topo = topo_copy(c->topo);
    return rc;
}

static int dup_comm(struct impi_comm *c, MPI_Info info, bool with_info,
                    MPI_Comm *newcomm)
{
    MPI_Comm comm;
    uint64_t cid;
    int rc = cid_agree_dup(c, &cid);

    if (rc != MPI_SUCCESS)
        return rc;
    rc = with_info
             ? ASSISTED(impi_real.Comm_dup_with_info(c->comm, info, &comm))
             : ASSISTED(impi_real.Comm_dup(c->comm, &comm));
    if (rc != MPI_SUCCESS)
        return rc; /* the native library has told the error handler */
    return be_raise(c->comm, finish_dup(c, cid, comm, newcomm));
}

int impi_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm)
{
    struct impi_comm *c = impi_span_find(comm);

    if (!c)
        return ASSISTED(impi_real.Comm_dup(comm, newcomm));
    return dup_comm(c, MPI_INFO_NULL, false, newcomm);
}

int impi_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
    struct impi_comm *c = impi_span_find(comm);

    if (!c)
        return ASSISTED(impi_real.Comm_dup_with_info(comm, info, newcomm));
    return dup_comm(c, info, true, newcomm);
}

/* ---- MPI_Comm_split ---- */

int by_place(const void *a, const void *b)
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

    qsort(all, (size_t)c->size, sizeof(*all), by_place);
    for (int i = 0; i < c->size; i++) {
        if (all[i].color == color)
            world[n++] = c->world[all[i].rank];
    }
    return n;
}

static int finish_split(struct impi_comm *c, const struct place *own,
                        struct place *all, int *world, uint64_t cid,
                        MPI_Comm *newcomm)
{
    struct comm_parts parts = {.cid = cid, .world = world};
    int rc =
        ASSISTED(impi_real.Comm_split(c->comm, own->color, own->key, newcomm));

    if (rc != MPI_SUCCESS || own->color == MPI_UNDEFINED)
        return rc;
    parts.comm = parts.p2p = *newcomm;
    parts.size = pick(c, all, own->color, world);
    return be_raise(c->comm, comm_span(&parts, newcomm));
}

static int split(struct impi_comm *c, int color, int key, struct place *all,
                 int *world, MPI_Comm *newcomm)
{
    struct place own = {color, key, c->rank};
    uint64_t cid;
    int rc;

    if (!all || !world)
        return be_raise(c->comm, MPI_ERR_NO_MEM);
    rc = cid_agree(c, &cid);
    if (rc == MPI_SUCCESS)
        rc = coll_allgather_ints(c, &own.color, 3, &all->color);
    if (rc != MPI_SUCCESS)
        return rc;
    if (c->inter)
        return be_raise(c->comm, inter_split(c, &own, all, cid, newcomm));
    return finish_split(c, &own, all, world, cid, newcomm);
}

int impi_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
    struct impi_comm *c = impi_span_find(comm);
    struct place *all;
    int *world, rc;

    if (!c)
        return ASSISTED(impi_real.Comm_split(comm, color, key, newcomm));
    if (color < 0 && color != MPI_UNDEFINED)
        return be_raise(comm, MPI_ERR_ARG);
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
