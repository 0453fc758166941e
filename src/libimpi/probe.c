/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Probes, and receives of what a matched probe has found.  First the messages
 * from other clients are looked at, then the native library's.  A matched
 * message from another client, and one of the own client whose source the
 * native library would name by another rank, has a handle of ours.
 */
#include <stdlib.h>

#include "libimpi/foreign.h"
#include "libimpi/handles.h"
#include "libimpi/p2p_calls.h"
#include "libimpi/progress.h"
#include "libimpi/status.h"

struct matched {
    struct impi_comm *c;         /* held */
    struct impi_unexpected *own; /* in the engine; NULL: native */
    MPI_Message native;
};

static struct handles messages;

/* Under the lock, as all that follows. */
static int wrap(struct impi_comm *c, struct impi_unexpected *own,
                MPI_Message native, MPI_Message *message)
{
    struct matched *x = malloc(sizeof(*x));
    uint32_t index = UINT32_MAX;

    if (x) {
        *x = (struct matched){c, own, native};
        index = handles_add(&messages, x);
    }
    if (index == UINT32_MAX) /* the message is taken and cannot be given */
        be_die(1, "SF-E403: no memory for a matched message");
    comm_hold(c);
    *message = message_from_index(index);
    return MPI_SUCCESS;
}

/* ---- probing: `message` NULL without a match ---- */

static struct impi_recv args_of(const struct message *m)
{
    bool any = m->peer == MPI_ANY_SOURCE;

    return (struct impi_recv){
        .peer = any ? IMPI_ANY_PEER : (uint32_t)m->comm->world[m->peer],
        .rank = any ? IMPI_ANY_SOURCE : m->peer - m->comm->peer,
        .tag = m->tag == MPI_ANY_TAG ? IMPI_ANY_TAG : m->tag,
        .cid = m->cid};
}

static int look_in_core(const struct message *m, int *flag,
                        MPI_Message *message, MPI_Status *status)
{
    struct impi_recv args = args_of(m);
    struct impi_unexpected *u = NULL;
    struct impi_status st;

    if (message)
        u = impi_p2p_improbe(impi_be.p2p, &args, &st);
    *flag = message ? u != NULL : impi_p2p_iprobe(impi_be.p2p, &args, &st);
    if (!*flag)
        return MPI_SUCCESS;
    status_from_core(status, &st);
    if (message)
        return wrap(m->comm, u, MPI_MESSAGE_NULL, message);
    if (m->peer == MPI_ANY_SOURCE)
        impi_be.probed = NULL;
    return MPI_SUCCESS;
}

static int look_in_library(int source, int tag, MPI_Comm comm, int *flag,
                           MPI_Message *message, MPI_Status *status)
{
    return message ? impi_real.Improbe(source, tag, comm, flag, message, status)
                   : impi_real.Iprobe(source, tag, comm, flag, status);
}

static int look_natively(const struct message *m, int *flag,
                         MPI_Message *message, MPI_Status *status)
{
    struct impi_comm *c = m->comm;
    bool any = m->peer == MPI_ANY_SOURCE;
    int rc = look_in_library(any ? m->peer : c->native[m->peer], m->tag, c->p2p,
                             flag, message, status);

    if (rc != MPI_SUCCESS || !*flag)
        return rc;
    status_translate(status, c);
    if (message)
        return c->same ? rc : wrap(c, NULL, *message, message);
    if (any)
        impi_be.probed = c;
    return rc;
}

/* One look in both places.  Under the lock. */
static int look(const struct message *m, int *flag, MPI_Message *message,
                MPI_Status *status)
{
    bool any = m->peer == MPI_ANY_SOURCE;
    bool local = !any && m->comm->native[m->peer] >= 0;
    int rc = MPI_SUCCESS;

    *flag = 0;
    if (!local)
        rc = look_in_core(m, flag, message, status);
    if (rc == MPI_SUCCESS && !*flag && (any || local))
        rc = look_natively(m, flag, message, status);
    return rc;
}

static int probe_span(struct message *m, int *flag, MPI_Message *message,
                      MPI_Status *status, bool wait)
{
    struct waiter w = {.native = true};
    bool lost = false;
    int rc = check_message(m, true);

    if (rc != MPI_SUCCESS)
        return be_raise(m->comm->comm, rc);
    w.native = m->peer == MPI_ANY_SOURCE || m->comm->native[m->peer] >= 0;
    be_lock();
    progress_once();
    while ((rc = look(m, flag, message, status)) == MPI_SUCCESS && !*flag) {
        lost = !foreign_await(m->comm, m->peer);
        if (lost || !wait)
            break;
        progress_wait(&w);
    }
    if (!*flag && !w.native)
        progress_native();
    be_unlock();
    return lost ? be_raise(m->comm->comm, MPI_ERR_OTHER) : rc;
}

