/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Comm_create and MPI_Comm_create_group: communicators of a group.
 */
#include <stdlib.h>

#include "libimpi/assist.h"
#include "libimpi/coll.h"
#include "libimpi/comm_make.h"
#include "libimpi/group.h"
#include "libimpi/ours.h"

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
    c = comm_create(parts, impi_be.rank, impi_be.client_of, impi_be.crowded_of);
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

/* MPICH's MPI_Comm_create_group crashes where the communicator's own group was
 * never asked for. */
static int have_native_group(MPI_Comm comm)
{
    MPI_Group group;
    int rc;

    be_lock();
    rc = impi_real.Comm_group(comm, &group);
    if (rc == MPI_SUCCESS)
        rc = impi_real.Group_free(&group);
    be_unlock();
    return rc;
}

static int create_group(struct impi_comm *c, const struct members *m, int tag,
                        MPI_Comm *newcomm)
{
    struct comm_parts parts = {
        .cid = c->cid | CID_FOR_GROUPS, .world = m->world, .size = m->n};
    MPI_Group native;
    int rc = have_native_group(c->comm);

    if (rc == MPI_SUCCESS)
        rc = group_native_part(m->world, m->n, &native);
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
