/* SPDX-License-Identifier: BSD-3-Clause
 * libhsn: messages out of the ring from hsnd, and waiting for them.
 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/clock.h"
#include "hsn/libhsn_priv.h"
#include "hsn/port_record.h"

/* A spinning receiver looks this seldom whether hsnd still lives. */
#define EMPTY_LOOKS 4096

/* The last message is not looked at any more. */
static void let_go(struct hsn *h)
{
    if (!h->holding)
        return;
    hsn_page_let_go(h);
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
            return hsn_fail(ECONNRESET), NULL;
        if (nothing_there(h, arm))
            return hsn_fail(EAGAIN), NULL;
    }
    if (!r)
        return hsn_ring_failed(h), NULL;
    h->empty = 0;
    h->holding = true;
    if (len >= sizeof(*r) && hsn_record_valid(r, len))
        return r;
    h->gone = true;
    return hsn_fail(ECONNRESET), NULL;
}

static int receive(struct hsn *h, struct hsn_message *m, bool arm)
{
    const struct hsn_record *r;
    const void *data;

    if (h->bell < 0 || h->kind == HSN_KIND_RAW)
        return hsn_fail(EOPNOTSUPP);
    r = next(h, arm);
    if (!r)
        return -1;
    data = r->page ? hsn_page_arrived(h, r->page, r->data_len)
                   : (const void *)(r + 1);
    if (!data) {
        h->gone = true;
        return hsn_fail(ECONNRESET);
    }
    *m = (struct hsn_message){.board = r->board,
                              .node = r->node,
                              .context = r->context,
                              .module = r->module,
                              .data = data,
                              .data_len = r->data_len,
                              .header = (const uint8_t *)(r + 1) +
                                        hsn_record_inline(r),
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
        return hsn_fail(EOPNOTSUPP);
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
        return hsn_fail(EOPNOTSUPP);
    let_go(h);
    disarm(h);
    if (timeout_ms && look_for_one(h))
        return 1;
    while (!has_one(h)) {
        if (h->gone)
            return hsn_fail(ECONNRESET);
        if (n <= 0)
            return n < 0 ? hsn_fail(e) : 0;
        if (ring_sleep(&h->from))
            n = sleep_at_bell(h, timeout_ms);
        e = errno; /* the look at the ring has one of its own */
        ring_awake(&h->from);
    }
    look_found(&h->look, clock_ns());
    return 1;
}
