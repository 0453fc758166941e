/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapperd/ib_sweep.h"

#include <stdlib.h>
#include <uthash.h>

#define TRIES 3 /* sweeps in which an agent is asked what it can */

/* Of a node's performance management. */
struct ib_agent {
    uint64_t guid;
    unsigned tries;
    bool known, wide;
    UT_hash_handle hh;
};

static int poll(struct ib_sweep *s, struct ib_poll *p, struct ib_poll_stats *to)
{
    struct ib_poll_stats stats;

    p->io = s->io;
    p->window = s->window;
    p->map = s->ports.map;
    p->me = s->ports.me;
    if (ib_poll_run(p, &stats) < 0)
        return -1;
    to->mads += stats.mads;
    to->silent += stats.silent;
    s->mads += stats.mads;
    s->swept += stats.mads;
    return 0;
}

/* Room for so many questions. */
static int anew(struct ib_poll *p, size_t n)
{
    free(p->asks);
    p->n = 0;
    p->asks = calloc(n + 1, sizeof(*p->asks));
    return p->asks ? 0 : -1;
}

int ib_sweep_map(struct ib_sweep *s, const struct net *map, uint32_t me,
                 ib_sweep_port_f *port_of, void *arg)
{
    struct ib_poll *p = &s->ports;

    s->counters.n = s->routes.n = 0;
    s->next_switch = s->next_block = 0;
    s->routes_since = 0;
    p->map = map;
    p->me = me;
    if (anew(p, (size_t)map->nports + map->nxbars) < 0)
        return -1;
    for (uint32_t i = 0; i < map->nnodes; i++) {
        bool host = net_is_host(map, i);

        if (!host) /* of all its ports the LID */
            p->asks[p->n++] = (struct ib_ask){.node = i};
        for (unsigned k = 0; k < map->nodes[i].nports; k++)
            p->asks[p->n++] = (struct ib_ask){
                .node = i, .port = host ? port_of(i, arg) : (uint8_t)(k + 1)};
    }
    return 0;
}

int ib_sweep_ports(struct ib_sweep *s)
{
    s->swept = 0;
    s->ports_stats = (struct ib_poll_stats){0};
    return poll(s, &s->ports, &s->ports_stats);
}

/* ---- counters ------------------------------------------------------------ */

static struct ib_agent *agent_of(struct ib_sweep *s, uint32_t node)
{
    uint64_t guid = s->ports.map->nodes[node].id;
    struct ib_agent *a;

    HASH_FIND(hh, s->agents, &guid, sizeof(guid), a);
    if (a || !(a = calloc(1, sizeof(*a))))
        return a;
    a->guid = guid;
    HASH_ADD(hh, s->agents, guid, sizeof(a->guid), a);
    return a;
}

/* The ports that carry traffic, as questions; the LID of a switch's ports is
 * its own. */
static int list_counters(struct ib_sweep *s)
{
    struct ib_poll *p = &s->counters;
    uint16_t lid = 0;

    if (anew(p, s->ports.n) < 0)
        return -1;
    for (size_t i = 0; i < s->ports.n; i++) {
        const struct ib_ask *a = &s->ports.asks[i];

        if (a->port == 0 || net_is_host(s->ports.map, a->node))
            lid = a->answered ? a->info.lid : 0;
        if (a->port && a->answered && a->info.state == SMP_ACTIVE && lid)
            p->asks[p->n++] = (struct ib_ask){.what = IB_COUNTERS,
                                              .node = a->node,
                                              .port = a->port,
                                              .lid = lid};
    }
    return 0;
}

/* Ask agents of which it is not known what they can. */
static int ask_agents(struct ib_sweep *s)
{
    struct ib_poll p = {0};
    uint32_t last = NET_NONE;
    int rc;

    if (anew(&p, s->counters.n) < 0)
        return -1;
    for (size_t i = 0; i < s->counters.n; i++) {
        const struct ib_ask *c = &s->counters.asks[i];
        struct ib_agent *a = c->node == last ? NULL : agent_of(s, c->node);

        last = c->node;
        if (a && !a->known && a->tries++ < TRIES)
            p.asks[p.n++] =
                (struct ib_ask){.what = IB_CAN, .node = c->node, .lid = c->lid};
    }
    rc = p.n ? poll(s, &p, &s->counters_stats) : 0;
    for (size_t i = 0; rc == 0 && i < p.n; i++) {
        struct ib_agent *a = agent_of(s, p.asks[i].node);

        if (!a)
            continue;
        a->known = p.asks[i].answered || p.asks[i].refused;
        a->wide = p.asks[i].answered && p.asks[i].wide;
    }
    free(p.asks);
    return rc;
}

