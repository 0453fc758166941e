/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The routing engines for the benchmarks of bench/net.am:
 *
 *     net_bench write NET SEED FILE   the net for ibsim; SEED: one cable
 *                                     between crossbars is taken out ("-": no)
 *     net_bench uplink NET            a leaf's uplink as ibsim names it
 *     net_bench host NET              a host as ibsim names it
 *     net_bench balance NET SEED ENGINE   worst load, ideal load; with SEED
 *                                     after a repair of that one lost cable
 *     net_bench lft FILE DUMP         the same of OpenSM's tables
 *     net_bench direct NET            worst load of what mapperd would use, if
 *                                     all have a route within its hop limit
 *     net_bench bound NET             what no routes can beat (net_bound.h)
 *     net_bench routes NET ENGINE     CPU seconds for all routes
 *     net_bench proved NET ENGINE     CPU seconds for all routes, and the proof
 *                                     of one host's with its alternatives
 *     net_bench lose NET              CPU seconds of the repair when a cable is
 *                                     lost above a leaf, above a pod, and so on
 *     net_bench mend NET SEED         CPU seconds of the repair when that one
 *                                     cable is lost, or "refused"
 *     net_bench repair NET            CPU seconds, hosts to be told, routes
 *                                     changed when that uplink is lost; peers
 *                                     that a host loads again, mean of some
 *                                     hosts: repaired, computed anew; all;
 *                                     hosts that had a route over the uplink
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "net/build.h"
#include "net/deadlock.h"
#include "net/format.h"
#include "net/rng.h"
#include "net/route.h"
#include "net_bound.h"

static void die(const char *what, const char *why)
{
    fprintf(stderr, "net_bench: %s: %s\n", what, why);
    exit(1);
}

static struct net *build(const char *name)
{
    struct errbuf err;
    struct net *net = net_build_named(name, &err);

    if (!net)
        die(name, err.text);
    return net;
}

/* A cable between crossbars; its two ends. */
static void lose_cable(struct net *net, uint64_t seed, uint32_t *port,
                       uint32_t *peer)
{
    struct net_rng rng = {seed};

    do {
        *port = net_rng_below(&rng, net->nports);
        *peer = net->ports[*port].peer;
    } while (*peer == NET_NONE || net_is_host(net, net->ports[*port].node) ||
             net_is_host(net, net->ports[*peer].node));
    net_disconnect(net, net->ports[*port].node, net_port_number(net, *port));
}

/* The last cable upwards of the middle leaf. */
static uint32_t uplink(const struct net *net)
{
    uint32_t leaf = net_peer_node(net, net->nhosts / 2, 0);

    for (unsigned p = net->nodes[leaf].nports; p-- > 0;) {
        uint32_t to = net_peer_node(net, leaf, p);

        if (to != NET_NONE && !net_is_host(net, to))
            return net->nodes[leaf].first + p;
    }
    die("uplink", "there is none");
    return 0;
}

static struct net_routes *route(const struct net *net, const char *engine,
                                unsigned limit)
{
    struct net_route_params p = {.hop_limit = limit};
    struct net_routes *r;
    struct errbuf err;

    if (!net_engine_parse(engine, &p.engine))
        die(engine, "no such engine");
    r = net_routes_new(net, &p, &err);
    if (!r)
        die(engine, err.text);
    return r;
}

static int cmd_write(char **argv)
{
    struct net *net = build(argv[0]);
    uint32_t port, peer;
    struct bytebuf b;
    FILE *f = fopen(argv[2], "w");

    if (strcmp(argv[1], "-") != 0)
        lose_cable(net, strtoull(argv[1], NULL, 10), &port, &peer);
    bytebuf_init(&b, SF_NET_FILE_MAX);
    net_write_ib(net, &b);
    if (!f || b.bad ||
        fwrite(bytebuf_data(&b), 1, bytebuf_len(&b), f) != bytebuf_len(&b) ||
        fclose(f) != 0)
        die(argv[2], "not written");
    return 0;
}

