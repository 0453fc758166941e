/* SPDX-License-Identifier: BSD-3-Clause
 * Nets by name: see build.h.
 */
#include "net/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/rng.h"

/* SPDX-License-Identifier: BSD-3-Clause
 * Inside the builders (src/net only): see build.h for the names.
 */

/* ---- shapes ------------------------------------------------------------ */

/* Lines, rings, random nets: see build.h. */

#define RANDOM_PORTS 16

/* `n` crossbars x0 ... and `hosts` hosts on the first ports of each.  NULL:
 * out of memory. */
static struct net *net_xbars_with_hosts(unsigned n, unsigned ports,
                                        unsigned hosts)
{
    struct net *net = net_new();
    char name[32];
    bool ok = net != NULL;

    for (unsigned i = 0; ok && i < n; i++) {
        snprintf(name, sizeof(name), "x%u", i);
        ok = net_add_xbar(net, name, ports, NET_BUILD_XBAR_ID + i) != NET_NONE;
    }
    for (unsigned i = 0; ok && hosts > 0 && i < n * hosts; i++) {
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
static unsigned net_xbar_size(unsigned need)
{
    unsigned size = 4;

    while (size < need && size < 32)
        size *= 2;
    return need > size ? need : size;
}

/* "no such net"; NULL. */
static struct net *net_no_net(struct errbuf *err, const char *name)
{
    errprintf(err, "no such net: %s", name);
    return NULL;
}

/* The net, or NULL with "out of memory". */
static struct net *net_checked(struct net *net, struct errbuf *err)
{
    if (!net)
        errprintf(err, "out of memory");
    return net;
}

/* Each takes the whole name, for messages, and what stands behind "line:"
 * and so on. */
static struct net *net_build_row(const char *name, const char *arg, bool ring,
                                 struct errbuf *err)
{
    unsigned n = 0, hosts = 2;
    char end = 0;
    int got = sscanf(arg, "%5u:%3u%c", &n, &hosts, &end);
    struct net *net;
    bool ok = true;

    if ((got != 1 && got != 2) || n < (ring ? 3 : 1) || n > 65535 ||
        hosts > 250 || (got == 1 && arg[strspn(arg, "0123456789")]))
        return net_no_net(err, name);
    net = net_checked(net_xbars_with_hosts(n, net_xbar_size(hosts + 2), hosts),
                      err);
    for (unsigned i = 0; net && ok && i + !ring < n; i++)
        ok = net_connect(net, i, hosts, (i + 1) % n, hosts + 1);
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

static struct net *net_build_random(const char *name, const char *arg,
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
        return net_no_net(err, name);
    rng.state = seed;
    net = net_checked(net_xbars_with_hosts(xbars, RANDOM_PORTS, 0), err);
    for (unsigned i = 0; net && i < hosts; i++) {
        snprintf(host, sizeof(host), "h%u", i);
        if (net_add_host(net, host, NET_BUILD_HOST_ID + i) == NET_NONE) {
            net_free(net);
            return net_checked(NULL, err);
        }
    }
    if (net)
        wire_random(net, xbars, hosts, &rng);
    return net;
}

/* Crossbars 0 and 1 bear the hosts; 2 .. are the ring. */
static struct net *net_build_hostless(const char *name, const char *arg,
                                      struct errbuf *err)
{
    unsigned n = 6;
    struct net *net;
    char host[32];

    if (*arg && (sscanf(arg, ":%5u", &n) != 1 || n < 3 || n > 4096))
        return net_no_net(err, name);
    net = net_checked(net_xbars_with_hosts(n + 2, 8, 0), err);
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

/* ---- direct networks --------------------------------------------------- */

/* Nets in which every crossbar has hosts: tori, hypercubes, dragonflies,
 * random regular ones. See build.h. */

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

static struct net *net_build_torus(const char *name, const char *arg,
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

static struct net *net_build_cube(const char *name, const char *arg,
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

static struct net *net_build_dragonfly(const char *name, const char *arg,
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

static struct net *net_build_regular(const char *name, const char *arg,
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

/* ---- folded Clos networks ---------------------------------------------- */

/* Folded Clos nets: see build.h. A crossbar of level i is named by its place
 * below (which subtree: `pod`) and its place in the subtree (which of the
 * crossbars there that reach the same hosts: `rank`). It meets above the
 * crossbars of its pod's pod whose rank is its own, modulo the number of
 * ranks on its level. */

/* Products that say how many there are of what. */
struct shape {
    const struct net_clos *clos;
    uint64_t pods[NET_CLOS_LEVELS_MAX + 1];  /* subtrees of a level */
    uint64_t ranks[NET_CLOS_LEVELS_MAX + 1]; /* crossbars of one subtree */
    uint32_t first[NET_CLOS_LEVELS_MAX + 1]; /* first node of a level */
};

static unsigned ports_needed(const struct net_clos *c, unsigned level)
{
    unsigned need = c->down[level - 1] * c->parallel[level - 1];

    if (level < c->levels)
        need += c->up[level] * c->parallel[level];
    return need;
}

static int check_level(const struct net_clos *c, unsigned i, struct errbuf *err)
{
    unsigned most = SF_NET_XBAR_PORTS_MAX;

    if (!c->down[i] || !c->up[i] || !c->parallel[i] || c->down[i] > most ||
        c->up[i] > most || c->parallel[i] > most)
        return errprintf(err, "level %u: a figure is not in 1..%u", i + 1,
                         most);
    return 0;
}

static int check_clos(const struct net_clos *c, struct errbuf *err)
{
    unsigned most = c->ports ? c->ports : SF_NET_XBAR_PORTS_MAX;

    if (c->levels < 1 || c->levels > NET_CLOS_LEVELS_MAX)
        return errprintf(err, "a Clos has 1..%d levels", NET_CLOS_LEVELS_MAX);
    for (unsigned i = 0; i < c->levels; i++)
        if (check_level(c, i, err) < 0)
            return -1;
    if (c->up[0] != 1 || c->parallel[0] != 1)
        return errprintf(err, "a host has one cable");
    for (unsigned l = 1; l <= c->levels; l++)
        if (ports_needed(c, l) > most)
            return errprintf(err, "level %u needs %u ports of %u", l,
                             ports_needed(c, l), most);
    return 0;
}

static int measure(struct shape *s, const struct net_clos *c,
                   struct errbuf *err)
{
    uint64_t total = 0;

    s->clos = c;
    s->pods[c->levels] = 1;
    for (unsigned l = c->levels; l > 0; l--)
        s->pods[l - 1] = s->pods[l] * c->down[l - 1];
    s->ranks[0] = 1;
    for (unsigned l = 1; l <= c->levels; l++)
        s->ranks[l] = s->ranks[l - 1] * c->up[l - 1];
    for (unsigned l = 0; l <= c->levels; l++) {
        if (s->pods[l] > SF_NET_NODES_MAX || s->ranks[l] > SF_NET_NODES_MAX)
            return errprintf(err, "more than %u nodes", SF_NET_NODES_MAX);
        s->first[l] = (uint32_t)total;
        total += s->pods[l] * s->ranks[l];
        if (total > SF_NET_NODES_MAX)
            return errprintf(err, "more than %u nodes", SF_NET_NODES_MAX);
    }
    return 0;
}

static bool add_level(struct net *net, const struct shape *s, unsigned level)
{
    const struct net_clos *c = s->clos;
    uint64_t n = s->pods[level] * s->ranks[level];
    unsigned ports = level ? ports_needed(c, level) : 1;
    char name[32];
    uint32_t at;

    if (level && c->ports)
        ports = c->ports;
    for (uint32_t i = 0; i < n; i++) {
        if (level == 0) {
            snprintf(name, sizeof(name), "h%u", i);
            at = net_add_host(net, name, NET_BUILD_HOST_ID + i);
        } else {
            snprintf(name, sizeof(name), "s%u.%u", level, i);
            at =
                net_add_xbar(net, name, ports, NET_BUILD_XBAR_ID + net->nxbars);
        }
        if (at == NET_NONE)
            return false;
    }
    return true;
}

/* The cables of one node to the level above it. */
static bool cable_up(struct net *net, const struct shape *s, unsigned level,
                     uint32_t pod, uint32_t rank)
{
    const struct net_clos *c = s->clos;
    uint32_t me = s->first[level] + pod * (uint32_t)s->ranks[level] + rank;
    uint32_t above = pod / c->down[level], child = pod % c->down[level];
    unsigned par = c->parallel[level];
    unsigned up0 = level ? c->down[level - 1] * c->parallel[level - 1] : 0;

    for (unsigned u = 0; u < c->up[level]; u++) {
        uint32_t their = rank * c->up[level] + u;
        uint32_t peer =
            s->first[level + 1] + above * (uint32_t)s->ranks[level + 1] + their;

        for (unsigned k = 0; k < par; k++)
            if (!net_connect(net, me, up0 + u * par + k, peer, child * par + k))
                return false;
    }
    return true;
}

static bool fill(struct net *net, const struct shape *s)
{
    for (unsigned l = 0; l <= s->clos->levels; l++)
        if (!add_level(net, s, l))
            return false;
    for (unsigned l = 0; l < s->clos->levels; l++)
        for (uint32_t pod = 0; pod < s->pods[l]; pod++)
            for (uint32_t rank = 0; rank < s->ranks[l]; rank++)
                if (!cable_up(net, s, l, pod, rank))
                    return false;
    return true;
}

static struct net *net_build_clos(const struct net_clos *clos,
                                  struct errbuf *err)
{
    struct shape s;
    struct net *net;

    if (check_clos(clos, err) < 0 || measure(&s, clos, err) < 0)
        return NULL;
    net = net_new();
    if (!net || !fill(net, &s)) {
        errprintf(err, "out of memory");
        net_free(net);
        return NULL;
    }
    return net;
}

/* ---- from a text ------------------------------------------------------- */

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

/* ---- nets made from nets ----------------------------------------------- */

/* Nets made from nets: faults, other ports, parts. See build.h. */

/* May the cable at this port (seen from its lower end) be taken out? */
static bool candidate(const struct net *net, uint32_t p, bool hosts)
{
    uint32_t q = net->ports[p].peer;

    return q != NET_NONE && p < q &&
           (hosts || (!net_is_host(net, net->ports[p].node) &&
                      !net_is_host(net, net->ports[q].node)));
}

/* Selection sampling: each candidate goes with the probability that makes
 * the number exact. */
uint32_t net_cut_cables(struct net *net, double share, uint64_t seed,
                        bool hosts)
{
    struct net_rng rng = {seed};
    uint32_t left = 0, want, cut = 0;

    for (uint32_t p = 0; p < net->nports; p++)
        left += candidate(net, p, hosts);
    want = (uint32_t)(share * left + 0.5);
    for (uint32_t p = 0; p < net->nports && cut < want; p++) {
        if (!candidate(net, p, hosts))
            continue;
        if (net_rng_below(&rng, left--) < want - cut) {
            net_disconnect(net, net->ports[p].node, net_port_number(net, p));
            cut++;
        }
    }
    return cut;
}

/* Where each port's cable goes: a permutation within each crossbar. */
static void permute(const struct net *net, struct net_rng *rng, uint32_t *to)
{
    for (uint32_t p = 0; p < net->nports; p++)
        to[p] = p;
    for (uint32_t n = 0; n < net->nnodes; n++) {
        uint32_t *own = to + net->nodes[n].first;

        for (unsigned i = net->nodes[n].nports; i > 1; i--) {
            unsigned j = net_rng_below(rng, i);
            uint32_t t = own[i - 1];

            own[i - 1] = own[j];
            own[j] = t;
        }
    }
}

bool net_shuffle_ports(struct net *net, uint64_t seed)
{
    struct net_rng rng = {seed};
    uint32_t *to = malloc((net->nports + 1) * sizeof(*to));
    uint32_t *peer = malloc((net->nports + 1) * sizeof(*peer));

    if (!to || !peer) {
        free(to);
        free(peer);
        return false;
    }
    permute(net, &rng, to);
    for (uint32_t p = 0; p < net->nports; p++)
        peer[to[p]] =
            net->ports[p].peer == NET_NONE ? NET_NONE : to[net->ports[p].peer];
    for (uint32_t p = 0; p < net->nports; p++)
        net->ports[p].peer = peer[p];
    free(to);
    free(peer);
    return true;
}

void net_tell_ids(struct net *net, bool tell)
{
    for (uint32_t n = 0; n < net->nnodes; n++)
        if (!net_is_host(net, n))
            net->nodes[n].has_id = tell;
}

/* Mark what can be reached; queue and mark have one entry per node. */
static uint32_t flood(const struct net *net, uint32_t from, uint32_t *queue,
                      uint32_t *mark)
{
    uint32_t n = 0, got = 0;

    memset(mark, 0xff, net->nnodes * sizeof(*mark));
    queue[got] = from;
    mark[from] = got++;
    while (n < got) {
        const struct net_node *node = &net->nodes[queue[n++]];

        for (unsigned p = 0; p < node->nports; p++) {
            uint32_t q = net->ports[node->first + p].peer, at;

            if (q == NET_NONE)
                continue;
            at = net->ports[q].node;
            if (mark[at] == NET_NONE) {
                queue[got] = at;
                mark[at] = got++;
            }
        }
    }
    return got;
}

static bool copy_node(struct net *to, const struct net *from, uint32_t n)
{
    const struct net_node *f = &from->nodes[n];
    uint32_t at = f->kind == NET_HOST
                      ? net_add_host(to, f->name, f->id)
                      : net_add_xbar(to, f->name, f->nports, f->id);

    if (at == NET_NONE)
        return false;
    to->nodes[at].has_id = f->has_id;
    to->nodes[at].plane = f->plane;
    return true;
}

static struct net *part(const struct net *net, const uint32_t *queue,
                        uint32_t n, const uint32_t *mark)
{
    struct net *to = net_new();

    for (uint32_t i = 0; to && i < n; i++)
        if (!copy_node(to, net, queue[i])) {
            net_free(to);
            return NULL;
        }
    for (uint32_t p = 0; to && p < net->nports; p++) {
        uint32_t q = net->ports[p].peer;

        if (q != NET_NONE && p < q && mark[net->ports[p].node] != NET_NONE &&
            mark[net->ports[q].node] != NET_NONE)
            net_connect(to, mark[net->ports[p].node], net_port_number(net, p),
                        mark[net->ports[q].node], net_port_number(net, q));
    }
    return to;
}

struct net *net_reachable(const struct net *net, uint32_t from, uint32_t *there)
{
    uint32_t *queue = malloc(net->nnodes * sizeof(*queue));
    uint32_t *mark = malloc(net->nnodes * sizeof(*mark));
    struct net *to = NULL;

    if (queue && mark) {
        to = part(net, queue, flood(net, from, queue, mark), mark);
        if (there)
            *there = mark[from];
    }
    free(queue);
    free(mark);
    return to;
}

struct net *net_without(const struct net *net, const bool *gone, uint32_t *to)
{
    uint32_t *queue = malloc((net->nnodes + 1) * sizeof(*queue));
    uint32_t *mark = malloc((net->nnodes + 1) * sizeof(*mark));
    struct net *left = NULL;
    uint32_t n = 0;

    for (uint32_t i = 0; queue && mark && i < net->nnodes; i++) {
        mark[i] = gone[i] ? NET_NONE : n;
        if (!gone[i])
            queue[n++] = i;
    }
    if (queue && mark)
        left = part(net, queue, n, mark);
    if (left && to)
        memcpy(to, mark, net->nnodes * sizeof(*to));
    free(queue);
    free(mark);
    return left;
}
