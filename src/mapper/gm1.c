/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A GM-1 mapper: what it says and answers, configuring hosts, its moves from
 * state to state, time.
 */
#include "mapper/gm1.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mapper/gm1_priv.h"
#include "mapper/gm_address.h"

static void gm1_configure_more(struct gm1 *g);
static bool gm1_ask(struct gm1 *g, enum gm1_purpose purpose,
                    struct gm1_heard *host, uint32_t first);
static unsigned gm1_talking(const struct gm1 *g, const struct gm1_heard *host);

/* ---- gm1 configure ----------------------------------------------------- */

/* Configuration: the rest of large clouds is asked for, gmIDs are given, a
 * version is chosen, and every host with another one gets the rows. */

/* ---- clouds -------------------------------------------------------------- */

static bool query_one(struct gm1 *g)
{
    struct gm1_heard *host;

    for (host = g->heard; host; host = host->hh.next) {
        uint32_t first = host->asked;

        if (host->reply.option != GM1_OPTION_CLOUD || host->node == NET_NONE ||
            first >= host->reply.nhosts || first >= SF_GM_CLOUD_MAX)
            continue;
        if (!gm1_ask(g, GM1_TALK_QUERY, host, first))
            return false;
        host->asked = first + GM1_MEMBERS_MAX;
        return true;
    }
    return false;
}

static void gm1_query_more(struct gm1 *g)
{
    while (gm1_talking(g, NULL) < g->config.window && query_one(g))
        ;
    if (gm1_talking(g, NULL) == 0)
        gm1_fire(g, GM1_EVENT_GATHERED);
}

/* ---- rows ---------------------------------------------------------------- */

static uint32_t count_rows(const struct gm1 *g)
{
    const struct gm1_heard *host;
    uint32_t n = 0;

    for (host = g->heard; host; host = host->hh.next)
        if (host->node != NET_NONE)
            n += 1 + host->nmembers;
    return n;
}

static void add_row(struct gm1 *g, uint64_t address,
                    const struct gm1_heard *host, uint16_t control, bool member)
{
    g->rows[g->nrows++] =
        (struct gm1_row){address, host, gm1_gmid(g, address), control, member};
}

static int by_address(const void *a, const void *b)
{
    const struct gm1_row *x = a, *y = b;

    return x->address < y->address ? -1 : x->address > y->address;
}

static bool make_rows(struct gm1 *g)
{
    uint32_t n = count_rows(g);
    struct gm1_heard *host;

    free(g->rows);
    g->nrows = 0;
    g->rows = calloc(n + 1, sizeof(*g->rows));
    if (!g->rows || n > UINT16_MAX)
        return false;
    for (host = g->heard; host; host = host->hh.next) {
        if (host->node == NET_NONE)
            continue;
        add_row(g, host->address, host, 0, false);
        for (uint32_t i = 0; i < host->nmembers; i++)
            add_row(g, host->members[i].address, host, host->members[i].control,
                    true);
    }
    qsort(g->rows, g->nrows, sizeof(*g->rows), by_address);
    return true;
}

static uint64_t print_rows(const struct gm1 *g)
{
    uint64_t print = GM1_PRINT;

    for (uint32_t i = 0; i < g->nrows; i++) {
        const struct gm1_row *row = &g->rows[i];
        const char *name = row->host->reply.name;

        gm1_mix(&print, row->address);
        gm1_mix(&print, (uint64_t)row->gmid << 16 | row->control);
        gm1_mix(&print, row->host->reply.node_type);
        while (*name)
            gm1_mix(&print, (uint8_t)*name++);
    }
    return print;
}

/* The same network keeps its version, as long as nobody has a higher one. */
static void choose_version(struct gm1 *g)
{
    uint64_t print = print_rows(g);
    struct gm1_heard *host;

    if (!g->fresh && print == g->print && g->version != 0 &&
        g->highest <= g->version)
        return;
    g->fresh = false;
    g->print = print;
    if (g->highest == UINT32_MAX) {
        /* Nothing is higher: hosts must forget before they take 1. */
        for (host = g->heard; host; host = host->hh.next)
            host->reset = true;
        g->highest = 0;
    }
    g->version = ++g->highest;
    g->counters.versions++;
}

