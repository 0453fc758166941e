/* SPDX-License-Identifier: BSD-3-Clause
 * Several GM-1 mappers: who is active, who takes over.
 */
#include "gm1_util.h"

#include "net/same.h"

static uint64_t moves(struct world *w, unsigned i, enum gm1_event event)
{
    return w->hosts[host(w, i)].moves[event];
}

static struct world *many_mappers(const char *net, world_gm1_f *tune)
{
    struct world *w = world_new(net, 1);

    for (unsigned i = 0; i < w->net->nhosts; i++)
        world_gm1(w, host(w, i), tune, NULL);
    return w;
}

static void levels_0_3_7(struct gm1_options *c, uint32_t node, void *arg)
{
    static const uint32_t level[] = {3, 7, 0, 3, 0, 3};

    fast(c, node, arg);
    c->host.level = level[c->host.address - NET_BUILD_HOST_ID];
}

static void highest_level_then_highest_id(void **state)
{
    struct world *w = many_mappers("line:2:3", levels_0_3_7);

    world_run(w, 15 * SECOND);
    assert_int_equal(active(w), 1);
    assert_int_equal(status(w, 0).active, NET_BUILD_HOST_ID + 1);
    assert_true(all_configured(w));
    world_free(w);
    w = many_mappers("line:2:3", level_1);
    world_run(w, 15 * SECOND);
    assert_int_equal(active(w), 1);
    assert_int_equal(status(w, 0).active, NET_BUILD_HOST_ID + 5);
    assert_true(all_configured(w));
    world_free(w);
}

static void a_dormant_mapper_takes_over(void **state)
{
    struct world *w = many_mappers("line:2:3", level_1);
    uint16_t gmid[6];
    uint32_t version;

    world_run(w, 15 * SECOND);
    assert_true(all_configured(w));
    version = status(w, 5).version;
    for (unsigned i = 0; i < 6; i++)
        gmid[i] = state_of(w, i).gmid;
    world_kill(w, host(w, 5));
    /* at most two wake-ups of 2 s: heard nothing, then asked */
    world_run(w, world_now(w) + 12 * SECOND);
    assert_int_equal(active(w), 1);
    assert_int_equal(status(w, 0).active, NET_BUILD_HOST_ID + 4);
    assert_true(status(w, 4).version > version);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(state_of(w, i).gmid, gmid[i]);
        assert_int_equal(state_of(w, i).mapper, NET_BUILD_HOST_ID + 4);
        assert_int_equal(state_of(w, i).version, status(w, 4).version);
    }
    world_gm1(w, host(w, 5), level_1, NULL); /* and comes back */
    world_run(w, world_now(w) + 15 * SECOND);
    assert_int_equal(active(w), 1);
    assert_int_equal(status(w, 0).active, NET_BUILD_HOST_ID + 5);
    assert_true(all_configured(w));
    world_free(w);
}

static void a_cable_that_comes_back_is_noticed(void **state)
{
    struct world *w = many_mappers("line:2:3", level_1);
    uint32_t h = host(w, 5), x = net_peer_node(w->net, h, 0);
    unsigned port = net_peer_port(w->net, h, 0);

    world_run(w, 10 * SECOND);
    world_pull(w, h, 0);
    world_run(w, world_now(w) + 20 * SECOND);
    assert_int_equal(gm1_map(w->hosts[h].gm1)->nhosts, 1);
    assert_int_equal(gm1_map(w->hosts[host(w, 4)].gm1)->nhosts, 5);
    world_plug(w, h, 0, x, port);
    world_run(w, world_now(w) + 20 * SECOND);
    assert_int_equal(gm1_map(w->hosts[h].gm1)->nhosts, 6);
    assert_true(all_configured(w));
    world_free(w);
}

