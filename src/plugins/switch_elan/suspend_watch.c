/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/quiet_thread.h"
#include "plugins/switch_elan/suspend_watch.h"

#define LOOK_SECONDS 1

struct suspend_watch {
    struct suspend_watch_calls calls;
    bool stopped; /* the program; the thread's own */
    pthread_mutex_t lock;
    pthread_cond_t work;
    pthread_t thread;
    bool end;
};

static void look(struct suspend_watch *w)
{
    const struct suspend_watch_calls *c = &w->calls;
    bool stop = c->is_suspended();

    if (stop != w->stopped && (!stop || c->tasks_stand(c->arg)) &&
        c->suspend(stop))
        w->stopped = stop;
}

static void *watch(void *arg)
{
    struct suspend_watch *w = arg;
    struct timespec t;

    pthread_mutex_lock(&w->lock);
    while (!w->end) {
        pthread_mutex_unlock(&w->lock);
        look(w);
        pthread_mutex_lock(&w->lock);
        clock_gettime(CLOCK_MONOTONIC, &t);
        t.tv_sec += LOOK_SECONDS;
        if (!w->end)
            pthread_cond_timedwait(&w->work, &w->lock, &t);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

struct suspend_watch *suspend_watch_begin(const struct suspend_watch_calls *c)
{
    struct suspend_watch *w = calloc(1, sizeof(*w));
    pthread_condattr_t steady;

    if (!w)
        return NULL;
    w->calls = *c;
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&w->work, &steady);
    pthread_condattr_destroy(&steady);
    if (quiet_thread(&w->thread, watch, w) == 0)
        return w;
    pthread_cond_destroy(&w->work);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return NULL;
}

void suspend_watch_end(struct suspend_watch *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->end = true;
    pthread_cond_signal(&w->work);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->work);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
