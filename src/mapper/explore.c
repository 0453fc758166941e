/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The explorer's calls, and how it begins, begins again and ends.
 */
#include "mapper/explore_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESTARTS_MAX 8

bool xring_push(struct xring *ring, struct atlas_ref item, bool front)
{
    if (ring->n == ring->cap) {
        uint32_t cap = ring->cap ? ring->cap * 2 : 64;
        struct atlas_ref *items = malloc(cap * sizeof(*items));

        if (!items)
            return false;
        for (uint32_t i = 0; i < ring->n; i++)
            items[i] = ring->items[(ring->head + i) & (ring->cap - 1)];
        free(ring->items);
        *ring = (struct xring){items, 0, ring->n, cap};
    }
    if (front) {
        ring->head = (ring->head - 1) & (ring->cap - 1);
        ring->items[ring->head] = item;
    } else {
        ring->items[(ring->head + ring->n) & (ring->cap - 1)] = item;
    }
    ring->n++;
    return true;
}

bool xring_pop(struct xring *ring, struct atlas_ref *item)
{
    if (ring->n == 0)
        return false;
    *item = ring->items[ring->head];
    ring->head = (ring->head + 1) & (ring->cap - 1);
    ring->n--;
    return true;
}

void explore_fail(struct explore *x, const char *why)
{
    if (!x->failed)
        errprintf(&x->why, "%s", why);
    x->failed = true;
    x->done = true;
}

void explore_add_doubt(struct explore *x, const char *fmt, ...)
{
    char text[160], **more;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    more = realloc(x->doubts, (x->ndoubts + 1) * sizeof(*more));
    if (!more)
        return;
    x->doubts = more;
    x->doubts[x->ndoubts] = strdup(text);
    if (x->doubts[x->ndoubts])
        x->ndoubts++;
}

static void forget(struct explore *x)
{
    atlas_clear(&x->atlas);
    guess_clear(&x->guess);
    free(x->cases);
    free(x->ready.items);
    for (int i = 0; i <= LEVELS; i++)
        free(x->queues[i].items);
    free(x->stuck.items);
    free(x->unknown.items);
}

/* Ready to explore from nothing. */
static bool begin(struct explore *x)
{
    x->cases = NULL;
    x->ncases = x->cap_cases = 0;
    x->spare_case = ATLAS_NONE;
    memset(&x->ready, 0, sizeof(x->ready));
    memset(x->queues, 0, sizeof(x->queues));
    memset(&x->stuck, 0, sizeof(x->stuck));
    memset(&x->unknown, 0, sizeof(x->unknown));
    memset(x->active, 0, sizeof(x->active));
    memset(x->kinds, 0, sizeof(x->kinds));
    x->active_all = x->closing = 0;
    x->courage = 1;
    x->credit = 0;
    x->compare = (struct xcompare){.rec = ATLAS_NONE};
    x->known_hosts = 0;
    x->round = x->quiet = 0;
    x->late = x->prompt = 0;
    x->retry_found = false;
    x->root_test = TEST_NONE;
    x->root_tries = 0;
    x->check = (struct xcheck){.open = false};
    x->twins =
        (struct xtwins){{0, -x->limits.max_ports}, {0, -x->limits.max_ports}};
    return atlas_init(&x->atlas, x->limits.max_ports, x->wary) &&
           guess_init(&x->guess, x->limits.max_ports);
}

struct explore *explore_new(const struct prober_limits *limits,
                            const struct probe_host *me)
{
    struct explore *x = calloc(1, sizeof(*x));

    if (!x)
        return NULL;
    x->limits = *limits;
    x->me = *me;
    if (x->limits.max_ports < 2)
        x->limits.max_ports = 2;
    if (!x->limits.absolute && x->limits.max_ports > PROBE_PORTS_MAX)
        x->limits.max_ports = PROBE_PORTS_MAX;
    if (x->limits.max_route > PROBE_ROUTE_MAX)
        x->limits.max_route = PROBE_ROUTE_MAX;
    if (!window_init(&x->window, limits) || !begin(x)) {
        explore_free(x);
        return NULL;
    }
    return x;
}

void explore_free(struct explore *x)
{
    if (!x)
        return;
    forget(x);
    window_clear(&x->window);
    for (uint32_t i = 0; i < x->ndoubts; i++)
        free(x->doubts[i]);
    free(x->doubts);
    free(x);
}

/* Two facts contradict each other, or the map does not hold: the fabric
 * changed meanwhile, or two hosts share an address.  The second time hosts'
 * addresses are no longer trusted. */
