/* SPDX-License-Identifier: BSD-3-Clause
 * Maps on disk, and mappers that begin with them.
 */
#include "base/be.h"
#include "base/crc32c.h"
#include "gm2_util.h"
#include "mapper/gm2_store.h"
#include "net/delta.h"

#define HEAD 20 /* bytes before the pieces */

/* ---- bytes --------------------------------------------------------------- */

/* The map of a host of a settled fabric, as bytes. */
static void store_of(struct world *w, uint32_t node, struct bytebuf *out)
{
    bytebuf_init(out, SF_NET_FILE_MAX);
    assert_true(gm2_store_write(gm2_current_map(w->hosts[node].gm2),
                                w->net->nodes[node].id, out));
}

static struct gm2_map *read_back(const uint8_t *bytes, size_t len,
                                 uint64_t board, const char *why)
{
    struct errbuf err = {""};
    struct gm2_map *map = gm2_store_read(bytes, len, board, &err);

    if (why)
        assert_non_null(strstr(err.text, why));
    return map;
}

static void a_stored_map_is_read_as_it_was(void **state)
{
    struct world *w = settled("C64");
    uint64_t board = NET_BUILD_HOST_ID + 7;
    const struct gm2_map *map = gm2_current_map(w->hosts[host(w, 7)].gm2);
    struct bytebuf b;
    struct gm2_map *back;

    store_of(w, host(w, 7), &b);
    back = read_back(bytebuf_data(&b), bytebuf_len(&b), board, NULL);
    assert_non_null(back);
    assert_memory_equal(&back->version, &map->version, sizeof(map->version));
    assert_int_equal(net_fingerprint(back->net), net_fingerprint(map->net));
    for (uint32_t i = 0; i < map->net->nhosts; i++)
        assert_int_equal(back->hosts[i].level, map->hosts[i].level);
    gm2_map_free(back);
    bytebuf_free(&b);
    world_free(w);
}

static void the_head_of_a_stored_map_is_laid_out(void **state)
{
    struct world *w = settled("line:1:2");
    static const uint8_t head[16] = {'S',  'F', 'M', '1', 0, 0, 0, 0x60,
                                     0xdd, 0,   0,   1,   0, 0, 0, 2};
    struct bytebuf b;
    const uint8_t *p;

    assert_int_equal(NET_BUILD_HOST_ID & 0xff, 1);
    store_of(w, host(w, 0), &b);
    p = bytebuf_data(&b);
    assert_memory_equal(p, head, 4);
    assert_int_equal(be_load64(p + 4), NET_BUILD_HOST_ID);
    assert_int_equal(be_load32(p + 12), 2); /* hosts, crossbars */
    assert_int_equal(be_load32(p + 16),
                     crc32c(0, p + HEAD, bytebuf_len(&b) - HEAD));
    /* the length of the first piece, then a message of the wire */
    assert_int_equal(p[HEAD] << 8 | p[HEAD + 1],
                     GM2_PIECE_SIZE + 2 * GM2_HOST_SIZE);
    assert_int_equal(be_load32(p + HEAD + 2), 0x000f0103);
    bytebuf_free(&b);
    world_free(w);
}

#define BYTES_MAX 4096

/* The map that host 1 has stored; returns its length, at most half of that. */
static size_t stored_by_1(struct world *w, uint8_t bytes[BYTES_MAX])
{
    struct bytebuf b;
    size_t len;

    store_of(w, host(w, 1), &b);
    len = bytebuf_len(&b);
    assert_true(len <= BYTES_MAX / 2);
    memcpy(bytes, bytebuf_data(&b), len);
    bytebuf_free(&b);
    return len;
}