static unsigned full_ones(const struct pma_counters *c)
{
    unsigned set = 0;

    for (int i = 0; i < TALLY_PORT_COUNTERS; i++)
        if (c->full[i])
            set |= 1u << i;
    return set;
}

static int clear_full(struct ib_sweep *s)
{
    struct ib_poll p = {0};
    int rc;

    if (anew(&p, s->counters.n) < 0)
        return -1;
    for (size_t i = 0; i < s->counters.n; i++) {
        const struct ib_ask *c = &s->counters.asks[i];
        unsigned set =
            c->answered && c->what == IB_COUNTERS ? full_ones(&c->counters) : 0;

        if (set)
            p.asks[p.n++] = (struct ib_ask){.what = IB_CLEAR,
                                            .node = c->node,
                                            .port = c->port,
                                            .lid = c->lid,
                                            .of = (uint16_t)set};
    }
    rc = p.n ? poll(s, &p, &s->counters_stats) : 0;
    free(p.asks);
    return rc;
}

int ib_sweep_counters(struct ib_sweep *s)
{
    struct ib_poll *p = &s->counters;

    s->counters_stats = (struct ib_poll_stats){0};
    if (list_counters(s) < 0 || ask_agents(s) < 0)
        return -1;
    for (size_t i = 0; i < p->n; i++) {
        const struct ib_agent *a = agent_of(s, p->asks[i].node);

        if (a && a->wide)
            p->asks[i].what = IB_COUNTERS_WIDE;
    }
    if (poll(s, p, &s->counters_stats) < 0)
        return -1;
    return s->clear_full ? clear_full(s) : 0;
}

/* ---- routes -------------------------------------------------------------- */

/* Blocks that have LIDs of hosts. */
static unsigned blocks(const struct ib_sweep *s)
{
    unsigned most = 0;

    for (size_t i = 0; i < s->ports.n; i++) {
        const struct ib_ask *a = &s->ports.asks[i];

        if (a->answered && a->info.lid > most &&
            net_is_host(s->ports.map, a->node))
            most = a->info.lid;
    }
    most = most ? most / SMP_BLOCK + 1 : 0;
    return most < SMP_BLOCKS_MAX ? most : SMP_BLOCKS_MAX;
}

/* Has it cables to other switches? */
static bool leads_on(const struct net *map, uint32_t node)
{
    for (unsigned p = 0; p < map->nodes[node].nports; p++) {
        uint32_t peer = net_peer_node(map, node, p);

        if (peer != NET_NONE && !net_is_host(map, peer))
            return true;
    }
    return false;
}

int ib_sweep_routes(struct ib_sweep *s, uint64_t now)
{
    const struct net *map = s->ports.map;
    unsigned nblocks = blocks(s);
    struct ib_poll *p = &s->routes;

    s->routes_stats = (struct ib_poll_stats){0};
    p->n = 0;
    if (s->next_switch >= map->nnodes) {
        if (now - s->routes_since < IB_ROUTES_NS)
            return 0;
        s->next_switch = 0;
    }
    if (s->next_switch == 0 && s->next_block == 0)
        s->routes_since = now;
    if (anew(p, IB_ROUTES_EACH) < 0)
        return -1;
    while (s->next_switch < map->nnodes && p->n < IB_ROUTES_EACH) {
        uint32_t at = s->next_switch;

        if (s->next_block >= nblocks || net_is_host(map, at) ||
            !leads_on(map, at)) {
            s->next_switch++;
            s->next_block = 0;
            continue;
        }
        p->asks[p->n++] = (struct ib_ask){
            .what = IB_ROUTES, .node = at, .of = (uint16_t)s->next_block++};
    }
    return p->n ? poll(s, p, &s->routes_stats) : 0;
}

void ib_sweep_free(struct ib_sweep *s)
{
    struct ib_agent *a, *next;

    HASH_ITER(hh, s->agents, a, next)
    {
        HASH_DEL(s->agents, a);
        free(a);
    }
    free(s->ports.asks);
    free(s->counters.asks);
    free(s->routes.asks);
    s->ports.asks = s->counters.asks = s->routes.asks = NULL;
    s->ports.n = s->counters.n = s->routes.n = 0;
}
