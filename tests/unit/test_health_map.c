/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The health model and the mapper: who is believed, what a map makes of hosts.
 */
#include "health_world.h"

static void the_mapper_alone_is_enough(void **state)
{
    struct world *w = *state;
    struct report_record r = host(1, SEEN_UP, "");

    mapper(w, "n0", 1, &r, 1);
    for (int i = 0; i < 100; i++) {
        pass(w, SEC);
        mapper(w, "n0", 1, NULL, 0);
    }
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
}

static void a_lying_hsnd_does_not_outvote_the_mapper(void **state)
{
    struct world *w = *state;
    struct report_record r = host(1, SEEN_DOWN, "mute");

    hsnd(w, 1, SEEN_UP, "");
    mapper(w, "n0", 1, &r, 1);
    hsnd(w, 1, SEEN_UP, "I am well");
    assert_int_equal(state_of(w, 1), HEALTH_DOWN);
    assert_int_equal(model_host(w->m, "n1", 0)->source, REPORT_MAPPERD);
}

static void only_the_leading_mapper_is_heard(void **state)
{
    struct world *w = *state;
    struct report_record r = host(1, SEEN_UP, "");
    struct report rep = {.from = REPORT_MAPPERD,
                         .node = "n5",
                         .seq = 1,
                         .map = {.present = true, .version = 9},
                         .records = &r,
                         .nrecords = 1};
    struct errbuf err;

    assert_int_equal(mapper(w, "n0", 1, &r, 1), 0);
    assert_int_equal(model_input(w->m, &rep, w->now, &err), -1);
    assert_string_equal(err.text, "n5: this mapper does not lead");
    assert_int_equal(mapper(w, "n5", 9, &r, 1), -1);
    assert_int_equal(errno, EAGAIN);
    pass(w, 4 * SEC); /* the lease is over */
    assert_int_equal(mapper(w, "n5", 9, &r, 1), 0);
    assert_string_equal(model_map(w->m)->leader, "n5");
    assert_int_equal(model_map(w->m)->version, 9);
}

/* The whole map of rail 1. */
static int second_mapper(struct world *w, const char *node, uint64_t version,
                         struct report_record *records, size_t n)
{
    for (size_t i = 0; i < n; i++)
        records[i].rail = 1;
    return mapper_part(w, node, 1, version, 1, 1, records, n);
}

/* One part of two of the first rail's map. */
static void half_a_map(struct world *w, uint32_t part, struct report_record *r)
{
    assert_int_equal(mapper_part(w, "n0", 0, 8, part, 2, r, 1), 0);
}

static enum health_state rail_state(struct world *w, const char *node,
                                    uint8_t rail)
{
    return model_host(w->m, node, rail)->state;
}

/* Another leads there, with other versions; neither is a rival, or has the
 * hosts of the other rail out of its map. */
static void rails_have_maps_of_their_own(void **state)
{
    static const char *const leaders[] = {"n5", "n0"};

    for (int i = 0; i < 2; i++) {
        struct world *w = *state;
        struct report_record a[] = {host(1, SEEN_UP, ""), host(2, SEEN_UP, "")};
        struct report_record b[] = {host(1, SEEN_UP, ""), host(2, SEEN_UP, "")};

        model_free(w->m);
        w->m = fresh(w);
        assert_int_equal(mapper(w, "n0", 7, a, 2), 0);
        assert_int_equal(second_mapper(w, leaders[i], 3, b, 2), 0);
        for (int k = 0; k < 60; k++) {
            pass(w, SEC);
            assert_int_equal(mapper(w, "n0", 7, NULL, 0), 0);
            assert_int_equal(second_mapper(w, leaders[i], 3, NULL, 0), 0);
        }
        assert_int_equal(w->alarms, 0);
        assert_int_equal(rail_state(w, "n1", 0), HEALTH_HEALTHY);
        assert_int_equal(rail_state(w, "n1", 1), HEALTH_HEALTHY);
        assert_string_equal(model_map_of(w->m, 0)->leader, "n0");
        assert_string_equal(model_map_of(w->m, 1)->leader, leaders[i]);
        assert_int_equal(model_map(w->m)->version, 7);
        /* n2 falls out of the second map only; the first goes silent. */
        assert_int_equal(second_mapper(w, leaders[i], 4, b, 1), 0);
        assert_int_equal(rail_state(w, "n2", 0), HEALTH_HEALTHY);
        assert_int_equal(rail_state(w, "n2", 1), HEALTH_DOWN);
        for (int k = 0; k < 80; k++) {
            pass(w, SEC);
            second_mapper(w, leaders[i], 4, NULL, 0);
        }
        assert_int_equal(rail_state(w, "n1", 0), HEALTH_UNKNOWN);
        assert_int_equal(rail_state(w, "n1", 1), HEALTH_HEALTHY);
    }
}