/* What a disk may make of it. */
static void damaged_stored_maps_are_refused(void **state)
{
    struct world *w = settled("line:2:2");
    uint64_t board = NET_BUILD_HOST_ID + 1;
    uint8_t bytes[BYTES_MAX];
    size_t len = stored_by_1(w, bytes);

    for (size_t cut = 0; cut < len; cut++)
        assert_null(read_back(bytes, cut, board, "it is"));
    for (size_t i = 0; i < len; i++) {
        bytes[i] ^= 0x10;
        assert_null(read_back(bytes, len, board, "it is"));
        bytes[i] ^= 0x10;
    }
    bytes[len] = 0;
    assert_null(read_back(bytes, len + 1, board, "damaged"));
    world_free(w);
}

/* A right sum over wrong pieces. */
static void stored_maps_that_lie_are_refused(void **state)
{
    struct world *w = settled("line:2:2");
    uint64_t board = NET_BUILD_HOST_ID + 1;
    uint8_t bytes[BYTES_MAX];
    size_t len = stored_by_1(w, bytes);

    for (size_t i = HEAD; i < len; i++) {
        struct gm2_map *map;

        bytes[i] ^= 0x01;
        be_store32(bytes + 16, crc32c(0, bytes + HEAD, len - HEAD));
        map = read_back(bytes, len, board, NULL);
        if (map) /* another level, another version ...: still a map with us */
            assert_int_not_equal(gm2_map_host(map, board), NET_NONE);
        gm2_map_free(map);
        bytes[i] ^= 0x01;
    }
    /* a piece twice */
    memmove(bytes + len, bytes + HEAD, len - HEAD);
    be_store32(bytes + 12, 4);
    be_store32(bytes + 16, crc32c(0, bytes + HEAD, 2 * (len - HEAD)));
    assert_null(read_back(bytes, 2 * len - HEAD, board, "damaged"));
    world_free(w);
}

static void stored_maps_of_others_are_refused(void **state)
{
    struct world *w = settled("line:2:2");
    const struct gm2_map *map = gm2_current_map(w->hosts[host(w, 1)].gm2);
    struct bytebuf b;

    store_of(w, host(w, 1), &b);
    assert_null(read_back(bytebuf_data(&b), bytebuf_len(&b),
                          NET_BUILD_HOST_ID + 2, "that of board"));
    bytebuf_free(&b);
    /* a board that is not on its own map */
    assert_true(gm2_store_write(map, 0x0060ddaaaaaa, &b));
    assert_null(read_back(bytebuf_data(&b), bytebuf_len(&b), 0x0060ddaaaaaa,
                          "this board"));
    bytebuf_free(&b);
    world_free(w);
}

/* ---- beginning with them ------------------------------------------------- */

static struct world *settled_with_disks(const char *net, uint64_t seed)
{
    struct world *w = world_new(net, seed);

    w->keeps = true;
    world_gm2_all(w, NULL, NULL);
    assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
    return w;
}

/* Probes and explorations of the leader from its start until all is well. */
static struct gm2_counters leader_again(const char *net, bool keeps)
{
    struct world *w = settled_with_disks(net, 1);
    struct gm2_counters c;
    uint32_t leader = host(w, w->net->nhosts - 1);

    w->keeps = keeps;
    world_kill(w, leader);
    world_gm2(w, leader, NULL, NULL);
    assert_true(world_until(w, world_now(w) + 20 * SECOND, world_gm2_settled));
    assert_true(status(w, leader).leader);
    c = status(w, leader).counters;
    world_free(w);
    return c;
}

static void a_leader_that_starts_again_verifies_its_old_map(void **state)
{
    static const char *const nets[] = {"C64", "clos:4x4:1x2:1x2",
                                       "torus:3x3:1"};

    for (unsigned i = 0; i < 3; i++) {
        struct gm2_counters without = leader_again(nets[i], false);
        struct gm2_counters with = leader_again(nets[i], true);

        print_message("# %s: %llu probes without a stored map, %llu with\n",
                      nets[i], (unsigned long long)without.probes,
                      (unsigned long long)with.probes);
        assert_int_equal(without.explorations, 1);
        assert_int_equal(with.explorations, 0);
        assert_int_equal(with.hypotheses, 1);
        assert_true(with.probes < without.probes);
    }
}

