/* SPDX-License-Identifier: BSD-3-Clause
 * GM-2: what is different in a map is pulled from a parent, who may lie.
 */
#include <stdlib.h>

#include "gm2_util.h"
#include "mapper/gm2_delta.h"
#include "net/delta.h"

static void with_deltas(struct gm2_config *c, uint32_t node, void *arg)
{
    const bool *off = arg;

    c->map_deltas = !*off;
    c->map_incrementally = true;
}

static struct gm2_counters sum(struct world *w)
{
    struct gm2_counters all = {0};

    for (uint32_t i = 0; i < w->net->nnodes; i++) {
        struct gm2_counters c;

        if (!w->hosts[i].gm2)
            continue;
        c = status(w, i).counters;
        all.pulled += c.pulled;
        all.sent += c.sent;
        all.probes += c.probes;
        all.repairs += c.repairs;
        all.deltas_received += c.deltas_received;
        all.pieces_received += c.pieces_received;
    }
    return all;
}

/* All hosts together, after one link was lost or put back. */
static struct gm2_counters cost_of_a_link(const char *net, bool off, bool back)
{
    struct world *w = world_new(net, 1);
    struct gm2_counters before, after;
    struct errbuf why = {""};
    uint32_t x = NET_NONE, peer;
    unsigned port = 0, peer_port;

    world_gm2_all(w, with_deltas, &off);
    assert_true(world_until(w, 60 * SECOND, world_gm2_settled));
    for (uint32_t p = 0; p < w->net->nports && x == NET_NONE; p++) {
        uint32_t q = w->net->ports[p].peer;

        if (q == NET_NONE || net_is_host(w->net, w->net->ports[p].node) ||
            net_is_host(w->net, w->net->ports[q].node))
            continue;
        x = w->net->ports[p].node;
        port = net_port_number(w->net, p);
    }
    peer = net_peer_node(w->net, x, port);
    peer_port = net_peer_port(w->net, x, port);
    before = sum(w);
    world_pull(w, x, port);
    assert_true(world_until(w, world_now(w) + 60 * SECOND, world_gm2_settled));
    if (back) {
        before = sum(w);
        world_plug(w, x, port, peer, peer_port);
        assert_true(
            world_until(w, world_now(w) + 60 * SECOND, world_gm2_settled));
    }
    assert_true(world_gm2_routes_are_safe(w, &why));
    after = sum(w);
    after.pulled -= before.pulled;
    after.repairs -= before.repairs;
    after.deltas_received -= before.deltas_received;
    after.pieces_received -= before.pieces_received;
    world_free(w);
    return after;
}

static void one_lost_link_is_pulled_as_a_delta(void **state)
{
    static const char *const nets[] = {"clos:4x4:1x2:1x2", "C64",
                                       "torus:3x3:1"};

    for (unsigned i = 0; i < 3; i++)
        for (int back = 0; back < 2; back++) {
            struct gm2_counters whole = cost_of_a_link(nets[i], true, back);
            struct gm2_counters delta = cost_of_a_link(nets[i], false, back);

            print_message("# %s, a link %s: %llu bytes of map pulled in all, "
                          "%llu in whole maps; %llu hosts repaired routes\n",
                          nets[i], back ? "put back" : "lost",
                          (unsigned long long)delta.pulled,
                          (unsigned long long)whole.pulled,
                          (unsigned long long)delta.repairs);
            assert_int_equal(whole.deltas_received, 0);
            assert_int_equal(delta.pieces_received, 0);
            assert_true(delta.pulled < whole.pulled);
        }
}

static void the_routes_of_all_hosts_are_repaired(void **state)
{
    struct gm2_counters c = cost_of_a_link("C64", false, false);

    assert_int_equal(c.repairs, 64);
}

static void every_third_is_plain(struct gm2_config *c, uint32_t node, void *arg)
{
    c->map_deltas = node % 3 != 0;
}

static void mappers_with_and_without_deltas_agree(void **state)
{
    struct world *w = world_new("C64", 1);
    struct gm2_counters c;

    world_gm2_all(w, every_third_is_plain, NULL);
    assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
    world_pull(w, host(w, 3), 0);
    assert_true(world_until(w, world_now(w) + 30 * SECOND, world_gm2_settled));
    c = sum(w);
    assert_true(c.deltas_received > 0);
    world_free(w);
}

/* A host of C64 is off while so many others go, and comes with its old map. */
static struct gm2_counters missed(unsigned others)
{
    struct world *w = world_new("C64", 1);
    uint32_t late = host(w, 5);
    struct gm2_counters c;

    w->keeps = true;
    world_gm2_all(w, NULL, NULL);
    assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
    world_kill(w, late);
    assert_true(world_until(w, world_now(w) + 30 * SECOND, world_gm2_settled));
    for (unsigned i = 0; i < others; i++) {
        world_kill(w, host(w, 8 + i));
        assert_true(
            world_until(w, world_now(w) + 30 * SECOND, world_gm2_settled));
    }
    world_gm2(w, late, NULL, NULL);
    assert_true(world_until(w, world_now(w) + 30 * SECOND, world_gm2_settled));
    c = status(w, late).counters;
    world_free(w);
    return c;
}

