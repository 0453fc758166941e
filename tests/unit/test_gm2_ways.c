/* SPDX-License-Identifier: BSD-3-Clause
 * GM-2: the ways of the table that a settled fabric does not go.
 */
#include "gm2_util.h"

#include "no_explorer.h"
#include "no_proof.h"

/* A mapper alone, to whom somebody higher says this and that. */
struct alone {
    struct world *w;
    uint32_t node;
};

static void at_level_0(struct gm2_config *c, uint32_t node, void *arg)
{
    c->level = 0;
}

static void asleep(struct gm2_config *c, uint32_t node, void *arg)
{
    c->start_delay = 3600 * SECOND;
}

static struct alone alone(world_gm2_f *tune)
{
    struct alone a = {.w = world_new("line:1:2", 1)};

    a.node = host(a.w, 0);
    world_gm2(a.w, a.node, tune, NULL);
    world_run(a.w, 1);
    return a;
}

/* What somebody says; the state after it. */
static enum gm2_state told_by(struct alone *a, uint64_t sender,
                              enum gm2_reason reason, uint32_t counter)
{
    const struct gm2_message msg = {
        .subtype = GM2_SCOUT,
        .reason = reason,
        .flags = GM2_VALID | GM2_MAPPING,
        .sender = sender,
        .level = 9,
        .version = {sender, 9, counter},
        .scout = {.argument = 2, .back = {2, {0x81, 0x82}}},
    };
    uint8_t body[200];

    world_hear(a->w, a->node, body, gm2_encode(body, sizeof(body), &msg));
    return status(a->w, a->node).state;
}

static enum gm2_state told(struct alone *a, enum gm2_reason reason,
                           uint32_t counter)
{
    return told_by(a, PARENT, reason, counter);
}

static enum gm2_state later(struct alone *a, uint64_t time)
{
    world_run(a->w, world_now(a->w) + time);
    return status(a->w, a->node).state;
}

/* How one may begin, and what becomes of it when nothing comes of what it was
 * told. */
static const struct beginning {
    world_gm2_f *tune;
    enum gm2_state after;
} beginnings[] = {
    {asleep, GM2_STATE_VERIFYING},
    {at_level_0, GM2_STATE_LISTENING},
    {NULL, GM2_STATE_VERIFYING},
};
#define BEGINNINGS (sizeof(beginnings) / sizeof(*beginnings))

static void everybody_can_be_paused(void **state)
{
    for (unsigned i = 0; i < BEGINNINGS; i++) {
        struct alone a = alone(beginnings[i].tune);

        assert_int_equal(told(&a, GM2_LX_PAUSE, 1), GM2_STATE_PAUSED);
        assert_int_equal(told(&a, GM2_LX_PAUSE, 1), GM2_STATE_PAUSED);
        assert_int_equal(later(&a, 5 * SECOND), beginnings[i].after);
        world_free(a.w);
    }
}

static void everybody_can_be_told_of_a_map(void **state)
{
    for (unsigned i = 0; i < BEGINNINGS; i++) {
        struct alone a = alone(beginnings[i].tune);

        assert_int_equal(told(&a, GM2_LX_TREE, 7), GM2_STATE_FETCHING);
        assert_int_equal(told(&a, GM2_LX_TREE, 8), GM2_STATE_FETCHING);
        assert_int_equal(told_by(&a, PARENT + 1, GM2_LX_MAPPING, 1),
                         GM2_STATE_PASSIVE);
        assert_int_equal(told(&a, GM2_LX_TREE, 8), GM2_STATE_FETCHING);
        /* no piece came */
        assert_int_equal(later(&a, 3 * SECOND), beginnings[i].after);
        assert_int_equal(told(&a, GM2_LX_TREE, 9), GM2_STATE_FETCHING);
        assert_int_equal(told(&a, GM2_LX_PAUSE, 9), GM2_STATE_PAUSED);
        assert_int_equal(told(&a, GM2_LX_TREE, 10), GM2_STATE_FETCHING);
        world_free(a.w);
    }
}

static void level_0_listens_again_when_its_parent_is_lost(void **state)
{
    struct alone a = alone(at_level_0);

    assert_int_equal(told(&a, GM2_LX_MAPPING, 1), GM2_STATE_PASSIVE);
    assert_int_equal(later(&a, SECOND), GM2_STATE_LISTENING);
    world_free(a.w);
}

