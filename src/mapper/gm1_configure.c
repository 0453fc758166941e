/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Configuration: the rest of large clouds is asked for, gmIDs are given, a
 * version is chosen, and every host with another one gets the rows.
 */
#include <stdlib.h>
#include <string.h>

#include "mapper/gm1_priv.h"

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

void gm1_query_more(struct gm1 *g)
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

void gm1_configure_start(struct gm1 *g)
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

size_t gm1_config_bytes(struct gm1 *g, const struct gm1_talk *talk, void *body,
                        size_t size)
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

void gm1_configure_more(struct gm1 *g)
{
    struct gm1_heard *host = g->heard;

    while (host && gm1_talking(g, NULL) < g->config.window)
        if (!ask_host(g, host))
            host = host->hh.next;
    if (gm1_talking(g, NULL) == 0)
        gm1_fire(g, GM1_EVENT_CONFIGURED);
}
