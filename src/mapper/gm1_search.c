/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A GM-1 mapper's search: hosts that it has heard of, what a search found, and
 * its probes.
 *
 * Probes: between the explorer or verifier, which know nothing of bytes, and
 * GM-1's messages.  The low half of a tag is the port of the message, the
 * high half is added to the phase that this search began with.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "mapper/gm1_priv.h"
#include "mapper/gm_address.h"
#include "net/deadlock.h"
#include "net/same.h"

static struct explore *gm1_search_explorer(struct gm1 *g);
static void gm1_search_explore_by(struct gm1 *g, struct explore *x);

/* ---- gm1 hosts --------------------------------------------------------- */

/* What a GM-1 mapper knows of hosts: their last replies, the members of their
 * clouds, gmIDs. A gmID belongs to an address for as long as the mapper
 * lives; it is learnt from replies, so that a new mapper keeps the old ones. */

static struct gm1_heard *heard_of(const struct gm1 *g, uint64_t address)
{
    struct gm1_heard *host;

    HASH_FIND(hh, g->heard, &address, sizeof(address), host);
    return host;
}

static void note_version(struct gm1 *g, uint32_t version)
{
    if (version > g->highest)
        g->highest = version;
}

static struct gm1_heard *gm1_hear(struct gm1 *g, const struct gm1_reply *reply,
                                  const struct gm1_route *route)
{
    struct gm1_heard *host = heard_of(g, reply->address);

    note_version(g, reply->version);
    if (!host) {
        host = calloc(1, sizeof(*host));
        if (!host)
            return NULL;
        host->address = reply->address;
        host->node = NET_NONE;
        host->route = *route;
        HASH_ADD(hh, g->heard, address, sizeof(host->address), host);
        if (reply->option > GM1_OPTION_NO_ROUTES)
            gm1_notice(g, "host %s: unknown reply option %u", reply->name,
                       reply->option);
    }
    host->reply = *reply;
    host->route2 = *route;
    return host;
}

/* A new exploration hears everybody anew. */
static void gm1_forget(struct gm1 *g)
{
    struct gm1_heard *host, *tmp;

    HASH_ITER(hh, g->heard, host, tmp)
    {
        HASH_DEL(g->heard, host);
        free(host->members);
        free(host);
    }
}

void gm1_free_hosts(struct gm1 *g)
{
    struct gm1_known *known, *tmp;

    gm1_forget(g);
    HASH_ITER(hh, g->known, known, tmp)
    {
        HASH_DEL(g->known, known);
        free(known);
    }
}

/* ---- clouds -------------------------------------------------------------- */

/* The same address twice is one member; what came last holds. */
static bool put_member(struct gm1_heard *host, const struct gm1_member *member)
{
    struct gm1_member *grown;

    for (uint32_t i = 0; i < host->nmembers; i++) {
        if (host->members[i].address == member->address) {
            host->members[i] = *member;
            return true;
        }
    }
    if (host->nmembers >= SF_GM_CLOUD_MAX)
        return false;
    grown = realloc(host->members, (host->nmembers + 1) * sizeof(*grown));
    if (!grown)
        return false;
    host->members = grown;
    host->members[host->nmembers++] = *member;
    return true;
}

void gm1_take_members(struct gm1_heard *host, const struct gm1_message *msg)
{
    struct gm1_member member;

    for (uint32_t i = 0; i < msg->nrows; i++) {
        gm1_member_at(msg, i, &member);
        put_member(host, &member);
    }
    if (host->asked < msg->nrows)
        host->asked = msg->nrows;
}

static uint64_t print_members(const struct gm1_heard *host)
{
    uint64_t print = GM1_PRINT;

    for (uint32_t i = 0; i < host->nmembers; i++) {
        gm1_mix(&print, host->members[i].address);
        gm1_mix(&print, host->members[i].control);
    }
    return print;
}

void gm1_cloud_told(struct gm1_heard *host)
{
    host->rows = host->reply.nhosts;
    host->print = print_members(host);
}

