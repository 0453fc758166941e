/* SPDX-License-Identifier: BSD-3-Clause
 * See same.h.
 */
#include "net/same.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct match {
    const struct net *truth, *found;
    uint32_t *pair; /* of each true node: the found one */
    int *shift;
    uint32_t *back;  /* of each found node: the true one */
    uint32_t *queue; /* true nodes that are paired, cables not yet compared */
    uint32_t nqueue, next;
    struct errbuf *why;
};

static const char *name_of(const struct net *net, uint32_t node)
{
    return net->nodes[node].name[0] ? net->nodes[node].name : "?";
}

static bool cabled(const struct net *net, uint32_t node)
{
    for (unsigned p = 0; p < net->nodes[node].nports; p++)
        if (net->ports[net->nodes[node].first + p].peer != NET_NONE)
            return true;
    return false;
}

/* May these two be the same node at all? */
static bool alike(struct match *m, uint32_t t, uint32_t f)
{
    const struct net_node *a = &m->truth->nodes[t], *b = &m->found->nodes[f];
    const char *name = name_of(m->truth, t);

    if (a->kind != b->kind)
        errprintf(m->why, "%s is a %s, found as a %s", name,
                  a->kind == NET_HOST ? "host" : "crossbar",
                  b->kind == NET_HOST ? "host" : "crossbar");
    else if (a->kind == NET_HOST && a->id != b->id)
        errprintf(m->why, "%s has address %012" PRIx64 ", found %012" PRIx64,
                  name, a->id, b->id);
    else if (a->kind == NET_XBAR && a->has_id && (!b->has_id || a->id != b->id))
        errprintf(m->why, "%s has id %016" PRIx64 ", found %016" PRIx64, name,
                  a->id, b->has_id ? b->id : 0);
    else if (a->kind == NET_XBAR && a->has_id && a->nports != b->nports)
        errprintf(m->why, "%s has %u ports, found %u", name, a->nports,
                  b->nports);
    else
        return true;
    return false;
}

static bool make_pair(struct match *m, uint32_t t, uint32_t f, int shift)
{
    if (m->pair[t] == f && m->shift[t] == shift)
        return true;
    if (m->pair[t] == f) {
        errprintf(m->why, "%s: ports are off by %d and by %d",
                  name_of(m->truth, t), m->shift[t], shift);
        return false;
    }
    if (m->pair[t] != NET_NONE) {
        errprintf(m->why, "%s is in the map twice", name_of(m->truth, t));
        return false;
    }
    if (m->back[f] != NET_NONE) {
        errprintf(m->why, "%s and %s are one node in the map",
                  name_of(m->truth, t), name_of(m->truth, m->back[f]));
        return false;
    }
    if (!alike(m, t, f))
        return false;
    m->pair[t] = f;
    m->shift[t] = shift;
    m->back[f] = t;
    m->queue[m->nqueue++] = t;
    return true;
}

/* Hosts and crossbars with an id: what needs no cable to be told. */
static bool pair_known(struct match *m)
{
    const struct net *truth = m->truth;

    for (uint32_t t = 0; t < truth->nnodes; t++) {
        const struct net_node *n = &truth->nodes[t];
        uint32_t f;

        if ((n->kind == NET_XBAR && !n->has_id) || !cabled(truth, t))
            continue;
        f = n->kind == NET_HOST ? net_find_host(m->found, n->id)
                                : net_find_xbar(m->found, n->id);
        if (f == NET_NONE) {
            errprintf(m->why, "%s is not in the map", name_of(truth, t));
            return false;
        }
        if (!make_pair(m, t, f, 0))
            return false;
    }
    return true;
}

/* Global index of the found port that a true port would be, or NET_NONE. */
static uint32_t found_port(const struct match *m, uint32_t t, unsigned p)
{
    const struct net_node *f = &m->found->nodes[m->pair[t]];
    int at = (int)p + m->shift[t];

    return at < 0 || at >= f->nports ? NET_NONE : f->first + (uint32_t)at;
}

