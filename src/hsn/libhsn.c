/* SPDX-License-Identifier: BSD-3-Clause
 * libhsn: endpoints and their messages.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "elan/capability.h"
#include "hsn/libhsn_priv.h"
#include "hsn/port_record.h"

/* A spinning receiver looks this seldom whether hsnd still lives. */
#define EMPTY_LOOKS 4096

static int default_path(char *path, size_t size)
{
    const char *own = getenv("HSN_SOCKET");
    const char *program = getenv("SLURM_FABRIC_PROGRAM");
    const char *slash = program ? strrchr(program, '/') : NULL;

    if (own)
        return snprintf(path, size, "%s", own);
    if (slash) {
        int n = snprintf(path, size, "%.*s/hsnd-0", (int)(slash - program),
                         program);

        if (n > 0 && (size_t)n < size && access(path, F_OK) == 0)
            return n;
    }
    return snprintf(path, size, "%s/hsnd-0", SF_RUNSTATEDIR);
}

struct hsn *hsn_open(const char *path)
{
    struct hsn *h = calloc(1, sizeof(*h));
    int n;

    if (!h)
        return NULL;
    h->bell = h->call = -1;
    h->look.most = LOOK_MOST_NS;
    n = path ? snprintf(h->path, sizeof(h->path), "%s", path)
             : default_path(h->path, sizeof(h->path));
    if (n > 0 && (size_t)n < sizeof(h->path) && hsn_call_fd(h) >= 0)
        return h;
    if ((size_t)n >= sizeof(h->path))
        errno = ENAMETOOLONG;
    hsn_close(h);
    return NULL;
}

void hsn_close(struct hsn *h)
{
    int e = errno;

    if (!h)
        return;
    ring_detach(&h->to);
    ring_detach(&h->from);
    if (h->bell >= 0)
        close(h->bell);
    if (h->call >= 0)
        close(h->call);
    free(h);
    errno = e;
}

/* Map both rings; the descriptors are closed. */
static int map_rings(struct hsn *h, int fds[2])
{
    int rc = -1;

    if (fds[0] >= 0 && fds[1] >= 0 &&
        ring_attach(&h->to, fds[0], RING_PRODUCER, HSN_RECORD_MAX, NULL) == 0 &&
        ring_attach(&h->from, fds[1], RING_CONSUMER, HSN_RECORD_MAX, NULL) == 0)
        rc = 0;
    else
        errno = EPROTO;
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return rc;
}

/* Say the request in h->buf; the connection becomes the endpoint's. */
static struct hsn *open_endpoint(struct hsn *h, enum hsn_kind kind,
                                 const struct be_writer *w)
{
    struct be_reader answer;
    int fds[2] = {-1, -1};

    if (hsn_call(h, h->call, w, &answer, fds) < 0 || map_rings(h, fds) < 0) {
        hsn_close(h);
        return NULL;
    }
    h->kind = kind;
    h->bell = h->call;
    h->limit_ms = -2; /* not known */
    h->call = -1;
    return h;
}

static struct hsn *open_simple(const char *path, enum hsn_kind kind,
                               enum hsn_verb verb, uint32_t number)
{
    struct hsn *h = hsn_open(path);
    struct be_writer w;

    if (!h)
        return NULL;
    hsn_request_begin(&w, h->buf, sizeof(h->buf), verb, number, 0);
    return open_endpoint(h, kind, &w);
}

struct hsn *hsn_raw_open(const char *path, uint16_t type)
{
    return open_simple(path, HSN_KIND_RAW, HSN_OPEN_RAW, type);
}

struct hsn *hsn_dgram_open(const char *path, uint16_t module)
{
    return open_simple(path, HSN_KIND_DGRAM, HSN_OPEN_DGRAM, module);
}

struct hsn *hsn_attach(const char *path, const ELAN_CAPABILITY *cap,
                       int context)
{
    struct hsn *h = hsn_open(path);
    struct be_writer w;
    size_t len;

    if (!h)
        return NULL;
    hsn_request_begin(&w, h->buf, sizeof(h->buf), HSN_OPEN_ELAN,
                      (uint32_t)(context >= 0 ? context : cap->MyContext), 0);
    elan_capability_put(&w, cap);
    len = w.len;
    h = open_endpoint(h, HSN_KIND_ELAN, &w);
    if (h)
        explicit_bzero(h->buf, len);
    return h;
}