static void off(struct world *w)
{
    for (uint32_t i = 0; i < w->net->nnodes; i++)
        if (w->net->nodes[i].kind == NET_HOST)
            world_kill(w, i);
}

static void on(struct world *w)
{
    world_gm2_all(w, NULL, NULL);
    assert_true(world_until(w, world_now(w) + 30 * SECOND, world_gm2_settled));
}

/* The nth cable between crossbars: node and port of one end. */
static uint32_t link_at(const struct world *w, unsigned nth, unsigned *port)
{
    for (uint32_t p = 0; p < w->net->nports; p++) {
        uint32_t q = w->net->ports[p].peer, n = w->net->ports[p].node;

        if (q == NET_NONE || q < p || net_is_host(w->net, n) ||
            net_is_host(w->net, w->net->ports[q].node) || nth-- > 0)
            continue;
        *port = net_port_number(w->net, p);
        return n;
    }
    return NET_NONE;
}

static void what_was_lost_meanwhile_is_taken_out(void **state)
{
    struct world *w = settled_with_disks("clos:4x4:1x2:1x2", 1);
    uint32_t leader = host(w, 15), x;
    unsigned port;

    off(w);
    x = link_at(w, 3, &port);
    world_pull(w, x, port);
    world_pull(w, host(w, 2), 0);
    on(w);
    assert_int_equal(status(w, leader).nhosts, 15);
    assert_int_equal(status(w, leader).counters.explorations, 0);
    world_free(w);
}

/* Each tour would find its links where it looks for them. */
static void cables_swapped_and_one_lost_meanwhile(void **state)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct world *w = settled_with_disks("C64", seed);
        uint32_t a, b, pa, pb;
        unsigned p, q, ra, rb, r;

        off(w);
        a = link_at(w, (unsigned)seed * 2, &p);
        b = link_at(w, (unsigned)seed * 2 + 17, &q);
        pa = net_peer_node(w->net, a, p), ra = net_peer_port(w->net, a, p);
        pb = net_peer_node(w->net, b, q), rb = net_peer_port(w->net, b, q);
        world_pull(w, a, p);
        world_pull(w, b, q);
        world_plug(w, a, p, pb, rb);
        world_plug(w, b, q, pa, ra);
        a = link_at(w, (unsigned)seed * 2 + 7, &r);
        world_pull(w, a, r);
        on(w);
        world_free(w);
    }
}

/* Two cables exchanged so that leaf and spine stand in each other's places of
 * a ring: every tour and every ring comes home (soak: power-cut, seed 179). */
static void crossbars_that_changed_places_are_told_by_their_ids(void **state)
{
    struct world *w = settled_with_disks("clos:4x2:1x2:1x1+ids", 1);
    uint32_t leaf = net_find_name(w->net, "s1.0");
    uint32_t other = net_find_name(w->net, "s1.1");
    uint32_t top = net_find_name(w->net, "s2.0");
    uint32_t far = net_find_name(w->net, "s2.1");

    off(w);
    world_pull(w, other, 4);
    world_pull(w, leaf, 5);
    world_plug(w, other, 4, leaf, 5);
    world_plug(w, far, 0, top, 1);
    on(w);
    assert_int_equal(status(w, host(w, 7)).nhosts, 8);
    world_free(w);
}

/* The first place of a crossbar without a cable. */
static void free_port(const struct world *w, uint32_t *x, unsigned *port)
{
    for (*x = 0; *x < w->net->nnodes; ++*x)
        for (*port = 0; *port < w->net->nodes[*x].nports; ++*port)
            if (!net_is_host(w->net, *x) &&
                net_peer_node(w->net, *x, *port) == NET_NONE)
                return;
    fail_msg("no port is free");
}

