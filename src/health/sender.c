/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <ev.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/be.h"
#include "base/clerk.h"
#include "base/limits.h"
#include "base/netaddr.h"
#include "base/seal.h"
#include "health/sender.h"

#define RETRY_FIRST 0.1 /* seconds until the first new attempt */
#define RETRY_LAST 5.0

struct item {
    STAILQ_ENTRY(item) link;
    size_t len, sent;
    uint8_t bytes[];
};

struct sender {
    struct ev_loop *loop;
    struct sockaddr_storage to;
    socklen_t to_len;
    char *munge_socket;
    uid_t reader;
    struct clerk *clerk;
    void (*lost)(const char *why);
    STAILQ_HEAD(, item) queue;
    struct sender_stats stats;
    ev_io in, out;
    ev_timer retry;
    double distance;
    bool connected;
    int fd;
};

static void drop_first(struct sender *s)
{
    struct item *it = STAILQ_FIRST(&s->queue);

    STAILQ_REMOVE_HEAD(&s->queue, link);
    s->stats.queued--;
    free(it);
}

/* The connection is lost: what was sent in part is sent again. */
static void hang_up(struct sender *s)
{
    struct item *it = STAILQ_FIRST(&s->queue);

    if (s->fd >= 0) {
        ev_io_stop(s->loop, &s->in);
        ev_io_stop(s->loop, &s->out);
        close(s->fd);
    }
    s->fd = -1;
    s->connected = false;
    if (it)
        it->sent = 0;
}

static void try_later(struct sender *s)
{
    hang_up(s);
    ev_timer_stop(s->loop, &s->retry);
    ev_timer_set(&s->retry, s->distance, 0.);
    ev_timer_start(s->loop, &s->retry);
    s->distance *= 2;
    if (s->distance > RETRY_LAST)
        s->distance = RETRY_LAST;
}

static void flush(struct sender *s)
{
    struct item *it;

    while ((it = STAILQ_FIRST(&s->queue))) {
        ssize_t n =
            send(s->fd, it->bytes + it->sent, it->len - it->sent, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) {
            try_later(s);
            return;
        }
        it->sent += (size_t)n;
        if (it->sent < it->len)
            continue;
        s->stats.sent++;
        drop_first(s);
    }
    if (it)
        ev_io_start(s->loop, &s->out);
    else
        ev_io_stop(s->loop, &s->out);
}

static void on_readable(struct ev_loop *loop, ev_io *w, int events)
{
    struct sender *s = w->data;
    char answers[64];
    ssize_t n = recv(s->fd, answers, sizeof(answers), 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        try_later(s);
        return;
    }
    for (ssize_t i = 0; i < n; i++) {
        s->stats.accepted += answers[i] == 'A';
        s->stats.refused += answers[i] == 'R';
    }
    s->distance = RETRY_FIRST;
}

static void on_writable(struct ev_loop *loop, ev_io *w, int events)
{
    struct sender *s = w->data;
    int e = 0;
    socklen_t len = sizeof(e);

    if (!s->connected) {
        if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &e, &len) < 0 || e) {
            try_later(s);
            return;
        }
        s->connected = true;
        s->stats.connects++;
        if (s->to.ss_family != AF_UNIX)
            netaddr_keep_alive(s->fd, SF_SILENCE);
    }
    flush(s);
}

static void dial(struct sender *s)
{
    int one = 1;

    if (s->fd >= 0 || ev_is_active(&s->retry))
        return;
    s->fd =
        socket(s->to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s->fd < 0) {
        try_later(s);
        return;
    }
    if (s->to.ss_family != AF_UNIX)
        setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    ev_io_set(&s->in, s->fd, EV_READ);
    ev_io_set(&s->out, s->fd, EV_WRITE);
    if (connect(s->fd, (struct sockaddr *)&s->to, s->to_len) < 0 &&
        errno != EINPROGRESS) {
        try_later(s);
        return;
    }
    ev_io_start(s->loop, &s->in);
    ev_io_start(s->loop, &s->out);
}

static void on_retry(struct ev_loop *loop, ev_timer *w, int events)
{
    struct sender *s = w->data;

    ev_timer_stop(loop, w);
    if (!STAILQ_EMPTY(&s->queue))
        dial(s);
}

/* When there are too many the oldest goes, but not one that is half sent. */
static void limit_queue(struct sender *s)
{
    struct item *first, *second;

    if (s->stats.queued <= SF_SENDER_QUEUE_MAX)
        return;
    first = STAILQ_FIRST(&s->queue);
    second = STAILQ_NEXT(first, link);
    s->stats.dropped++;
    if (first->sent == 0) {
        drop_first(s);
    } else if (second) {
        STAILQ_REMOVE(&s->queue, second, item, link);
        s->stats.queued--;
        free(second);
    }
}

