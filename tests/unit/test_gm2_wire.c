/* SPDX-License-Identifier: BSD-3-Clause
 * GM-2 messages as doc/gm2-wire.md lays them out; maps in pieces.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>

#include <cmocka.h>

#include "mapper/gm1_wire.h"
#include "mapper/gm2_map.h"
#include "net/build.h"
#include "net/rng.h"
#include "net/same.h"

static const struct gm2_version version = {0x0060dd000009, 0x01020304,
                                           0x05060708};

static struct gm2_message message(enum gm2_subtype subtype,
                                  enum gm2_reason reason)
{
    return (struct gm2_message){.subtype = subtype,
                                .reason = reason,
                                .flags = GM2_VALID | GM2_CONFIGURED,
                                .tag = 0x1112131415161718,
                                .session = 0x21222324,
                                .sender = 0x0060dd000001,
                                .level = 3,
                                .host_type = 2,
                                .version = version,
                                .ups = 0x0a0b};
}

#define HEAD(sub, reason)                                                      \
    0, 0x0f, 1, sub, 1, reason, 0, 5, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16,      \
        0x17, 0x18, 0x21, 0x22, 0x23, 0x24
#define SENDER                                                                 \
    0, 0x60, 0xdd, 0, 0, 1, 2, 0, 0, 0, 0, 3, 0, 0x60, 0xdd, 0, 0, 9, 0x0a,    \
        0x0b, 1, 2, 3, 4, 5, 6, 7, 8

static void probe_golden_frame(void **state)
{
    static const uint8_t want[] = {HEAD(0, 0)};
    const struct gm2_message msg = message(GM2_PROBE, 0);
    struct gm2_message back;
    uint8_t body[100];

    assert_int_equal(gm2_encode(body, sizeof(body), &msg), GM2_PROBE_SIZE);
    assert_memory_equal(body, want, sizeof(want));
    assert_int_equal(gm2_decode(&back, body, GM2_PROBE_SIZE), 0);
    assert_int_equal(back.tag, msg.tag);
}

static void golden_frame_per_reason(void **state)
{
    for (unsigned reason = 1; reason <= GM2_REASON_MAX; reason++) {
        const uint8_t want[] = {
            HEAD(1, (uint8_t)reason), SENDER, 0, 0, 0, 77, 2, 0x81, 0xbf};
        struct gm2_message msg = message(GM2_SCOUT, reason), back;
        uint8_t body[200];
        size_t len;

        msg.scout.argument = 77;
        msg.scout.back = (struct gm2_route){2, {0x81, 0xbf}};
        len = gm2_encode(body, sizeof(body), &msg);
        assert_int_equal(len, sizeof(want));
        assert_memory_equal(body, want, len);
        assert_int_equal(gm2_decode(&back, body, len), 0);
        assert_memory_equal(&back.scout, &msg.scout, sizeof(msg.scout));
        assert_int_equal(back.reason, reason);
        assert_memory_equal(&back.version, &version, sizeof(version));
        assert_int_equal(back.ups, msg.ups);
        assert_int_equal(strncmp(gm2_reason_name(reason), "LX_", 3), 0);
    }
    assert_string_equal(gm2_reason_name(2), "LX_QUERYING_MAP_VERSION");
    assert_string_equal(gm2_reason_name(3), "LX_TREE");
}

static void reply_golden_frame(void **state)
{
    static const uint8_t want[] = {HEAD(2, 5), SENDER, 0, 0, 0, 4,
                                   0,          0,      0, 6, 0, 0x60,
                                   0xdd,       0,      0, 8, 0, 0};
    struct gm2_message msg = message(GM2_REPLY, GM2_LX_VERIFYING), back;
    uint8_t body[200];

    msg.reply = (struct gm2_reply){4, 6, 0x0060dd000008};
    assert_int_equal(gm2_encode(body, sizeof(body), &msg), GM2_REPLY_SIZE);
    assert_int_equal(sizeof(want), GM2_REPLY_SIZE);
    assert_memory_equal(body, want, sizeof(want));
    assert_int_equal(gm2_decode(&back, body, sizeof(want)), 0);
    assert_memory_equal(&back.reply, &msg.reply, sizeof(msg.reply));
}

static void unknown_reasons_and_versions_are_dropped(void **state)
{
    const struct gm2_message msg = message(GM2_SCOUT, GM2_LX_TREE);
    struct gm2_message back;
    uint8_t body[200];
    size_t len = gm2_encode(body, sizeof(body), &msg);

    for (int reason = 0; reason < 256; reason++) {
        body[5] = (uint8_t)reason;
        errno = 0;
        if (gm2_decode(&back, body, len) < 0)
            assert_int_equal(errno, ENOMSG);
        else
            assert_in_range(reason, 1, GM2_REASON_MAX);
    }
    body[5] = GM2_LX_TREE;
    body[4] = 2; /* another wire version */
    assert_int_equal(gm2_decode(&back, body, len), -1);
    assert_int_equal(errno, ENOMSG);
}

