/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Taking a map into use: routes of this host, place in the tree, partners.
 */
#include <errno.h>
#include <string.h>

#include "mapper/gm2_priv.h"

static struct net_routes *compute(struct gm2 *m, const struct gm2_map *map,
                                  struct errbuf *err)
{
    struct net_route_params params = m->config.routes;

    params.seed = m->config.seed ^ m->config.address;
    return net_routes_new(map->net, &params, err);
}

/* A partner by its number in the tree.  Left alone when no route leads to it
 * (hosts of --extra-hosts hang on nothing). */
static void set_partner(struct gm2 *m, struct gm2_partner *partner,
                        uint32_t number)
{
    struct net_route route;
    uint32_t node = number - 1;

    if (number == 0 || net_routes_get(m->routes, m->me, node, &route, 1) == 0 ||
        route.hops > GM2_ROUTE_MAX)
        return;
    memset(partner, 0, sizeof(*partner));
    partner->address = m->map->net->nodes[node].id;
    partner->route.len = route.hops;
    memcpy(partner->route.byte, route.byte, route.hops);
}

static void find_partners(struct gm2 *m)
{
    uint32_t n = m->me + 1;

    if (gm2_is_leader(m))
        m->parent.address = 0;
    else
        set_partner(m, &m->parent, gm2_tree_parent(n));
    for (unsigned i = 0; i < 2; i++) {
        m->child[i].address = 0;
        set_partner(m, &m->child[i], gm2_tree_child(n, i, m->map->net->nhosts));
    }
}

/* Does the way that is known to the parent lead to it from this host? */
static bool leads_to_parent(const struct gm2 *m, const struct net *net,
                            uint32_t host)
{
    struct net_route route = {.hops = m->parent.route.len};
    uint32_t end;

    memcpy(route.byte, m->parent.route.byte, route.hops);
    end = net_route_follow(net, host, &route, NULL);
    return end != NET_NONE && net->nodes[end].id == m->parent.address;
}

/* Which host of the map is this one?  Of several with its board id the one
 * from which the way to the parent leads there: only one does, for the way
 * back from there ends in one place. */
static uint32_t own_node(struct gm2 *m, const struct net *net)
{
    uint32_t me = net_find_host(net, m->config.address);
    bool twin = false;

    for (uint32_t i = 0; i < net->nhosts; i++)
        twin |= i != me && net->nodes[i].id == m->config.address;
    if (!twin)
        return me;
    gm2_notice(m, "another board has the id of this one");
    for (uint32_t i = 0; i < net->nhosts; i++)
        if (net->nodes[i].id == m->config.address && leads_to_parent(m, net, i))
            return i;
    return me;
}

bool gm2_use_map(struct gm2 *m, struct gm2_map *map)
{
    struct errbuf err = {""};
    struct net_routes *routes = compute(m, map, &err);

    if (!routes) {
        bool memory = errno == ENOMEM;

        gm2_map_free(map);
        if (memory)
            gm2_notice(m, "no memory for routes");
        else
            gm2_end(m, err.text);
        return false;
    }
    net_routes_free(m->routes);
    gm2_map_free(m->map);
    gm2_suppose(m, NULL);
    m->map = map;
    m->routes = routes;
    m->me = own_node(m, map->net);
    m->complete = false;
    m->reported = 0;
    find_partners(m);
    if (m->ops.configured)
        m->ops.configured(map, m->me, routes, m->arg);
    return true;
}

static void tell(struct gm2 *m, unsigned which)
{
    const struct gm2_talk talk = {
        .purpose = GM2_TALK_TREE,
        .reason = GM2_LX_TREE,
        .address = m->child[which].address,
        .argument = gm2_tree_child(m->me + 1, which, m->map->net->nhosts),
        .route = m->child[which].route,
        .wait = m->config.scout_wait,
        .left = m->config.tree_tries,
        .which = which,
    };

    if (talk.address != 0)
        gm2_ask(m, &talk);
}

void gm2_tree_start(struct gm2 *m)
{
    gm2_sum_done(m);
    for (unsigned i = 0; i < 2; i++)
        if (!m->child[i].same)
            tell(m, i);
}

/* Hosts of the map that hang on the fabric. */
static uint32_t connected(const struct gm2 *m)
{
    const struct net *net = m->map->net;
    uint32_t n = 0;

    for (uint32_t i = 0; i < net->nhosts; i++)
        n += i == m->me || net_peer_node(net, i, 0) != NET_NONE;
    return n;
}

void gm2_sum_done(struct gm2 *m)
{
    m->done = 1;
    for (unsigned i = 0; i < 2; i++)
        if (m->child[i].address != 0)
            m->done += m->child[i].done;
    if (!gm2_is_leader(m) || m->complete || m->done < connected(m))
        return;
    m->complete = true;
    if (m->ops.complete)
        m->ops.complete(m->done, m->arg);
}
