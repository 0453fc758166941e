/* SPDX-License-Identifier: BSD-3-Clause
 * What hosts answer to GM-1 mappers, and what mappers make of it: wrong
 * answers, answers of others, none.
 */
#include "gm1_util.h"

#define OTHER (NET_BUILD_HOST_ID + 77)

static void run_on(struct world *w, uint64_t time)
{
    world_run(w, world_now(w) + time);
}

/* ---- versions ------------------------------------------------------------ */

/* It has another mapper's, a higher one, when ours comes. */
static void who_refuses_is_left_until_the_next_mapping(void **state)
{
    struct world *w = one_mapper("line:2:2", fast);

    run_to(w, 3, GM1_STATE_CONFIGURING);
    configure(w, 0, OTHER, 9, 1000);
    run_to(w, 3, GM1_STATE_SLEEPING);
    assert_int_equal(status(w, 3).unconfigured, 1);
    assert_int_equal(state_of(w, 0).version, 1000);
    assert_int_equal(state_of(w, 1).version, 1);
    run_on(w, 5 * SECOND);
    assert_true(all_configured(w));
    assert_int_equal(status(w, 3).version, 1001);
    assert_int_equal(status(w, 3).counters.explorations, 2);
    assert_int_equal(status(w, 3).unconfigured, 0);
    run_on(w, 10 * SECOND); /* and then all is as it should be */
    assert_int_equal(status(w, 3).counters.explorations, 2);
    assert_true(status(w, 3).counters.verifications > 1);
    world_free(w);
}

/* Somebody else configures the mapper's own host while it sleeps. */
static void the_own_host_is_looked_at_too(void **state)
{
    struct world *w = one_mapper("line:2:2", fast);

    assert_true(world_until(w, 8 * SECOND, all_configured));
    configure(w, 3, OTHER, 9, 1000);
    run_on(w, 8 * SECOND);
    assert_true(all_configured(w));
    assert_int_equal(status(w, 3).version, 1001);
    assert_int_equal(state_of(w, 3).mapper, NET_BUILD_HOST_ID + 3);
    assert_int_equal(state_of(w, 3).nentries, 4);
    world_free(w);
}

static void another_gmid_is_out_of_date(void **state)
{
    struct world *w = one_mapper("line:2:2", fast);
    struct hostside_state s;

    assert_true(world_until(w, 8 * SECOND, all_configured));
    s = state_of(w, 0);
    configure(w, 0, s.mapper, s.gmid + 20, s.version);
    run_on(w, 8 * SECOND);
    assert_int_equal(state_of(w, 0).gmid, s.gmid);
    assert_int_equal(state_of(w, 0).nentries, 4);
    world_free(w);
}

/* Everybody learns what it says of itself now. */
static void another_name_or_type_is_another_version(void **state)
{
    static const struct hostside_config others[] = {
        {.name = "renamed"}, {.name = "renamed", .node_type = 7}};
    struct world *w = one_mapper("line:2:2", fast);

    assert_true(world_until(w, 8 * SECOND, all_configured));
    for (unsigned i = 0; i < 2; i++) {
        const struct gm1_entry *e;

        world_host(w, host(w, 0), &others[i]);
        run_on(w, 8 * SECOND);
        assert_true(all_configured(w));
        assert_int_equal(status(w, 3).version, 2 + i);
        e = hostside_find(side(w, 1), NET_BUILD_HOST_ID);
        assert_string_equal(e->name, "renamed");
        assert_int_equal(e->node_type, others[i].node_type);
    }
    assert_int_equal(status(w, 3).counters.explorations, 1);
    world_free(w);
}

static void of_type_5(struct gm1_options *c, uint32_t node, void *arg)
{
    fast(c, node, arg);
    c->host.node_type = 5;
    c->host.name = "mapper";
}

static void the_own_host_is_told_as_it_says(void **state)
{
    struct world *w = one_mapper("line:2:2", of_type_5);
    const struct gm1_entry *e;

    assert_true(world_until(w, 8 * SECOND, all_configured));
    e = hostside_find(side(w, 0), NET_BUILD_HOST_ID + 3);
    assert_int_equal(e->node_type, 5);
    assert_string_equal(e->name, "mapper");
    world_free(w);
}

/* ---- gmIDs --------------------------------------------------------------- */

/* The new mapper has learnt those of the others. */
static void a_new_host_gets_a_gmid_that_is_free(void **state)
{
    struct world *w = one_mapper("line:2:3", fast);
    bool seen[10] = {false};

    world_kill(w, host(w, 1));
    assert_true(world_until(w, 8 * SECOND, all_configured));
    world_gm1(w, host(w, 5), fast, NULL);
    assert_true(world_until(w, world_now(w) + 8 * SECOND, all_configured));
    world_host(w, host(w, 1), NULL);
    run_on(w, 8 * SECOND);
    assert_true(all_configured(w));
    for (unsigned i = 0; i < 6; i++) {
        uint16_t gmid = state_of(w, i).gmid;

        assert_in_range(gmid, 1, 6);
        assert_false(seen[gmid]);
        seen[gmid] = true;
    }
    assert_int_equal(status(w, 5).counters.resets, 0);
    world_free(w);
}