static int cmd_uplink(char **argv)
{
    struct net *net = build(argv[0]);
    uint32_t p = uplink(net);

    printf("\"S-%016" PRIx64 "\"[%u]\n", net->nodes[net->ports[p].node].id,
           net_port_number(net, p) + 1);
    return 0;
}

static int cmd_host(char **argv)
{
    struct net *net = build(argv[0]);
    uint32_t n = 0;

    while (n < net->nnodes && !net_is_host(net, n))
        n++;
    if (n == net->nnodes)
        die(argv[0], "no host");
    printf("H-%016" PRIx64 "\n", net->nodes[n].id);
    return 0;
}

static int cmd_balance(char **argv)
{
    struct net *net = build(argv[0]);
    struct net_routes *r = route(net, argv[2], NET_ROUTE_MAX);
    struct net_balance b;
    struct errbuf err;
    uint32_t port, peer;

    if (strcmp(argv[1], "-") != 0) {
        lose_cable(net, strtoull(argv[1], NULL, 10), &port, &peer);
        if (net_routes_repair(r, &port, &peer, 1, NULL, &err) < 0)
            die("repair", err.text);
    }
    if (net_routes_balance(r, &b) < 0 || net_routes_deadlock(r, &err) != 0)
        die("check", "routes are not deadlock free");
    printf("%" PRIu64 " %.6g\n", b.worst, b.ideal);
    return 0;
}

static int cmd_direct(char **argv)
{
    struct net *net = build(argv[0]);
    struct net_routes *r = route(net, "auto", NET_HOPS_DEFAULT);
    struct net_balance b;
    struct errbuf err;

    if (net_routes_balance(r, &b) < 0 || net_routes_deadlock(r, &err) != 0)
        die("check", "routes are not deadlock free");
    if (b.cut_off)
        die(argv[0], "some have no route");
    printf("%" PRIu64 "\n", b.worst);
    return 0;
}

static int cmd_bound(char **argv)
{
    printf("%.6g\n", net_bound(build(argv[0])));
    return 0;
}

static int cmd_routes(char **argv)
{
    struct net *net = build(argv[0]);
    double t = clock_cpu_s();

    route(net, argv[1], NET_ROUTE_MAX);
    printf("%.6f\n", clock_cpu_s() - t);
    return 0;
}

/* What each mapper does with a new map. */
static int cmd_proved(char **argv)
{
    struct net_route_params p = {.hop_limit = NET_ROUTE_MAX};
    struct net *net = build(argv[0]);
    struct errbuf why, err;
    double t;

    if (!net_engine_parse(argv[1], &p.engine))
        die(argv[1], "no such engine");
    t = clock_cpu_s();
    if (!net_routes_proved(net, &p, net->nhosts / 2, &why, &err))
        die(argv[0], err.text);
    t = clock_cpu_s() - t;
    if (why.text[0])
        die(argv[0], why.text);
    printf("%.6f\n", t);
    return 0;
}

/* ---- what hosts load again ------------------------------------------------
 */

#define LOADERS 16 /* hosts that are looked at, evenly spread */

static uint32_t loader(const struct net *net, unsigned i)
{
    return (uint32_t)((uint64_t)net->nhosts * i / LOADERS);
}

/* All routes of those hosts. */
static struct net_route *routes_of(const struct net_routes *r,
                                   const struct net *net)
{
    size_t n = (size_t)LOADERS * net->nhosts * NET_ALTERNATIVES_DEFAULT;
    struct net_route *all = calloc(n, sizeof(*all)), *at = all;

    if (!all)
        die("routes", "no memory");
    for (unsigned i = 0; i < LOADERS; i++)
        for (uint32_t d = 0; d < net->nhosts;
             d++, at += NET_ALTERNATIVES_DEFAULT)
            net_routes_get(r, loader(net, i), d, at, NET_ALTERNATIVES_DEFAULT);
    return all;
}

