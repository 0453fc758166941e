/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spanning communicators: their tables, and the calls that ask them.
 */
#include "libimpi/comm.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "libimpi/assist.h"
#include "libimpi/coll.h"
#include "libimpi/comm_criss.h"
#include "libimpi/comm_make.h"
#include "libimpi/crowd.h"
#include "libimpi/foreign.h"
#include "libimpi/req.h"
#include "libimpi/state.h"
#include "libimpi/topo.h"

/* Native ranks follow the order of ranks: both sides of the table. */
static void fill_native(struct impi_comm *c, int *native, int *members)
{
    c->same = true;
    for (int i = 0; i < c->size; i++) {
        native[i] = -1;
        if (c->world[i] == impi_be.rank)
            c->rank = i;
        if (client_of(c->world[i]) != impi_be.client)
            continue;
        if (c->rank == i)
            c->native_rank = c->native_size;
        if (c->native_size != i)
            c->same = false;
        members[c->native_size] = i;
        native[i] = c->native_size++;
    }
    c->native = native;
    c->members = members;
}

static int fill_group(struct impi_comm *c)
{
    uint32_t *client = malloc((size_t)c->size * sizeof(*client));
    int rc;

    if (!client)
        return -1;
    for (int i = 0; i < c->size; i++)
        client[i] = client_of(c->world[i]);
    rc = impi_group_init(&c->group, client, (uint32_t)c->size);
    free(client);
    return rc;
}

static int fill_members(struct impi_comm *c, const struct comm_parts *parts)
{
    size_t bytes = (size_t)c->size * sizeof(int);
    int *world = malloc(bytes), *native = malloc(bytes);
    int *members = malloc(bytes);

    c->world = world;
    if (!world || !native || !members) {
        free(native);
        free(members);
        return -1;
    }
    memcpy(world, parts->world, bytes);
    fill_native(c, native, members);
    return fill_group(c);
}

/* The world itself, which the node's table has. */
static int use_table(struct impi_comm *c)
{
    const struct impi_table *t = &impi_be.table;
    uint32_t n;

    c->whole = true;
    c->world = t->identity;
    c->native = impi_table_native(t, impi_be.client);
    if (!c->native)
        return -1;
    c->group = t->group;
    c->rank = impi_be.rank;
    c->native_rank = c->native[c->rank];
    n = impi_group_local_master_num(&c->group, (uint32_t)c->rank);
    c->members = (const int *)impi_group_locals_to_master(&c->group, n);
    c->native_size = (int)impi_group_num_local_to_master(&c->group, n);
    c->same = c->members[c->native_size - 1] == c->native_size - 1;
    return 0;
}

static bool is_flat(const struct impi_comm *c)
{
    bool flat = impi_be.flat && c->size <= SF_IMPI_FLAT_MAX;

    for (int i = 0; flat && i < c->size; i++)
        flat = (uint32_t)c->world[i] < impi_be.home && crowd_is(c->world[i]);
    return flat;
}

static int fill_units(struct impi_comm *c)
{
    c->units = &c->group;
    if (!is_flat(c))
        return 0;
    c->units = &c->flat;
    return impi_group_init(&c->flat, (const uint32_t *)c->world,
                           (uint32_t)c->size);
}

static void destroy(struct impi_comm *c)
{
    if (!c->whole) {
        impi_group_free(&c->group);
        free((void *)c->world);
        free((void *)c->native);
        free((void *)c->members);
    }
    impi_group_free(&c->flat);
    topo_free(c->topo);
    free(c);
}

/* Which ranks are whose. */
static void fill_sides(struct impi_comm *c, int low)
{
    c->inter = low > 0;
    c->local = c->peers = c->size;
    c->straight = c->size;
    if (!c->inter)
        return;
    c->straight = 0;
    c->same = false;
    c->first = c->rank < low ? 0 : low;
    c->peer = c->rank < low ? low : 0;
    c->local = c->rank < low ? low : c->size - low;
    c->peers = c->size - c->local;
}

/* Who of them is of another world. */
static void find_foreign(struct impi_comm *c)
{
    c->strangers = true;
    for (int i = 0; i < c->size; i++) {
        bool foreign = (uint32_t)c->world[i] >= impi_be.home;

        c->foreign = c->foreign || foreign;
        if (!foreign && i >= c->peer && i < c->peer + c->peers)
            c->strangers = false;
    }
    if (c->foreign)
        foreign_hold(c);
}

struct impi_comm *comm_create(const struct comm_parts *parts)
{
    struct impi_comm *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->refs = 1;
    c->late = MPI_COMM_NULL;
    c->comm = parts->comm;
    c->p2p = parts->p2p;
    c->hidden = parts->hidden;
    c->cid = parts->cid;
    c->size = parts->size;
    c->rank = -1;
    c->queue_end = &c->queue;
    c->spares = !impi_be.multiple;
    if ((parts->world ? fill_members(c, parts) : use_table(c)) == 0 &&
        fill_units(c) == 0) {
        fill_sides(c, parts->low);
        find_foreign(c);
        return c;
    }
    destroy(c);
    return NULL;
}

void comm_free(struct impi_comm *c)
{
    if (c->foreign)
        foreign_release(c);
    impi_real.Comm_free(&c->hidden);
    if (c->late != MPI_COMM_NULL)
        impi_real.Comm_free(&c->late);
    if (c->inter)
        impi_real.Comm_free(&c->p2p);
    destroy(c);
}