/* ---- Configs ------------------------------------------------------------- */

static void plan_host(struct gm1 *g, struct gm1_heard *host)
{
    uint16_t gmid = gm1_gmid(g, host->address);

    gm1_cloud_told(host);
    host->failed = false;
    host->next_message = host->acked = 0;
    host->nmessages = 1;
    if (host->reply.option != GM1_OPTION_NO_ROUTES)
        host->nmessages = (g->nrows + GM1_ENTRIES_MAX - 1) / GM1_ENTRIES_MAX;
    host->outdated = host->node != NET_NONE && gmid != 0 &&
                     (host->reset || host->reply.version != g->version ||
                      host->reply.mapper != g->config.host.address ||
                      host->reply.gmid != gmid);
}

static void gm1_configure_start(struct gm1 *g)
{
    struct gm1_heard *host;

    gm1_assign_gmids(g);
    g->unconfigured = 0;
    if (!make_rows(g)) {
        gm1_notice(g, "%u hosts and members are too many", count_rows(g));
        g->dirty = true;
        gm1_fire(g, GM1_EVENT_FAILED);
        return;
    }
    choose_version(g);
    for (host = g->heard; host; host = host->hh.next)
        plan_host(g, host);
    gm1_configure_more(g);
}

static void fill_entry(struct gm1 *g, const struct gm1_heard *to,
                       const struct gm1_row *row, struct gm1_entry *entry)
{
    struct net_route route;

    *entry = (struct gm1_entry){.address = row->address,
                                .gmid = row->gmid,
                                .node_type = row->host->reply.node_type,
                                .control = row->control};
    if (!row->member)
        memcpy(entry->name, row->host->reply.name, GM1_NAME_SIZE);
    if (row->host == to ||
        net_routes_get(g->routes, to->node, row->host->node, &route, 1) == 0 ||
        route.hops > GM1_ROUTE_MAX)
        return;
    entry->route.len = route.hops;
    memcpy(entry->route.byte, route.byte, route.hops);
}

/* The message of a Config talk; 0: there is none. */
static size_t gm1_config_bytes(struct gm1 *g, const struct gm1_talk *talk,
                               void *body, size_t size)
{
    struct gm1_message msg = {
        .subtype = GM1_CONFIG, .port = talk->port, .phase = g->talk_phase};
    struct gm1_entry entries[GM1_ENTRIES_MAX];
    const struct gm1_heard *to = talk->host;
    uint32_t first = talk->first * GM1_ENTRIES_MAX, n = 0;

    msg.config = (struct gm1_config){
        .serial = talk->first,
        .address = to->address,
        .mapper = g->config.host.address,
        .gmid = gm1_gmid(g, to->address),
        .version = g->version,
    };
    msg.config.back.len = to->route.len;
    net_route_reverse(msg.config.back.byte, to->route.byte, to->route.len);
    if (to->reply.option != GM1_OPTION_NO_ROUTES) {
        msg.config.nhosts = (uint16_t)g->nrows;
        while (n < GM1_ENTRIES_MAX && first + n < g->nrows) {
            fill_entry(g, to, &g->rows[first + n], &entries[n]);
            n++;
        }
    }
    g->counters.configs++;
    return gm1_encode_entries(body, size, &msg, entries, n);
}

static bool ask_host(struct gm1 *g, struct gm1_heard *host)
{
    unsigned talking = gm1_talking(g, host);

    if (!host->outdated || host->failed ||
        host->next_message >= host->nmessages)
        return false;
    if (host->reset)
        return talking == 0 && gm1_ask(g, GM1_TALK_RESET, host, 0);
    if (g->config.in_order && talking != 0)
        return false;
    return gm1_ask(g, GM1_TALK_CONFIG, host, host->next_message) &&
           ++host->next_message;
}

static void gm1_configure_more(struct gm1 *g)
{
    struct gm1_heard *host = g->heard;

    while (host && gm1_talking(g, NULL) < g->config.window)
        if (!ask_host(g, host))
            host = host->hh.next;
    if (gm1_talking(g, NULL) == 0)
        gm1_fire(g, GM1_EVENT_CONFIGURED);
}

/* ---- gm1 answers ------------------------------------------------------- */

/* What hosts answer to resets, Configs and Cloud Queries, or do not. */

