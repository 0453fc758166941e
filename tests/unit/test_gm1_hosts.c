/* SPDX-License-Identifier: BSD-3-Clause
 * What GM-1 hosts get: gmIDs, Configs, the members of clouds.
 */
#include "gm1_util.h"

/* ---- gmIDs --------------------------------------------------------------- */

static void conflicts_of_gmids_are_reset(void **state)
{
    struct world *w = world_new("line:2:3", 1);
    uint32_t a = net_peer_node(w->net, host(w, 0), 0), b;
    unsigned port = 0, back;
    bool seen[10] = {false};

    for (unsigned i = 0; i < 6; i++)
        world_gm1(w, host(w, i), level_1, NULL);
    while (w->net->nodes[net_peer_node(w->net, a, port)].kind != NET_XBAR)
        port++;
    b = net_peer_node(w->net, a, port);
    back = net_peer_port(w->net, a, port);
    world_pull(w, a, port); /* two islands, each with gmIDs from 1 on */
    world_run(w, 10 * SECOND);
    assert_int_equal(active(w), 2);
    assert_int_equal(
        state_of(w, 0).gmid + state_of(w, 1).gmid + state_of(w, 2).gmid, 6);
    world_plug(w, a, port, b, back);
    world_run(w, world_now(w) + 20 * SECOND);
    assert_int_equal(active(w), 1);
    assert_int_equal(status(w, 5).counters.resets, 3);
    for (unsigned i = 0; i < 6; i++) {
        uint16_t gmid = state_of(w, i).gmid;

        assert_in_range(gmid, 1, 6);
        assert_false(seen[gmid]);
        seen[gmid] = true;
    }
    assert_true(all_configured(w));
    world_free(w);
}

/* Host i has been elsewhere, and has a gmID from there. */
static void was_elsewhere(struct world *w, unsigned i, uint16_t gmid)
{
    const struct gm1_message msg = {.subtype = GM1_CONFIG,
                                    .config = {.back = {1, {0x81}},
                                               .address = NET_BUILD_HOST_ID + i,
                                               .mapper = NET_BUILD_HOST_ID + 77,
                                               .gmid = gmid,
                                               .version = 1}};
    uint8_t body[GM1_CONFIG_SIZE];

    hostside_input(w->hosts[host(w, i)].side, body,
                   gm1_encode(body, sizeof(body), &msg));
    assert_int_equal(state_of(w, i).gmid, gmid);
}

/* Members of clouds cannot be reset, so it is the host that gets another. */
static void a_member_keeps_its_gmid(void **state)
{
    struct world *w = cloud_world(3);
    const struct gm1_entry *member;
    uint16_t gmid;

    world_kill(w, host(w, 2));
    world_gm1(w, host(w, 3), fast, NULL);
    assert_true(world_until(w, 8 * SECOND, all_configured));
    gmid = hostside_find(side(w, 0), 0x020000000001)->gmid;
    assert_int_not_equal(gmid, 0);
    world_host(w, host(w, 2), NULL);
    was_elsewhere(w, 2, gmid);
    world_run(w, world_now(w) + 8 * SECOND);
    assert_true(all_configured(w));
    member = hostside_find(side(w, 0), 0x020000000001);
    assert_int_equal(member->gmid, gmid);
    assert_int_not_equal(state_of(w, 2).gmid, gmid);
    world_free(w);
}

/* ---- configuration ------------------------------------------------------- */

static void mute_hosts_are_left_until_the_next_mapping(void **state)
{
    struct world *w = one_mapper("line:2:3", fast);
    bool others = true;

    /* It answers scouts but its acknowledgements get lost: everything that
     * it says is dropped once the exploration is over. */
    while (status(w, 5).state != GM1_STATE_CONFIGURING &&
           world_now(w) < 5 * SECOND)
        world_run(w, world_now(w) + 500);
    swfab_set_host_mute(w->fab, host(w, 2), true);
    world_run(w, world_now(w) + SECOND);
    for (unsigned i = 0; i < 6; i++)
        if (i != 2)
            others &= state_of(w, i).complete;
    assert_true(others);
    assert_int_equal(status(w, 5).unconfigured, 1);
    swfab_set_host_mute(w->fab, host(w, 2), false);
    world_run(w, world_now(w) + 8 * SECOND);
    assert_true(all_configured(w));
    assert_int_equal(status(w, 5).unconfigured, 0);
    world_free(w);
}

static void in_order(struct gm1_options *c, uint32_t node, void *arg)
{
    learnt(c, node, arg);
    c->in_order = true;
}

/* Whose acknowledgements get lost gets each Config, of two, four times; or,
 * one at a time, the first four times and no other. */
