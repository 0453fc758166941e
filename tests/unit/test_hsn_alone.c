/* SPDX-License-Identifier: BSD-3-Clause
 * A board that nobody hears: silence, loss, a dead sender, and what is no
 * proof.  A fabric of boards that answer, or do not, in looks of virtual time.
 */
#include "hsn/alone.h"
#include "hsn_util.h"

enum { PEERS = 40, NEIGHBOURS = 3, WAYS = 2 };

struct world {
    struct hsn_routes r;
    struct hsn_alone x;
    uint64_t packets; /* received by others' doing */
    bool dead[PEERS]; /* peers that do not answer */
    bool deaf, mute;  /* nothing comes in, nothing goes out */
    unsigned loss;    /* percent of asks without an answer */
    uint32_t seed;
    unsigned asked, others;
    bool coming; /* an answer is under way */
    unsigned changes;
};

static struct world *world_new(unsigned npeers)
{
    struct world *w = calloc(1, sizeof(*w));
    struct hsn_peer peer[PEERS];

    memset(peer, 0, sizeof(peer));
    for (unsigned i = 0; i < npeers; i++) {
        peer[i].address = 2 + i;
        peer[i].neighbour = i < NEIGHBOURS;
        peer[i].nroutes = WAYS;
        for (int k = 0; k < WAYS; k++)
            peer[i].route[k] = (struct hsn_route){2, {0x81 + k, 0x81}};
    }
    assert_int_equal(hsn_routes_make(&w->r, peer, npeers, NULL, NULL), 0);
    w->x.board = 1;
    w->seed = 1;
    return w;
}

static void world_free(struct world *w)
{
    hsn_routes_free(&w->r);
    free(w);
}

static unsigned draw(struct world *w)
{
    w->seed = w->seed * 1664525 + 1013904223;
    return (w->seed >> 16) % 100;
}

static void ask(void *arg, uint64_t board, uint8_t by, uint64_t number)
{
    struct world *w = arg;

    assert_true(by >= 1 && by <= WAYS);
    assert_true(number & HSN_ALONE_NUMBER);
    w->asked++;
    w->others += board >= 2 + NEIGHBOURS;
    if (!w->deaf && !w->mute && !w->dead[board - 2] && draw(w) >= w->loss)
        w->coming = true;
}

/* One look; what was asked is answered before the next. */
static bool look(struct world *w)
{
    w->asked = w->others = 0;
    w->changes += hsn_alone_look(&w->x, &w->r, w->packets, ask, w);
    if (w->coming)
        w->changes += hsn_alone_answer(&w->x);
    w->packets += w->coming;
    w->coming = false;
    return w->x.alone;
}

/* Somebody has answered. */
static struct world *world_that_is_well(unsigned npeers)
{
    struct world *w = world_new(npeers);

    hsn_alone_answer(&w->x);
    assert_false(look(w));
    return w;
}

static unsigned looks_until_alone(struct world *w)
{
    for (unsigned n = 1; n <= 20; n++) {
        if (look(w))
            return n;
    }
    return 0;
}

static void a_pulled_cable_is_told_within_a_second(void **state)
{
    struct world *w = world_that_is_well(PEERS);

    w->deaf = true;
    assert_int_equal(looks_until_alone(w), HSN_ALONE_LOOKS);
    assert_true(HSN_ALONE_LOOKS * HSN_ALONE_LOOK_NS <= 1000000000);
    assert_int_equal(w->changes, 1);
    for (int i = 0; i < 20; i++)
        look(w);
    assert_int_equal(w->changes, 1); /* told once */
    w->deaf = false;
    assert_false(look(w) && look(w)); /* and back with the first answer */
    assert_int_equal(w->changes, 2);
    world_free(w);
}

static void while_packets_come_nobody_is_asked(void **state)
{
    struct world *w = world_that_is_well(PEERS);

    for (int i = 0; i < 100; i++) {
        w->packets++;
        assert_false(look(w));
        assert_int_equal(w->asked, 0);
    }
    world_free(w);
}

/* Only after a whole silence, or a round without answers, do they prove
 * nothing any more. */
