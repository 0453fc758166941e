/* SPDX-License-Identifier: BSD-3-Clause
 * GM-2: one mapper, and all that it says is heard.
 */
#include "gm2_util.h"

#include "../sim/mapper_edges.h"

#define OTHER_WAIT (13 * MS) /* for one answer */

struct spoken {
    struct gm2 *m;
    uint64_t now;
    uint64_t pings[200];
    unsigned npings;
    bool answer; /* the parent lives */
    struct gm2_message last;
    struct gm2_message reply; /* to be given */
};

static void hear(const uint8_t *route, size_t nroute, const void *body,
                 size_t len, void *arg)
{
    struct spoken *s = arg;

    if (gm2_decode(&s->last, body, len) < 0 || s->last.subtype != GM2_SCOUT ||
        s->last.reason != GM2_LX_QUERYING_MAP_VERSION)
        return;
    assert_int_equal(nroute, 2);
    assert_memory_equal(route, "\x81\x82", 2);
    if (s->npings < 200)
        s->pings[s->npings++] = s->now;
    s->reply = (struct gm2_message){.subtype = GM2_REPLY,
                                    .reason = s->last.reason,
                                    .tag = s->last.tag,
                                    .session = s->last.session,
                                    .sender = PARENT,
                                    .level = 1};
}

static void run_to(struct spoken *s, uint64_t until)
{
    uint8_t body[200];

    while (gm2_deadline(s->m) <= until) {
        unsigned before = s->npings;

        s->now = gm2_deadline(s->m);
        gm2_tick(s->m, s->now);
        if (s->answer && s->npings != before)
            gm2_input(s->m, s->now, body,
                      gm2_encode(body, sizeof(body), &s->reply));
    }
    s->now = until;
}

static void move(enum gm2_event event, enum gm2_state from, enum gm2_state to,
                 void *arg)
{
    (void)arg;
    edges_gm2(from, event, to);
}

/* A mapper that has met a higher one; tries: for its parent, each with another
 * wait, 0: as without options. */
static void make_passive_with(struct spoken *s, unsigned tries)
{
    static const struct gm2_ops ops = {.send = hear, .moved = move};
    struct gm2_message scout = {.subtype = GM2_SCOUT,
                                .reason = GM2_LX_MAPPING,
                                .flags = GM2_MAPPING,
                                .sender = PARENT,
                                .level = 1};
    struct gm2_config config;
    uint8_t body[200];

    memset(s, 0, sizeof(*s));
    s->answer = true;
    gm2_config_default(&config);
    config.address = NET_BUILD_HOST_ID;
    if (tries > 0) {
        config.parent_tries = tries;
        config.scout_wait = OTHER_WAIT;
    }
    s->m = gm2_new(&config, &ops, s, 0);
    gm2_tick(s->m, 0);
    scout.scout.back = (struct gm2_route){2, {0x81, 0x82}};
    gm2_input(s->m, 0, body, gm2_encode(body, sizeof(body), &scout));
    assert_int_equal(s->npings, 1);
    gm2_input(s->m, 0, body, gm2_encode(body, sizeof(body), &s->reply));
}

static void make_passive(struct spoken *s)
{
    make_passive_with(s, 0);
}

static enum gm2_state state_of(struct spoken *s)
{
    struct gm2_status status_now;

    gm2_status(s->m, &status_now);
    return status_now.state;
}

static void a_passive_mapper_pings_each_second(void **state)
{
    struct gm2_status st;
    struct spoken s;

    make_passive(&s);
    gm2_status(s.m, &st);
    assert_int_equal(st.state, GM2_STATE_PASSIVE);
    assert_int_equal(st.parent, PARENT);
    run_to(&s, 10 * SECOND + 500 * MS);
    assert_int_equal(s.npings, 11);
    for (unsigned i = 1; i < s.npings; i++)
        assert_int_equal(s.pings[i] - s.pings[i - 1], SECOND);
    assert_int_equal(state_of(&s), GM2_STATE_PASSIVE);
    gm2_free(s.m);
}

