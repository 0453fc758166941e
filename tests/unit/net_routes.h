/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the tests of routes share: nets of many shapes, every engine on each.
 */
#ifndef SF_TESTS_NET_ROUTES_H
#define SF_TESTS_NET_ROUTES_H

#include "net/deadlock.h"
#include "net/route.h"
#include "net_check.h"

#define K 8

static const char *const all_nets[] = {
    "C64",
    "C512+shuffle=3",
    "C64+cut=10:1",
    "C512+cut=10:2+shuffle=5",
    "clos:3x5x4:1x2x3:1x2x1",
    "line:8",
    "ring:9",
    "ring:10:1",
    "torus:4x4",
    "torus:5x3:2:2",
    "random:20:60:1",
    "random:40:150:2",
    "random:60:200:3+cut=10:4",
    "hostless-ring",
    "two-planes",
    "line:1:6",
};

static inline struct net_routes *routes(const struct net *net,
                                        enum net_engine engine, unsigned limit)
{
    struct net_route_params p = {
        .engine = engine, .alternatives = K, .hop_limit = limit, .seed = 7};
    struct errbuf err;
    struct net_routes *r = net_routes_new(net, &p, &err);

    if (!r)
        fail_msg("no routes: %s", err.text);
    return r;
}

static inline void no_deadlock(const struct net_routes *r)
{
    struct errbuf err;

    if (net_routes_deadlock(r, &err) != 0)
        fail_msg("%s", err.text);
}

static inline void every_engine_on_every_net(
    void (*check)(const struct net *, const struct net_routes *))
{
    static const enum net_engine engines[] = {NET_AUTO, NET_PAIRS, NET_UPDOWN,
                                              NET_GM2};

    for (size_t i = 0; i < sizeof(all_nets) / sizeof(*all_nets); i++) {
        struct net *net = named(all_nets[i]);

        for (size_t e = 0; e < 3; e++) {
            struct net_routes *r = routes(net, engines[e], 32);

            check(net, r);
            net_routes_free(r);
        }
        net_free(net);
    }
}

#endif
