/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a sweep over an InfiniBand fabric asks, and what it makes of answers: by
 * simulated agents, which have 64-bit counters or have not, lose questions, and
 * lie.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mapperd/ib_sweep.h"
#include "umad_sim.h"

enum { N0, N1, N2, LEAF0, LEAF1 };
/* Those of hosts and switches, and two switches themselves. */
#define NPORTS (3 + 4 + 4 + 2)

struct world {
    struct umad_sim sim;
    struct ib_port io;
    struct ib_sweep sweep;
    struct net *map;
};

static uint8_t port_of(uint32_t node, void *arg)
{
    (void)node;
    (void)arg;
    return 1;
}

/* n0, n1 on leaf0 (ports 1, 2), n2 on leaf1; a cable of both (4 and 4). */
static int up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    struct errbuf err;

    w->map = net_new();
    net_add_host(w->map, "n0", 0x10);
    net_add_host(w->map, "n1", 0x11);
    net_add_host(w->map, "n2", 0x12);
    net_add_xbar(w->map, "leaf0", 4, 0x20);
    net_add_xbar(w->map, "leaf1", 4, 0x21);
    assert_true(net_connect(w->map, N0, 0, LEAF0, 0));
    assert_true(net_connect(w->map, N1, 0, LEAF0, 1));
    assert_true(net_connect(w->map, N2, 0, LEAF1, 0));
    assert_true(net_connect(w->map, LEAF0, 3, LEAF1, 3));
    w->sim.map = w->map;
    umad_sim = &w->sim;
    assert_int_equal(ib_port_open(&w->io, NULL, 0, &err), 0);
    w->sweep.io = &w->io;
    assert_int_equal(ib_sweep_map(&w->sweep, w->map, N0, port_of, NULL), 0);
    *state = w;
    return 0;
}

static int down(void **state)
{
    struct world *w = *state;

    ib_sweep_free(&w->sweep);
    ib_port_close(&w->io);
    net_free(w->map);
    free(w);
    return 0;
}

static void sweep(struct world *w)
{
    assert_int_equal(ib_sweep_ports(&w->sweep), 0);
    assert_int_equal(ib_sweep_counters(&w->sweep), 0);
}

static const struct ib_ask *asked(const struct ib_poll *p, uint32_t node,
                                  uint8_t port)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->asks[i].node == node && p->asks[i].port == port)
            return &p->asks[i];
    fail_msg("node %u port %u was not asked", node, port);
    return NULL;
}

static void every_port_is_asked_and_those_with_a_link_for_counters(void **state)
{
    struct world *w = *state;

    sweep(w);
    assert_int_equal(w->sweep.ports.n, NPORTS);
    assert_int_equal(w->sweep.ports_stats.silent, 0);
    assert_int_equal(asked(&w->sweep.ports, LEAF0, 2)->info.state, SMP_ACTIVE);
    assert_int_equal(asked(&w->sweep.ports, LEAF0, 3)->info.physical, 2);
    assert_int_equal(w->sweep.counters.n, 8);
    assert_int_equal(asked(&w->sweep.counters, LEAF1, 4)->lid, LEAF1 + 1);
    assert_int_equal(w->sim.sets, 0); /* nothing is cleared */
}

/* Once it is known what an agent offers it is one question for each port. */
static void agents_are_asked_once_what_they_offer(void **state)
{
    struct world *w = *state;

    w->sim.node[LEAF0].has_no_info = true;
    sweep(w);
    assert_int_equal(w->sim.class_infos, 5);
    w->sim.gets = 0;
    sweep(w);
    assert_int_equal(w->sim.class_infos, 5);
    assert_int_equal(w->sim.gets, 8);
}

static void counters_of_64_bits_are_read_where_they_are_offered(void **state)
{
    struct world *w = *state;
    const struct pma_counters *c;

    w->sim.node[LEAF0].extended = w->sim.node[LEAF0].errors = true;
    w->sim.node[LEAF1].extended = true; /* packets and bytes alone */
    for (int i = 0; i < TALLY_PORT_COUNTERS; i++)
        for (int port = 1; port <= 4; port++)
            w->sim.node[LEAF0].counted[port][i] =
                w->sim.node[LEAF1].counted[port][i] =
                    5000000000u + (unsigned)(port * 10 + i);
    sweep(w);
    c = &asked(&w->sweep.counters, LEAF0, 2)->counters;
    for (int i = 0; i < TALLY_PORT_COUNTERS; i++) {
        assert_int_equal(c->value[i], 5000000000u + (unsigned)(20 + i));
        assert_false(c->full[i]);
    }
    c = &asked(&w->sweep.counters, LEAF1, 1)->counters;
    for (int i = 0; i < TALLY_PORT_COUNTERS; i++)
        assert_true(c->full[i]); /* blind */
    assert_int_equal(c->value[TALLY_LINK_DOWNED], 255);
    assert_int_equal(w->sim.wide, 3);
}

static void small_counters_are_read_each_in_its_place(void **state)
{
    struct world *w = *state;
    const struct pma_counters *c;

    for (int i = 0; i < TALLY_PORT_COUNTERS; i++)
        w->sim.node[N1].counted[1][i] = 5u + (unsigned)i;
    sweep(w);
    c = &asked(&w->sweep.counters, N1, 1)->counters;
    for (int i = 0; i < TALLY_PORT_COUNTERS; i++) {
        assert_int_equal(c->value[i], 5 + i);
        assert_false(c->full[i]);
    }
}