/* ---- wrong answers ------------------------------------------------------- */

/* From the time on that *tap_arg is set h0's Replies bear another address. */
static void as_another(struct world *w, uint32_t node, void *body, size_t len)
{
    struct gm1_message msg;

    if (!*(bool *)w->tap_arg || node != host(w, 0) ||
        gm1_decode(&msg, body, len) < 0 || msg.subtype != GM1_REPLY)
        return;
    msg.reply.address = OTHER;
    assert_int_equal(gm1_encode(body, len, &msg), len);
}

static void a_config_that_another_acknowledges_is_none(void **state)
{
    struct world *w = one_mapper("line:2:2", fast);
    bool other = false;

    w->tap = as_another;
    w->tap_arg = &other;
    run_to(w, 3, GM1_STATE_CONFIGURING);
    other = true;
    run_to(w, 3, GM1_STATE_SLEEPING);
    assert_int_equal(status(w, 3).unconfigured, 1);
    other = false;
    run_on(w, 8 * SECOND);
    assert_true(all_configured(w));
    assert_int_equal(status(w, 3).unconfigured, 0);
    world_free(w);
}

static void without_address(struct world *w, uint32_t node, void *body,
                            size_t len)
{
    struct gm1_message msg;

    if (node != host(w, 0) || gm1_decode(&msg, body, len) < 0 ||
        msg.subtype != GM1_REPLY)
        return;
    msg.reply.address = 0;
    msg.reply.level = 9;
    assert_int_equal(gm1_encode(body, len, &msg), len);
}

static void a_host_without_an_address_is_not_there(void **state)
{
    struct world *w = one_mapper("line:2:2", fast);

    w->tap = without_address;
    run_on(w, 8 * SECOND);
    assert_int_equal(status(w, 3).nhosts, 3);
    assert_int_equal(state_of(w, 1).nentries, 3);
    assert_int_not_equal(status(w, 3).state, GM1_STATE_DORMANT);
    world_free(w);
}

/* ---- clouds -------------------------------------------------------------- */

static void lose_rows(struct world *w, uint32_t node, void *body, size_t len)
{
    struct gm1_message msg;

    if (gm1_decode(&msg, body, len) == 0 &&
        msg.subtype == GM1_CLOUD_QUERY_REPLY)
        ((uint8_t *)body)[2] = 0x7f; /* a subtype of nobody */
}

/* What the gateway's Reply had is configured; and it is asked again. */
static void a_gateway_that_does_not_give_its_rows(void **state)
{
    struct world *w = cloud_world(500);

    w->tap = lose_rows;
    world_gm1(w, host(w, 3), fast, NULL);
    run_to(w, 3, GM1_STATE_SLEEPING);
    assert_int_equal(status(w, 3).nmembers, 175);
    assert_int_equal(status(w, 3).counters.queries, 2 * 4);
    assert_true(all_configured(w));
    assert_int_equal(state_of(w, 0).nentries, 4 + 175);
    w->tap = NULL;
    run_on(w, 5 * SECOND);
    assert_int_equal(status(w, 3).counters.explorations, 2);
    assert_int_equal(status(w, 3).nmembers, 500);
    world_free(w);
}

static void boast(struct world *w, uint32_t node, void *body, size_t len)
{
    struct gm1_message msg;
    uint8_t head[GM1_CLOUD_REPLY_SIZE];

    if (gm1_decode(&msg, body, len) < 0 || msg.subtype != GM1_REPLY ||
        msg.reply.option != GM1_OPTION_CLOUD)
        return;
    msg.reply.nhosts = UINT32_MAX;
    assert_int_equal(gm1_encode(head, sizeof(head), &msg), sizeof(head));
    memcpy(body, head, sizeof(head));
}

/* It is asked for as many rows as a cloud may have. */
static void a_gateway_that_announces_too_much(void **state)
{
    const unsigned most = SF_GM_CLOUD_MAX / GM1_MEMBERS_MAX + 1;
    struct world *w = cloud_world(3);

    w->tap = boast;
    world_gm1(w, host(w, 3), fast, NULL);
    run_to(w, 3, GM1_STATE_SLEEPING);
    assert_in_range(status(w, 3).counters.queries, most - 2, most);
    assert_int_equal(status(w, 3).nmembers, 3);
    assert_true(all_configured(w));
    world_free(w);
}