static void a_sender_without_a_board_id_is_refused(void **state)
{
    static const enum gm2_subtype kinds[] = {GM2_SCOUT, GM2_REPLY, GM2_PIECE,
                                             GM2_DELTA};
    struct gm2_message back;
    uint8_t body[200];

    for (int i = 0; i < 4; i++) {
        struct gm2_message msg = message(kinds[i], GM2_LX_VERIFYING);
        size_t len;

        msg.piece.npieces = 1;
        len = gm2_encode(body, sizeof(body), &msg);
        assert_int_equal(gm2_decode(&back, body, len), 0);
        memset(body + GM2_PROBE_SIZE, 0, 6);
        errno = 0;
        assert_int_equal(gm2_decode(&back, body, len), -1);
        assert_int_equal(errno, EPROTO);
    }
}

static void every_cut_is_refused(void **state)
{
    static const enum gm2_subtype kinds[] = {GM2_PROBE, GM2_SCOUT, GM2_REPLY,
                                             GM2_PIECE};
    struct gm2_message back;
    uint8_t body[200];

    for (int i = 0; i < 4; i++) {
        struct gm2_message msg = message(kinds[i], GM2_LX_VERIFYING);
        size_t len;

        if (kinds[i] == GM2_PIECE)
            msg.piece.npieces = 1;
        len = gm2_encode(body, sizeof(body), &msg);
        assert_int_equal(gm2_decode(&back, body, len), 0);
        for (size_t cut = 0; cut < len; cut++) {
            uint8_t *exact = malloc(cut + 1);

            memcpy(exact, body, cut);
            assert_int_equal(gm2_decode(&back, exact, cut), -1);
            free(exact);
        }
    }
}

static void gm2_drops_gm1_messages(void **state)
{
    static const enum gm1_subtype kinds[] = {
        GM1_SCOUT,
        GM1_CONFIG,
        GM1_REPLY,
        GM1_PROBE,
        GM1_VERIFY,
        GM1_CLOUD_QUERY,
        GM1_CLOUD_QUERY_REPLY,
    };
    struct gm2_message back;
    uint8_t body[200];

    for (int i = 0; i < 7; i++) {
        const struct gm1_message msg = {
            .subtype = kinds[i], .port = 1, .phase = 1};
        size_t len = gm1_encode(body, sizeof(body), &msg);

        assert_int_equal(gm2_decode(&back, body, len), -1);
    }
}

/* ---- maps ------------------------------------------------------------------
 */

static void levels(uint64_t address, struct gm2_host *host, void *arg)
{
    host->level = address % 3;
    host->type = (uint8_t)(address % 5);
}

static struct gm2_map *named_map(const char *name, struct net **net)
{
    struct errbuf err;
    struct gm2_map *map;