/* Only when it is wanted, and of small counters alone. */
static void full_counters_begin_anew_when_the_site_says_so(void **state)
{
    struct world *w = *state;

    w->sim.node[N1].counted[1][TALLY_LINK_DOWNED] = 300;
    w->sim.node[N1].counted[1][TALLY_SYMBOL_ERROR] = 7;
    w->sim.node[LEAF0].extended = w->sim.node[LEAF0].errors = true;
    w->sim.node[LEAF0].counted[1][TALLY_LINK_DOWNED] = 300;
    sweep(w);
    sweep(w);
    assert_int_equal(w->sim.sets, 0);
    w->sweep.clear_full = true;
    sweep(w);
    assert_int_equal(w->sim.sets, 1);
    assert_int_equal(w->sim.last_select, 1u << 2); /* LinkDowned */
    sweep(w);
    assert_int_equal(w->sim.sets, 1);
    assert_int_equal(
        asked(&w->sweep.counters, N1, 1)->counters.value[TALLY_LINK_DOWNED], 0);
}

static void what_is_lost_is_asked_again(void **state)
{
    struct world *w = *state;

    w->sim.lose = 5;
    sweep(w);
    assert_int_equal(w->sweep.ports_stats.silent, 0);
    assert_int_equal(w->sweep.ports_stats.mads, NPORTS + 5);
    w->sim.node[LEAF1].dead = true;
    sweep(w);
    assert_int_equal(w->sweep.ports_stats.silent, 5 + 1);
    assert_false(asked(&w->sweep.ports, N2, 1)->answered);
    assert_int_equal(asked(&w->sweep.ports, LEAF0, 4)->info.state, SMP_DOWN);
}

static void no_more_are_in_flight_than_the_window(void **state)
{
    struct world *w = *state;

    w->sweep.window = 3;
    sweep(w);
    assert_int_equal(w->sim.most_in_flight, 3);
}

static void forwarding_tables_are_read_of_switches_among_switches(void **state)
{
    struct world *w = *state;
    const struct ib_ask *a;

    w->sim.node[LEAF0].routes[N2 + 1] = 4;
    sweep(w);
    assert_int_equal(ib_sweep_routes(&w->sweep, 5), 0);
    assert_int_equal(w->sweep.routes.n, 2); /* a block each */
    a = asked(&w->sweep.routes, LEAF0, 0);
    assert_true(a->answered);
    assert_int_equal(a->routes[N2 + 1], 4);
    assert_int_equal(ib_sweep_routes(&w->sweep, 6), 0);
    assert_int_equal(w->sweep.routes.n, 0);
    assert_int_equal(ib_sweep_routes(&w->sweep, 5 + IB_ROUTES_NS), 0);
    assert_int_equal(w->sweep.routes.n, 2);
}

/* ---- lies ---------------------------------------------------------------- */

enum lie {
    ANOTHER_PORT,
    ANOTHER_TID,
    ANOTHER_ATTRIBUTE,
    AN_ERROR,
    A_QUESTION,
    ANOTHER_CLASS,
    NOISE,
    NLIES
};

static void spoil(uint8_t *mad, void *arg)
{
    static uint32_t seed = 1;

    if (mad[1] != PMA_CLASS)
        return;
    switch (*(enum lie *)arg) {
    case ANOTHER_PORT:
        mad[65]++;
        break;
    case ANOTHER_TID:
        mad[13] ^= 1;
        break;
    case ANOTHER_ATTRIBUTE:
        mad[17] = mad[17] == 0x12 ? 0x1d : 0x12;
        break;
    case AN_ERROR:
        mad[4] = 1;
        break;
    case A_QUESTION:
        mad[3] = 1;
        break;
    case ANOTHER_CLASS:
        mad[1] = 0x81;
        break;
    default:
        for (int i = 0; i < SMP_SIZE; i++)
            mad[i] = (uint8_t)((seed = seed * 1103515245 + 12345) >> 16);
        break;
    }
}

static void no_lie_is_taken_for_a_counter(void **state)
{
    struct world *w = *state;

    w->sim.spoil = spoil;
    for (enum lie lie = 0; lie < NLIES; lie++) {
        w->sim.arg = &lie;
        sweep(w);
        assert_int_equal(w->sweep.ports_stats.silent, 0);
        assert_int_equal(w->sweep.counters.n, 8);
        for (size_t i = 0; i < w->sweep.counters.n; i++)
            assert_false(w->sweep.counters.asks[i].answered);
    }
    w->sim.spoil = NULL;
    sweep(w);
    assert_true(asked(&w->sweep.counters, N1, 1)->answered);
}

#define SWEEP_TEST(name) cmocka_unit_test_setup_teardown(name, up, down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SWEEP_TEST(every_port_is_asked_and_those_with_a_link_for_counters),
        SWEEP_TEST(agents_are_asked_once_what_they_offer),
        SWEEP_TEST(counters_of_64_bits_are_read_where_they_are_offered),
        SWEEP_TEST(small_counters_are_read_each_in_its_place),
        SWEEP_TEST(full_counters_begin_anew_when_the_site_says_so),
        SWEEP_TEST(what_is_lost_is_asked_again),
        SWEEP_TEST(no_more_are_in_flight_than_the_window),
        SWEEP_TEST(forwarding_tables_are_read_of_switches_among_switches),
        SWEEP_TEST(no_lie_is_taken_for_a_counter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