static void try_two_configs(world_gm1_f *tune, unsigned least, unsigned most)
{
    struct world *w = one_mapper("clos:8x8:1x4:1x2", tune);

    run_to(w, 63, GM1_STATE_CONFIGURING);
    swfab_set_host_mute(w->fab, host(w, 5), true);
    world_run(w, world_now(w) + 5 * SECOND);
    assert_int_equal(status(w, 63).unconfigured, 1);
    assert_in_range(hostside_counters(side(w, 5))->configs, least, most);
    assert_int_equal(state_of(w, 0).nentries, 64);
    world_free(w);
}

static void configs_one_at_a_time(void **state)
{
    try_two_configs(in_order, 4, 4);
    try_two_configs(learnt, 5, 8);
}

/* Virtual time: exactly then. */
static void configs_go_again_each_10_ms_three_times(void **state)
{
    struct world *w = one_mapper("line:1:2", learnt);
    uint64_t start;

    run_to(w, 1, GM1_STATE_CONFIGURING);
    start = world_now(w);
    swfab_set_host_mute(w->fab, host(w, 0), true);
    for (unsigned i = 0; i < 4; i++) {
        world_run(w, start + i * 10 * MS + MS);
        assert_int_equal(hostside_counters(side(w, 0))->configs, i + 1);
        world_run(w, start + i * 10 * MS + 9 * MS);
        assert_int_equal(hostside_counters(side(w, 0))->configs, i + 1);
    }
    world_run(w, start + SECOND);
    assert_int_equal(hostside_counters(side(w, 0))->configs, 4);
    world_free(w);
}

static void minimal_node_gets_one_config(void **state)
{
    const struct hostside_config minimal = {.minimal = true};
    struct world *w = world_new("line:2:3", 1);

    for (unsigned i = 0; i < 5; i++)
        world_host(w, host(w, i), i == 1 ? &minimal : NULL);
    world_gm1(w, host(w, 5), fast, NULL);
    assert_true(world_until(w, 8 * SECOND, all_configured));
    assert_int_equal(state_of(w, 1).nentries, 0);
    assert_int_equal(hostside_counters(side(w, 1))->configs, 1);
    world_run(w, 20 * SECOND); /* nothing more is wanted of it */
    assert_int_equal(hostside_counters(side(w, 1))->configs, 1);
    assert_int_equal(status(w, 5).counters.explorations, 1);
    world_free(w);
}

/* Where the others get two. */
static void a_minimal_node_of_many_gets_one_config(void **state)
{
    const struct hostside_config minimal = {.minimal = true};
    struct world *w = one_mapper("clos:8x8:1x4:1x2", learnt);

    world_host(w, host(w, 1), &minimal);
    assert_true(world_until(w, 8 * SECOND, all_configured));
    assert_int_equal(hostside_counters(side(w, 0))->configs, 2);
    assert_int_equal(hostside_counters(side(w, 1))->configs, 1);
    world_free(w);
}

/* Its replies have option 3: both bits of options that are defined. */
static void spoil_options(struct world *w, uint32_t node, void *body,
                          size_t len)
{
    struct gm1_message msg;

    if (node != host(w, 1) || gm1_decode(&msg, body, len) < 0 ||
        msg.subtype != GM1_REPLY)
        return;
    msg.reply.option = 3;
    assert_int_equal(gm1_encode(body, len, &msg), len);
}

static void an_undefined_option_gets_all_configs(void **state)
{
    struct world *w = one_mapper("clos:8x8:1x4:1x2", learnt);

    w->tap = spoil_options;
    assert_true(world_until(w, 8 * SECOND, all_configured));
    assert_int_equal(state_of(w, 1).nentries, 64);
    assert_int_equal(hostside_counters(side(w, 1))->configs, 2);
    world_free(w);
}

/* ---- clouds -------------------------------------------------------------- */

static void members_reach_every_host(void **state)
{
    struct world *w = cloud_world(500);
    struct gm1_status s;

    world_gm1(w, host(w, 3), fast, NULL);
    assert_true(world_until(w, 8 * SECOND, all_configured));
    s = status(w, 3);
    assert_int_equal(s.nmembers, 500);
    assert_int_equal(s.counters.queries, 2);
    for (unsigned i = 0; i < 4; i++) {
        const struct gm1_entry *gate =
            hostside_find(side(w, i), NET_BUILD_HOST_ID + 1);

        assert_int_equal(state_of(w, i).nentries, 504);
        for (uint32_t k = 0; k < 500; k += 7) {
            const struct gm1_entry *e =
                hostside_find(side(w, i), 0x020000000000 + k);

            assert_non_null(e);
            assert_int_equal(e->control, k);
            assert_int_not_equal(e->gmid, 0);
            assert_string_equal(e->name, "");
            assert_int_equal(e->route.len, gate->route.len);
            assert_memory_equal(e->route.byte, gate->route.byte, e->route.len);
        }
    }
    world_run(w, 20 * SECOND);
    assert_int_equal(status(w, 3).counters.explorations, 1);
    world_free(w);
}