    *net = net_build_named(name, &err);
    assert_non_null(*net);
    map = gm2_map_new(*net, &version, levels, NULL);
    assert_non_null(map);
    return map;
}

static void hosts_stand_in_the_order_of_rank(void **state)
{
    struct net *net;
    struct gm2_map *map = named_map("C64", &net);

    for (uint32_t i = 1; i < map->net->nhosts; i++) {
        const struct gm2_host *a = &map->hosts[i - 1], *b = &map->hosts[i];

        assert_true(a->level >= b->level);
        if (a->level == b->level)
            assert_true(map->net->nodes[i - 1].id > map->net->nodes[i].id);
    }
    assert_true(net_same(net, map->net, NULL));
    gm2_map_free(map);
    net_free(net);
}

static void versions_differ_in_leader_or_counter(void **state)
{
    const struct gm2_version one = {0x0060dd000009, 1, 7};
    struct gm2_version other = one;

    assert_true(gm2_version_equal(&one, &other));
    other.leader++;
    assert_false(gm2_version_equal(&one, &other));
    other = one;
    other.counter++;
    assert_false(gm2_version_equal(&one, &other));
}

static void numbers_in_the_tree(void **state)
{
    static const uint32_t sizes[] = {1, 2, 3, 16, 1000, 8192};

    for (int s = 0; s < 6; s++) {
        uint32_t n = sizes[s], reached = 1;

        for (uint32_t i = 1; i <= n; i++) {
            for (unsigned c = 0; c < 2; c++) {
                uint32_t child = gm2_tree_child(i, c, n);

                if (child == 0)
                    continue;
                assert_int_equal(child, 2 * i + c);
                assert_int_equal(gm2_tree_parent(child), i);
                reached++;
            }
        }
        assert_int_equal(reached, n);
    }
    assert_int_equal(gm2_tree_parent(1), 0);
    assert_int_equal(gm2_tree_child(0, 1, 5), 0);
}

/* One piece as it travels. */
static void carry(const struct gm2_map *map, uint32_t which,
                  struct gm2_fetch *fetch, int want)
{
    struct gm2_message msg = message(GM2_PIECE, GM2_LX_QUERYING_MAP_PIECE);
    struct gm2_message back;
    uint8_t body[GM2_MESSAGE_MAX];
    size_t len = gm2_map_encode_piece(map, which, &msg, body, sizeof(body));

    assert_in_range(len, GM2_PIECE_SIZE, GM2_MESSAGE_MAX);
    assert_int_equal(gm2_decode(&back, body, len), 0);
    assert_int_equal(gm2_fetch_add(fetch, &back), want);
}

static void map_travels_in_pieces(void **state)
{
    static const char *const names[] = {"C64", "C512", "random:30:50:1",
                                        "line:1:2", "two-planes"};

    for (int i = 0; i < 5; i++) {
        struct net *net;
        struct gm2_map *map = named_map(names[i], &net), *got;
        struct gm2_fetch *fetch = gm2_fetch_new(&version);
        struct errbuf err;
        uint32_t n = gm2_map_pieces(map);

        assert_int_equal(n, (net->nhosts + 69) / 70 + (net->nxbars + 19) / 20);
        for (uint32_t which = n; which-- > 0;) {
            assert_int_not_equal(gm2_fetch_missing(fetch), UINT32_MAX);
            carry(map, which, fetch, 1);
            carry(map, which, fetch, 0);
        }
        assert_int_equal(gm2_fetch_missing(fetch), UINT32_MAX);
        got = gm2_fetch_finish(fetch, &err);
        assert_non_null(got);
        assert_true(net_same(net, got->net, &err));
        assert_memory_equal(got->hosts, map->hosts,
                            net->nhosts * sizeof(*map->hosts));
        gm2_map_free(got);
        gm2_fetch_free(fetch);
        gm2_map_free(map);
        net_free(net);
    }
}

