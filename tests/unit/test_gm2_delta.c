/* SPDX-License-Identifier: BSD-3-Clause
 * What is different in a map: as bytes, and pulled from a parent.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/be.h"
#include "gm2_util.h"
#include "mapper/gm2_delta.h"
#include "net/align.h"
#include "net/delta.h"

/* ---- bytes --------------------------------------------------------------- */

static void level_one(uint64_t address, struct gm2_host *host, void *arg)
{
    const uint64_t *high = arg;

    *host = (struct gm2_host){high && *high == address ? 2 : 1, 3};
}

static struct gm2_map *map_of(const struct net *net, uint32_t counter,
                              uint64_t *high)
{
    const struct gm2_version version = {NET_BUILD_HOST_ID, 1, counter};
    struct gm2_map *map = gm2_map_new(net, &version, level_one, high);

    assert_non_null(map);
    return map;
}

static struct net *build(const char *name)
{
    struct errbuf err;
    struct net *net = net_build_named(name, &err);

    assert_non_null(net);
    return net;
}

/* The delta leads there; its length, 0: there is none. */
static size_t leads(const struct gm2_map *a, const struct gm2_map *b)
{
    struct bytebuf d;
    struct gm2_map *c;
    size_t len = 0;

    bytebuf_init(&d, GM2_DELTA_MAX);
    if (gm2_delta_make(a, b, &d)) {
        len = bytebuf_len(&d);
        c = gm2_delta_apply(a, &b->version, bytebuf_data(&d), len, NULL);
        assert_non_null(c);
        assert_int_equal(net_fingerprint(c->net), net_fingerprint(b->net));
        for (uint32_t i = 0; i < b->net->nhosts; i++) {
            assert_int_equal(c->hosts[i].level, b->hosts[i].level);
            assert_int_equal(c->hosts[i].type, b->hosts[i].type);
        }
        gm2_map_free(c);
    }
    bytebuf_free(&d);
    return len;
}

static void cut_link(struct net *net, unsigned nth)
{
    for (uint32_t p = 0; p < net->nports; p++) {
        uint32_t q = net->ports[p].peer;

        if (q == NET_NONE || q < p || net_is_host(net, net->ports[p].node) ||
            net_is_host(net, net->ports[q].node) || nth-- > 0)
            continue;
        net_disconnect(net, net->ports[p].node, net_port_number(net, p));
        return;
    }
}

static void a_lost_link_takes_a_hundred_bytes(void **state)
{
    struct net *net = build("C512");
    struct gm2_map *a = map_of(net, 7, NULL), *b;

    cut_link(net, 100);
    b = map_of(net, 8, NULL);
    assert_in_range(leads(a, b), 1, 100);
    assert_in_range(leads(b, a), 1, 100); /* and put back */
    assert_in_range(leads(a, a), 1, 100);
    gm2_map_free(a);
    gm2_map_free(b);
    net_free(net);
}

static void hosts_that_go_and_come(void **state)
{
    struct net *net = build("C64"), *left;
    struct gm2_map *a = map_of(net, 7, NULL), *b;
    uint32_t there, high_up = net_find_host(net, NET_BUILD_HOST_ID + 63);
    uint64_t high = NET_BUILD_HOST_ID + 5;

    net_disconnect_all(net, high_up);
    net_disconnect_all(net, net_find_host(net, NET_BUILD_HOST_ID + 9));
    left = net_reachable(net, net_find_host(net, NET_BUILD_HOST_ID), &there);
    b = map_of(left, 8, NULL);
    assert_int_equal(b->net->nhosts, 62);
    /* the found net stands in another order, so most crossbars are new */
    leads(a, b);
    gm2_map_free(b);
    net_free(left);
    left = net_align_copy(a->net, net);
    b = map_of(left, 8, &high); /* and somebody's rank is another */
    assert_in_range(leads(a, b), 1, 200);
    assert_in_range(leads(b, a), 1, 200);
    gm2_map_free(b);
    net_free(left);
    gm2_map_free(a);
    net_free(net);
}

static void a_found_map_stands_as_the_one_before(void **state)
{
    static const char *const nets[] = {"C64", "torus:3x3:1", "line:3:3",
                                       "hostless-ring:4",
                                       "clos:4x2:1x2:1x1+ids"};

    for (unsigned i = 0; i < sizeof(nets) / sizeof(*nets); i++) {
        struct net *net = build(nets[i]), *found, *alike;
        struct gm2_map *a = map_of(net, 7, NULL), *b;
        uint32_t there;

        /* another order, as seen from another host */
        found = net_reachable(a->net, a->net->nhosts / 2, &there);
        alike = net_align_copy(a->net, found);
        b = map_of(alike, 8, NULL);
        assert_int_equal(net_fingerprint(b->net), net_fingerprint(a->net));
        assert_in_range(leads(a, b), 1, 100);
        gm2_map_free(b);
        net_free(alike);
        net_free(found);
        gm2_map_free(a);
        net_free(net);
    }
}

