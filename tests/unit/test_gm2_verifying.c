/* SPDX-License-Identifier: BSD-3-Clause
 * GM-2: verify mode, and pauses.
 */
#include "gm2_util.h"

static void rounds_have_a_pause_of_a_second(void **state)
{
    struct world *w = settled("line:2:3");
    uint64_t before = status(w, host(w, 0)).counters.rounds;

    world_run(w, world_now(w) + 20 * SECOND);
    assert_in_range(status(w, host(w, 0)).counters.rounds - before, 10, 20);
    assert_int_equal(status(w, host(w, 5)).counters.maps, 1);
    world_free(w);
}

static uint64_t end_of_round(struct world *w, uint32_t node)
{
    uint64_t rounds = status(w, node).counters.rounds;

    while (status(w, node).counters.rounds == rounds &&
           world_now(w) < 60 * SECOND)
        world_run(w, world_now(w) + MS / 10);
    return world_now(w);
}

/* From the map to the first round, and from round to round. */
static void try_pause(world_gm2_f *tune, uint64_t pause)
{
    struct world *w = world_new("line:2:3", 1);
    uint32_t node = host(w, 5);
    uint64_t at, next;

    world_gm2_all(w, tune, NULL);
    next = end_of_round(w, node);
    at = status(w, node).since;
    for (unsigned i = 0; i < 3; i++) {
        assert_in_range(next - at - status(w, node).round_time, pause - MS / 10,
                        pause + MS / 10);
        at = next;
        next = end_of_round(w, node);
    }
    world_free(w);
}

static void rest_three_seconds(struct gm2_config *c, uint32_t node, void *arg)
{
    c->verify_pause = 3 * SECOND;
}

static void the_pause_is_a_second_and_settable(void **state)
{
    try_pause(NULL, SECOND);
    try_pause(rest_three_seconds, 3 * SECOND);
}

static void added_host_is_found(void **state)
{
    struct world *w = world_new("line:2:3", 1);

    world_gm2_all(w, NULL, NULL);
    world_kill(w, host(w, 0));
    assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
    world_gm2(w, host(w, 0), sleep_first, NULL); /* it says nothing itself */
    assert_true(world_until(w, world_now(w) + 20 * SECOND, world_gm2_settled));
    assert_int_equal(status(w, host(w, 5)).nhosts, 6);
    world_free(w);
}

static void added_and_lost_links_are_found(void **state)
{
    struct world *w = settled("line:4:2");
    uint32_t a = net_peer_node(w->net, host(w, 0), 0);
    uint32_t b = net_peer_node(w->net, host(w, 7), 0);
    unsigned pa = 0, pb = 0;

    while (net_peer_node(w->net, a, pa) != NET_NONE)
        pa++;
    while (net_peer_node(w->net, b, pb) != NET_NONE)
        pb++;
    world_plug(w, a, pa, b, pb);
    assert_true(world_until(w, world_now(w) + 20 * SECOND, world_gm2_settled));
    world_pull(w, a, pa);
    assert_true(world_until(w, world_now(w) + 20 * SECOND, world_gm2_settled));
    assert_int_equal(status(w, host(w, 7)).counters.maps, 3);
    world_free(w);
}

struct scouts {
    uint32_t node;
    struct gm2_message sent[64];
    unsigned nsent, answered;
};

/* Counts the answers that a mapper gets to what it asks in a round. */
static void count_answers(struct world *w, uint32_t node, void *body,
                          size_t len)
{
    struct scouts *s = w->tap_arg;
    struct gm2_message msg;

    if (gm2_decode(&msg, body, len) < 0 || msg.reason != GM2_LX_VERIFYING)
        return;
    if (node == s->node && msg.subtype == GM2_SCOUT && s->nsent < 64)
        s->sent[s->nsent++] = msg;
    for (unsigned i = 0; i < s->nsent && msg.subtype == GM2_REPLY; i++)
        s->answered +=
            msg.session == s->sent[i].session && msg.tag == s->sent[i].tag;
}