static double peers_changed(const struct net *net, const struct net_route *was,
                            const struct net_route *is)
{
    size_t one = NET_ALTERNATIVES_DEFAULT * sizeof(*was), changed = 0;

    for (size_t i = 0; i < (size_t)LOADERS * net->nhosts; i++)
        changed += memcmp(was + i * NET_ALTERNATIVES_DEFAULT,
                          is + i * NET_ALTERNATIVES_DEFAULT, one) != 0;
    return (double)changed / LOADERS;
}

/* Hosts with a first route over a cable at a leaf: each of them must hear of
 * it when the cable goes, so these are the fewest messages there can be. */
static uint32_t users(const struct net *net, const struct net_routes *r,
                      uint32_t port)
{
    uint32_t leaf = net->ports[port].node, peer = net->ports[port].peer, n = 0;
    struct net_path path;

    for (uint32_t s = 0; s < net->nnodes; s++) {
        bool used = false, near = net_peer_node(net, s, 0) == leaf;

        for (uint32_t d = 0; net_is_host(net, s) && !used && d < net->nnodes;
             d++) {
            if (!net_is_host(net, d) ||
                near == (net_peer_node(net, d, 0) == leaf) ||
                !net_routes_path(r, s, d, &path))
                continue;
            for (unsigned i = 1; i < path.hops; i++)
                used |= path.port[i] == port || path.port[i] == peer;
        }
        n += used;
    }
    return n;
}

static int cmd_mend(char **argv)
{
    struct net *net = build(argv[0]);
    struct net_routes *r = route(net, "auto", NET_ROUTE_MAX);
    struct errbuf err;
    uint32_t port, peer;
    double t;
    int rc;

    lose_cable(net, strtoull(argv[1], NULL, 10), &port, &peer);
    t = clock_cpu_s();
    rc = net_routes_repair(r, &port, &peer, 1, NULL, &err);
    t = clock_cpu_s() - t;
    if (rc < 0)
        printf("refused\n");
    else
        printf("%.6f\n", t);
    return 0;
}

/* The cable at a port is lost: processor time of the repair. */
static double repair(struct net *net, struct net_routes *r, uint32_t port,
                     struct net_repair *what)
{
    uint32_t peer = net->ports[port].peer;
    struct errbuf err;
    double t;

    net_disconnect(net, net->ports[port].node, net_port_number(net, port));
    t = clock_cpu_s();
    if (net_routes_repair(r, &port, &peer, 1, what, &err) < 0)
        die("repair", err.text);
    return clock_cpu_s() - t;
}

static int cmd_repair(char **argv)
{
    struct net *net = build(argv[0]);
    struct net_routes *r = route(net, "auto", NET_ROUTE_MAX);
    struct net_route *was = routes_of(r, net), *is;
    uint32_t port = uplink(net), least = users(net, r, port);
    struct net_repair what;
    double t = repair(net, r, port, &what);

    printf("%.6f %u %" PRIu64, t, what.hosts, what.routes);
    is = routes_of(r, net);
    printf(" %.6g", peers_changed(net, was, is));
    free(is);
    is = routes_of(route(net, "auto", NET_ROUTE_MAX), net);
    printf(" %.6g %u %u\n", peers_changed(net, was, is), net->nhosts - 1,
           least);
    free(is);
    free(was);
    return 0;
}

/* One after the other. */
static int cmd_lose(char **argv)
{
    struct net *net = build(argv[0]);
    struct net_routes *r = route(net, "auto", NET_ROUTE_MAX);
    uint32_t port = uplink(net);

    for (;;) {
        uint32_t up = net->ports[net->ports[port].peer].node;
        struct net_repair what;

        printf("%.6f\n", repair(net, r, port, &what));
        /* upwards leads what is behind the cables to the leaves */
        port = net->nodes[up].first + net->nodes[up].nports - 1u;
        if (net->ports[port].peer == NET_NONE || net->ports[port].peer < port)
            return 0;
    }
}

/* ---- OpenSM's tables ------------------------------------------------------
 */

