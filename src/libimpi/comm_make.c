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
#include "libimpi/group.h"
#include "libimpi/ours.h"
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

struct impi_comm *comm_add(const struct comm_parts *parts)
{
    struct impi_comm *c = comm_create(parts, impi_be.rank, impi_be.client_of);

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
    int rc = cid_agree(c, &cid);

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

/* ---- MPI_Comm_idup ---- */

struct idup {
    struct comm_parts parts;
    MPI_Comm comm; /* the handle of the old one */
    uint64_t own, max;
    MPI_Comm *newcomm;
};

/* Where several are called one after the other, one at a time: Open MPI mixes
 * up those on one communicator if their order is not the same everywhere. */
static int idup_native(struct coll *x)
{
    struct idup *d = x->arg;
    int rc =
        impi_real.Comm_idup(x->c->hidden, &d->parts.hidden, coll_native(x));

    if (rc == MPI_SUCCESS)
        rc = impi_real.Comm_idup(d->comm, &d->parts.comm, coll_native(x));
    if (rc == MPI_SUCCESS && x->c->inter)
        rc = impi_real.Comm_idup(x->c->p2p, &d->parts.p2p, coll_native(x));
    return rc;
}

static int idup_finish(struct coll *x, int rc)
{
    struct idup *d = x->arg;
    struct impi_comm *n = NULL;

    if (!x->c->inter)
        d->parts.p2p = d->parts.comm;
    if (rc == MPI_SUCCESS)
        rc = cid_take(d->max, &d->parts.cid);
    if (rc == MPI_SUCCESS) {
        impi_real.Comm_set_errhandler(d->parts.hidden, MPI_ERRORS_RETURN);
        n = comm_add(&d->parts);
        rc = n ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    }
    if (n && x->c->topo)
        n->topo = topo_copy(x->c->topo);
    *d->newcomm = d->parts.comm;
    return rc;
}

static int make_idup(struct coll *x, struct idup *d, MPI_Comm *newcomm)
{
    struct impi_comm *c = x->c;
    int rc;

    if (!d)
        return MPI_ERR_NO_MEM;
    coll_keep(x, d);
    *d = (struct idup){.own = cid_propose_own(), .newcomm = newcomm};
    d->parts.world = c->world;
    d->parts.size = c->size;
    d->parts.low = c->inter ? c->first + c->peer : 0;
    x->arg = d;
    x->local = idup_native;
    x->finish = idup_finish;
    d->comm = c->comm;
    rc = coll_make_allreduce(x, &d->own, &d->max, 1, MPI_UINT64_T, MPI_MAX);
    if (rc == MPI_SUCCESS)
        rc = coll_made(impi_schedule_add_other(&x->steps));
    return rc;
}

int impi_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    struct impi_comm *c = impi_span_find(comm);
    struct coll *x;

