/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The engine's messages are ordinary ones with a context id that no
 * communicator has (impi_p2p_service()): so flow control, order and the
 * choice of memory or socket are those of all others.
 */
#include "libimpi/win_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/limits.h"
#include "libimpi/background.h"
#include "libimpi/foreign.h"
#include "libimpi/conns.h"
#include "libimpi/lives.h"
#include "libimpi/progress.h"
#include "libimpi/win.h"
#include "libimpi/win_fabric.h"
#include "libimpi/win_share.h"

/* Bytes that may wait to be written before the program waits, too. */
#define OUT_MAX (32u * 1024 * 1024)
/* Data that last as long as they are needed are not copied from this size on.
 */
#define LASTS_MIN (64u * 1024)
/* Longest message: a compare-and-swap has two elements, all else the data of
 * one operation, or a datatype. */
#define MESSAGE_MAX (IMPI_RMA_HEAD + (uint64_t)SF_IMPI_RMA_DATA_MAX)

struct message_out {
    struct impi_request core;
    size_t len;
    TAILQ_ENTRY(message_out) link;
    const uint8_t *data; /* not NULL: what follows the head lies there, */
    uint64_t at;         /* and so much of it all has been handed on */
    uint8_t bytes[];
};

struct message_in {
    struct impi_request core;
    uint32_t peer;
    size_t len;
    TAILQ_ENTRY(message_in) link;
    /* Of a long one `bytes` has only the head, and the data are at: */
    uint8_t *data;
    bool placed; /* which is where they belong */
    uint64_t at; /* so much of all has come */
    uint8_t bytes[];
};

static struct {
    struct impi_rma *engine;
    TAILQ_HEAD(out_list, message_out) out;
    size_t out_bytes;
    TAILQ_HEAD(in_list, message_in) in;
    bool lost; /* a process of another world; the engine has not heard of it */
} wire;

/* ---- out ---- */

static void fill(uint8_t *to, const uint8_t *head, const void *data, size_t len)
{
    memcpy(to, head, IMPI_RMA_HEAD);
    if (len > 0)
        memcpy(to + IMPI_RMA_HEAD, data, len);
}

/* ---- a head, and data elsewhere (struct impi_buffer) ---- */

static size_t of_head(uint64_t off, size_t n)
{
    if (off >= IMPI_RMA_HEAD)
        return 0;
    return n < IMPI_RMA_HEAD - off ? n : IMPI_RMA_HEAD - off;
}

static int move_apart(void *arg, uint64_t off, void *to, size_t n)
{
    struct message_out *m = arg;
    size_t head = of_head(off, n);

    if (head > 0)
        memcpy(to, m->bytes + off, head);
    if (n > head)
        memcpy((uint8_t *)to + head, m->data + (off + head - IMPI_RMA_HEAD),
               n - head);
    m->at = off + n;
    return 0;
}

static int places_apart(void *arg, struct iovec *at, int max, size_t n)
{
    struct message_out *m = arg;
    size_t head = of_head(m->at, n);
    int k = 0;

    if (head > 0)
        at[k++] = (struct iovec){m->bytes + m->at, head};
    if (n > head && k < max)
        at[k++] = (struct iovec){(uint8_t *)(uintptr_t)m->data +
                                     (m->at + head - IMPI_RMA_HEAD),
                                 n - head};
    return k;
}

static void pass_apart(void *arg, size_t n)
{
    ((struct message_out *)arg)->at += n;
}

/* ---- what cannot be written at once ---- */

/* apart: the data last. */
static struct message_out *make_out(struct impi_send *args, const uint8_t *head,
                                    const void *data, size_t len, bool apart)
{
    size_t own = IMPI_RMA_HEAD + (apart ? 0 : len);
    struct message_out *m = malloc(sizeof(*m) + own);

    if (!m)
        be_die(1, "SF-E403: no memory for a message of %zu bytes", len);
    fill(m->bytes, head, data, own - IMPI_RMA_HEAD);
    m->len = IMPI_RMA_HEAD + len; /* what OUT_MAX counts */
    m->data = apart ? data : NULL;
    m->at = 0;
    if (apart) {
        args->buf.arg = m;
        args->buf.move = move_apart;
        args->buf.places = places_apart;
        args->buf.pass = pass_apart;
    } else {
        args->buf.base = m->bytes;
    }
    return m;
}

/* Of which `part` is written. */
static void queue(struct impi_send *args, const uint8_t *head, const void *data,
                  size_t len, bool lasts, size_t part)
{
    struct message_out *m =
        make_out(args, head, data, len, lasts && len >= LASTS_MIN);

    impi_p2p_isend(impi_be.p2p, &m->core, args);
    if (part > 0)
        conns_put_part(args->peer, part);
    TAILQ_INSERT_TAIL(&wire.out, m, link);
    wire.out_bytes += m->len;
}

