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
#include "base/clock.h"
#include "base/limits.h"
#include "base/mac.h"
#include "base/netaddr.h"
#include "base/seal.h"
#include "health/report_key.h"
#include "health/sender.h"

#define RETRY_FIRST 0.1 /* seconds until the first new attempt */
#define RETRY_LAST 5.0
#define SECOND_NS 1000000000ull
#define KEY_TEXT 64 /* bytes by which report_with_key() lengthens, or more */

struct item {
    STAILQ_ENTRY(item) link;
    uint8_t *wire; /* as it is sent; NULL: not sealed yet */
    size_t len, sent;
    bool busy;     /* munged has it */
    bool proposes; /* its credential brings a key */
    bool again;    /* only its number was sent */
    uint64_t seq;
    char text[];
};

/* How the reports of this connection are sealed. */
enum sealed_by {
    BY_MUNGE, /* and the next one brings a key */
    WAITING,  /* for the answer to the key */
    BY_KEY
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
    struct report_key key;
    enum sealed_by by;
    uint64_t key_ns;     /* when it was taken */
    uint64_t unanswered; /* reports of this connection */
    struct item *last;   /* the last that was sent with all that it says */
    uint64_t last_in;    /* answers until the one to it; 0: it is accepted */
    ev_io in, out;
    ev_timer retry;
    double distance;
    bool connected, flushing;
    int fd;
};

static void item_free(struct item *it)
{
    if (it)
        free(it->wire);
    free(it);
}

static void forget_last(struct sender *s)
{
    item_free(s->last);
    s->last = NULL;
}

static struct item *take_first(struct sender *s)
{
    struct item *it = STAILQ_FIRST(&s->queue);

    STAILQ_REMOVE_HEAD(&s->queue, link);
    s->stats.queued--;
    return it;
}

static void drop_first(struct sender *s)
{
    item_free(take_first(s));
}

/* The connection is lost, and its key with it: what was sent in part is sealed
 * and sent again. */
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
    s->by = BY_MUNGE;
    s->unanswered = 0;
    forget_last(s);
    if (it) {
        it->sent = 0;
        free(it->wire);
        it->wire = NULL;
    }
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

/* ---- sealing ------------------------------------------------------------- */

static void flush(struct sender *s);

static void lose_first(struct sender *s, const char *why)
{
    drop_first(s);
    s->stats.dropped++;
    if (s->lost)
        s->lost(why);
}

/* What is sent: a length with `flag`, and `len` bytes that the caller fills
 * in; NULL: no memory. */
static uint8_t *frame(struct item *it, size_t len, uint32_t flag)
{
    it->wire = malloc(4 + len);
    if (!it->wire)
        return NULL;
    it->len = 4 + len;
    be_store32(it->wire, (uint32_t)len | flag);
    return it->wire + 4;
}

