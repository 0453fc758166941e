/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A peer's packet stream into the message engine, mixed with the process's
 * own calls.  The input is a list of operations, each an op byte and its
 * arguments; identifiers that the engine gave out are used as often as
 * invented ones, so that the deep states are reached.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "impi/channel.h"
#include "impi/p2p.h"
#include "impi/packet.h"

#define REQUESTS 32
#define PIECES                                                                 \
    (IMPI_TX_IOV + 9) /* entries, of which data in pieces take many */

struct input {
    const uint8_t *data;
    size_t left;
};

struct fuzz {
    struct impi_p2p *p2p;
    struct impi_channel *channel;
    struct impi_world world;
    struct impi_proc procs[3];
    struct impi_request reqs[REQUESTS];
    uint8_t used[REQUESTS]; /* started and perhaps not done */
    uint8_t memory[REQUESTS][300];
    uint64_t srqid, drqid; /* last heard from the engine */
    unsigned answer;       /* of the last claim */
    bool apart, places;    /* how the connection takes what a callback moves */
};

static uint8_t get8(struct input *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->data++;
}

static enum impi_claim claim(void *arg, struct impi_request *recv)
{
    struct fuzz *f = arg;

    f->answer = (f->answer + 1) % (IMPI_CLAIM_LATER + 1);
    if (f->answer == IMPI_CLAIM_NATIVE) /* this one, not the one before it */
        f->used[recv - f->reqs] = 0;
    return (enum impi_claim)f->answer;
}

static void no_connect(void *arg, uint32_t peer)
{
}

static const struct impi_p2p_ops ops = {.claim = claim, .connect = no_connect};

static size_t give(struct fuzz *f, const uint8_t *p, size_t len)
{
    size_t n = f->apart ? impi_channel_rx_apart(f->channel) : 0;

    n = n < len ? n : len;
    if (n > 0)
        impi_channel_give(f->channel, p, n);
    return n;
}

/* Bytes into the engine; whatever it says, it must survive. */
static void inject(struct fuzz *f, const uint8_t *p, size_t len)
{
    struct iovec iov[PIECES];

    while (len > 0 && !impi_channel_failed(f->channel)) {
        size_t moved = give(f, p, len);
        int n;

        p += moved;
        len -= moved;
        if (moved > 0)
            continue;
        n = impi_channel_rx(f->channel, iov, f->places ? PIECES : IMPI_RX_IOV);

        for (int i = 0; i < n && len > 0; i++) {
            size_t k = iov[i].iov_len < len ? iov[i].iov_len : len;

            memcpy(iov[i].iov_base, p, k);
            p += k;
            len -= k;
            moved += k;
        }
        impi_channel_rx_done(f->channel, moved);
    }
}

static void inject_packet(struct fuzz *f, struct input *in)
{
    uint8_t wire[IMPI_PACKET_SIZE + 255] = {0}, how = get8(in);
    struct impi_packet pk = {
        .type = get8(in) % 9,
        .len = get8(in),
        .msglen = get8(in),
        .tag = get8(in) % 4,
        .cid = get8(in) % 2,
        .srqid = how & 1 ? f->srqid : get8(in),
        .drqid = how & 2 ? f->drqid : get8(in),
    };

    if (how & 4)
        pk.msglen = pk.len;
    if (how & 8)
        pk.msglen <<= 30;
    impi_proc_encode(pk.src, f->procs[1 + (how >> 7)].hostid,
                     f->procs[1 + (how >> 7)].pid);
    impi_proc_encode(pk.dest, f->procs[0].hostid, f->procs[0].pid);
    impi_packet_encode(wire, &pk);
    inject(f, wire, IMPI_PACKET_SIZE);
    if (!(how & 16))
        inject(f, wire + IMPI_PACKET_SIZE, impi_packet_payload(&pk));
}

static struct impi_request *idle(struct fuzz *f, unsigned *i)
{
    for (*i = 0; *i < REQUESTS; ++*i) {
        if (!f->used[*i] || f->reqs[*i].done) {
            f->used[*i] = 1;
            return &f->reqs[*i];
        }
    }
    return NULL;
}

static int move_out(void *arg, uint64_t off, void *wire, size_t n)
{
    memset(wire, 0, n);
    return n == 77 ? -1 : 0;
}

static int move_in(void *arg, uint64_t off, void *wire, size_t n)
{
    static uint8_t copy[300];

    memcpy(copy, wire, n);
    return n == 77 ? -1 : 0;
}

/* One by one, all at one place. */
static int where_next(void *arg, struct iovec *at, int max, size_t n)
{
    int i;

    for (i = 0; i < max && (size_t)i < n; i++)
        at[i] = (struct iovec){arg, 1};
    return i;
}

static void pass(void *arg, size_t n)
{
    if (n > PIECES)
        abort();
}

