/* SPDX-License-Identifier: BSD-3-Clause
 * GM-2 mappers: the table of states, and what strangers say, on small fabrics
 * in virtual time; the other files of the program have the rest.  Dozens of
 * mappers under faults: tests/sim/sim_gm2.c.
 */
#include "gm2_util.h"

/* ---- the table ----------------------------------------------------------- */

static void states_and_events_have_names(void **state)
{
    for (int s = 0; s < GM2_NSTATES; s++)
        assert_string_not_equal(gm2_state_name(s), "?");
    for (int e = 0; e < GM2_NEVENTS; e++)
        assert_string_not_equal(gm2_event_name(e), "?");
}

static void nothing_leads_out_of_the_end(void **state)
{
    for (int e = 0; e < GM2_NEVENTS; e++)
        assert_int_equal(gm2_next_state(GM2_STATE_ENDED, e, true, true),
                         GM2_NSTATES);
}

static void level_0_never_gets_to_mapping(void **state)
{
    for (int s = 0; s < GM2_NSTATES; s++) {
        for (int e = 0; e < GM2_NEVENTS; e++) {
            enum gm2_state next = gm2_next_state(s, e, false, false);

            if (s != GM2_STATE_MAPPING)
                assert_int_not_equal(next, GM2_STATE_MAPPING);
        }
    }
}

static void edges_are_the_documents(void **state)
{
    static const struct {
        enum gm2_state from;
        enum gm2_event event;
        enum gm2_state to;
    } want[] = {
        {GM2_STATE_MAPPING, GM2_EVENT_MET_HIGHER, GM2_STATE_PASSIVE},
        {GM2_STATE_PASSIVE, GM2_EVENT_PARENT_LOST, GM2_STATE_MAPPING},
        {GM2_STATE_PASSIVE, GM2_EVENT_TOLD_PARENT, GM2_STATE_FETCHING},
        {GM2_STATE_PASSIVE, GM2_EVENT_NEW_MAP, GM2_STATE_FETCHING},
        {GM2_STATE_FETCHING, GM2_EVENT_FETCH_FAILED, GM2_STATE_MAPPING},
        {GM2_STATE_VERIFYING, GM2_EVENT_PARENT_LOST, GM2_STATE_MAPPING},
        {GM2_STATE_VERIFYING, GM2_EVENT_CHANGED, GM2_STATE_PASSIVE},
    };

    for (unsigned i = 0; i < sizeof(want) / sizeof(*want); i++)
        assert_int_equal(
            gm2_next_state(want[i].from, want[i].event, true, false),
            want[i].to);
    assert_int_equal(
        gm2_next_state(GM2_STATE_VERIFYING, GM2_EVENT_CHANGED, true, true),
        GM2_STATE_MAPPING);
}

/* ---- a slow machine --------------------------------------------------------
 */

/* A packet of this fabric takes more than 300 ns to each crossbar. */
static void hardly_wait(struct gm2_config *c, uint32_t node, void *arg)
{
    (void)node;
    (void)arg;
    c->limits.loop_wait = 100;
    c->limits.scout_wait = 200;
    c->limits.min_wait = 50;
}

/* Every answer comes late at first: where daemons seldom run, this is what
 * SwitchTimeout=5 is to them. */
static void a_fabric_slower_than_any_wait_is_mapped_and_stays(void **state)
{
    struct world *w = world_new("line:2:2", 1);
    uint64_t maps;

    world_gm2_all(w, hardly_wait, NULL);
    assert_true(world_until(w, 30 * SECOND, world_gm2_settled));
    world_run(w, world_now(w) + 10 * SECOND);
    maps = status(w, host(w, 3)).counters.maps;
    world_run(w, world_now(w) + 300 * SECOND);
    assert_true(world_gm2_settled(w));
    assert_int_equal(status(w, host(w, 3)).counters.maps, maps);
    world_free(w);
}

/* ---- strangers ----------------------------------------------------------- */