/* The members of a cloud become these; every host hears of it. */
static void change_cloud(const struct gm1_member *cloud, uint32_t n)
{
    struct world *w = cloud_world(3);

    world_gm1(w, host(w, 3), fast, NULL);
    assert_true(world_until(w, 8 * SECOND, all_configured));
    hostside_set_members(w->hosts[host(w, 1)].side, cloud, n);
    run_on(w, 8 * SECOND);
    assert_true(all_configured(w));
    assert_int_equal(status(w, 3).nmembers, n);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(state_of(w, i).nentries, 4 + n);
        for (uint32_t k = 0; k < n; k++)
            assert_non_null(hostside_find(side(w, i), cloud[k].address));
    }
    world_free(w);
}

static void members_that_change_reach_every_host(void **state)
{
    struct gm1_member cloud[3];

    fill_cloud(cloud, 3);
    change_cloud(cloud, 2); /* one less */
    cloud[1].address += 100;
    change_cloud(cloud, 3); /* another in its place */
}

/* ---- how many at a time, how often --------------------------------------- */

static unsigned window;

static void by_window(struct gm1_options *c, uint32_t node, void *arg)
{
    fast(c, node, arg);
    c->window = window;
    c->in_order = true; /* which is for each host alone */
}

static void the_window_limits_what_is_under_way(void **state)
{
    for (window = 1; window <= 9; window += 4) {
        struct world *w = one_mapper("line:3:5", by_window);

        run_to(w, 14, GM1_STATE_CONFIGURING);
        assert_in_range(status(w, 14).counters.configs, window - (window > 1),
                        window);
        world_free(w);
    }
    for (window = 1; window <= 2; window++) {
        struct world *w = cloud_world(500);

        world_gm1(w, host(w, 3), by_window, NULL);
        run_to(w, 3, GM1_STATE_QUERYING);
        assert_int_equal(status(w, 3).counters.queries, window);
        world_free(w);
    }
}

static void twice_in_70_ms(struct gm1_options *c, uint32_t node, void *arg)
{
    fast(c, node, arg);
    c->limits.tries = 2;
    c->limits.scout_wait = 70 * MS;
}

static void tries_of_configs_are_settable(void **state)
{
    struct world *w = one_mapper("line:1:2", twice_in_70_ms);
    uint64_t start;

    run_to(w, 1, GM1_STATE_CONFIGURING);
    start = world_now(w);
    swfab_set_host_mute(w->fab, host(w, 0), true);
    world_run(w, start + 69 * MS);
    assert_int_equal(hostside_counters(side(w, 0))->configs, 1);
    world_run(w, start + 71 * MS);
    assert_int_equal(hostside_counters(side(w, 0))->configs, 2);
    world_run(w, start + 139 * MS);
    assert_int_equal(status(w, 1).state, GM1_STATE_CONFIGURING);
    world_run(w, start + 141 * MS);
    assert_int_equal(status(w, 1).state, GM1_STATE_SLEEPING);
    assert_int_equal(hostside_counters(side(w, 0))->configs, 2);
    world_free(w);
}

static void in_rising_order(const struct gm1_entry *e, void *arg)
{
    uint64_t *last = arg;

    assert_true(e->address > *last);
    *last = e->address;
}

static void rows_rise_by_address(void **state)
{
    struct world *w = one_mapper("torus:3x3:1", fast);
    uint64_t last = 0;

    assert_true(world_until(w, 8 * SECOND, all_configured));
    hostside_entries(side(w, 4), in_rising_order, &last);
    assert_int_equal(last, NET_BUILD_HOST_ID + 8);
    world_free(w);
}

static void count_verify(struct world *w, uint32_t node, void *body, size_t len)
{
    struct gm1_message msg;

    if (gm1_decode(&msg, body, len) == 0)
        *(unsigned *)w->tap_arg += msg.subtype == GM1_VERIFY;
}

static void verification_sends_verify_messages(void **state)
{
    struct world *w = one_mapper("ring:5:2", fast);
    unsigned n = 0;

    w->tap = count_verify;
    w->tap_arg = &n;
    run_to(w, 9, GM1_STATE_SLEEPING);
    assert_int_equal(n, 0); /* none by an exploration */
    run_on(w, 4 * SECOND);
    assert_int_equal(status(w, 9).counters.verifications, 1);
    assert_true(n > 0);
    world_free(w);
}

/* ---- what is said at all ------------------------------------------------- */

