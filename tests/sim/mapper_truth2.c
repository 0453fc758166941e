/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What should have become of a fabric with GM-2 mappers, and has it?
 */
#include "mapper_world.h"

#include <stdio.h>
#include <stdlib.h>

#include "mapper/gm_address.h"
#include "net/deadlock.h"
#include "net/delta.h"
#include "net/same.h"

/* The highest mapper of the part of the fabric that a host is in. */
static uint32_t should_lead(const struct world *w, const struct net *part)
{
    struct gm2_status best = {0}, s;
    uint32_t node = NET_NONE;

    for (uint32_t i = 0; i < part->nnodes; i++) {
        uint32_t n;

        if (part->nodes[i].kind != NET_HOST)
            continue;
        n = net_find_host(w->net, part->nodes[i].id);
        if (!w->hosts[n].gm2)
            continue;
        gm2_status(w->hosts[n].gm2, &s);
        if (s.level != 0 && (node == NET_NONE ||
                             gm_outranks(s.level, w->net->nodes[n].id,
                                         best.level, w->net->nodes[node].id))) {
            node = n;
            best = s;
        }
    }
    return node;
}

/* Do both hold the same map, not only its version? */
static bool same_map(const struct gm2 *a, const struct gm2 *b)
{
    const struct gm2_map *x = gm2_current_map(a), *y = gm2_current_map(b);

    if (net_fingerprint(x->net) != net_fingerprint(y->net) ||
        x->version.level != y->version.level)
        return false;
    for (uint32_t i = 0; i < x->net->nhosts; i++)
        if (x->hosts[i].level != y->hosts[i].level ||
            x->hosts[i].type != y->hosts[i].type)
            return false;
    return true;
}

static bool agree(struct world *w, const struct net *part, uint32_t leader,
                  bool explain)
{
    struct gm2_status want, s;

    gm2_status(w->hosts[leader].gm2, &want);
    for (uint32_t i = 0; i < part->nnodes; i++) {
        struct world_host *h;

        if (part->nodes[i].kind != NET_HOST)
            continue;
        h = &w->hosts[net_find_host(w->net, part->nodes[i].id)];
        gm2_status(h->gm2, &s);
        if (s.valid && gm2_version_equal(&s.version, &want.version) &&
            same_map(h->gm2, w->hosts[leader].gm2))
            continue;
        if (!explain)
            return false;
        printf("# host %012llx: %s, %u hosts %u crossbars %u cables, "
               "map %012llx/%u %s; parent %012llx; %s\n",
               (unsigned long long)part->nodes[i].id, gm2_state_name(s.state),
               s.nhosts, s.nxbars, s.ncables,
               (unsigned long long)s.version.leader, s.version.counter,
               s.valid ? "valid" : "invalid", (unsigned long long)s.parent,
               h->last);
    }
    return true;
}

static bool part_settled(struct world *w, uint32_t from, bool explain)
{
    struct net *part = world_visible(w, from);
    uint32_t leader = should_lead(w, part);
    struct errbuf why = {""};
    struct gm2_status s;
    bool ok = false;

    if (leader != NET_NONE) {
        gm2_status(w->hosts[leader].gm2, &s);
        ok = s.leader && s.valid && agree(w, part, leader, explain);
        if (ok) {
            const struct gm2_map *map = gm2_current_map(w->hosts[leader].gm2);

            ok = part->nnodes == 1 ? map->net->nhosts == 1
                                   : net_same(part, map->net, &why);
        }
        if (explain)
            printf("# leader should be %012llx (%s%s): %s\n",
                   (unsigned long long)w->net->nodes[leader].id,
                   gm2_state_name(s.state), s.leader ? ", leads" : "",
                   why.text);
    }
    net_free(part);
    return ok || leader == NET_NONE;
}

static bool all_valid(const struct world *w)
{
    struct gm2_status s;

    for (uint32_t i = 0; i < w->net->nnodes; i++) {
        if (!w->hosts[i].gm2 || w->hosts[i].ended)
            continue;
        gm2_status(w->hosts[i].gm2, &s);
        if (!s.valid && s.level != 0)
            return false;
    }
    return true;
}

bool world_gm2_settled(struct world *w)
{
    if (!all_valid(w))
        return false;
    for (uint32_t i = 0; i < w->net->nnodes; i++)
        if (w->hosts[i].gm2 && !w->hosts[i].ended && !part_settled(w, i, false))
            return false;
    return true;
}

static void print_counters(const struct world *w)
{
    struct gm2_status s;

    for (uint32_t i = 0; i < w->net->nnodes; i++) {
        if (!w->hosts[i].gm2)
            continue;
        gm2_status(w->hosts[i].gm2, &s);
        printf("# host %012llx: %s, map of %u hosts, %llu rounds, %llu "
               "probes, last round %.3f s\n",
               (unsigned long long)w->net->nodes[i].id, gm2_state_name(s.state),
               s.nhosts, (unsigned long long)s.counters.rounds,
               (unsigned long long)s.counters.probes,
               (double)s.round_time / 1e9);
    }
}

void world_gm2_explain(struct world *w)
{
    if (w->verbose)
        print_counters(w);
    for (uint32_t i = 0; i < w->net->nnodes; i++)
        if (w->hosts[i].gm2 && !w->hosts[i].ended &&
            !part_settled(w, i, false)) {
            part_settled(w, i, true);
            return;
        }
}

/* ---- routes -------------------------------------------------------------- */

static void add_routes(const struct world_host *h, struct net_cdg *cdg)
{
    const struct net_routes *routes = gm2_current_routes(h->gm2);
    const struct net *net = gm2_current_map(h->gm2)->net;
    struct net_path paths[NET_ALTERNATIVES_DEFAULT];

    for (uint32_t dst = 0; dst < net->nhosts; dst++) {
        unsigned n = net_routes_paths(routes, h->me, dst, paths,
                                      NET_ALTERNATIVES_DEFAULT);

        for (unsigned i = 0; i < n; i++)
            net_cdg_add_path(cdg, &paths[i]);
    }
}

/* All that the hosts of one map have loaded, together; and nobody holds another
 * for one that goes up and down differently. */
static int check_map(const struct world *w, const struct world_host *leader,
                     struct errbuf *why)
{
    const struct gm2_map *map = gm2_current_map(leader->gm2);
    struct net_cdg *cdg = net_cdg_new(map->net);
    bool unlike = false;
    int rc;

    if (!cdg)
        world_die("no memory");
    for (uint32_t i = 0; i < w->net->nnodes; i++) {
        struct gm2_status s;

        if (!w->hosts[i].gm2 || w->hosts[i].ended)
            continue;
        gm2_status(w->hosts[i].gm2, &s);
        if (s.valid && gm2_version_equal(&s.version, &map->version))
            add_routes(&w->hosts[i], cdg);
        unlike |= s.unlike != 0;
    }
    rc = unlike ? errprintf(why, "a host is held for one with other ups")
                : net_cdg_check(cdg, why);
    net_cdg_free(cdg);
    return rc;
}

bool world_gm2_routes_are_safe(struct world *w, struct errbuf *why)
{
    struct gm2_status s;

    for (uint32_t i = 0; i < w->net->nnodes; i++) {
        if (!w->hosts[i].gm2 || w->hosts[i].ended)
            continue;
        gm2_status(w->hosts[i].gm2, &s);
        if (s.leader && check_map(w, &w->hosts[i], why) != 0)
            return false;
    }
    return true;
}
