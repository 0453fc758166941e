/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A small fabric is mapped, then something happens to it: a cable is pulled,
 * plugged elsewhere, added, two are exchanged, a host falls silent, a crossbar
 * dies.  The verifier must notice, and a new exploration must give the new
 * truth.
 *
 *     sim_verify              the seeds of `make check`
 *     sim_verify FIRST COUNT  others; a failure prints its own command
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mapperd/simfab.h"
#include "net/build.h"
#include "net/rng.h"
#include "net/same.h"

#define SEEDS 300
#define LONGEST 600000000000ULL

enum fault { PULL, MOVE, ADD, EXCHANGE, MUTE, DIE, FAULTS };
static const char *const fault_names[FAULTS] = {
    "cable pulled",     "host moved",  "cable added",
    "cables exchanged", "host silent", "crossbar dead"};

struct play {
    struct net_rng rng;
    struct net *truth;
    struct simfab *sim;
    uint32_t me;
    enum fault fault;
    bool ids; /* crossbars tell them */
    const char *why;
};

static const char *const shapes[] = {"C64",
                                     "line:4:3",
                                     "ring:5:2",
                                     "torus:3x3:2:1",
                                     "torus:4x3:1:2",
                                     "random:8:20:5",
                                     "random:16:24:9",
                                     "hostless-ring:5",
                                     "random:20:6:2",
                                     "C64+cut=15:7",
                                     "clos:4x4x4:1x2x2:1x1x1",
                                     "line:1:5",
                                     "C64+shuffle=4",
                                     "C64+ids",
                                     "clos:4x2:1x2:1x1+ids",
                                     "ring:5:2+ids",
                                     "hostless-ring:5+ids"};

/* A random cabled port of a kind of node; NET_NONE: none was met. */
static uint32_t pick_cable(struct play *p, int hosts)
{
    for (int i = 0; i < 1000; i++) {
        uint32_t port = net_rng_below(&p->rng, p->truth->nports), q;

        q = p->truth->ports[port].peer;
        if (q == NET_NONE || p->truth->ports[port].node == p->me ||
            p->truth->ports[q].node == p->me)
            continue;
        if (hosts >= 0 &&
            net_is_host(p->truth, p->truth->ports[port].node) != hosts)
            continue;
        return port;
    }
    return NET_NONE;
}

/* A free port of a random crossbar. */
static uint32_t pick_free(struct play *p)
{
    for (int i = 0; i < 1000; i++) {
        uint32_t port = net_rng_below(&p->rng, p->truth->nports);

        if (p->truth->ports[port].peer == NET_NONE &&
            !net_is_host(p->truth, p->truth->ports[port].node))
            return port;
    }
    return NET_NONE;
}

/* The same in the truth and on the fabric. */
static void unplug(struct play *p, uint32_t port)
{
    uint32_t node = p->truth->ports[port].node;
    unsigned number = net_port_number(p->truth, port);

    swfab_disconnect(simfab_fabric(p->sim), node, number);
    net_disconnect(p->truth, node, number);
}

static bool plug(struct play *p, uint32_t a, uint32_t b)
{
    uint32_t na = p->truth->ports[a].node, nb = p->truth->ports[b].node;
    unsigned pa = net_port_number(p->truth, a),
             pb = net_port_number(p->truth, b);

    return net_connect(p->truth, na, pa, nb, pb) &&
           swfab_connect(simfab_fabric(p->sim), na, pa, nb, pb);
}

static bool move_host(struct play *p)
{
    uint32_t host = pick_cable(p, 1), to = pick_free(p);

    if (host == NET_NONE || to == NET_NONE)
        return false;
    unplug(p, host);
    return plug(p, host, to);
}

static bool exchange(struct play *p)
{
    uint32_t a = pick_cable(p, -1), b = pick_cable(p, -1), fa, fb;

    if (a == NET_NONE || b == NET_NONE)
        return false;
    fa = p->truth->ports[a].peer;
    fb = p->truth->ports[b].peer;
    if (a == b || a == fb ||
        net_is_host(p->truth, p->truth->ports[a].node) !=
            net_is_host(p->truth, p->truth->ports[b].node))
        return false;
    unplug(p, a);
    unplug(p, b);
    return plug(p, a, fb) && plug(p, b, fa);
}

static bool silence(struct play *p)
{
    uint32_t host = pick_cable(p, 1);

    if (host == NET_NONE)
        return false;
    swfab_set_host_mute(simfab_fabric(p->sim), p->truth->ports[host].node,
                        true);
    net_disconnect(p->truth, p->truth->ports[host].node, 0);
    return true;
}

static bool kill_xbar(struct play *p)
{
    uint32_t port = pick_cable(p, 0);

    if (port == NET_NONE)
        return false;
    swfab_set_xbar_dead(simfab_fabric(p->sim), p->truth->ports[port].node,
                        true);
    net_disconnect_all(p->truth, p->truth->ports[port].node);
    return true;
}

