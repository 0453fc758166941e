/* SPDX-License-Identifier: BSD-3-Clause
 * See diff.h.
 */
#include "net/diff.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct diff {
    const struct net *want, *got;
    uint32_t *pair; /* per wanted node: the found one */
    uint32_t *back; /* per found node: the wanted one */
    int *shift;     /* per wanted node: found port minus wanted port */
    net_diff_f *tell;
    void *arg;
    int count;
};

static const char *const names[] = {
    "host missing",  "unknown host",  "crossbar missing", "unknown crossbar",
    "cable missing", "unknown cable", "host moved"};

const char *net_difference_name(enum net_difference kind)
{
    return names[kind];
}

static void say(struct diff *d, enum net_difference kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void say(struct diff *d, enum net_difference kind, const char *fmt, ...)
{
    char text[4 * SF_NET_NAME_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    d->count++;
    if (d->tell)
        d->tell(d->arg, kind, text);
}

/* ---- pairing --------------------------------------------------------------
 */

static bool anonymous(const struct diff *d, uint32_t w, uint32_t g)
{
    return !d->want->nodes[w].has_id || !d->got->nodes[g].has_id;
}

static void make_pair(struct diff *d, uint32_t w, uint32_t g, int shift)
{
    d->pair[w] = g;
    d->back[g] = w;
    d->shift[w] = shift;
}

static void pair_known(struct diff *d)
{
    for (uint32_t w = 0; w < d->want->nnodes; w++) {
        const struct net_node *n = &d->want->nodes[w];
        uint32_t g = n->kind == NET_HOST ? net_find_host(d->got, n->id)
                     : n->has_id         ? net_find_xbar(d->got, n->id)
                                         : NET_NONE;

        if (g != NET_NONE && d->back[g] == NET_NONE)
            make_pair(d, w, g, 0);
    }
}

struct vote {
    uint32_t g;
    int shift;
    unsigned votes;
};

/* What the neighbours of a wanted crossbar say it is. */
static struct vote elect(const struct diff *d, uint32_t w)
{
    const struct net_node *n = &d->want->nodes[w];
    struct vote v[SF_NET_XBAR_PORTS_MAX], best = {NET_NONE, 0, 0};
    unsigned nv = 0;

    for (unsigned p = 0; p < n->nports; p++) {
        uint32_t to = net_peer_node(d->want, w, p), at, g;
        unsigned i = 0;
        int port, shift;

        if (to == NET_NONE || d->pair[to] == NET_NONE)
            continue;
        at = d->pair[to];
        port = (int)net_peer_port(d->want, w, p) + d->shift[to];
        g = port < 0 ? NET_NONE : net_peer_node(d->got, at, (unsigned)port);
        if (g == NET_NONE || net_is_host(d->got, g) || d->back[g] != NET_NONE)
            continue;
        shift = (int)net_peer_port(d->got, at, (unsigned)port) - (int)p;
        while (i < nv && (v[i].g != g || v[i].shift != shift))
            i++;
        if (i == nv)
            v[nv++] = (struct vote){g, shift, 0};
        if (++v[i].votes > best.votes)
            best = v[i];
    }
    return best;
}

/* Crossbars whose neighbours agree most are paired first, round by round:
 * from half of the cables on, then with what there is. */
static void pair_rest(struct diff *d)
{
    bool any;

    do {
        any = false;
        for (int weak = 0; weak < 2 && !any; weak++)
            for (uint32_t w = 0; w < d->want->nnodes; w++) {
                struct vote v;

                if (net_is_host(d->want, w) || d->pair[w] != NET_NONE)
                    continue;
                v = elect(d, w);
                if (v.g == NET_NONE || (!weak && v.votes < 2) ||
                    !anonymous(d, w, v.g))
                    continue;
                make_pair(d, w, v.g, v.shift);
                any = true;
            }
    } while (any);
}

/* ---- telling --------------------------------------------------------------
 */

static bool has_cable(const struct net *net, uint32_t n)
{
    for (unsigned p = 0; p < net->nodes[n].nports; p++)
        if (net_peer_node(net, n, p) != NET_NONE)
            return true;
    return false;
}

static void tell_nodes(struct diff *d)
{
    char buf[40];

    for (uint32_t w = 0; w < d->want->nnodes; w++)
        if (has_cable(d->want, w) &&
            (d->pair[w] == NET_NONE || !has_cable(d->got, d->pair[w])))
            say(d,
                net_is_host(d->want, w) ? NET_DIFF_HOST_MISSING
                                        : NET_DIFF_XBAR_MISSING,
                "%s", net_name_of(d->want, w, buf));
    for (uint32_t g = 0; g < d->got->nnodes; g++)
        if (has_cable(d->got, g) && d->back[g] == NET_NONE)
            say(d,
                net_is_host(d->got, g) ? NET_DIFF_HOST_UNKNOWN
                                       : NET_DIFF_XBAR_UNKNOWN,
                "%s", net_name_of(d->got, g, buf));
}

/* The found port where a wanted one should be; NET_NONE: node not there. */
static uint32_t found_port(const struct diff *d, uint32_t port)
{
    uint32_t w = d->want->ports[port].node, g = d->pair[w];
    int at = (int)net_port_number(d->want, port) + d->shift[w];

    if (g == NET_NONE || at < 0 || at >= d->got->nodes[g].nports)
        return NET_NONE;
    return d->got->nodes[g].first + (uint32_t)at;
}

static void tell_cable(struct diff *d, enum net_difference kind,
                       const struct net *net, uint32_t p, uint32_t q)
{
    char a[40], b[40];

    say(d, kind, "%s port %u to %s port %u",
        net_name_of(net, net->ports[p].node, a), net_port_number(net, p),
        net_name_of(net, net->ports[q].node, b), net_port_number(net, q));
}

/* A host whose one cable is somewhere else. */
static bool host_moved(struct diff *d, uint32_t port, uint32_t peer)
{
    uint32_t w = d->want->ports[port].node, g = d->pair[w], at;
    char a[40], b[40], c[40];

    if (!net_is_host(d->want, w) || g == NET_NONE)
        return false;
    at = net_peer_node(d->got, g, 0);
    if (at == NET_NONE)
        return false;
    say(d, NET_DIFF_HOST_MOVED, "%s from %s port %u to %s port %u",
        net_name_of(d->want, w, a),
        net_name_of(d->want, d->want->ports[peer].node, b),
        net_port_number(d->want, peer),
        d->back[at] == NET_NONE ? net_name_of(d->got, at, c)
                                : net_name_of(d->want, d->back[at], c),
        (unsigned)((int)net_peer_port(d->got, g, 0) -
                   (d->back[at] == NET_NONE ? 0 : d->shift[d->back[at]])));
    return true;
}

static void tell_missing(struct diff *d)
{
    const struct net *net = d->want;

    for (uint32_t p = 0; p < net->nports; p++) {
        uint32_t q = net->ports[p].peer, fp, fq;

        if (q == NET_NONE || q < p || d->pair[net->ports[p].node] == NET_NONE ||
            d->pair[net->ports[q].node] == NET_NONE)
            continue;
        fp = found_port(d, p);
        fq = found_port(d, q);
        if (fp != NET_NONE && fq != NET_NONE && d->got->ports[fp].peer == fq)
            continue;
        if (!host_moved(d, p, q) && !host_moved(d, q, p))
            tell_cable(d, NET_DIFF_CABLE_MISSING, net, p, q);
    }
}

/* The wanted port that a found one is; NET_NONE: none. */
static uint32_t wanted_port(const struct diff *d, uint32_t port)
{
    uint32_t g = d->got->ports[port].node, w = d->back[g];
    int at;

    if (w == NET_NONE)
        return NET_NONE;
    at = (int)net_port_number(d->got, port) - d->shift[w];
    if (at < 0 || at >= d->want->nodes[w].nports)
        return NET_NONE;
    return d->want->nodes[w].first + (uint32_t)at;
}

static void tell_unknown(struct diff *d)
{
    const struct net *net = d->got;

    for (uint32_t p = 0; p < net->nports; p++) {
        uint32_t q = net->ports[p].peer, wp, wq;

        if (q == NET_NONE || q < p || d->back[net->ports[p].node] == NET_NONE ||
            d->back[net->ports[q].node] == NET_NONE ||
            net_is_host(net, net->ports[p].node) ||
            net_is_host(net, net->ports[q].node))
            continue; /* a host's cable was told as missing or moved */
        wp = wanted_port(d, p);
        wq = wanted_port(d, q);
        if (wp == NET_NONE || wq == NET_NONE || d->want->ports[wp].peer != wq)
            tell_cable(d, NET_DIFF_CABLE_UNKNOWN,
                       wp != NET_NONE && wq != NET_NONE ? d->want : net,
                       wp != NET_NONE && wq != NET_NONE ? wp : p,
                       wp != NET_NONE && wq != NET_NONE ? wq : q);
    }
}

int net_diff(const struct net *expected, const struct net *found,
             net_diff_f *tell, void *arg)
{
    struct diff d = {.want = expected, .got = found, .tell = tell, .arg = arg};

    d.pair = malloc((expected->nnodes + 1) * sizeof(*d.pair));
    d.back = malloc((found->nnodes + 1) * sizeof(*d.back));
    d.shift = calloc(expected->nnodes + 1, sizeof(*d.shift));
    if (d.pair && d.back && d.shift) {
        memset(d.pair, 0xff, expected->nnodes * sizeof(*d.pair));
        memset(d.back, 0xff, found->nnodes * sizeof(*d.back));
        pair_known(&d);
        pair_rest(&d);
        tell_nodes(&d);
        tell_missing(&d);
        tell_unknown(&d);
    } else {
        d.count = -1;
    }
    free(d.pair);
    free(d.back);
    free(d.shift);
    return d.count;
}