static void a_mute_parent_is_lost_after_30_tries(void **state)
{
    struct spoken s;
    unsigned before;

    make_passive(&s);
    run_to(&s, 3 * SECOND + 500 * MS);
    before = s.npings;
    s.answer = false;
    run_to(&s, 4 * SECOND + 290 * MS);
    assert_int_equal(s.npings, before + 30);
    assert_int_equal(s.pings[before + 1] - s.pings[before], 10 * MS);
    assert_int_equal(state_of(&s), GM2_STATE_PASSIVE);
    run_to(&s, 4 * SECOND + 300 * MS);
    assert_int_equal(state_of(&s), GM2_STATE_MAPPING);
    gm2_free(s.m);
}

static void tries_for_a_parent_are_settable(void **state)
{
    struct spoken s;
    unsigned before;

    make_passive_with(&s, 3);
    run_to(&s, 500 * MS);
    before = s.npings;
    s.answer = false;
    run_to(&s, SECOND + 3 * OTHER_WAIT - 1);
    assert_int_equal(s.npings, before + 3);
    assert_int_equal(state_of(&s), GM2_STATE_PASSIVE);
    run_to(&s, SECOND + 3 * OTHER_WAIT);
    assert_int_equal(state_of(&s), GM2_STATE_MAPPING);
    gm2_free(s.m);
}

static void say_pause(struct spoken *s, uint64_t sender, uint32_t seconds)
{
    const struct gm2_message pause = {.subtype = GM2_SCOUT,
                                      .reason = GM2_LX_PAUSE,
                                      .sender = sender,
                                      .level = 1,
                                      .scout = {.argument = seconds}};
    uint8_t body[200];

    gm2_input(s->m, s->now, body, gm2_encode(body, sizeof(body), &pause));
}

static void only_a_higher_one_pauses_and_not_for_ever(void **state)
{
    struct spoken s;

    make_passive(&s);
    run_to(&s, 500 * MS);
    say_pause(&s, NET_BUILD_HOST_ID - 1, 5);
    assert_int_equal(state_of(&s), GM2_STATE_PASSIVE);
    say_pause(&s, PARENT, UINT32_MAX);
    assert_int_equal(state_of(&s), GM2_STATE_PAUSED);
    run_to(&s, 60 * SECOND);
    assert_int_equal(state_of(&s), GM2_STATE_PAUSED);
    run_to(&s, 61 * SECOND);
    assert_int_not_equal(state_of(&s), GM2_STATE_PAUSED);
    gm2_free(s.m);
}

/* What the parent must show for the child to fetch its map. */
static void when_a_parent_has_a_new_map(void **state)
{
    static const struct {
        uint16_t flags;
        struct gm2_version version;
        bool fetches;
    } cases[] = {
        {GM2_VALID, {PARENT, 1, 7}, true},
        {GM2_VALID, {PARENT, 1, 0}, false}, /* no valid map */
        {0, {PARENT, 1, 7}, false},         /* not valid any more */
        {GM2_VALID, {NET_BUILD_HOST_ID - 1, 1, 7}, false}, /* lower leader */
        {GM2_VALID, {NET_BUILD_HOST_ID - 1, 2, 7}, true},  /* by its level */
    };

    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint8_t body[200];
        struct spoken s;

        make_passive(&s);
        run_to(&s, SECOND - 1);
        s.answer = false;
        run_to(&s, SECOND);
        s.reply.flags = cases[i].flags;
        s.reply.version = cases[i].version;
        gm2_input(s.m, SECOND, body, gm2_encode(body, sizeof(body), &s.reply));
        assert_int_equal(state_of(&s) == GM2_STATE_FETCHING, cases[i].fetches);
        gm2_free(s.m);
    }
}

