/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Intercomm_merge: a context id and who goes in front, then one group.
 */
#include <stdlib.h>
#include <string.h>

#include "libimpi/assist.h"
#include "libimpi/coll.h"
#include "libimpi/comm_criss.h"
#include "libimpi/comm_make.h"
#include "libimpi/state.h"

static int merge_parts(struct impi_comm *c, bool turned, uint64_t cid,
                       int *world, MPI_Comm *newcomm)
{
    int low = c->first + c->peer, high = c->size - low;
    struct comm_parts parts = {.cid = cid, .world = world, .size = c->size};
    size_t one = sizeof(int);
    int rc;

    memcpy(world + (turned ? high : 0), c->world, (size_t)low * one);
    memcpy(world + (turned ? 0 : low), c->world + low, (size_t)high * one);
    rc = ASSISTED(impi_real.Comm_split(
        c->p2p, 0, comm_place(world, c->size, impi_be.rank), newcomm));
    if (rc != MPI_SUCCESS)
        return rc;
    parts.comm = parts.p2p = *newcomm;
    return comm_span(&parts, newcomm);
}

/* both[]: what `high` the two groups have given, the lower one's first. */
static int merge_order(struct impi_comm *c, int high, int *both)
{
    int own[2] = {0, 0};

    own[c->first > 0] = high != 0;
    return coll_allreduce(c, own, both, 2, MPI_INT, MPI_MAX);
}

/* The same in the standard's messages. */
static int strict_order(struct impi_comm *c, int high, uint64_t *cid, int *both)
{
    uint64_t max = cid_propose();
    int upper = c->first > 0;
    int rc = criss_merge(c, &max, high, &both[!upper]);

    both[upper] = high != 0;
    return rc == MPI_SUCCESS ? be_raise(c->comm, cid_take(max, cid)) : rc;
}

static int merge_agree(struct impi_comm *c, int high, uint64_t *cid,
                       bool *turned)
{
    int both[2] = {0, 0}, rc;

    if (comm_strict()) {
        rc = strict_order(c, high, cid, both);
    } else {
        rc = cid_agree(c, cid);
        if (rc == MPI_SUCCESS)
            rc = merge_order(c, high, both);
    }
    *turned = both[0] > both[1];
    return rc;
}

int impi_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm *newcomm)
{
    struct impi_comm *c = impi_span_find(intercomm);
    uint64_t cid;
    bool turned;
    int rc, *world;

    if (!c)
        return ASSISTED(impi_real.Intercomm_merge(intercomm, high, newcomm));
    if (!c->inter)
        return be_raise(intercomm, MPI_ERR_COMM);
    rc = merge_agree(c, high, &cid, &turned);
    if (rc != MPI_SUCCESS)
        return rc;
    world = malloc((size_t)c->size * sizeof(int));
    rc = world ? merge_parts(c, turned, cid, world, newcomm) : MPI_ERR_NO_MEM;
    free(world);
    return be_raise(intercomm, rc);
}
