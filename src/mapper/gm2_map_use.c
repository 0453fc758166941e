/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Taking a map into use: routes of this host, place in the tree, partners.
 */
#include <errno.h>
#include <string.h>

#include "mapper/gm2_priv.h"
#include "net/deadlock.h"

static struct net_routes *compute(struct gm2 *m, const struct gm2_map *map,
                                  uint32_t me, struct errbuf *err)
{
    struct net_route_params params = m->config.routes;
    struct net_routes *routes;

    params.seed = m->config.seed ^ m->config.address;
    routes = net_routes_proved(map->net, &params, me, &m->unproved, err);
    if (routes && m->unproved.text[0])
        gm2_notice(m, "%s: routes of engine %s instead", m->unproved.text,
                   net_engine_name(net_routes_engine(routes)));
    return routes;
}

/* A partner by its number in the tree.  Left alone when no way leads to it
 * (hosts of --extra-hosts hang on nothing).  The hop limit is that of other
 * hosts' routes: mappers tell each other of the map all the same. */
static void set_partner(struct gm2 *m, struct gm2_partner *partner,
                        uint32_t number)
{
    struct net_route route;
    uint32_t node = number - 1;

    if (number == 0 || !net_routes_reach(m->routes, m->me, node, &route) ||
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

/* ---- routes -------------------------------------------------------------- */

/* More cables than these are no small loss. */
#define LOST_MAX 64

struct lost {
    uint32_t ports[LOST_MAX], peers[LOST_MAX];
    unsigned n;
};

static bool same_nodes(const struct gm2_map *a, const struct gm2_map *b)
{
    if (a->net->nnodes != b->net->nnodes || a->net->nports != b->net->nports)
        return false;
    for (uint32_t n = 0; n < a->net->nnodes; n++) {
        const struct net_node *x = &a->net->nodes[n], *y = &b->net->nodes[n];

        if (x->kind != y->kind || x->id != y->id || x->first != y->first ||
            x->has_id != y->has_id || x->plane != y->plane)
            return false;
    }
    for (uint32_t i = 0; i < a->net->nhosts; i++)
        if (a->hosts[i].level != b->hosts[i].level ||
            a->hosts[i].type != b->hosts[i].type)
            return false;
    return true;
}

/* Is the new map the old one less some cables between crossbars? */
static bool lost_only(const struct gm2_map *old, const struct gm2_map *now,
                      struct lost *lost)
{
    lost->n = 0;
    if (!same_nodes(old, now))
        return false;
    for (uint32_t p = 0; p < old->net->nports; p++) {
        uint32_t was = old->net->ports[p].peer, is = now->net->ports[p].peer;

        if (was == is)
            continue;
        if (is != NET_NONE || lost->n == LOST_MAX ||
            net_is_host(old->net, old->net->ports[p].node) ||
            net_is_host(old->net, old->net->ports[was].node))
            return false;
        if (was < p)
            continue;
        lost->ports[lost->n] = p;
        lost->peers[lost->n++] = was;
    }
    return true;
}

/* And this host's routes are proved, its alternatives, too. */
static bool repaired(struct gm2 *m, const struct lost *lost, uint32_t me)
{
    return net_routes_repair(m->routes, lost->ports, lost->peers, lost->n, NULL,
                             NULL) == 0 &&
           net_routes_host_deadlock(m->routes, me, NULL) == 0;
}

/* The old map becomes the new one, which is freed, and the routes with it.
 * False: the old map and its routes are gone, if the repair was tried. */
static bool repair(struct gm2 *m, struct gm2_map *map, uint32_t me)
{
    struct lost lost;
    struct net *net = m->map ? m->map->net : NULL;

    if (!m->routes || !m->map || m->unproved.text[0] ||
        !lost_only(m->map, map, &lost))
        return false;
    for (unsigned i = 0; i < lost.n; i++)
        net_disconnect(net, net->ports[lost.ports[i]].node,
                       net_port_number(net, lost.ports[i]));
    if (lost.n == 0 || repaired(m, &lost, me)) {
        m->map->version = map->version;
        gm2_map_free(map);
        m->counters.repairs++;
        return true;
    }
    net_routes_free(m->routes);
    gm2_map_free(m->map);
    m->routes = NULL;
    m->map = NULL;
    return false;
}

static bool route_anew(struct gm2 *m, struct gm2_map *map, uint32_t me)
{
    struct errbuf err = {""};
    struct net_routes *routes = compute(m, map, me, &err);

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
    m->map = map;
    m->routes = routes;
    return true;
}

/* Whom this host has no route to: the net is deeper than the hop limit. */
static void find_beyond(struct gm2 *m)
{
    struct net_beyond b;
    struct errbuf names;
    unsigned n;

    m->beyond.text[0] = '\0';
    net_routes_beyond(m->routes, &b);
    n = net_routes_missing(m->routes, m->me, &names);
    if (n > 0)
        errprintf(&m->beyond,
                  "no route of at most %u hops leads to %u of %u hosts: %.400s",
                  b.limit, n, m->map->net->nhosts - 1, names.text);
}

bool gm2_use_map(struct gm2 *m, struct gm2_map *map)
{
    uint32_t me = own_node(m, map->net);

    gm2_past_keep(m, map);
    if (!repair(m, map, me) && !route_anew(m, map, me))
        return false;
    gm2_suppose(m, NULL);
    m->ups = net_routes_ups(m->routes);
    m->unlike = 0;
    m->me = me;
    m->valid = true; /* whoever is told of the map may ask for its leader */
    m->complete = false;
    m->reported = 0;
    find_beyond(m);
    find_partners(m);
    if (m->ops.configured)
        m->ops.configured(m->map, m->me, m->routes, m->arg);
    return true;
}

/* ---- the tree ------------------------------------------------------------ */

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
