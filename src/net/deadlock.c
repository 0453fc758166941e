/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Is there a cycle?  See deadlock.h.
 */
#include "net/deadlock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "net/pairs.h"
#include "net/route_impl.h"

/* ---- who waits for what ------------------------------------------------ */

struct net_cdg *net_cdg_new(const struct net *net)
{
    struct net_cdg *cdg = calloc(1, sizeof(*cdg));
    unsigned most = 1;

    if (!cdg)
        return NULL;
    for (uint32_t n = 0; n < net->nnodes; n++)
        if (net->nodes[n].nports > most)
            most = net->nodes[n].nports;
    cdg->net = net;
    cdg->words = (most + 63) / 64;
    cdg->bits =
        calloc((size_t)net->nports * cdg->words + 1, sizeof(*cdg->bits));
    if (!cdg->bits) {
        free(cdg);
        return NULL;
    }
    return cdg;
}

void net_cdg_free(struct net_cdg *cdg)
{
    if (!cdg)
        return;
    free(cdg->bits);
    free(cdg);
}

static void depend(struct net_cdg *cdg, uint32_t channel, unsigned out)
{
    cdg->bits[(size_t)channel * cdg->words + out / 64] |= 1ULL << out % 64;
}

void net_cdg_add_path(struct net_cdg *cdg, const struct net_path *path)
{
    for (unsigned i = 0; i < path->hops; i++)
        depend(cdg, path->port[i],
               net_port_number(cdg->net, path->port[i + 1]));
}

static const struct net_edge *edge_from(const struct net_routes *r,
                                        uint32_t leaf, unsigned column,
                                        uint32_t x)
{
    unsigned step = net_tree_step(r, leaf, column, x);

    return step == NET_NO_EDGE ? NULL : net_edge_at(r, x, step);
}

/* The first two cables of a tree's way from x. */
static void add_place(struct net_cdg *cdg, const struct net_routes *r,
                      uint32_t leaf, unsigned column, uint32_t x)
{
    const struct net_edge *e = edge_from(r, leaf, column, x), *then;

    then = e ? edge_from(r, leaf, column, e->to) : NULL;
    if (then)
        depend(cdg, net_edge_port(r, x, e), then->port);
}

/* From each crossbar: together they are all pairs that any route along the
 * tree has.  Cables of hosts cannot be part of a cycle. */
static void add_tree(struct net_cdg *cdg, const struct net_routes *r,
                     uint32_t leaf, unsigned column)
{
    for (uint32_t x = 0; x < r->nx; x++)
        add_place(cdg, r, leaf, column, x);
}

/* Where a tree differs from the digits, and around there. */
static void add_patch(struct net_cdg *cdg, const struct net_routes *r,
                      uint32_t leaf, unsigned column, const struct net_patch *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t x = p->at[i].x;

        if (p->at[i].ordinal == NET_NO_EDGE)
            continue;
        add_place(cdg, r, leaf, column, x);
        for (uint32_t k = r->first[x]; k < r->first[x + 1]; k++) {
            uint32_t w = r->edges[k].to;
            const struct net_edge *e = edge_from(r, leaf, column, w);

            if (e && e->to == x)
                depend(cdg, net_edge_port(r, w, e),
                       net_edge_at(r, x, p->at[i].ordinal)->port);
        }
    }
}

bool net_cdg_has_path(const struct net_cdg *cdg, const struct net_path *path)
{
    for (unsigned i = 1; i + 1 < path->hops; i++) {
        unsigned out = net_port_number(cdg->net, path->port[i + 1]);

        if (!(cdg->bits[(size_t)path->port[i] * cdg->words + out / 64] >>
                  out % 64 &
              1))
            return false;
    }
    return true;
}

/* Whatever turns are allowed to NET_PAIRS. */
static void add_allowed(struct net_cdg *cdg, const struct net_routes *r)
{
    const struct net_turns *t = r->pairs->t;

    for (uint32_t e = 0; e < r->nedges; e++) {
        uint32_t to = r->edges[e].to;

        for (uint32_t f = r->first[to]; f < r->first[to + 1]; f++)
            if (*net_turn(t, e, f) == NET_TURN_ALLOWED)
                depend(cdg, net_edge_port(r, t->from[e], &r->edges[e]),
                       r->edges[f].port);
    }
}

/* What comes by one of x's cables may leave by any that leads down, and if it
 * came from below by any that leads up. */
static void add_turns_at(struct net_cdg *cdg, const struct net_routes *r,
                         uint32_t x)
{
    uint64_t up[SF_NET_XBAR_PORTS_MAX / 64 + 1] = {0};
    uint64_t down[SF_NET_XBAR_PORTS_MAX / 64 + 1] = {0};

    for (uint32_t i = r->first[x]; i < r->first[x + 1]; i++) {
        unsigned port = r->edges[i].port;

        (r->edges[i].up ? up : down)[port / 64] |= 1ULL << port % 64;
    }
    for (uint32_t i = r->first[x]; i < r->first[x + 1]; i++) {
        const struct net_edge *e = &r->edges[i];
        uint32_t channel = r->net->nodes[r->xnode[e->to]].first + e->peer;

        for (unsigned w = 0; w < cdg->words; w++)
            cdg->bits[(size_t)channel * cdg->words + w] |=
                down[w] | (e->up ? 0 : up[w]);
    }
}