static void drop_host(struct gm1 *g, struct gm1_heard *host)
{
    for (int i = 0; i < GM1_TALKS; i++)
        if (g->talk[i].host == host)
            g->talk[i].purpose = GM1_TALK_FREE;
    host->failed = true;
    g->dirty = true;
    g->unconfigured++;
}

static void config_acked(struct gm1 *g, struct gm1_heard *host,
                         const struct gm1_reply *reply)
{
    char who[GM_ADDRESS_TEXT];

    host->reply = *reply;
    if (reply->version > g->version) {
        if (reply->version > g->highest)
            g->highest = reply->version;
        gm1_notice(g, "host %s has version %u and refuses %u",
                   gm_address_text(host->address, who), reply->version,
                   g->version);
        drop_host(g, host);
        return;
    }
    if (++host->acked == host->nmessages)
        host->outdated = false;
}

static void ping_answered(struct gm1 *g, const struct gm1_message *msg)
{
    const struct gm1_reply *reply = &msg->reply;

    if (reply->address == g->higher && reply->level == g->higher_level)
        return;
    g->higher = 0;
    gm1_fire(g, GM1_EVENT_WAKE_UP);
}

static void gm1_talk_answered(struct gm1 *g, const struct gm1_talk *talk,
                              const struct gm1_message *msg)
{
    switch (talk->purpose) {
    case GM1_TALK_QUERY:
        if (msg->subtype == GM1_CLOUD_QUERY_REPLY)
            gm1_take_members(talk->host, msg);
        gm1_query_more(g);
        break;
    case GM1_TALK_RESET:
        talk->host->reset = false;
        gm1_configure_more(g);
        break;
    case GM1_TALK_CONFIG:
        if (msg->subtype == GM1_REPLY &&
            msg->reply.address == talk->host->address)
            config_acked(g, talk->host, &msg->reply);
        else
            drop_host(g, talk->host);
        gm1_configure_more(g);
        break;
    case GM1_TALK_PING:
        if (msg->subtype == GM1_REPLY)
            ping_answered(g, msg);
        break;
    case GM1_TALK_FREE:
        break;
    }
}

static void gm1_talk_given_up(struct gm1 *g, const struct gm1_talk *talk)
{
    char who[GM_ADDRESS_TEXT];

    switch (talk->purpose) {
    case GM1_TALK_QUERY:
        gm1_notice(g, "gateway %s does not give rows from %u on",
                   gm_address_text(talk->host->address, who), talk->first);
        g->dirty = true;
        gm1_query_more(g);
        break;
    case GM1_TALK_RESET:
    case GM1_TALK_CONFIG:
        gm1_notice(g, "host %s does not take its configuration",
                   gm_address_text(talk->host->address, who));
        drop_host(g, talk->host);
        gm1_configure_more(g);
        break;
    case GM1_TALK_PING:
        g->higher = 0;
        gm1_fire(g, GM1_EVENT_WAKE_UP);
        break;
    case GM1_TALK_FREE:
        break;
    }
}

/* ---- gm1 talk ---------------------------------------------------------- */

/* Messages to hosts that are sent again until a reply comes: reset, Config,
 * Cloud Query, and a dormant mapper's question. */

static bool is_own(const struct gm1 *g, const struct gm1_heard *host)
{
    return host && host->address == g->config.host.address;
}

/* To the own host side: its reply is there when the call returns. */
static void send_local(struct gm1 *g, const void *body, size_t len)
{
    g->local = true;
    g->own_reply = (struct gm1_message){.subtype = GM1_PROBE};
    hostside_input(g->host, body, len);
    g->local = false;
}

static void reverse(struct gm1_route *back, const struct gm1_route *route)
{
    back->len = route->len;
    net_route_reverse(back->byte, route->byte, route->len);
}

static size_t scout_bytes(struct gm1 *g, const struct gm1_talk *talk,
                          const struct gm1_route *route, void *body,
                          size_t size)
{
    struct gm1_message msg = {
        .subtype = GM1_SCOUT, .port = talk->port, .phase = g->talk_phase};

    reverse(&msg.scout.back, route);
    msg.scout.mapper = g->config.host.address;
    msg.scout.level = g->config.host.level;
    if (talk->purpose == GM1_TALK_RESET) {
        msg.scout.command = GM1_COMMAND_RESET;
        g->counters.resets++;
    }
    g->counters.scouts++;
    return gm1_encode(body, size, &msg);
}

