/* SPDX-License-Identifier: BSD-3-Clause
 * Two hosts whose processes flood each other through the relay, in memory:
 * message engines, relay engines, byte streams of a few bytes.  A host always
 * reads the other one; its own processes only while little waits for the other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/channel.h"
#include "impi/p2p.h"
#include "impi/packet.h"
#include "impi/relay.h"

#define NEACH 3 /* processes of a host */
#define NPROCS (2 * NEACH)
#define DATALEN 20
#define HIWATER 4
#define ACKMARK 2
#define PIPE 37 /* bytes in flight */
#define PAUSE 300
#define NSENDS 40 /* of each process to each of the others */
#define LENGTH 70
#define PACKET_MAX (IMPI_PACKET_SIZE + DATALEN)

struct pipe {
    uint8_t bytes[PIPE];
    size_t len;
};

struct packet {
    struct packet *next;
    size_t len;
    bool urgent;
    uint8_t bytes[PACKET_MAX];
};

struct queue {
    struct packet *first;
    size_t sent, bytes, peak;
};

/* A connection as its host has it. */
struct port {
    struct pipe *in, *out;
    uint8_t got[PACKET_MAX];
    size_t len;
    struct queue queue;
};

struct host {
    struct impi_relay *relay;
    struct port procs[NEACH], other;
};

struct sim {
    struct impi_world world;
    struct impi_p2p *p2p[NPROCS];
    struct impi_channel *channel[NPROCS];
    struct pipe up[NPROCS], down[NPROCS], between[2];
    struct host host[2];
    bool asleep[NPROCS];
    struct impi_request send[NPROCS][NEACH][NSENDS];
    struct impi_request recv[NPROCS][NEACH][NSENDS];
    uint8_t out[LENGTH], in[NPROCS][NEACH][NSENDS][LENGTH];
};

static enum impi_claim claim(void *arg, struct impi_request *recv)
{
    return IMPI_CLAIM_OURS;
}

static void no_connect(void *arg, uint32_t peer)
{
    fail_msg("everybody is connected");
}

static uint32_t peer_of(uint32_t proc, uint32_t k)
{
    return proc < NEACH ? NEACH + k : k;
}

static void make_proc(struct sim *s, uint32_t i)
{
    static const struct impi_p2p_ops ops = {claim, no_connect};

    s->p2p[i] = impi_p2p_create(&s->world, i, &ops, NULL);
    assert_non_null(s->p2p[i]);
    s->channel[i] = impi_p2p_attach(s->p2p[i], peer_of(i, 0));
    for (uint32_t k = 1; k < NEACH; k++)
        assert_int_equal(
            impi_p2p_attach_more(s->p2p[i], s->channel[i], peer_of(i, k)), 0);
}

static void make_host(struct sim *s, uint32_t h)
{
    struct host *host = &s->host[h];

    host->relay = impi_relay_create(&s->world, h);
    assert_non_null(host->relay);
    for (uint32_t i = 0; i < NEACH; i++) {
        host->procs[i].in = &s->up[h * NEACH + i];
        host->procs[i].out = &s->down[h * NEACH + i];
    }
    host->other.in = &s->between[1 - h];
    host->other.out = &s->between[h];
}

static struct sim *make(void)
{
    struct sim *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    s->world.maxdatalen = DATALEN;
    s->world.ackmark = ACKMARK;
    s->world.hiwater = HIWATER;
    s->world.flags = IMPI_WORLD_EXTENDED;
    s->world.nclients = 2;
    assert_int_equal(impi_world_alloc(&s->world, 2, NPROCS), 0);
    for (uint32_t i = 0; i < NPROCS; i++) {
        struct impi_proc *p = &s->world.procs[i];

        p->client = p->host = i / NEACH;
        p->hostid[15] = 1;
        p->pid = 100 + i;
        s->world.hosts[p->host].client = p->client;
        s->world.hosts[p->host].nprocs++;
    }
    for (uint32_t i = 0; i < NPROCS; i++)
        make_proc(s, i);
    for (uint32_t h = 0; h < 2; h++)
        make_host(s, h);
    return s;
}