static void packets_end_a_short_silence(void **state)
{
    struct world *w = world_that_is_well(PEERS);

    w->mute = true;
    for (int i = 0; i < HSN_ALONE_LOOKS - 1; i++)
        assert_false(look(w));
    for (int i = 0; i < 100; i++) {
        w->packets++;
        assert_false(look(w));
    }
    world_free(w);
}

static void a_quiet_network_is_not_dead(void **state)
{
    struct world *w = world_that_is_well(PEERS);
    unsigned asked = 0;

    for (int i = 0; i < 1000; i++) {
        assert_false(look(w));
        asked += w->asked;
        assert_int_equal(w->others, 0); /* neighbours were enough */
    }
    assert_true(asked > 0);
    world_free(w);
}

/* A minute of looks at a network that loses 20 of 100, and all is idle. */
static void loss_makes_nobody_alone(void **state)
{
    struct world *w = world_that_is_well(PEERS);

    w->loss = 20;
    for (int i = 0; i < 100000; i++)
        assert_false(look(w));
    world_free(w);
}

static void neighbours_that_are_off_together_are_no_proof(void **state)
{
    struct world *w = world_that_is_well(PEERS);

    for (int i = 0; i < NEIGHBOURS; i++)
        w->dead[i] = true;
    assert_int_equal(looks_until_alone(w), 0);
    world_free(w);
}

/* It hears well: packets of others arrive all the time. */
static void a_dead_sender_shows_by_a_round_without_answers(void **state)
{
    struct world *w = world_that_is_well(PEERS);

    w->mute = true;
    for (int i = 0; i < 20; i++) {
        w->packets++;
        assert_false(look(w));
    }
    for (unsigned i = 0; i < NEIGHBOURS; i++)
        w->r.peers[i].state.silent = true;
    hsn_alone_round(&w->x, &w->r);
    for (unsigned i = 1; i <= HSN_ALONE_LOOKS; i++) {
        w->packets++;
        assert_int_equal(look(w), i == HSN_ALONE_LOOKS);
    }
    w->packets++;
    assert_true(look(w)); /* what it hears is no answer */
    w->mute = false;
    look(w);
    assert_false(w->x.alone);
    world_free(w);
}

static void one_neighbour_that_answers_is_enough(void **state)
{
    struct world *w = world_that_is_well(PEERS);

    w->r.peers[0].state.silent = w->r.peers[1].state.silent = true;
    hsn_alone_round(&w->x, &w->r);
    w->packets++;
    assert_false(look(w));
    assert_int_equal(w->asked, 0);
    world_free(w);
}

/* At the start of a cluster the others have no routes yet to answer by. */
static void who_never_had_an_answer_says_nothing(void **state)
{
    struct world *w = world_new(PEERS);

    w->deaf = true;
    assert_int_equal(looks_until_alone(w), 0);
    world_free(w);
}

static void without_peers_nobody_is_alone(void **state)
{
    struct world *w = world_that_is_well(2);
    struct hsn_peer me = {.address = 1, .nroutes = 1};

    w->deaf = true;
    assert_int_equal(looks_until_alone(w), HSN_ALONE_LOOKS);
    hsn_routes_free(&w->r); /* a map with nobody else */
    assert_int_equal(hsn_routes_make(&w->r, &me, 1, NULL, NULL), 0);
    assert_false(look(w));
    assert_int_equal(w->changes, 2);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pulled_cable_is_told_within_a_second),
        cmocka_unit_test(while_packets_come_nobody_is_asked),
        cmocka_unit_test(packets_end_a_short_silence),
        cmocka_unit_test(a_quiet_network_is_not_dead),
        cmocka_unit_test(loss_makes_nobody_alone),
        cmocka_unit_test(neighbours_that_are_off_together_are_no_proof),
        cmocka_unit_test(a_dead_sender_shows_by_a_round_without_answers),
        cmocka_unit_test(one_neighbour_that_answers_is_enough),
        cmocka_unit_test(who_never_had_an_answer_says_nothing),
        cmocka_unit_test(without_peers_nobody_is_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