/* One map without it, one for each of the others, one with it again. */
static void who_missed_some_maps_pulls_what_is_different(void **state)
{
    for (unsigned others = 0; others + 2 <= SF_GM_PAST_MAX; others++) {
        struct gm2_counters c = missed(others);

        assert_int_equal(c.pieces_received, 0);
        assert_int_equal(c.deltas_received, 1);
    }
}

/* Its parent's deltas all begin at maps that this host never had. */
static void who_missed_many_maps_pulls_the_whole(void **state)
{
    struct gm2_counters c = missed(SF_GM_PAST_MAX - 1);

    assert_true(c.pieces_received > 0);
    assert_int_equal(c.deltas_received, 0);
}

/* ---- deltas that lie ----------------------------------------------------- */

struct liar {
    struct gm2_message asked; /* the last question for a delta */
    uint32_t node;            /* whose */
    bool other_version;       /* deltas say that they lead elsewhere */
};

/* Nobody gets a delta. */
static void lie(struct world *w, uint32_t node, void *body, size_t len)
{
    struct liar *liar = w->tap_arg;
    struct gm2_message msg;
    uint8_t *bytes = body;

    if (gm2_decode(&msg, body, len) < 0 ||
        msg.reason != GM2_LX_QUERYING_MAP_DELTA)
        return;
    if (msg.subtype == GM2_SCOUT) {
        liar->asked = msg;
        liar->node = node;
    } else if (liar->other_version) {
        bytes[47]++; /* the counter of the version */
    } else {
        bytes[2] = 0x7f; /* a subtype of nobody */
    }
}

static struct world *lied_to(struct liar *liar, const char *net)
{
    struct world *w = world_new(net, 1);

    world_gm2_all(w, NULL, NULL);
    assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
    w->tap = lie;
    w->tap_arg = liar;
    world_kill(w, host(w, 0));
    return w;
}

static void a_delta_to_another_version_is_not_used(void **state)
{
    struct liar liar = {.other_version = true};
    struct world *w = lied_to(&liar, "line:1:4");

    assert_true(world_until(w, world_now(w) + 30 * SECOND, world_gm2_settled));
    assert_int_not_equal(liar.node, 0);
    assert_int_equal(status(w, liar.node).counters.deltas_received, 0);
    assert_true(status(w, liar.node).counters.pieces_received > 0);
    world_free(w);
}

static void plain_host(uint64_t address, struct gm2_host *host, void *arg)
{
    *host = (struct gm2_host){.level = 1};
}

/* What leads from the map that a host has to one without it. */
static size_t delta_without(const struct world *w, const struct liar *liar,
                            uint8_t *body, size_t size)
{
    const struct gm2_map *before = gm2_current_map(w->hosts[liar->node].gm2);
    struct gm2_message msg = {.subtype = GM2_DELTA,
                              .reason = GM2_LX_QUERYING_MAP_DELTA,
                              .tag = liar->asked.tag,
                              .session = liar->asked.session,
                              .sender = liar->asked.version.leader,
                              .level = 1,
                              .version = liar->asked.version};
    bool *gone = calloc(before->net->nnodes, sizeof(*gone));
    struct gm2_map *after;
    struct bytebuf delta;
    struct net *net;
    size_t len;

    assert_non_null(gone);
    gone[gm2_map_host(before, liar->asked.sender)] = true;
    net = net_without(before->net, gone, NULL);
    assert_non_null(net);
    after = gm2_map_new(net, &msg.version, plain_host, NULL);
    assert_non_null(after);
    bytebuf_init(&delta, GM2_DELTA_MAX);
    assert_true(gm2_delta_make(before, after, &delta));
    len = gm2_encode(body, size, &msg);
    memcpy(body + len, bytebuf_data(&delta), bytebuf_len(&delta));
    len += bytebuf_len(&delta);
    bytebuf_free(&delta);
    gm2_map_free(after);
    net_free(net);
    free(gone);
    return len;
}

static void a_delta_that_leaves_its_receiver_out_is_not_used(void **state)
{
    struct liar liar = {0};
    struct world *w = lied_to(&liar, "line:1:3"); /* its parent is the leader */
    uint8_t body[GM2_MESSAGE_MAX];

    while (liar.node == 0) {
        assert_true(world_now(w) < 60 * SECOND);
        world_run(w, world_now(w) + MS);
    }
    world_hear(w, liar.node, body, delta_without(w, &liar, body, sizeof(body)));
    assert_int_equal(status(w, liar.node).counters.deltas_received, 1);
    assert_int_equal(status(w, liar.node).state, GM2_STATE_FETCHING);
    assert_true(world_until(w, world_now(w) + 30 * SECOND, world_gm2_settled));
    world_free(w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(one_lost_link_is_pulled_as_a_delta),
    cmocka_unit_test(the_routes_of_all_hosts_are_repaired),
    cmocka_unit_test(mappers_with_and_without_deltas_agree),
    cmocka_unit_test(who_missed_some_maps_pulls_what_is_different),
    cmocka_unit_test(who_missed_many_maps_pulls_the_whole),
    cmocka_unit_test(a_delta_to_another_version_is_not_used),
    cmocka_unit_test(a_delta_that_leaves_its_receiver_out_is_not_used),
};

const struct suite gm2_pulled = SUITE(tests);
