/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of an exploration: what was found becomes a map with a version.
 */
#include <stdio.h>

#include "mapper/gm2_priv.h"
#include "mapper/gm_address.h"
#include "net/align.h"
#include "net/same.h"

/* Board ids of --extra-hosts: locally administered ones. */
#define EXTRA_ADDRESS UINT64_C(0x02ff00000000)

/* What a host answered just now. */
static const struct probe_host *answer_of(const struct gm2 *m, uint64_t address)
{
    uint32_t node;

    if (m->x)
        return explore_host(m->x, address);
    node =
        m->v && m->guess.net ? net_find_host(m->guess.net, address) : NET_NONE;
    return node == NET_NONE ? NULL : verify_host(m->v, node);
}

static void host_of(uint64_t address, struct gm2_host *host, void *arg)
{
    const struct gm2 *m = arg;
    const struct probe_host *known = answer_of(m, address);
    uint32_t old = m->map ? gm2_map_host(m->map, address) : NET_NONE;

    if (address == m->config.address)
        *host = (struct gm2_host){m->config.level, m->config.host_type};
    else if (known)
        *host = (struct gm2_host){known->level, (uint8_t)known->type};
    else if (old != NET_NONE)
        *host = m->map->hosts[old];
}

static struct net *found(struct gm2 *m)
{
    struct errbuf err = {""};
    const char *doubt;

    if (explore_failed(m->x, &err)) {
        gm2_notice(m, "exploring failed: %s", err.text);
        return NULL;
    }
    for (uint32_t i = 0; (doubt = explore_doubt(m->x, i)) != NULL; i++)
        gm2_notice(m, "%s", doubt);
    return explore_map(m->x);
}

static void add_extra_hosts(const struct gm2 *m, struct net *net)
{
    for (uint32_t i = 0; i < m->config.extra_hosts; i++)
        if (net_add_host(net, "", EXTRA_ADDRESS + i) == NET_NONE)
            break;
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

    /* Whoever is higher was met when it answered; if not, look again. */
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

    m->twins = 0;
    snprintf(text, sizeof(text),
             "another board has the id of this one, %s: it cannot lead",
             gm_address_text(m->config.address, who));
    gm2_end(m, text);
}

/* Crossbars where they stood in the map before, so that the two differ only
 * where the fabric does. */
static struct gm2_map *make_alike(struct gm2 *m, const struct net *net)
{
    const struct gm2_map *old = m->map ? m->map : m->supposed;
    struct net *alike =
        old && m->config.map_deltas ? net_align_copy(old->net, net) : NULL;
    struct gm2_map *map = make_map(m, alike ? alike : net);

    net_free(alike);
    return map;
}

/* Does the new map look as if it, or the one before, had come of lost probes?
 * The same again: nothing was wrong with it.  More than before: it had missed
 * something (or somebody has plugged something in; one map later that is
 * known).  Less than before, or another: that one was right in its time.  Who
 * learns no timers asks no silent port again, so nothing speaks against it. */
static bool looks_doubtful(const struct gm2 *m, const struct net *net)
{
    const struct net *old = m->map ? m->map->net : NULL;

    return m->config.limits.fixed_timers ||
           (old && (net->ncables > old->ncables || net_same(old, net, NULL)));
}

/* True: it is the end. */
static bool met_twin(struct gm2 *m)
{
    if (++m->twins < GM_TWIN_SEARCHES) {
        gm2_notice(m, "the id of this board is met elsewhere: looking again");
        return false;
    }
    end_as_twin(m);
    return true;
}

bool gm2_take_net(struct gm2 *m, struct net *net)
{
    struct gm2_map *map;

    if (has_twin(m, net))
        return met_twin(m);
    m->twins = 0;
    add_extra_hosts(m, net);
    map = make_alike(m, net);
    if (!map)
        return false;
    gm2_search_stop(m);
    m->doubtful = looks_doubtful(m, map->net);
    m->counters.maps++;
    if (gm2_use_map(m, map))
        gm2_fire(m, GM2_EVENT_EXPLORED);
    else if (m->state == GM2_STATE_MAPPING) /* else a user error ended it */
        gm2_fire(m, GM2_EVENT_EXPLORE_FAILED);
    return true;
}

void gm2_explored(struct gm2 *m)
{
    struct net *net = found(m);
    bool taken = net && gm2_take_net(m, net);

    net_free(net);
    if (taken)
        return;
    gm2_search_stop(m);
    gm2_fire(m, GM2_EVENT_EXPLORE_FAILED);
}
