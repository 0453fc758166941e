/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapperd/ib_poll.h"

#include <infiniband/umad.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define SLOTS 128 /* a power of two */
#define TRIES 3
#define WAIT_NS 200000000ULL
#define SEQ_MASK 0x1ffffffu /* with a slot it makes 32 bits */

struct slot {
    bool busy;
    uint32_t seq;
    unsigned tries;
    size_t ask;
    uint64_t sent;
};

struct run {
    struct ib_poll *p;
    uint32_t *from; /* of each node: the port of the map that leads to it */
    struct slot slots[SLOTS];
    unsigned window, inflight;
    struct ib_poll_stats *stats;
};

/* Breadth first from our own host; hosts lead no further. */
static uint32_t *ways(const struct net *map, uint32_t me)
{
    uint32_t *from = malloc((map->nnodes + 1) * sizeof(*from));
    uint32_t *queue = malloc((map->nnodes + 1) * sizeof(*queue));
    uint32_t n = 0, got = 0;

    if (!from || !queue) {
        free(from);
        free(queue);
        return NULL;
    }
    memset(from, 0xff, map->nnodes * sizeof(*from));
    queue[got++] = me;
    while (n < got) {
        uint32_t at = queue[n++];

        if (at != me && net_is_host(map, at))
            continue;
        for (unsigned p = 0; p < map->nodes[at].nports; p++) {
            uint32_t to = net_peer_node(map, at, p);

            if (to == NET_NONE || to == me || from[to] != NET_NONE)
                continue;
            from[to] = map->nodes[at].first + p;
            queue[got++] = to;
        }
    }
    free(queue);
    return from;
}

/* The path to a node; false: none, or too long. */
static bool path_to(const struct run *r, uint32_t node, struct smp_get *get)
{
    const struct net *map = r->p->map;
    uint8_t back[SMP_HOPS_MAX];
    unsigned n = 0;

    while (node != r->p->me) {
        uint32_t port = r->from[node];

        if (port == NET_NONE || n == SMP_HOPS_MAX)
            return false;
        node = map->ports[port].node;
        back[n++] = node == r->p->me
                        ? (uint8_t)r->p->io->number
                        : (uint8_t)(net_port_number(map, port) + 1);
    }
    get->hops = (uint8_t)n;
    for (unsigned i = 0; i < n; i++)
        get->path[i] = back[n - 1 - i];
    return true;
}

static uint32_t tid_of(const struct run *r, const struct slot *s)
{
    return s->seq << 7 | (uint32_t)(s - r->slots);
}

static void release(struct run *r, struct slot *s)
{
    s->busy = false;
    r->inflight--;
}

static enum pma_attr attr_of(enum ib_what what)
{
    return what == IB_CAN             ? PMA_CLASS_INFO
           : what == IB_COUNTERS_WIDE ? PMA_COUNTERS_WIDE
                                      : PMA_COUNTERS;
}

static void make_pma(uint8_t *mad, uint32_t tid, const struct ib_ask *a)
{
    if (a->what == IB_CLEAR)
        pma_make_clear(mad, tid, a->port, a->of);
    else
        pma_make(mad, tid, attr_of(a->what), a->port);
}

static void ask(struct run *r, struct slot *s)
{
    const struct ib_ask *a = &r->p->asks[s->ask];
    struct ib_port *io = r->p->io;
    bool by_lid = a->what >= IB_COUNTERS;
    struct smp_get get = {.attr = SMP_PORT_INFO, .mod = a->port};

    s->seq = ++io->seq & SEQ_MASK;
    s->sent = clock_ns();
    s->tries++;
    get.tid = tid_of(r, s);
    if (a->what == IB_ROUTES) {
        get.attr = SMP_FORWARDING;
        get.mod = a->of;
    }
    if (by_lid ? io->pma < 0 || !a->lid : !path_to(r, a->node, &get)) {
        r->stats->silent++;
        release(r, s);
        return;
    }
    r->stats->mads++;
    if (by_lid) {
        umad_set_addr(io->umad, a->lid, 1, 0, (int)PMA_QKEY);
        make_pma(umad_get_mad(io->umad), get.tid, a);
    } else {
        umad_set_addr(io->umad, 0xffff, 0, 0, 0);
        smp_make(umad_get_mad(io->umad), &get);
    }
    umad_send(io->id, by_lid ? io->pma : io->agent, io->umad, SMP_SIZE, 0, 0);
}

