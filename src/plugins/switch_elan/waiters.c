/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <errno.h>
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

#include "base/clock.h"
#include "base/limits.h"
#include "base/quiet_thread.h"
#include "plugins/switch_elan/waiters.h"

#define CONNECT_MS 2000 /* for sruns to answer */
#define AT_ONCE 64      /* that one of them does not holds up few */

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

/* Connections that are being made. */
struct dialled {
    struct pollfd p[AT_ONCE];
    nfds_t n;
};

static void connect_to(struct dialled *d, const struct addrinfo *info)
{
    int fd =
        socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return;
    if (connect(fd, info->ai_addr, info->ai_addrlen) < 0 &&
        errno == EINPROGRESS)
        d->p[d->n++] = (struct pollfd){.fd = fd, .events = POLLOUT};
    else
        close(fd);
}

static void dial(struct dialled *d, const struct waiter *one)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICSERV};
    struct addrinfo *info = NULL;
    char port[8];

    snprintf(port, sizeof(port), "%u", one->port);
    if (getaddrinfo(one->host, port, &hints, &info) != 0)
        return;
    connect_to(d, info);
    freeaddrinfo(info);
}

/* Until all are made, or it took too long. */
static void hang_up(struct dialled *d)
{
    int64_t end = clock_ms() + CONNECT_MS, left = CONNECT_MS;

    while (d->n > 0 && left > 0 && poll(d->p, d->n, (int)left) >= 0) {
        for (nfds_t i = d->n; i-- > 0;)
            if (d->p[i].revents) {
                close(d->p[i].fd);
                d->p[i] = d->p[--d->n];
            }
        left = end - clock_ms();
    }
    while (d->n > 0)
        close(d->p[--d->n].fd);
}

/* Under the lock; NULL: there is none. */
static struct waiter *next_woken(struct waiters *w)
{
    struct waiter *one = TAILQ_FIRST(&w->woken);

    if (!one)
        return NULL;
    TAILQ_REMOVE(&w->woken, one, next);
    w->nwoken--;
    return one;
}

/* Under the lock, which is given up meanwhile. */
static void wake_some(struct waiters *w)
{
    struct dialled d = {.n = 0};
    struct waiter *one;

    for (int i = 0; i < AT_ONCE && !w->stop && (one = next_woken(w)); i++) {
        pthread_mutex_unlock(&w->lock);
        dial(&d, one);
        free(one);
        pthread_mutex_lock(&w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    hang_up(&d);
    pthread_mutex_lock(&w->lock);
}

static void *waker(void *arg)
{
    struct waiters *w = arg;

    pthread_mutex_lock(&w->lock);
    while (!w->stop) {
        if (TAILQ_EMPTY(&w->woken))
            pthread_cond_wait(&w->work, &w->lock);
        else
            wake_some(w);
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
