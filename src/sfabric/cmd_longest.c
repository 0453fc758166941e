/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric longest [FILE]: how long routes are, and a longest one.
 */
#include "net/route.h"
#include "sfabric/netsource.h"

struct lengths {
    uint64_t routes[NET_ROUTE_MAX + 1];
    uint32_t from[NET_ROUTE_MAX + 1], to[NET_ROUTE_MAX + 1]; /* an example */
    uint64_t none;
};

/* Hosts on a host's crossbar, if it is the first of them; else 0. */
static unsigned hosts_beside(const struct net *net, uint32_t host)
{
    uint32_t at = net_peer_node(net, host, 0);
    unsigned n = 0;

    if (at == NET_NONE || net_is_host(net, at))
        return 1;
    for (unsigned p = 0; p < net->nodes[at].nports; p++) {
        uint32_t far = net_peer_node(net, at, p);

        if (far == NET_NONE || !net_is_host(net, far))
            continue;
        if (n == 0 && far != host)
            return 0;
        n++;
    }
    return n;
}

/* From one host of each crossbar: the others there have routes as long. */
static void measure(const struct net *net, const struct net_routes *r,
                    struct lengths *l)
{
    static struct net_path path;

    for (uint32_t a = 0; a < net->nnodes; a++) {
        unsigned beside = net_is_host(net, a) ? hosts_beside(net, a) : 0;

        for (uint32_t b = 0; beside > 0 && b < net->nnodes; b++) {
            if (a == b || !net_is_host(net, b))
                continue;
            if (!net_routes_path(r, a, b, &path)) {
                l->none += beside;
                continue;
            }
            l->from[path.hops] = a;
            l->to[path.hops] = b;
            l->routes[path.hops] += beside;
        }
    }
}

static void print_lengths(const struct net *net, const struct lengths *l,
                          const struct sfabric_options *o)
{
    static const char *const titles[] = {"HOPS", "ROUTES", "SUCH AS", "TO"};
    struct sfabric_columns *c = sfabric_columns_new(4, titles);
    char hops[16], n[24], a[32], b[32];
    const char *cells[4] = {hops, n, "-", "-"};

    for (int i = 0; i <= NET_ROUTE_MAX; i++) {
        if (l->routes[i] == 0)
            continue;
        snprintf(hops, sizeof(hops), "%d", i);
        snprintf(n, sizeof(n), "%llu", (unsigned long long)l->routes[i]);
        cells[2] = sfabric_node_name(net, l->from[i], a);
        cells[3] = sfabric_node_name(net, l->to[i], b);
        sfabric_columns_add(c, cells);
    }
    if (l->none > 0) {
        cells[2] = cells[3] = "-";
        snprintf(hops, sizeof(hops), "none");
        snprintf(n, sizeof(n), "%llu", (unsigned long long)l->none);
        sfabric_columns_add(c, cells);
    }
    sfabric_columns_print(c, o);
}

static int run(int argc, char **argv, struct sfabric_options *o)
{
    struct net_route_params params = {.hop_limit = NET_ROUTE_MAX};
    struct lengths l = {{0}, {0}, {0}, 0};
    struct net_routes *r;
    struct errbuf err;
    struct net *net;
    int rc = SFABRIC_UNKNOWN;

    if (sfabric_parse(&cmd_longest, argc, argv, o, NULL) < 0)
        return SFABRIC_UNKNOWN;
    net = sfabric_net(o, argv[1]);
    if (!net)
        return SFABRIC_UNKNOWN;
    r = net_routes_new(net, &params, &err);
    if (!r) {
        sfabric_fail("%s", err.text);
    } else {
        measure(net, r, &l);
        print_lengths(net, &l, o);
        rc = l.none ? SFABRIC_DEGRADED : SFABRIC_OK;
    }
    net_routes_free(r);
    net_free(net);
    return rc;
}

const struct sfabric_cmd cmd_longest = {
    .name = "longest",
    .args = "[FILE]",
    .help = "how long routes are, with an example of each length",
    .most = 1,
    .run = run,
};
