/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A driver with an interface that is an array, and modules that remember what
 * they were given.  Included by one test program each.
 */
#ifndef HSN_UTIL_H
#define HSN_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hsn/engine.h"

#define FAKE_MAX 4096
#define FAKE_BYTES 8448

struct fake_packet {
    uint8_t bytes[FAKE_BYTES];
    size_t len;
    uint16_t type, subtype;
    uint8_t route[HSN_ROUTE_MAX];
    size_t route_len;
    struct iovec part[2]; /* as given */
    uint32_t slot;
};

struct fake_nic {
    struct fake_packet *out; /* what was sent, in order */
    size_t nout;
    struct fake_packet *in; /* what will be received */
    size_t nin, next_in;
    size_t room;             /* packets taken before EAGAIN */
    int fail;                /* errno of every send */
    bool hold;               /* packets stay BUSY until fake_done() */
    bool lend;               /* received packets are lent */
    size_t released;         /* of in: lent no longer */
    uint32_t done[FAKE_MAX]; /* slots to name in reap() */
    int done_error[FAKE_MAX];
    size_t ndone, cancelled, flushes, releases;
    size_t recv_calls, recv_most;
    size_t recv_limit; /* packets that one call yields; 0: all asked for */
};

static inline int fake_send(void *arg, const struct hsn_tx *tx)
{
    struct fake_nic *n = arg;
    struct fake_packet *p = &n->out[n->nout];

    if (n->fail)
        return n->fail;
    if (n->room == 0 || n->nout == FAKE_MAX)
        return EAGAIN;
    n->room--;
    n->nout++;
    p->len = hsn_parts_len(tx->part, 2);
    hsn_parts_copy(p->bytes, tx->part, 0, p->len);
    if (tx->type == HSN_TYPE) /* HS-10: headers included */
        assert_in_range(p->len, HSN_TRAILER, 8192);
    p->type = tx->type;
    p->subtype = tx->subtype;
    p->route_len = tx->route_len;
    if (tx->route_len)
        memcpy(p->route, tx->route, tx->route_len);
    p->part[0] = tx->part[0];
    p->part[1] = tx->part[1];
    p->slot = tx->slot;
    if (!n->hold)
        n->done[n->ndone++] = tx->slot;
    return 0;
}

static inline void fake_flush(void *arg)
{
    ((struct fake_nic *)arg)->flushes++;
}

static inline size_t fake_reap(void *arg, struct hsn_sent *sent, size_t max)
{
    struct fake_nic *n = arg;
    size_t k = 0;

    for (; k < max && k < n->ndone; k++)
        sent[k] = (struct hsn_sent){n->done[k], n->done_error[k]};
    memmove(n->done, n->done + k, (n->ndone - k) * sizeof(n->done[0]));
    memmove(n->done_error, n->done_error + k,
            (n->ndone - k) * sizeof(n->done_error[0]));
    n->ndone -= k;
    return k;
}

static inline void fake_cancel(void *arg, uint32_t slot)
{
    (void)slot;
    ((struct fake_nic *)arg)->cancelled++;
}

static inline size_t fake_recv(void *arg, struct hsn_rx *rx, size_t max)
{
    struct fake_nic *n = arg;
    size_t k = 0;

    if (n->recv_limit && max > n->recv_limit)
        max = n->recv_limit;
    for (; k < max && n->next_in < n->nin; k++) {
        struct fake_packet *p = &n->in[n->next_in++];
        size_t at = 0;

        rx[k].type = p->type;
        rx[k].subtype = p->subtype;
        rx[k].len = p->len;
        rx[k].borrowed = n->lend ? p->bytes : NULL;
        for (size_t b = 0; b < rx[k].nbuf && at < p->len && !n->lend; b++) {
            size_t len = p->len - at < rx[k].buf[b].iov_len
                             ? p->len - at
                             : rx[k].buf[b].iov_len;

            memcpy(rx[k].buf[b].iov_base, p->bytes + at, len);
            at += len;
        }
    }
    n->recv_calls += k;
    if (k > n->recv_most)
        n->recv_most = k;
    return k;
}

/* Whoever still looks at what was lent gets something else. */
static inline void fake_release(void *arg)
{
    struct fake_nic *n = arg;

    n->releases++;
    for (; n->lend && n->released < n->next_in; n->released++)
        memset(n->in[n->released].bytes, 0xee, n->in[n->released].len);
}

static const struct hsn_nic_ops fake_ops = {
    fake_send, fake_flush, fake_reap, fake_cancel, fake_recv, fake_release,
};

/* The held packet of that index is done. */
static inline void fake_done(struct fake_nic *n, size_t index, int error)
{
    n->done[n->ndone] = n->out[index].slot;
    n->done_error[n->ndone++] = error;
}

struct got {
    struct hsn_delivery d;
    uint8_t data[HSN_DATA_MAX], header[HSN_HEADER_MAX];
    size_t data_len, header_len;
};

struct done {
    uint64_t cookie;
    int error;
};

struct node;
struct inbox {
    struct node *node;
    struct got *got;
    size_t ngot;
    struct done done[FAKE_MAX];
    size_t ndone;
    void (*on_done)(struct inbox *box, uint64_t cookie, int error);
};

struct node {
    struct hsn_engine *e;
    struct fake_nic nic;
    struct inbox client, server, raw;
    uint64_t now;
    uint64_t pages_failing; /* allocations that will fail */
    bool fail_pages;
    unsigned pages_left; /* that many work before they fail */
    int64_t pages_out;   /* allocated and not freed */
};