static void gm1_mappers_are_not_there(void **state)
{
    struct world *w = world_new("line:2:4", 1);
    struct gm2_status s;

    for (unsigned i = 0; i < 8; i++) {
        if (i % 2)
            world_gm1(w, host(w, i), NULL, NULL);
        else
            world_gm2(w, host(w, i), NULL, NULL);
    }
    world_run(w, 20 * SECOND);
    s = status(w, host(w, 6));
    assert_true(s.leader);
    assert_int_equal(s.nhosts, 4);
    assert_true(s.counters.dropped_foreign > 0);
    assert_int_equal(gm1_map(w->hosts[host(w, 7)].gm1)->nhosts, 4);
    world_free(w);
}

static void send_nothing(const uint8_t *route, size_t nroute, const void *body,
                         size_t len, void *arg)
{
}

static void any_bytes_do_no_harm(void **state)
{
    static const struct gm2_ops ops = {.send = send_nothing};
    struct net_rng rng = {7};
    struct gm2_config config;
    struct gm2 *m;

    gm2_config_default(&config);
    config.address = NET_BUILD_HOST_ID;
    m = gm2_new(&config, &ops, NULL, 0);
    for (int i = 0; i < 20000; i++) {
        uint8_t body[200];
        size_t len = net_rng_below(&rng, sizeof(body));

        for (size_t k = 0; k < len; k++)
            body[k] = (uint8_t)net_rng_next(&rng);
        if (len > 6 && i % 4) { /* look like one of ours */
            body[0] = 0;
            body[1] = 0x0f;
            body[2] = i % 7 ? 1 : 0;
            body[3] = (uint8_t)(i % 7 ? i % 4 : 0xf0);
            body[4] = 1;
            body[5] = (uint8_t)(i % 7);
        }
        gm2_input(m, (uint64_t)i * MS, body, len);
        gm2_tick(m, (uint64_t)i * MS);
    }
    gm2_free(m);
}

/* Five hosts, so that most crossbars have none and the row that is left is
 * explored through many of them. */
static void a_cable_of_a_ring_put_back_is_mapped_again(void **state)
{
    static const char *const hosts[] = {"h0", "h4", "h8", "h12", "h16"};

    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct world *w =
            world_new(seed % 2 ? "ring:20:1" : "ring:20:1+ids", seed);
        uint32_t x = net_find_name(w->net, "x2"), peer;
        unsigned port = 1, back;

        for (unsigned i = 0; i < 5; i++)
            world_gm2(w, net_find_name(w->net, hosts[i]), NULL, NULL);
        assert_true(world_until(w, 60 * SECOND, world_gm2_settled));
        peer = net_peer_node(w->net, x, port);
        back = net_peer_port(w->net, x, port);
        world_pull(w, x, port);
        assert_true(
            world_until(w, world_now(w) + 60 * SECOND, world_gm2_settled));
        world_run(w, world_now(w) + seed * SECOND);
        world_plug(w, x, port, peer, back);
        assert_false(world_gm2_settled(w));
        assert_true(
            world_until(w, world_now(w) + 60 * SECOND, world_gm2_settled));
        world_free(w);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(states_and_events_have_names),
    cmocka_unit_test(nothing_leads_out_of_the_end),
    cmocka_unit_test(level_0_never_gets_to_mapping),
    cmocka_unit_test(edges_are_the_documents),
    cmocka_unit_test(a_fabric_slower_than_any_wait_is_mapped_and_stays),
    cmocka_unit_test(gm1_mappers_are_not_there),
    cmocka_unit_test(any_bytes_do_no_harm),
    cmocka_unit_test(a_cable_of_a_ring_put_back_is_mapped_again),
};

int main(void)
{
    static const struct suite here = SUITE(tests);
    const struct suite *const suites[] = {
        &here,       &gm2_election, &gm2_maps,  &gm2_verifying,
        &gm2_spoken, &gm2_offers,   &gm2_ways,  &gm2_stored,
        &gm2_delta,  &gm2_tries,    &gm2_doubt, &gm2_pulled,
    };

    return suites_run("test_gm2", suites, sizeof(suites) / sizeof(*suites));
}
