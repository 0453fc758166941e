/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "relay_sim.h"

struct sim_packet {
    struct sim_packet *next;
    size_t len;
    bool urgent;
    uint8_t bytes[SIM_PACKET];
};

/* ---- life ---- */

static enum impi_claim claim(void *arg, struct impi_request *recv)
{
    struct sim_proc *p = arg;

    if (!p->mute)
        return IMPI_CLAIM_OURS;
    p->unsettled = true;
    p->claims++;
    return IMPI_CLAIM_LATER;
}

static void no_connect(void *arg, uint32_t peer)
{
    fail_msg("everybody is connected");
}

static uint32_t host_of(const struct sim *s, uint32_t proc)
{
    return proc >= s->first[1];
}

uint32_t sim_npeers(const struct sim *s, uint32_t proc)
{
    return s->host[1 - host_of(s, proc)].nprocs;
}

uint32_t sim_peer(const struct sim *s, uint32_t proc, uint32_t k)
{
    return s->first[1 - host_of(s, proc)] + k;
}

static void make_proc(struct sim *s, uint32_t i, size_t pipe)
{
    static const struct impi_p2p_ops ops = {.claim = claim,
                                            .connect = no_connect};
    struct sim_proc *p = &s->proc[i];

    p->up.size = p->down.size = pipe;
    p->p2p = impi_p2p_create(&s->world, i, &ops, p);
    assert_non_null(p->p2p);
    p->channel = impi_p2p_attach(p->p2p, sim_peer(s, i, 0));
    for (uint32_t k = 1; k < sim_npeers(s, i); k++)
        assert_int_equal(
            impi_p2p_attach_more(p->p2p, p->channel, sim_peer(s, i, k)), 0);
}

static void make_host(struct sim *s, uint32_t h)
{
    struct sim_host *host = &s->host[h];

    host->relay = impi_relay_create(&s->world, h);
    assert_non_null(host->relay);
    for (uint32_t i = 0; i < host->nprocs; i++) {
        host->procs[i].in = &s->proc[s->first[h] + i].up;
        host->procs[i].out = &s->proc[s->first[h] + i].down;
    }
    host->other.in = &s->between[1 - h];
    host->other.out = &s->between[h];
}

static void make_world(struct sim *s, const struct sim_options *o)
{
    s->world.maxdatalen = o->maxdatalen;
    s->world.ackmark = o->ackmark;
    s->world.hiwater = o->hiwater;
    s->world.flags = IMPI_WORLD_EXTENDED;
    s->world.nclients = 2;
    assert_int_equal(impi_world_alloc(&s->world, 2, s->nprocs), 0);
    for (uint32_t i = 0; i < s->nprocs; i++) {
        struct impi_proc *p = &s->world.procs[i];

        p->client = p->host = host_of(s, i);
        p->hostid[15] = 1;
        p->pid = 100 + i;
        s->world.hosts[p->host].client = p->client;
        s->world.hosts[p->host].nprocs++;
    }
}

struct sim *sim_create(const struct sim_options *o)
{
    struct sim *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    assert_true(o->maxdatalen <= SIM_DATALEN && o->pipe <= SIM_PIPE);
    if (o->seed)
        s->random = o->seed * 2654435761u + 88172645463325252u;
    s->first[1] = o->each[0];
    s->nprocs = o->each[0] + o->each[1];
    for (uint32_t h = 0; h < 2; h++) {
        s->host[h].nprocs = o->each[h];
        s->host[h].pause = o->pause;
        s->between[h].size = o->pipe;
    }
    make_world(s, o);
    for (uint32_t i = 0; i < s->nprocs; i++)
        make_proc(s, i, o->pipe);
    for (uint32_t h = 0; h < 2; h++)
        make_host(s, h);
    return s;
}

static void drop_first(struct sim_queue *q)
{
    struct sim_packet *p = q->first;

    q->first = p->next;
    q->sent = 0;
    free(p);
}

static void drop_queue(struct sim_queue *q)
{
    while (q->first)
        drop_first(q);
}

void sim_destroy(struct sim *s)
{
    for (uint32_t i = 0; i < s->nprocs; i++)
        impi_p2p_destroy(s->proc[i].p2p);
    for (uint32_t h = 0; h < 2; h++) {
        impi_relay_destroy(s->host[h].relay);
        drop_queue(&s->host[h].other.queue);
        for (uint32_t i = 0; i < SIM_EACH; i++)
            drop_queue(&s->host[h].procs[i].queue);
    }
    impi_world_free(&s->world);
    free(s);
}

/* ---- bytes ---- */

uint32_t sim_random(struct sim *s, uint32_t below)
{
    if (!s->random)
        return below - 1;
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return (uint32_t)((s->random >> 32) * below >> 32);
}

/* How many of n bytes a call moves that may. */
static size_t some(struct sim *s, size_t n)
{
    if (!s->random || n == 0)
        return n;
    switch (sim_random(s, 6)) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return 1 + sim_random(s, (uint32_t)n);
    default:
        return n;
    }
}

size_t sim_put(struct sim *s, struct sim_pipe *p, const void *data, size_t len)
{
    size_t n = p->size - p->len;

    n = some(s, n < len ? n : len);
    memcpy(p->bytes + p->len, data, n);
    p->len += n;
    return n;
}

