/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "elan/contexts.h"
#include "elan/elanvp.h"

#define WORDS (ELAN_MAX_CONTEXTS / 64)

/* Contexts of one node, or of several laid over each other: bit set = taken. */
struct row {
    uint64_t word[WORDS];
};

struct elan_contexts {
    uint32_t base, top;
    uint32_t cursor;
    uint64_t used;
    struct row **rows; /* [nrows], by Elan id; NULL: nothing taken yet */
    uint32_t nrows;
};

static int check_range(uint32_t base, uint32_t top, struct errbuf *err)
{
    if (base <= top && top < ELAN_MAX_CONTEXTS)
        return 0;
    errno = EINVAL;
    return errprintf(err, "contexts %u to %u: not a range within 0 to %d", base,
                     top, ELAN_MAX_CONTEXTS - 1);
}

struct elan_contexts *elan_contexts_create(uint32_t base, uint32_t top,
                                           struct errbuf *err)
{
    struct elan_contexts *c;

    if (check_range(base, top, err) < 0)
        return NULL;
    c = calloc(1, sizeof(*c));
    if (!c) {
        errprintf(err, "out of memory");
        return NULL;
    }
    c->base = c->cursor = base;
    c->top = top;
    return c;
}

void elan_contexts_destroy(struct elan_contexts *c)
{
    int saved = errno;

    if (!c)
        return;
    for (uint32_t i = 0; i < c->nrows; i++)
        free(c->rows[i]);
    free(c->rows);
    free(c);
    errno = saved;
}

int elan_contexts_set_range(struct elan_contexts *c, uint32_t base,
                            uint32_t top, struct errbuf *err)
{
    if (check_range(base, top, err) < 0)
        return -1;
    c->base = base;
    c->top = top;
    return 0;
}

uint32_t elan_contexts_cursor(const struct elan_contexts *c)
{
    return c->cursor >= c->base && c->cursor <= c->top ? c->cursor : c->base;
}

void elan_contexts_set_cursor(struct elan_contexts *c, uint32_t cursor)
{
    c->cursor = cursor;
}

uint64_t elan_contexts_used(const struct elan_contexts *c)
{
    return c->used;
}

/* Bits low..low+width-1 as far as they lie in word w. */
static uint64_t range_mask(uint32_t w, uint32_t low, uint32_t width)
{
    uint32_t from = low > w * 64 ? low - w * 64 : 0;
    uint32_t to = low + width - w * 64; /* exclusive */
    uint64_t below_to = to >= 64 ? ~0ULL : (1ULL << to) - 1;

    return below_to & (~0ULL << from);
}

static uint32_t last_word(uint32_t low, uint32_t width)
{
    return (low + width - 1) / 64;
}

static bool any_taken(const struct row *row, uint32_t low, uint32_t width)
{
    for (uint32_t w = low / 64; w <= last_word(low, width); w++)
        if (row->word[w] & range_mask(w, low, width))
            return true;
    return false;
}

static bool all_taken(const struct row *row, uint32_t low, uint32_t width)
{
    for (uint32_t w = low / 64; w <= last_word(low, width); w++)
        if (~row->word[w] & range_mask(w, low, width))
            return false;
    return true;
}

/* First bit at or after `from` that is `taken`; ELAN_MAX_CONTEXTS if none. */
static uint32_t next_bit(const struct row *row, uint32_t from, bool taken)
{
    uint64_t keep = ~0ULL << (from % 64);

    for (uint32_t w = from / 64; w < WORDS; w++, keep = ~0ULL) {
        uint64_t word = (taken ? row->word[w] : ~row->word[w]) & keep;

        if (word)
            return w * 64 + (uint32_t)__builtin_ctzll(word);
    }
    return ELAN_MAX_CONTEXTS;
}

/* Lowest free range that starts at or after `from` and ends at or before
 * `top`; -1 if none. */
static int32_t find_free(const struct row *row, uint32_t from, uint32_t top,
                         uint32_t width)
{
    while (from < ELAN_MAX_CONTEXTS) {
        uint32_t start = next_bit(row, from, false);

        if (start + width > top + 1)
            return -1;
        from = next_bit(row, start, true);
        if (from - start >= width)
            return (int32_t)start;
    }
    return -1;
}

/* Lay the rows of all nodes over each other, as far as base..top reaches. */
static void overlay(const struct elan_contexts *c, struct elan_nodes nodes,
                    struct row *sum)
{
    memset(sum, 0, sizeof(*sum));
    for (uint32_t i = 0; i < nodes.n; i++) {
        const struct row *row = c->rows[nodes.id[i]];

        for (uint32_t w = c->base / 64; w <= c->top / 64; w++)
            sum->word[w] |= row->word[w];
    }
}