static void who_verifies_follows_a_higher_one(void **state)
{
    struct alone a = alone(NULL);

    assert_true(world_until(a.w, 5 * SECOND, everybody_is_valid));
    assert_int_equal(told(&a, GM2_LX_MAPPING, 1), GM2_STATE_PASSIVE);
    assert_int_equal(later(&a, 3 * SECOND), GM2_STATE_VERIFYING);
    assert_int_equal(told(&a, GM2_LX_PAUSE, 1), GM2_STATE_PAUSED);
    world_free(a.w);
}

static void lowest_at_level_0(struct gm2_config *c, uint32_t node, void *arg)
{
    c->level = c->address != NET_BUILD_HOST_ID;
}

static void the_leader_is_lost_to_those_who_verify(void **state)
{
    struct world *w = world_new("line:1:4", 1);

    world_gm2_all(w, lowest_at_level_0, NULL);
    assert_true(world_until(w, 5 * SECOND, world_gm2_settled));
    world_kill(w, host(w, 3));
    assert_true(world_until(w, world_now(w) + 20 * SECOND, world_gm2_settled));
    /* and now nobody is left who maps */
    world_kill(w, host(w, 2));
    world_kill(w, host(w, 1));
    world_run(w, world_now(w) + 5 * SECOND);
    assert_int_equal(status(w, host(w, 0)).state, GM2_STATE_LISTENING);
    world_free(w);
}

static void exploring_that_fails_is_begun_again(void **state)
{
    struct world *w = world_new("line:1:2", 1);

    explorers_fail(3);
    world_gm2_all(w, NULL, NULL);
    assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
    assert_int_equal(explorers_fail(0), 0);
    world_free(w);
}

static void by_dmodk(struct gm2_config *c, uint32_t node, void *arg)
{
    if (c->address != NET_BUILD_HOST_ID + 4)
        c->level = 0;
    if (c->address == NET_BUILD_HOST_ID + *(unsigned *)arg)
        c->routes.engine = NET_DMODK;
}

/* An engine that the map is not made for: its leader, and who only fetches. */
static void who_cannot_route_a_map_ends(void **state)
{
    for (unsigned i = 0; i < 5; i += 4) {
        struct world *w = world_new("ring:5:1", 1);
        uint32_t at = host(w, i);

        world_gm2_all(w, by_dmodk, &i);
        world_run(w, 10 * SECOND);
        assert_int_equal(status(w, at).state, GM2_STATE_ENDED);
        assert_int_equal(w->hosts[at].nfatal, 1);
        assert_non_null(strstr(w->hosts[at].last, "not a folded Clos"));
        world_free(w);
    }
}

static bool asked_before_it_was_told(struct world *w)
{
    const char *left = world_gm2_untaken();

    (void)w;
    return !left || !strstr(left, "new-map: verifying->fetching");
}

static void no_rest(struct gm2_config *c, uint32_t node, void *arg)
{
    c->verify_pause = 20 * MS;
    c->thrash = true;
}

/* LX_TREE got lost: the child sees the new map in its next round. */
static void a_child_that_was_not_told_asks(void **state)
{
    struct world *w = world_new("line:1:6", 1);

    world_gm2_all(w, no_rest, NULL);
    w->loss = 0.3;
    assert_true(world_until(w, 600 * SECOND, asked_before_it_was_told));
    world_free(w);
}

static void by_gm2(struct gm2_config *c, uint32_t node, void *arg)
{
    c->routes.engine = NET_GM2;
}

/* Engine gm2 where a proof fails: all use others, say what was found, and come
 * back to it with the next map that is proved. */
static void routes_that_could_deadlock_are_not_used(void **state)
{
    struct world *w = world_new("clos:4x4:1x2:1x2", 1);
    struct gm2_status s;

    no_proof = true;
    world_gm2_all(w, by_gm2, NULL);
    assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
    for (unsigned i = 0; i < 16; i++) {
        s = status(w, host(w, i));
        assert_int_equal(s.engine, NET_DMODK);
        assert_string_equal(s.unproved,
                            "engine gm2: a cycle of 3 cables: x0:1 x1:1 x2:1");
    }
    no_proof = false;
    world_pull(w, host(w, 3), 0);
    assert_true(world_until(w, world_now(w) + 20 * SECOND, world_gm2_settled));
    s = status(w, host(w, 15));
    assert_int_equal(s.nhosts, 15);
    assert_int_equal(s.engine, NET_GM2);
    assert_string_equal(s.unproved, "");
    world_free(w);
}