static void drop(struct sim *s)
{
    for (uint32_t i = 0; i < NPROCS; i++)
        impi_p2p_destroy(s->p2p[i]);
    for (uint32_t h = 0; h < 2; h++)
        impi_relay_destroy(s->host[h].relay);
    impi_world_free(&s->world);
    free(s);
}

/* ---- bytes ---- */

static size_t pipe_put(struct pipe *p, const void *data, size_t len)
{
    size_t n = sizeof(p->bytes) - p->len;

    n = n < len ? n : len;
    memcpy(p->bytes + p->len, data, n);
    p->len += n;
    return n;
}

static void pipe_take(struct pipe *p, void *data, size_t n)
{
    memcpy(data, p->bytes, n);
    memmove(p->bytes, p->bytes + n, p->len - n);
    p->len -= n;
}

static size_t proc_out(struct sim *s, uint32_t i)
{
    struct iovec iov[IMPI_TX_IOV];
    size_t n;

    if (impi_channel_tx(s->channel[i], iov, IMPI_TX_IOV) == 0)
        return 0;
    n = pipe_put(&s->up[i], iov[0].iov_base, iov[0].iov_len);
    if (n > 0)
        impi_channel_tx_done(s->channel[i], n);
    return n;
}

static size_t proc_in(struct sim *s, uint32_t i)
{
    struct iovec iov[IMPI_RX_IOV];
    size_t n = s->down[i].len;

    if (n == 0)
        return 0;
    assert_true(impi_channel_rx(s->channel[i], iov, IMPI_RX_IOV) > 0);
    n = n < iov[0].iov_len ? n : iov[0].iov_len;
    pipe_take(&s->down[i], iov[0].iov_base, n);
    assert_int_equal(impi_channel_rx_done(s->channel[i], n), 0);
    return n;
}

/* ---- hosts ---- */

/* Urgent ones pass those that wait, but not what is begun. */
static void queue_add(struct queue *q, const uint8_t *data, size_t len,
                      bool urgent)
{
    struct packet **at = &q->first, *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    p->len = len;
    p->urgent = urgent;
    memcpy(p->bytes, data, len);
    if (*at && q->sent > 0)
        at = &(*at)->next;
    while (*at && (!urgent || (*at)->urgent))
        at = &(*at)->next;
    p->next = *at;
    *at = p;
    q->bytes += len;
    q->peak = q->peak > q->bytes ? q->peak : q->bytes;
}

static size_t port_out(struct port *port)
{
    struct queue *q = &port->queue;
    struct packet *p = q->first;
    size_t n;

    if (!p)
        return 0;
    n = pipe_put(port->out, p->bytes + q->sent, p->len - q->sent);
    q->sent += n;
    q->bytes -= n;
    if (q->sent == p->len) {
        q->first = p->next;
        q->sent = 0;
        free(p);
    }
    return n;
}

static void pass_on(struct host *h, struct port *from,
                    const struct impi_packet *pk)
{
    struct errbuf err;
    bool is_host = from == &h->other;
    uint32_t proc = is_host ? 0 : (uint32_t)(from - h->procs);
    uint32_t other = impi_relay_wants(h->relay, 0) ? 0 : 1;
    int64_t to = is_host ? impi_relay_from_host(h->relay, other, pk, &err)
                         : impi_relay_from_proc(h->relay, proc, pk, &err);

    assert_true(to >= 0);
    queue_add(is_host ? &h->procs[to].queue : &h->other.queue, from->got,
              from->len, impi_relay_is_urgent(pk));
}

static size_t port_in(struct host *h, struct port *port)
{
    struct impi_packet pk;
    size_t want = IMPI_PACKET_SIZE, n = port->in->len;

    if (port->len >= IMPI_PACKET_SIZE) {
        impi_packet_decode(&pk, port->got);
        want += impi_packet_payload(&pk);
    }
    n = n < want - port->len ? n : want - port->len;
    pipe_take(port->in, port->got + port->len, n);
    port->len += n;
    if (port->len < IMPI_PACKET_SIZE)
        return n;
    impi_packet_decode(&pk, port->got);
    if (port->len == IMPI_PACKET_SIZE + impi_packet_payload(&pk)) {
        pass_on(h, port, &pk);
        port->len = 0;
    }
    return n;
}

