/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What should have become of a fabric with GM-1 mappers, and has it?
 */
#include "mapper_world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mapper/gm_address.h"
#include "net/same.h"

static const struct hostside *side_of(const struct world_host *h)
{
    return h->gm1 ? gm1_host_side(h->gm1) : h->side;
}

static struct world_host *host_in(struct world *w, const struct net *part,
                                  uint32_t node)
{
    if (part->nodes[node].kind != NET_HOST)
        return NULL;
    return &w->hosts[net_find_host(w->net, part->nodes[node].id)];
}

/* The highest mapper of a part of the fabric; NULL: it has none. */
static struct world_host *should_lead(struct world *w, const struct net *part)
{
    struct world_host *best = NULL;

    for (uint32_t i = 0; i < part->nnodes; i++) {
        struct world_host *h = host_in(w, part, i);

        if (h && h->gm1 &&
            (!best || gm_outranks(h->level, w->net->nodes[h->node].id,
                                  best->level, w->net->nodes[best->node].id)))
            best = h;
    }
    return best;
}

bool world_gm1_is_awake(const struct world *w, uint32_t node)
{
    struct gm1_status s;

    if (!w->hosts[node].gm1)
        return false;
    gm1_status(w->hosts[node].gm1, &s);
    return s.state != GM1_STATE_DORMANT;
}

uint32_t world_gm1_highest(struct world *w, uint32_t from)
{
    struct net *part = world_visible(w, from);
    const struct world_host *best = should_lead(w, part);

    net_free(part);
    return best ? best->node : NET_NONE;
}

/* Does this host follow the leader, and have all that it said? */
static bool follows(const struct world *w, const struct world_host *h,
                    const struct world_host *leader)
{
    uint64_t who = w->net->nodes[leader->node].id;
    struct hostside_state side;
    struct gm1_status s;

    if (h != leader && world_gm1_is_awake(w, h->node))
        return false;
    gm1_status(leader->gm1, &s);
    hostside_state(side_of(h), &side);
    return side.complete && side.mapper == who && side.version == s.version &&
           side.gmid != 0 &&
           side.gmid == gm1_gmid(leader->gm1, w->net->nodes[h->node].id);
}

static bool leader_rests(const struct world_host *leader)
{
    struct gm1_status s;

    gm1_status(leader->gm1, &s);
    return (s.state == GM1_STATE_SLEEPING || s.state == GM1_STATE_VERIFYING) &&
           s.unconfigured == 0 && gm1_map(leader->gm1);
}

static bool part_settled(struct world *w, const struct net *part,
                         struct errbuf *why)
{
    struct world_host *leader = should_lead(w, part);

    if (!leader)
        return true;
    errprintf(why, "%s should lead and rest", w->net->nodes[leader->node].name);
    if (!leader_rests(leader))
        return false;
    for (uint32_t i = 0; i < part->nnodes; i++) {
        struct world_host *h = host_in(w, part, i);

        errprintf(why, "%s has not what %s says", part->nodes[i].name,
                  w->net->nodes[leader->node].name);
        if (h && !follows(w, h, leader))
            return false;
    }
    if (part->nnodes == 1)
        return gm1_map(leader->gm1)->nhosts == 1;
    return net_same(part, gm1_map(leader->gm1), why);
}

/* The messages of GM-1 have no room for a crossbar's id. */
static void forget_ids(struct net *part)
{
    for (uint32_t i = 0; i < part->nnodes; i++)
        if (part->nodes[i].kind == NET_XBAR)
            part->nodes[i].has_id = false;
}

static bool settled(struct world *w, struct errbuf *why)
{
    bool *seen = calloc(w->net->nnodes, sizeof(*seen)), ok = seen != NULL;

    for (uint32_t i = 0; ok && i < w->net->nnodes; i++) {
        struct net *part;

        if (seen[i] || w->net->nodes[i].kind != NET_HOST ||
            !world_has_host(w, i))
            continue;
        part = world_visible(w, i);
        for (uint32_t k = 0; k < part->nnodes; k++) {
            const struct world_host *h = host_in(w, part, k);

            if (h)
                seen[h->node] = true;
        }
        forget_ids(part);
        ok = part_settled(w, part, why);
        net_free(part);
    }
    free(seen);
    return ok;
}

bool world_gm1_settled(struct world *w)
{
    struct errbuf why;

    return settled(w, &why);
}

void world_gm1_explain(struct world *w)
{
    struct errbuf why = {""};

    if (settled(w, &why))
        return;
    printf("# %s\n", why.text);
    for (uint32_t i = 0; i < w->net->nnodes; i++) {
        const struct world_host *h = &w->hosts[i];
        struct hostside_state side;
        struct gm1_status s = {.state = GM1_NSTATES};

        if (h->kind == WORLD_NOBODY || h->kind == WORLD_GM2)
            continue;
        if (h->gm1)
            gm1_status(h->gm1, &s);
        hostside_state(side_of(h), &side);
        printf("# %s %012" PRIx64 ": level %u, %s, map version %u of %u hosts;"
               " has version %u of %012" PRIx64 ", gmID %u, %u entries%s; %s\n",
               w->net->nodes[i].name, w->net->nodes[i].id, h->level,
               h->gm1 ? gm1_state_name(s.state) : "no mapper", s.version,
               s.nhosts, side.version, side.mapper, side.gmid, side.nentries,
               side.complete ? "" : " so far", h->last);
    }
}

/* ---- routes -------------------------------------------------------------- */

struct walk {
    const struct world *w;
    uint32_t from;
    bool good;
    struct errbuf *why;
};

static void follow(const struct gm1_entry *entry, void *arg)
{
    struct walk *walk = arg;
    const struct net *net = walk->w->net;
    struct net_route route = {.hops = (uint8_t)entry->route.len};
    uint32_t to = net_find_host(net, entry->address);

    memcpy(route.byte, entry->route.byte, entry->route.len);
    if (to == walk->from
            ? entry->route.len == 0
            : net_route_follow(net, walk->from, &route, NULL) == to)
        return;
    walk->good = false;
    errprintf(walk->why, "the route of %s to %012" PRIx64 " leads elsewhere",
              net->nodes[walk->from].name, entry->address);
}

bool world_gm1_routes_lead(struct world *w, struct errbuf *why)
{
    struct walk walk = {.w = w, .good = true, .why = why};

    for (uint32_t i = 0; i < w->net->nnodes; i++) {
        const struct world_host *h = &w->hosts[i];
        struct net *part;

        if (h->kind != WORLD_GM1 && h->kind != WORLD_HOST)
            continue;
        part = world_visible(w, i);
        walk.from = i;
        if (should_lead(w, part))
            hostside_entries(side_of(h), follow, &walk);
        net_free(part);
    }
    return walk.good;
}
