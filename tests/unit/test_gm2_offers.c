/* SPDX-License-Identifier: BSD-3-Clause
 * GM-2: which maps of others are taken, whose word is believed, and what is
 * not done without a breath.
 */
#include "gm2_util.h"

#include "mapper/gm2_map.h"

/* Not on the fabric; all that is said of it is made up here. */
#define STRANGER (PARENT - 7)

/* What somebody says to a mapper. */
static void say(struct world *w, uint32_t to, uint64_t sender,
                enum gm2_reason reason, struct gm2_version version)
{
    const struct gm2_message msg = {
        .subtype = GM2_SCOUT,
        .reason = reason,
        .flags = GM2_VALID,
        .sender = sender,
        .level = 1,
        .version = version,
        .scout = {.argument = 2, .back = {2, {0x81, 0x82}}},
    };
    uint8_t body[200];

    world_hear(w, to, body, gm2_encode(body, sizeof(body), &msg));
}

/* ---- maps that are offered ----------------------------------------------- */

/* h0 of four: its parent is h2, the leader h3. */
struct offer {
    struct world *w;
    uint32_t node;
    uint64_t parent;
    struct gm2_version mine;
};

static struct offer make_offer(void)
{
    struct offer o = {.w = settled("line:1:4")};

    o.node = host(o.w, 0);
    o.parent = status(o.w, o.node).parent;
    o.mine = status(o.w, o.node).version;
    assert_int_equal(o.parent, NET_BUILD_HOST_ID + 2);
    assert_int_equal(o.mine.leader, NET_BUILD_HOST_ID + 3);
    return o;
}

static struct gm2_version of_leader(const struct offer *o, int later)
{
    struct gm2_version v = o->mine;

    v.counter += (uint32_t)later;
    return v;
}

/* Is the map that the sender tells of fetched? */
static bool fetched(const struct offer *o, uint64_t sender,
                    struct gm2_version version)
{
    say(o->w, o->node, sender, GM2_LX_TREE, version);
    return status(o->w, o->node).state == GM2_STATE_FETCHING;
}

static void an_older_map_of_the_same_leader_is_not_fetched(void **state)
{
    struct offer o = make_offer();

    assert_false(fetched(&o, STRANGER, of_leader(&o, -1)));
    assert_false(fetched(&o, o.parent, of_leader(&o, -1)));
    assert_false(fetched(&o, o.parent, of_leader(&o, -1000)));
    assert_int_equal(status(o.w, o.node).parent, o.parent);
    assert_true(fetched(&o, STRANGER, of_leader(&o, 1)));
    world_free(o.w);
}

static void a_map_of_a_lower_leader_is_the_parents_alone(void **state)
{
    struct offer o = make_offer();
    const struct gm2_version lower = {NET_BUILD_HOST_ID + 2, 1, 5};

    assert_false(fetched(&o, STRANGER, lower));
    assert_int_equal(status(o.w, o.node).parent, o.parent);
    assert_true(fetched(&o, o.parent, lower));
    world_free(o.w);
}

static void a_map_of_a_higher_leader_is_anybodys(void **state)
{
    const struct gm2_version higher = {PARENT, 1, 5};
    const struct gm2_version between = {STRANGER, 1, 6};
    struct offer o = make_offer();
    struct world_host *h = &o.w->hosts[o.node];
    uint64_t told;

    assert_true(fetched(&o, STRANGER - 1, higher));
    told = h->moves[GM2_EVENT_TOLD_PARENT];
    /* and while it is being fetched, nothing less will do */
    say(o.w, o.node, STRANGER, GM2_LX_TREE, between);
    assert_int_equal(h->moves[GM2_EVENT_TOLD_PARENT], told);
    assert_int_equal(status(o.w, o.node).parent, STRANGER - 1);
    say(o.w, o.node, STRANGER - 1, GM2_LX_TREE, between); /* the parent's */
    assert_int_equal(h->moves[GM2_EVENT_TOLD_PARENT], told + 1);
    world_free(o.w);
}

static void who_tells_of_the_own_map_is_the_parent(void **state)
{
    struct offer o = make_offer();

    assert_false(fetched(&o, STRANGER, o.mine));
    assert_int_equal(status(o.w, o.node).parent, STRANGER);
    assert_true(status(o.w, o.node).valid);
    world_free(o.w);
}

/* ---- strangers ----------------------------------------------------------- */

/* Not in the map, and it verifies one or asks for it: so the map is not true
 * any more. */
static void a_host_that_is_not_in_the_map_is_a_change(void **state)
{
    static const enum gm2_reason reasons[] = {GM2_LX_VERIFYING,
                                              GM2_LX_QUERYING_MAP_VERSION};

    for (unsigned i = 0; i < 2; i++) {
        struct offer o = make_offer();
        struct world_host *h = &o.w->hosts[o.node];
        uint64_t before = h->moves[GM2_EVENT_CHANGED];

        say(o.w, o.node, NET_BUILD_HOST_ID + 1, reasons[i], o.mine);
        assert_int_equal(h->moves[GM2_EVENT_CHANGED], before);
        say(o.w, o.node, STRANGER, reasons[i], o.mine);
        assert_int_equal(h->moves[GM2_EVENT_CHANGED], before + 1);
        assert_non_null(strstr(h->last, "is new"));
        world_free(o.w);
    }
}