static void queue_credential(struct sender *s, const char *cred)
{
    size_t len = strlen(cred);
    struct item *it = malloc(sizeof(*it) + 4 + len);

    if (!it) {
        s->stats.dropped++;
        return;
    }
    it->len = 4 + len;
    it->sent = 0;
    be_store32(it->bytes, (uint32_t)len);
    memcpy(it->bytes + 4, cred, len);
    STAILQ_INSERT_TAIL(&s->queue, it, link);
    s->stats.queued++;
    limit_queue(s);
    if (s->connected)
        flush(s);
    else
        dial(s);
}

/* A report that is to be sealed. */
struct sealing {
    struct clerk_job job;
    struct sender *s;
    char *cred; /* NULL: err says why */
    struct errbuf err;
    char text[];
};

static void seal(struct clerk_job *job)
{
    struct sealing *g = (struct sealing *)(void *)job;

    seal_make(&g->cred, g->text, strlen(g->text), g->s->reader, 0,
              g->s->munge_socket, &g->err);
}

/* Queue it, and free the job. */
static int finish(struct sealing *g, struct errbuf *err)
{
    int rc = 0;

    if (g->cred) {
        queue_credential(g->s, g->cred);
    } else {
        g->s->stats.dropped++;
        rc = errprintf(err, "%s", g->err.text);
    }
    free(g->cred);
    free(g);
    return rc;
}

static void sealed(struct clerk_job *job, bool cancelled)
{
    struct sealing *g = (struct sealing *)(void *)job;
    void (*lost)(const char *why) = g->s->lost;
    struct errbuf err;

    if (!cancelled) {
        if (finish(g, &err) < 0)
            lost(err.text);
        return;
    }
    free(g->cred);
    free(g);
}

static int put_text(struct sender *s, const char *text, struct errbuf *err)
{
    size_t len = strlen(text) + 1;
    struct sealing *g = calloc(1, sizeof(*g) + len);

    s->stats.put++;
    if (!g)
        return errprintf(err, "out of memory");
    g->job = (struct clerk_job){seal, sealed, NULL};
    g->s = s;
    memcpy(g->text, text, len);
    if (!s->clerk) {
        seal(&g->job);
        return finish(g, err);
    }
    if (clerk_give(s->clerk, &g->job) == 0)
        return 0;
    free(g);
    s->stats.dropped++;
    return errprintf(err, "too many reports wait for munged");
}

int sender_put(struct sender *s, const struct report *report,
               struct errbuf *err)
{
    char *text = report_encode(report, err);
    int rc;

    if (!text)
        return -1;
    rc = put_text(s, text, err);
    free(text);
    return rc;
}

static int resolve_unix(struct sender *s, const char *path, struct errbuf *err)
{
    struct sockaddr_un *sa = (struct sockaddr_un *)&s->to;

    if (strlen(path) >= sizeof(sa->sun_path)) {
        errno = ENAMETOOLONG;
        return errprintf(err, "%s: %m", path);
    }
    sa->sun_family = AF_UNIX;
    memcpy(sa->sun_path, path, strlen(path) + 1);
    s->to_len = sizeof(*sa);
    return 0;
}

static int resolve(struct sender *s, const char *to, struct errbuf *err)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char host[256], port[16];
    int rc;

    if (to[0] == '/')
        return resolve_unix(s, to, err);
    snprintf(port, sizeof(port), "%d", SF_REPORT_PORT);
    if (sscanf(to, "%255[^:]:%15[0-9]", host, port) < 1) {
        errno = EINVAL;
        return errprintf(err, "not a host:port or /path: '%s'", to);
    }
    rc = getaddrinfo(host, port, &hints, &found);
    if (rc != 0) {
        errno = EADDRNOTAVAIL;
        return errprintf(err, "%s: %s", to, gai_strerror(rc));
    }
    memcpy(&s->to, found->ai_addr, found->ai_addrlen);
    s->to_len = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

struct sender *sender_new(struct ev_loop *loop, const struct sender_options *o,
                          struct errbuf *err)
{
    struct sender *s = calloc(1, sizeof(*s));

    if (!s ||
        (o->munge_socket && !(s->munge_socket = strdup(o->munge_socket)))) {
        errprintf(err, "out of memory");
        free(s);
        return NULL;
    }
    s->loop = loop;
    s->reader = o->reader;
    s->clerk = o->clerk;
    s->lost = o->lost;
    s->fd = -1;
    s->distance = RETRY_FIRST;
    STAILQ_INIT(&s->queue);
    ev_init(&s->in, on_readable);
    ev_init(&s->out, on_writable);
    ev_init(&s->retry, on_retry);
    s->in.data = s->out.data = s->retry.data = s;
    if (resolve(s, o->to, err) == 0)
        return s;
    sender_free(s);
    return NULL;
}

void sender_free(struct sender *s)
{
    int e = errno;

    if (!s)
        return;
    ev_timer_stop(s->loop, &s->retry);
    hang_up(s);
    while (!STAILQ_EMPTY(&s->queue))
        drop_first(s);
    free(s->munge_socket);
    free(s);
    errno = e;
}

void sender_stats(const struct sender *s, struct sender_stats *stats)
{
    *stats = s->stats;
}