/* ---- comm calls -------------------------------------------------------- */

/* What a program asks about a communicator, and its end. */

/* Apart, so that the straight ways save no registers for it. */
static __attribute__((noinline)) int comm_rank_slow(MPI_Comm comm, int *rank)
{
    const struct impi_comm *c = impi_span_find(comm);

    if (!c)
        return impi_real.Comm_rank(comm, rank);
    *rank = c->rank - c->first;
    return MPI_SUCCESS;
}

int impi_Comm_rank(MPI_Comm comm, int *rank)
{
    const struct impi_comm *c;

    if (likely(impi_comm_plain(comm)))
        return impi_real.Comm_rank(comm, rank);
    c = impi_span_again(comm);
    if (unlikely(!c))
        return comm_rank_slow(comm, rank);
    *rank = c->rank - c->first;
    return MPI_SUCCESS;
}

int impi_Comm_size(MPI_Comm comm, int *size)
{
    const struct impi_comm *c = impi_span_find(comm);

    if (likely(!c))
        return impi_real.Comm_size(comm, size);
    *size = c->local;
    return MPI_SUCCESS;
}

int impi_Comm_test_inter(MPI_Comm comm, int *flag)
{
    const struct impi_comm *c = impi_span_find(comm);

    if (!c)
        return impi_real.Comm_test_inter(comm, flag);
    *flag = c->inter;
    return MPI_SUCCESS;
}

int impi_Comm_remote_size(MPI_Comm comm, int *size)
{
    const struct impi_comm *c = impi_span_find(comm);

    if (!c)
        return impi_real.Comm_remote_size(comm, size);
    if (!c->inter)
        return be_raise(comm, MPI_ERR_COMM);
    *size = c->peers;
    return MPI_SUCCESS;
}

/* ---- comparing ---- */

/* n ranks of each, from world ranks a and b on. */
static int compare_groups(const int *a, const int *b, int n)
{
    int result = MPI_CONGRUENT;

    for (int i = 0; i < n; i++) {
        int k = 0;

        if (a[i] == b[i])
            continue;
        while (k < n && b[k] != a[i])
            k++;
        if (k == n)
            return MPI_UNEQUAL;
        result = MPI_SIMILAR;
    }
    return result;
}

static int compare(const struct impi_comm *a, const struct impi_comm *b)
{
    int mine, theirs;

    if (!a || !b || a->inter != b->inter || a->local != b->local ||
        a->peers != b->peers)
        return MPI_UNEQUAL;
    mine = compare_groups(a->world + a->first, b->world + b->first, a->local);
    theirs = compare_groups(a->world + a->peer, b->world + b->peer, a->peers);
    if (mine == MPI_UNEQUAL || theirs == MPI_UNEQUAL)
        return MPI_UNEQUAL;
    return mine == MPI_SIMILAR ? mine : theirs;
}

int impi_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int *result)
{
    struct impi_comm *a = impi_span_find(comm1), *b = impi_span_find(comm2);

    if (comm1 == MPI_COMM_NULL || comm2 == MPI_COMM_NULL)
        return be_raise(MPI_COMM_WORLD, MPI_ERR_COMM);
    if (!a && !b)
        return impi_real.Comm_compare(comm1, comm2, result);
    *result = a == b ? MPI_IDENT : compare(a, b);
    return MPI_SUCCESS;
}

/* ---- the end ---- */

/* IMPI ends a communicator with a barrier.  Among our own it is left out:
 * context ids are never used again, and programs count on both libraries'
 * not waiting there. */
static int last_barrier(struct impi_comm *c)
{
    if (!comm_strict())
        return MPI_SUCCESS;
    return c->inter ? criss_barrier(c) : coll_barrier(c);
}

static int let_go(struct impi_comm *c, MPI_Comm *comm)
{
    int rc = last_barrier(c);

    if (rc != MPI_SUCCESS)
        return rc;
    be_lock();
    impi_span_remove(*comm);
    c->comm = MPI_COMM_WORLD; /* for errors of requests still open */
    if (c->queue) {
        c->late = *comm;
        *comm = MPI_COMM_NULL;
    }
    req_drop_spares(c);
    comm_release(c);
    be_unlock();
    return *comm == MPI_COMM_NULL ? MPI_SUCCESS : impi_real.Comm_free(comm);
}

int impi_Comm_free(MPI_Comm *comm)
{
    struct impi_comm *c = impi_span_find(*comm);

    if (!c || *comm == MPI_COMM_WORLD)
        return ASSISTED(impi_real.Comm_free(comm));
    return let_go(c, comm);
}

/* Waits for the others, which is as good as waiting for what is under way
 * with them. */
int impi_Comm_disconnect(MPI_Comm *comm)
{
    struct impi_comm *c = impi_span_find(*comm);
    bool foreign = c && c->foreign;
    int rc;

    if (!c || *comm == MPI_COMM_WORLD)
        return ASSISTED(impi_real.Comm_disconnect(comm));
    rc = coll_barrier(c);
    if (rc == MPI_SUCCESS)
        rc = let_go(c, comm);
    if (rc == MPI_SUCCESS && foreign)
        foreign_part();
    return rc;
}
