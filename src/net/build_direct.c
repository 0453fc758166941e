/* SPDX-License-Identifier: BSD-3-Clause
 * Nets in which every crossbar has hosts: tori, hypercubes, dragonflies,
 * random regular ones.  See build.h.
 */
#include <stdio.h>
#include <string.h>

#include "net/build_impl.h"
#include "net/rng.h"

#define TORUS_DIMENSIONS 3
#define XBARS_MAX 65535

/* ":H:L..." behind a name: up to `most` numbers into out[], the others stay.
 * False if it is not that. */
static bool more_figures(const char *at, unsigned *out, unsigned most)
{
    for (unsigned i = 0; *at; i++) {
        int len = 0;

        if (i == most || sscanf(at, ":%5u%n", &out[i], &len) != 1 || len == 0)
            return false;
        at += len;
    }
    return true;
}

/* ---- tori ---------------------------------------------------------------- */

struct torus {
    unsigned dims, size[TORUS_DIMENSIONS], hosts, cables;
};

/* XxY or XxYxZ. */
static bool parse_torus(const char *at, struct torus *t)
{
    unsigned rest[2] = {2, 1};
    uint64_t all = 1;

    for (t->dims = 0; t->dims < TORUS_DIMENSIONS;) {
        unsigned *size = &t->size[t->dims];
        int len = 0;

        if (sscanf(at, "%3u%n", size, &len) != 1 || *size < 3)
            return false;
        all *= t->size[t->dims++];
        at += len;
        if (*at != 'x')
            break;
        at++;
    }
    if (t->dims < 2 || all > XBARS_MAX || !more_figures(at, rest, 2))
        return false;
    t->hosts = rest[0];
    t->cables = rest[1];
    return t->cables >= 1 && t->hosts <= SF_NET_XBAR_PORTS_MAX &&
           t->cables <= SF_NET_XBAR_PORTS_MAX &&
           t->hosts + 2 * t->dims * t->cables <= SF_NET_XBAR_PORTS_MAX;
}

/* The cables of crossbar n upwards in each dimension. */
static void wire_torus(struct net *net, const struct torus *t, unsigned n)
{
    unsigned step = 1;

    for (unsigned d = 0; d < t->dims; d++) {
        unsigned at = n / step % t->size[d];
        unsigned to = at + 1 < t->size[d] ? n + step : n - at * step;

        for (unsigned c = 0; c < t->cables; c++) {
            unsigned p = t->hosts + 2 * (c * t->dims + d);

            net_connect(net, n, p, to, p + 1);
        }
        step *= t->size[d];
    }
}

struct net *net_build_torus(const char *name, const char *arg,
                            struct errbuf *err)
{
    struct torus t;
    unsigned n = 1;
    struct net *net;

    if (!parse_torus(arg, &t))
        return net_no_net(err, name);
    for (unsigned d = 0; d < t.dims; d++)
        n *= t.size[d];
    net = net_checked(
        net_xbars_with_hosts(n, net_xbar_size(t.hosts + 2 * t.dims * t.cables),
                             t.hosts),
        err);
    for (unsigned i = 0; net && i < n; i++)
        wire_torus(net, &t, i);
    return net;
}

/* ---- hypercubes ---------------------------------------------------------- */

struct net *net_build_cube(const char *name, const char *arg,
                           struct errbuf *err)
{
    unsigned dims = 0, hosts = 2;
    struct net *net;
    int len = 0;

    if (sscanf(arg, "%2u%n", &dims, &len) != 1 || dims < 1 || dims > 15 ||
        !more_figures(arg + len, &hosts, 1) || hosts > 200)
        return net_no_net(err, name);
    net = net_checked(
        net_xbars_with_hosts(1U << dims, net_xbar_size(hosts + dims), hosts),
        err);
    for (unsigned n = 0; net && n < 1U << dims; n++)
        for (unsigned d = 0; d < dims; d++)
            if (!(n >> d & 1))
                net_connect(net, n, hosts + d, n | 1U << d, hosts + d);
    return net;
}

/* ---- dragonflies --------------------------------------------------------- */

/* Port k of a crossbar's global ones leads as many groups onwards as there are
 * such ports before it in the group. */