void sim_take(struct sim_pipe *p, void *data, size_t n)
{
    memcpy(data, p->bytes, n);
    memmove(p->bytes, p->bytes + n, p->len - n);
    p->len -= n;
}

static size_t proc_out(struct sim *s, struct sim_proc *p)
{
    struct iovec iov[IMPI_TX_IOV];
    size_t n;

    if (impi_channel_tx(p->channel, iov, IMPI_TX_IOV) == 0)
        return 0;
    n = sim_put(s, &p->up, iov[0].iov_base, iov[0].iov_len);
    if (n > 0)
        impi_channel_tx_done(p->channel, n);
    return n;
}

static size_t proc_in(struct sim *s, struct sim_proc *p)
{
    struct iovec iov[IMPI_RX_IOV];
    size_t n = some(s, p->down.len);

    if (n == 0)
        return 0;
    assert_true(impi_channel_rx(p->channel, iov, IMPI_RX_IOV) > 0);
    n = n < iov[0].iov_len ? n : iov[0].iov_len;
    sim_take(&p->down, iov[0].iov_base, n);
    assert_int_equal(impi_channel_rx_done(p->channel, n), 0);
    return n;
}

/* ---- hosts ---- */

/* Urgent ones pass those that wait, but not what is begun. */
static void queue_add(struct sim_queue *q, const uint8_t *data, size_t len,
                      bool urgent)
{
    struct sim_packet **at = &q->first, *p = calloc(1, sizeof(*p));

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

static size_t port_out(struct sim *s, struct sim_port *port)
{
    struct sim_queue *q = &port->queue;
    struct sim_packet *p = q->first;
    size_t n;

    if (!p)
        return 0;
    n = sim_put(s, port->out, p->bytes + q->sent, p->len - q->sent);
    q->sent += n;
    q->bytes -= n;
    if (q->sent == p->len)
        drop_first(q);
    return n;
}

static void pass_on(struct sim_host *h, struct sim_port *from,
                    const struct impi_packet *pk)
{
    struct errbuf err;
    bool is_host = from == &h->other;
    uint32_t proc = is_host ? 0 : (uint32_t)(from - h->procs);
    uint32_t other = impi_relay_wants(h->relay, 0) ? 0 : 1;
    int64_t to = is_host ? impi_relay_from_host(h->relay, other, pk, &err)
                         : impi_relay_from_proc(h->relay, proc, pk, &err);

    if (to == IMPI_RELAY_TAKEN)
        return;
    assert_true(to >= 0);
    queue_add(is_host ? &h->procs[to].queue : &h->other.queue, from->got,
              from->len, impi_relay_is_urgent(pk));
}

/* A packet that is here as a whole goes on. */
static void port_step(struct sim_host *h, struct sim_port *port, size_t *want)
{
    struct impi_packet pk;

    *want = IMPI_PACKET_SIZE;
    if (port->len < IMPI_PACKET_SIZE)
        return;
    impi_packet_decode(&pk, port->got);
    *want += impi_packet_payload(&pk);
    if (port->len < *want)
        return;
    pass_on(h, port, &pk);
    port->len = 0;
    *want = IMPI_PACKET_SIZE;
}

static size_t port_in(struct sim *s, struct sim_host *h, struct sim_port *port)
{
    size_t n = some(s, port->in->len), want;

    port_step(h, port, &want);
    n = n < want - port->len ? n : want - port->len;
    sim_take(port->in, port->got + port->len, n);
    port->len += n;
    port_step(h, port, &want);
    return n;
}

/* FINIs that have fallen due; the processes get theirs last. */
static void host_fini(struct sim_host *h)
{
    struct impi_packet pk = {.type = IMPI_PK_FINI};
    uint8_t head[IMPI_PACKET_SIZE];

    impi_packet_encode(head, &pk);
    if (!h->told_other && impi_relay_procs_done(h->relay)) {
        h->told_other = true;
        queue_add(&h->other.queue, head, sizeof(head), false);
    }
    if (h->told_procs || !h->told_other || h->other.queue.first ||
        !impi_relay_hosts_done(h->relay))
        return;
    h->told_procs = true;
    for (uint32_t i = 0; i < h->nprocs; i++)
        queue_add(&h->procs[i].queue, head, sizeof(head), false);
}

static size_t host_step(struct sim *s, struct sim_host *h)
{
    size_t moved = port_in(s, h, &h->other) + port_out(s, &h->other);

    for (uint32_t i = 0; i < h->nprocs; i++) {
        if (h->other.queue.bytes <= h->pause)
            moved += port_in(s, h, &h->procs[i]);
        moved += port_out(s, &h->procs[i]);
    }
    host_fini(h);
    return moved;
}

static size_t round_of_all(struct sim *s)
{
    size_t moved = host_step(s, &s->host[0]) + host_step(s, &s->host[1]);

    for (uint32_t i = 0; i < s->nprocs; i++) {
        if (!s->proc[i].asleep && !s->proc[i].skips)
            moved += proc_out(s, &s->proc[i]) + proc_in(s, &s->proc[i]);
        s->proc[i].skips = false;
    }
    return moved;
}

size_t sim_step(struct sim *s)
{
    size_t moved = round_of_all(s);
    uint64_t seed = s->random;

    if (moved > 0 || !seed)
        return moved;
    s->random = 0;
    moved = round_of_all(s);
    s->random = seed;
    return moved;
}

void sim_settle(struct sim *s)
{
    while (sim_step(s) > 0)
        ;
}
