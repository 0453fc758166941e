/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is kept of the trees.  See route_impl.h.
 *
 * A tree that the digits of a Clos give whole needs no memory: from a crossbar
 * above the leaf there is one way down, from any other the digit's slot leads
 * up.  Only trees with a place that the digits leave open, or that have been
 * changed, have a row with an edge for each crossbar.  Trees of other nets all
 * have one.  What the digits say is said of the net as it was at first: a tree
 * that uses a cable which is taken out gets a row.
 */
#include <stdlib.h>
#include <string.h>

#include "net/route_impl.h"

/* Rows of one fabric, in bytes: beyond that the answer is an error, not a
 * machine without memory. */
#define ROWS_MAX (2ULL << 30)

/* ---- what lies below a crossbar ------------------------------------------ */

bool net_clos_find_below(struct net_routes *r)
{
    struct net_clos_shape *c = &r->clos;

    c->words = r->nleaves / 64 + 1;
    c->below = calloc((size_t)r->nx + 1, c->words * sizeof(*c->below));
    if (!c->below)
        return false;
    for (uint32_t l = 0; l < r->nleaves; l++)
        c->below[(size_t)r->leaf_x[l] * c->words + l / 64] |= 1ULL << l % 64;
    for (uint32_t i = 0; i < r->nx; i++) {
        uint32_t x = r->order[i];
        const uint64_t *from = c->below + (size_t)x * c->words;

        for (uint32_t e = r->first[x]; e < r->first[x + 1]; e++) {
            uint64_t *to = c->below + (size_t)r->edges[e].to * c->words;

            if (!r->edges[e].up)
                break; /* up edges come first */
            for (unsigned w = 0; w < c->words; w++)
                to[w] |= from[w];
        }
    }
    return true;
}

/* ---- one place, as the digits say ---------------------------------------- */

/* Downwards there is one crossbar to go to, by one of several cables. */
static uint8_t way_down(const struct net_routes *r, uint32_t x, uint32_t leaf,
                        unsigned skip)
{
    unsigned n = r->first[x + 1] - r->first[x];
    uint8_t got = NET_NO_EDGE;

    for (unsigned i = 0; i < n; i++) {
        const struct net_edge *e = net_edge_at(r, x, i);

        if (e->up || !net_clos_below(r, e->to, leaf))
            continue;
        got = (uint8_t)i;
        if (skip-- == 0)
            return got;
    }
    return got;
}

uint8_t net_clos_step(const struct net_routes *r, uint32_t leaf,
                      unsigned column, uint32_t x)
{
    unsigned level = r->clos.level[x];

    if (r->part[x] != r->part[r->leaf_x[leaf]])
        return NET_NO_EDGE;
    if (net_clos_below(r, x, leaf))
        return level == 1
                   ? NET_NO_EDGE
                   : way_down(r, x, leaf,
                              net_clos_digit(r, leaf, column, level - 1) %
                                  r->clos.parallel[level - 1]);
    if (level >= r->clos.levels)
        return NET_NO_EDGE;
    return r->clos
        .slot[r->clos.slots[x] + net_clos_digit(r, leaf, column, level)];
}

/* ---- rows ---------------------------------------------------------------- */

static int too_much(const struct net_routes *r, uint64_t bytes,
                    struct errbuf *err)
{
    return errprintf(err,
                     "the routes of %u crossbars and %u hosts would take "
                     "%llu bytes, the limit is %llu",
                     r->nx, r->net->nhosts, (unsigned long long)bytes,
                     ROWS_MAX);
}

int net_rows_new(struct net_routes *r, bool all, struct errbuf *err)
{
    size_t trees = (size_t)r->nleaves * r->columns;
    uint64_t size = (uint64_t)r->phases * r->nx;

    if (all && trees * size > ROWS_MAX)
        return too_much(r, trees * size, err);
    r->rows = calloc(trees + 1, sizeof(*r->rows));
    if (all)
        r->block = malloc(trees * size + 1);
    if (!r->rows || (all && !r->block))
        return errprintf(err, "out of memory for the routes");
    for (size_t t = 0; all && t < trees; t++)
        r->rows[t] = r->block + t * size;
    if (all)
        memset(r->block, NET_NO_EDGE, trees * size);
    return 0;
}

void net_rows_free(struct net_routes *r)
{
    size_t trees = (size_t)r->nleaves * r->columns;

    for (size_t t = 0; r->rows && !r->block && t < trees; t++)
        free(r->rows[t]);
    free(r->rows);
    free(r->block);
    r->rows = NULL;
    r->block = NULL;
    r->nrows = 0;
}

/* A tree as the digits say. */
static void write_tree(const struct net_routes *r, uint32_t leaf,
                       unsigned column, uint8_t *row)
{
    for (uint32_t x = 0; x < r->nx; x++)
        row[x] = net_clos_step(r, leaf, column, x);
}

int net_tree_own(struct net_routes *r, uint32_t leaf, unsigned column,
                 struct errbuf *err)
{
    uint8_t **row = &r->rows[(size_t)leaf * r->columns + column];

    if (*row)
        return 0;
    if ((r->nrows + 1ULL) * r->nx > ROWS_MAX)
        return too_much(r, (r->nrows + 1ULL) * r->nx, err);
    *row = malloc(r->nx + 1);
    if (!*row)
        return errprintf(err, "out of memory for the routes");
    r->nrows++;
    write_tree(r, leaf, column, *row);
    return 0;
}