int elan3_attach(struct hsn **ctx, const ELAN_CAPABILITY *cap)
{
    *ctx = hsn_attach(NULL, cap, -1);
    return *ctx ? 0 : -1;
}

int hsn_fd(const struct hsn *h)
{
    return h->bell;
}

static int fail(int error)
{
    errno = error;
    return -1;
}

/* What keeps the handle from sending or receiving such messages. */
static int usable(const struct hsn *h, bool raw)
{
    if (h->bell < 0 || raw != (h->kind == HSN_KIND_RAW))
        return fail(EOPNOTSUPP);
    return h->gone ? fail(ECONNRESET) : 0;
}

/* The rings after an error: broken is as good as gone. */
static int ring_failed(struct hsn *h)
{
    if (errno == EPROTO)
        h->gone = true;
    if (h->gone)
        errno = ECONNRESET;
    return -1;
}

static void commit(struct hsn *h, size_t len)
{
    ring_commit(&h->to, len);
    if (ring_must_wake(&h->to))
        ring_bell(h->bell);
}

static uint8_t *append(uint8_t *at, const void *src, size_t len)
{
    if (len)
        memcpy(at, src, len);
    return at + len;
}

int hsn_send(struct hsn *h, const struct hsn_message *m)
{
    size_t most =
        h->kind == HSN_KIND_ELAN ? HSN_ELAN_HEADER_MAX : HSN_HEADER_MAX;
    struct hsn_record *r;
    uint8_t *at;

    if (usable(h, false) < 0)
        return -1;
    if (m->data_len > HSN_DATA_MAX || m->header_len > most)
        return fail(EMSGSIZE);
    r = ring_reserve(&h->to, sizeof(*r) + m->data_len + m->header_len);
    if (!r)
        return ring_failed(h);
    *r = (struct hsn_record){.board = m->board,
                             .node = m->node,
                             .context = m->context,
                             .module = m->module,
                             .data_len = (uint16_t)m->data_len,
                             .header_len = (uint16_t)m->header_len};
    at = append((uint8_t *)(r + 1), m->data, m->data_len);
    append(at, m->header, m->header_len);
    commit(h, sizeof(*r) + m->data_len + m->header_len);
    return 0;
}

int hsn_raw_send(struct hsn *h, const struct hsn_raw *p)
{
    struct hsn_record *r;

    if (usable(h, true) < 0)
        return -1;
    if (p->len > HSN_MTU || p->route_len > HSN_ROUTE_MAX)
        return fail(EMSGSIZE);
    for (size_t i = 0; i < p->route_len; i++)
        if ((p->route[i] & 0xc0) != 0x80)
            return fail(EINVAL);
    r = ring_reserve(&h->to, sizeof(*r) + p->route_len + p->len);
    if (!r)
        return ring_failed(h);
    *r = (struct hsn_record){.subtype = p->subtype,
                             .data_len = (uint16_t)p->len,
                             .route_len = (uint16_t)p->route_len};
    append(append((uint8_t *)(r + 1), p->route, p->route_len), p->payload,
           p->len);
    commit(h, sizeof(*r) + p->route_len + p->len);
    return 0;
}

/* The last message is not looked at any more. */
static void let_go(struct hsn *h)
{
    if (!h->holding)
        return;
    ring_consume(&h->from);
    h->holding = false;
    if (ring_must_wake_full(&h->from))
        ring_bell(h->bell);
}

static void disarm(struct hsn *h)
{
    if (!h->armed)
        return;
    h->armed = false;
    ring_awake(&h->from);
    if (ring_bell_clear(h->bell) < 0)
        h->gone = true;
}

/* Nothing is there: ask for a wake-up if that is wanted, now and then look
 * whether hsnd lives. */
static bool nothing_there(struct hsn *h, bool arm)
{
    if (!arm && ++h->empty % EMPTY_LOOKS == 0 && ring_bell_clear(h->bell) < 0)
        h->gone = true;
    if (!arm || !ring_sleep(&h->from))
        return !arm;
    h->armed = true;
    return true;
}

/* The next record, held; NULL with errno. */
static const struct hsn_record *next(struct hsn *h, bool arm)
{
    const struct hsn_record *r;
    size_t len;

    let_go(h);
    disarm(h);
    for (;;) {
        r = ring_peek(&h->from, &len);
        if (r || errno != EAGAIN)
            break;
        if (h->gone)
            return fail(ECONNRESET), NULL;
        if (nothing_there(h, arm))
            return fail(EAGAIN), NULL;
    }
    if (!r)
        return ring_failed(h), NULL;
    h->empty = 0;
    h->holding = true;
    if (len >= sizeof(*r) && hsn_record_valid(r, len))
        return r;
    h->gone = true;
    return fail(ECONNRESET), NULL;
}