/* The map of one rail is complete while that of another comes in parts. */
static void a_map_ends_that_of_no_other_rail(void **state)
{
    struct world *w = *state;
    struct report_record a[] = {host(1, SEEN_UP, ""), host(2, SEEN_UP, "")};
    struct report_record b[] = {host(1, SEEN_UP, ""), host(2, SEEN_UP, "")};

    mapper(w, "n0", 7, a, 2);
    half_a_map(w, 1, &a[0]);
    assert_int_equal(second_mapper(w, "n5", 3, b, 2), 0);
    assert_int_equal(rail_state(w, "n2", 0), HEALTH_HEALTHY);
    half_a_map(w, 2, &a[1]);
    assert_int_equal(rail_state(w, "n2", 0), HEALTH_HEALTHY);
}

static void what_is_not_in_the_new_map_is_down(void **state)
{
    struct world *w = *state;
    struct report_record all[] = {host(1, SEEN_UP, ""), host(2, SEEN_UP, "")};

    mapper(w, "n0", 1, all, 2);
    assert_int_equal(state_of(w, 2), HEALTH_HEALTHY);
    mapper(w, "n0", 2, all, 1);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    assert_int_equal(state_of(w, 2), HEALTH_DOWN);
    assert_string_equal(model_host(w->m, "n2", 0)->why, "not in the map");
}