static size_t query_bytes(struct gm1 *g, const struct gm1_talk *talk,
                          void *body, size_t size)
{
    struct gm1_message msg = {
        .subtype = GM1_CLOUD_QUERY, .port = talk->port, .phase = g->talk_phase};
    uint32_t rest = talk->host->reply.nhosts - talk->first;

    msg.query.first = talk->first;
    msg.query.nhosts = rest < GM1_MEMBERS_MAX ? rest : GM1_MEMBERS_MAX;
    g->counters.queries++;
    return gm1_encode(body, size, &msg);
}

static void send_talk(struct gm1 *g, struct gm1_talk *talk)
{
    const struct gm1_route *route =
        talk->host ? &talk->host->route : &g->to_higher;
    uint8_t body[GM1_MESSAGE_MAX];
    size_t len;

    talk->left--;
    talk->next = g->now + g->config.limits.scout_wait;
    if (talk->purpose == GM1_TALK_QUERY)
        len = query_bytes(g, talk, body, sizeof(body));
    else if (talk->purpose == GM1_TALK_CONFIG)
        len = gm1_config_bytes(g, talk, body, sizeof(body));
    else
        len = scout_bytes(g, talk, route, body, sizeof(body));
    if (len == 0)
        return;
    if (is_own(g, talk->host))
        send_local(g, body, len);
    else
        g->ops.send(route->byte, route->len, body, len, g->arg);
}

static bool gm1_ask(struct gm1 *g, enum gm1_purpose purpose,
                    struct gm1_heard *host, uint32_t first)
{
    for (int i = 0; i < GM1_TALKS; i++) {
        struct gm1_talk *talk = &g->talk[i];

        if (talk->purpose != GM1_TALK_FREE)
            continue;
        *talk = (struct gm1_talk){.purpose = purpose,
                                  .host = host,
                                  .port = ++g->talk_port,
                                  .first = first,
                                  .left = g->config.limits.tries,
                                  .next = g->now};
        if (!is_own(g, host))
            send_talk(g, talk);
        return true;
    }
    return false;
}

static void gm1_hush(struct gm1 *g)
{
    for (int i = 0; i < GM1_TALKS; i++)
        g->talk[i].purpose = GM1_TALK_FREE;
}

static unsigned gm1_talking(const struct gm1 *g, const struct gm1_heard *host)
{
    unsigned n = 0;

    for (int i = 0; i < GM1_TALKS; i++)
        n += g->talk[i].purpose != GM1_TALK_FREE &&
             (!host || g->talk[i].host == host);
    return n;
}

static struct gm1_talk *gm1_talk_of(struct gm1 *g,
                                    const struct gm1_message *msg)
{
    if (msg->phase != g->talk_phase)
        return NULL;
    for (int i = 0; i < GM1_TALKS; i++)
        if (g->talk[i].purpose != GM1_TALK_FREE && g->talk[i].port == msg->port)
            return &g->talk[i];
    return NULL;
}

static struct gm1_talk *due(struct gm1 *g)
{
    for (int i = 0; i < GM1_TALKS; i++)
        if (g->talk[i].purpose != GM1_TALK_FREE && g->talk[i].next <= g->now)
            return &g->talk[i];
    return NULL;
}

/* The own host side answers at once or not at all. */
static bool take_local(struct gm1 *g, struct gm1_talk *talk)
{
    struct gm1_message reply;
    struct gm1_talk was;

    if (!is_own(g, talk->host))
        return false;
    send_talk(g, talk);
    was = *talk;
    reply = g->own_reply;
    talk->purpose = GM1_TALK_FREE;
    if (reply.subtype == GM1_REPLY)
        gm1_talk_answered(g, &was, &reply);
    else
        gm1_talk_given_up(g, &was);
    return true;
}

static void gm1_talk_tick(struct gm1 *g)
{
    struct gm1_talk *talk, gone;

    while ((talk = due(g)) != NULL) {
        if (take_local(g, talk))
            continue;
        if (talk->left > 0) {
            send_talk(g, talk);
            continue;
        }
        gone = *talk;
        talk->purpose = GM1_TALK_FREE;
        gm1_talk_given_up(g, &gone);
    }
}

