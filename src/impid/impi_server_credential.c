/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening credentials.  munged is asked by a thread, as its answer may take
 * seconds and the loop has to go on meanwhile.  A credential is opened when it
 * is first seen; when the thread is through with it, every connection that
 * waits asks again and finds its own done.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/seal.h"
#include "impid/impi_server.h"

struct opening {
    LIST_ENTRY(opening) next;
    char *cred;
    bool done;  /* the rest is filled */
    bool stale; /* and all who wait have been told */
    int rc;
    struct seal_info info;
    void *data;
    size_t len;
    struct errbuf err;
};

struct opener {
    struct server *server;
    ev_async finished;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t work;
    LIST_HEAD(, opening) openings;
    unsigned n;
    bool busy, stop;
};

/* ---- the thread ---- */

static struct opening *next_opening(struct opener *o)
{
    struct opening *job;

    LIST_FOREACH(job, &o->openings, next)
    if (!job->done)
        return job;
    return NULL;
}

static void open_one(struct opener *o, struct opening *job)
{
    const char *munge = o->server->start.munge;

    o->busy = true;
    pthread_mutex_unlock(&o->lock);
    job->rc = seal_open(&job->data, &job->len, &job->info, job->cred,
                        munge[0] ? munge : NULL, &job->err);
    pthread_mutex_lock(&o->lock);
    o->busy = false;
    job->done = true;
    if (!o->stop)
        ev_async_send(o->server->loop, &o->finished);
}

static void *run(void *arg)
{
    struct opener *o = arg;
    struct opening *job;

    pthread_mutex_lock(&o->lock);
    while (!o->stop) {
        job = next_opening(o);
        if (job)
            open_one(o, job);
        else
            pthread_cond_wait(&o->work, &o->lock);
    }
    pthread_mutex_unlock(&o->lock);
    return NULL;
}

/* ---- the loop ---- */

static void forget(struct opener *o, struct opening *job)
{
    LIST_REMOVE(job, next);
    o->n--;
    free(job->cred);
    free(job->data);
    free(job);
}

/* Whose connection has gone meanwhile, nobody asks for. */
static void on_finished(struct ev_loop *loop, ev_async *w, int revents)
{
    struct opener *o = w->data;
    struct opening *job, *next;

    pthread_mutex_lock(&o->lock);
    LIST_FOREACH(job, &o->openings, next)
    job->stale = job->done;
    pthread_mutex_unlock(&o->lock);
    server_worlds_retry(o->server);
    pthread_mutex_lock(&o->lock);
    for (job = LIST_FIRST(&o->openings); job; job = next) {
        next = LIST_NEXT(job, next);
        if (job->stale)
            forget(o, job);
    }
    pthread_mutex_unlock(&o->lock);
}

static struct opener *opener_create(struct server *s)
{
    struct opener *o = calloc(1, sizeof(*o));
    sigset_t all, old;
    int rc;

    if (!o)
        return NULL;
    o->server = s;
    pthread_mutex_init(&o->lock, NULL);
    pthread_cond_init(&o->work, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&o->thread, NULL, run, o);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0) {
        free(o);
        return NULL;
    }
    ev_async_init(&o->finished, on_finished);
    o->finished.data = o;
    ev_async_start(s->loop, &o->finished);
    return o;
}

void server_credential_stop(struct server *s)
{
    struct opener *o = s->opener;
    bool busy;

    if (!o)
        return;
    pthread_mutex_lock(&o->lock);
    o->stop = true;
    busy = o->busy;
    pthread_cond_signal(&o->work);
    pthread_mutex_unlock(&o->lock);
    ev_async_stop(s->loop, &o->finished);
    if (busy)
        return; /* with munged: the process ends without it */
    pthread_join(o->thread, NULL);
    while (!LIST_EMPTY(&o->openings))
        forget(o, LIST_FIRST(&o->openings));
    free(o);
    s->opener = NULL;
}

/* ---- what the method asks ---- */

static int begin(struct opener *o, const char *cred, struct errbuf *err)
{
    struct opening *job;

    if (o->n >= 2 * SF_IMPI_PENDING_MAX)
        return errprintf(err, "credential: too many at once");
    job = calloc(1, sizeof(*job));
    if (job)
        job->cred = strdup(cred);
    if (!job || !job->cred) {
        free(job);
        return errprintf(err, "credential: out of memory");
    }
    LIST_INSERT_HEAD(&o->openings, job, next);
    o->n++;
    pthread_cond_signal(&o->work);
    return 1;
}

/* It must be of the user whose job this is. */
static int judge(const struct opening *job, struct bytebuf *payload,
                 struct errbuf *err)
{
    if (job->rc < 0)
        return errprintf(err, "%s", job->err.text);
    bytebuf_add(payload, job->data, job->len);
    if (job->info.uid != getuid())
        return errprintf(err, "credential: made by uid %u, not by the job's",
                         (unsigned)job->info.uid);
    if (job->info.expired)
        return errprintf(err, "credential: expired (clocks of the nodes?)");
    return 0;
}

static int look_up(struct opener *o, const char *cred, struct bytebuf *payload,
                   struct errbuf *err)
{
    struct opening *job;
    int rc;

    LIST_FOREACH(job, &o->openings, next)
    if (strcmp(job->cred, cred) == 0)
        break;
    if (!job)
        return begin(o, cred, err);
    if (!job->done)
        return 1;
    rc = judge(job, payload, err);
    forget(o, job);
    return rc;
}

int server_credential(void *arg, const char *cred, struct bytebuf *payload,
                      struct errbuf *err)
{
    struct server *s = arg;
    int rc;

    if (!s->opener && !(s->opener = opener_create(s)))
        return errprintf(err, "credential: no thread to open it");
    pthread_mutex_lock(&s->opener->lock);
    rc = look_up(s->opener, cred, payload, err);
    pthread_mutex_unlock(&s->opener->lock);
    return rc;
}