/* Of the hosts on its crossbar the tree partners are but three. */
static void each_round_asks_every_host_of_the_own_crossbar(void **state)
{
    struct world *w = settled("line:1:8");
    struct scouts s = {.node = host(w, 0)};
    uint64_t rounds;

    end_of_round(w, s.node);
    rounds = status(w, s.node).counters.rounds;
    w->tap = count_answers;
    w->tap_arg = &s;
    end_of_round(w, s.node);
    assert_int_equal(status(w, s.node).counters.rounds, rounds + 1);
    assert_in_range(s.answered, 7 + 1, 7 + 3);
    world_free(w);
}

static bool has_hosts(const struct net *net, uint32_t x)
{
    for (unsigned p = 0; p < net->nodes[x].nports; p++) {
        uint32_t peer = net_peer_node(net, x, p);

        if (peer != NET_NONE && net_is_host(net, peer))
            return true;
    }
    return false;
}

/* The n-th cable between crossbars of which none has hosts; NET_NONE. */
static uint32_t far_cable(const struct net *net, unsigned n)
{
    for (uint32_t p = 0; p < net->nports; p++) {
        uint32_t q = net->ports[p].peer, x = net->ports[p].node;

        if (q == NET_NONE || q < p || net_is_host(net, x) ||
            net_is_host(net, net->ports[q].node) || has_hosts(net, x) ||
            has_hosts(net, net->ports[q].node))
            continue;
        if (n-- == 0)
            return p;
    }
    return NET_NONE;
}

static void partners_wait_long(struct gm2_config *c, uint32_t node, void *arg)
{
    c->scout_wait = 9 * SECOND;
}

/* Nobody is near: it is in somebody's share. */
static void each_link_far_from_hosts_is_found(void **state)
{
    unsigned n = 0;

    for (;; n++) {
        struct world *w = world_new("clos:2x2x2:1x2x2:1x1x1", 1);
        uint32_t port = far_cable(w->net, n);

        world_gm2_all(w, partners_wait_long, NULL);
        assert_true(world_until(w, 60 * SECOND, world_gm2_settled));
        if (port != NET_NONE) {
            uint32_t node = w->net->ports[port].node;

            world_pull(w, node, net_port_number(w->net, port));
            assert_true(
                world_until(w, world_now(w) + 20 * SECOND, world_gm2_settled));
        }
        world_free(w);
        if (port == NET_NONE)
            break;
    }
    assert_true(n >= 4);
}

static void only_the_leader_verifies(struct gm2_config *c, uint32_t node,
                                     void *arg)
{
    partners_wait_long(c, node, arg);
    if (c->address != NET_BUILD_HOST_ID + 15)
        c->verify_pause = 600 * SECOND;
}

/* Whosever share it is in: those beside it see it in their next round. */
static void links_of_the_own_crossbar_are_found_at_once(void **state)
{
    unsigned n = 0;

    for (unsigned port = 0;; port++) {
        struct world *w = world_new("clos:4x4:1x4:1x1", 1);
        uint32_t me = host(w, 15), x = net_peer_node(w->net, me, 0), peer;

        if (port >= w->net->nodes[x].nports) {
            world_free(w);
            break;
        }
        peer = net_peer_node(w->net, x, port);
        if (peer != NET_NONE && !net_is_host(w->net, peer)) {
            world_gm2_all(w, only_the_leader_verifies, NULL);
            assert_true(world_until(w, 60 * SECOND, world_gm2_settled));
            assert_int_equal(w->hosts[me].moves[GM2_EVENT_CHANGED], 0);
            world_pull(w, x, port);
            world_run(w, world_now(w) + 3 * SECOND);
            assert_int_equal(w->hosts[me].moves[GM2_EVENT_CHANGED], 1);
            n++;
        }
        world_free(w);
    }
    assert_int_equal(n, 4);
}

/* ---- what a verifying mapper calls each change ---------------------------
 */

static void pull_a_link(struct world *w)
{
    uint32_t x = net_peer_node(w->net, host(w, 15), 0);
    unsigned p = 0;

    while (net_peer_node(w->net, x, p) == NET_NONE ||
           net_is_host(w->net, net_peer_node(w->net, x, p)))
        p++;
    world_pull(w, x, p);
}

static void pull_a_host(struct world *w)
{
    world_pull(w, host(w, 12), 0);
}