/* A mapper that asks for the first piece of its parent's map. */
static void make_fetching(struct spoken *s)
{
    uint8_t body[200];

    make_passive(s);
    run_to(s, SECOND - 1);
    s->answer = false;
    run_to(s, SECOND);
    s->reply.flags = GM2_VALID;
    s->reply.version = (struct gm2_version){PARENT, 1, 7};
    gm2_input(s->m, SECOND, body, gm2_encode(body, sizeof(body), &s->reply));
    assert_int_equal(state_of(s), GM2_STATE_FETCHING);
}

static void a_fetch_that_fails_leads_back_to_mapping(void **state)
{
    struct spoken s;

    make_fetching(&s);
    run_to(&s, SECOND + 30 * 20 * MS - 1); /* 30 tries of 20 ms */
    assert_int_equal(state_of(&s), GM2_STATE_FETCHING);
    run_to(&s, SECOND + 30 * 20 * MS);
    assert_int_equal(state_of(&s), GM2_STATE_MAPPING);
    gm2_free(s.m);
}

static void no_rank(uint64_t address, struct gm2_host *host, void *arg)
{
    (void)address;
    (void)arg;
    *host = (struct gm2_host){0};
}

/* The map of a parent and n others, without the mapper that fetches it: one
 * piece of hosts, one of crossbars. */
static struct gm2_map *map_of_others(unsigned n)
{
    const struct gm2_version version = {PARENT, 1, 7};
    struct net *net = net_new();
    struct gm2_map *map;
    uint32_t x;

    assert_non_null(net);
    for (unsigned i = 0; i <= n; i++)
        assert_int_equal(net_add_host(net, "", PARENT - i), i);
    x = net_add_xbar(net, "", 8, 0);
    for (unsigned i = 0; i <= n; i++)
        assert_true(net_connect(net, i, 0, x, i));
    map = gm2_map_new(net, &version, no_rank, NULL);
    net_free(net);
    assert_non_null(map);
    assert_int_equal(gm2_map_pieces(map), 2);
    return map;
}

/* The piece that was asked for, of this map. */
static void give_piece(struct spoken *s, const struct gm2_map *map)
{
    struct gm2_message msg = {.subtype = GM2_PIECE,
                              .reason = s->last.reason,
                              .tag = s->last.tag,
                              .session = s->last.session,
                              .sender = PARENT,
                              .level = 1,
                              .flags = GM2_VALID,
                              .version = map->version};
    uint8_t body[GM2_MESSAGE_MAX];

    assert_int_equal(s->last.reason, GM2_LX_QUERYING_MAP_PIECE);
    gm2_input(s->m, s->now, body,
              gm2_map_encode_piece(map, s->last.scout.argument, &msg, body,
                                   sizeof(body)));
}

/* Then there is no use in asking for it 30 times. */
static void a_parent_without_the_piece_leads_back_to_mapping(void **state)
{
    uint8_t body[200];
    struct spoken s;

    make_fetching(&s);
    s.reply.reason = s.last.reason;
    s.reply.tag = s.last.tag;
    s.reply.session = s.last.session;
    s.reply.flags |= GM2_NO_PIECE;
    gm2_input(s.m, s.now, body, gm2_encode(body, sizeof(body), &s.reply));
    assert_int_equal(state_of(&s), GM2_STATE_MAPPING);
    gm2_free(s.m);
}

/* Nobody asks for pieces of these again: the mapper must not wait for any. */
static void pieces_that_make_no_map_lead_back_to_mapping(void **state)
{
    struct gm2_map *map = map_of_others(2), *other = map_of_others(3);
    struct spoken s;

    make_fetching(&s);
    give_piece(&s, map);
    assert_int_equal(state_of(&s), GM2_STATE_FETCHING);
    give_piece(&s, map); /* whole, but this mapper is not in it */
    assert_int_equal(state_of(&s), GM2_STATE_MAPPING);
    gm2_free(s.m);
    make_fetching(&s);
    give_piece(&s, map);
    give_piece(&s, other); /* of the same version, and does not fit */
    assert_int_equal(state_of(&s), GM2_STATE_MAPPING);
    gm2_free(s.m);
    gm2_map_free(map);
    gm2_map_free(other);
}

