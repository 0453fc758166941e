/* SPDX-License-Identifier: BSD-3-Clause
 * Folded Clos nets: see build.h.
 *
 * A crossbar of level i is named by its place below (which subtree: `pod`)
 * and its place in the subtree (which of the crossbars there that reach the
 * same hosts: `rank`).  It meets above the crossbars of its pod's pod whose
 * rank is its own, modulo the number of ranks on its level.
 */
#include "net/build.h"

#include <stdio.h>

/* Products that say how many there are of what. */
struct shape {
    const struct net_clos *clos;
    uint64_t pods[NET_CLOS_LEVELS_MAX + 1];  /* subtrees of a level */
    uint64_t ranks[NET_CLOS_LEVELS_MAX + 1]; /* crossbars of one subtree */
    uint32_t first[NET_CLOS_LEVELS_MAX + 1]; /* first node of a level */
};

static unsigned ports_needed(const struct net_clos *c, unsigned level)
{
    unsigned need = c->down[level - 1] * c->parallel[level - 1];

    if (level < c->levels)
        need += c->up[level] * c->parallel[level];
    return need;
}

static int check_level(const struct net_clos *c, unsigned i, struct errbuf *err)
{
    unsigned most = SF_NET_XBAR_PORTS_MAX;

    if (!c->down[i] || !c->up[i] || !c->parallel[i] || c->down[i] > most ||
        c->up[i] > most || c->parallel[i] > most)
        return errprintf(err, "level %u: a figure is not in 1..%u", i + 1,
                         most);
    return 0;
}

static int check_clos(const struct net_clos *c, struct errbuf *err)
{
    unsigned most = c->ports ? c->ports : SF_NET_XBAR_PORTS_MAX;

    if (c->levels < 1 || c->levels > NET_CLOS_LEVELS_MAX)
        return errprintf(err, "a Clos has 1..%d levels", NET_CLOS_LEVELS_MAX);
    for (unsigned i = 0; i < c->levels; i++)
        if (check_level(c, i, err) < 0)
            return -1;
    if (c->up[0] != 1 || c->parallel[0] != 1)
        return errprintf(err, "a host has one cable");
    for (unsigned l = 1; l <= c->levels; l++)
        if (ports_needed(c, l) > most)
            return errprintf(err, "level %u needs %u ports of %u", l,
                             ports_needed(c, l), most);
    return 0;
}

static int measure(struct shape *s, const struct net_clos *c,
                   struct errbuf *err)
{
    uint64_t total = 0;

    s->clos = c;
    s->pods[c->levels] = 1;
    for (unsigned l = c->levels; l > 0; l--)
        s->pods[l - 1] = s->pods[l] * c->down[l - 1];
    s->ranks[0] = 1;
    for (unsigned l = 1; l <= c->levels; l++)
        s->ranks[l] = s->ranks[l - 1] * c->up[l - 1];
    for (unsigned l = 0; l <= c->levels; l++) {
        if (s->pods[l] > SF_NET_NODES_MAX || s->ranks[l] > SF_NET_NODES_MAX)
            return errprintf(err, "more than %u nodes", SF_NET_NODES_MAX);
        s->first[l] = (uint32_t)total;
        total += s->pods[l] * s->ranks[l];
        if (total > SF_NET_NODES_MAX)
            return errprintf(err, "more than %u nodes", SF_NET_NODES_MAX);
    }
    return 0;
}

static bool add_level(struct net *net, const struct shape *s, unsigned level)
{
    const struct net_clos *c = s->clos;
    uint64_t n = s->pods[level] * s->ranks[level];
    unsigned ports = level ? ports_needed(c, level) : 1;
    char name[32];
    uint32_t at;

    if (level && c->ports)
        ports = c->ports;
    for (uint32_t i = 0; i < n; i++) {
        if (level == 0) {
            snprintf(name, sizeof(name), "h%u", i);
            at = net_add_host(net, name, NET_BUILD_HOST_ID + i);
        } else {
            snprintf(name, sizeof(name), "s%u.%u", level, i);
            at =
                net_add_xbar(net, name, ports, NET_BUILD_XBAR_ID + net->nxbars);
        }
        if (at == NET_NONE)
            return false;
    }
    return true;
}

/* The cables of one node to the level above it. */
static bool cable_up(struct net *net, const struct shape *s, unsigned level,
                     uint32_t pod, uint32_t rank)
{
    const struct net_clos *c = s->clos;
    uint32_t me = s->first[level] + pod * (uint32_t)s->ranks[level] + rank;
    uint32_t above = pod / c->down[level], child = pod % c->down[level];
    unsigned par = c->parallel[level];
    unsigned up0 = level ? c->down[level - 1] * c->parallel[level - 1] : 0;

    for (unsigned u = 0; u < c->up[level]; u++) {
        uint32_t their = rank * c->up[level] + u;
        uint32_t peer =
            s->first[level + 1] + above * (uint32_t)s->ranks[level + 1] + their;

        for (unsigned k = 0; k < par; k++)
            if (!net_connect(net, me, up0 + u * par + k, peer, child * par + k))
                return false;
    }
    return true;
}

static bool fill(struct net *net, const struct shape *s)
{
    for (unsigned l = 0; l <= s->clos->levels; l++)
        if (!add_level(net, s, l))
            return false;
    for (unsigned l = 0; l < s->clos->levels; l++)
        for (uint32_t pod = 0; pod < s->pods[l]; pod++)
            for (uint32_t rank = 0; rank < s->ranks[l]; rank++)
                if (!cable_up(net, s, l, pod, rank))
                    return false;
    return true;
}

struct net *net_build_clos(const struct net_clos *clos, struct errbuf *err)
{
    struct shape s;
    struct net *net;

    if (check_clos(clos, err) < 0 || measure(&s, clos, err) < 0)
        return NULL;
    net = net_new();
    if (!net || !fill(net, &s)) {
        errprintf(err, "out of memory");
        net_free(net);
        return NULL;
    }
    return net;
}
