/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <netdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/quiet_thread.h"
#include "plugins/switch_elan/heal_watch.h"

#define LOOK_MS 500 /* between two looks at the table while somebody waits */

struct patient {
    TAILQ_ENTRY(patient) next;
    struct gate_wait wait;
    uint16_t port;
    char host[NI_MAXHOST];
};

TAILQ_HEAD(patient_list, patient);

struct heal_watch {
    struct waiters *waiters;
    heal_watch_told_f *told;
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t work;
    pthread_t thread;
    bool running; /* the thread */
    bool stop;
    struct patient_list list;
    unsigned n;
    char path[SF_ELAN_PATH_MAX];
};

struct heal_watch *heal_watch_create(struct waiters *waiters,
                                     heal_watch_told_f *told)
{
    struct heal_watch *w = calloc(1, sizeof(*w));
    pthread_condattr_t steady;

    if (!w)
        return NULL;
    w->waiters = waiters;
    w->told = told;
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&w->work, &steady);
    pthread_condattr_destroy(&steady);
    TAILQ_INIT(&w->list);
    return w;
}

static struct patient *take(struct heal_watch *w, struct patient *p)
{
    TAILQ_REMOVE(&w->list, p, next);
    w->n--;
    return p;
}

static void wake(struct heal_watch *w, struct patient *p)
{
    w->told(&p->wait);
    waiters_wake_one(w->waiters, p->host, p->port);
    free(take(w, p));
}

/* ---- the thread ----------------------------------------------------------*/

/* Until it is time for the next look, or there is something else to do. */
static void pause_a_while(struct heal_watch *w)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += LOOK_MS * 1000000L;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&w->work, &w->lock, &t);
}

/* One look at the table (the lock is given up meanwhile), and wake. */
static void look(struct heal_watch *w, struct health_table_reader *reader)
{
    char path[SF_ELAN_PATH_MAX];
    struct patient *p, *next;
    struct errbuf ignored;
    uint32_t refused;
    int64_t now;

    memcpy(path, w->path, sizeof(path));
    pthread_mutex_unlock(&w->lock);
    health_table_look(reader, path, &ignored);
    refused = gate_refused(&reader->table);
    now = clock_wall_ms();
    pthread_mutex_lock(&w->lock);
    for (p = TAILQ_FIRST(&w->list); p; p = next) {
        next = TAILQ_NEXT(p, next);
        if (gate_wait_is_over(&p->wait, reader, refused, now))
            wake(w, p);
    }
}

static void *watch(void *arg)
{
    struct health_table_reader reader = {0};
    struct heal_watch *w = arg;

    pthread_mutex_lock(&w->lock);
    while (!w->stop) {
        if (w->n > 0) {
            look(w, &reader);
            if (w->n > 0 && !w->stop)
                pause_a_while(w);
        } else {
            health_table_reader_free(&reader);
            pthread_cond_wait(&w->work, &w->lock);
        }
    }
    pthread_mutex_unlock(&w->lock);
    health_table_reader_free(&reader);
    return NULL;
}

/* ---- what slurmctld calls ------------------------------------------------*/

void heal_watch_add(struct heal_watch *w, const char *path,
                    const struct gate_wait *wait, const char *host,
                    uint16_t port)
{
    struct patient *p;

    if (!host || !*host || strlen(host) >= sizeof(p->host) || port == 0 ||
        strlen(path) >= sizeof(w->path) || !(p = malloc(sizeof(*p))))
        return;
    p->wait = *wait;
    p->port = port;
    strcpy(p->host, host);
    pthread_mutex_lock(&w->lock);
    strcpy(w->path, path);
    TAILQ_INSERT_TAIL(&w->list, p, next);
    if (++w->n > SF_WAITERS_MAX)
        free(take(w, TAILQ_FIRST(&w->list)));
    if (!w->running)
        w->running = quiet_thread(&w->thread, watch, w) == 0;
    pthread_cond_signal(&w->work);
    pthread_mutex_unlock(&w->lock);
}

void heal_watch_wake_all(struct heal_watch *w)
{
    pthread_mutex_lock(&w->lock);
    while (w->n > 0)
        wake(w, TAILQ_FIRST(&w->list));
    pthread_mutex_unlock(&w->lock);
}

void heal_watch_destroy(struct heal_watch *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->work);
    pthread_mutex_unlock(&w->lock);
    if (w->running)
        pthread_join(w->thread, NULL);
    while (w->n > 0)
        free(take(w, TAILQ_FIRST(&w->list)));
    pthread_cond_destroy(&w->work);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