/* Rows are counted as the gateway counts them: it may have one twice. */
static bool gm1_cloud_changed(const struct gm1_heard *host)
{
    return host->reply.option == GM1_OPTION_CLOUD &&
           (host->reply.nhosts != host->rows ||
            print_members(host) != host->print);
}

/* ---- gmIDs --------------------------------------------------------------- */

static struct gm1_known *known_of(struct gm1 *g, uint64_t address)
{
    struct gm1_known *known;

    HASH_FIND(hh, g->known, &address, sizeof(address), known);
    if (known)
        return known;
    known = calloc(1, sizeof(*known));
    if (!known)
        return NULL;
    known->address = address;
    HASH_ADD(hh, g->known, address, sizeof(known->address), known);
    return known;
}

uint16_t gm1_gmid(const struct gm1 *g, uint64_t address)
{
    struct gm1_known *known;

    HASH_FIND(hh, g->known, &address, sizeof(address), known);
    return known ? known->gmid : 0;
}

/* Which gmIDs are taken, one bit each. */
struct taken {
    uint8_t bit[65536 / 8];
};

static bool take(struct taken *taken, uint16_t gmid)
{
    uint8_t mask = (uint8_t)(1 << gmid % 8);

    if (gmid == 0 || taken->bit[gmid / 8] & mask)
        return false;
    taken->bit[gmid / 8] |= mask;
    return true;
}

static void keep_gmid(struct gm1 *g, uint64_t address, struct taken *taken)
{
    struct gm1_known *known = known_of(g, address);

    if (known && known->gmid != 0 && !take(taken, known->gmid))
        known->gmid = 0;
}

/* What was given before stays.  A host that is new to us keeps the one it
 * reports, unless somebody else has it: that host is reset. */
static void keep_gmids(struct gm1 *g, struct taken *taken)
{
    struct gm1_heard *host;

    for (host = g->heard; host; host = host->hh.next) {
        keep_gmid(g, host->address, taken);
        for (uint32_t i = 0; i < host->nmembers; i++)
            keep_gmid(g, host->members[i].address, taken);
    }
    for (host = g->heard; host; host = host->hh.next) {
        struct gm1_known *known = known_of(g, host->address);

        if (known && known->gmid == 0 && take(taken, host->reply.gmid))
            known->gmid = host->reply.gmid;
    }
}

static void give_gmid(struct gm1 *g, uint64_t address, struct taken *taken)
{
    struct gm1_known *known = known_of(g, address);

    for (uint32_t i = 0; known && i < 65535 && known->gmid == 0; i++)
        if (take(taken, ++g->last_gmid))
            known->gmid = g->last_gmid;
}

void gm1_assign_gmids(struct gm1 *g)
{
    struct taken *taken = calloc(1, sizeof(*taken));
    char who[GM_ADDRESS_TEXT];
    struct gm1_heard *host;

    if (!taken)
        return;
    keep_gmids(g, taken);
    for (host = g->heard; host; host = host->hh.next) {
        give_gmid(g, host->address, taken);
        for (uint32_t i = 0; i < host->nmembers; i++)
            give_gmid(g, host->members[i].address, taken);
        host->reset = host->reply.gmid != 0 &&
                      host->reply.gmid != gm1_gmid(g, host->address);
        if (host->reset)
            gm1_notice(g, "host %s has gmID %u of another host: reset",
                       gm_address_text(host->address, who), host->reply.gmid);
        if (gm1_gmid(g, host->address) == 0)
            gm1_notice(g, "no gmID is left for host %s",
                       gm_address_text(host->address, who));
    }
    free(taken);
}

/* ---- gm1 found --------------------------------------------------------- */

/* The end of a search: a map, or the word that the map still holds. */

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

/* Two boards with one id cannot both be active: nobody could tell whose
 * configuration it has. */
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

/* The end of a search. */
static void gm1_explored(struct gm1 *g)
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

