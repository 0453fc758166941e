/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a request ends: by the engine, by the native library, or cancelled.
 */
#include "libimpi/coll_run.h"
#include "libimpi/persist.h"
#include "libimpi/req_priv.h"
#include "libimpi/state.h"
#include "libimpi/status.h"

/* The native half has the message. */
static void take_native(struct req *r, int rc, MPI_Status *st)
{
    MPI_Count bytes = 0;
    int flag = 0;

    status_translate(st, r->comm);
    impi_real.Test_cancelled(st, &flag);
    if (impi_real.Get_elements_x(st, MPI_BYTE, &bytes) != MPI_SUCCESS ||
        bytes < 0)
        bytes = 0;
    r->native = MPI_REQUEST_NULL;
    r->source = st->MPI_SOURCE;
    r->tag = st->MPI_TAG;
    r->cancelled = flag;
    r->bytes = (uint64_t)bytes;
    r->error = rc;
    r->raised = rc != MPI_SUCCESS;
    r->done = true;
    data_drop(&r->data);
}

enum impi_claim req_claim(void *arg, struct impi_request *core)
{
    struct req *r = core->user;
    MPI_Status st;
    int rc, cancelled = 0;

    if (r->native == MPI_REQUEST_NULL)
        return IMPI_CLAIM_OURS;
    if (impi_be.mute) {
        impi_be.unsettled = true;
        return IMPI_CLAIM_LATER;
    }
    impi_real.Cancel(&r->native);
    rc = impi_real.Wait(&r->native, &st);
    impi_real.Test_cancelled(&st, &cancelled);
    if (cancelled) {
        r->native = MPI_REQUEST_NULL;
        return IMPI_CLAIM_OURS;
    }
    r->in_core = false;
    take_native(r, rc, &st);
    return IMPI_CLAIM_NATIVE;
}

static int error_of(const struct impi_status *st)
{
    switch (st->error) {
    case IMPI_OK:
        return MPI_SUCCESS;
    case IMPI_ERR_TRUNCATE:
        return MPI_ERR_TRUNCATE;
    default:
        return MPI_ERR_OTHER;
    }
}

static void take_core(struct req *r)
{
    const struct impi_status *st = &r->core.status;
    int rc;

    r->in_core = false;
    r->done = true;
    r->error = error_of(st);
    r->cancelled = st->cancelled;
    if (!r->recv || st->cancelled) {
        r->source = MPI_ANY_SOURCE;
        r->tag = MPI_ANY_TAG;
        data_drop(&r->data);
        return;
    }
    r->source = st->source;
    r->tag = st->tag;
    rc = data_received(&r->data, st->bytes, &r->bytes);
    if (r->error == MPI_SUCCESS)
        r->error = rc;
}

/* Of both posts only the native one stays. */
static void leave_core(struct req *r)
{
    if (!r->in_core)
        return;
    impi_p2p_cancel_recv(impi_be.p2p, &r->core, true);
    r->in_core = false;
}

static void poll_native(struct req *r)
{
    MPI_Status st;
    int flag = 0, rc = impi_real.Test(&r->native, &flag, &st);

    if (rc == MPI_SUCCESS && !flag)
        return;
    leave_core(r);
    take_native(r, rc, &st);
}

static void take_coll(struct req *r)
{
    r->error = coll_end(r->coll);
    r->coll = NULL;
    r->source = MPI_ANY_SOURCE;
    r->tag = MPI_ANY_TAG;
    r->done = true;
}

bool req_waits_native(const struct req *r)
{
    if (r->coll)
        return coll_waits_native(r->coll);
    return r->native != MPI_REQUEST_NULL;
}

bool req_poll(struct req *r)
{
    if (r->done)
        return true;
    if (r->coll) {
        if (r->coll->done)
            take_coll(r);
        return r->done;
    }
    if (r->in_core && r->core.done)
        take_core(r);
    else if (r->native != MPI_REQUEST_NULL)
        poll_native(r);
    return r->done;
}

int req_result(struct req *r, MPI_Status *status, bool quiet)
{
    status_set(status, r->source, r->tag, r->bytes, r->cancelled);
    if (!r->raised && !quiet)
        be_raise(r->comm->comm, r->error);
    r->raised = true;
    req_drop_comm(r);
    return r->error;
}

int req_retire(MPI_Request *request, MPI_Status *status, bool quiet)
{
    struct req *r = req_of(*request);
    int rc = req_result(r, status, quiet);

    if (r->persist) {
        r->persist->active = false;
    } else {
        req_free(r);
        *request = MPI_REQUEST_NULL;
    }
    return rc;
}

/* The receiver may have to be asked: then the request is open again. */
static void cancel_send(struct req *r)
{
    if (r->asked)
        return;
    r->asked = true;
    impi_p2p_cancel_send(impi_be.p2p, &r->core);
    r->in_core = true;
    r->done = false;
}

void req_cancel(struct req *r)
{
    if (r->coll)
        return; /* cannot be */
    if (!r->recv)
        cancel_send(r);
    if (!r->recv || r->done)
        return;
    if (r->native != MPI_REQUEST_NULL) {
        leave_core(r);
        impi_real.Cancel(&r->native);
    } else if (r->in_core) {
        impi_p2p_cancel_recv(impi_be.p2p, &r->core, false);
    }
}
