/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Probe and MPI_Iprobe: first the messages from other clients, then the
 * native library's.
 */
#include "libimpi/foreign.h"
#include "libimpi/p2p_calls.h"
#include "libimpi/progress.h"
#include "libimpi/status.h"

struct impi_recv probe_args(const struct message *m)
{
    bool any = m->peer == MPI_ANY_SOURCE;

    return (struct impi_recv){
        .peer = any ? IMPI_ANY_PEER : (uint32_t)m->comm->world[m->peer],
        .rank = any ? IMPI_ANY_SOURCE : m->peer - m->comm->peer,
        .tag = m->tag == MPI_ANY_TAG ? IMPI_ANY_TAG : m->tag,
        .cid = m->cid};
}

static bool look_in_core(const struct message *m, MPI_Status *status)
{
    struct impi_recv args = probe_args(m);
    struct impi_status st;

    if (!impi_p2p_iprobe(impi_be.p2p, &args, &st))
        return false;
    status_from_core(status, &st);
    return true;
}

/* One look in both places.  Under the lock. */
static int look(const struct message *m, int *flag, MPI_Status *status)
{
    bool any = m->peer == MPI_ANY_SOURCE;
    int native = any ? MPI_ANY_SOURCE : m->comm->native[m->peer], rc;

    *flag = 0;
    if ((any || native < 0) && look_in_core(m, status)) {
        if (any)
            impi_be.probed = NULL;
        *flag = 1;
        return MPI_SUCCESS;
    }
    if (!any && native < 0)
        return MPI_SUCCESS;
    rc = impi_real.Iprobe(native, m->tag, m->comm->p2p, flag, status);
    if (rc == MPI_SUCCESS && *flag) {
        status_translate(status, m->comm);
        if (any)
            impi_be.probed = m->comm;
    }
    return rc;
}

static int probe_span(const struct message *m, int *flag, MPI_Status *status,
                      bool wait)
{
    struct waiter w = {.native = m->peer == MPI_ANY_SOURCE ||
                                 m->comm->native[m->peer] >= 0};
    bool lost = false;
    int rc;

    be_lock();
    progress_once();
    while ((rc = look(m, flag, status)) == MPI_SUCCESS && !*flag) {
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

static int probe_native(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    struct waiter w = {.native = true};
    int rc, flag;

    be_lock();
    while ((rc = impi_real.Iprobe(source, tag, comm, &flag, status)) ==
               MPI_SUCCESS &&
           !flag)
        progress_wait(&w);
    be_unlock();
    return rc;
}

static struct message args_of(int source, int tag, struct impi_comm *c)
{
    return (struct message){
        .peer = source, .tag = tag, .type = MPI_BYTE, .comm = c, .cid = c->cid};
}

int impi_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    struct impi_comm *c = impi_span_find(comm);
    struct message m;
    int rc, flag;

    if (!c || source == MPI_PROC_NULL)
        return cross_pending() && source != MPI_PROC_NULL
                   ? probe_native(source, tag, comm, status)
                   : impi_real.Probe(source, tag, comm, status);
    m = args_of(source, tag, c);
    rc = check_message(&m, true);
    if (rc != MPI_SUCCESS)
        return be_raise(comm, rc);
    return probe_span(&m, &flag, status, true);
}

int impi_Iprobe(int source, int tag, MPI_Comm comm, int *flag,
                MPI_Status *status)
{
    struct impi_comm *c = impi_span_find(comm);
    struct message m;
    int rc;

    if (!c || source == MPI_PROC_NULL) {
        if (cross_pending()) {
            be_lock();
            progress_once();
            be_unlock();
        }
        return impi_real.Iprobe(source, tag, comm, flag, status);
    }
    m = args_of(source, tag, c);
    rc = check_message(&m, true);
    if (rc != MPI_SUCCESS)
        return be_raise(comm, rc);
    return probe_span(&m, flag, status, false);
}
