/* SPDX-License-Identifier: BSD-3-Clause
 * Nets by name: see build.h.
 */
#include "net/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/build_impl.h"

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

/* Does the name begin so?  Then *rest is what follows. */
static bool begins(const char *name, const char *word, const char **rest)
{
    size_t n = strlen(word);

    if (strncmp(name, word, n) != 0)
        return false;
    *rest = name + n;
    return true;
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
        net = net_checked(NULL, err);
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
        return net_no_net(err, name);
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
        return net_build_row(name, arg, false, err);
    if (begins(name, "ring:", &arg))
        return net_build_row(name, arg, true, err);
    if (begins(name, "torus:", &arg))
        return net_build_torus(name, arg, err);
    if (begins(name, "hypercube:", &arg))
        return net_build_cube(name, arg, err);
    if (begins(name, "dragonfly:", &arg))
        return net_build_dragonfly(name, arg, err);
    if (begins(name, "regular:", &arg))
        return net_build_regular(name, arg, err);
    if (begins(name, "random:", &arg))
        return net_build_random(name, arg, err);
    if (begins(name, "hostless-ring", &arg))
        return net_build_hostless(name, arg, err);
    if (strcmp(name, "two-planes") == 0)
        return build_planes(err);
    return net_no_net(err, name);
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
        return net_no_net(err, name);
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