static void start(struct fuzz *f, struct input *in, bool send)
{
    uint8_t how = get8(in);
    unsigned i;
    struct impi_request *req = idle(f, &i);
    struct impi_buffer buf = {.base = f->memory[0], .len = get8(in)};
    struct impi_send s = {.peer = 1 + (how >> 7), .tag = how % 4};
    struct impi_recv r = {.peer = 1 + (how >> 7), .tag = how % 4};

    if (!req)
        return;
    buf.base = f->memory[i];
    if (how & 8)
        buf = (struct impi_buffer){.len = buf.len,
                                   .move = send ? move_out : move_in,
                                   .places = f->places ? where_next : NULL,
                                   .pass = pass,
                                   .arg = f->memory[i]};
    s.buf = r.buf = buf;
    s.cid = r.cid = how >> 4 & 1;
    s.sync = how >> 5 & 1;
    if (how & 32)
        r.peer = IMPI_ANY_PEER;
    if (how & 64)
        r.tag = IMPI_ANY_TAG;
    r.shared = r.peer == IMPI_ANY_PEER && (how & 4);
    if (send)
        impi_p2p_isend(f->p2p, req, &s);
    else
        impi_p2p_irecv(f->p2p, req, &r);
}

/* Let the engine write n bytes; listen for ids in whole headers. */
static void drain(struct fuzz *f, size_t n)
{
    static uint8_t ring[300];
    struct iovec iov[PIECES];
    int max = f->places ? PIECES : IMPI_TX_IOV;
    int k = f->apart ? impi_channel_tx_apart(f->channel, iov, max)
                     : impi_channel_tx(f->channel, iov, max);
    struct impi_packet pk;
    size_t moved = 0;

    for (int i = 0; i < k; i++) {
        size_t take = iov[i].iov_len < n ? iov[i].iov_len : n;

        if (!iov[i].iov_base && take > 0)
            impi_channel_fetch(f->channel, ring, take);
        else if (iov[i].iov_len == IMPI_PACKET_SIZE) {
            impi_packet_decode(&pk, iov[i].iov_base);
            if (pk.type == IMPI_PK_SYNCACK)
                f->drqid = pk.drqid;
            if (pk.type == IMPI_PK_DATASYNC || pk.type == IMPI_PK_CANCEL)
                f->srqid = pk.srqid;
        }
        moved += take;
        n -= take;
    }
    if (moved > 0)
        impi_channel_tx_done(f->channel, moved);
}

static void probe(struct fuzz *f, uint8_t how)
{
    struct impi_recv want = {.peer = IMPI_ANY_PEER, .tag = how % 4};
    struct impi_unexpected *message;
    struct impi_status status;
    struct impi_request *req;
    struct impi_buffer buf;
    unsigned i;

    if (!impi_p2p_iprobe(f->p2p, &want, &status) || !(how & 64))
        return;
    req = idle(f, &i);
    if (!req)
        return;
    message = impi_p2p_improbe(f->p2p, &want, &status);
    if (!message) { /* an older receive had waited for it */
        f->used[i] = 0;
        return;
    }
    buf = (struct impi_buffer){.base = f->memory[i], .len = how};
    impi_p2p_imrecv(f->p2p, req, message, &buf);
}

static void cancel(struct fuzz *f, uint8_t how)
{
    unsigned i = how % REQUESTS;

    if (!f->used[i])
        return;
    if (f->reqs[i].is_send)
        impi_p2p_cancel_send(f->p2p, &f->reqs[i]);
    if (f->reqs[i].done || f->reqs[i].is_send)
        return;
    if (impi_p2p_cancel_recv(f->p2p, &f->reqs[i], how & 128))
        f->used[i] = 0;
}

static void raw(struct fuzz *f, struct input *in)
{
    size_t n = get8(in);

    n = n < in->left ? n : in->left;
    inject(f, in->data, n);
    in->data += n;
    in->left -= n;
}

static void operate(struct fuzz *f, struct input *in)
{
    switch (get8(in) % 12) {
    case 0:
        raw(f, in);
        break;
    case 1:
    case 2:
        start(f, in, false);
        break;
    case 3:
        start(f, in, true);
        break;
    case 4:
        drain(f, 1 + get8(in));
        break;
    case 5:
        drain(f, SIZE_MAX);
        break;
    case 6:
        probe(f, get8(in));
        break;
    case 7:
        cancel(f, get8(in));
        break;
    case 8:
        if (get8(in) == 0)
            impi_channel_fini(f->channel);
        break;
    case 9:
        impi_p2p_settle(f->p2p);
        break;
    default:
        inject_packet(f, in);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    struct fuzz *f = calloc(1, sizeof(*f));
    uint8_t how;

    if (!f)
        return 0;
    for (int i = 0; i < 3; i++)
        f->procs[i].pid = 1000 + (uint64_t)i;
    f->world.procs = f->procs;
    f->world.nprocs = 3;
    f->world.maxdatalen = 1 + get8(&in) % 64;
    f->world.hiwater = 1 + get8(&in) % 8;
    f->world.ackmark = 1 + get8(&in) % f->world.hiwater;
    f->p2p = impi_p2p_create(&f->world, 0, &ops, f);
    if (f->p2p)
        f->channel = impi_p2p_attach(f->p2p, 1);
    if (f->channel)
        impi_p2p_attach_more(f->p2p, f->channel, 2);
    how = get8(&in);
    if (how & 1)
        impi_p2p_set_unexpected_max(f->p2p, 0);
    f->apart = how & 2;
    f->places = how & 4;
    while (f->channel && in.left > 0)
        operate(f, &in);
    impi_p2p_destroy(f->p2p);
    free(f);
    return 0;
}