/* Of a communicator of the own client, while others' messages may come. */
static int probe_native(int source, int tag, MPI_Comm comm, int *flag,
                        MPI_Message *message, MPI_Status *status, bool wait)
{
    struct waiter w = {.native = true};
    int rc;

    be_lock();
    if (!wait)
        progress_once();
    while ((rc = look_in_library(source, tag, comm, flag, message, status)) ==
               MPI_SUCCESS &&
           !*flag && wait)
        progress_wait(&w);
    be_unlock();
    return rc;
}

static int probe(int source, int tag, struct impi_comm *c, int *flag,
                 MPI_Message *message, MPI_Status *status, bool wait)
{
    struct message m = {
        .peer = source, .tag = tag, .type = MPI_BYTE, .comm = c, .cid = c->cid};

    return probe_span(&m, flag, message, status, wait);
}

int impi_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    struct impi_comm *c = impi_span_find(comm);
    int flag;

    if (c && source != MPI_PROC_NULL)
        return probe(source, tag, c, &flag, NULL, status, true);
    if (cross_pending() && source != MPI_PROC_NULL)
        return probe_native(source, tag, comm, &flag, NULL, status, true);
    return impi_real.Probe(source, tag, comm, status);
}

int impi_Iprobe(int source, int tag, MPI_Comm comm, int *flag,
                MPI_Status *status)
{
    struct impi_comm *c = impi_span_find(comm);

    if (c && source != MPI_PROC_NULL)
        return probe(source, tag, c, flag, NULL, status, false);
    if (cross_pending())
        return probe_native(source, tag, comm, flag, NULL, status, false);
    return impi_real.Iprobe(source, tag, comm, flag, status);
}

int impi_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message,
                MPI_Status *status)
{
    struct impi_comm *c = impi_span_find(comm);
    int flag;

    if (c && source != MPI_PROC_NULL)
        return probe(source, tag, c, &flag, message, status, true);
    if (cross_pending() && source != MPI_PROC_NULL)
        return probe_native(source, tag, comm, &flag, message, status, true);
    return impi_real.Mprobe(source, tag, comm, message, status);
}

int impi_Improbe(int source, int tag, MPI_Comm comm, int *flag,
                 MPI_Message *message, MPI_Status *status)
{
    struct impi_comm *c = impi_span_find(comm);

    if (c && source != MPI_PROC_NULL)
        return probe(source, tag, c, flag, message, status, false);
    if (cross_pending())
        return probe_native(source, tag, comm, flag, message, status, false);
    return impi_real.Improbe(source, tag, comm, flag, message, status);
}

/* ---- receiving ---- */

static struct matched *take(MPI_Message *message)
{
    uint32_t index = message_to_index(*message);
    struct matched *x = handles_get(&messages, index);

    handles_remove(&messages, index);
    *message = MPI_MESSAGE_NULL;
    return x;
}

static int start(struct req *r, MPI_Message *message, const struct message *m)
{
    struct matched *x = take(message);
    int rc;

    if (!x)
        return MPI_ERR_REQUEST;
    rc = m->count < 0 ? MPI_ERR_COUNT
                      : req_mrecv(r, m, x->c, x->own, &x->native);
    comm_release(x->c);
    free(x);
    return rc;
}

int impi_Imrecv(void *buf, int count, MPI_Datatype datatype,
                MPI_Message *message, MPI_Request *request)
{
    struct message m = {.buf = buf, .count = count, .type = datatype};
    struct req *r;
    int rc = MPI_ERR_NO_MEM;

    if (!impi_message_ours(*message))
        return impi_real.Imrecv(buf, count, datatype, message, request);
    be_lock();
    r = req_alloc();
    if (r)
        rc = start(r, message, &m);
    if (rc == MPI_SUCCESS)
        *request = req_handle(r);
    else if (r)
        req_free(r);
    be_unlock();
    return be_raise(MPI_COMM_WORLD, rc);
}

int impi_Mrecv(void *buf, int count, MPI_Datatype datatype,
               MPI_Message *message, MPI_Status *status)
{
    MPI_Request request;
    int rc;

    if (!impi_message_ours(*message) && !cross_pending())
        return impi_real.Mrecv(buf, count, datatype, message, status);
    rc = impi_Imrecv(buf, count, datatype, message, &request);
    return rc == MPI_SUCCESS ? wait_one(&request, status, false) : rc;
}

NUMBERS_OF(Message, impi_message_ours, message, IMPI_MESSAGE_TAG)