/* Tables: port (from 1) per crossbar and destination host, 0: none. */
struct tables {
    const struct net *net;
    uint8_t *out;   /* [xbar][host], both by node */
    uint32_t *load; /* per global port */
};

static void read_dump(struct tables *t, FILE *f)
{
    char line[1024];
    uint32_t x = NET_NONE;

    while (fgets(line, sizeof(line), f)) {
        unsigned lid, out;
        unsigned long long guid;
        uint32_t h;

        if (sscanf(line, "Unicast lids [%*[^]]] of switch Lid %*u guid %llx",
                   &guid) == 1) {
            x = net_find_xbar(t->net, guid);
            continue;
        }
        if (x == NET_NONE ||
            sscanf(line, "0x%x %u # Channel Adapter portguid %llx", &lid, &out,
                   &guid) != 3)
            continue;
        h = net_find_host(t->net, guid - 1); /* a port's is the node's + 1 */
        if (h != NET_NONE)
            t->out[(size_t)x * t->net->nnodes + h] = (uint8_t)out;
    }
}

/* Everybody's way to one host, by counting what passes each crossbar. */
static void add_ways(struct tables *t, uint32_t dst)
{
    const struct net *net = t->net;

    for (uint32_t s = 0; s < net->nnodes; s++) {
        uint32_t at = net_is_host(net, s) && s != dst ? net_peer_node(net, s, 0)
                                                      : NET_NONE;

        for (int hops = 0; at != NET_NONE && !net_is_host(net, at); hops++) {
            unsigned out = t->out[(size_t)at * net->nnodes + dst];

            if (out == 0 || hops > 64)
                die("tables", "a route does not arrive");
            t->load[net->nodes[at].first + out - 1]++;
            at = net_peer_node(net, at, out - 1);
        }
    }
}

static struct net *read_net(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = malloc(SF_NET_FILE_MAX);
    struct errbuf err = {"not readable"};
    size_t n = f && text ? fread(text, 1, SF_NET_FILE_MAX, f) : 0;
    struct net *net = net_parse_ib(path, text, n, &err);

    if (!net || n == 0)
        die(path, err.text);
    return net;
}

static int cmd_lft(char **argv)
{
    struct net *net = read_net(argv[0]);
    struct tables t = {.net = net};
    FILE *f = fopen(argv[1], "r");
    uint32_t worst = 0;

    t.out = calloc((size_t)net->nnodes, net->nnodes);
    t.load = calloc(net->nports, sizeof(*t.load));
    if (!f || !t.out || !t.load)
        die(argv[1], "not readable");
    read_dump(&t, f);
    for (uint32_t d = 0; d < net->nnodes; d++)
        if (net_is_host(net, d))
            add_ways(&t, d);
    for (uint32_t p = 0; p < net->nports; p++) {
        uint32_t to = net->ports[p].peer;

        if (to != NET_NONE && !net_is_host(net, net->ports[to].node) &&
            t.load[p] > worst)
            worst = t.load[p];
    }
    printf("%u %.6g\n", worst, net_ideal_load(net));
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int args;
        int (*run)(char **argv);
    } verbs[] = {{"write", 3, cmd_write},   {"uplink", 1, cmd_uplink},
                 {"host", 1, cmd_host},     {"balance", 3, cmd_balance},
                 {"lft", 2, cmd_lft},       {"routes", 2, cmd_routes},
                 {"proved", 2, cmd_proved}, {"repair", 1, cmd_repair},
                 {"bound", 1, cmd_bound},   {"direct", 1, cmd_direct},
                 {"lose", 1, cmd_lose},     {"mend", 2, cmd_mend}};

    for (size_t i = 0; argc > 1 && i < sizeof(verbs) / sizeof(*verbs); i++)
        if (strcmp(argv[1], verbs[i].name) == 0 && argc == verbs[i].args + 2)
            return verbs[i].run(argv + 2);
    fprintf(stderr, "usage: see the head of bench/net_bench.c\n");
    return 2;
}
