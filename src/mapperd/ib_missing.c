/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "mapperd/ib_missing.h"

struct ib_asked {
    struct ib_route route; /* the last one is the port that is asked */
    bool up;
    UT_hash_handle hh;
};

static struct ib_asked *find(const struct ib_missing *m, const uint8_t *port,
                             uint8_t n, struct ib_route *key)
{
    struct ib_asked *a;

    memset(key, 0, sizeof(*key));
    key->n = n;
    memcpy(key->port, port, n);
    HASH_FIND(hh, m->asked, key, sizeof(*key), a);
    return a;
}

void ib_missing_ask(struct ib_missing *m, const uint8_t *port, uint8_t n)
{
    struct ib_route key;
    struct ib_asked *a;

    if (n == 0 || n > SMP_HOPS_MAX || find(m, port, n, &key) ||
        !(a = calloc(1, sizeof(*a))))
        return;
    a->route = key;
    HASH_ADD(hh, m->asked, route, sizeof(a->route), a);
}

void ib_missing_up(struct ib_missing *m, const uint8_t *port, uint8_t n)
{
    struct ib_route key;
    struct ib_asked *a = n <= SMP_HOPS_MAX ? find(m, port, n, &key) : NULL;

    if (a)
        a->up = true;
}

static void forget(struct ib_missing *m, struct ib_asked *a)
{
    HASH_DEL(m->asked, a);
    free(a);
}

void ib_missing_settled(struct ib_missing *m, const uint8_t *port, uint8_t n)
{
    struct ib_route key;
    struct ib_asked *a = n <= SMP_HOPS_MAX ? find(m, port, n, &key) : NULL;

    if (a)
        forget(m, a);
}

void ib_missing_free(struct ib_missing *m)
{
    struct ib_asked *a, *next;

    HASH_ITER(hh, m->asked, a, next)
    {
        forget(m, a);
    }
}

/* ---- holes --------------------------------------------------------------- */

/* The port at the end of a route, NET_NONE where the map does not lead. */
static uint32_t port_at(const struct net *map, uint32_t me,
                        const struct ib_route *route)
{
    uint32_t at = net_peer_node(map, me, 0);

    for (unsigned i = 0; at != NET_NONE; i++) {
        if (net_is_host(map, at) || route->port[i] >= map->nodes[at].nports)
            return NET_NONE;
        if (i + 1u == route->n)
            return map->nodes[at].first + route->port[i];
        at = net_peer_node(map, at, route->port[i]);
    }
    return NET_NONE;
}

enum { NOT_ASKED, SILENT, UP };

unsigned ib_missing_tell(const struct ib_missing *m, const struct net *map,
                         uint32_t me, ib_missing_f *tell, void *arg)
{
    uint8_t *holes = calloc(map->nports + 1, 1);
    const struct ib_asked *a;
    unsigned n = 0;

    for (a = m->asked; holes && a; a = a->hh.next) {
        uint32_t p = port_at(map, me, &a->route);

        if (p != NET_NONE && map->ports[p].peer == NET_NONE && holes[p] != UP)
            holes[p] = a->up ? UP : SILENT;
    }
    for (uint32_t p = 0; holes && p < map->nports; p++) {
        if (holes[p] == NOT_ASKED)
            continue;
        tell(map, map->ports[p].node, net_port_number(map, p), holes[p] == UP,
             arg);
        n++;
    }
    free(holes);
    return n;
}

/* ---- the edge of what can be asked --------------------------------------- */

/* Breadth first; from[] is the port by which each was reached. */
static uint32_t *reach(const struct net *map, uint32_t first)
{
    uint32_t *from = malloc((map->nnodes + 1) * sizeof(*from));
    uint32_t *queue = malloc((map->nnodes + 1) * sizeof(*queue));
    uint32_t n = 0, got = 0;

    if (from && queue && first != NET_NONE && !net_is_host(map, first)) {
        memset(from, 0xff, map->nnodes * sizeof(*from));
        queue[got++] = first;
        while (n < got) {
            uint32_t at = queue[n++];

            for (unsigned p = 0; p < map->nodes[at].nports; p++) {
                uint32_t to = net_peer_node(map, at, p);

                if (to == NET_NONE || to == first || net_is_host(map, to) ||
                    from[to] != NET_NONE)
                    continue;
                from[to] = map->nodes[at].first + p;
                queue[got++] = to;
            }
        }
        free(queue);
        return from;
    }
    free(from);
    free(queue);
    return NULL;
}

static bool way_to(const struct net *map, const uint32_t *from, uint32_t first,
                   uint32_t node, uint8_t n, struct ib_route *way)
{
    unsigned left = n;

    way->n = n;
    while (node != first && left > 0) {
        if (from[node] == NET_NONE)
            return false;
        way->port[--left] = (uint8_t)net_port_number(map, from[node]);
        node = map->ports[from[node]].node;
    }
    return node == first && left == 0;
}

bool ib_missing_edge(const struct net *map, uint32_t me, uint8_t n,
                     uint32_t *node, struct ib_route *way)
{
    uint32_t first = net_peer_node(map, me, 0);
    uint32_t *from = n <= SMP_HOPS_MAX ? reach(map, first) : NULL;
    bool found = false;

    for (; from && *node < map->nnodes; (*node)++)
        if (!net_is_host(map, *node) &&
            way_to(map, from, first, *node, n, way)) {
            found = true;
            break;
        }
    free(from);
    return found;
}