static int receive(struct hsn *h, struct hsn_message *m, bool arm)
{
    const struct hsn_record *r;
    const uint8_t *data;

    if (h->bell < 0 || h->kind == HSN_KIND_RAW)
        return fail(EOPNOTSUPP);
    r = next(h, arm);
    if (!r)
        return -1;
    data = (const uint8_t *)(r + 1);
    *m = (struct hsn_message){.board = r->board,
                              .node = r->node,
                              .context = r->context,
                              .module = r->module,
                              .data = data,
                              .data_len = r->data_len,
                              .header = data + r->data_len,
                              .header_len = r->header_len};
    return 0;
}

int hsn_recv(struct hsn *h, struct hsn_message *m)
{
    return receive(h, m, true);
}

int hsn_try_recv(struct hsn *h, struct hsn_message *m)
{
    return receive(h, m, false);
}

int hsn_raw_recv(struct hsn *h, struct hsn_raw *p)
{
    const struct hsn_record *r;

    if (h->kind != HSN_KIND_RAW)
        return fail(EOPNOTSUPP);
    r = next(h, true);
    if (!r)
        return -1;
    *p = (struct hsn_raw){.type = r->type,
                          .subtype = r->subtype,
                          .payload = r + 1,
                          .len = r->data_len};
    return 0;
}

/* The longest that a recv() on the bell lasts; one call only when it
 * changes. */
static void limit_recv(struct hsn *h, int timeout_ms)
{
    struct timeval t = {.tv_sec = timeout_ms / 1000,
                        .tv_usec = timeout_ms % 1000 * 1000};

    if (h->limit_ms == timeout_ms)
        return;
    h->limit_ms = timeout_ms;
    if (timeout_ms < 0)
        t = (struct timeval){0}; /* for ever */
    setsockopt(h->bell, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
}

/* Sleep until the bell rings.  1, 0 when time is over, -1 with errno. */
static int sleep_at_bell(struct hsn *h, int timeout_ms)
{
    char rings[64];
    ssize_t n;

    limit_recv(h, timeout_ms);
    n = recv(h->bell, rings, sizeof(rings), timeout_ms ? 0 : MSG_DONTWAIT);
    if (n > 0)
        return 1;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return errno == EAGAIN ? 0 : -1;
    h->gone = true;
    return 1; /* what is still in the ring comes first */
}

static bool has_one(struct hsn *h)
{
    size_t len;

    if (ring_peek(&h->from, &len))
        return true;
    if (errno != EAGAIN)
        h->gone = true;
    return false;
}

static bool look_for_one(struct hsn *h)
{
    for (;;) {
        uint64_t now = clock_ns();

        if (has_one(h)) {
            look_found(&h->look, now);
            return true;
        }
        if (!look_idle(&h->look, now))
            return false;
        look_rest();
    }
}

int hsn_wait(struct hsn *h, int timeout_ms)
{
    int n = 1, e = 0;

    if (h->bell < 0)
        return fail(EOPNOTSUPP);
    let_go(h);
    disarm(h);
    if (timeout_ms && look_for_one(h))
        return 1;
    while (!has_one(h)) {
        if (h->gone)
            return fail(ECONNRESET);
        if (n <= 0)
            return n < 0 ? fail(e) : 0;
        if (ring_sleep(&h->from))
            n = sleep_at_bell(h, timeout_ms);
        e = errno; /* the look at the ring has one of its own */
        ring_awake(&h->from);
    }
    look_found(&h->look, clock_ns());
    return 1;
}

int hsn_wait_send(struct hsn *h, int timeout_ms)
{
    struct pollfd p = {.fd = h->bell, .events = POLLIN};
    int n = 1;

    if (h->bell < 0)
        return fail(EOPNOTSUPP);
    if (ring_sleep_full(&h->to, HSN_RECORD_MAX)) {
        n = poll(&p, 1, timeout_ms);
        if (n > 0 && ring_bell_clear(h->bell) < 0)
            h->gone = true;
    }
    ring_awake(&h->to);
    if (h->gone)
        return fail(ECONNRESET);
    return n;
}