static void piece_golden_frame(void **state)
{
    static const uint8_t hosts[] = {
        HEAD(3, 4), SENDER, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0,    2,    0,
        0,          0,      1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0x60, 0xdd, 0,
        0,          2,      2, 0, 0, 0, 2, 1, 0, 0, 0, 2, 0,    0x60, 0xdd,
        0,          0,      1, 1, 0, 0, 0, 2, 0, 0, 0, 0, 1};
    static const uint8_t xbars[] = {
        HEAD(3, 4), SENDER, 0,    0,    0, 1,    0,    0,    0,    2,    0, 0,
        0,          2,      0,    0,    0, 1,    0,    0,    0,    0,    0, 1,
        1,          0,      0,    0,    0, 0,    0,    0,    0xab, 0xcd, 4, 0,
        0,          0,      0,    0,    0, 1,    0,    0,    0,    0,    0, 0,
        0xff,       0xff,   0xff, 0xff, 0, 0xff, 0xff, 0xff, 0xff, 0};
    struct gm2_message msg = message(GM2_PIECE, GM2_LX_QUERYING_MAP_PIECE);
    struct net *net = net_new();
    uint8_t body[GM2_MESSAGE_MAX];
    struct gm2_map *map;

    for (unsigned i = 1; i <= 2; i++) /* the lower rank first */
        net_add_host(net, "", 0x0060dd000000 + i);
    net_add_xbar(net, "", 4, 0xabcd);
    net_connect(net, 0, 0, 2, 0);
    net_connect(net, 1, 0, 2, 1);
    map = gm2_map_new(net, &version, levels, NULL);
    map->hosts[0] = (struct gm2_host){2, 2};
    map->hosts[1] = (struct gm2_host){1, 1};
    assert_int_equal(gm2_map_encode_piece(map, 0, &msg, body, sizeof(body)),
                     sizeof(hosts));
    assert_memory_equal(body, hosts, sizeof(hosts));
    assert_int_equal(gm2_map_encode_piece(map, 1, &msg, body, sizeof(body)),
                     sizeof(xbars));
    assert_memory_equal(body, xbars, sizeof(xbars));
    assert_int_equal(gm2_map_encode_piece(map, 2, &msg, body, sizeof(body)), 0);
    gm2_map_free(map);
    net_free(net);
}

/* What the hosts and crossbars of the net are called is neither said nor
 * kept. */
static void names_do_not_travel(void **state)
{
    static const char *const names[] = {"leaf-of-site", "node-of-site",
                                        "peer-of-site"};
    struct net *net = net_new();
    uint32_t x = net_add_xbar(net, names[0], 8, 0);
    struct gm2_fetch *fetch = gm2_fetch_new(&version);
    uint8_t body[GM2_MESSAGE_MAX];
    struct gm2_map *map, *got;
    struct errbuf err;

    net_connect(net, x, 0, net_add_host(net, names[1], 0x0060dd000001), 0);
    net_connect(net, x, 5, net_add_host(net, names[2], 0x0060dd000002), 0);
    map = gm2_map_new(net, &version, levels, NULL);
    assert_non_null(map);
    for (uint32_t which = 0; which < gm2_map_pieces(map); which++) {
        struct gm2_message msg = message(GM2_PIECE, GM2_LX_QUERYING_MAP_PIECE);
        size_t len = gm2_map_encode_piece(map, which, &msg, body, sizeof(body));

        assert_in_range(len, GM2_PIECE_SIZE, GM2_MESSAGE_MAX);
        assert_null(memmem(body, len, "of-site", 7));
        carry(map, which, fetch, 1);
    }
    got = gm2_fetch_finish(fetch, &err);
    assert_non_null(got);
    assert_true(net_same(net, got->net, &err));
    for (uint32_t i = 0; i < got->net->nnodes; i++)
        assert_null(strstr(got->net->nodes[i].name, "of-site"));
    gm2_map_free(got);
    gm2_fetch_free(fetch);
    gm2_map_free(map);
    net_free(net);
}