static uint64_t gm1_talk_deadline(const struct gm1 *g)
{
    uint64_t t = GM1_NEVER;

    for (int i = 0; i < GM1_TALKS; i++)
        if (g->talk[i].purpose != GM1_TALK_FREE && g->talk[i].next < t)
            t = g->talk[i].next;
    return t;
}

/* ---- gm1 states -------------------------------------------------------- */

/* The states of a GM-1 mapper and all ways between them. */

static const struct edge {
    enum gm1_state from;
    enum gm1_event event;
    enum gm1_state to;
} edges[] = {
    {GM1_STATE_DORMANT, GM1_EVENT_WAKE_UP, GM1_STATE_EXPLORING},

    {GM1_STATE_EXPLORING, GM1_EVENT_EXPLORED, GM1_STATE_QUERYING},
    {GM1_STATE_EXPLORING, GM1_EVENT_FAILED, GM1_STATE_SLEEPING},
    {GM1_STATE_EXPLORING, GM1_EVENT_MET_HIGHER, GM1_STATE_DORMANT},

    {GM1_STATE_QUERYING, GM1_EVENT_GATHERED, GM1_STATE_CONFIGURING},
    {GM1_STATE_QUERYING, GM1_EVENT_MET_HIGHER, GM1_STATE_DORMANT},

    {GM1_STATE_CONFIGURING, GM1_EVENT_CONFIGURED, GM1_STATE_SLEEPING},
    {GM1_STATE_CONFIGURING, GM1_EVENT_FAILED, GM1_STATE_SLEEPING},
    {GM1_STATE_CONFIGURING, GM1_EVENT_MET_HIGHER, GM1_STATE_DORMANT},

    {GM1_STATE_SLEEPING, GM1_EVENT_VERIFY, GM1_STATE_VERIFYING},
    {GM1_STATE_SLEEPING, GM1_EVENT_EXPLORE, GM1_STATE_EXPLORING},
    {GM1_STATE_SLEEPING, GM1_EVENT_MET_HIGHER, GM1_STATE_DORMANT},

    {GM1_STATE_VERIFYING, GM1_EVENT_UNCHANGED, GM1_STATE_SLEEPING},
    {GM1_STATE_VERIFYING, GM1_EVENT_OUTDATED, GM1_STATE_CONFIGURING},
    {GM1_STATE_VERIFYING, GM1_EVENT_CHANGED, GM1_STATE_EXPLORING},
    {GM1_STATE_VERIFYING, GM1_EVENT_MET_HIGHER, GM1_STATE_DORMANT},
};

enum gm1_state gm1_next_state(enum gm1_state from, enum gm1_event event)
{
    for (unsigned i = 0; i < sizeof(edges) / sizeof(*edges); i++)
        if (edges[i].from == from && edges[i].event == event)
            return edges[i].to;
    return GM1_NSTATES;
}

const char *gm1_state_name(enum gm1_state state)
{
    static const char *const names[GM1_NSTATES] = {
        "dormant",     "exploring", "querying",
        "configuring", "verifying", "sleeping",
    };

    return state < GM1_NSTATES ? names[state] : "?";
}

const char *gm1_event_name(enum gm1_event event)
{
    static const char *const names[GM1_NEVENTS] = {
        "wake-up",  "met-higher", "explored",  "failed",
        "gathered", "configured", "unchanged", "outdated",
        "changed",  "verify",     "explore",
    };

    return event < GM1_NEVENTS ? names[event] : "?";
}

#define MS UINT64_C(1000000)

void gm1_options_default(struct gm1_options *config)
{
    *config = (struct gm1_options){
        .limits = PROBER_LIMITS_DEFAULT,
        .active_sleep = 10000 * MS,
        .dormant_wake = 5000 * MS,
        .window = 16,
    };
    config->limits.max_route = NET_WIRE_ROUTE_MAX;
    config->limits.max_hops = GM1_ROUTE_MAX;
    config->limits.tries = 4; /* and three again */
    config->limits.fixed_timers = true;
    config->limits.window_max = 512;
    config->routes.alternatives = 1;
}