static inline void inbox_deliver(void *arg, const struct hsn_delivery *d)
{
    struct inbox *box = arg;
    struct got *g = &box->got[box->ngot++];

    assert_true(box->ngot < FAKE_MAX);
    g->d = *d;
    g->data_len = hsn_parts_len(d->data, d->ndata);
    hsn_parts_copy(g->data, d->data, 0, g->data_len);
    g->header_len = d->header.iov_len;
    if (g->header_len)
        memcpy(g->header, d->header.iov_base, g->header_len);
}

static inline void inbox_complete(void *arg, uint64_t cookie, int error)
{
    struct inbox *box = arg;

    box->done[box->ndone++] = (struct done){cookie, error};
    assert_true(box->ndone < FAKE_MAX);
    if (box->on_done)
        box->on_done(box, cookie, error);
}

static inline bool raw_deliver(void *arg, uint16_t type, uint16_t subtype,
                               const struct iovec *parts, size_t nparts)
{
    struct inbox *box = arg;
    struct got *g = &box->got[box->ngot];

    if (type != HSN_TYPE_MAPPER)
        return false;
    box->ngot++;
    g->d.module = subtype;
    g->data_len = hsn_parts_len(parts, nparts);
    hsn_parts_copy(g->data, parts, 0, g->data_len);
    return true;
}

static inline void *test_page_alloc(void *arg, size_t size)
{
    struct node *n = arg;

    if (n->fail_pages && n->pages_left > 0) {
        n->pages_left--;
    } else if (n->fail_pages) {
        n->pages_failing++;
        return NULL;
    }
    n->pages_out++;
    return aligned_alloc(size, size);
}

static inline void test_page_free(void *arg, void *page, size_t size)
{
    struct node *n = arg;

    (void)size;
    n->pages_out--;
    free(page);
}

static const struct hsn_module_ops copy_module = {inbox_deliver,
                                                  inbox_complete};
static const struct hsn_raw_ops raw_module = {raw_deliver, inbox_complete};

/* Board 1..9 all have one-hop routes to each other. */
static inline void node_routes(struct node *n)
{
    struct hsn_peer peer[9];
    struct hsn_routes r;

    memset(peer, 0, sizeof(peer));
    for (int i = 0; i < 9; i++) {
        peer[i].address = (uint64_t)i + 1;
        peer[i].nroutes = 1;
        peer[i].route[0].len = 1;
        peer[i].route[0].byte[0] = 0x81;
    }
    assert_int_equal(
        hsn_routes_make(&r, peer, 9, hsn_engine_routes(n->e), NULL), 0);
    hsn_engine_set_routes(n->e, &r);
}

static inline struct node *node_new(uint64_t board, size_t page_size,
                                    const struct hsn_module_ops *module)
{
    struct node *n = calloc(1, sizeof(*n));
    struct hsn_engine_options o = {
        .board = board,
        .incarnation = 0x11220000 + (uint32_t)board,
        .sequence = 7,
        .page_size = page_size,
        .memory = {test_page_alloc, test_page_free, n},
    };

    n->nic.room = SIZE_MAX;
    n->nic.out = calloc(FAKE_MAX, sizeof(*n->nic.out));
    n->nic.in = calloc(FAKE_MAX, sizeof(*n->nic.in));
    n->client.got = calloc(FAKE_MAX, sizeof(struct got));
    n->server.got = calloc(FAKE_MAX, sizeof(struct got));
    n->raw.got = calloc(FAKE_MAX, sizeof(struct got));
    n->client.node = n->server.node = n->raw.node = n;
    n->now = 1000;
    n->e = hsn_engine_new(&o, &fake_ops, &n->nic);
    assert_non_null(n->e);
    assert_int_equal(
        hsn_engine_open(n->e, HSN_MODULE_CLIENT, module, &n->client), 0);
    assert_int_equal(
        hsn_engine_open(n->e, HSN_MODULE_SERVER, module, &n->server), 0);
    hsn_engine_raw(n->e, &raw_module, &n->raw);
    node_routes(n);
    return n;
}

static inline void node_free(struct node *n)
{
    hsn_engine_free(n->e);
    assert_int_equal(n->pages_out, 0);
    free(n->nic.out);
    free(n->nic.in);
    free(n->client.got);
    free(n->server.got);
    free(n->raw.got);
    free(n);
}

static inline uint64_t count_of(struct node *n, enum hsn_count c)
{
    return hsn_engine_counts(n->e)->n[c];
}
#define COUNT(n, name) count_of(n, HSN_COUNT_##name)

static inline int send_to(struct node *n, uint16_t module, uint64_t board,
                          const void *data, size_t data_len, const void *header,
                          size_t header_len, uint64_t cookie)
{
    struct hsn_send s = {
        .board = board,
        .data = {(void *)(uintptr_t)data, data_len},
        .header = {(void *)(uintptr_t)header, header_len},
        .cookie = cookie,
    };

    return hsn_engine_send(n->e, module, &s, n->now);
}

/* Put a packet into the way of a node. */
static inline void arrive(struct node *n, const struct fake_packet *p)
{
    assert_true(n->nic.nin < FAKE_MAX);
    n->nic.in[n->nic.nin++] = *p;
}

/* All that `from` has sent since `at` arrives at `to`. */
static inline void pass(struct node *from, size_t at, struct node *to)
{
    for (; at < from->nic.nout; at++)
        arrive(to, &from->nic.out[at]);
}

static inline unsigned wake(struct node *n)
{
    return hsn_engine_wake(n->e, n->now);
}

static inline void fill(uint8_t *p, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++)
        p[i] = (uint8_t)(seed * 31 + i * 7 + (i >> 8));
}

#endif
