/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Comm_idup of a spanning communicator: native duplicates and the
 * agreement on a context id as one collective call.
 */
#include <stdlib.h>

#include "libimpi/coll.h"
#include "libimpi/comm_make.h"
#include "libimpi/state.h"
#include "libimpi/topo.h"

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