/* ---- nobody's board id --------------------------------------------------- */

/* What h0 says bears no board id, and a level above all others. */
static void spoil_sender(struct world *w, uint32_t node, void *body, size_t len)
{
    struct gm2_message msg;

    if (node != host(w, 0) || gm2_decode(&msg, body, len) < 0 ||
        msg.subtype == GM2_PROBE)
        return;
    msg.sender = 0;
    msg.level = 9;
    assert_int_equal(gm2_encode(body, len, &msg), len);
}

/* It used to keep the others from ever having a map. */
static void a_host_without_a_board_id_is_not_there(void **state)
{
    struct world *w = world_new("line:1:3", 1);

    w->tap = spoil_sender;
    world_gm2_all(w, NULL, NULL);
    world_run(w, 20 * SECOND);
    for (unsigned i = 1; i < 3; i++) {
        assert_true(status(w, host(w, i)).complete);
        assert_int_equal(status(w, host(w, i)).nhosts, 2);
    }
    world_free(w);
}

/* ---- a breath ------------------------------------------------------------ */

/* A mapper that leads itself, whose map is so old when it is doubted. */
static struct world *doubted(uint64_t age, uint32_t *node)
{
    struct world *w = world_new("line:1:2", 1);

    *node = host(w, 0);
    world_gm2(w, *node, NULL, NULL);
    while (!status(w, *node).valid && world_now(w) < 20 * SECOND)
        world_run(w, world_now(w) + MS);
    assert_true(status(w, *node).valid);
    world_run(w, status(w, *node).since + age);
    assert_int_equal(status(w, *node).counters.explorations, 1);
    say(w, *node, NET_BUILD_HOST_ID - 1, GM2_LX_VERIFYING,
        (struct gm2_version){0});
    assert_int_equal(status(w, *node).state, GM2_STATE_MAPPING);
    return w;
}

/* The default pause is a second. */
static void a_young_map_is_not_made_anew_without_a_breath(void **state)
{
    uint32_t node;
    struct world *w = doubted(490 * MS, &node);

    world_run(w, world_now(w) + 499 * MS);
    assert_int_equal(status(w, node).counters.explorations, 1);
    world_run(w, world_now(w) + 2 * MS);
    assert_int_equal(status(w, node).counters.explorations, 2);
    world_free(w);
    w = doubted(510 * MS, &node);
    assert_int_equal(status(w, node).counters.explorations, 2);
    world_free(w);
}

static void count_pieces_asked(struct world *w, uint32_t node, void *body,
                               size_t len)
{
    struct gm2_message msg;

    (void)node;
    if (gm2_decode(&msg, body, len) == 0 &&
        msg.reason == GM2_LX_QUERYING_MAP_PIECE)
        ++*(unsigned *)w->tap_arg;
}

/* Nobody gives the pieces of a map; it is offered again and again. */
static void a_map_that_cannot_be_had_is_not_asked_for_at_once(void **state)
{
    struct gm2_version offered = {PARENT, 1, 5};
    struct world *w = world_new("line:1:2", 1);
    uint32_t node = host(w, 0);
    struct world_host *h = &w->hosts[node];
    unsigned asked = 0;
    uint64_t failed;

    world_gm2(w, node, NULL, NULL);
    world_run(w, MS);
    w->tap = count_pieces_asked;
    w->tap_arg = &asked;
    say(w, node, PARENT, GM2_LX_TREE, offered);
    while (!h->moves[GM2_EVENT_FETCH_FAILED] && world_now(w) < 5 * SECOND)
        world_run(w, world_now(w) + MS);
    failed = world_now(w);
    assert_int_equal(asked, 30);
    say(w, node, PARENT, GM2_LX_TREE, offered);
    assert_int_equal(status(w, node).state, GM2_STATE_FETCHING);
    world_run(w, failed + 498 * MS);
    assert_int_equal(asked, 30);
    world_run(w, failed + 501 * MS);
    assert_true(asked > 30);
    asked = 0;
    offered.counter++;
    say(w, node, PARENT, GM2_LX_TREE, offered); /* another one is, at once */
    assert_int_equal(asked, 1);
    world_free(w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_older_map_of_the_same_leader_is_not_fetched),
    cmocka_unit_test(a_map_of_a_lower_leader_is_the_parents_alone),
    cmocka_unit_test(a_map_of_a_higher_leader_is_anybodys),
    cmocka_unit_test(who_tells_of_the_own_map_is_the_parent),
    cmocka_unit_test(a_host_that_is_not_in_the_map_is_a_change),
    cmocka_unit_test(a_host_without_a_board_id_is_not_there),
    cmocka_unit_test(a_young_map_is_not_made_anew_without_a_breath),
    cmocka_unit_test(a_map_that_cannot_be_had_is_not_asked_for_at_once),
};

const struct suite gm2_offers = SUITE(tests);
