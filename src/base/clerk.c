/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <ev.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clerk.h"
#include "base/quiet_thread.h"

struct queue {
    struct clerk_job *first, **end;
};

struct clerk {
    struct ev_loop *loop;
    ev_async finished;
    pthread_t thread;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t given;
    struct queue to_do, ready;
    unsigned n, max; /* of to_do */
    bool busy, stop;
};

static void queue_init(struct queue *q)
{
    q->first = NULL;
    q->end = &q->first;
}

static void queue_put(struct queue *q, struct clerk_job *job)
{
    job->next = NULL;
    *q->end = job;
    q->end = &job->next;
}

static struct clerk_job *queue_take(struct queue *q)
{
    struct clerk_job *job = q->first;

    if (job && !(q->first = job->next))
        q->end = &q->first;
    return job;
}

/* Locked; unlocked while it works. */
static void work_on(struct clerk *c, struct clerk_job *job)
{
    c->n--;
    c->busy = true;
    pthread_mutex_unlock(&c->lock);
    job->work(job);
    pthread_mutex_lock(&c->lock);
    c->busy = false;
    queue_put(&c->ready, job);
    if (!c->stop)
        ev_async_send(c->loop, &c->finished);
}

static void *run(void *arg)
{
    struct clerk *c = arg;
    struct clerk_job *job;

    pthread_mutex_lock(&c->lock);
    while (!c->stop)
        if ((job = queue_take(&c->to_do)))
            work_on(c, job);
        else
            pthread_cond_wait(&c->given, &c->lock);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static struct clerk_job *take_ready(struct clerk *c)
{
    struct clerk_job *job;

    pthread_mutex_lock(&c->lock);
    job = queue_take(&c->ready);
    pthread_mutex_unlock(&c->lock);
    return job;
}

static void on_finished(struct ev_loop *loop, ev_async *w, int events)
{
    struct clerk *c = w->data;
    struct clerk_job *job;

    (void)loop;
    (void)events;
    while ((job = take_ready(c)))
        job->done(job, false);
}

struct clerk *clerk_new(struct ev_loop *loop, unsigned max)
{
    struct clerk *c = calloc(1, sizeof(*c));
    int rc;

    if (!c)
        return NULL;
    c->loop = loop;
    c->max = max;
    queue_init(&c->to_do);
    queue_init(&c->ready);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->given, NULL);
    ev_async_init(&c->finished, on_finished);
    c->finished.data = c;
    ev_async_start(loop, &c->finished);
    rc = quiet_thread(&c->thread, run, c);
    if (rc == 0)
        return c;
    ev_async_stop(loop, &c->finished);
    free(c);
    errno = rc;
    return NULL;
}

int clerk_give(struct clerk *c, struct clerk_job *job)
{
    bool full;

    if (!c) {
        job->work(job);
        job->done(job, false);
        return 0;
    }
    pthread_mutex_lock(&c->lock);
    full = c->n == c->max;
    if (!full) {
        c->n++;
        queue_put(&c->to_do, job);
        pthread_cond_signal(&c->given);
    }
    pthread_mutex_unlock(&c->lock);
    errno = EAGAIN;
    return full ? -1 : 0;
}

unsigned clerk_pending(struct clerk *c)
{
    unsigned n;

    if (!c)
        return 0;
    pthread_mutex_lock(&c->lock);
    n = c->n + c->busy;
    pthread_mutex_unlock(&c->lock);
    return n;
}

bool clerk_free(struct clerk *c)
{
    struct clerk_job *job;
    bool busy;

    if (!c)
        return true;
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    busy = c->busy;
    pthread_cond_signal(&c->given);
    pthread_mutex_unlock(&c->lock);
    ev_async_stop(c->loop, &c->finished);
    if (busy)
        return false;
    pthread_join(c->thread, NULL);
    while ((job = queue_take(&c->ready)) || (job = queue_take(&c->to_do)))
        job->done(job, true);
    pthread_cond_destroy(&c->given);
    pthread_mutex_destroy(&c->lock);
    free(c);
    return true;
}
