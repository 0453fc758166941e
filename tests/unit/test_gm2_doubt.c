/* SPDX-License-Identifier: BSD-3-Clause
 * GM-2: who holds the map for invalid, and how the next one is made.
 */
#include "gm2_util.h"

/* Of line:2:3: the leader, a child of it, and a child of that one. */
struct family {
    struct world *w;
    uint32_t leader, child, grandchild;
};

static struct family family_of(struct world *w)
{
    struct family f = {.w = w, .leader = host(w, 5), .child = NET_NONE};

    for (unsigned i = 0; i < 5; i++) {
        uint32_t parent = net_find_host(w->net, status(w, host(w, i)).parent);

        if (parent == f.leader)
            continue;
        f.grandchild = host(w, i);
        f.child = parent;
    }
    assert_int_not_equal(f.child, NET_NONE);
    return f;
}

/* Change the answers of the one whom the tap is for. */
static void change_answer(struct world *w, uint32_t node, void *body,
                          size_t len, void (*change)(struct gm2_message *msg))
{
    struct gm2_message msg;

    if (node != *(uint32_t *)w->tap_arg || gm2_decode(&msg, body, len) < 0 ||
        msg.subtype != GM2_REPLY)
        return;
    change(&msg);
    assert_int_equal(gm2_encode(body, len, &msg), len);
}

static void say_invalid(struct gm2_message *msg)
{
    msg->flags &= (uint16_t)~GM2_VALID;
}

static void say_another(struct gm2_message *msg)
{
    msg->version.counter ^= 1;
}

static void not_valid(struct world *w, uint32_t node, void *body, size_t len)
{
    change_answer(w, node, body, len, say_invalid);
}

static void another_map(struct world *w, uint32_t node, void *body, size_t len)
{
    change_answer(w, node, body, len, say_another);
}

/* A new map comes within two rounds of one second. */
static void doubt_of(uint32_t *(*whose)(struct family *f))
{
    struct family f = family_of(settled("line:2:3"));

    f.w->tap_arg = whose(&f);
    f.w->tap = not_valid;
    world_run(f.w, world_now(f.w) + 2500 * MS);
    f.w->tap = NULL;
    assert_true(status(f.w, f.leader).counters.maps > 1);
    assert_true(
        world_until(f.w, world_now(f.w) + 20 * SECOND, world_gm2_settled));
    world_free(f.w);
}

static uint32_t *the_leader(struct family *f)
{
    return &f->leader;
}

static uint32_t *the_grandchild(struct family *f)
{
    return &f->grandchild;
}

static void doubt_of_a_child_climbs_to_the_leader(void **state)
{
    doubt_of(the_grandchild);
}

static void doubt_of_a_parent_climbs_to_the_leader(void **state)
{
    doubt_of(the_leader);
}

/* The session of the leader's own exchanges, which its probes do not have. */
static uint32_t leaders_session;

static void learn_session(struct world *w, uint32_t node, void *body,
                          size_t len)
{
    struct gm2_message msg;

    if (gm2_decode(&msg, body, len) == 0 && msg.subtype == GM2_SCOUT &&
        msg.reason == GM2_LX_TREE && msg.sender == NET_BUILD_HOST_ID + 5)
        leaders_session = msg.session;
}

static void mute_to_leader(struct world *w, uint32_t node, void *body,
                           size_t len)
{
    struct gm2_message msg;

    if (node == *(uint32_t *)w->tap_arg && gm2_decode(&msg, body, len) == 0 &&
        msg.subtype == GM2_REPLY && msg.session == leaders_session)
        memset(body, 0, len);
}

/* It answers probes: a mapper that hangs, not a host that is gone. */
static void a_child_that_is_mute_is_a_change(void **state)
{
    struct world *w = world_new("line:2:3", 1);
    struct family f;

    w->tap = learn_session;
    world_gm2_all(w, NULL, NULL);
    assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
    f = family_of(w);
    assert_int_not_equal(leaders_session, 0);
    assert_int_equal(status(w, f.leader).counters.maps, 1);
    w->tap_arg = &f.child;
    w->tap = mute_to_leader;
    world_run(w, world_now(w) + 3 * SECOND);
    w->tap = NULL;
    assert_true(status(w, f.leader).counters.maps > 1);
    assert_true(world_until(w, world_now(w) + 30 * SECOND, world_gm2_settled));
    world_free(w);
}

/* It is told of the map in each round, and given five. */
static void child_that_never_takes_the_map_is_a_change(void **state)
{
    struct family f = family_of(settled("line:2:3"));

    f.w->tap_arg = &f.grandchild;
    f.w->tap = another_map;
    world_run(f.w, world_now(f.w) + 4 * SECOND);
    assert_int_equal(status(f.w, f.leader).counters.maps, 1);
    world_run(f.w, world_now(f.w) + 6 * SECOND);
    assert_true(status(f.w, f.leader).counters.maps > 1);
    f.w->tap = NULL;
    assert_true(
        world_until(f.w, world_now(f.w) + 20 * SECOND, world_gm2_settled));
    world_free(f.w);
}

/* A child that has found a change is passive, and asks whether there is a new
 * map. */
