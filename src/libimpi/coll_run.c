/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective calls under way.
 */
#include "libimpi/coll_run.h"

#include <stdlib.h>
#include <string.h>

#include "libimpi/late_free.h"
#include "libimpi/net.h"
#include "libimpi/progress.h"
#include "libimpi/req.h"

static struct coll *running; /* the first of each queue */
static struct coll *unused;  /* with their arrays */

/* ---- life ---- */

struct coll *coll_new(struct impi_comm *c)
{
    struct coll *x;

    be_lock();
    x = unused;
    if (x)
        unused = x->link;
    be_unlock();
    if (x)
        memset(&x->c, 0, sizeof(*x) - offsetof(struct coll, c));
    else if (!(x = calloc(1, sizeof(*x))))
        be_die(1, "SF-E403: no memory for a collective call");
    x->c = c;
    x->type = MPI_BYTE;
    x->steps.count = 0;
    return x;
}

void coll_use(struct coll *x, enum impi_step_buf buf, const void *p)
{
    x->buf[buf] = (void *)(uintptr_t)p;
    x->given |= 1U << buf;
}

void *coll_keep(struct coll *x, void *p)
{
    x->memory[x->nmemory++] = p;
    return p;
}

static void put_away(struct coll *x)
{
    while (x->nmemory > 0)
        free(x->memory[--x->nmemory]);
    be_lock();
    x->link = unused;
    unused = x;
    be_unlock();
}

int coll_end(struct coll *x)
{
    int rc = x->rc;

    comm_release(x->c);
    put_away(x);
    return rc;
}

/* ---- queues ---- */

/* The first of its queue, linked at *p, is through: the next one takes its
 * place. */
static void dequeue(struct coll *x, struct coll **p)
{
    struct coll *next = x->queue;

    x->c->queue = next;
    if (next) {
        next->link = x->link;
        *p = next;
    } else {
        x->c->queue_end = &x->c->queue;
        *p = x->link;
    }
}

void coll_progress(void)
{
    static bool busy; /* a callback of the program may lead here again */
    struct coll **p = &running;

    if (busy)
        return;
    busy = true;
    while (*p) {
        struct coll *x = *p;

        if (coll_advance(x))
            dequeue(x, p);
        else
            p = &x->link;
    }
    busy = false;
    if (!running)
        late_free_all();
}

bool coll_any(void)
{
    return running != NULL;
}

bool coll_waits_native(const struct coll *x)
{
    return x->nnative > 0 || x->c->queue != x;
}

static void enqueue(struct coll *x)
{
    struct impi_comm *c = x->c;
    bool first = c->queue == NULL;

    comm_hold(c);
    *c->queue_end = x;
    c->queue_end = &x->queue;
    if (!first)
        return;
    if (coll_advance(x)) {
        c->queue = NULL;
        c->queue_end = &c->queue;
        return;
    }
    x->link = running;
    running = x;
}

/* ---- both ways to run it ---- */

int coll_run_quiet(struct coll *x, int rc)
{
    struct waiter w = {.native = false};

    if (rc != MPI_SUCCESS) {
        put_away(x);
        return rc;
    }
    be_lock();
    x->waits = true;
    enqueue(x);
    if (x->done && !net_skip_round())
        progress_once();
    while (!x->done) {
        w.native = coll_waits_native(x);
        progress_wait(&w);
    }
    rc = coll_end(x);
    be_unlock();
    return rc;
}

static int start(struct coll *x, MPI_Request *request)
{
    struct req *r;

    be_lock();
    r = req_alloc();
    if (r) {
        req_coll(r, x);
        enqueue(x);
        progress_once();
        *request = req_handle(r);
    }
    be_unlock();
    if (!r)
        put_away(x);
    return r ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int coll_run(struct coll *x, int rc, MPI_Request *request)
{
    MPI_Comm comm = x->c->comm;

    if (rc == MPI_SUCCESS && request)
        rc = start(x, request);
    else
        rc = coll_run_quiet(x, rc);
    return be_raise(comm, rc);
}
