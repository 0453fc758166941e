/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric conflicts [FILE]: what contradicts itself in a map (one address or
 * id twice, one name twice) and whether its routes could deadlock.
 */
#include "net/deadlock.h"
#include "net/diff.h"
#include "sfabric/netsource.h"

static void tell(void *arg, const char *text)
{
    (void)arg;
    puts(text);
}

/* 0, 1, or -1 when it cannot be told. */
static int check_deadlock(const struct net *net)
{
    struct net_route_params params = {.hop_limit = NET_ROUTE_MAX};
    struct errbuf err = {{0}};
    struct net_routes *r = net_routes_new(net, &params, &err);
    int loop = r ? net_routes_deadlock(r, &err) : -1;

    if (loop > 0)
        printf("routes can deadlock: %s\n", err.text);
    else if (loop < 0)
        sfabric_fail("%s", err.text);
    net_routes_free(r);
    return loop;
}

static int run(int argc, char **argv, struct sfabric_options *o)
{
    struct net *net;
    int n, loop;

    if (sfabric_parse(&cmd_conflicts, argc, argv, o, NULL) < 0)
        return SFABRIC_UNKNOWN;
    net = sfabric_net(o, argv[1]);
    if (!net)
        return SFABRIC_UNKNOWN;
    n = net_conflicts(net, tell, NULL);
    loop = check_deadlock(net);
    net_free(net);
    if (n < 0 || loop < 0)
        return SFABRIC_UNKNOWN;
    return n > 0 || loop > 0 ? SFABRIC_DEGRADED : SFABRIC_OK;
}

const struct sfabric_cmd cmd_conflicts = {
    .name = "conflicts",
    .args = "[FILE]",
    .help = "addresses, ids, names met twice; routes that can deadlock",
    .most = 1,
    .run = run,
};