static void free_port(const struct world *w, uint32_t x, unsigned *p)
{
    for (*p = 0; net_peer_node(w->net, x, *p) != NET_NONE; ++*p)
        assert_true(*p + 1u < w->net->nodes[x].nports);
}

/* From another crossbar. */
static void move_a_host(struct world *w)
{
    uint32_t x = net_peer_node(w->net, host(w, 15), 0);
    unsigned p;

    free_port(w, x, &p);
    world_pull(w, host(w, 0), 0);
    world_plug(w, host(w, 0), 0, x, p);
}

/* Two on the leader's crossbar, none of them its child. */
static void exchange_hosts(struct world *w)
{
    uint32_t a = host(w, 11), b = host(w, 12), x = net_peer_node(w->net, a, 0);
    unsigned pa = net_peer_port(w->net, a, 0), pb = net_peer_port(w->net, b, 0);

    assert_int_equal(net_peer_node(w->net, b, 0), x);
    world_pull(w, a, 0);
    world_pull(w, b, 0);
    world_plug(w, a, 0, x, pb);
    world_plug(w, b, 0, x, pa);
}

static void add_a_link(struct world *w)
{
    uint32_t a = net_peer_node(w->net, host(w, 15), 0);
    uint32_t b = net_peer_node(w->net, host(w, 0), 0);
    unsigned pa, pb;

    free_port(w, a, &pa);
    free_port(w, b, &pb);
    world_plug(w, a, pa, b, pb);
}

/* A mapper that says nothing comes to life where nothing was. */
static void add_a_host(struct world *w)
{
    world_gm2(w, host(w, 11), sleep_first, NULL);
}

static void each_change_is_seen_by_verifying_alone(void **state)
{
    static const struct {
        void (*change)(struct world *w);
        const char *text; /* begins so */
    } cases[] = {
        {pull_a_link, "link lost: crossbar"},
        {pull_a_host, "host lost: 00:60:dd:00:00:0d"},
        {move_a_host, "host moved: 00:60:dd:00:00:01 to crossbar"},
        {exchange_hosts, "host 00:60:dd:00:00:0c where 00:60:dd:00:00:0d was"},
        {add_a_link, "link new: crossbar"},
        {add_a_host, "host new: 00:60:dd:00:00:0c at crossbar"},
    };

    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct world *w = world_new("line:2:8", 1);
        uint32_t me = host(w, 15);

        world_gm2_all(w, only_the_leader_verifies, NULL);
        if (cases[i].change == add_a_host)
            world_kill(w, host(w, 11));
        assert_true(world_until(w, 60 * SECOND, world_gm2_settled));
        cases[i].change(w);
        for (int k = 0; k < 600 && !w->hosts[me].moves[GM2_EVENT_CHANGED]; k++)
            world_run(w, world_now(w) + SECOND / 10);
        if (w->hosts[me].moves[GM2_EVENT_CHANGED] != 1)
            fail_msg("not seen: %s", cases[i].text);
        if (strncmp(w->hosts[me].last, cases[i].text, strlen(cases[i].text)))
            fail_msg("%s: %s", cases[i].text, w->hosts[me].last);
        world_free(w);
    }
}

/* Twelve sleep, and the thirteenth has found all hosts but takes minutes to
 * find out that there is nothing at the crossbar's other ports. */
static void slow_leader(struct gm2_config *c, uint32_t node, void *arg)
{
    if (c->address != NET_BUILD_HOST_ID + 12) {
        c->start_delay = 3600 * SECOND;
        return;
    }
    c->limits.fixed_timers = true;
    c->limits.scout_wait = 60 * SECOND;
}

struct asked_at_once {
    uint64_t at, times;
    unsigned n, most;
};

static void count_questions(struct world *w, uint32_t node, void *body,
                            size_t len)
{
    struct asked_at_once *a = w->tap_arg;
    struct gm2_message msg;

    if (gm2_decode(&msg, body, len) < 0 || msg.subtype != GM2_SCOUT ||
        msg.reason != GM2_LX_QUERYING_MAP_VERSION)
        return;
    if (world_now(w) > a->at + 5 * MS)
        a->n = 0;
    a->at = world_now(w);
    a->times++;
    if (++a->n > a->most)
        a->most = a->n;
}

