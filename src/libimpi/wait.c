/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Wait, MPI_Test and what else takes one request.
 */
#include "libimpi/p2p_calls.h"
#include "libimpi/progress.h"
#include "libimpi/status.h"

/* Nothing to wait for. */
static int inactive(MPI_Status *status)
{
    status_empty(status);
    return MPI_SUCCESS;
}

static int wait_own(MPI_Request *request, MPI_Status *status, bool quiet)
{
    struct req *r = req_of(*request);
    struct waiter w = {.native = false};
    int rc;

    if (!req_active(r))
        return inactive(status);
    be_lock();
    while (!req_poll(r)) {
        w.native = req_waits_native(r);
        progress_wait(&w);
    }
    rc = req_retire(request, status, quiet);
    be_unlock();
    return rc;
}

int wait_one(MPI_Request *request, MPI_Status *status, bool quiet)
{
    if (impi_request_ours(*request))
        return wait_own(request, status, quiet);
    if (!cross_pending())
        return impi_real.Wait(request, status);
    return progress_native_wait(request, status);
}

int impi_Wait(MPI_Request *request, MPI_Status *status)
{
    if (likely(!impi_request_ours(*request) && !cross_pending()))
        return impi_real.Wait(request, status);
    return impi_told_Wait(wait_one(request, status, false), request, status);
}

static int test_own(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct req *r = req_of(*request);
    int rc = MPI_SUCCESS;

    *flag = 1;
    if (!req_active(r))
        return inactive(status);
    be_lock();
    progress_once();
    progress_native();
    *flag = req_poll(r);
    if (*flag)
        rc = req_retire(request, status, false);
    be_unlock();
    return rc;
}

int impi_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    if (impi_request_ours(*request))
        return impi_told_Test(test_own(request, flag, status), request, flag,
                              status);
    if (cross_pending()) {
        be_lock();
        progress_once();
        be_unlock();
    }
    return impi_real.Test(request, flag, status);
}

int impi_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    struct req *r;

    if (!impi_request_ours(request))
        return impi_real.Request_get_status(request, flag, status);
    r = req_of(request);
    *flag = 1;
    if (!req_active(r))
        return inactive(status);
    be_lock();
    progress_once();
    *flag = req_poll(r);
    if (*flag)
        status_set(status, r->source, r->tag, r->bytes, r->cancelled);
    be_unlock();
    return MPI_SUCCESS;
}

int impi_Request_free(MPI_Request *request)
{
    if (!impi_request_ours(*request))
        return impi_real.Request_free(request);
    be_lock();
    req_detach(req_of(*request));
    progress_once();
    be_unlock();
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

int impi_Cancel(MPI_Request *request)
{
    if (!impi_request_ours(*request))
        return impi_real.Cancel(request);
    be_lock();
    if (req_active(req_of(*request)))
        req_cancel(req_of(*request));
    be_unlock();
    return MPI_SUCCESS;
}

#ifdef IMPI_FAMILY_OPENMPI
/* Fortran knows requests as numbers: its own are not negative. */
MPI_Fint impi_Request_c2f(MPI_Request request)
{
    if (!impi_request_ours(request))
        return impi_real.Request_c2f(request);
    return -1 - (MPI_Fint)handle_to_index(request);
}

MPI_Request impi_Request_f2c(MPI_Fint request)
{
    if (request >= 0)
        return impi_real.Request_f2c(request);
    return handle_from_index((uint32_t)(-1 - request));
}
#else
MPI_Fint impi_Request_c2f(MPI_Request request)
{
    return request;
}

MPI_Request impi_Request_f2c(MPI_Fint request)
{
    return request;
}
#endif
