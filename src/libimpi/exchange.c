/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of one collective call.
 */
#include "libimpi/exchange.h"

#include <stdlib.h>

#include "impi/constants.h"
#include "libimpi/progress.h"

void exchange_begin(struct exchange *x, struct impi_comm *c, int legs)
{
    size_t n = legs > 0 ? (size_t)legs : 1;

    x->c = c;
    x->n = 0;
    x->native = malloc(n * sizeof(MPI_Request));
    x->cross = malloc(n * sizeof(struct req *));
    x->rc = x->native && x->cross ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static void add_native(struct exchange *x, const struct message *m, bool recv)
{
    MPI_Comm comm = x->c->hidden;
    MPI_Request *r = &x->native[x->n];
    int peer = x->c->native[m->peer];

    x->cross[x->n] = NULL;
    if (recv)
        x->rc =
            impi_real.Irecv(m->buf, m->count, m->type, peer, m->tag, comm, r);
    else
        x->rc =
            impi_real.Isend(m->buf, m->count, m->type, peer, m->tag, comm, r);
}

static void add_cross(struct exchange *x, const struct message *m, bool recv)
{
    struct req *r;

    be_lock();
    r = req_alloc();
    if (!r)
        x->rc = MPI_ERR_NO_MEM;
    else
        x->rc = recv ? req_recv(r, m) : req_send(r, m, false);
    if (r && x->rc != MPI_SUCCESS)
        req_free(r);
    x->native[x->n] = MPI_REQUEST_NULL;
    x->cross[x->n] = r;
    be_unlock();
}

static void add(struct exchange *x, const struct message *m, bool recv)
{
    if (x->rc != MPI_SUCCESS)
        return;
    if (m->count < 0)
        x->rc = MPI_ERR_COUNT;
    else if (m->type == MPI_DATATYPE_NULL)
        x->rc = MPI_ERR_TYPE;
    else if (x->c->native[m->peer] >= 0)
        add_native(x, m, recv);
    else
        add_cross(x, m, recv);
    if (x->rc == MPI_SUCCESS)
        x->n++;
}

#define MESSAGE(name, where, who)                                              \
    struct message name = {.buf = where,                                       \
                           .count = count,                                     \
                           .type = type,                                       \
                           .peer = who,                                        \
                           .tag = IMPI_GATHER_TAG,                             \
                           .comm = x->c,                                       \
                           .cid = x->c->cid + 1}

void exchange_recv(struct exchange *x, void *buf, int count, MPI_Datatype type,
                   int from)
{
    MESSAGE(m, buf, from);

    add(x, &m, true);
}

void exchange_send(struct exchange *x, const void *buf, int count,
                   MPI_Datatype type, int to)
{
    MESSAGE(m, (void *)(uintptr_t)buf, to);

    add(x, &m, false);
}

static int wait_cross(struct req *r)
{
    struct waiter w = {.native = false};
    int rc;

    be_lock();
    while (!req_poll(r)) {
        w.native = r->native != MPI_REQUEST_NULL;
        progress_wait(&w);
    }
    rc = req_result(r, MPI_STATUS_IGNORE, true);
    req_free(r);
    be_unlock();
    return rc;
}

int exchange_end(struct exchange *x)
{
    for (int i = 0; i < x->n; i++) {
        int rc = x->cross[i]
                     ? wait_cross(x->cross[i])
                     : progress_native_wait(&x->native[i], MPI_STATUS_IGNORE);

        if (x->rc == MPI_SUCCESS)
            x->rc = rc;
    }
    free(x->native);
    free(x->cross);
    return x->rc;
}
