/* SPDX-License-Identifier: BSD-3-Clause
 * Up and down by distance from the centre.  See route_impl.h.
 */
#include <stdlib.h>
#include <string.h>

#include "net/route_impl.h"

/* More crossbars than this: the centre is estimated (two searches), not
 * found by a search from each. */
#define CENTRE_EXACT_MAX 1500

/* ---- up is towards the centre ------------------------------------------ */

/* Breadth first from x; dist has NET_NONE where nobody was.  Crossbars
 * reached, in r->queue; *far becomes the last distance. */
static uint32_t search(struct net_routes *r, uint32_t x, uint32_t *dist,
                       uint32_t *far)
{
    uint32_t n = 0, got = 0;

    r->queue[got++] = x;
    dist[x] = 0;
    while (n < got) {
        uint32_t at = r->queue[n++];

        *far = dist[at];
        for (uint32_t e = r->first[at]; e < r->first[at + 1]; e++)
            if (!r->edges[e].dead && dist[r->edges[e].to] == NET_NONE) {
                dist[r->edges[e].to] = dist[at] + 1;
                r->queue[got++] = r->edges[e].to;
            }
    }
    return got;
}

static void forget(struct net_routes *r, uint32_t n, uint32_t *dist)
{
    for (uint32_t i = 0; i < n; i++)
        dist[r->queue[i]] = NET_NONE;
}

/* The crossbar of the part around x whose farthest is nearest. */
static uint32_t centre(struct net_routes *r, uint32_t x, uint32_t *dist,
                       uint32_t *part)
{
    uint32_t far = 0, best_far = NET_NONE, best = x, n;

    n = search(r, x, dist, &far);
    forget(r, n, dist);
    memcpy(part, r->queue, n * sizeof(*part));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t c = part[i];

        if (n > CENTRE_EXACT_MAX && i % (n / CENTRE_EXACT_MAX + 1))
            continue;
        forget(r, search(r, c, dist, &far), dist);
        if (far < best_far || (far == best_far && r->key[c] < r->key[best])) {
            best_far = far;
            best = c;
        }
    }
    return best;
}

struct ranked {
    uint32_t dist;
    uint64_t key;
    uint32_t x;
};

/* Far ones first, so that the centre ranks highest. */
static int by_rank(const void *va, const void *vb)
{
    const struct ranked *a = va, *b = vb;

    if (a->dist != b->dist)
        return a->dist > b->dist ? -1 : 1;
    if (a->key != b->key)
        return a->key > b->key ? -1 : 1;
    return a->x < b->x ? -1 : a->x > b->x;
}

static void rank_by(struct net_routes *r, struct ranked *k)
{
    qsort(k, r->nx, sizeof(*k), by_rank);
    for (uint32_t i = 0; i < r->nx; i++) {
        r->order[i] = k[i].x;
        r->rank[k[i].x] = i;
    }
}

void net_find_parts(struct net_routes *r, uint32_t *dist)
{
    uint32_t far, parts = 0;

    memset(dist, 0xff, r->nx * sizeof(*dist));
    for (uint32_t x = 0; x < r->nx; x++) {
        uint32_t n;

        if (dist[x] != NET_NONE)
            continue;
        n = search(r, x, dist, &far);
        for (uint32_t i = 0; i < n; i++)
            r->part[r->queue[i]] = parts;
        parts++;
    }
}

bool net_orient_tree(struct net_routes *r)
{
    uint32_t *dist = malloc((r->nx + 1) * sizeof(*dist));
    uint32_t *part = malloc((r->nx + 1) * sizeof(*part)), far;
    struct ranked *k = malloc((r->nx + 1) * sizeof(*k));
    bool ok = dist && part && k && net_index_edges(r);

    if (ok) {
        memset(dist, 0xff, r->nx * sizeof(*dist));
        for (uint32_t x = 0; x < r->nx; x++)
            k[x] = (struct ranked){NET_NONE, r->key[x], x};
        for (uint32_t x = 0; x < r->nx; x++) {
            uint32_t n;

            if (k[x].dist != NET_NONE)
                continue;
            n = search(r, centre(r, x, dist, part), dist, &far);
            for (uint32_t i = 0; i < n; i++)
                k[r->queue[i]].dist = dist[r->queue[i]];
            forget(r, n, dist);
        }
        rank_by(r, k);
        r->phases = 2;
        ok = net_index_edges(r);
    }
    free(dist);
    free(part);
    free(k);
    return ok;
}