static void dormant_mappers_wake_every_5_seconds(void **state)
{
    struct gm1_options defaults;
    struct world *w = world_new("line:1:2", 1);

    gm1_options_default(&defaults);
    assert_int_equal(defaults.dormant_wake, 5 * SECOND);
    assert_int_equal(defaults.active_sleep, 10 * SECOND);
    assert_int_equal(defaults.limits.scout_wait, 10 * MS);
    assert_int_equal(defaults.limits.loop_wait, 5 * MS);
    world_gm1(w, host(w, 0), NULL, NULL);
    world_gm1(w, host(w, 1), NULL, NULL);
    world_run(w, 2 * SECOND);
    assert_int_equal(status(w, 0).state, GM1_STATE_DORMANT);
    world_kill(w, host(w, 1));
    world_run(w, 12 * SECOND);
    assert_int_equal(moves(w, 0, GM1_EVENT_WAKE_UP), 2);
    assert_int_not_equal(status(w, 0).state, GM1_STATE_DORMANT);
    world_free(w);
}

/* Its host still answers, but says that no mapper runs there. */
static void a_host_that_lost_its_mapper_is_not_followed(void **state)
{
    struct world *w = world_new("line:1:2", 1);

    world_gm1(w, host(w, 0), level_1, NULL);
    world_gm1(w, host(w, 1), level_1, NULL);
    world_run(w, 4 * SECOND);
    assert_int_equal(status(w, 0).state, GM1_STATE_DORMANT);
    world_host(w, host(w, 1), NULL);
    world_run(w, 12 * SECOND);
    assert_int_not_equal(status(w, 0).state, GM1_STATE_DORMANT);
    assert_true(all_configured(w));
    world_free(w);
}

static void wake_each_second(struct gm1_options *c, uint32_t node, void *arg)
{
    learnt(c, node, arg);
    c->dormant_wake = SECOND;
}

static void the_time_of_dormant_mappers_is_settable(void **state)
{
    struct world *w = world_new("line:1:2", 1);

    world_gm1(w, host(w, 0), wake_each_second, NULL);
    world_gm1(w, host(w, 1), wake_each_second, NULL);
    world_run(w, 2 * SECOND);
    assert_int_equal(status(w, 0).state, GM1_STATE_DORMANT);
    world_kill(w, host(w, 1));
    world_run(w, 5 * SECOND); /* one wake-up finds it silent */
    assert_int_not_equal(status(w, 0).state, GM1_STATE_DORMANT);
    world_free(w);
}

static void loss_is_only_slower(void **state)
{
    for (uint64_t seed = 1; seed < 20; seed++) {
        struct world *w = world_new("line:3:3", seed);

        for (unsigned i = 0; i < 9; i++)
            world_gm1(w, host(w, i), level_1, NULL);
        w->loss = 0.05;
        world_run(w, 60 * SECOND);
        w->loss = 0;
        world_run(w, 120 * SECOND);
        assert_int_equal(active(w), 1);
        assert_true(all_configured(w));
        assert_true(net_same(w->net, gm1_map(w->hosts[host(w, 8)].gm1), NULL));
        world_free(w);
    }
}

/* ---- what a dormant mapper hears ----------------------------------------- */

static void busy(struct gm1_options *c, uint32_t node, void *arg)
{
    level_1(c, node, arg);
    c->active_sleep = SECOND;
}

/* Its scouts are enough: nobody asks whether it is there. */
static void an_active_mapper_that_is_heard_is_not_asked(void **state)
{
    struct world *w = many_mappers("line:1:2", busy);
    uint64_t scouts;

    world_run(w, 3 * SECOND);
    assert_int_equal(status(w, 0).state, GM1_STATE_DORMANT);
    scouts = status(w, 0).counters.scouts;
    world_run(w, 20 * SECOND);
    assert_int_equal(status(w, 0).counters.scouts, scouts);
    world_free(w);
}

static void second_sleeps_long(struct gm1_options *c, uint32_t node, void *arg)
{
    level_1(c, node, arg);
    if (c->host.address == NET_BUILD_HOST_ID + 1)
        c->start_delay = 60 * SECOND;
}

