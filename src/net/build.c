/* SPDX-License-Identifier: BSD-3-Clause
 * Nets by name: see build.h.
 */
#include "net/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/rng.h"

#define RANDOM_PORTS 16

static const struct {
    const char *name;
    struct net_clos clos;
} bench_nets[] = {
    {"C64", {2, 16, {8, 8}, {1, 4}, {1, 2}}},
    {"C512", {3, 16, {8, 8, 8}, {1, 8, 4}, {1, 1, 2}}},
    {"C2048", {3, 32, {16, 16, 8}, {1, 16, 4}, {1, 1, 4}}},
    {"C8192", {3, 32, {16, 16, 32}, {1, 16, 16}, {1, 1, 1}}},
    {"C65536", {4, 32, {16, 16, 16, 16}, {1, 16, 16, 8}, {1, 1, 1, 2}}},
};

/* Add `n` crossbars x0 ... and `hosts` hosts on the first ports of each. */
static struct net *xbars_with_hosts(unsigned n, unsigned ports, unsigned hosts)
{
    struct net *net = net_new();
    char name[32];
    bool ok = net != NULL;

    for (unsigned i = 0; ok && i < n; i++) {
        snprintf(name, sizeof(name), "x%u", i);
        ok = net_add_xbar(net, name, ports, NET_BUILD_XBAR_ID + i) != NET_NONE;
    }
    for (unsigned i = 0; ok && i < n * hosts; i++) {
        uint32_t h;

        snprintf(name, sizeof(name), "h%u", i);
        h = net_add_host(net, name, NET_BUILD_HOST_ID + i);
        ok = h != NET_NONE && net_connect(net, h, 0, i / hosts, i % hosts);
    }
    if (ok)
        return net;
    net_free(net);
    return NULL;
}

/* The fewest ports of a real crossbar (4, 8, 16, 32), or just enough. */
static unsigned xbar_size(unsigned need)
{
    unsigned size = 4;

    while (size < need && size < 32)
        size *= 2;
    return need > size ? need : size;
}

/* Does the name begin so?  Then *rest is what follows. */
static bool begins(const char *name, const char *word, const char **rest)
{
    size_t n = strlen(word);

    if (strncmp(name, word, n) != 0)
        return false;
    *rest = name + n;
    return true;
}

static struct net *no_net(struct errbuf *err, const char *name)
{
    errprintf(err, "no such net: %s", name);
    return NULL;
}

static struct net *checked(struct net *net, struct errbuf *err)
{
    if (!net)
        errprintf(err, "out of memory");
    return net;
}

static struct net *build_row(const char *name, const char *arg, bool ring,
                             struct errbuf *err)
{
    unsigned n = 0, hosts = 2;
    char end = 0;
    int got = sscanf(arg, "%5u:%3u%c", &n, &hosts, &end);
    struct net *net;
    bool ok = true;

    if ((got != 1 && got != 2) || n < (ring ? 3 : 1) || n > 65535 ||
        hosts > 250 || (got == 1 && arg[strspn(arg, "0123456789")]))
        return no_net(err, name);
    net = checked(xbars_with_hosts(n, xbar_size(hosts + 2), hosts), err);
    for (unsigned i = 0; net && ok && i + !ring < n; i++)
        ok = net_connect(net, i, hosts, (i + 1) % n, hosts + 1);
    return net;
}

static struct net *build_torus(const char *name, const char *arg,
                               struct errbuf *err)
{
    unsigned x = 0, y = 0, hosts = 2, par = 1, x1, y1;
    char end = 0;
    int got = sscanf(arg, "%3ux%3u:%3u:%2u%c", &x, &y, &hosts, &par, &end);
    struct net *net;

    if (got < 2 || got > 4 || x < 3 || y < 3 || par < 1 ||
        hosts + 4 * par > SF_NET_XBAR_PORTS_MAX)
        return no_net(err, name);
    net = checked(xbars_with_hosts(x * y, xbar_size(hosts + 4 * par), hosts),
                  err);
    for (unsigned i = 0; net && i < x * y * par; i++) {
        unsigned n = i / par, p = hosts + i % par * 4;

        x1 = (n / x) * x + (n % x + 1) % x;
        y1 = (n + x) % (x * y);
        net_connect(net, n, p, x1, p + 1);
        net_connect(net, n, p + 2, y1, p + 3);
    }
    return net;
}