/* Go up after up, down after either, never up after down.  More than routes
 * do; if that has no cycle, neither have they. */
void net_cdg_add_turns(struct net_cdg *cdg, const struct net_routes *r)
{
    if (r->pairs) {
        add_allowed(cdg, r);
        return;
    }
    for (uint32_t x = 0; x < r->nx; x++)
        add_turns_at(cdg, r, x);
}

/* Ways between leaves; where they are not kept, all that they could do. */
static void add_pairs(struct net_cdg *cdg, const struct net_routes *r)
{
    struct net_path path = {.port = {0}};
    const struct net_pairs *p = r->pairs;

    if (!p->kept) {
        add_allowed(cdg, r);
        return;
    }
    for (uint32_t s = 0; s < r->nleaves; s++)
        for (uint32_t d = 0; d < r->nleaves; d++)
            for (unsigned v = 0; v < p->variants && s != d; v++) {
                int n = net_pairs_walk(r->pairs, s, d, v, path.port,
                                       r->hop_limit - 1);

                path.hops = (uint8_t)(n > 0 ? n - 1 : 0);
                net_cdg_add_path(cdg, &path);
            }
}

static void add_paths(struct net_cdg *cdg, const struct net_routes *r)
{
    struct net_path paths[NET_ALTERNATIVES_MAX];
    const struct net *net = r->net;

    for (uint32_t s = 0; s < net->nnodes; s++)
        for (uint32_t d = 0; d < net->nnodes && net_is_host(net, s); d++) {
            unsigned n =
                !net_is_host(net, d)
                    ? 0
                    : net_routes_paths(r, s, d, paths, NET_ALTERNATIVES_MAX);

            while (n > 0)
                net_cdg_add_path(cdg, &paths[--n]);
        }
}

void net_cdg_add_routes(struct net_cdg *cdg, const struct net_routes *r)
{
    if (r->pairs) {
        add_pairs(cdg, r);
        return;
    }
    if (r->gm2 || r->updown) {
        add_paths(cdg, r);
        return;
    }
    /* Trees without a row. */
    if (r->nrows < r->nleaves * r->columns)
        net_cdg_add_turns(cdg, r);
    for (uint32_t l = 0; l < r->nleaves; l++)
        for (unsigned c = 0; c < r->columns; c++) {
            size_t tree = (size_t)l * r->columns + c;

            if (r->rows[tree])
                add_tree(cdg, r, l, c);
            else if (r->patches[tree])
                add_patch(cdg, r, l, c, r->patches[tree]);
        }
}

/* ---- the search --------------------------------------------------------- */

/* Depth first, without recursion.  It ends at the first cycle, so every
 * strongly connected component closed before is a single channel, and what
 * Tarjan's algorithm keeps on its stack is just the way of the search. */
struct visit {
    bool seen, on_way;
    uint16_t at; /* next port to look at of the node it arrives at */
};

struct search {
    const struct net_cdg *cdg;
    struct visit *v;
    uint32_t *way;
    uint32_t n;
};

static void enter(struct search *s, uint32_t channel)
{
    s->v[channel] = (struct visit){.seen = true, .on_way = true};
    s->way[s->n++] = channel;
}

/* The next channel that this one waits for, or NET_NONE. */
static uint32_t next_of(struct search *s, uint32_t channel)
{
    const struct net *net = s->cdg->net;
    uint32_t peer = net->ports[channel].peer;
    const struct net_node *node;
    const uint64_t *bits = s->cdg->bits + (size_t)channel * s->cdg->words;
    struct visit *v = &s->v[channel];

    if (peer == NET_NONE)
        return NET_NONE;
    node = &net->nodes[net->ports[peer].node];
    while (v->at < node->nports) {
        uint64_t left = bits[v->at / 64] >> v->at % 64;

        if (left) {
            unsigned p = v->at + (unsigned)__builtin_ctzll(left);

            v->at = (uint16_t)(p + 1);
            return node->first + p;
        }
        v->at = (uint16_t)((v->at / 64 + 1) * 64);
    }
    return NET_NONE;
}

/* Maps of mappers have no names: a crossbar goes by its place. */
static size_t name_port(const struct net *net, uint32_t p, char *text,
                        size_t size)
{
    const struct net_node *node = &net->nodes[net->ports[p].node];
    unsigned port = net_port_number(net, p);

    if (node->name[0] == '\0')
        return (size_t)snprintf(text, size, " x%u:%u",
                                net->ports[p].node - net->nhosts, port);
    return (size_t)snprintf(text, size, " %.40s:%u", node->name, port);
}

static int name_cycle(const struct search *s, uint32_t from, struct errbuf *err)
{
    const struct net *net = s->cdg->net;
    char text[300] = "";
    size_t len = 0;
    uint32_t i = s->n - 1;

    while (s->way[i] != from)
        i--;
    for (uint32_t k = i; k < s->n && len < sizeof(text) - 80; k++)
        len += name_port(net, s->way[k], text + len, sizeof(text) - len);
    errprintf(err, "routes can deadlock: a cycle of %u cables:%s", s->n - i,
              text);
    return 1;
}

