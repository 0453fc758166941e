/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Intercommunicators.  Inside, one is a communicator over both groups
 * (comm.h); its native parts are one of the own group's members in this
 * client, which is the program's handle, and one of both groups' members, for
 * messages.
 */
#include <stdlib.h>
#include <string.h>

#include "libimpi/assist.h"
#include "libimpi/comm_make.h"
#include "libimpi/group.h"
#include "libimpi/state.h"

/* ---- MPI_Comm_split, MPI_Comm_create ---- */

/* The new members of one of c's groups, its first rank and size given. */
static int pick(const struct impi_comm *c, const struct place *all, int first,
                int size, int color, int *world)
{
    struct place *p = malloc((size_t)size * sizeof(*p));
    int n = 0;

    if (!p)
        return -1;
    for (int i = 0; i < size; i++) {
        if (all[first + i].color == color)
            p[n++] = all[first + i];
    }
    qsort(p, (size_t)n, sizeof(*p), by_place);
    for (int i = 0; i < n; i++)
        world[i] = c->world[p[i].rank];
    free(p);
    return n;
}

/* world[]: both new groups, the one of c's lower group first. */
static int split_parts(struct impi_comm *c, const struct place *own,
                       const int *world, int low, int size, uint64_t cid,
                       MPI_Comm *newcomm)
{
    struct comm_parts parts = {
        .cid = cid, .world = world, .size = size, .low = low};
    bool none =
        own->color == MPI_UNDEFINED || low == 0 || low == size || size == 0;
    int color = none ? MPI_UNDEFINED : own->color;
    int rc =
        ASSISTED(impi_real.Comm_split(c->comm, color, own->key, &parts.comm));

    if (rc == MPI_SUCCESS)
        rc = ASSISTED(impi_real.Comm_split(
            c->p2p, color, none ? 0 : comm_place(world, size, impi_be.rank),
            &parts.p2p));
    *newcomm = MPI_COMM_NULL;
    if (rc != MPI_SUCCESS || none)
        return rc;
    return comm_span(&parts, newcomm);
}

int inter_split(struct impi_comm *c, const struct place *own, struct place *all,
                uint64_t cid, MPI_Comm *newcomm)
{
    int *world = malloc((size_t)c->size * sizeof(int)), rc;
    int first = c->first + c->peer, low, high = -1;

    if (!world)
        return MPI_ERR_NO_MEM;
    low = pick(c, all, 0, first, own->color, world);
    if (low >= 0)
        high = pick(c, all, first, c->size - first, own->color, world + low);
    rc = high < 0 ? MPI_ERR_NO_MEM
                  : split_parts(c, own, world, low, low + high, cid, newcomm);
    free(world);
    return rc;
}

/* ---- MPI_Intercomm_create ---- */

/* What the leaders tell each other: proposal and number of processes, then the
 * processes' world ranks. */
struct side {
    uint64_t head[2];
    int *world;
};

struct making {
    MPI_Comm local;
    int leader; /* in local */
    int rank;   /* own rank there */
    MPI_Comm peer;
    int remote; /* the other leader's rank in peer */
    int tag;
    struct side own, other;
};

/* Ranks of the local communicator, and the highest proposal of them. */
static int own_side(struct making *m)
{
    struct impi_comm *c = impi_span_find(m->local);
    uint64_t own = cid_propose();
    struct members all = {0};
    MPI_Group group;
    int rc = c && c->inter ? MPI_ERR_COMM : impi_Comm_group(m->local, &group);

    if (rc == MPI_SUCCESS) {
        rc = members_of(group, &all);
        group_drop(group);
    }
    if (rc != MPI_SUCCESS)
        return be_raise(m->local, rc);
    m->own.world = all.world;
    m->own.head[1] = (uint64_t)all.n;
    m->rank = members_find(&all, impi_be.rank);
    return impi_Reduce(&own, &m->own.head[0], 1, MPI_UINT64_T, MPI_MAX,
                       m->leader, m->local);
}

static int swap_heads(struct making *m)
{
    return impi_Sendrecv(m->own.head, 2, MPI_UINT64_T, m->remote, m->tag,
                         m->other.head, 2, MPI_UINT64_T, m->remote, m->tag,
                         m->peer, MPI_STATUS_IGNORE);
}