static void begin(struct run *r, size_t i)
{
    struct slot *s = r->slots;

    while (s->busy)
        s++;
    *s = (struct slot){.busy = true, .ask = i};
    r->inflight++;
    ask(r, s);
}

/* Ask again, or give it up. */
static void look_at_time(struct run *r, uint64_t now)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        struct slot *s = &r->slots[i];

        if (!s->busy || now - s->sent < WAIT_NS)
            continue;
        if (s->tries < TRIES) {
            ask(r, s);
            continue;
        }
        r->stats->silent++;
        release(r, s);
    }
}

static int until_next(const struct run *r, uint64_t now)
{
    uint64_t first = UINT64_MAX;

    for (unsigned i = 0; i < SLOTS; i++)
        if (r->slots[i].busy && r->slots[i].sent < first)
            first = r->slots[i].sent;
    if (first == UINT64_MAX || now >= first + WAIT_NS)
        return 0;
    return (int)((first + WAIT_NS - now) / 1000000) + 1;
}

static bool take_smp(const uint8_t *mad, enum smp_attr attr, struct ib_ask *a)
{
    if (a->what == IB_PORT)
        return attr == SMP_PORT_INFO && smp_port_info(mad, &a->info);
    if (a->what == IB_ROUTES && attr == SMP_FORWARDING) {
        smp_forwarding(mad, a->routes);
        return true;
    }
    return false;
}

static bool take_pma(const uint8_t *mad, enum pma_attr attr, struct ib_ask *a)
{
    if (a->what < IB_COUNTERS || attr != attr_of(a->what))
        return false;
    if (a->what == IB_CAN)
        a->wide = pma_is_wide(mad);
    else if (a->what != IB_CLEAR)
        return pma_counters(mad, attr, a->port, &a->counters);
    return true;
}

static void take(struct run *r, const uint8_t *mad)
{
    bool pma = mad[1] == PMA_CLASS, good;
    enum smp_attr smp = SMP_NODE_INFO;
    enum pma_attr attr = PMA_CLASS_INFO;
    uint32_t tid = 0;
    struct slot *s;
    struct ib_ask *a;

    good = pma ? pma_parse(mad, &attr, &tid) : smp_parse(mad, &smp, &tid);
    s = &r->slots[tid & (SLOTS - 1)];
    if (!s->busy || tid != tid_of(r, s))
        return; /* late, or not ours */
    a = &r->p->asks[s->ask];
    if (pma != (a->what >= IB_COUNTERS))
        return;
    a->refused = !good;
    a->answered =
        good && (pma ? take_pma(mad, attr, a) : take_smp(mad, smp, a));
    r->stats->silent += !a->answered;
    release(r, s);
}

static void receive(struct run *r, int ms)
{
    struct ib_port *io = r->p->io;
    int len = SMP_SIZE;

    if (umad_recv(io->id, io->umad, &len, ms) >= 0 && len >= SMP_SIZE &&
        umad_status(io->umad) == 0)
        take(r, umad_get_mad(io->umad));
}

int ib_poll_run(struct ib_poll *p, struct ib_poll_stats *stats)
{
    struct run *r = calloc(1, sizeof(*r));
    size_t next = 0;

    *stats = (struct ib_poll_stats){0};
    if (!r || !(r->from = ways(p->map, p->me))) {
        free(r);
        return -1;
    }
    r->p = p;
    r->stats = stats;
    r->window = p->window && p->window < SLOTS ? p->window : SLOTS;
    for (size_t i = 0; i < p->n; i++)
        p->asks[i].answered = p->asks[i].refused = false;
    while (next < p->n || r->inflight > 0) {
        while (next < p->n && r->inflight < r->window)
            begin(r, next++);
        if (r->inflight > 0)
            receive(r, until_next(r, clock_ns()));
        look_at_time(r, clock_ns());
    }
    free(r->from);
    free(r);
    return 0;
}