static void who_came_meanwhile_is_found_by_exploring(void **state)
{
    struct world *w = settled_with_disks("line:3:3", 1);
    uint32_t leader = host(w, 8), other = host(w, 4), x = 0;
    unsigned port = 0;

    world_kill(w, other);
    assert_true(world_until(w, world_now(w) + 20 * SECOND, world_gm2_settled));
    off(w);
    world_pull(w, other, 0);
    free_port(w, &x, &port);
    world_plug(w, other, 0, x, port);
    on(w);
    assert_int_equal(status(w, leader).nhosts, 9);
    assert_int_equal(status(w, leader).counters.explorations, 1);
    assert_int_equal(status(w, leader).counters.regions, 1);
    assert_int_equal(status(w, leader).counters.hypotheses, 1);
    world_free(w);
}

/* A host moves while all are off; probes of the leader until all is well. */
static uint64_t probes_after_a_move(bool keeps, uint64_t *regions)
{
    struct world *w = settled_with_disks("C64+cut=10:3", 1);
    uint32_t leader = host(w, 63), other = host(w, 5), x;
    struct gm2_counters c;
    unsigned port = 0;

    off(w);
    w->keeps = keeps;
    free_port(w, &x, &port);
    world_pull(w, other, 0);
    world_plug(w, other, 0, x, port);
    on(w);
    c = status(w, leader).counters;
    *regions = c.regions;
    world_free(w);
    return c.probes;
}

static void only_what_is_different_is_explored(void **state)
{
    uint64_t none, one, all = probes_after_a_move(false, &none);
    uint64_t rest = probes_after_a_move(true, &one);

    print_message("# C64, a host moved: %llu probes for all, %llu with what "
                  "was verified\n",
                  (unsigned long long)all, (unsigned long long)rest);
    assert_int_equal(none, 0);
    assert_int_equal(one, 1);
    assert_true(rest < all);
}

static void
a_lower_mapper_that_starts_again_asks_those_above_first(void **state)
{
    struct world *w = settled_with_disks("C64", 1);
    uint32_t node = host(w, 20);
    struct gm2_status s;

    world_kill(w, node);
    world_gm2(w, node, NULL, NULL);
    assert_true(world_until(w, world_now(w) + 20 * SECOND, world_gm2_settled));
    s = status(w, node);
    assert_int_equal(s.counters.explorations, 0);
    assert_int_equal(s.counters.hypotheses, 1);
    world_free(w);
}

/* Those above are gone: the stored map is verified after all. */
static void the_next_in_rank_verifies_when_those_above_are_gone(void **state)
{
    struct world *w = settled_with_disks("C64", 1);
    uint32_t next = host(w, 61);

    off(w);
    world_gm2(w, next, NULL, NULL);
    for (unsigned i = 0; i < 61; i++)
        world_gm2(w, host(w, i), NULL, NULL);
    assert_true(world_until(w, world_now(w) + 30 * SECOND, world_gm2_settled));
    assert_true(status(w, next).leader);
    assert_int_equal(status(w, next).counters.explorations, 0);
    world_free(w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_stored_map_is_read_as_it_was),
    cmocka_unit_test(the_head_of_a_stored_map_is_laid_out),
    cmocka_unit_test(damaged_stored_maps_are_refused),
    cmocka_unit_test(stored_maps_that_lie_are_refused),
    cmocka_unit_test(stored_maps_of_others_are_refused),
    cmocka_unit_test(a_leader_that_starts_again_verifies_its_old_map),
    cmocka_unit_test(what_was_lost_meanwhile_is_taken_out),
    cmocka_unit_test(cables_swapped_and_one_lost_meanwhile),
    cmocka_unit_test(crossbars_that_changed_places_are_told_by_their_ids),
    cmocka_unit_test(who_came_meanwhile_is_found_by_exploring),
    cmocka_unit_test(only_what_is_different_is_explored),
    cmocka_unit_test(a_lower_mapper_that_starts_again_asks_those_above_first),
    cmocka_unit_test(the_next_in_rank_verifies_when_those_above_are_gone),
};

const struct suite gm2_stored = SUITE(tests);