/* ---- the own host side --------------------------------------------------- */

static void host_sends(const uint8_t *route, size_t nroute, const void *body,
                       size_t len, void *arg)
{
    struct gm1 *g = arg;

    if (g->local)
        gm1_decode(&g->own_reply, body, len);
    else
        g->ops.send(route, nroute, body, len, g->arg);
}

static bool outranks_me(const struct gm1 *g, uint32_t level, uint64_t address)
{
    return gm_outranks(level, address, g->config.host.level,
                       g->config.host.address);
}

void gm1_meet(struct gm1 *g, uint64_t mapper, uint32_t level,
              const struct gm1_route *route)
{
    if (!outranks_me(g, level, mapper))
        return;
    /* The one that was followed may be gone: of those heard since the last
     * wake-up it is the highest. */
    if (!g->heard_higher || g->higher == 0 || g->higher == mapper ||
        gm_outranks(level, mapper, g->higher_level, g->higher)) {
        g->higher = mapper;
        g->higher_level = level;
        g->to_higher = *route;
    }
    g->heard_higher = true;
    gm1_fire(g, GM1_EVENT_MET_HIGHER);
}

static void host_scouted(const struct gm1_scout *scout, void *arg)
{
    struct gm1 *g = arg;

    if (!g->local)
        gm1_meet(g, scout->mapper, scout->level, &scout->back);
}

/* It configures itself by a map without a cable: nothing that it sent has come
 * back. */
static bool hears_nothing(const struct gm1 *g)
{
    return g->local && g->net && g->net->ncables == 0;
}

static void host_cleared(void *arg)
{
    struct gm1 *g = arg;

    if (g->ops.cleared && !(g->has_peers && hears_nothing(g)))
        g->ops.cleared(g->arg);
}

static void host_complete(uint32_t version, void *arg)
{
    struct gm1 *g = arg;
    struct hostside_state s;

    if (g->has_peers && hears_nothing(g))
        return;
    hostside_state(g->host, &s);
    g->has_peers = s.nentries > 1;
    if (g->ops.configured)
        g->ops.configured(version, g->arg);
}

static const struct hostside_ops host_ops = {host_sends, host_scouted,
                                             host_cleared, host_complete};

struct gm1 *gm1_new(const struct gm1_options *config, const struct gm1_ops *ops,
                    void *arg, uint64_t now)
{
    struct gm1 *g = calloc(1, sizeof(*g));

    if (!g)
        return NULL;
    g->config = *config;
    if (g->config.limits.window_max > GM1_FLIGHT)
        g->config.limits.window_max = GM1_FLIGHT;
    g->ops = *ops;
    g->arg = arg;
    g->host = hostside_new(&config->host, &host_ops, g);
    g->flight = calloc(GM1_FLIGHT, sizeof(*g->flight));
    if (!g->host || !g->flight) {
        gm1_free(g);
        return NULL;
    }
    g->rng.state = config->seed ^ config->host.address;
    g->phase = (uint32_t)net_rng_next(&g->rng);
    g->talk_phase = (uint32_t)net_rng_next(&g->rng);
    g->now = now;
    g->timer = now + config->start_delay;
    return g;
}

void gm1_free(struct gm1 *g)
{
    if (!g)
        return;
    gm1_search_stop(g);
    gm1_free_hosts(g);
    net_routes_free(g->routes);
    net_free(g->supposed);
    net_free(g->net);
    free(g->rows);
    hostside_free(g->host);
    free(g->flight);
    free(g);
}

void gm1_notice(struct gm1 *g, const char *fmt, ...)
{
    char text[SF_ERRBUF_SIZE];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (g->ops.notice)
        g->ops.notice(text, g->arg);
}

/* ---- states -------------------------------------------------------------- */

static void enter(struct gm1 *g)
{
    switch (g->state) {
    case GM1_STATE_DORMANT:
        g->timer = g->now + g->config.dormant_wake;
        break;
    case GM1_STATE_EXPLORING:
        g->higher = 0;
        gm1_search_explore(g);
        break;
    case GM1_STATE_QUERYING:
        gm1_query_more(g);
        break;
    case GM1_STATE_CONFIGURING:
        gm1_configure_start(g);
        break;
    case GM1_STATE_VERIFYING:
        gm1_search_verify(g);
        break;
    case GM1_STATE_SLEEPING:
        g->timer = g->now + g->config.active_sleep;
        break;
    case GM1_NSTATES:
        break;
    }
}