static void pieces_of_two_versions_never_mix(void **state)
{
    struct net *net;
    struct gm2_map *map = named_map("C512", &net);
    uint32_t n = gm2_map_pieces(map);

    for (uint32_t at = 0; at < n; at++) { /* the version changes there */
        struct gm2_fetch *fetch = gm2_fetch_new(&version);

        map->version = version;
        for (uint32_t i = 0; i < at; i++)
            carry(map, i, fetch, 1);
        map->version.counter++;
        for (uint32_t i = at; i < n; i++) {
            carry(map, i, fetch, -1);
            assert_int_equal(errno, ESTALE);
        }
        assert_int_equal(gm2_fetch_missing(fetch), at);
        gm2_fetch_free(fetch);
    }
    gm2_map_free(map);
    net_free(net);
}

static void pieces_that_do_not_fit_make_no_map(void **state)
{
    struct net *net;
    struct gm2_map *map = named_map("C64", &net);
    struct gm2_message msg = message(GM2_PIECE, GM2_LX_QUERYING_MAP_PIECE);
    uint8_t first[GM2_MESSAGE_MAX], second[GM2_MESSAGE_MAX];
    size_t len0 = gm2_map_encode_piece(map, 0, &msg, first, sizeof(first));
    size_t len1 = gm2_map_encode_piece(map, 1, &msg, second, sizeof(second));
    struct net_rng rng = {1};

    assert_int_equal(gm2_map_pieces(map), 2);
    for (int i = 0; i < 2000; i++) {
        struct gm2_fetch *fetch = gm2_fetch_new(&version);
        uint8_t bad[GM2_MESSAGE_MAX];
        struct gm2_message a, b;
        uint32_t at = GM2_PIECE_SIZE +
                      net_rng_below(&rng, (uint32_t)len1 - GM2_PIECE_SIZE);

        memcpy(bad, second, len1);
        bad[at] ^= (uint8_t)(1 + net_rng_below(&rng, 255));
        assert_int_equal(gm2_decode(&a, first, len0), 0);
        assert_int_equal(gm2_decode(&b, bad, len1), 0);
        if (gm2_fetch_add(fetch, &a) == 1 && gm2_fetch_add(fetch, &b) == 1) {
            struct gm2_map *got = gm2_fetch_finish(fetch, NULL);

            if (got) /* an id, a name: nothing that joins */
                assert_int_equal(got->net->ncables, net->ncables);
            gm2_map_free(got);
        }
        gm2_fetch_free(fetch);
    }
    gm2_map_free(map);
    net_free(net);
}

static void size_of_a_map_is_linear(void **state)
{
    static const char *const names[] = {"C512", "C2048", "C8192"};

    for (int i = 0; i < 3; i++) {
        struct net *net;
        struct gm2_map *map = named_map(names[i], &net);

        assert_in_range(gm2_map_pieces(map), 1,
                        net->nhosts / 70 + net->nxbars / 20 + 2);
        gm2_map_free(map);
        net_free(net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probe_golden_frame),
        cmocka_unit_test(golden_frame_per_reason),
        cmocka_unit_test(reply_golden_frame),
        cmocka_unit_test(unknown_reasons_and_versions_are_dropped),
        cmocka_unit_test(a_sender_without_a_board_id_is_refused),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(gm2_drops_gm1_messages),
        cmocka_unit_test(hosts_stand_in_the_order_of_rank),
        cmocka_unit_test(numbers_in_the_tree),
        cmocka_unit_test(versions_differ_in_leader_or_counter),
        cmocka_unit_test(map_travels_in_pieces),
        cmocka_unit_test(piece_golden_frame),
        cmocka_unit_test(names_do_not_travel),
        cmocka_unit_test(pieces_of_two_versions_never_mix),
        cmocka_unit_test(pieces_that_do_not_fit_make_no_map),
        cmocka_unit_test(size_of_a_map_is_linear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