/* Every cable of a true node is in the map, and leads to the same place. */
static bool cables_found(struct match *m, uint32_t t)
{
    const struct net *a = m->truth, *b = m->found;

    for (unsigned p = 0; p < a->nodes[t].nports; p++) {
        uint32_t q = a->ports[a->nodes[t].first + p].peer, fp, fq;

        if (q == NET_NONE)
            continue;
        fp = found_port(m, t, p);
        fq = fp == NET_NONE ? NET_NONE : b->ports[fp].peer;
        if (fq == NET_NONE) {
            errprintf(m->why, "cable %s port %u to %s port %u is missing",
                      name_of(a, t), p, name_of(a, a->ports[q].node),
                      net_port_number(a, q));
            return false;
        }
        if (!make_pair(m, a->ports[q].node, b->ports[fq].node,
                       (int)net_port_number(b, fq) -
                           (int)net_port_number(a, q)))
            return false;
    }
    return true;
}

/* No cable of the found node is more than the truth has. */
static bool cables_true(struct match *m, uint32_t t)
{
    const struct net *a = m->truth, *b = m->found;
    const struct net_node *f = &b->nodes[m->pair[t]];

    for (unsigned fp = 0; fp < f->nports; fp++) {
        int p = (int)fp - m->shift[t];

        if (b->ports[f->first + fp].peer == NET_NONE ||
            (p >= 0 && p < a->nodes[t].nports &&
             a->ports[a->nodes[t].first + (unsigned)p].peer != NET_NONE))
            continue;
        errprintf(m->why, "%s has no cable in port %d, the map shows one",
                  name_of(a, t), p);
        return false;
    }
    return true;
}

/* What is left over on either side. */
static bool nothing_left(struct match *m)
{
    for (uint32_t t = 0; t < m->truth->nnodes; t++)
        if (m->pair[t] == NET_NONE && cabled(m->truth, t)) {
            errprintf(m->why, "%s hangs together with no host",
                      name_of(m->truth, t));
            return false;
        }
    for (uint32_t f = 0; f < m->found->nnodes; f++)
        if (m->back[f] == NET_NONE && cabled(m->found, f)) {
            errprintf(m->why, "the map's %s does not exist",
                      name_of(m->found, f));
            return false;
        }
    return true;
}

static bool run(struct match *m)
{
    if (!pair_known(m))
        return false;
    while (m->next < m->nqueue) {
        uint32_t t = m->queue[m->next++];

        if (!cables_found(m, t) || !cables_true(m, t))
            return false;
    }
    return nothing_left(m);
}

bool net_match(const struct net *truth, const struct net *found, uint32_t *pair,
               int *shift, struct errbuf *why)
{
    struct match m = {.truth = truth,
                      .found = found,
                      .pair = pair,
                      .shift = shift,
                      .why = why};
    bool same = false;

    m.back = malloc((found->nnodes + 1) * sizeof(*m.back));
    m.queue = malloc((truth->nnodes + 1) * sizeof(*m.queue));
    if (m.back && m.queue) {
        memset(pair, 0xff, truth->nnodes * sizeof(*pair));
        memset(m.back, 0xff, found->nnodes * sizeof(*m.back));
        same = run(&m);
    } else {
        errprintf(why, "out of memory");
    }
    free(m.back);
    free(m.queue);
    return same;
}

bool net_same(const struct net *truth, const struct net *found,
              struct errbuf *why)
{
    uint32_t *pair = malloc((truth->nnodes + 1) * sizeof(*pair));
    int *shift = calloc(truth->nnodes + 1, sizeof(*shift));
    bool same = false;

    if (pair && shift)
        same = net_match(truth, found, pair, shift, why);
    else
        errprintf(why, "out of memory");
    free(pair);
    free(shift);
    return same;
}