static bool strike(struct play *p)
{
    uint32_t a, b;

    switch (p->fault) {
    case PULL:
        a = pick_cable(p, -1);
        if (a == NET_NONE)
            return false;
        unplug(p, a);
        return true;
    case ADD:
        a = pick_free(p);
        b = pick_free(p);
        return a != NET_NONE && b != NET_NONE && a != b && plug(p, a, b);
    case MOVE:
        return move_host(p);
    case EXCHANGE:
        return exchange(p);
    case MUTE:
        return silence(p);
    default:
        return kill_xbar(p);
    }
}

static void limits_of(const struct play *p, struct prober_limits *limits)
{
    *limits = (struct prober_limits)PROBER_LIMITS_DEFAULT;
    limits->max_ports = 16;
    limits->tagged = p->ids;
}

static struct net *explore(struct play *p)
{
    struct prober_limits limits;
    struct probe_host me;
    struct explore *x;
    struct net *map = NULL;

    limits_of(p, &limits);
    simfab_host_info(p->truth, p->me, &me);
    x = explore_new(&limits, &me);
    if (x && simfab_run(p->sim, simfab_explorer(x), LONGEST))
        map = explore_map(x);
    explore_free(x);
    return map;
}

static bool is_truth(struct play *p, const struct net *map)
{
    uint32_t there;
    struct net *reach = net_reachable(p->truth, p->me, &there);
    bool same = map && reach && net_same(reach, map, NULL);

    net_free(reach);
    return same;
}

/* Only what the verifier did not find as the map has it. */
static bool rest_is_truth(struct play *p, const struct verify *v)
{
    struct prober_limits limits;
    struct probe_host me;
    struct explore *x;
    struct net *map = NULL;
    bool good;

    limits_of(p, &limits);
    simfab_host_info(p->truth, p->me, &me);
    x = explore_new(&limits, &me);
    if (x && explore_after(x, v) &&
        simfab_run(p->sim, simfab_explorer(x), LONGEST))
        map = explore_map(x);
    good = is_truth(p, map);
    explore_free(x);
    net_free(map);
    return good;
}

/* How many changes the verifier tells; -1: it does not end; -2: exploring the
 * rest does not give the truth. */
static int changes(struct play *p, const struct net *map)
{
    static const struct verify_options all = {.hosts = true,
                                              .links = true,
                                              .empty = true,
                                              .ids = true,
                                              .rings = VERIFY_RINGS_ALL};
    struct prober_limits limits;
    struct verify *v;
    int n = -1;

    limits_of(p, &limits);
    v = verify_new(&limits, &all, map, 0);
    if (v && simfab_run(p->sim, simfab_verifier(v), LONGEST) &&
        !verify_failed(v))
        for (n = 0; verify_change(v, (uint32_t)n); n++)
            ;
    if (n > 0 && !rest_is_truth(p, v))
        n = -2;
    verify_free(v);
    return n;
}

static const char *story(struct play *p, struct net *map)
{
    struct net *again;
    bool good, same;
    int n;

    if (!is_truth(p, map))
        return "the first map is not the truth";
    if (changes(p, map) != 0)
        return "changes seen where there are none";
    if (!strike(p))
        return NULL;         /* not possible here */
    same = is_truth(p, map); /* out of the mapper's sight, or no change */
    n = changes(p, map);
    if (n == -2)
        return "exploring the rest does not give the truth";
    if (n < 0)
        return "the verifier does not end";
    if (same && n > 0 && p->fault != MUTE)
        return "changes seen where there are none in sight";
    if (!same && n == 0)
        return "the change is not seen";
    again = explore(p);
    good = is_truth(p, again);
    net_free(again);
    return good ? NULL : "the second map is not the truth";
}

static bool play(uint64_t seed)
{
    struct play p = {.rng = {seed}};
    const char *shape =
        shapes[net_rng_below(&p.rng, sizeof(shapes) / sizeof(*shapes))];
    const char *why = "cannot be built";
    struct net *map = NULL;

    p.fault = (enum fault)net_rng_below(&p.rng, FAULTS);
    p.ids = strstr(shape, "+ids") != NULL;
    p.truth = net_build_named(shape, NULL);
    if (p.truth) {
        p.me = net_find_name(p.truth, "h0");
        p.sim = simfab_new(p.truth, p.me);
        if (net_peer_node(p.truth, p.me, 0) == NET_NONE)
            why = NULL;
        else if (p.sim)
            why = story(&p, map = explore(&p));
    }
    if (why)
        printf("# seed %llu: %s, %s: %s\n# again: sim_verify %llu\n",
               (unsigned long long)seed, shape, fault_names[p.fault], why,
               (unsigned long long)seed);
    net_free(map);
    simfab_free(p.sim);
    net_free(p.truth);
    return !why;
}

/* Crossbars without hosts that look like others where a cable now leads. */
static const uint64_t hard[] = {9964, 13026};

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    uint64_t count =
        argc > 2 ? strtoull(argv[2], NULL, 0) : (argc > 1 ? 1 : SEEDS);
    unsigned bad = 0;

    for (uint64_t seed = first; seed < first + count; seed++)
        bad += !play(seed);
    for (unsigned i = 0; argc == 1 && i < sizeof(hard) / sizeof(*hard); i++)
        bad += !play(hard[i]);
    printf("1..1\n%sok 1 - %llu changes of fabrics noticed and mapped\n",
           bad ? "not " : "", (unsigned long long)count);
    return bad ? 1 : 0;
}