static void send_short(struct impi_send *args, const uint8_t *head,
                       const void *data, size_t len)
{
    uint8_t flat[CONNS_FAST_MAX];
    size_t part = 0;

    fill(flat, head, data, len);
    args->buf.base = flat;
    if (conns_put(args, &part) != CONNS_PUT_ALL)
        queue(args, head, data, len, false, part);
}

static void send_message(void *arg, uint32_t peer, const uint8_t *head,
                         const void *data, size_t len, bool lasts)
{
    struct impi_send args = {.peer = peer,
                             .rank = impi_be.rank,
                             .cid = IMPI_RMA_CID,
                             .buf.len = IMPI_RMA_HEAD + len};

    (void)arg;
    if (args.buf.len <= CONNS_FAST_MAX)
        send_short(&args, head, data, len);
    else
        queue(&args, head, data, len, lasts, 0);
}

static void reap(void)
{
    struct message_out *m, *next;

    for (m = TAILQ_FIRST(&wire.out); m; m = next) {
        next = TAILQ_NEXT(m, link);
        if (!m->core.done)
            continue;
        TAILQ_REMOVE(&wire.out, m, link);
        wire.out_bytes -= m->len;
        free(m);
    }
}

void win_throttle(void)
{
    struct waiter w = {.native = false};

    while (wire.out_bytes > OUT_MAX)
        progress_wait(&w);
}

/* ---- in ---- */

/* Returns only where it is of another world, which is lost for it. */
static void breach(uint32_t peer, const char *why)
{
    if (foreign_of(peer)) {
        conns_lose(peer, why);
        return;
    }
    be_die(1, "SF-E408: rank %u (client %u) broke IMPI: %s", peer,
           client_of((int)peer), why);
}

static int input(const struct message_in *m, struct errbuf *err)
{
    if (m->placed)
        return impi_rma_input_placed(wire.engine, m->peer, m->bytes, m->data,
                                     m->len - IMPI_RMA_HEAD, err);
    return impi_rma_input(wire.engine, m->peer, m->data ? m->data : m->bytes,
                          m->len, err);
}

static void handle_one(const struct message_in *m)
{
    struct errbuf err = {""};

    if (m->core.status.error != IMPI_OK || input(m, &err) == 0)
        return;
    if (errno == ENOMEM)
        be_die(1, "SF-E403: no memory for a message of rank %u", m->peer);
    breach(m->peer, err.text);
}

/* May its world send any? */
static bool is_partner(uint32_t peer)
{
    return !foreign_of(peer) || foreign_can(peer, IMPI_SIDE_WINDOWS);
}

/* ---- a long message: its head, and then its data where they belong.  Not one
 * of another world, whose process may be lost halfway. ---- */

static uint8_t *memory_for(uint64_t len)
{
    uint8_t *at = malloc(len);

    if (!at)
        be_die(1, "SF-E403: no memory for a message of %llu bytes",
               (unsigned long long)len);
    return at;
}

/* So much has come.  Once the head is there it says where the rest goes: to its
 * place, or with the head to memory of our own. */
static void came(struct message_in *m, uint64_t at)
{
    m->at = at;
    if (m->at < IMPI_RMA_HEAD || m->data)
        return;
    m->data =
        impi_rma_place(wire.engine, m->peer, m->bytes, m->len - IMPI_RMA_HEAD);
    m->placed = m->data;
    if (m->placed)
        return;
    m->data = memory_for(m->len);
    memcpy(m->data, m->bytes, IMPI_RMA_HEAD);
}

static uint8_t *place_at(struct message_in *m)
{
    if (m->at < IMPI_RMA_HEAD)
        return m->bytes + m->at;
    return m->data + (m->placed ? m->at - IMPI_RMA_HEAD : m->at);
}

static int move_in(void *arg, uint64_t off, void *from, size_t n)
{
    struct message_in *m = arg;
    size_t head = of_head(off, n);

    (void)off; /* in ascending order without gaps */
    memcpy(place_at(m), from, head ? head : n);
    came(m, m->at + (head ? head : n));
    if (head > 0 && n > head) {
        memcpy(place_at(m), (const uint8_t *)from + head, n - head);
        came(m, m->at + (n - head));
    }
    return 0;
}

static int places_in(void *arg, struct iovec *at, int max, size_t n)
{
    struct message_in *m = arg;
    size_t head = of_head(m->at, n);

    if (max < 1)
        return 0;
    at[0] = (struct iovec){place_at(m), head ? head : n};
    return 1;
}

static void pass_in(void *arg, size_t n)
{
    struct message_in *m = arg;

    came(m, m->at + n);
}

