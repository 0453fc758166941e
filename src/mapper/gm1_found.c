/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of a search: a map, or the word that the map still holds.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "mapper/gm1_priv.h"
#include "mapper/gm_address.h"
#include "net/deadlock.h"
#include "net/same.h"

/* The own host says of itself what it would tell a Scout. */
static void hear_own(struct gm1 *g)
{
    const struct hostside_config *c = &g->config.host;
    const struct gm1_route here = {.len = 0};
    struct gm1_reply reply = {
        .address = c->address, .level = c->level, .node_type = c->node_type};
    struct hostside_state s;

    hostside_state(g->host, &s);
    reply.mapper = s.mapper;
    reply.gmid = s.gmid;
    reply.version = hostside_whole_version(g->host);
    if (c->name)
        memcpy(reply.name, c->name, strnlen(c->name, GM1_NAME_SIZE - 1));
    gm1_hear(g, &reply, &here);
}

/* Does this way lead to the host in the map, too? */
static bool leads_there(const struct gm1 *g, const struct gm1_heard *host,
                        const struct gm1_route *way)
{
    uint32_t me = net_find_host(g->net, g->config.host.address);
    struct net_route route = {.hops = (uint8_t)way->len};

    memcpy(route.byte, way->byte, way->len);
    return net_route_follow(g->net, me, &route, NULL) == host->node;
}

/* One that answers where the map does not have it is two: the explorer takes
 * one board id for one host. */
static void place_hosts(struct gm1 *g)
{
    char who[GM_ADDRESS_TEXT];
    struct gm1_heard *host;

    for (host = g->heard; host; host = host->hh.next) {
        host->node = net_find_host(g->net, host->address);
        if (host->node == NET_NONE || host->address == g->config.host.address ||
            (leads_there(g, host, &host->route) &&
             leads_there(g, host, &host->route2)))
            continue;
        gm1_notice(g, "board id %s answers in two places",
                   gm_address_text(host->address, who));
    }
}

static void tell_doubts(struct gm1 *g)
{
    const char *text;

    for (uint32_t i = 0; (text = explore_doubt(g->x, i)) != NULL; i++)
        gm1_notice(g, "%s", text);
}

static struct net *take_map(struct gm1 *g)
{
    struct errbuf err = {""};

    if (explore_failed(g->x, &err)) {
        gm1_notice(g, "exploring failed: %s", err.text);
        return NULL;
    }
    tell_doubts(g);
    return explore_map(g->x);
}

/* Who has no route to whom: the net is deeper than the hop limit. */
static void find_beyond(struct gm1 *g, const struct net *net,
                        const struct net_routes *routes)
{
    char from[GM_ADDRESS_TEXT], to[GM_ADDRESS_TEXT];
    struct net_beyond b;

    g->beyond.text[0] = '\0';
    net_routes_beyond(routes, &b);
    if (b.pairs > 0)
        errprintf(&g->beyond,
                  "%llu pairs of hosts have no route of at most %u hops, such "
                  "as %s to %s, which takes %u",
                  (unsigned long long)b.pairs, b.limit,
                  gm_address_text(net->nodes[b.from].id, from),
                  gm_address_text(net->nodes[b.to].id, to), b.hops);
}

/* Routes of the new net; it becomes ours.  False: no routes. */
static bool use_net(struct gm1 *g, struct net *net)
{
    struct errbuf err = {""}, why;
    struct net_routes *routes =
        net_routes_proved(net, &g->config.routes, NET_NONE, &why, &err);

    if (!routes) {
        if (errno != ENOMEM && g->ops.fatal)
            g->ops.fatal(err.text, g->arg);
        gm1_notice(g, "no routes: %s", err.text);
        net_free(net);
        return false;
    }
    if (why.text[0])
        gm1_notice(g, "%s: routes of engine %s instead", why.text,
                   net_engine_name(net_routes_engine(routes)));
    g->unproved = why;
    find_beyond(g, net, routes);
    if (!g->net || !net_same(g->net, net, NULL))
        g->fresh = true;
    net_routes_free(g->routes);
    net_free(g->net);
    g->net = net;
    g->routes = routes;
    return true;
}

/* Two boards of one id cannot both be active: nobody could tell whose
 * configuration he has. */
static bool has_twin(const struct gm1 *g, const struct net *net)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < net->nnodes; i++)
        n += net->nodes[i].kind == NET_HOST &&
             net->nodes[i].id == g->config.host.address;
    return n > 1;
}