struct asked {
    uint32_t first[4], nhosts[4];
    unsigned n;
};

static void hear_queries(struct world *w, uint32_t node, void *body, size_t len)
{
    struct asked *asked = w->tap_arg;
    struct gm1_message msg;

    if (gm1_decode(&msg, body, len) < 0 || msg.subtype != GM1_CLOUD_QUERY)
        return;
    assert_true(asked->n < 4);
    asked->first[asked->n] = msg.query.first;
    asked->nhosts[asked->n++] = msg.query.nhosts;
}

static struct asked queries_for(uint32_t members)
{
    struct world *w = cloud_world(members);
    struct asked asked = {.n = 0};

    w->tap = hear_queries;
    w->tap_arg = &asked;
    world_gm1(w, host(w, 3), fast, NULL);
    run_to(w, 3, GM1_STATE_SLEEPING);
    assert_int_equal(status(w, 3).nmembers, members);
    world_free(w);
    return asked;
}

/* The rows that the reply had no room for, each once. */
static void only_the_rest_is_asked_for(void **state)
{
    struct asked asked = queries_for(500);

    assert_int_equal(asked.n, 2);
    assert_int_equal(asked.first[0], 175);
    assert_int_equal(asked.nhosts[0], 175);
    assert_int_equal(asked.first[1], 350);
    assert_int_equal(asked.nhosts[1], 150);
    asked = queries_for(176);
    assert_int_equal(asked.n, 1);
    assert_int_equal(asked.first[0], 175);
    assert_int_equal(asked.nhosts[0], 1);
    assert_int_equal(queries_for(175).n, 0);
}

/* The answers of two gateways to one query each. */
struct swapped {
    uint8_t
        body[GM1_CLOUD_QUERY_REPLY_SIZE + GM1_MEMBERS_MAX * GM1_MEMBER_SIZE];
    size_t len;
    uint32_t by, mapper;
    bool done;
};

/* That which was sent first is heard after the other. */
static void swap_answers(struct world *w, uint32_t node, void *body, size_t len)
{
    struct swapped *first = w->tap_arg;
    struct gm1_message msg;
    uint8_t *type = body;

    if (first->done || gm1_decode(&msg, body, len) < 0 ||
        msg.subtype != GM1_CLOUD_QUERY_REPLY)
        return;
    if (first->len > 0 && first->by != node) {
        first->done = true;
        world_hear(w, first->mapper, body, len);
        world_hear(w, first->mapper, first->body, first->len);
    } else {
        first->by = node;
        first->len = len;
        memcpy(first->body, body, len);
    }
    type[1]++; /* it does not come as it was sent */
}

/* No answer says which rows it was asked for. */
static void answers_find_their_queries_in_any_order(void **state)
{
    const struct hostside_config gateway = {.gateway = true};
    struct world *w = world_new("line:2:2", 1);
    struct swapped first = {.mapper = host(w, 3)};
    struct gm1_member cloud[300];

    for (unsigned i = 0; i < 3; i++)
        world_host(w, host(w, i), i > 0 ? &gateway : NULL);
    for (unsigned i = 1; i < 3; i++) {
        fill_cloud(cloud, 300);
        for (unsigned k = 0; k < 300; k++)
            cloud[k].address += 1000 * i;
        hostside_set_members(w->hosts[host(w, i)].side, cloud, 300);
    }
    w->tap = swap_answers;
    w->tap_arg = &first;
    world_gm1(w, first.mapper, fast, NULL);
    assert_true(world_until(w, 8 * SECOND, all_configured));
    assert_true(first.done);
    assert_int_equal(status(w, 3).counters.explorations, 1);
    assert_int_equal(status(w, 3).nmembers, 600);
    for (unsigned i = 1; i < 3; i++) {
        const struct gm1_entry *gate =
            hostside_find(side(w, 0), NET_BUILD_HOST_ID + i);

        for (unsigned k = 0; k < 300; k++) {
            const struct gm1_entry *e =
                hostside_find(side(w, 0), 0x020000000000 + 1000 * i + k);

            assert_non_null(e);
            assert_int_equal(e->control, k);
            assert_int_equal(e->route.len, gate->route.len);
            assert_memory_equal(e->route.byte, gate->route.byte, e->route.len);
        }
    }
    world_free(w);
}

