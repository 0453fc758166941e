/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sets of turns without a cycle: see turns.h.
 */
#include "net/turns.h"

#include <stdlib.h>
#include <string.h>

/* ---- new ------------------------------------------------------------------
 */

static bool allocate(struct net_turns *t)
{
    const struct net_routes *r = t->r;
    size_t n = r->nedges + 1;

    return (t->from = malloc(n * sizeof(*t->from))) &&
           (t->back = malloc(n * sizeof(*t->back))) &&
           (t->number = malloc(n * sizeof(*t->number))) &&
           (t->base = malloc(n * sizeof(*t->base))) &&
           (t->seen = calloc(n, sizeof(*t->seen))) &&
           (t->stack = malloc(n * sizeof(*t->stack))) &&
           (t->before = malloc(n * sizeof(*t->before))) &&
           (t->after = malloc(n * sizeof(*t->after))) &&
           (t->numbers = malloc(2 * n * sizeof(*t->numbers)));
}

/* Ups from the lowest crossbar on, then downs from the highest. */
static void number_channels(struct net_turns *t)
{
    const struct net_routes *r = t->r;
    uint32_t n = 0;

    for (uint32_t i = 0; i < r->nx; i++)
        for (uint32_t e = r->first[r->order[i]]; e < r->first[r->order[i] + 1];
             e++)
            if (r->edges[e].up)
                t->number[e] = n++;
    for (uint32_t i = r->nx; i-- > 0;)
        for (uint32_t e = r->first[r->order[i]]; e < r->first[r->order[i] + 1];
             e++)
            if (!r->edges[e].up)
                t->number[e] = n++;
}

struct net_turns *net_turns_new(const struct net_routes *r)
{
    struct net_turns *t = calloc(1, sizeof(*t));

    if (!t)
        return NULL;
    t->r = r;
    if (!allocate(t)) {
        net_turns_free(t);
        return NULL;
    }
    for (uint32_t x = 0; x < r->nx; x++)
        for (uint32_t e = r->first[x]; e < r->first[x + 1]; e++) {
            uint32_t to = r->edges[e].to;

            t->from[e] = x;
            t->back[e] = net_edge_by_port(r, to, r->edges[e].peer);
            t->base[e] = t->nturns;
            t->nturns += r->first[to + 1] - r->first[to];
        }
    t->state = calloc(t->nturns + 1, 1);
    if (!t->state) {
        net_turns_free(t);
        return NULL;
    }
    for (uint32_t e = 0; e < r->nedges; e++)
        *net_turn(t, e, t->back[e]) = NET_TURN_NEVER;
    number_channels(t);
    return t;
}

void net_turns_free(struct net_turns *t)
{
    if (!t)
        return;
    free(t->from);
    free(t->back);
    free(t->number);
    free(t->base);
    free(t->state);
    free(t->seen);
    free(t->stack);
    free(t->before);
    free(t->after);
    free(t->numbers);
    free(t);
}

/* ---- order ----------------------------------------------------------------
 */

/* What follows a channel, with numbers up to `last`.  True: so does `last`
 * itself. */
static bool find_after(struct net_turns *t, uint32_t channel, uint32_t last)
{
    const struct net_routes *r = t->r;
    uint32_t n = 0;

    t->round++;
    t->nafter = 0;
    t->stack[n++] = channel;
    t->seen[channel] = t->round;
    while (n > 0) {
        uint32_t e = t->stack[--n], to = r->edges[e].to;

        t->after[t->nafter++] = e;
        t->looks += r->first[to + 1] - r->first[to];
        for (uint32_t f = r->first[to]; f < r->first[to + 1]; f++) {
            if (*net_turn(t, e, f) != NET_TURN_ALLOWED)
                continue;
            if (f == last)
                return true;
            if (t->seen[f] == t->round || t->number[f] > t->number[last])
                continue;
            t->seen[f] = t->round;
            t->stack[n++] = f;
        }
    }
    return false;
}

/* What a channel follows, with numbers from that of `first` on. */
static void find_before(struct net_turns *t, uint32_t channel, uint32_t first)
{
    const struct net_routes *r = t->r;
    uint32_t n = 0;

    t->round++;
    t->nbefore = 0;
    t->stack[n++] = channel;
    t->seen[channel] = t->round;
    while (n > 0) {
        uint32_t f = t->stack[--n], x = t->from[f];

        t->before[t->nbefore++] = f;
        t->looks += r->first[x + 1] - r->first[x];
        for (uint32_t out = r->first[x]; out < r->first[x + 1]; out++) {
            uint32_t e = t->back[out];

            if (*net_turn(t, e, f) != NET_TURN_ALLOWED ||
                t->seen[e] == t->round || t->number[e] < t->number[first])
                continue;
            t->seen[e] = t->round;
            t->stack[n++] = e;
        }
    }
}