static bool start_over(struct explore *x)
{
    if (++x->restarts > RESTARTS_MAX) {
        explore_fail(x, "the fabric changes while it is explored");
        return false;
    }
    if (x->restarts > 1)
        x->wary = true;
    x->supposed = false;
    window_abandon(&x->window);
    forget(x);
    if (!begin(x))
        explore_fail(x, "no memory");
    return false;
}

/* A record came nearer to a host: so may its neighbours. */
static void nearer(struct explore *x, uint32_t rec, uint8_t rank)
{
    struct atlas *a = &x->atlas;
    struct atlas_rec *r = &a->recs[rec];

    if (rank >= r->rank)
        return;
    r->rank = rank;
    for (int s = r->lo; s <= r->hi; s++) {
        struct atlas_ref at = {rec, s};
        const struct atlas_slot *slot = atlas_slot(a, at);

        guess_learn(&x->guess, a, at);
        if (slot->state == SLOT_LINK)
            nearer(x, atlas_at(a, slot->far, 0).rec, (uint8_t)(rank + 1));
    }
}

static void take_news(struct explore *x, struct atlas_ref at)
{
    struct atlas *a = &x->atlas;
    const struct atlas_slot *slot = atlas_slot(a, at);
    struct atlas_rec *rec = &a->recs[at.rec];

    if (slot && slot->state == SLOT_HOST) {
        if (!x->wary)
            rec->flags &= (uint8_t)~REC_NEW;
        nearer(x, at.rec, 1);
    }
    if (slot && slot->state == SLOT_LINK) {
        uint32_t far = atlas_at(a, slot->far, 0).rec;
        uint8_t mine = rec->rank, its = a->recs[far].rank;

        if (mine < ATLAS_RANK_NONE - 1)
            nearer(x, far, (uint8_t)(mine + 1));
        if (its < ATLAS_RANK_NONE - 1)
            nearer(x, at.rec, (uint8_t)(its + 1));
    }
    guess_learn(&x->guess, a, at);
    scan_queue_all(x, at.rec, false);
}

bool explore_facts(struct explore *x)
{
    struct atlas *a = &x->atlas;

    if (a->torn)
        return start_over(x);
    for (size_t i = 0; i < a->nnews; i++)
        take_news(x, atlas_at(a, a->news[i].rec, a->news[i].slot));
    a->nnews = 0;
    return !x->failed;
}

static void ends(struct explore *x)
{
    if (x->check.failed) {
        /* Nobody lied if it is the old map that does not hold. */
        if (!x->supposed && x->restarts == 0)
            x->restarts = 1;
        start_over(x);
        return;
    }
    x->done = true;
    explore_doubts(x);
}

bool explore_next(struct explore *x, uint64_t now, struct probe *probe)
{
    struct atlas_ref item;

    while (!x->done) {
        if (window_again(&x->window, now, probe))
            return true;
        if (window_sound(&x->window, now, probe))
            return true;
        if (!window_open(&x->window))
            return false;
        if (x->atlas.nrecs == 0)
            return root_next(x, now, probe);
        if (xring_pop(&x->ready, &item)) {
            memset(probe, 0, sizeof(*probe));
            if (case_send(x, item.rec, probe)) {
                window_send(&x->window, now, probe, item.rec);
                return true;
            }
        } else if (!scan_more(x) && !new_more(x)) {
            if (x->active_all > 0)
                return false;
            if (!x->check.begun)
                round_ends(x);
            else if (!twins_more(x) && !check_more(x))
                ends(x);
        }
    }
    return false;
}

void explore_answer(struct explore *x, uint64_t now,
                    const struct probe_answer *answer)
{
    uint32_t owner;

    if (x->done || !window_answer(&x->window, now, answer->tag, &owner))
        return;
    if (owner == ROOT)
        root_answer(x, answer);
    else
        case_result(x, owner, answer);
}

uint64_t explore_deadline(const struct explore *x)
{
    return x->done ? UINT64_MAX : window_deadline(&x->window);
}

void explore_tick(struct explore *x, uint64_t now)
{
    uint32_t owner;

    while (!x->done && window_expired(&x->window, now, &owner)) {
        if (owner == ROOT)
            root_silent(x);
        else
            case_result(x, owner, NULL);
    }
}

bool explore_done(const struct explore *x)
{
    return x->done;
}

bool explore_failed(const struct explore *x, struct errbuf *err)
{
    if (x->failed)
        errprintf(err, "%s", x->why.text);
    return x->failed;
}