static int swap_worlds(struct making *m)
{
    return impi_Sendrecv(m->own.world, (int)m->own.head[1], MPI_INT, m->remote,
                         m->tag, m->other.world, (int)m->other.head[1], MPI_INT,
                         m->remote, m->tag, m->peer, MPI_STATUS_IGNORE);
}

/* The other group, and the highest proposal of both. */
static int other_side(struct making *m)
{
    bool leads = m->rank == m->leader;
    int rc = leads ? swap_heads(m) : MPI_SUCCESS;

    if (leads && rc == MPI_SUCCESS && m->other.head[0] < m->own.head[0])
        m->other.head[0] = m->own.head[0];
    if (rc == MPI_SUCCESS)
        rc = impi_Bcast(m->other.head, 2, MPI_UINT64_T, m->leader, m->local);
    if (rc != MPI_SUCCESS)
        return rc;
    if (m->other.head[1] == 0 || m->other.head[1] > impi_be.world.nprocs)
        return be_raise(m->local, MPI_ERR_INTERN);
    m->other.world = malloc((size_t)m->other.head[1] * sizeof(int));
    if (!m->other.world)
        return be_raise(m->local, MPI_ERR_NO_MEM);
    if (leads)
        rc = swap_worlds(m);
    if (rc == MPI_SUCCESS)
        rc = impi_Bcast(m->other.world, (int)m->other.head[1], MPI_INT,
                        m->leader, m->local);
    return rc;
}

/* world[]: both groups, the one whose first process is lower in front. */
static void join_sides(const struct making *m, struct comm_parts *parts,
                       int *world)
{
    bool first = m->own.world[0] < m->other.world[0];
    const struct side *a = first ? &m->own : &m->other;
    const struct side *b = first ? &m->other : &m->own;

    memcpy(world, a->world, (size_t)a->head[1] * sizeof(int));
    memcpy(world + a->head[1], b->world, (size_t)b->head[1] * sizeof(int));
    parts->world = world;
    parts->low = (int)a->head[1];
    parts->size = (int)(a->head[1] + b->head[1]);
}

static int world_is_sound(const struct comm_parts *p)
{
    for (int i = 0; i < p->size; i++) {
        if (p->world[i] < 0 || (uint32_t)p->world[i] >= impi_be.world.nprocs)
            return 0;
    }
    return 1;
}

static int make_parts(struct making *m, struct comm_parts *parts)
{
    struct impi_comm *c = impi_span_find(m->local);
    MPI_Comm local = c ? c->comm : m->local;
    int tag = (int)(parts->cid / 2 % 16381) + 1;
    MPI_Group native;
    int rc = ASSISTED(impi_real.Comm_split(local, 0, 0, &parts->comm));

    if (rc == MPI_SUCCESS)
        rc = group_native_part(parts->world, parts->size, &native);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = ASSISTED(
        impi_real.Comm_create_group(MPI_COMM_WORLD, native, tag, &parts->p2p));
    group_drop(native);
    return rc;
}

static int intercomm(struct making *m, int *world, MPI_Comm *newcomm)
{
    struct comm_parts parts = {0};
    int rc;

    if (!world)
        return MPI_ERR_NO_MEM;
    join_sides(m, &parts, world);
    if (!world_is_sound(&parts))
        return MPI_ERR_GROUP;
    rc = cid_take(m->other.head[0], &parts.cid);
    if (rc == MPI_SUCCESS)
        rc = make_parts(m, &parts);
    return rc == MPI_SUCCESS ? comm_span(&parts, newcomm) : rc;
}

int impi_Intercomm_create(MPI_Comm local_comm, int local_leader,
                          MPI_Comm peer_comm, int remote_leader, int tag,
                          MPI_Comm *newintercomm)
{
    struct making m = {.local = local_comm,
                       .leader = local_leader,
                       .peer = peer_comm,
                       .remote = remote_leader,
                       .tag = tag};
    int rc = own_side(&m), *world = NULL;

    if (rc == MPI_SUCCESS)
        rc = other_side(&m);
    if (rc == MPI_SUCCESS) {
        world = malloc((size_t)(m.own.head[1] + m.other.head[1]) * sizeof(int));
        rc = be_raise(local_comm, intercomm(&m, world, newintercomm));
    }
    free(world);
    free(m.own.world);
    free(m.other.world);
    return rc;
}