/* All twelve have one parent, and ask it within the same milliseconds. */
static void a_dozen_children_ask_one_parent_at_once(void **state)
{
    struct world *w = world_new("line:1:13", 1);
    struct asked_at_once a = {0};

    w->tap = count_questions;
    w->tap_arg = &a;
    world_gm2_all(w, slow_leader, NULL);
    world_run(w, 200 * SECOND);
    assert_int_equal(status(w, host(w, 12)).state, GM2_STATE_MAPPING);
    for (unsigned i = 0; i < 12; i++) {
        struct gm2_status s = status(w, host(w, i));

        assert_int_equal(s.state, GM2_STATE_PASSIVE);
        assert_int_equal(s.parent, NET_BUILD_HOST_ID + 12);
        assert_int_equal(w->hosts[host(w, i)].moves[GM2_EVENT_PARENT_LOST], 0);
        assert_int_equal(s.counters.explorations, 0);
    }
    assert_int_equal(a.most, 12);
    assert_in_range(a.times, 12 * 190, 12 * 201);
    assert_true(world_until(w, 600 * SECOND, world_gm2_settled));
    assert_int_equal(status(w, host(w, 12)).counters.maps, 1);
    world_free(w);
}

static void a_dozen_children_do_not_upset_anybody(void **state)
{
    struct world *w = settled("line:1:13");

    world_run(w, world_now(w) + 60 * SECOND);
    assert_true(world_gm2_settled(w));
    assert_int_equal(status(w, host(w, 12)).counters.maps, 1);
    world_free(w);
}

static void pauser(struct gm2_config *c, uint32_t node, void *arg)
{
    c->pause = c->address == NET_BUILD_HOST_ID + 5;
}

static void pause_keeps_the_others_quiet(void **state)
{
    struct world *w = world_new("line:2:3", 1);

    world_gm2_all(w, pauser, NULL);
    assert_true(world_until(w, 40 * SECOND, world_gm2_settled));
    assert_true(w->hosts[host(w, 0)].moves[GM2_EVENT_PAUSE] > 0);
    world_free(w);
    w = world_new("line:2:3", 1); /* its pauser dies */
    world_gm2_all(w, pauser, NULL);
    world_run(w, 2 * MS);
    world_kill(w, host(w, 5));
    assert_true(world_until(w, 40 * SECOND, world_gm2_settled));
    world_free(w);
}

/* Of hosts that get the map at once no two begin their rounds together, and
 * none before half a pause is over. */
static void hosts_do_not_all_rest_alike(void **state)
{
    struct world *w = settled("line:1:8");
    uint64_t began[8] = {0}, from = world_now(w), rest;

    while (world_now(w) < from + 3 * SECOND) {
        for (unsigned i = 0; i < 8; i++)
            if (!began[i] && status(w, host(w, i)).counters.rounds > 0)
                began[i] = world_now(w) - status(w, host(w, i)).round_time;
        world_run(w, world_now(w) + MS / 10);
    }
    for (unsigned i = 0; i < 8; i++) {
        rest = began[i] - status(w, host(w, i)).since;
        assert_in_range(rest, SECOND / 2, SECOND + MS);
        for (unsigned k = 0; k < i; k++)
            assert_true(began[i] > began[k] + 20 * MS ||
                        began[k] > began[i] + 20 * MS);
    }
    world_free(w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(rounds_have_a_pause_of_a_second),
    cmocka_unit_test(the_pause_is_a_second_and_settable),
    cmocka_unit_test(hosts_do_not_all_rest_alike),
    cmocka_unit_test(added_host_is_found),
    cmocka_unit_test(added_and_lost_links_are_found),
    cmocka_unit_test(each_round_asks_every_host_of_the_own_crossbar),
    cmocka_unit_test(each_link_far_from_hosts_is_found),
    cmocka_unit_test(links_of_the_own_crossbar_are_found_at_once),
    cmocka_unit_test(each_change_is_seen_by_verifying_alone),
    cmocka_unit_test(a_dozen_children_ask_one_parent_at_once),
    cmocka_unit_test(a_dozen_children_do_not_upset_anybody),
    cmocka_unit_test(pause_keeps_the_others_quiet),
};

const struct suite gm2_verifying = SUITE(tests);
