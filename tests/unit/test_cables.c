/* SPDX-License-Identifier: BSD-3-Clause
 * Cables between crossbars: what is lost, what falls.  One cable is there;
 * frames with an odd tag cross it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mapper/cables.h"
#include "net/build.h"
#include "net/rng.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

struct world {
    struct net *net;
    struct cables *c;
    struct net_rng rng;
    uint32_t me;
    uint64_t now;
    uint64_t period, down; /* the cable is down at the end of each period */
    double loss;           /* of a crossing */
};

static int up(void **state)
{
    static struct world w;
    struct errbuf err;

    w = (struct world){.rng = {7}, .now = SECOND};
    w.net = net_build_named("line:2:1+ids", &err);
    assert_non_null(w.net);
    w.c = cables_new(1);
    assert_non_null(w.c);
    w.me = net_find_name(w.net, "h0");
    assert_int_not_equal(w.me, NET_NONE);
    assert_true(cables_begin(w.c, w.net, w.me, w.now));
    *state = &w;
    return 0;
}

static int down(void **state)
{
    struct world *w = *state;

    cables_free(w->c);
    net_free(w->net);
    return 0;
}

static bool crosses(struct world *w)
{
    return (!w->period || w->now % w->period < w->period - w->down) &&
           !net_rng_chance(&w->rng, w->loss) &&
           !net_rng_chance(&w->rng, w->loss);
}

static void pass(struct world *w, uint64_t time)
{
    struct cables_frame f;

    for (uint64_t end = w->now + time; w->now < end; w->now += MS) {
        if (cables_deadline(w->c) > w->now)
            continue;
        cables_tick(w->c, w->now);
        while (cables_next(w->c, &f))
            if (!(f.tag & 1) || crosses(w))
                cables_back(w->c, f.tag);
    }
}

/* The global port of the cable, at either end. */
static uint32_t the_cable(const struct world *w)
{
    for (uint32_t p = 0; p < w->net->nports; p++) {
        uint32_t q = w->net->ports[p].peer;

        if (q != NET_NONE && !net_is_host(w->net, w->net->ports[p].node) &&
            !net_is_host(w->net, w->net->ports[q].node))
            return p;
    }
    return NET_NONE;
}

static uint32_t falls(const struct world *w)
{
    return cables_falls(w->c, the_cable(w));
}

static uint32_t lost(const struct world *w)
{
    return cables_lost(w->c, the_cable(w));
}

static void a_good_cable_neither_loses_nor_falls(void **state)
{
    struct world *w = *state;

    pass(w, 3600 * SECOND);
    assert_int_equal(falls(w), 0);
    assert_int_equal(lost(w), 0);
}

static void a_cable_that_flaps_falls_and_does_not_lose(void **state)
{
    static const uint64_t periods[] = {100 * MS, 200 * MS, 500 * MS, SECOND};
    struct world *w = *state;

    for (unsigned i = 0; i < 8; i++) {
        uint32_t had = falls(w);

        w->period = periods[i % 4];
        w->down = w->period / (i < 4 ? 2 : 10);
        pass(w, 60 * SECOND);
        assert_true(falls(w) >= had + 4);
        assert_int_equal(lost(w), 0);
    }
}

static void a_cable_that_loses_does_not_fall(void **state)
{
    struct world *w = *state;

    w->loss = 0.1;
    pass(w, 300 * SECOND);
    assert_int_equal(falls(w), 0);
    assert_in_range(lost(w), 50000, 150000);
}

/* Without the time after the fall this would be a twentieth of frames lost. */
static void one_fall_is_no_loss(void **state)
{
    struct world *w = *state;

    pass(w, 10 * SECOND);
    w->period = 1000 * SECOND;
    w->down = w->period - w->now % w->period;
    pass(w, 5 * SECOND);
    w->period = 0;
    assert_int_equal(falls(w), 0); /* it is dead, as far as anybody knows */
    pass(w, 60 * SECOND);
    assert_int_equal(falls(w), 1);
    assert_int_equal(lost(w), 0);
}

static void falls_are_kept_from_map_to_map(void **state)
{
    struct world *w = *state;

    w->period = 100 * MS;
    w->down = 50 * MS;
    for (unsigned i = 0; i < 200; i++) { /* each lasts less than a look */
        pass(w, 700 * MS);
        cables_stop(w->c);
        assert_false(cables_began(w->c));
        assert_int_equal(falls(w), 0); /* of no map */
        assert_int_equal(cables_deadline(w->c), UINT64_MAX);
        assert_true(cables_begin(w->c, w->net, w->me, w->now));
    }
    assert_true(falls(w) > 50);
    cables_stop(w->c);
    for (uint32_t i = 0; i < w->net->nnodes; i++)
        if (!net_is_host(w->net, i))
            w->net->nodes[i].id += 100; /* others */
    assert_true(cables_begin(w->c, w->net, w->me, w->now));
    assert_int_equal(falls(w), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_good_cable_neither_loses_nor_falls,
                                        up, down),
        cmocka_unit_test_setup_teardown(
            a_cable_that_flaps_falls_and_does_not_lose, up, down),
        cmocka_unit_test_setup_teardown(a_cable_that_loses_does_not_fall, up,
                                        down),
        cmocka_unit_test_setup_teardown(one_fall_is_no_loss, up, down),
        cmocka_unit_test_setup_teardown(falls_are_kept_from_map_to_map, up,
                                        down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