/* From now on a host without a mapper: the next lower one takes over. */
static void end_as_twin(struct gm1 *g)
{
    char text[100], who[GM_ADDRESS_TEXT];

    snprintf(text, sizeof(text),
             "another board has the id of this one, %s: it cannot be active",
             gm_address_text(g->config.host.address, who));
    g->retired = true;
    hostside_set_level(g->host, 0);
    if (g->ops.fatal)
        g->ops.fatal(text, g->arg);
}

/* It is asleep then, and looks again, or never again. */
static void meet_twin(struct gm1 *g)
{
    if (++g->twins < GM_TWIN_SEARCHES)
        gm1_notice(g, "the id of this board is met elsewhere: looking again");
    else
        end_as_twin(g);
    g->dirty = true;
    gm1_fire(g, GM1_EVENT_FAILED);
}

/* Takes the net; NULL: there is none. */
static void take_net(struct gm1 *g, struct net *net)
{
    if (net && has_twin(g, net)) {
        net_free(net);
        meet_twin(g);
        return;
    }
    if (net)
        g->twins = 0;
    if (!net || !use_net(g, net)) {
        g->dirty = true;
        gm1_fire(g, GM1_EVENT_FAILED);
        return;
    }
    g->dirty = false;
    hear_own(g);
    place_hosts(g);
    gm1_fire(g, GM1_EVENT_EXPLORED);
}

void gm1_explored(struct gm1 *g)
{
    take_net(g, take_map(g));
}

/* ---- the net of before --------------------------------------------------- */

void gm1_suppose(struct gm1 *g, struct net *net)
{
    net_free(g->supposed);
    g->supposed = net;
}

/* Names are not stored: hosts have said theirs. */
static void name_hosts(const struct gm1 *g, struct net *net)
{
    for (uint32_t n = 0; n < net->nnodes; n++) {
        const struct probe_host *host =
            net_is_host(net, n) ? verify_host(g->v, n) : NULL;

        if (host && net_find_name(net, host->name) == NET_NONE)
            net_set_name(net, n, host->name);
    }
}

/* Only what is different; hosts that were verified have been heard. */
static void explore_rest(struct gm1 *g)
{
    struct explore *x = gm1_search_explorer(g);

    if (x && !explore_after(x, g->v)) {
        explore_free(x);
        x = NULL;
    }
    gm1_notice(g, "the stored map is not true any more: exploring what is "
                  "different");
    g->counters.regions++;
    gm1_search_stop(g);
    gm1_search_explore_by(g, x);
}

void gm1_supposed(struct gm1 *g)
{
    struct net *net = g->supposed;

    g->supposed = NULL;
    if (verify_failed(g->v)) {
        gm1_search_stop(g);
        gm1_search_explore(g);
    } else if (verify_change(g->v, 0)) {
        explore_rest(g);
    } else {
        gm1_notice(g, "the stored map is true");
        name_hosts(g, net);
        take_net(g, net);
        return;
    }
    net_free(net);
}

/* ---- verification -------------------------------------------------------- */

static bool is_outdated(const struct gm1 *g, const struct gm1_heard *host)
{
    return host->node != NET_NONE &&
           (host->reply.version != g->version ||
            host->reply.mapper != g->config.host.address ||
            host->reply.gmid != gm1_gmid(g, host->address));
}

static const char *what_changed(struct gm1 *g)
{
    const struct verify_change *c = verify_change(g->v, 0);
    const struct gm1_heard *host;

    if (c && c->what <= VERIFY_HOST_OTHER)
        return "something is gone";
    if (c)
        return "something is new";
    for (host = g->heard; host; host = host->hh.next)
        if (gm1_cloud_changed(host))
            return "a cloud has changed";
    return NULL;
}

void gm1_verified(struct gm1 *g)
{
    const struct gm1_heard *host;
    const char *change = what_changed(g);

    if (verify_failed(g->v))
        change = "verifying failed";
    if (change) {
        gm1_notice(g, "the network has changed: %s", change);
        gm1_fire(g, GM1_EVENT_CHANGED);
        return;
    }
    hear_own(g);
    for (host = g->heard; host; host = host->hh.next) {
        if (is_outdated(g, host)) {
            gm1_fire(g, GM1_EVENT_OUTDATED);
            return;
        }
    }
    gm1_fire(g, GM1_EVENT_UNCHANGED);
}