/* What a parent tells of must be a map, a valid one, of a higher leader. */
static void which_map_that_is_told_of_is_fetched(void **state)
{
    static const struct {
        uint16_t flags;
        struct gm2_version version;
        bool fetches;
    } cases[] = {
        {GM2_VALID, {PARENT, 1, 7}, true},
        {GM2_VALID, {PARENT, 1, 0}, false},
        {0, {PARENT, 1, 7}, false},
        {GM2_VALID, {NET_BUILD_HOST_ID - 1, 1, 7}, false},
        {GM2_VALID, {NET_BUILD_HOST_ID - 1, 2, 7}, true},
    };

    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct gm2_message tree = {
            .subtype = GM2_SCOUT,
            .reason = GM2_LX_TREE,
            .flags = cases[i].flags,
            .sender = PARENT,
            .level = 1,
            .version = cases[i].version,
            .scout = {.argument = 2, .back = {2, {0x81, 0x82}}},
        };
        uint8_t body[200];
        struct spoken s;

        make_passive(&s);
        run_to(&s, 500 * MS);
        gm2_input(s.m, s.now, body, gm2_encode(body, sizeof(body), &tree));
        assert_int_equal(state_of(&s) == GM2_STATE_FETCHING, cases[i].fetches);
        gm2_free(s.m);
    }
}

/* ---- one that maps ------------------------------------------------------- */

struct mapping {
    struct gm2 *m;
    struct gm2_message scout; /* its first; reason 0: none yet */
    struct gm2_route way;
    unsigned nscouts;         /* along the way of the first */
    struct gm2_message pause; /* the first */
    struct gm2_route pause_way;
    unsigned npauses;
};

static void hear_mapping(const uint8_t *route, size_t nroute, const void *body,
                         size_t len, void *arg)
{
    struct gm2_route way = {.len = (uint16_t)nroute};
    struct mapping *p = arg;
    struct gm2_message msg;

    if (gm2_decode(&msg, body, len) < 0 || msg.subtype != GM2_SCOUT)
        return;
    memcpy(way.byte, route, nroute);
    if (msg.reason == GM2_LX_MAPPING && p->scout.subtype != GM2_SCOUT) {
        p->scout = msg;
        p->way = way;
    }
    p->nscouts += msg.reason == GM2_LX_MAPPING && way.len == p->way.len &&
                  memcmp(way.byte, p->way.byte, way.len) == 0;
    if (msg.reason == GM2_LX_PAUSE && p->npauses++ == 0) {
        p->pause = msg;
        p->pause_way = way;
    }
}

static void make_mapping(struct mapping *p, bool pause, uint64_t time)
{
    static const struct gm2_ops ops = {.send = hear_mapping};
    struct gm2_config config;

    memset(p, 0, sizeof(*p));
    gm2_config_default(&config);
    config.address = NET_BUILD_HOST_ID;
    config.pause = pause;
    if (time)
        config.pause_time = time;
    p->m = gm2_new(&config, &ops, p, 0);
    while (p->scout.subtype != GM2_SCOUT)
        gm2_tick(p->m, gm2_deadline(p->m));
}

/* Somebody answers the scout as one of that session. */
static void answer_scout(struct mapping *p, uint32_t session, uint64_t sender)
{
    const struct gm2_message reply = {.subtype = GM2_REPLY,
                                      .reason = GM2_LX_MAPPING,
                                      .tag = p->scout.tag,
                                      .session = session,
                                      .sender = sender,
                                      .level = 1};
    uint8_t body[200];

    gm2_input(p->m, 0, body, gm2_encode(body, sizeof(body), &reply));
}

static struct gm2_status mapping_status(const struct mapping *p)
{
    struct gm2_status s;

    gm2_status(p->m, &s);
    return s;
}