/* A report at munged. */
struct sealing {
    struct clerk_job job; /* first */
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

/* The first one has its credential, if there is one. */
static void take_credential(struct sender *s, const char *cred, const char *why)
{
    struct item *it = STAILQ_FIRST(&s->queue);
    size_t len = cred ? strlen(cred) : 0;
    uint8_t *body;

    it->busy = false;
    body = cred ? frame(it, len, 0) : NULL;
    if (body)
        memcpy(body, cred, len);
    else
        lose_first(s, cred ? "out of memory" : why);
}

static void sealed(struct clerk_job *job, bool cancelled)
{
    struct sealing *g = (struct sealing *)(void *)job;

    if (!cancelled) {
        take_credential(g->s, g->cred, g->err.text);
        if (g->s->connected)
            flush(g->s);
    }
    free(g->cred);
    free(g);
}

/* Ask munged for the first one's credential, which is to bring a key. */
static void ask_munged(struct sender *s, struct item *it)
{
    uint8_t secret[SF_REPORT_KEY];
    char *text = NULL;
    struct sealing *g = NULL;

    if (mac_random(secret, sizeof(secret)) == 0) {
        report_key_set(&s->key, secret);
        text = report_with_key(it->text, secret);
        explicit_bzero(secret, sizeof(secret));
    }
    if (text)
        g = calloc(1, sizeof(*g) + strlen(text) + 1);
    if (g) {
        g->job = (struct clerk_job){seal, sealed, NULL};
        g->s = s;
        strcpy(g->text, text);
        it->busy = it->proposes = true;
        if (clerk_give(s->clerk, &g->job) < 0) {
            free(g);
            it->busy = false;
            lose_first(s, "too many reports wait for munged");
        }
    } else {
        lose_first(s, "out of memory");
    }
    free(text);
}

static bool key_is_good(struct sender *s)
{
    if (s->by == BY_KEY &&
        (s->key.count >= SF_REPORT_KEY_REPORTS_MAX / 2 ||
         clock_ns() - s->key_ns >= SF_REPORT_KEY_SECONDS / 2 * SECOND_NS))
        s->by = BY_MUNGE;
    return s->by == BY_KEY;
}

/* Does switchmgrd know already what this one says? */
static bool says_the_same(const struct sender *s, const struct item *it)
{
    return s->last && s->last_in == 0 &&
           report_same_text(s->last->text, it->text);
}

static void seal_by_key(struct sender *s, struct item *it)
{
    uint8_t seq[REPORT_AGAIN_SIZE], *body;
    const void *text = it->text;
    size_t len = strlen(it->text);

    it->again = says_the_same(s, it);
    if (it->again) {
        be_store64(seq, it->seq);
        text = seq;
        len = sizeof(seq);
    }
    it->proposes = false;
    body = frame(it, len + REPORT_TAG_SIZE, REPORT_KEYED);
    if (!body) {
        lose_first(s, "out of memory");
        return;
    }
    memcpy(body, text, len);
    report_key_sign(&s->key, body + len, text, len);
}

/* Seal the first one, if it is not.  False: it has to wait. */
static bool seal_first(struct sender *s, struct item *it)
{
    if (it->busy || s->by == WAITING)
        return false;
    if (it->wire)
        return true;
    if (key_is_good(s))
        seal_by_key(s, it);
    else
        ask_munged(s, it);
    it = STAILQ_FIRST(&s->queue);
    return !it || !it->busy;
}

/* ---- sending ------------------------------------------------------------- */

static void is_sent(struct sender *s)
{
    struct item *it = take_first(s);

    s->stats.sent++;
    s->unanswered++;
    if (it->proposes)
        s->by = WAITING;
    if (it->again) {
        item_free(it);
        return;
    }
    forget_last(s);
    if (strlen(it->text) + KEY_TEXT > SF_REPORT_KEPT_MAX) {
        item_free(it);
        return;
    }
    s->last = it;
    s->last_in = s->unanswered;
}

/* 1: sent; 0: not now; -1: the connection is lost. */
static int send_some(struct sender *s, struct item *it)
{
    ssize_t n;

    do
        n = send(s->fd, it->wire + it->sent, it->len - it->sent, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN ? 0 : -1;
    it->sent += (size_t)n;
    return 1;
}

/* -1: the connection is lost. */
static int flush_queue(struct sender *s, bool *more)
{
    struct item *it;
    int rc;

    *more = false;
    while ((it = STAILQ_FIRST(&s->queue))) {
        if (!seal_first(s, it))
            return 0;
        if (it != STAILQ_FIRST(&s->queue) || !it->wire)
            continue; /* it is lost */
        rc = send_some(s, it);
        *more = rc == 0;
        if (rc <= 0)
            return rc;
        if (it->sent == it->len)
            is_sent(s);
    }
    return 0;
}

static void flush(struct sender *s)
{
    bool more;
    int rc;

    if (s->flushing)
        return; /* without a clerk munged answers within */
    s->flushing = true;
    rc = flush_queue(s, &more);
    s->flushing = false;
    if (rc < 0)
        try_later(s);
    else if (more)
        ev_io_start(s->loop, &s->out);
    else
        ev_io_stop(s->loop, &s->out);
}

/* The answer to a report: A accepted, K accepted and its key too, R refused. */
static void take_answer(struct sender *s, char answer)
{
    s->stats.accepted += answer == 'A' || answer == 'K';
    s->stats.refused += answer == 'R';
    if (s->unanswered > 0)
        s->unanswered--;
    if (s->last_in > 0)
        s->last_in--;
    if (answer == 'R' && s->last_in == 0)
        forget_last(s);
    if (s->unanswered > 0 || s->by != WAITING)
        return;
    s->by = answer == 'K' ? BY_KEY : BY_MUNGE;
    s->key_ns = clock_ns();
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
    s->distance = RETRY_FIRST;
    for (ssize_t i = 0; i < n; i++)
        take_answer(s, answers[i]);
    flush(s);
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

/* When there are too many the oldest goes, but not one that is half sent or at
 * munged. */
static void limit_queue(struct sender *s)
{
    struct item *first, *second;

    if (s->stats.queued <= SF_SENDER_QUEUE_MAX)
        return;
    first = STAILQ_FIRST(&s->queue);
    second = STAILQ_NEXT(first, link);
    s->stats.dropped++;
    if (first->sent == 0 && !first->busy) {
        drop_first(s);
    } else {
        STAILQ_REMOVE(&s->queue, second, item, link);
        s->stats.queued--;
        free(second);
    }
}

int sender_put(struct sender *s, const struct report *report,
               struct errbuf *err)
{
    char *text = report_encode(report, err);
    size_t len = text ? strlen(text) + 1 : 0;
    struct item *it = text ? calloc(1, sizeof(*it) + len) : NULL;

    if (!text)
        return -1;
    s->stats.put++;
    if (!it) {
        free(text);
        s->stats.dropped++;
        return errprintf(err, "out of memory");
    }
    memcpy(it->text, text, len);
    it->seq = report->seq;
    free(text);
    STAILQ_INSERT_TAIL(&s->queue, it, link);
    s->stats.queued++;
    limit_queue(s);
    if (s->connected)
        flush(s);
    else
        dial(s);
    return 0;
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