/* The net of before is verified. */
static void gm1_supposed(struct gm1 *g)
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

static void gm1_verified(struct gm1 *g)
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

static void own_host(const struct gm1 *g, struct probe_host *host)
{
    struct hostside_state s;

    hostside_state(g->host, &s);
    *host = (struct probe_host){
        .address = g->config.host.address,
        .map_leader = s.mapper,
        .map_version = hostside_whole_version(g->host),
        .level = g->config.host.level,
        .gm_id = s.gmid,
        .type = g->config.host.node_type,
    };
}

void gm1_search_stop(struct gm1 *g)
{
    explore_free(g->x);
    verify_free(g->v);
    g->x = NULL;
    g->v = NULL;
}

static void new_phase(struct gm1 *g)
{
    g->phase += GM1_PHASES;
    memset(g->flight, 0, GM1_FLIGHT * sizeof(*g->flight));
}

/* All of it, in the place of an exploration. */
static bool start_supposed(struct gm1 *g)
{
    const struct verify_options whole = {
        .hosts = true,
        .links = true,
        .empty = true,
        .rings = VERIFY_RINGS_ALL,
    };

    if (!g->supposed)
        return false;
    new_phase(g);
    g->v = verify_new(&g->config.limits, &whole, g->supposed,
                      net_find_host(g->supposed, g->config.host.address));
    if (g->v)
        g->counters.hypotheses++;
    else
        gm1_suppose(g, NULL);
    return g->v != NULL;
}

static struct explore *gm1_search_explorer(struct gm1 *g)
{
    struct probe_host me;

    own_host(g, &me);
    return explore_new(&g->config.limits, &me);
}

/* Explore by one that may know something already; NULL: there is no memory. */
static void gm1_search_explore_by(struct gm1 *g, struct explore *x)
{
    g->counters.explorations++;
    new_phase(g);
    g->x = x;
    if (!g->x)
        gm1_fire(g, GM1_EVENT_FAILED);
}

void gm1_search_explore(struct gm1 *g)
{
    gm1_forget(g);
    if (!start_supposed(g))
        gm1_search_explore_by(g, gm1_search_explorer(g));
}

void gm1_search_verify(struct gm1 *g)
{
    const struct verify_options all = {
        .hosts = true,
        .links = true,
        .empty = true,
        .rings = GM1_RINGS,
        .round = (uint32_t)g->counters.verifications,
    };
    uint32_t me = net_find_host(g->net, g->config.host.address);

    g->counters.verifications++;
    new_phase(g);
    g->v = verify_new(&g->config.limits, &all, g->net, me);
    if (!g->v)
        gm1_fire(g, GM1_EVENT_CHANGED);
}

/* ---- out ----------------------------------------------------------------- */

/* The low half of a tag numbers the probes in flight. */
static struct gm1_flight *flight_of(struct gm1 *g, uint64_t tag)
{
    return &g->flight[(uint32_t)tag % GM1_FLIGHT];
}

static bool make_scout(struct gm1 *g, const struct probe *probe,
                       struct gm1_message *msg)
{
    struct gm1_flight *flight = flight_of(g, probe->tag);

    if (probe->nroute > GM1_ROUTE_MAX)
        return false;
    flight->tag = probe->tag;
    flight->route.len = probe->nroute;
    memcpy(flight->route.byte, probe->route, probe->nroute);
    msg->subtype = GM1_SCOUT;
    msg->scout = (struct gm1_scout){.mapper = g->config.host.address,
                                    .level = g->config.host.level};
    msg->scout.back.len = probe->nroute;
    net_route_reverse(msg->scout.back.byte, probe->route, probe->nroute);
    g->counters.scouts++;
    return true;
}