/* Any change there may be: the delta leads there, or there is none. */
static void deltas_of_any_two_maps_lead_there(void **state)
{
    unsigned made = 0;

    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct net *net = build(seed % 2 ? "random:6:16:3" : "C64"), *alike;
        struct gm2_map *a = map_of(net, 1, NULL), *b;
        uint64_t high = NET_BUILD_HOST_ID + seed % 16;

        net_cut_cables(net, (double)(seed % 10) / 100, seed, seed % 3 == 0);
        if (seed % 7 == 0)
            net_shuffle_ports(net, seed);
        alike = net_align_copy(a->net, net);
        b = map_of(alike, 2, seed % 4 ? NULL : &high);
        made += leads(a, b) > 0;
        made += leads(b, a) > 0;
        gm2_map_free(a);
        gm2_map_free(b);
        net_free(alike);
        net_free(net);
    }
    assert_true(made > 200);
}

static void golden_delta(void **state)
{
    struct net *net = build("line:2:1");
    struct gm2_map *a = map_of(net, 7, NULL), *b;
    struct bytebuf d;
    uint8_t want[200];
    struct be_writer w;

    net_disconnect_all(net, net_find_host(net, NET_BUILD_HOST_ID));
    b = map_of(net, 8, NULL);
    bytebuf_init(&d, GM2_DELTA_MAX);
    assert_true(gm2_delta_make(a, b, &d));
    be_writer_init(&w, want, sizeof(want));
    be_put32(&w, net_fingerprint(b->net));
    be_put16(&w, 0); /* nodes out */
    be_put16(&w, 0); /* hosts in */
    be_put_bytes(&w, "SFD1", 4);
    be_put64(&w, NET_BUILD_HOST_ID);
    be_put32(&w, 7);
    be_put64(&w, NET_BUILD_HOST_ID);
    be_put32(&w, 8);
    be_put32(&w, 4); /* nodes before */
    be_put32(&w, 0);
    be_put32(&w, 1); /* cables out */
    be_put32(&w, 0);
    be_put32(&w, 0);
    be_put32(&w, net_fingerprint(a->net));
    be_put32(&w, 1); /* the port of host 1, the lower one */
    assert_int_equal(bytebuf_len(&d), w.len);
    assert_memory_equal(bytebuf_data(&d), want, w.len);
    bytebuf_free(&d);
    gm2_map_free(a);
    gm2_map_free(b);
    net_free(net);
}

static void deltas_that_do_not_fit_are_refused(void **state)
{
    struct net *net = build("line:3:3");
    struct gm2_map *a = map_of(net, 7, NULL), *b, *c;
    struct bytebuf d;
    uint8_t bytes[GM2_DELTA_MAX];
    size_t len;

    cut_link(net, 1);
    b = map_of(net, 8, NULL);
    bytebuf_init(&d, GM2_DELTA_MAX);
    assert_true(gm2_delta_make(a, b, &d));
    len = bytebuf_len(&d);
    memcpy(bytes, bytebuf_data(&d), len);
    assert_null(gm2_delta_apply(b, &b->version, bytes, len, NULL));
    assert_int_equal(errno, ESTALE);
    assert_null(gm2_delta_apply(a, &a->version, bytes, len, NULL));
    assert_int_equal(errno, ESTALE);
    for (size_t cut = 0; cut < len; cut++)
        assert_null(gm2_delta_apply(a, &b->version, bytes, cut, NULL));
    for (size_t i = 0; i < 8 * len; i++) {
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
        c = gm2_delta_apply(a, &b->version, bytes, len, NULL);
        assert_null(c);
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    bytebuf_free(&d);
    gm2_map_free(a);
    gm2_map_free(b);
    net_free(net);
}

/* ---- pulled -------------------------------------------------------------- */

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
    cmocka_unit_test(a_lost_link_takes_a_hundred_bytes),
    cmocka_unit_test(hosts_that_go_and_come),
    cmocka_unit_test(a_found_map_stands_as_the_one_before),
    cmocka_unit_test(deltas_of_any_two_maps_lead_there),
    cmocka_unit_test(golden_delta),
    cmocka_unit_test(deltas_that_do_not_fit_are_refused),
    cmocka_unit_test(one_lost_link_is_pulled_as_a_delta),
    cmocka_unit_test(the_routes_of_all_hosts_are_repaired),
    cmocka_unit_test(mappers_with_and_without_deltas_agree),
    cmocka_unit_test(who_missed_some_maps_pulls_what_is_different),
    cmocka_unit_test(who_missed_many_maps_pulls_the_whole),
    cmocka_unit_test(a_delta_to_another_version_is_not_used),
    cmocka_unit_test(a_delta_that_leaves_its_receiver_out_is_not_used),
};

const struct suite gm2_delta = SUITE(tests);
