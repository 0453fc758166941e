/* SPDX-License-Identifier: BSD-3-Clause
 * GM-2: how long, and how often, mappers ask each other, when it is set.
 */
#include "gm2_util.h"

#define SCOUT_WAIT (13 * MS)
#define PIECE_WAIT (17 * MS)

struct exchange {
    enum gm2_reason reason;
    uint64_t wait;
    unsigned tries;
    uint64_t tag; /* 0: not begun */
    uint32_t node;
    uint64_t at[40];
    unsigned n;
};

static void tune_exchanges(struct gm2_config *c, uint32_t node, void *arg)
{
    (void)node;
    (void)arg;
    c->map_deltas = true;
    c->scout_wait = SCOUT_WAIT;
    c->piece_wait = PIECE_WAIT;
    c->parent_tries = 4;
    c->tree_tries = 5;
    c->piece_tries = 6;
}

/* Counts how often one scout of its reason goes, the first that is not broken
 * off by another event; answers to it are spoilt. */
static void follow(struct world *w, uint32_t node, void *body, size_t len)
{
    struct exchange *x = w->tap_arg;
    struct gm2_message msg;

    if (gm2_decode(&msg, body, len) < 0 || msg.reason != x->reason)
        return;
    if (msg.subtype != GM2_SCOUT) {
        ((uint8_t *)body)[2] = 0x7f; /* a subtype of nobody */
        return;
    }
    if (x->tag == 0)
        x->node = node;
    if (node != x->node)
        return;
    if (msg.tag != x->tag) {
        if (x->n >= x->tries)
            return;
        x->tag = msg.tag;
        x->n = 0;
    }
    assert_true(x->n < sizeof(x->at) / sizeof(x->at[0]));
    x->at[x->n++] = world_now(w);
}

static void try_exchange(struct exchange *x)
{
    bool delta = x->reason == GM2_LX_QUERYING_MAP_DELTA;
    struct world *w = world_new(delta ? "line:1:3" : "line:1:2", 1);

    world_gm2_all(w, tune_exchanges, NULL);
    if (delta) { /* it wants a map to begin at */
        assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
        world_kill(w, host(w, 0));
    }
    w->tap = follow;
    w->tap_arg = x;
    world_run(w, world_now(w) + 10 * SECOND);
    assert_int_equal(x->n, x->tries);
    for (unsigned i = 1; i < x->n; i++)
        assert_int_equal(x->at[i] - x->at[i - 1], x->wait);
    world_free(w);
}

static void g2_33_waits_and_tries_of_each_exchange_are_settable(void **state)
{
    struct exchange all[] = {
        {.reason = GM2_LX_VERIFYING, .wait = SCOUT_WAIT, .tries = 4},
        {.reason = GM2_LX_TREE, .wait = SCOUT_WAIT, .tries = 5},
        {.reason = GM2_LX_QUERYING_MAP_PIECE, .wait = PIECE_WAIT, .tries = 6},
        {.reason = GM2_LX_QUERYING_MAP_DELTA, .wait = PIECE_WAIT, .tries = 6},
    };

    for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++)
        try_exchange(&all[i]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(g2_33_waits_and_tries_of_each_exchange_are_settable),
};

const struct suite gm2_tries = SUITE(tests);
