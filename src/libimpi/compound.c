/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A request that stands for several others.
 */
#include "libimpi/compound.h"

#include <stdlib.h>

#include "libimpi/ours.h"
#include "libimpi/status.h"

struct compound *compound_new(int n)
{
    struct compound *c = malloc(sizeof(*c) + (size_t)n * sizeof(MPI_Request));

    if (!c)
        return NULL;
    *c =
        (struct compound){.n = n, .status = -1, .part = (MPI_Request *)(c + 1)};
    for (int i = 0; i < n; i++)
        c->part[i] = MPI_REQUEST_NULL;
    return c;
}

void compound_free(struct compound *c)
{
    if (c)
        free(c->memory);
    free(c);
}

static void note(struct req *r, int rc, bool raised)
{
    if (rc == MPI_SUCCESS || r->error != MPI_SUCCESS)
        return;
    r->error = rc;
    r->raised = raised;
}

/* True: it is done. */
static bool look_at_own(struct req *r, MPI_Request *part, bool status)
{
    struct req *q = req_of(*part);
    bool raised;

    if (!req_poll(q))
        return false;
    raised = q->raised;
    if (status) {
        r->source = q->source;
        r->tag = q->tag;
        r->bytes = q->bytes;
        r->cancelled = q->cancelled;
    }
    note(r, req_retire(part, MPI_STATUS_IGNORE, true), raised);
    return true;
}

static void take_status(struct req *r, MPI_Status *st)
{
    MPI_Count bytes = 0;

    status_translate(st, r->comm);
    r->source = st->MPI_SOURCE;
    r->tag = st->MPI_TAG;
    if (impi_real.Get_elements_x(st, MPI_BYTE, &bytes) == MPI_SUCCESS &&
        bytes > 0)
        r->bytes = (uint64_t)bytes;
}

static bool look_at_native(struct req *r, MPI_Request *part, bool status)
{
    MPI_Status st;
    int flag = 0, rc = impi_real.Test(part, &flag, &st);

    if (rc == MPI_SUCCESS && !flag)
        return false;
    *part = MPI_REQUEST_NULL;
    note(r, rc, true);
    if (status)
        take_status(r, &st);
    return true;
}

bool compound_poll(struct compound *c, struct req *r)
{
    bool all = true;

    for (int i = 0; i < c->n; i++) {
        MPI_Request *p = &c->part[i];
        bool status = i == c->status;

        if (*p == MPI_REQUEST_NULL)
            continue;
        all &= impi_request_ours(*p) ? look_at_own(r, p, status)
                                     : look_at_native(r, p, status);
    }
    if (all && c->no_peer) {
        /* MPICH's test says another source. */
        r->source = MPI_PROC_NULL;
        r->tag = MPI_ANY_TAG;
        r->bytes = 0;
    }
    return all;
}

bool compound_waits_native(const struct compound *c)
{
    for (int i = 0; i < c->n; i++) {
        MPI_Request p = c->part[i];

        if (p != MPI_REQUEST_NULL &&
            (!impi_request_ours(p) || req_waits_native(req_of(p))))
            return true;
    }
    return false;
}