static void send_probe(struct gm1 *g, const struct probe *probe)
{
    struct gm1_message msg = {.subtype = GM1_PROBE,
                              .port = (uint32_t)probe->tag,
                              .phase = g->phase + (uint32_t)(probe->tag >> 32)};
    uint8_t body[GM1_SCOUT_SIZE];

    if (probe->kind == PROBE_SCOUT) {
        if (!make_scout(g, probe, &msg))
            return;
    } else {
        if (probe->kind == PROBE_TOUR)
            msg.subtype = GM1_VERIFY;
        g->counters.switches++;
    }
    g->ops.send(probe->route, probe->nroute, body,
                gm1_encode(body, sizeof(body), &msg), g->arg);
}

/* ---- in ------------------------------------------------------------------ */

/* False: of another search, or not ours at all. */
static bool tag_of(const struct gm1 *g, const struct gm1_message *msg,
                   uint64_t *tag)
{
    uint32_t high = msg->phase - g->phase;

    *tag = (uint64_t)high << 32 | msg->port;
    return (g->x || g->v) && high < GM1_PHASES;
}

static void answer(struct gm1 *g, const struct probe_answer *a)
{
    if (g->x)
        explore_answer(g->x, g->now, a);
    else
        verify_answer(g->v, g->now, a);
}

void gm1_search_back(struct gm1 *g, const struct gm1_message *msg)
{
    struct probe_answer a = {.outcome = PROBE_BACK};

    if (tag_of(g, msg, &a.tag))
        answer(g, &a);
}

bool gm1_search_own(struct gm1 *g, const struct gm1_message *msg)
{
    struct probe_answer a = {.outcome = PROBE_HOST};

    if (msg->scout.mapper != g->config.host.address || !tag_of(g, msg, &a.tag))
        return false;
    own_host(g, &a.host);
    answer(g, &a);
    gm1_search_run(g, false);
    return true;
}

bool gm1_search_reply(struct gm1 *g, const struct gm1_message *msg)
{
    struct probe_answer a = {.outcome = PROBE_HOST};
    const struct gm1_reply *r = &msg->reply;
    const struct gm1_flight *flight;
    struct gm1_heard *host;

    if (msg->subtype != GM1_REPLY || !tag_of(g, msg, &a.tag) || r->address == 0)
        return false;
    flight = flight_of(g, a.tag);
    if (flight->tag != a.tag)
        return false;
    a.host.address = r->address;
    a.host.map_leader = r->mapper;
    a.host.map_version = r->version;
    a.host.level = r->level;
    a.host.gm_id = r->gmid;
    a.host.type = r->node_type;
    a.host.option = r->option;
    memcpy(a.host.name, r->name, sizeof(r->name));
    host = gm1_hear(g, r, &flight->route);
    if (host && r->option == GM1_OPTION_CLOUD)
        gm1_take_members(host, msg);
    answer(g, &a);
    if (r->level != 0)
        gm1_meet(g, r->address, r->level, &flight->route);
    return true;
}

/* ---- running ------------------------------------------------------------- */

static bool next_probe(struct gm1 *g, struct probe *probe)
{
    if (g->x)
        return explore_next(g->x, g->now, probe);
    return g->v && verify_next(g->v, g->now, probe);
}

/* True: a search has ended, and another one may have begun. */
static bool search_done(struct gm1 *g)
{
    bool explored = g->x && explore_done(g->x);
    bool verified = g->v && verify_done(g->v);

    if (explored)
        gm1_explored(g);
    else if (verified && g->supposed)
        gm1_supposed(g);
    else if (verified)
        gm1_verified(g);
    return explored || verified;
}

void gm1_search_run(struct gm1 *g, bool tick)
{
    struct probe probe;

    if (tick && g->x)
        explore_tick(g->x, g->now);
    else if (tick && g->v)
        verify_tick(g->v, g->now);
    do {
        while (next_probe(g, &probe))
            send_probe(g, &probe);
    } while (search_done(g));
}

uint64_t gm1_search_deadline(const struct gm1 *g)
{
    if (g->x)
        return explore_done(g->x) ? g->now : explore_deadline(g->x);
    if (g->v)
        return verify_done(g->v) ? g->now : verify_deadline(g->v);
    return GM1_NEVER;
}