/* One address in two rows. */
static void the_last_row_of_a_member_holds(void **state)
{
    const struct gm1_member twice[] = {{0x020000000000, 1},
                                       {0x020000000000, 2}};
    struct world *w = cloud_world(0);
    const struct gm1_entry *e;

    hostside_set_members(w->hosts[host(w, 1)].side, twice, 2);
    world_gm1(w, host(w, 3), fast, NULL);
    run_to(w, 3, GM1_STATE_SLEEPING);
    assert_int_equal(status(w, 3).nmembers, 1);
    e = hostside_find(side(w, 0), 0x020000000000);
    assert_non_null(e);
    assert_int_equal(e->control, 2);
    world_free(w);
}

/* The document's exchange: the second query is lost and sent again. */
static void a_lost_query_is_sent_again(void **state)
{
    struct world *w = cloud_world(500);
    struct gm1_status s;

    world_gm1(w, host(w, 3), fast, NULL);
    while (status(w, 3).state != GM1_STATE_QUERYING && world_now(w) < SECOND)
        world_run(w, world_now(w) + 1000);
    w->loss = 1; /* all that is said now, the answers */
    world_run(w, world_now(w) + 2 * MS);
    w->loss = 0;
    assert_true(world_until(w, 8 * SECOND, all_configured));
    s = status(w, 3);
    assert_int_equal(s.nmembers, 500);
    assert_in_range(s.counters.queries, 3, 4);
    world_free(w);
}

static void the_table_may_shrink_or_shift(void **state)
{
    struct world *w = cloud_world(500);
    struct gm1_member cloud[400];

    world_gm1(w, host(w, 3), fast, NULL);
    while (status(w, 3).state != GM1_STATE_QUERYING && world_now(w) < SECOND)
        world_run(w, world_now(w) + 500);
    fill_cloud(cloud, 400);
    /* a hundred are gone, and the rest has moved: rows come twice */
    hostside_set_members(w->hosts[host(w, 1)].side, cloud, 300);
    assert_true(world_until(w, 8 * SECOND, all_configured));
    assert_in_range(status(w, 3).nmembers, 300, 500);
    world_run(w, 20 * SECOND); /* noticed, and mapped anew */
    assert_int_equal(status(w, 3).nmembers, 300);
    world_free(w);
}

/* A row twice is no change, each time the cloud is looked at. */
static void a_table_with_a_row_twice_is_left_alone(void **state)
{
    struct world *w = cloud_world(3);
    struct gm1_member cloud[4];

    fill_cloud(cloud, 3);
    cloud[3] = cloud[1];
    hostside_set_members(w->hosts[host(w, 1)].side, cloud, 4);
    world_gm1(w, host(w, 3), fast, NULL);
    world_run(w, 30 * SECOND);
    assert_int_equal(status(w, 3).nmembers, 3);
    assert_true(status(w, 3).counters.verifications > 3);
    assert_int_equal(status(w, 3).counters.explorations, 1);
    assert_int_equal(status(w, 3).counters.versions, 1);
    world_free(w);
}

/* As many members as before, of which one says something else. */
static void another_control_reaches_every_host(void **state)
{
    struct world *w = cloud_world(3);
    struct gm1_member cloud[3];

    world_gm1(w, host(w, 3), fast, NULL);
    world_run(w, 10 * SECOND);
    assert_int_equal(status(w, 3).counters.versions, 1);
    fill_cloud(cloud, 3);
    cloud[1].control = 0xbeef;
    hostside_set_members(w->hosts[host(w, 1)].side, cloud, 3);
    world_run(w, world_now(w) + 20 * SECOND);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(hostside_find(side(w, i), cloud[1].address)->control,
                         0xbeef);
    assert_int_equal(status(w, 3).counters.versions, 2);
    assert_int_equal(status(w, 3).counters.explorations, 2);
    world_free(w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_table_with_a_row_twice_is_left_alone),
    cmocka_unit_test(another_control_reaches_every_host),
    cmocka_unit_test(conflicts_of_gmids_are_reset),
    cmocka_unit_test(a_member_keeps_its_gmid),
    cmocka_unit_test(mute_hosts_are_left_until_the_next_mapping),
    cmocka_unit_test(configs_one_at_a_time),
    cmocka_unit_test(configs_go_again_each_10_ms_three_times),
    cmocka_unit_test(minimal_node_gets_one_config),
    cmocka_unit_test(a_minimal_node_of_many_gets_one_config),
    cmocka_unit_test(an_undefined_option_gets_all_configs),
    cmocka_unit_test(members_reach_every_host),
    cmocka_unit_test(only_the_rest_is_asked_for),
    cmocka_unit_test(answers_find_their_queries_in_any_order),
    cmocka_unit_test(the_last_row_of_a_member_holds),
    cmocka_unit_test(a_lost_query_is_sent_again),
    cmocka_unit_test(the_table_may_shrink_or_shift),
};

const struct suite gm1_hosts = SUITE(tests);