static void sift(uint32_t *a, uint32_t n, uint32_t i, const uint32_t *key)
{
    for (;;) {
        uint32_t c = 2 * i + 1, v;

        if (c >= n)
            return;
        c += c + 1 < n && key[a[c + 1]] > key[a[c]];
        if (key[a[c]] <= key[a[i]])
            return;
        v = a[i];
        a[i] = a[c];
        a[c] = v;
        i = c;
    }
}

/* Channels by their numbers. */
static void sort(uint32_t *a, uint32_t n, const uint32_t *key)
{
    for (uint32_t i = n / 2; i-- > 0;)
        sift(a, n, i, key);
    for (uint32_t i = n; i-- > 1;) {
        uint32_t v = a[0];

        a[0] = a[i];
        a[i] = v;
        sift(a, i, 0, key);
    }
}

/* Those before get the lower of all their numbers, those after the higher. */
static void renumber(struct net_turns *t)
{
    uint32_t b = 0, a = 0, n = 0;

    sort(t->before, t->nbefore, t->number);
    sort(t->after, t->nafter, t->number);
    while (b < t->nbefore || a < t->nafter) {
        bool first = a == t->nafter ||
                     (b < t->nbefore &&
                      t->number[t->before[b]] < t->number[t->after[a]]);

        t->numbers[n++] = t->number[first ? t->before[b++] : t->after[a++]];
    }
    for (uint32_t i = 0; i < t->nbefore; i++)
        t->number[t->before[i]] = t->numbers[i];
    for (uint32_t i = 0; i < t->nafter; i++)
        t->number[t->after[i]] = t->numbers[t->nbefore + i];
}

bool net_turns_allow(struct net_turns *t, uint32_t channel, uint32_t then)
{
    uint8_t *state = net_turn(t, channel, then);

    if (*state != NET_TURN_OPEN)
        return *state == NET_TURN_ALLOWED;
    if (t->number[channel] > t->number[then]) {
        if (find_after(t, then, channel)) {
            *state = NET_TURN_NEVER;
            return false;
        }
        find_before(t, channel, then);
        renumber(t);
    }
    *state = NET_TURN_ALLOWED;
    return true;
}

/* ---- many at once ---------------------------------------------------------
 */

/* The edge that leads to the highest neighbour above; NET_NONE at a root. */
static uint32_t parent_edge(const struct net_routes *r, uint32_t x)
{
    uint32_t best = NET_NONE;

    for (uint32_t e = r->first[x]; e < r->first[x + 1]; e++)
        if (r->edges[e].up &&
            (best == NET_NONE ||
             r->rank[r->edges[e].to] > r->rank[r->edges[best].to]))
            best = e;
    return best;
}

static bool of_tree(const struct net_turns *t, uint32_t e)
{
    const struct net_routes *r = t->r;
    uint32_t up = r->edges[e].up ? e : t->back[e];

    return parent_edge(r, t->from[up]) == up;
}

void net_turns_allow_tree(struct net_turns *t)
{
    const struct net_routes *r = t->r;

    for (uint32_t e = 0; e < r->nedges; e++) {
        uint32_t to = r->edges[e].to;

        if (!of_tree(t, e))
            continue;
        for (uint32_t f = r->first[to]; f < r->first[to + 1]; f++)
            if ((r->edges[e].up || !r->edges[f].up) && of_tree(t, f))
                net_turns_allow(t, e, f);
    }
}

void net_turns_allow_rest(struct net_turns *t, uint64_t looks)
{
    const struct net_routes *r = t->r;
    uint64_t until = t->looks + looks;

    for (uint32_t e = 0; e < r->nedges; e++) {
        uint32_t to = r->edges[e].to;

        for (uint32_t f = r->first[to]; f < r->first[to + 1]; f++) {
            uint8_t *state = net_turn(t, e, f);

            if (t->looks < until || t->number[e] < t->number[f])
                net_turns_allow(t, e, f);
            else if (*state == NET_TURN_OPEN)
                *state = NET_TURN_NEVER;
        }
    }
}

uint32_t net_turns_print(const struct net_turns *t)
{
    const struct net_routes *r = t->r;
    uint32_t all = 0;

    for (uint32_t e = 0; e < r->nedges; e++) {
        uint32_t to = r->edges[e].to;
        uint64_t port = net_edge_port(r, t->from[e], &r->edges[e]) + 1;

        if (r->edges[e].dead)
            continue;
        for (uint32_t f = r->first[to]; f < r->first[to + 1]; f++) {
            uint64_t h = port << 8 | r->edges[f].port;

            if (r->edges[f].dead || *net_turn(t, e, f) != NET_TURN_ALLOWED)
                continue;
            h *= UINT64_C(0x9e3779b97f4a7c15);
            h = (h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
            all ^= (uint32_t)(h >> 32);
        }
    }
    return all;
}