static void wire_group(struct net *net, unsigned g, unsigned a, unsigned global,
                       unsigned hosts)
{
    unsigned groups = a * global + 1;

    for (unsigned s = 0; s < a; s++) {
        for (unsigned t = s + 1; t < a; t++)
            net_connect(net, g * a + s, hosts + t - 1, g * a + t, hosts + s);
        for (unsigned k = 0; k < global; k++) {
            unsigned on = s * global + k + 1, back = groups - on;
            unsigned there = (g + on) % groups;

            if (there > g)
                net_connect(net, g * a + s, hosts + a - 1 + k,
                            there * a + (back - 1) / global,
                            hosts + a - 1 + (back - 1) % global);
        }
    }
}

struct net *net_build_dragonfly(const char *name, const char *arg,
                                struct errbuf *err)
{
    unsigned a = 0, rest[2] = {0, 2}, ports, groups;
    struct net *net;
    int len = 0;

    if (sscanf(arg, "%3u%n", &a, &len) != 1 || a < 1 || a > 100 ||
        !more_figures(arg + len, rest, 2) || rest[0] < 1 || rest[0] > 100 ||
        rest[1] > 50)
        return net_no_net(err, name);
    ports = rest[1] + a - 1 + rest[0];
    groups = a * rest[0] + 1;
    if (groups * a > XBARS_MAX)
        return net_no_net(err, name);
    net = net_checked(
        net_xbars_with_hosts(groups * a, net_xbar_size(ports), rest[1]), err);
    for (unsigned g = 0; net && g < groups; g++)
        wire_group(net, g, a, rest[0], rest[1]);
    return net;
}

/* ---- random regular nets --------------------------------------------------
 */

static bool joined(const struct net *net, uint32_t a, uint32_t b)
{
    for (unsigned p = 0; p < net->nodes[a].nports; p++)
        if (net_peer_node(net, a, p) == b)
            return true;
    return false;
}

/* Two cables between four crossbars swap their ends, if there are no two
 * cables between the same then. */
static void swap_ends(struct net *net, unsigned x, unsigned d, unsigned hosts,
                      struct net_rng *rng)
{
    uint32_t n = net_rng_below(rng, x), m = net_rng_below(rng, x), to, at;
    unsigned p = hosts + net_rng_below(rng, d);
    unsigned q = hosts + net_rng_below(rng, d), pp, qp;

    to = net_peer_node(net, n, p);
    at = net_peer_node(net, m, q);
    if (n == m || n == at || to == m || to == at || joined(net, n, at) ||
        joined(net, m, to))
        return;
    pp = net_peer_port(net, n, p);
    qp = net_peer_port(net, m, q);
    net_disconnect(net, n, p);
    net_disconnect(net, m, q);
    net_connect(net, n, p, at, qp);
    net_connect(net, m, q, to, pp);
}

static bool hangs_together(const struct net *net)
{
    struct net *all = net_reachable(net, 0, NULL);
    bool yes = all && all->nnodes == net->nnodes;

    net_free(all);
    return yes;
}

/* A ring in which each is joined to its next D/2 on both sides (D odd: and to
 * the one across), then swaps; and more of them until it hangs together. */
static void wire_regular(struct net *net, unsigned x, unsigned d,
                         unsigned hosts, struct net_rng *rng)
{
    for (unsigned n = 0; n < x; n++) {
        for (unsigned k = 0; k < d / 2; k++)
            net_connect(net, n, hosts + 2 * k, (n + k + 1) % x,
                        hosts + 2 * k + 1);
        if (d % 2 && n < x / 2)
            net_connect(net, n, hosts + d - 1, n + x / 2, hosts + d - 1);
    }
    do {
        for (unsigned i = 0; i < 20 * x * d; i++)
            swap_ends(net, x, d, hosts, rng);
    } while (!hangs_together(net));
}

struct net *net_build_regular(const char *name, const char *arg,
                              struct errbuf *err)
{
    unsigned x = 0, rest[3] = {0, 2, 1};
    struct net_rng rng;
    struct net *net;
    int len = 0;

    if (sscanf(arg, "%5u%n", &x, &len) != 1 ||
        !more_figures(arg + len, rest, 3) || rest[0] < 3 || rest[0] > 100 ||
        rest[1] > 100 || x < 2 * rest[0] || x > XBARS_MAX ||
        (rest[0] % 2 && x % 2))
        return net_no_net(err, name);
    net = net_checked(
        net_xbars_with_hosts(x, net_xbar_size(rest[0] + rest[1]), rest[1]),
        err);
    rng.state = rest[2];
    if (net)
        wire_regular(net, x, rest[0], rest[1], &rng);
    return net;
}