/* To a search of before: a route that it proved then may lead elsewhere now. */
static void answers_of_another_session_are_late(void **state)
{
    struct gm2_message own;
    struct mapping p;
    uint8_t body[200];

    make_mapping(&p, false, 0);
    answer_scout(&p, p.scout.session ^ 1, PARENT);
    assert_int_equal(mapping_status(&p).state, GM2_STATE_MAPPING);
    assert_int_equal(mapping_status(&p).parent, 0);
    assert_int_equal(mapping_status(&p).counters.dropped_late, 1);
    own = (struct gm2_message){.subtype = GM2_PROBE,
                               .tag = p.scout.tag,
                               .session = p.scout.session ^ 1};
    gm2_input(p.m, 0, body, gm2_encode(body, sizeof(body), &own));
    assert_int_equal(mapping_status(&p).counters.dropped_late, 2);
    answer_scout(&p, p.scout.session, PARENT);
    assert_int_equal(mapping_status(&p).counters.dropped_late, 2);
    assert_int_equal(mapping_status(&p).parent, PARENT);
    assert_int_equal(mapping_status(&p).state, GM2_STATE_PASSIVE);
    gm2_free(p.m);
}

/* One of the search that runs says that the route leads back to its own port,
 * which needs no other try; one of a search before says nothing. */
static void an_own_scout_of_another_session_says_nothing(void **state)
{
    for (uint32_t other = 0; other < 2; other++) {
        struct gm2_message own;
        struct mapping p;
        uint8_t body[200];
        uint64_t begun;

        make_mapping(&p, false, 0);
        begun = mapping_status(&p).counters.explorations;
        own = p.scout;
        own.session ^= other;
        gm2_input(p.m, 0, body, gm2_encode(body, sizeof(body), &own));
        while (p.nscouts == 1 &&
               mapping_status(&p).counters.explorations == begun &&
               mapping_status(&p).state == GM2_STATE_MAPPING)
            gm2_tick(p.m, gm2_deadline(p.m));
        assert_int_equal(p.nscouts > 1 &&
                             mapping_status(&p).counters.explorations == begun,
                         other);
        gm2_free(p.m);
    }
}

/* For as long as is set, along the way of the scout; nobody without the
 * option. */
static void who_is_met_is_paused_for_the_time_that_is_set(void **state)
{
    static const uint64_t times[] = {0, 3 * SECOND, 60 * SECOND};
    struct mapping p;

    for (unsigned i = 0; i < 3; i++) {
        make_mapping(&p, true, times[i]);
        answer_scout(&p, p.scout.session, NET_BUILD_HOST_ID - 1);
        assert_int_equal(p.npauses, 1);
        assert_int_equal(p.pause.scout.argument,
                         times[i] ? times[i] / SECOND : 10);
        assert_int_equal(p.pause_way.len, p.way.len);
        assert_memory_equal(p.pause_way.byte, p.way.byte, p.way.len);
        assert_int_equal(p.pause.scout.back.len, p.way.len);
        gm2_free(p.m);
    }
    make_mapping(&p, false, 0);
    answer_scout(&p, p.scout.session, NET_BUILD_HOST_ID - 1);
    assert_int_equal(p.npauses, 0);
    gm2_free(p.m);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(which_map_that_is_told_of_is_fetched),
    cmocka_unit_test(answers_of_another_session_are_late),
    cmocka_unit_test(an_own_scout_of_another_session_says_nothing),
    cmocka_unit_test(who_is_met_is_paused_for_the_time_that_is_set),
    cmocka_unit_test(a_passive_mapper_pings_each_second),
    cmocka_unit_test(a_mute_parent_is_lost_after_30_tries),
    cmocka_unit_test(tries_for_a_parent_are_settable),
    cmocka_unit_test(only_a_higher_one_pauses_and_not_for_ever),
    cmocka_unit_test(when_a_parent_has_a_new_map),
    cmocka_unit_test(a_fetch_that_fails_leads_back_to_mapping),
    cmocka_unit_test(a_parent_without_the_piece_leads_back_to_mapping),
    cmocka_unit_test(pieces_that_make_no_map_lead_back_to_mapping),
};

const struct suite gm2_spoken = SUITE(tests);
