/* SPDX-License-Identifier: BSD-3-Clause
 * Lines, rings, random nets: see build.h.
 */
#include <stdio.h>
#include <string.h>

#include "net/build_impl.h"
#include "net/rng.h"

#define RANDOM_PORTS 16

struct net *net_xbars_with_hosts(unsigned n, unsigned ports, unsigned hosts)
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

unsigned net_xbar_size(unsigned need)
{
    unsigned size = 4;

    while (size < need && size < 32)
        size *= 2;
    return need > size ? need : size;
}

struct net *net_no_net(struct errbuf *err, const char *name)
{
    errprintf(err, "no such net: %s", name);
    return NULL;
}

struct net *net_checked(struct net *net, struct errbuf *err)
{
    if (!net)
        errprintf(err, "out of memory");
    return net;
}

struct net *net_build_row(const char *name, const char *arg, bool ring,
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
    net = net_checked(net_xbars_with_hosts(n, net_xbar_size(hosts + 2), hosts), err);
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

struct net *net_build_random(const char *name, const char *arg,
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
struct net *net_build_hostless(const char *name, const char *arg,
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