static bool proved[16]; /* by place on the map */

int __real_net_routes_host_deadlock(const struct net_routes *r, uint32_t host,
                                    struct errbuf *err);
int __wrap_net_routes_host_deadlock(const struct net_routes *r, uint32_t host,
                                    struct errbuf *err);

int __wrap_net_routes_host_deadlock(const struct net_routes *r, uint32_t host,
                                    struct errbuf *err)
{
    if (host < 16)
        proved[host] = true;
    return __real_net_routes_host_deadlock(r, host, err);
}

static void all_are_proved(void)
{
    for (unsigned i = 0; i < 16; i++)
        assert_true(proved[i]);
    memset(proved, 0, sizeof(proved));
}

/* Its own, not the leader's: of a map, and of one that is repaired. */
static void each_mapper_proves_what_it_uses(void **state)
{
    struct world *w = world_new("clos:4x4:1x2:1x2", 1);
    uint32_t x = net_peer_node(w->net, host(w, 0), 0), peer;
    unsigned port = 0;

    memset(proved, 0, sizeof(proved));
    world_gm2_all(w, NULL, NULL);
    assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
    all_are_proved();
    while ((peer = net_peer_node(w->net, x, port)) == NET_NONE ||
           net_is_host(w->net, peer))
        port++;
    world_pull(w, x, port);
    assert_true(world_until(w, world_now(w) + 20 * SECOND, world_gm2_settled));
    all_are_proved();
    world_free(w);
}

static void one_by_updown(struct gm2_config *c, uint32_t node, void *arg)
{
    bool odd = c->address == NET_BUILD_HOST_ID + *(unsigned *)arg;

    c->routes.engine = odd ? NET_UPDOWN : c->address % 2 ? NET_AUTO : NET_GM2;
}

/* Hosts that notice that a partner goes up and down another way. */
static unsigned who_notice(struct world *w)
{
    unsigned n = 0;

    world_run(w, world_now(w) + 5 * SECOND);
    for (unsigned i = 0; i < 16; i++)
        n += status(w, host(w, i)).unlike != 0;
    return n;
}

/* NonClos on one host of a Clos, wherever it stands in the tree: its parent and
 * children say so, and it does, until it is as the others. */
static void hosts_with_other_ups_and_downs_are_told(void **state)
{
    for (unsigned i = 0; i < 16; i += 5) {
        struct world *w = world_new("clos:4x4:1x2:1x2", 1);
        unsigned none = 99, number = 16 - i, partners = number > 1;

        for (unsigned k = 0; k < 2; k++)
            partners += gm2_tree_child(number, k, 16) != 0;
        world_gm2_all(w, one_by_updown, &i);
        assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
        assert_int_equal(who_notice(w), partners + 1);
        assert_int_not_equal(status(w, host(w, i)).unlike, 0);
        world_gm2(w, host(w, i), one_by_updown, &none);
        assert_true(
            world_until(w, world_now(w) + 60 * SECOND, world_gm2_settled));
        assert_int_equal(who_notice(w), 0);
        world_free(w);
    }
}

/* The program's last test: the others go most ways. */
static void every_edge_of_gm2_is_taken(void **state)
{
    const char *left = world_gm2_untaken();

    assert_string_equal(left ? left : "", "");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(everybody_can_be_paused),
    cmocka_unit_test(everybody_can_be_told_of_a_map),
    cmocka_unit_test(level_0_listens_again_when_its_parent_is_lost),
    cmocka_unit_test(who_verifies_follows_a_higher_one),
    cmocka_unit_test(the_leader_is_lost_to_those_who_verify),
    cmocka_unit_test(exploring_that_fails_is_begun_again),
    cmocka_unit_test(who_cannot_route_a_map_ends),
    cmocka_unit_test(a_child_that_was_not_told_asks),
    cmocka_unit_test(routes_that_could_deadlock_are_not_used),
    cmocka_unit_test(each_mapper_proves_what_it_uses),
    cmocka_unit_test(hosts_with_other_ups_and_downs_are_told),
    cmocka_unit_test(every_edge_of_gm2_is_taken),
};

const struct suite gm2_ways = SUITE(tests);