static size_t size_of(const struct gm1_message *msg)
{
    switch (msg->subtype) {
    case GM1_SCOUT:
        return GM1_SCOUT_SIZE;
    case GM1_CONFIG:
        return GM1_CONFIG_SIZE + msg->nrows * GM1_ENTRY_SIZE;
    case GM1_REPLY:
        if (msg->reply.option == GM1_OPTION_CLOUD)
            return GM1_CLOUD_REPLY_SIZE + msg->nrows * GM1_MEMBER_SIZE;
        return GM1_REPLY_SIZE;
    case GM1_PROBE:
    case GM1_VERIFY:
        return GM1_PROBE_SIZE;
    case GM1_CLOUD_QUERY:
        return GM1_CLOUD_QUERY_SIZE;
    case GM1_CLOUD_QUERY_REPLY:
        return GM1_CLOUD_QUERY_REPLY_SIZE + msg->nrows * GM1_MEMBER_SIZE;
    }
    return 0;
}

static bool is_answer(enum gm1_subtype subtype)
{
    return subtype == GM1_REPLY || subtype == GM1_CLOUD_QUERY_REPLY;
}

static void assert_zero(const uint8_t *bytes, size_t at, size_t len)
{
    for (size_t i = at; i < at + len; i++)
        assert_int_equal(bytes[i], 0);
}

/* One of the seven messages, as long as it is there, with nothing where the
 * document has nothing; and whoever is not a mapper only answers. */
static void is_of_the_document(struct world *w, uint32_t node, void *body,
                               size_t len)
{
    const uint8_t *bytes = body;
    unsigned *seen = w->tap_arg;
    struct gm1_message msg;

    assert_int_equal(gm1_decode(&msg, body, len), 0);
    assert_int_equal(len, size_of(&msg));
    assert_true(w->hosts[node].gm1 || is_answer(msg.subtype));
    if (msg.subtype == GM1_REPLY)
        assert_zero(bytes, 26, 2);
    else if (msg.subtype == GM1_CLOUD_QUERY_REPLY)
        assert_zero(bytes, 18, 2);
    else if (msg.subtype == GM1_SCOUT)
        assert_zero(bytes, 16 + msg.scout.back.len, 32 - msg.scout.back.len);
    else if (msg.subtype == GM1_CONFIG)
        for (uint32_t i = 0; i < msg.nrows; i++)
            assert_zero(bytes, GM1_CONFIG_SIZE + i * GM1_ENTRY_SIZE + 78, 2);
    seen[msg.subtype]++;
}

/* A gateway, a node that wants no routes, a cable that comes and goes, a reset,
 * several mappers: all that there is to say is said. */
static void nothing_is_said_that_the_document_lacks(void **state)
{
    static const enum gm1_subtype all[] = {
        GM1_SCOUT,       GM1_CONFIG,           GM1_REPLY, GM1_PROBE, GM1_VERIFY,
        GM1_CLOUD_QUERY, GM1_CLOUD_QUERY_REPLY};
    const struct hostside_config minimal = {.minimal = true};
    unsigned seen[GM1_CLOUD_QUERY_REPLY + 1] = {0};
    struct world *w = cloud_world(500);
    uint32_t x = net_peer_node(w->net, host(w, 0), 0);
    unsigned port = net_peer_port(w->net, host(w, 0), 0);

    w->tap = is_of_the_document;
    w->tap_arg = seen;
    world_host(w, host(w, 0), &minimal);
    world_gm1(w, host(w, 2), level_1, NULL);
    world_gm1(w, host(w, 3), level_1, NULL);
    assert_true(world_until(w, 8 * SECOND, all_configured));
    configure(w, 0, OTHER, state_of(w, 1).gmid, UINT32_MAX);
    run_on(w, 10 * SECOND);
    world_pull(w, x, port);
    run_on(w, 10 * SECOND);
    world_plug(w, x, port, host(w, 0), 0);
    run_on(w, 10 * SECOND);
    assert_true(all_configured(w));
    assert_true(status(w, 3).counters.resets > 0);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (seen[all[i]] == 0)
            fail_msg("no message of subtype %d", all[i]);
    world_free(w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(who_refuses_is_left_until_the_next_mapping),
    cmocka_unit_test(the_own_host_is_looked_at_too),
    cmocka_unit_test(another_gmid_is_out_of_date),
    cmocka_unit_test(another_name_or_type_is_another_version),
    cmocka_unit_test(the_own_host_is_told_as_it_says),
    cmocka_unit_test(a_new_host_gets_a_gmid_that_is_free),
    cmocka_unit_test(a_config_that_another_acknowledges_is_none),
    cmocka_unit_test(a_host_without_an_address_is_not_there),
    cmocka_unit_test(a_gateway_that_does_not_give_its_rows),
    cmocka_unit_test(a_gateway_that_announces_too_much),
    cmocka_unit_test(members_that_change_reach_every_host),
    cmocka_unit_test(the_window_limits_what_is_under_way),
    cmocka_unit_test(tries_of_configs_are_settable),
    cmocka_unit_test(rows_rise_by_address),
    cmocka_unit_test(verification_sends_verify_messages),
    cmocka_unit_test(nothing_is_said_that_the_document_lacks),
};

const struct suite gm1_answers = SUITE(tests);