static void who_asks_for_another_map_is_believed(void **state)
{
    struct family f = family_of(settled("line:2:3"));
    struct gm2_message ask = {.subtype = GM2_SCOUT,
                              .reason = GM2_LX_QUERYING_MAP_VERSION,
                              .sender = f.w->net->nodes[f.child].id,
                              .level = 1,
                              .version = status(f.w, f.leader).version};
    uint8_t body[200];

    ask.version.counter++; /* another map: not ours that it doubts */
    world_hear(f.w, f.leader, body, gm2_encode(body, sizeof(body), &ask));
    assert_true(status(f.w, f.leader).valid);
    ask.version.counter--;
    ask.flags = GM2_VALID;
    world_hear(f.w, f.leader, body, gm2_encode(body, sizeof(body), &ask));
    assert_true(status(f.w, f.leader).valid);
    ask.flags = 0;
    world_hear(f.w, f.leader, body, gm2_encode(body, sizeof(body), &ask));
    assert_false(status(f.w, f.leader).valid);
    world_free(f.w);
}

/* Who learns no timers asks whatever is unanswered as often as it is told. */
static void learn_nothing(struct gm2_config *c, uint32_t node, void *arg)
{
    c->limits.fixed_timers = true;
}

/* Probes of the exploration that follows when a map of that age is doubted. */
static uint64_t probes_after(uint64_t age)
{
    struct world *w = world_new("line:2:3", 1);
    struct family f;
    struct gm2_message ask = {.subtype = GM2_SCOUT,
                              .reason = GM2_LX_QUERYING_MAP_VERSION,
                              .level = 1};
    uint64_t before;
    uint8_t body[200];

    world_gm2_all(w, learn_nothing, NULL);
    assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
    f = family_of(w);
    ask.sender = w->net->nodes[f.child].id;
    world_run(f.w, status(f.w, f.leader).since + age);
    assert_int_equal(status(f.w, f.leader).counters.maps, 1);
    ask.version = status(f.w, f.leader).version;
    before = status(f.w, f.leader).counters.probes;
    world_hear(f.w, f.leader, body, gm2_encode(body, sizeof(body), &ask));
    while (status(f.w, f.leader).counters.maps == 1)
        world_run(f.w, world_now(f.w) + MS);
    before = status(f.w, f.leader).counters.probes - before;
    world_free(f.w);
    return before;
}

/* What is unanswered is asked twice as often when the last map did not last. */
static void a_map_that_did_not_last_is_made_with_more_tries(void **state)
{
    uint64_t usual = probes_after(7 * SECOND), wary = probes_after(2 * SECOND);

    assert_in_range(wary, usual * 3 / 2, usual * 2);
}

static void twelve_tries(struct gm2_config *c, uint32_t node, void *arg)
{
    c->limits.tries = 12; /* more than what is learnt asks for */
}

static uint64_t probes_of_a_young_map_doubted(struct family *f)
{
    struct gm2_message ask = {.subtype = GM2_SCOUT,
                              .reason = GM2_LX_QUERYING_MAP_VERSION,
                              .sender = f->w->net->nodes[f->child].id,
                              .level = 1,
                              .version = status(f->w, f->leader).version};
    uint64_t before = status(f->w, f->leader).counters.probes;
    uint32_t maps = (uint32_t)status(f->w, f->leader).counters.maps;
    uint8_t body[200];

    world_hear(f->w, f->leader, body, gm2_encode(body, sizeof(body), &ask));
    assert_false(status(f->w, f->leader).valid);
    while (status(f->w, f->leader).counters.maps == maps)
        world_run(f->w, world_now(f->w) + MS);
    before = status(f->w, f->leader).counters.probes - before;
    assert_true(
        world_until(f->w, world_now(f->w) + 4 * SECOND, world_gm2_settled));
    world_run(f->w, status(f->w, f->leader).since + 600 * MS);
    return before;
}

/* Once something had broken, all that broke within seconds after it was mapped
 * with up to 30 tries, for a minute. */
static void a_map_that_was_right_is_no_reason_for_more_tries(void **state)
{
    struct world *w = world_new("ring:3:2", 1);
    struct family f;
    uint64_t usual, wary, after;

    world_gm2_all(w, twelve_tries, NULL);
    assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
    f = family_of(w);
    world_run(w, status(w, f.leader).since + 600 * MS);
    usual = probes_of_a_young_map_doubted(&f);
    wary = probes_of_a_young_map_doubted(&f); /* the same had been found */
    assert_in_range(wary, usual * 3 / 2, usual * 2);
    world_pull(w, net_find_name(w->net, "x0"), 0);
    assert_true(world_until(w, world_now(w) + 4 * SECOND, world_gm2_settled));
    world_run(w, status(w, f.leader).since + 600 * MS);
    after = probes_of_a_young_map_doubted(&f); /* a cable was really gone */
    assert_in_range(after, usual / 2, usual * 5 / 4);
    world_free(w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_child_that_is_mute_is_a_change),
    cmocka_unit_test(doubt_of_a_child_climbs_to_the_leader),
    cmocka_unit_test(doubt_of_a_parent_climbs_to_the_leader),
    cmocka_unit_test(child_that_never_takes_the_map_is_a_change),
    cmocka_unit_test(who_asks_for_another_map_is_believed),
    cmocka_unit_test(a_map_that_did_not_last_is_made_with_more_tries),
    cmocka_unit_test(a_map_that_was_right_is_no_reason_for_more_tries),
};

const struct suite gm2_doubt = SUITE(tests);