/* A random free port, or NET_NONE. */
static unsigned free_port(const struct net *net, uint32_t node,
                          struct net_rng *rng)
{
    unsigned n = net->nodes[node].nports, start = net_rng_below(rng, n);

    for (unsigned i = 0; i < n; i++)
        if (net_peer_node(net, node, (start + i) % n) == NET_NONE)
            return (start + i) % n;
    return NET_NONE;
}

/* A tree first, so that it hangs together; then hosts; then about as many
 * more cables as there are crossbars. */
static void wire_random(struct net *net, unsigned xbars, unsigned hosts,
                        struct net_rng *rng)
{
    for (unsigned i = 1; i < xbars; i++) {
        uint32_t to = net_rng_below(rng, i);

        while (free_port(net, to, rng) == NET_NONE)
            to = (to + 1) % i;
        net_connect(net, i, free_port(net, i, rng), to,
                    free_port(net, to, rng));
    }
    for (unsigned h = 0; h < hosts; h++) {
        uint32_t to = net_rng_below(rng, xbars);

        while (free_port(net, to, rng) == NET_NONE)
            to = (to + 1) % xbars;
        net_connect(net, xbars + h, 0, to, free_port(net, to, rng));
    }
    for (unsigned i = 0; i < xbars + xbars / 2; i++) {
        uint32_t a = net_rng_below(rng, xbars), b = net_rng_below(rng, xbars);

        if (a != b)
            net_connect(net, a, free_port(net, a, rng), b,
                        free_port(net, b, rng));
    }
}

static struct net *build_random(const char *name, const char *arg,
                                struct errbuf *err)
{
    unsigned xbars = 0, hosts = 0;
    unsigned long long seed = 1;
    char end = 0, host[32];
    int got = sscanf(arg, "%5u:%6u:%19llu%c", &xbars, &hosts, &seed, &end);
    struct net_rng rng;
    struct net *net;

    if (got < 2 || got > 3 || xbars < 1 ||
        hosts + 2 * (uint64_t)xbars > (uint64_t)xbars * RANDOM_PORTS)
        return no_net(err, name);
    rng.state = seed;
    net = checked(xbars_with_hosts(xbars, RANDOM_PORTS, 0), err);
    for (unsigned i = 0; net && i < hosts; i++) {
        snprintf(host, sizeof(host), "h%u", i);
        if (net_add_host(net, host, NET_BUILD_HOST_ID + i) == NET_NONE) {
            net_free(net);
            return checked(NULL, err);
        }
    }
    if (net)
        wire_random(net, xbars, hosts, &rng);
    return net;
}

/* Crossbars 0 and 1 bear the hosts; 2 .. are the ring. */
static struct net *build_hostless(const char *name, const char *arg,
                                  struct errbuf *err)
{
    unsigned n = 6;
    struct net *net;
    char host[32];

    if (*arg && (sscanf(arg, ":%5u", &n) != 1 || n < 3 || n > 4096))
        return no_net(err, name);
    net = checked(xbars_with_hosts(n + 2, 8, 0), err);
    for (unsigned i = 0; net && i < 8; i++) {
        snprintf(host, sizeof(host), "h%u", i);
        net_connect(net, net_add_host(net, host, NET_BUILD_HOST_ID + i), 0,
                    i / 4, i % 4);
    }
    for (unsigned i = 0; net && i < n; i++)
        net_connect(net, 2 + i, 0, 2 + (i + 1) % n, 1);
    if (net) {
        net_connect(net, 0, 4, 2, 4);
        net_connect(net, 1, 4, 2 + n / 2, 5);
        net_connect(net, 0, 7, 1, 6);
    }
    return net;
}