static int grow(struct elan_contexts *c, uint32_t id)
{
    uint32_t want = id + 1 > 2 * c->nrows ? id + 1 : 2 * c->nrows;
    struct row **rows = realloc(c->rows, want * sizeof(struct row *));

    if (!rows)
        return -1;
    memset(rows + c->nrows, 0, (want - c->nrows) * sizeof(struct row *));
    c->rows = rows;
    c->nrows = want;
    return 0;
}

/* Every node gets its row, so that nothing can fail later. */
static int prepare(struct elan_contexts *c, struct elan_nodes nodes,
                   struct errbuf *err)
{
    if (nodes.n == 0) {
        errno = EINVAL;
        return errprintf(err, "no nodes");
    }
    for (uint32_t i = 0; i < nodes.n; i++) {
        uint32_t id = nodes.id[i];

        if (id > SF_ELAN_NODE_ID_MAX) {
            errno = EINVAL;
            return errprintf(err, "Elan id %u is above %d", id,
                             SF_ELAN_NODE_ID_MAX);
        }
        if (id >= c->nrows && grow(c, id) < 0)
            return errprintf(err, "out of memory");
        if (!c->rows[id] && !(c->rows[id] = calloc(1, sizeof(struct row))))
            return errprintf(err, "out of memory");
    }
    return 0;
}

static void take(struct elan_contexts *c, struct elan_nodes nodes, uint32_t low,
                 uint32_t width)
{
    for (uint32_t i = 0; i < nodes.n; i++)
        for (uint32_t w = low / 64; w <= last_word(low, width); w++)
            c->rows[nodes.id[i]]->word[w] |= range_mask(w, low, width);
    c->used += (uint64_t)nodes.n * width;
}

static int check_width(const struct elan_contexts *c, uint32_t width,
                       struct errbuf *err)
{
    errno = EINVAL;
    if (width == 0)
        return errprintf(err, "no contexts asked for");
    errno = E2BIG;
    if (width > c->top - c->base + 1)
        return errprintf(err, "%u contexts a node, the range has only %u",
                         width, c->top - c->base + 1);
    return 0;
}

int elan_contexts_alloc(struct elan_contexts *c, struct elan_nodes nodes,
                        uint32_t width, uint32_t *low, struct errbuf *err)
{
    struct row sum;
    int32_t start;

    if (check_width(c, width, err) < 0 || prepare(c, nodes, err) < 0)
        return -1;
    overlay(c, nodes, &sum);
    start = find_free(&sum, elan_contexts_cursor(c), c->top, width);
    if (start < 0)
        start = find_free(&sum, c->base, c->top, width);
    if (start < 0) {
        errno = EBUSY;
        return errprintf(err, "no %u contexts are free on all of %u nodes",
                         width, nodes.n);
    }
    *low = (uint32_t)start;
    take(c, nodes, *low, width);
    c->cursor = *low + width;
    return 0;
}

static bool in_adapter(uint32_t low, uint32_t width)
{
    return width > 0 && low < ELAN_MAX_CONTEXTS &&
           width <= ELAN_MAX_CONTEXTS - low;
}

int elan_contexts_claim(struct elan_contexts *c, struct elan_nodes nodes,
                        uint32_t low, uint32_t width, struct errbuf *err)
{
    if (!in_adapter(low, width)) {
        errno = EINVAL;
        return errprintf(err, "%u contexts from %u on", width, low);
    }
    if (prepare(c, nodes, err) < 0)
        return -1;
    for (uint32_t i = 0; i < nodes.n; i++) {
        if (any_taken(c->rows[nodes.id[i]], low, width)) {
            errno = EEXIST;
            return errprintf(err, "contexts %u to %u are taken on Elan id %u",
                             low, low + width - 1, nodes.id[i]);
        }
    }
    take(c, nodes, low, width);
    return 0;
}

int elan_contexts_release(struct elan_contexts *c, struct elan_nodes nodes,
                          uint32_t low, uint32_t width)
{
    errno = ENOENT;
    if (!in_adapter(low, width))
        return -1;
    for (uint32_t i = 0; i < nodes.n; i++) {
        uint32_t id = nodes.id[i];

        if (id >= c->nrows || !c->rows[id] ||
            !all_taken(c->rows[id], low, width))
            return -1;
    }
    for (uint32_t i = 0; i < nodes.n; i++)
        for (uint32_t w = low / 64; w <= last_word(low, width); w++)
            c->rows[nodes.id[i]]->word[w] &= ~range_mask(w, low, width);
    c->used -= (uint64_t)nodes.n * width;
    return 0;
}
