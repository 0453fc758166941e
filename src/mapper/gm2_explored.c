/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of an exploration: what was found becomes a map with a version.
 */
#include <stdio.h>

#include "mapper/gm2_priv.h"
#include "mapper/gm_address.h"
#include "net/build.h"

/* Board ids of --extra-hosts: locally administered ones. */
#define EXTRA_ADDRESS UINT64_C(0x02ff00000000)

static void host_of(uint64_t address, struct gm2_host *host, void *arg)
{
    const struct gm2 *m = arg;
    const struct probe_host *known = NULL;
    uint32_t old = m->map ? gm2_map_host(m->map, address) : NET_NONE;

    if (address == m->config.address) {
        *host = (struct gm2_host){m->config.level, m->config.host_type};
        return;
    }
    if (m->x)
        known = explore_host(m->x, address);
    if (known)
        *host = (struct gm2_host){known->level, (uint8_t)known->type};
    else if (old != NET_NONE)
        *host = m->map->hosts[old];
}

/* The old map without what is lost.  NULL: it takes more than that. */
static struct net *patched(struct gm2 *m)
{
    const struct verify_change *c;
    struct net *net, *left;
    uint32_t i = 0, me;

    if (verify_failed(m->v) || !verify_change(m->v, 0))
        return NULL;
    net = net_copy(m->map->net);
    while (net && (c = verify_change(m->v, i++)) != NULL) {
        if (c->what == VERIFY_LINK_LOST) {
            net_disconnect(net, c->node, c->port);
        } else if (c->what == VERIFY_HOST_LOST) {
            net_disconnect_all(net, c->node);
        } else {
            net_free(net);
            net = NULL;
        }
    }
    left = net ? net_reachable(net, m->me, &me) : NULL;
    net_free(net);
    return left;
}

static struct net *found(struct gm2 *m)
{
    struct errbuf err = {""};
    const char *doubt;
    struct net *net;

    if (m->incremental)
        return patched(m);
    if (explore_failed(m->x, &err)) {
        gm2_notice(m, "exploring failed: %s", err.text);
        return NULL;
    }
    for (uint32_t i = 0; (doubt = explore_doubt(m->x, i)) != NULL; i++)
        gm2_notice(m, "%s", doubt);
    net = explore_map(m->x);
    for (uint32_t i = 0; net && i < m->config.extra_hosts; i++)
        if (net_add_host(net, "", EXTRA_ADDRESS + i) == NET_NONE)
            break;
    return net;
}

static struct gm2_version next_version(struct gm2 *m)
{
    if (++m->counter == 0)
        m->counter = 1;
    return (struct gm2_version){m->config.address, m->config.level, m->counter};
}

static struct gm2_map *make_map(struct gm2 *m, const struct net *net)
{
    const struct gm2_version version = next_version(m);
    struct gm2_map *map = gm2_map_new(net, &version, host_of, m);

    /* A higher mapper answered but could not be remembered: look again. */
    if (!map || map->net->nodes[0].id == m->config.address)
        return map;
    gm2_map_free(map);
    return NULL;
}

/* Two boards of one id cannot both lead, and nobody could tell their maps
 * apart. */
static bool has_twin(const struct gm2 *m, const struct net *net)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < net->nnodes; i++)
        n += net->nodes[i].kind == NET_HOST &&
             net->nodes[i].id == m->config.address;
    return n > 1;
}

static void end_as_twin(struct gm2 *m)
{
    char text[100], who[GM_ADDRESS_TEXT];

    snprintf(text, sizeof(text),
             "another board has the id of this one, %s: it cannot lead",
             gm_address_text(m->config.address, who));
    gm2_end(m, text);
}

void gm2_explored(struct gm2 *m)
{
    struct net *net = found(m);
    bool was_incremental = m->incremental, twin = net && has_twin(m, net);
    struct gm2_map *map = net && !twin ? make_map(m, net) : NULL;

    net_free(net);
    if (twin) {
        end_as_twin(m);
        return;
    }
    gm2_search_stop(m);
    if (!map && was_incremental) {
        m->full_next = true;
        gm2_search_start(m);
        return;
    }
    if (map) {
        m->counters.maps++;
        if (gm2_use_map(m, map)) {
            gm2_fire(m, GM2_EVENT_EXPLORED);
            return;
        }
        if (m->state != GM2_STATE_MAPPING)
            return; /* a user error ended it */
    }
    gm2_fire(m, GM2_EVENT_EXPLORE_FAILED);
}