    if (!c)
        return impi_real.Comm_idup(comm, newcomm, request);
    x = coll_new(c);
    return coll_run(x, make_idup(x, malloc(sizeof(struct idup)), newcomm),
                    request);
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

/* ---- MPI_Comm_create ---- */

static bool is_in(const struct impi_comm *c, int world)
{
    for (int i = 0; i < c->local; i++) {
        if (c->world[c->first + i] == world)
            return true;
    }
    return false;
}

/* The members of a group that must be a part of c's own group. */
static int subset(const struct impi_comm *c, MPI_Group group, struct members *m)
{
    int rc = members_of(group, m);

    for (int i = 0; i < m->n && rc == MPI_SUCCESS; i++) {
        if (!is_in(c, m->world[i]))
            rc = MPI_ERR_GROUP;
    }
    return rc;
}

static int create_part(struct impi_comm *c, const struct members *m,
                       uint64_t cid, MPI_Comm *newcomm)
{
    struct comm_parts parts = {.cid = cid, .world = m->world, .size = m->n};
    MPI_Group native;
    int rc = group_native_part(m->world, m->n, &native);

    if (rc != MPI_SUCCESS)
        return rc;
    rc = ASSISTED(impi_real.Comm_create(c->comm, native, newcomm));
    group_drop(native);
    if (rc != MPI_SUCCESS || *newcomm == MPI_COMM_NULL)
        return rc;
    parts.comm = parts.p2p = *newcomm;
    return comm_span(&parts, newcomm);
}

/* As a split in which the place in the group is the key. */
static int create_inter(struct impi_comm *c, const struct members *m,
                        uint64_t cid, MPI_Comm *newcomm)
{
    int at = members_find(m, impi_be.rank), rc;
    struct place own = {at < 0 ? MPI_UNDEFINED : 0, at, c->rank};
    struct place *all = calloc((size_t)c->size, sizeof(*all));

    if (!all)
        return MPI_ERR_NO_MEM;
    rc = coll_allgather_ints(c, &own.color, 3, &all->color);
    if (rc == MPI_SUCCESS)
        rc = inter_split(c, &own, all, cid, newcomm);
    free(all);
    return rc;
}

static int create(struct impi_comm *c, const struct members *m,
                  MPI_Comm *newcomm)
{
    uint64_t cid;
    int rc = cid_agree(c, &cid);

    if (rc != MPI_SUCCESS)
        return rc;
    return be_raise(c->comm, c->inter ? create_inter(c, m, cid, newcomm)
                                      : create_part(c, m, cid, newcomm));
}

int impi_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm)
{
    struct impi_comm *c = impi_span_find(comm);
    struct members m;
    int rc;

    if (!c && impi_group_ours(group))
        return be_raise(comm, MPI_ERR_GROUP);
    if (!c)
        return ASSISTED(impi_real.Comm_create(comm, group, newcomm));
    rc = subset(c, group, &m);
    rc = rc == MPI_SUCCESS ? create(c, &m, newcomm) : be_raise(comm, rc);
    free(m.world);
    return rc;
}

/* Only the group's members come: they agree in a context that is theirs for
 * the time, told from others of the same kind by the tag. */
static int group_agree(struct comm_parts *parts, int tag)
{
    struct impi_comm *c;
    uint64_t cid;
    int rc = ASSISTED(impi_real.Comm_split(parts->p2p, 0, 0, &parts->hidden));

    if (rc != MPI_SUCCESS)
        return rc;
    impi_real.Comm_set_errhandler(parts->hidden, MPI_ERRORS_RETURN);
    be_lock();
    c = comm_create(parts, impi_be.rank, impi_be.client_of);
    be_unlock();
    if (!c)
        return MPI_ERR_NO_MEM;
    c->tag_base = (tag & 0x3fffff) << 8;
    rc = cid_agree(c, &cid);
    be_lock();
    c->tag_base = 0;
    c->cid = cid;
    if (rc == MPI_SUCCESS && impi_span_add(parts->comm, c) < 0)
        rc = MPI_ERR_NO_MEM;
    if (rc != MPI_SUCCESS)
        comm_release(c);
    be_unlock();
    return rc;
}

static int create_group(struct impi_comm *c, const struct members *m, int tag,
                        MPI_Comm *newcomm)
{
    struct comm_parts parts = {
        .cid = c->cid | CID_FOR_GROUPS, .world = m->world, .size = m->n};
    MPI_Group native;
    int rc = group_native_part(m->world, m->n, &native);

    if (rc != MPI_SUCCESS)
        return rc;
    rc = ASSISTED(impi_real.Comm_create_group(c->comm, native, tag, newcomm));
    group_drop(native);
    if (rc != MPI_SUCCESS || *newcomm == MPI_COMM_NULL ||
        comm_in_one_client(m->world, m->n))
        return rc;
    parts.comm = parts.p2p = *newcomm;
    return group_agree(&parts, tag);
}

int impi_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag,
                           MPI_Comm *newcomm)
{
    struct impi_comm *c = impi_span_find(comm);
    struct members m = {0};
    int rc;

    if (!c && impi_group_ours(group))
        return be_raise(comm, MPI_ERR_GROUP);
    if (!c)
        return ASSISTED(impi_real.Comm_create_group(comm, group, tag, newcomm));
    if (c->inter)
        return be_raise(comm, MPI_ERR_COMM);
    rc = subset(c, group, &m);
    *newcomm = MPI_COMM_NULL;
    if (rc == MPI_SUCCESS && members_find(&m, impi_be.rank) >= 0)
        rc = create_group(c, &m, tag, newcomm);
    free(m.world);
    return be_raise(comm, rc);
}
