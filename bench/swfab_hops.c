/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a hop of the software crossbars costs (functional mode) beside a load
 * that depends on the one before, in memory of the same size as the fabric's
 * table of ports.  Packets walk at random through 48 to 64 crossbars, which
 * shows the hop, or go the shortest way between random hosts, of which
 * sending and arriving are a good part.
 *
 *     swfab_hops [RUNS]     prints: NET-walk|NET-short  ns/hop  ns/load
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "net/build.h"
#include "net/rng.h"
#include "swfab/walk.h"

enum {
    SOURCES = 64,
    PACKETS = 100000,
    CELL = 16,
    LEN = 80,
    STRIDE = 128,
    WALK_MIN = 48
};

/* Of our own processor time: others use the machine, too. */
static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* came[n]: the port of n by which a shortest way from `from` gets there. */
static void search(const struct net *net, uint32_t from, uint32_t *came,
                   uint32_t *queue)
{
    uint32_t head = 0, tail = 0;

    memset(came, 0xff, net->nnodes * sizeof(*came));
    came[from] = net->nodes[from].first;
    queue[tail++] = from;
    while (head < tail) {
        uint32_t n = queue[head++];

        for (unsigned p = 0; p < net->nodes[n].nports; p++) {
            uint32_t peer = net->ports[net->nodes[n].first + p].peer;

            if (peer == NET_NONE || came[net->ports[peer].node] != NET_NONE)
                continue;
            came[net->ports[peer].node] = peer;
            queue[tail++] = net->ports[peer].node;
        }
    }
}

static void put_route(const struct net *net, const uint32_t *came,
                      uint32_t from, uint32_t to, uint8_t *packet)
{
    uint8_t back[NET_WIRE_ROUTE_MAX];
    uint32_t leave = came[to];
    size_t n = 0;

    for (;;) {
        uint32_t in = net->ports[leave].peer;

        if (net->ports[in].node == from)
            break;
        leave = came[net->ports[in].node];
        back[n++] = net_route_byte((int)leave - (int)in);
    }
    net_route_reverse(packet, back, n);
}

/* One step of a random walk: a port of the crossbar entered by `in` that
 * leads to a host, or not; NET_NONE when chance found none. */
static uint32_t draw_port(const struct net *net, struct net_rng *rng,
                          uint32_t in, bool host)
{
    const struct net_node *x = &net->nodes[net->ports[in].node];

    for (int tries = 0; tries < 200; tries++) {
        uint32_t p = x->first + net_rng_below(rng, x->nports);
        uint32_t peer = net->ports[p].peer;

        if (p != in && peer != NET_NONE &&
            net_is_host(net, net->ports[peer].node) == host)
            return p;
    }
    return NET_NONE;
}

/* A walk of 48 to 64 crossbars that ends at a host. */
static void put_walk(const struct net *net, struct net_rng *rng, uint32_t from,
                     uint8_t *packet)
{
    uint32_t in = net->ports[net->nodes[from].first].peer;
    size_t n = 0;

    while (n < NET_WIRE_ROUTE_MAX) {
        uint32_t out = n >= WALK_MIN ? draw_port(net, rng, in, true) : NET_NONE;
        bool end = out != NET_NONE;

        if (!end)
            out = draw_port(net, rng, in, false);
        packet[n++] = net_route_byte((int)out - (int)in);
        if (end)
            break;
        in = net->ports[out].peer;
        if (n == NET_WIRE_ROUTE_MAX) { /* no host was near: once more */
            in = net->ports[net->nodes[from].first].peer;
            n = 0;
        }
    }
    memset(packet + n, 0, STRIDE - n);
}

struct load {
    uint8_t *packets; /* STRIDE apart */
    uint32_t *from;
};

static void make_load(struct load *l, const struct net *net, bool walks)
{
    struct net_rng rng = {1};
    uint32_t *came = calloc(net->nnodes, sizeof(*came));
    uint32_t *queue = calloc(net->nnodes, sizeof(*queue));
    uint32_t *hosts = calloc(net->nhosts, sizeof(*hosts)), n = 0;

    for (uint32_t i = 0; i < net->nnodes; i++)
        if (net_is_host(net, i))
            hosts[n++] = i;
    l->packets = calloc(PACKETS, STRIDE);
    l->from = calloc(PACKETS, sizeof(*l->from));
    for (uint32_t s = 0; s < SOURCES; s++) {
        uint32_t from = hosts[net_rng_below(&rng, n)];

        search(net, from, came, queue);
        for (uint32_t i = s; i < PACKETS; i += SOURCES) {
            uint32_t to = from;

            while (to == from)
                to = hosts[net_rng_below(&rng, n)];
            l->from[i] = from;
            if (walks)
                put_walk(net, &rng, from, l->packets + (size_t)i * STRIDE);
            else
                put_route(net, came, from, to, l->packets + (size_t)i * STRIDE);
        }
    }
    free(came);
    free(queue);
    free(hosts);
}

static double ns_per_hop(struct swfab *fab, const struct load *l)
{
    double start = now_ns();
    uint64_t hops = 0;

    for (uint32_t i = 0; i < PACKETS; i++) {
        struct swfab_walk w;

        w.head = l->packets + (size_t)i * STRIDE;
        w.len = LEN;
        if (swfab_follow(fab, l->from[i], &w) != SWFAB_DELIVERED)
            abort();
        hops += w.stripped;
    }
    return (now_ns() - start) / (double)hops;
}

struct cell {
    uint32_t next, pad[3];
};

_Static_assert(sizeof(struct cell) == CELL, "as a port of the fabric");

/* One cycle through all cells, in random order. */
static struct cell *make_chase(uint32_t n)
{
    struct cell *cells = calloc(n, sizeof(*cells));
    struct net_rng rng = {2};

    for (uint32_t i = 0; i < n; i++)
        cells[i].next = i;
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t j = net_rng_below(&rng, i), t = cells[i].next;

        cells[i].next = cells[j].next;
        cells[j].next = t;
    }
    return cells;
}

static double ns_per_load(const struct cell *cells)
{
    static volatile uint32_t sink;
    double start = now_ns();
    uint32_t at = sink, loads = 5 * PACKETS;

    for (uint32_t i = 0; i < loads; i++)
        at = cells[at].next;
    sink = at;
    return (now_ns() - start) / loads;
}

static void run(const char *name, bool walks, int runs)
{
    struct net *net = net_build_named(name, NULL);
    struct swfab *fab = swfab_new(net);
    struct cell *cells = make_chase(net->nports);
    struct load load;

    make_load(&load, net, walks);
    for (int i = -1; i < runs; i++) { /* the first warms up */
        double hop = ns_per_hop(fab, &load), one = ns_per_load(cells);

        if (i >= 0)
            printf("%s-%s\t%.3f\t%.3f\n", name, walks ? "walk" : "short", hop,
                   one);
    }
    free(load.packets);
    free(load.from);
    free(cells);
    swfab_free(fab);
    net_free(net);
}

int main(int argc, char **argv)
{
    static const char *const nets[] = {"C64", "C512", "C2048", "C8192"};
    int runs = argc > 1 ? atoi(argv[1]) : 15;

    for (size_t i = 0; i < sizeof(nets) / sizeof(nets[0]); i++)
        for (int walks = 1; walks >= 0; walks--)
            run(nets[i], walks, runs);
    return 0;
}