static size_t host_step(struct host *h)
{
    size_t moved = port_in(h, &h->other) + port_out(&h->other);

    for (uint32_t i = 0; i < NEACH; i++) {
        if (h->other.queue.bytes <= PAUSE)
            moved += port_in(h, &h->procs[i]);
        moved += port_out(&h->procs[i]);
    }
    return moved;
}

static size_t step(struct sim *s)
{
    size_t moved = host_step(&s->host[0]) + host_step(&s->host[1]);

    for (uint32_t i = 0; i < NPROCS; i++)
        if (!s->asleep[i])
            moved += proc_out(s, i) + proc_in(s, i);
    return moved;
}

static void settle(struct sim *s)
{
    while (step(s) > 0)
        ;
}

/* ---- messages ---- */

static void flood(struct sim *s, uint32_t i)
{
    for (int n = 0; n < NSENDS; n++)
        for (uint32_t k = 0; k < NEACH; k++) {
            struct impi_send args = {.peer = peer_of(i, k),
                                     .rank = (int32_t)i,
                                     .tag = n,
                                     .sync = n % 7 == 0,
                                     .buf = {.base = s->out, .len = LENGTH}};

            impi_p2p_isend(s->p2p[i], &s->send[i][k][n], &args);
        }
}

/* The last first. */
static void take(struct sim *s, uint32_t i)
{
    for (int n = NSENDS - 1; n >= 0; n--)
        for (uint32_t k = 0; k < NEACH; k++) {
            struct impi_recv args = {
                .peer = peer_of(i, k),
                .rank = (int32_t)peer_of(i, k),
                .tag = n,
                .buf = {.base = s->in[i][k][n], .len = LENGTH}};

            impi_p2p_irecv(s->p2p[i], &s->recv[i][k][n], &args);
        }
}

static void all_done(struct sim *s, uint32_t i, uint32_t k)
{
    for (int n = 0; n < NSENDS; n++) {
        assert_true(s->recv[i][k][n].done);
        assert_memory_equal(s->in[i][k][n], s->out, LENGTH);
    }
}

/* Flow control is the bound: of each pair one way hiwater packets that count,
 * and the acknowledgements of the other. */
static void queues_were_short(const struct sim *s)
{
    size_t most =
        NEACH * (HIWATER * PACKET_MAX + HIWATER / ACKMARK * IMPI_PACKET_SIZE);

    for (uint32_t h = 0; h < 2; h++) {
        assert_true(s->host[h].other.queue.peak <= PAUSE + NEACH * PACKET_MAX);
        for (uint32_t i = 0; i < NEACH; i++)
            assert_true(s->host[h].procs[i].queue.peak <= most);
    }
}

static void hosts_that_flood_each_other_never_stop(void **state)
{
    struct sim *s = make();

    for (uint32_t i = 0; i < NPROCS; i++)
        flood(s, i);
    settle(s);
    for (uint32_t i = 0; i < NPROCS; i++)
        take(s, i);
    settle(s);
    for (uint32_t i = 0; i < NPROCS; i++)
        for (uint32_t k = 0; k < NEACH; k++)
            all_done(s, i, k);
    queues_were_short(s);
    drop(s);
}

/* All flood it, and it does not look: the others get theirs meanwhile. */
static void a_process_that_does_not_read_holds_up_nobody(void **state)
{
    struct sim *s = make();

    s->asleep[0] = true;
    for (uint32_t i = 1; i < NPROCS; i++) {
        flood(s, i);
        take(s, i);
    }
    settle(s);
    for (uint32_t i = 1; i < NPROCS; i++)
        for (uint32_t k = 0; k < NEACH; k++)
            if (peer_of(i, k) != 0)
                all_done(s, i, k);
    queues_were_short(s);
    s->asleep[0] = false;
    flood(s, 0);
    take(s, 0);
    settle(s);
    for (uint32_t k = 0; k < NEACH; k++) {
        all_done(s, 0, k);
        all_done(s, peer_of(0, k), 0);
    }
    drop(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_that_flood_each_other_never_stop),
        cmocka_unit_test(a_process_that_does_not_read_holds_up_nobody),
    };

    return cmocka_run_group_tests_name("relay_flood", tests, NULL, NULL);
}
