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
    /* whoever gets no delta pulls the map */
    assert_true(!delta || world_gm2_settled(w));
    world_free(w);
}

static void waits_and_tries_of_each_exchange_are_settable(void **state)
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

/* ---- probes --------------------------------------------------------------
 */

/* Scouts of one search along one way that nobody answers. */
struct probing {
    enum gm2_reason reason;
    uint32_t node;    /* who asks */
    uint8_t back;     /* the way: the last byte home; the host's own port */
    uint32_t session; /* 0: not begun */
    bool over;        /* another search has begun */
    unsigned n;
};

static void count_scouts(struct world *w, uint32_t node, void *body, size_t len)
{
    struct probing *p = w->tap_arg;
    struct gm2_message msg;

    if (node != p->node || gm2_decode(&msg, body, len) < 0 ||
        msg.subtype != GM2_SCOUT || msg.reason != p->reason ||
        msg.scout.back.len != 1 || msg.scout.back.byte[0] != p->back)
        return;
    p->over |= p->session != 0 && msg.session != p->session;
    p->session = msg.session;
    p->n += !p->over;
}

/* From the one host to the other, both on one crossbar; the way back. */
static uint8_t way_back(const struct world *w, uint32_t from, uint32_t to)
{
    int here = (int)net_peer_port(w->net, from, 0);
    int there = (int)net_peer_port(w->net, to, 0);

    return net_route_byte(here - there);
}

static uint8_t verify_tries, scout_tries;

/* Only the leader is quick, so that it alone finds out. */
static void leader_verifies(struct gm2_config *c, uint32_t node, void *arg)
{
    c->verify_tries = verify_tries;
    c->limits.fixed_timers = *(bool *)arg;
    c->scout_wait = 9 * SECOND; /* the tree is of no help */
    if (c->address != NET_BUILD_HOST_ID + 4)
        c->verify_pause = 600 * SECOND;
}

static unsigned tries_of_verify_mode(uint8_t tries, bool fixed)
{
    struct world *w = world_new("line:1:5", 1);
    struct probing p = {.reason = GM2_LX_VERIFYING};
    uint64_t rounds;

    verify_tries = tries;
    world_gm2_all(w, leader_verifies, &fixed);
    assert_true(world_until(w, 60 * SECOND, world_gm2_settled));
    p.node = host(w, 4);
    p.back = way_back(w, p.node, host(w, 0)); /* no partner of the leader's */
    rounds = status(w, p.node).counters.rounds;
    while (status(w, p.node).counters.rounds == rounds) /* to a pause */
        world_run(w, world_now(w) + MS);
    world_kill(w, host(w, 0));
    w->tap = count_scouts;
    w->tap_arg = &p;
    world_run(w, world_now(w) + 5 * SECOND);
    assert_string_equal(w->hosts[p.node].last, "host lost: 00:60:dd:00:00:01");
    world_free(w);
    return p.n;
}

static void tries_of_verify_mode_are_settable(void **state)
{
    for (unsigned fixed = 0; fixed < 2; fixed++) {
        assert_int_equal(tries_of_verify_mode(3, fixed), 3);
        assert_int_equal(tries_of_verify_mode(8, fixed), 8);
    }
}

static void tries_of_scouts(struct gm2_config *c, uint32_t node, void *arg)
{
    c->limits.tries = scout_tries;
    c->limits.fixed_timers = *(bool *)arg;
}

/* Nobody is where h0 could be. */
static unsigned tries_of_exploring(uint8_t tries, bool fixed)
{
    struct world *w = world_new("line:1:2", 1);
    struct probing p = {.reason = GM2_LX_MAPPING, .node = host(w, 1)};

    scout_tries = tries;
    p.back = way_back(w, p.node, host(w, 0));
    w->tap = count_scouts;
    w->tap_arg = &p;
    world_gm2(w, p.node, tries_of_scouts, &fixed);
    assert_true(world_until(w, 20 * SECOND, everybody_is_valid));
    world_free(w);
    return p.n;
}

/* With learnt timers it is at least as often as losses ask for, 24 here. */
static void tries_of_scouts_are_settable(void **state)
{
    assert_int_equal(tries_of_exploring(2, true), 2);
    assert_int_equal(tries_of_exploring(4, true), 4);
    assert_int_equal(tries_of_exploring(30, false), 30);
    assert_int_equal(tries_of_exploring(40, false), 40);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(waits_and_tries_of_each_exchange_are_settable),
    cmocka_unit_test(tries_of_verify_mode_are_settable),
    cmocka_unit_test(tries_of_scouts_are_settable),
};

const struct suite gm2_tries = SUITE(tests);