bool gm1_fire(struct gm1 *g, enum gm1_event event)
{
    enum gm1_state from = g->state, to = gm1_next_state(from, event);

    if (to == GM1_NSTATES)
        return false;
    gm1_hush(g);
    gm1_search_stop(g);
    g->timer = GM1_NEVER;
    g->state = to;
    if (g->ops.moved)
        g->ops.moved(event, from, to, g->arg);
    enter(g);
    return true;
}

/* Dormant: nothing heard of the higher mapper since the last time; ask. */
static void wake_dormant(struct gm1 *g)
{
    g->timer = g->now + g->config.dormant_wake;
    if (g->heard_higher)
        g->heard_higher = false;
    else if (g->higher == 0)
        gm1_fire(g, GM1_EVENT_WAKE_UP);
    else
        gm1_ask(g, GM1_TALK_PING, NULL, 0);
}

/* A map without a cable has nothing to verify, and its cable may be back. */
static bool must_explore(const struct gm1 *g)
{
    return g->dirty || g->config.no_verify || !g->net || g->net->ncables == 0;
}

static void timer_rings(struct gm1 *g)
{
    g->timer = GM1_NEVER;
    if (g->retired)
        return;
    if (g->state == GM1_STATE_DORMANT)
        wake_dormant(g);
    else if (g->state == GM1_STATE_SLEEPING)
        gm1_fire(g, must_explore(g) ? GM1_EVENT_EXPLORE : GM1_EVENT_VERIFY);
}

void gm1_tick(struct gm1 *g, uint64_t now)
{
    if (now > g->now)
        g->now = now;
    gm1_talk_tick(g);
    if (g->timer <= g->now)
        timer_rings(g);
    gm1_search_run(g, true);
}

uint64_t gm1_deadline(const struct gm1 *g)
{
    uint64_t t = gm1_talk_deadline(g), s = gm1_search_deadline(g);

    if (g->timer < t)
        t = g->timer;
    return s < t ? s : t;
}

/* ---- input --------------------------------------------------------------- */

static void take_reply(struct gm1 *g, const struct gm1_message *msg)
{
    struct gm1_talk *talk = gm1_talk_of(g, msg), was;

    if (!talk) {
        if (!gm1_search_reply(g, msg))
            g->counters.dropped_late++;
        return;
    }
    was = *talk;
    talk->purpose = GM1_TALK_FREE;
    gm1_talk_answered(g, &was, msg);
}

void gm1_input(struct gm1 *g, uint64_t now, const void *body, size_t len)
{
    struct gm1_message msg;

    if (now > g->now)
        g->now = now;
    g->counters.received++;
    if (gm1_decode(&msg, body, len) == 0) {
        if (msg.subtype == GM1_PROBE || msg.subtype == GM1_VERIFY)
            gm1_search_back(g, &msg);
        else if (msg.subtype == GM1_SCOUT && gm1_search_own(g, &msg))
            return;
    }
    if (hostside_input(g->host, body, len))
        take_reply(g, &msg);
    gm1_search_run(g, false);
}

/* ---- looking at it ------------------------------------------------------- */

void gm1_status(const struct gm1 *g, struct gm1_status *status)
{
    *status = (struct gm1_status){
        .state = g->state,
        .active =
            g->state == GM1_STATE_DORMANT ? g->higher : g->config.host.address,
        .version = g->version,
        .unconfigured = g->unconfigured,
        .engine =
            g->routes ? net_routes_engine(g->routes) : g->config.routes.engine,
        .unproved = g->unproved.text,
        .beyond = g->beyond.text,
        .counters = g->counters,
    };
    if (!g->net)
        return;
    status->nhosts = g->net->nhosts;
    status->nmembers =
        g->nrows > g->net->nhosts ? g->nrows - g->net->nhosts : 0;
}

const struct hostside *gm1_host_side(const struct gm1 *g)
{
    return g->host;
}

const struct net *gm1_map(const struct gm1 *g)
{
    return g->net;
}