/* Everything that hangs on one channel.  1: a cycle. */
static int explore(struct search *s, uint32_t root, struct errbuf *err)
{
    enter(s, root);
    while (s->n) {
        uint32_t at = s->way[s->n - 1], to = next_of(s, at);

        if (to == NET_NONE) {
            s->v[at].on_way = false;
            s->n--;
        } else if (!s->v[to].seen) {
            enter(s, to);
        } else if (s->v[to].on_way) {
            return name_cycle(s, to, err);
        }
    }
    return 0;
}

int net_cdg_check(const struct net_cdg *cdg, struct errbuf *err)
{
    uint32_t n = cdg->net->nports;
    struct search s = {.cdg = cdg};
    int rc = 0;

    s.v = calloc(n + 1, sizeof(*s.v));
    s.way = malloc((n + 1) * sizeof(*s.way));
    if (!s.v || !s.way)
        rc = errprintf(err, "out of memory for the deadlock check");
    for (uint32_t p = 0; p < n && rc == 0; p++)
        if (!s.v[p].seen)
            rc = explore(&s, p, err);
    free(s.v);
    free(s.way);
    return rc;
}

/* ---- routes -------------------------------------------------------------- */

/* A route with a turn that is not among those that are proved together. */
static int name_route(const struct net *net, const struct net_path *path,
                      struct errbuf *err)
{
    uint32_t from = path->port[0], to = net->ports[path->port[path->hops]].peer;

    errprintf(err,
              "the route from host %012llx to %012llx goes up again after it "
              "went down: it could deadlock with others",
              (unsigned long long)net->nodes[net->ports[from].node].id,
              (unsigned long long)net->nodes[net->ports[to].node].id);
    return 1;
}

static int check_paths(const struct net_cdg *cdg, const struct net_routes *r,
                       uint32_t host, struct errbuf *err)
{
    struct net_path paths[NET_ALTERNATIVES_MAX];
    const struct net *net = r->net;

    for (uint32_t to = 0; to < net->nnodes; to++) {
        unsigned n = 0;

        if (net_is_host(net, to))
            n = net_routes_paths(r, host, to, paths, NET_ALTERNATIVES_MAX);
        while (n-- > 0)
            if (!net_cdg_has_path(cdg, &paths[n]))
                return name_route(net, &paths[n], err);
    }
    return 0;
}

typedef void add_f(struct net_cdg *cdg, const struct net_routes *r);

/* No cycle in what is added, and no route of the host (NET_NONE: of nobody)
 * that asks for more. */
static int check(const struct net_routes *r, add_f *add, uint32_t host,
                 struct errbuf *err)
{
    struct net_cdg *cdg = net_cdg_new(r->net);
    int rc;

    if (!cdg) {
        errno = ENOMEM;
        return errprintf(err, "out of memory for the deadlock check");
    }
    add(cdg, r);
    rc = net_cdg_check(cdg, err);
    if (rc == 0 && host != NET_NONE)
        rc = check_paths(cdg, r, host, err);
    net_cdg_free(cdg);
    return rc;
}

int net_routes_deadlock(const struct net_routes *r, struct errbuf *err)
{
    return check(r, net_cdg_add_routes, NET_NONE, err);
}

int net_turns_deadlock(const struct net_routes *r, struct errbuf *err)
{
    return check(r, net_cdg_add_turns, NET_NONE, err);
}

/* Does a way of the tree that comes down to x go up from there? */
static bool rises_again(const struct net_routes *r, uint32_t leaf,
                        unsigned column, uint32_t x)
{
    const struct net_edge *on = edge_from(r, leaf, column, x);

    for (uint32_t k = r->first[x]; on && on->up && k < r->first[x + 1]; k++) {
        const struct net_edge *back = &r->edges[k], *e;

        e = back->up ? edge_from(r, leaf, column, back->to) : NULL;
        if (e && e->to == x && e->port == back->peer)
            return true;
    }
    return false;
}

int net_turned_deadlock(const struct net_routes *r, const struct net_turned *at,
                        uint32_t n, struct errbuf *err)
{
    char name[64];

    for (uint32_t i = 0; i < n; i++) {
        uint32_t leaf = (uint32_t)(at[i].tree / r->columns), x = at[i].x;
        unsigned column = (unsigned)(at[i].tree % r->columns);
        const struct net_edge *e = edge_from(r, leaf, column, x);

        if (!e || (!rises_again(r, leaf, column, x) &&
                   (e->up || !rises_again(r, leaf, column, e->to))))
            continue;
        name_port(r->net, net_edge_port(r, x, e), name, sizeof(name));
        errprintf(err,
                  "routes can deadlock: a way over%s goes up after it "
                  "went down",
                  name);
        return 1;
    }
    return 0;
}

int net_routes_host_deadlock(const struct net_routes *r, uint32_t host,
                             struct errbuf *err)
{
    return check(r, net_cdg_add_turns, host, err);
}