/* Copy `from` into `to`, names and addresses made different. */
static bool add_plane(struct net *to, const struct net *from, unsigned plane)
{
    uint32_t base = to->nnodes, n;
    uint64_t shift = (uint64_t)plane << 16;
    char name[64];

    for (uint32_t i = 0; i < from->nnodes; i++) {
        const struct net_node *f = &from->nodes[i];

        snprintf(name, sizeof(name), "%s-p%u", f->name, plane);
        n = f->kind == NET_HOST
                ? net_add_host(to, name, f->id + shift)
                : net_add_xbar(to, name, f->nports, f->id + shift);
        if (n == NET_NONE)
            return false;
        to->nodes[n].plane = plane;
    }
    for (uint32_t p = 0; p < from->nports; p++) {
        uint32_t q = from->ports[p].peer;

        if (q != NET_NONE && p < q)
            net_connect(to, base + from->ports[p].node,
                        net_port_number(from, p), base + from->ports[q].node,
                        net_port_number(from, q));
    }
    return true;
}

static struct net *build_planes(struct errbuf *err)
{
    struct net *one = net_build_clos(&bench_nets[0].clos, err);
    struct net *net = net_new();

    if (!one || !net || !add_plane(net, one, 0) || !add_plane(net, one, 1)) {
        net_free(net);
        net = checked(NULL, err);
    }
    net_free(one);
    return net;
}

/* AxBxC into out[]; how many, 0 if it is not that. */
static unsigned figures(const char **at, unsigned out[])
{
    unsigned n = 0;

    for (; n < NET_CLOS_LEVELS_MAX; (*at)++) {
        char *end;
        unsigned long v = strtoul(*at, &end, 10);

        if (end == *at || v > SF_NET_XBAR_PORTS_MAX)
            return 0;
        out[n++] = (unsigned)v;
        *at = end;
        if (*end != 'x')
            return n;
    }
    return 0;
}

static struct net *build_clos_named(const char *name, const char *arg,
                                    struct errbuf *err)
{
    struct net_clos c = {0};
    unsigned n = figures(&arg, c.down);

    if (!n || *arg++ != ':' || figures(&arg, c.up) != n || *arg++ != ':' ||
        figures(&arg, c.parallel) != n || *arg)
        return no_net(err, name);
    c.levels = n;
    return net_build_clos(&c, err);
}

static struct net *build_plain(const char *name, struct errbuf *err)
{
    const char *arg;

    for (size_t i = 0; i < sizeof(bench_nets) / sizeof(*bench_nets); i++)
        if (strcmp(name, bench_nets[i].name) == 0)
            return net_build_clos(&bench_nets[i].clos, err);
    if (begins(name, "clos:", &arg))
        return build_clos_named(name, arg, err);
    if (begins(name, "line:", &arg))
        return build_row(name, arg, false, err);
    if (begins(name, "ring:", &arg))
        return build_row(name, arg, true, err);
    if (begins(name, "torus:", &arg))
        return build_torus(name, arg, err);
    if (begins(name, "random:", &arg))
        return build_random(name, arg, err);
    if (begins(name, "hostless-ring", &arg))
        return build_hostless(name, arg, err);
    if (strcmp(name, "two-planes") == 0)
        return build_planes(err);
    return no_net(err, name);
}

/* One "+word".  False if there is no such word. */
static bool modify(struct net *net, const char *word)
{
    double percent = 0;
    unsigned long long seed = 1;

    if (strcmp(word, "ids") == 0) {
        net_tell_ids(net, true);
        return true;
    }
    if (sscanf(word, "cut=%lf:%llu", &percent, &seed) >= 1 ||
        sscanf(word, "cutx=%lf:%llu", &percent, &seed) >= 1) {
        if (!(percent >= 0 && percent <= 100))
            return false;
        net_cut_cables(net, percent / 100, seed, word[3] != 'x');
        return true;
    }
    if (strcmp(word, "shuffle") == 0 ||
        sscanf(word, "shuffle=%llu", &seed) == 1)
        return net_shuffle_ports(net, seed);
    return false;
}

struct net *net_build_named(const char *name, struct errbuf *err)
{
    char buf[256], *save = NULL, *word;
    struct net *net;

    if (strlen(name) >= sizeof(buf) || !*name || *name == '+')
        return no_net(err, name);
    strcpy(buf, name);
    net = build_plain(strtok_r(buf, "+", &save), err);
    while (net && (word = strtok_r(NULL, "+", &save)))
        if (!modify(net, word)) {
            errprintf(err, "%s: what is +%s?", name, word);
            net_free(net);
            return NULL;
        }
    return net;
}