/* It has not said a word, but its host answers. */
static void a_higher_mapper_that_only_answers_is_followed(void **state)
{
    struct world *w = many_mappers("line:1:2", second_sleeps_long);

    world_run(w, 20 * SECOND);
    assert_int_equal(status(w, 0).state, GM1_STATE_DORMANT);
    assert_int_equal(status(w, 0).active, NET_BUILD_HOST_ID + 1);
    assert_int_equal(status(w, 0).counters.versions, 0);
    world_free(w);
}

/* The last Scout that h0 sent; h1 answers as somebody else. */
struct pinged {
    struct gm1_scout scout;
    bool other;
};

static void hear_ping(struct world *w, uint32_t node, void *body, size_t len)
{
    struct pinged *p = w->tap_arg;
    struct gm1_message msg;

    if (gm1_decode(&msg, body, len) < 0)
        return;
    if (msg.subtype == GM1_SCOUT && node == host(w, 0))
        p->scout = msg.scout;
    if (msg.subtype != GM1_REPLY || node != host(w, 1) || !p->other)
        return;
    msg.reply.address++;
    assert_int_equal(gm1_encode(body, len, &msg), len);
}

static struct world *dormant(struct pinged *p)
{
    struct world *w = many_mappers("line:1:2", second_sleeps_long);

    *p = (struct pinged){.other = false};
    w->tap = hear_ping;
    w->tap_arg = p;
    world_run(w, 3 * SECOND);
    assert_int_equal(status(w, 0).state, GM1_STATE_DORMANT);
    return w;
}

static void another_board_in_its_place_is_not_followed(void **state)
{
    struct pinged p;
    struct world *w = dormant(&p);

    p.other = true;
    world_run(w, 9 * SECOND);
    assert_true(moves(w, 0, GM1_EVENT_WAKE_UP) > 1);
    world_free(w);
}

/* By the way that its last Scout told. */
static void the_active_mapper_is_asked_where_it_was_heard_last(void **state)
{
    const struct gm1_message scout = {
        .subtype = GM1_SCOUT,
        .scout = {.back = {2, {0x83, 0x85}},
                  .mapper = NET_BUILD_HOST_ID + 1,
                  .level = 1},
    };
    struct pinged p;
    struct world *w = dormant(&p);
    uint8_t body[GM1_SCOUT_SIZE];

    world_hear(w, host(w, 0), body, gm1_encode(body, sizeof(body), &scout));
    world_run(w, world_now(w) + 3 * SECOND); /* heard: quiet */
    memset(&p.scout, 0, sizeof(p.scout));
    while (p.scout.back.len == 0 && world_now(w) < 20 * SECOND)
        world_run(w, world_now(w) + MS);
    assert_int_equal(p.scout.back.len, 2);
    assert_memory_equal(p.scout.back.byte, "\xbb\xbd", 2); /* -5, -3 */
    assert_int_equal(p.scout.mapper, NET_BUILD_HOST_ID);
    assert_int_equal(p.scout.level, 1);
    assert_int_equal(p.scout.command, 0);
    world_free(w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_active_mapper_that_is_heard_is_not_asked),
    cmocka_unit_test(a_higher_mapper_that_only_answers_is_followed),
    cmocka_unit_test(another_board_in_its_place_is_not_followed),
    cmocka_unit_test(the_active_mapper_is_asked_where_it_was_heard_last),
    cmocka_unit_test(highest_level_then_highest_id),
    cmocka_unit_test(a_dormant_mapper_takes_over),
    cmocka_unit_test(a_cable_that_comes_back_is_noticed),
    cmocka_unit_test(dormant_mappers_wake_every_5_seconds),
    cmocka_unit_test(a_host_that_lost_its_mapper_is_not_followed),
    cmocka_unit_test(the_time_of_dormant_mappers_is_settable),
    cmocka_unit_test(loss_is_only_slower),
};

const struct suite gm1_many = SUITE(tests);