/* After the fabric was in two both sides' leaders go on for a moment. */
static void two_leaders_are_an_alarm_only_if_it_lasts(void **state)
{
    struct world *w = *state;
    struct report_record r = host(1, SEEN_UP, "");

    mapper(w, "n0", 1, &r, 1);
    for (int i = 0; i < MODEL_RIVAL_MS / SEC; i++) {
        assert_int_equal(mapper(w, "n0", 1, NULL, 0), 0);
        assert_int_equal(mapper(w, "n5", 9, &r, 1), -1);
        assert_int_equal(errno, EAGAIN);
        pass(w, SEC);
    }
    assert_int_equal(w->alarms, 0);
    assert_int_equal(mapper(w, "n0", 1, NULL, 0), 0);
    assert_int_equal(mapper(w, "n5", 9, &r, 1), -1);
    assert_int_equal(errno, EPERM);
    assert_string_equal(w->last_alarm, "two mappers say they lead: n0 and n5");
    /* Another time it begins anew. */
    for (int i = 0; i <= MODEL_RIVAL_MS / SEC; i++) {
        pass(w, SEC);
        mapper(w, "n0", 1, NULL, 0);
    }
    assert_int_equal(mapper(w, "n5", 9, &r, 1), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(w->alarms, 1);
}

/* The healthy one was refused because the dead one still led. */
static void a_leader_that_sees_nothing_gives_its_place_up(void **state)
{
    struct world *w = *state;
    struct report_record all[] = {
        host(0, SEEN_UP, ""),
        host(1, SEEN_UP, ""),
        {.kind = REPORT_XBAR, .seen = SEEN_UP, .name = "leaf"}};
    struct report_record rest[] = {all[0], all[2]};
    struct report lost = {.from = REPORT_MAPPERD,
                          .node = "n1",
                          .instance = 1,
                          .map = {.present = true, .version = 3}};
    struct errbuf err;

    for (int how = 0; how < 2; how++) {
        assert_int_equal(mapper(w, "n1", 2, all, 3), 0);
        assert_int_equal(mapper(w, "n0", 4, rest, 2), -1);
        lost.seq = ++w->seq;
        if (how == 0) /* it sees nothing */
            assert_int_equal(mapper(w, "n1", 3, &all[1], 1), 0);
        else /* it has lost its hsnd */
            assert_int_equal(model_input(w->m, &lost, w->now, &err), 0);
        assert_int_equal(state_of(w, 0), HEALTH_HEALTHY);
        assert_int_equal(mapper(w, "n0", 4, rest, 2), 0);
        assert_string_equal(model_map(w->m)->leader, "n0");
        pass(w, 60 * SEC);
    }
    assert_int_equal(w->alarms, 0);
}

/* Whoever is cut off leads itself and would have all others down. */
static void a_map_of_less_than_half_is_not_believed(void **state)
{
    struct world *w = *state;
    struct report_record all[] = {host(1, SEEN_UP, ""), host(2, SEEN_UP, ""),
                                  host(3, SEEN_UP, "")};

    mapper(w, "n0", 1, all, 3);
    assert_int_equal(mapper(w, "n0", 2, &all[2], 1), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    assert_int_equal(mapper(w, "n3", 2, &all[2], 1), 0); /* itself alone */
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    assert_int_equal(model_map(w->m)->version, 1);
    assert_int_equal(mapper(w, "n0", 3, all, 2), 0);
    assert_int_equal(state_of(w, 3), HEALTH_DOWN);
    assert_int_equal(state_of(w, 2), HEALTH_HEALTHY);
}

/* Also when no map has come for so long that the last one is stale. */
static void nor_is_it_when_the_last_map_is_old(void **state)
{
    struct world *w = *state;
    struct report_record all[] = {host(1, SEEN_UP, ""), host(2, SEEN_UP, ""),
                                  host(3, SEEN_UP, "")};

    mapper(w, "n3", 1, all, 3);
    pass(w, w->conf.stale[REPORT_MAPPERD] + SEC);
    for (int n = 1; n <= 3; n++)
        hsnd(w, n, SEEN_UP, "link up");
    assert_int_equal(mapper(w, "n0", 2, &all[2], 1), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(state_of(w, 1), HEALTH_UNKNOWN);
    assert_int_equal(mapper(w, "n2", 3, all, 2), 0);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    /* Who is silent does not count. */
    pass(w, w->conf.stale[REPORT_MAPPERD] + SEC);
    assert_int_equal(mapper(w, "n0", 4, &all[1], 1), 0);
    assert_int_equal(model_map(w->m)->version, 4);
    assert_int_equal(state_of(w, 1), HEALTH_UNKNOWN);
}

static void a_mapper_without_a_link_is_not_believed(void **state)
{
    struct world *w = *state;
    struct report_record all[] = {host(1, SEEN_UP, ""), host(2, SEEN_UP, "")};

    mapper(w, "n2", 1, all, 2);
    hsnd(w, 2, SEEN_DOWN, "no link");
    assert_int_equal(mapper(w, "n2", 2, all, 1), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    assert_int_equal(state_of(w, 2), HEALTH_DOWN);
    hsnd(w, 2, SEEN_UP, "link up");
    assert_int_equal(mapper(w, "n2", 3, all, 2), 0);
}

/* It leads itself for as long as it is, and an alarm came each minute. */
static void a_mapper_without_a_link_is_no_alarm(void **state)
{
    struct world *w = *state;
    struct report_record all[] = {host(1, SEEN_UP, ""), host(2, SEEN_UP, ""),
                                  host(3, SEEN_UP, "")};

    assert_int_equal(mapper(w, "n3", 7, all, 3), 0);
    hsnd(w, 2, SEEN_DOWN, "nobody answers");
    for (int i = 0; i < 100; i++) {
        assert_int_equal(mapper(w, "n2", 8, &all[1], 1), 0);
        assert_int_equal(mapper(w, "n2", 8, NULL, 0), 0);
        assert_int_equal(mapper(w, "n3", 7, NULL, 0), 0);
        pass(w, SEC);
    }
    assert_int_equal(w->alarms, 0);
    assert_string_equal(model_map(w->m)->leader, "n3");
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
}

/* It may have spoken first. */
static void who_knows_more_hosts_leads_at_once(void **state)
{
    struct world *w = *state;
    struct report_record all[] = {host(1, SEEN_UP, ""), host(2, SEEN_UP, ""),
                                  host(3, SEEN_UP, "")};

    assert_int_equal(mapper(w, "n1", 7, &all[1], 1), 0);
    assert_int_equal(mapper(w, "n3", 8, all, 3), 0);
    assert_string_equal(model_map(w->m)->leader, "n3");
    assert_int_equal(mapper(w, "n1", 7, &all[1], 1), -1);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
}

/* The next map may call another crossbar so: nothing is down by that. */
static void names_of_one_map_are_forgotten_with_it(void **state)
{
    struct world *w = *state;
    struct report_record first[] = {
        host(1, SEEN_UP, ""),
        {.kind = REPORT_XBAR, .seen = SEEN_UP, .name = "anon0"},
        {.kind = REPORT_XBAR, .seen = SEEN_UP, .name = "x00000000000000aa"},
        {.kind = REPORT_LINK,
         .seen = SEEN_UP,
         .name = "x00000000000000aa:1",
         .peer = "anon0:3"}};

    mapper(w, "n0", 1, first, 4);
    assert_non_null(model_find(w->m, REPORT_XBAR, "anon0"));
    mapper(w, "n0", 2, first, 1);
    assert_null(model_find(w->m, REPORT_XBAR, "anon0"));
    assert_null(model_find(w->m, REPORT_LINK, "x00000000000000aa:1"));
    assert_int_equal(model_find(w->m, REPORT_XBAR, "x00000000000000aa")->state,
                     HEALTH_DOWN);
}

static int tell_falls(struct world *w, const char *node, uint64_t instance,
                      uint64_t count, bool whole)
{
    struct report_record r = {.kind = REPORT_LINK,
                              .seen = SEEN_UP,
                              .name = "leaf0:4",
                              .peer = "spine0:0",
                              .count = count};
    struct report rep = {.from = REPORT_MAPPERD,
                         .instance = instance,
                         .seq = ++w->seq,
                         .map = {.present = true,
                                 .leader = true,
                                 .version = instance,
                                 .part = whole,
                                 .parts = whole},
                         .records = &r,
                         .nrecords = 1};
    struct errbuf err;

    snprintf(rep.node, sizeof(rep.node), "%s", node);
    return model_input(w->m, &rep, w->now, &err);
}

static enum health_state link_state(const struct world *w)
{
    return model_find(w->m, REPORT_LINK, "leaf0:4")->state;
}

/* By the mapper's count; also when another mapper counts from then on. */
static void a_link_that_falls_again_and_again_flaps(void **state)
{
    struct world *w = *state;
    const struct health_item *it;

    tell_falls(w, "n0", 1, 1000, true); /* of long ago, maybe */
    pass(w, SEC);
    assert_int_equal(link_state(w), HEALTH_HEALTHY);
    tell_falls(w, "n0", 1, 1002, false);
    pass(w, SEC);
    assert_int_equal(link_state(w), HEALTH_HEALTHY);
    pass(w, 10 * SEC);
    tell_falls(w, "n1", 2, 1, true);
    pass(w, SEC);
    assert_int_equal(link_state(w), HEALTH_HEALTHY);
    tell_falls(w, "n1", 2, 2, false);
    pass(w, SEC);
    assert_int_equal(link_state(w), HEALTH_FLAPPING);
    it = model_find(w->m, REPORT_LINK, "leaf0:4");
    assert_string_equal(it->why, "down 4 times in 300 s");
    for (int64_t t = 0; t <= w->conf.flap_quiet; t += 5 * SEC) {
        tell_falls(w, "n1", 2, 2, false);
        pass(w, 5 * SEC);
    }
    assert_int_equal(link_state(w), HEALTH_HEALTHY);
}

static void a_map_in_parts_is_whole_only_with_the_last(void **state)
{
    struct world *w = *state;
    struct report_record r[] = {host(1, SEEN_UP, ""), host(2, SEEN_UP, "")};
    struct report rep = {.from = REPORT_MAPPERD,
                         .node = "n0",
                         .map = {.present = true, .leader = true, .parts = 2}};
    struct errbuf err;

    mapper(w, "n0", 1, r, 2);
    rep.map.version = 2;
    rep.nrecords = 1;
    for (int part = 1; part <= 2; part++) {
        rep.seq = ++w->seq;
        rep.map.part = (uint32_t)part;
        rep.records = &r[part - 1];
        assert_int_equal(model_input(w->m, &rep, w->now, &err), 0);
        assert_int_equal(state_of(w, 2), HEALTH_HEALTHY);
    }
    /* A part of the old map and one of the new are no map. */
    rep.map.version = 3;
    rep.map.part = 1;
    rep.records = &r[0];
    rep.seq = ++w->seq;
    model_input(w->m, &rep, w->now, &err);
    rep.map.version = 4;
    rep.map.part = 2;
    rep.seq = ++w->seq;
    model_input(w->m, &rep, w->now, &err);
    assert_int_equal(state_of(w, 2), HEALTH_HEALTHY);
}

/* What a folded Clos of 65 536 hosts has. */
#define LARGE_HOSTS 65536u
#define LARGE_XBARS 14336u
#define LARGE_LINKS 294912u

static struct report_record large_record(uint32_t i)
{
    struct report_record r = {.kind = REPORT_HOST, .seen = SEEN_UP};

    if (i < LARGE_HOSTS) {
        snprintf(r.name, sizeof(r.name), "n%u", i);
    } else if (i < LARGE_HOSTS + LARGE_XBARS) {
        r.kind = REPORT_XBAR;
        snprintf(r.name, sizeof(r.name), "x%u", i - LARGE_HOSTS);
    } else {
        r.kind = REPORT_LINK;
        i -= LARGE_HOSTS + LARGE_XBARS;
        snprintf(r.name, sizeof(r.name), "x%u:%u", i % LARGE_XBARS,
                 i / LARGE_XBARS);
        snprintf(r.peer, sizeof(r.peer), "x%u:%u", (i + 1) % LARGE_XBARS,
                 32 + i / LARGE_XBARS);
    }
    return r;
}

/* All but the first `without` records, in as large parts as there can be, as
 * mapperd sends them; the last but one comes before the others.  The part that
 * made it whole by what the last host is then. */
static uint32_t large_map(struct world *w, uint64_t version, uint32_t without)
{
    static struct report_record records[SF_REPORT_RECORDS_MAX];
    uint32_t all = LARGE_HOSTS + LARGE_XBARS + LARGE_LINKS - without;
    struct report rep = {.from = REPORT_MAPPERD,
                         .node = "n9",
                         .instance = 1,
                         .map = {.present = true,
                                 .leader = true,
                                 .configured = true,
                                 .version = version},
                         .records = records};
    uint32_t parts, taken = 0;
    struct errbuf err;

    parts = (all + SF_REPORT_RECORDS_MAX - 1) / SF_REPORT_RECORDS_MAX;
    rep.map.parts = parts;
    for (uint32_t k = 0; k < parts; k++) {
        uint32_t part = (k + parts - 2) % parts, at;

        at = part * SF_REPORT_RECORDS_MAX;
        for (rep.nrecords = 0;
             rep.nrecords < SF_REPORT_RECORDS_MAX && at + rep.nrecords < all;
             rep.nrecords++)
            records[rep.nrecords] =
                large_record(without + at + (uint32_t)rep.nrecords);
        rep.map.part = part + 1;
        rep.seq = ++w->seq;
        if (model_input(w->m, &rep, w->now, &err) < 0)
            fail_msg("part %u of %u: %s", part + 1, parts, err.text);
        if (without && !taken && state_of(w, 0) == HEALTH_DOWN)
            taken = k + 1;
    }
    assert_int_equal(state_of(w, (int)LARGE_HOSTS - 1), HEALTH_HEALTHY);
    print_message("# %u records in %u parts\n", all, parts);
    return taken ? parts - taken : parts;
}

static void a_map_of_65536_hosts_is_taken_in_parts(void **state)
{
    struct world *w = *state;

    large_map(w, 1, 0);
    assert_int_equal(state_of(w, 0), HEALTH_HEALTHY);
    assert_int_equal(large_map(w, 2, 1), 0);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
}

/* A map in as many parts as a report may say goes through bytes and back. */
static void a_report_says_the_last_of_all_parts(void **state)
{
    struct report_record r = host(1, SEEN_UP, "");
    struct report rep = {.from = REPORT_MAPPERD,
                         .node = "n0",
                         .seq = 1,
                         .map = {.present = true,
                                 .leader = true,
                                 .version = 1,
                                 .part = SF_REPORT_PARTS_MAX,
                                 .parts = SF_REPORT_PARTS_MAX},
                         .records = &r,
                         .nrecords = 1};
    struct errbuf err;
    struct report back;
    char *text = report_encode(&rep, &err);

    assert_non_null(text);
    assert_int_equal(report_decode(&back, text, strlen(text), &err), 0);
    assert_int_equal(back.map.part, SF_REPORT_PARTS_MAX);
    report_free(&back);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HEALTH_TEST(the_mapper_alone_is_enough),
        HEALTH_TEST(a_lying_hsnd_does_not_outvote_the_mapper),
        HEALTH_TEST(only_the_leading_mapper_is_heard),
        HEALTH_TEST(rails_have_maps_of_their_own),
        HEALTH_TEST(a_map_ends_that_of_no_other_rail),
        HEALTH_TEST(two_leaders_are_an_alarm_only_if_it_lasts),
        HEALTH_TEST(a_leader_that_sees_nothing_gives_its_place_up),
        HEALTH_TEST(what_is_not_in_the_new_map_is_down),
        HEALTH_TEST(names_of_one_map_are_forgotten_with_it),
        HEALTH_TEST(a_map_of_less_than_half_is_not_believed),
        HEALTH_TEST(nor_is_it_when_the_last_map_is_old),
        HEALTH_TEST(a_mapper_without_a_link_is_not_believed),
        HEALTH_TEST(a_mapper_without_a_link_is_no_alarm),
        HEALTH_TEST(who_knows_more_hosts_leads_at_once),
        HEALTH_TEST(a_link_that_falls_again_and_again_flaps),
        HEALTH_TEST(a_map_in_parts_is_whole_only_with_the_last),
        HEALTH_TEST(a_map_of_65536_hosts_is_taken_in_parts),
        HEALTH_TEST(a_report_says_the_last_of_all_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
