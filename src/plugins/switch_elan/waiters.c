/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/quiet_thread.h"
#include "plugins/switch_elan/waiters.h"

#define CONNECT_MS 2000 /* for one srun to answer */

struct waiter {
    TAILQ_ENTRY(waiter) next;
    uint16_t port;
    char host[];
};

TAILQ_HEAD(waiter_list, waiter);

struct waiters {
    pthread_mutex_t lock;
    pthread_cond_t work;
    pthread_t thread;
    bool running; /* the thread */
    bool stop;
    struct waiter_list waiting, woken;
    unsigned nwaiting, nwoken;
};

struct waiters *waiters_create(void)
{
    struct waiters *w = calloc(1, sizeof(*w));

    if (!w)
        return NULL;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->work, NULL);
    TAILQ_INIT(&w->waiting);
    TAILQ_INIT(&w->woken);
    return w;
}

static void drop_first(struct waiter_list *list, unsigned *count)
{
    struct waiter *first = TAILQ_FIRST(list);

    TAILQ_REMOVE(list, first, next);
    free(first);
    --*count;
}

/* NULL: no such launch can be, or no memory. */
static struct waiter *make_waiter(const char *host, uint16_t port)
{
    size_t len = host ? strlen(host) : 0;
    struct waiter *one;

    if (len == 0 || len > NI_MAXHOST || port == 0 ||
        !(one = malloc(sizeof(*one) + len + 1)))
        return NULL;
    one->port = port;
    memcpy(one->host, host, len + 1);
    return one;
}

void waiters_add(struct waiters *w, const char *host, uint16_t port)
{
    struct waiter *one = make_waiter(host, port);

    if (!one)
        return;
    pthread_mutex_lock(&w->lock);
    TAILQ_INSERT_TAIL(&w->waiting, one, next);
    if (++w->nwaiting > SF_WAITERS_MAX)
        drop_first(&w->waiting, &w->nwaiting);
    pthread_mutex_unlock(&w->lock);
}

/* ---- the thread ----------------------------------------------------------*/

static void connect_to(const struct addrinfo *info)
{
    struct pollfd p = {.events = POLLOUT};

    p.fd =
        socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (p.fd < 0)
        return;
    if (connect(p.fd, info->ai_addr, info->ai_addrlen) < 0)
        poll(&p, 1, CONNECT_MS);
    close(p.fd);
}

static void wake_one(const struct waiter *one)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICSERV};
    struct addrinfo *info = NULL;
    char port[8];

    snprintf(port, sizeof(port), "%u", one->port);
    if (getaddrinfo(one->host, port, &hints, &info) != 0)
        return;
    connect_to(info);
    freeaddrinfo(info);
}

/* Under the lock; NULL: stop. */
static struct waiter *next_woken(struct waiters *w)
{
    struct waiter *one;

    while (!w->stop && TAILQ_EMPTY(&w->woken))
        pthread_cond_wait(&w->work, &w->lock);
    if (w->stop)
        return NULL;
    one = TAILQ_FIRST(&w->woken);
    TAILQ_REMOVE(&w->woken, one, next);
    w->nwoken--;
    return one;
}

static void *waker(void *arg)
{
    struct waiters *w = arg;
    struct waiter *one;

    pthread_mutex_lock(&w->lock);
    while ((one = next_woken(w))) {
        pthread_mutex_unlock(&w->lock);
        wake_one(one);
        free(one);
        pthread_mutex_lock(&w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* Under the lock: some have joined the woken. */
static void set_to_work(struct waiters *w)
{
    while (w->nwoken > SF_WAITERS_MAX)
        drop_first(&w->woken, &w->nwoken);
    if (w->nwoken > 0 && !w->running)
        w->running = quiet_thread(&w->thread, waker, w) == 0;
    pthread_cond_signal(&w->work);
}

unsigned waiters_wake(struct waiters *w)
{
    unsigned n;

    pthread_mutex_lock(&w->lock);
    n = w->nwaiting;
    TAILQ_CONCAT(&w->woken, &w->waiting, next);
    w->nwoken += n;
    w->nwaiting = 0;
    set_to_work(w);
    pthread_mutex_unlock(&w->lock);
    return n;
}

void waiters_wake_one(struct waiters *w, const char *host, uint16_t port)
{
    struct waiter *one = make_waiter(host, port);

    if (!one)
        return;
    pthread_mutex_lock(&w->lock);
    TAILQ_INSERT_TAIL(&w->woken, one, next);
    w->nwoken++;
    set_to_work(w);
    pthread_mutex_unlock(&w->lock);
}

void waiters_destroy(struct waiters *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->work);
    pthread_mutex_unlock(&w->lock);
    if (w->running)
        pthread_join(w->thread, NULL);
    while (w->nwaiting > 0)
        drop_first(&w->waiting, &w->nwaiting);
    while (w->nwoken > 0)
        drop_first(&w->woken, &w->nwoken);
    pthread_cond_destroy(&w->work);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