static struct message_in *make_in(uint32_t peer, uint64_t len,
                                  struct impi_buffer *buf)
{
    bool apart =
        len >= IMPI_RMA_HEAD + SF_IMPI_RMA_PLACE_MIN && !foreign_of(peer);
    struct message_in *m = (struct message_in *)(void *)memory_for(
        sizeof(*m) + (apart ? IMPI_RMA_HEAD : len));

    m->peer = peer;
    m->len = len;
    m->data = NULL;
    m->placed = false;
    m->at = 0;
    *buf = (struct impi_buffer){.len = len};
    if (apart) {
        buf->arg = m;
        buf->move = move_in;
        buf->places = places_in;
        buf->pass = pass_in;
    } else {
        buf->base = m->bytes;
    }
    return m;
}

static void drop_in(struct message_in *m)
{
    if (!m->placed)
        free(m->data);
    free(m);
}

void win_wire_leave(const void *base, uint64_t size)
{
    const struct message_in *m;
    uintptr_t from = (uintptr_t)base;

    if (!wire.engine)
        return;
    TAILQ_FOREACH(m, &wire.in, link)
    {
        if (m->placed && (uintptr_t)m->data - from < size)
            breach(m->peer, "a put is still arriving as its window ends");
    }
}

static bool take_one(void)
{
    struct impi_unexpected *u;
    struct impi_buffer buf;
    struct message_in *m;
    uint64_t cid, len;
    uint32_t peer;
    bool good;

    u = impi_p2p_service(impi_be.p2p, &peer, &cid, &len);
    if (!u)
        return false;
    good = is_partner(peer) && cid == IMPI_RMA_CID && len >= IMPI_RMA_HEAD &&
           len <= MESSAGE_MAX;
    m = make_in(peer, good ? len : 0, &buf); /* else truncated, and ignored */
    impi_p2p_imrecv(impi_be.p2p, &m->core, u, &buf);
    TAILQ_INSERT_TAIL(&wire.in, m, link);
    if (!good && is_partner(peer))
        breach(peer, "a message of one-sided communication is too short, too "
                     "long, or for nobody");
    return true;
}

/* Is an earlier one of the same peer still coming? */
static bool stands_behind(const struct message_in *m)
{
    const struct message_in *p;

    TAILQ_FOREACH(p, &wire.in, link)
    {
        if (p == m)
            return false;
        if (p->peer == m->peer)
            return true;
    }
    return false;
}

static bool handle_all(void)
{
    struct message_in *m, *next;
    bool moved = false;

    for (m = TAILQ_FIRST(&wire.in); m; m = next) {
        next = TAILQ_NEXT(m, link);
        if (!m->core.done || stands_behind(m))
            continue;
        TAILQ_REMOVE(&wire.in, m, link);
        handle_one(m);
        drop_in(m);
        moved = true;
    }
    return moved;
}

/* Outside of the engine, whose sending may be what found it out. */
static void lose_foreign(void)
{
    wire.lost = false;
    for (uint32_t i = impi_be.home; i < impi_be.world.nprocs; i++)
        if (impi_p2p_peer_error(impi_be.p2p, i))
            impi_rma_lose(wire.engine, i);
}

bool win_progress(void)
{
    bool moved = win_fabric_progress();

    if (wire.lost)
        lose_foreign();
    lives_look();
    while (take_one())
        moved = true;
    if (!TAILQ_EMPTY(&wire.in))
        moved |= handle_all();
    if (!TAILQ_EMPTY(&wire.out))
        reap();
    return moved;
}

/* ---- life ---- */

struct impi_rma *win_engine(void)
{
    static struct impi_rma_ops ops = {
        .send = send_message, .copy = win_share_copy, .pause = win_share_pause};

    if (wire.engine)
        return wire.engine;
    ops.early = impi_be.world.flags & IMPI_WORLD_RMA_EARLY;
    win_fabric_add(&ops);
    TAILQ_INIT(&wire.out);
    TAILQ_INIT(&wire.in);
    wire.engine = impi_rma_create((uint32_t)impi_be.rank, impi_be.world.nprocs,
                                  &ops, NULL);
    if (!wire.engine)
        be_die(1, "SF-E403: no memory for windows");
    return wire.engine;
}

void win_first(void)
{
    impi_calls_have_windows();
    background_wake();
}

void win_left(void)
{
    if (!conns_sleep())
        background_hurry();
}

int win_grow(void)
{
    return wire.engine ? impi_rma_grow(wire.engine, impi_be.world.nprocs) : 0;
}

void win_lost(void)
{
    wire.lost = true;
}

void win_end(void)
{
    struct message_out *m;

    while (wire.engine && (m = TAILQ_FIRST(&wire.out))) {
        TAILQ_REMOVE(&wire.out, m, link);
        free(m);
    }
    impi_rma_destroy(wire.engine);
    wire.engine = NULL;
}
