/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The health model in virtual time: states, and what survives a restart.
 */
#include "base/jsonx.h"
#include "health_world.h"

static void add_text(const char *text, size_t len, void *arg)
{
    fwrite(text, 1, len, arg);
}

static struct json_object *saved_of(struct world *w)
{
    struct json_object *o;
    struct errbuf err;
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);

    fputc('{', f);
    model_save(w->m, w->now, add_text, f);
    fputc('}', f);
    fclose(f);
    o = jsonx_parse(text, len, &err);
    free(text);
    return o;
}

static void restart(struct world *w, int64_t away)
{
    struct json_object *saved = saved_of(w);
    struct errbuf err;

    assert_non_null(saved);
    model_free(w->m);
    w->m = fresh(w);
    w->now += away;
    assert_int_equal(model_load(w->m, saved, w->now, 600 * SEC, &err), 0);
    json_object_put(saved);
}

static void the_first_good_word_makes_healthy(void **state)
{
    struct world *w = *state;

    assert_int_equal(hsnd(w, 1, SEEN_UP, ""), 0);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    assert_int_equal(model_count(w->m, REPORT_HOST, HEALTH_HEALTHY), 1);
}

static void down_comes_at_once_and_healthy_after_a_while(void **state)
{
    struct world *w = *state;
    const struct health_item *i;

    hsnd(w, 1, SEEN_UP, "");
    pass_saying(w, 5, SEEN_UP);
    assert_int_equal(hsnd(w, 1, SEEN_DOWN, "no carrier"), 0);
    assert_int_equal(state_of(w, 1), HEALTH_DOWN);
    i = model_host(w->m, "n1", 0);
    assert_string_equal(i->why, "no carrier");
    assert_int_equal(i->count, 1);
    assert_int_equal(i->since, w->now);
    pass_saying(w, 10, SEEN_UP);
    assert_int_equal(state_of(w, 1), HEALTH_DOWN);
    pass_saying(w, 2, SEEN_UP);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
}

static void silence_becomes_unknown_never_healthy(void **state)
{
    struct world *w = *state;

    hsnd(w, 1, SEEN_UP, "");
    pass(w, 14 * SEC);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    pass(w, 2 * SEC);
    assert_int_equal(state_of(w, 1), HEALTH_UNKNOWN);
    assert_string_equal(model_host(w->m, "n1", 0)->why, "hsnd is silent");
    hsnd(w, 1, SEEN_DOWN, "x");
    pass(w, 20 * SEC);
    assert_int_equal(state_of(w, 1), HEALTH_UNKNOWN);
    for (int i = 0; i < 100; i++) {
        pass(w, 60 * SEC);
        assert_int_equal(model_host(w->m, "n1", 0)->proven, 0);
    }
    assert_int_equal(state_of(w, 1), HEALTH_DEGRADED);
}

/* What is not known for long counts against who is silent, as far as the site
 * wants it. */
static void who_is_silent_for_long_is_degraded_never_proven(void **state)
{
    struct world *w = *state;
    struct health_node node;

    hsnd(w, 1, SEEN_UP, "");
    pass(w, w->conf.stale[REPORT_HSND] + w->conf.silent_after);
    assert_int_equal(state_of(w, 1), HEALTH_UNKNOWN);
    pass(w, SEC);
    pass(w, w->conf.degrade_after);
    assert_int_equal(state_of(w, 1), HEALTH_DEGRADED);
    assert_true(model_node(w->m, "n1", &node));
    assert_string_equal(node.worst->why, "hsnd is silent for long");
    assert_int_equal(node.silent, 1);
    assert_int_equal(node.rail_proven[0], 0);
    w->conf.silent_after = 0; /* SilentPolicy=show */
    model_set_conf(w->m, &w->conf);
    pass(w, SEC);
    assert_int_equal(state_of(w, 1), HEALTH_UNKNOWN);
    assert_true(model_node(w->m, "n1", &node));
    assert_int_equal(node.silent, 0);
}

/* It was not there to hear anybody. */
static void time_that_nobody_listened_is_not_silence(void **state)
{
    struct world *w = *state;

    hsnd(w, 1, SEEN_UP, "");
    restart(w, 3600 * SEC);
    for (int i = 0; i < 10; i++)
        pass(w, SEC);
    assert_int_equal(state_of(w, 1), HEALTH_UNKNOWN);
}

/* "down (link up)": the reason of a state that lags is the state's. */
static void a_reason_stays_with_its_state(void **state)
{
    struct world *w = *state;
    const struct health_item *i;

    hsnd(w, 1, SEEN_UP, "link up");
    hsnd(w, 1, SEEN_DOWN, "no link");
    pass_saying(w, 3, SEEN_UP);
    i = model_host(w->m, "n1", 0);
    assert_int_equal(i->state, HEALTH_DOWN);
    assert_string_equal(i->why, "no link");
    assert_int_equal(i->proven, 0); /* it is so no more */
    pass_saying(w, 10, SEEN_UP);
    assert_int_equal(i->state, HEALTH_HEALTHY);
    assert_string_equal(i->why, "test");
}

/* The mapper says up, hsnd of the node has died. */
static void one_silent_source_is_enough_for_unknown(void **state)
{
    struct world *w = *state;
    struct report_record r = host(1, SEEN_UP, "");

    hsnd(w, 1, SEEN_UP, "");
    mapper(w, "n0", 1, &r, 1);
    for (int i = 0; i < 20; i++) {
        pass(w, SEC);
        assert_int_equal(mapper(w, "n0", 1, NULL, 0), 0);
    }
    assert_int_equal(state_of(w, 1), HEALTH_UNKNOWN);
}

static void hsnd_speaks_for_its_own_node_only(void **state)
{
    struct world *w = *state;
    struct report_record r = host(2, SEEN_DOWN, "lie");
    struct report rep = {.from = REPORT_HSND,
                         .node = "n1",
                         .seq = 1,
                         .records = &r,
                         .nrecords = 1};
    struct errbuf err;

    assert_int_equal(model_input(w->m, &rep, w->now, &err), -1);
    assert_int_equal(errno, EPERM);
    assert_null(model_host(w->m, "n2", 0));
    r = (struct report_record){
        .kind = REPORT_XBAR, .seen = SEEN_DOWN, .name = "n1"};
    assert_int_equal(model_input(w->m, &rep, w->now, &err), -1);
    r = host(1, SEEN_UP, "");
    rep.map = (struct report_map){.present = true, .leader = true};
    assert_int_equal(model_input(w->m, &rep, w->now, &err), -1);
    assert_string_equal(err.text, "n1: hsnd has no map");
    rep.map = (struct report_map){.present = false};
    assert_int_equal(model_input(w->m, &rep, w->now, &err), 0);
}

static void old_reports_are_refused(void **state)
{
    struct world *w = *state;

    assert_int_equal(hsnd(w, 1, SEEN_DOWN, "a"), 0);
    w->seq--;
    assert_int_equal(hsnd(w, 1, SEEN_UP, ""), -1);
    assert_int_equal(errno, EALREADY);
    assert_int_equal(state_of(w, 1), HEALTH_DOWN);
}

static void flapping_is_damped(void **state)
{
    struct world *w = *state;
    int before;

    hsnd(w, 1, SEEN_UP, "");
    for (int i = 0; i < 10; i++) {
        pass(w, SEC);
        hsnd(w, 1, SEEN_DOWN, "flap");
        pass(w, SEC);
        hsnd(w, 1, SEEN_UP, "");
    }
    assert_int_equal(state_of(w, 1), HEALTH_FLAPPING);
    assert_int_equal(model_host(w->m, "n1", 0)->count, 4);
    assert_string_equal(model_host(w->m, "n1", 0)->why,
                        "down 4 times in 300 s");
    before = w->changes;
    for (int i = 0; i < 200; i++) {
        pass(w, SEC);
        hsnd(w, 1, i % 2 ? SEEN_DOWN : SEEN_UP, "flap");
    }
    assert_int_equal(w->changes, before); /* nobody hears of each flap */
    assert_int_equal(model_host(w->m, "n1", 0)->count, 4);
    assert_string_equal(model_host(w->m, "n1", 0)->why,
                        "down 4 times in 300 s");
    pass_saying(w, 250, SEEN_UP);
    assert_int_equal(state_of(w, 1), HEALTH_FLAPPING);
    pass_saying(w, 60, SEEN_UP);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    assert_int_equal(model_host(w->m, "n1", 0)->count, 110);
}

/* With DownAfter each of them is too short to be told. */
static void short_faults_are_flapping_together(void **state)
{
    struct world *w = *state;

    w->conf.down_after = 5 * SEC;
    model_set_conf(w->m, &w->conf);
    hsnd(w, 1, SEEN_UP, "");
    for (int i = 0; i < 4; i++) {
        assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
        pass(w, SEC);
        hsnd(w, 1, SEEN_DOWN, "flap");
        pass(w, SEC);
        hsnd(w, 1, SEEN_UP, "");
    }
    assert_int_equal(state_of(w, 1), HEALTH_FLAPPING);
}

static void flapping_that_ends_down_is_down(void **state)
{
    struct world *w = *state;

    hsnd(w, 1, SEEN_UP, "");
    for (int i = 0; i < 6; i++) {
        pass(w, SEC);
        hsnd(w, 1, SEEN_DOWN, "flap");
        pass(w, SEC);
        hsnd(w, 1, SEEN_UP, "");
    }
    assert_int_equal(state_of(w, 1), HEALTH_FLAPPING);
    pass_saying(w, 10, SEEN_DOWN);
    assert_int_equal(state_of(w, 1), HEALTH_FLAPPING);
    pass_saying(w, 3, SEEN_DOWN);
    assert_int_equal(state_of(w, 1), HEALTH_DOWN);
}

static void degraded_needs_a_moment(void **state)
{
    struct world *w = *state;

    hsnd(w, 1, SEEN_UP, "");
    pass(w, SEC);
    hsnd(w, 1, SEEN_DEGRADED, "crc errors");
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    pass_saying(w, 3, SEEN_DEGRADED);
    assert_int_equal(state_of(w, 1), HEALTH_DEGRADED);
    pass_saying(w, 12, SEEN_UP);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
}

static void names_and_boards_that_disagree_are_an_alarm_no_fault(void **state)
{
    struct world *w = *state;
    struct report_record r = host(1, SEEN_UP, ""), two[2];

    r.board = 0x1002;
    mapper(w, "n0", 1, &r, 1);
    assert_int_equal(w->alarms, 1);
    assert_int_equal(state_of(w, 2), HEALTH_HEALTHY); /* the table's word */
    assert_null(model_host(w->m, "n1", 0));
    two[0] = r;
    two[1] = (struct report_record){.seen = SEEN_UP, .board = 0x99};
    mapper(w, "n0", 1, two, 2);
    assert_non_null(model_host(w->m, "000000000099", 0));
}

static void a_node_is_as_its_worst_rail(void **state)
{
    struct world *w = *state;
    struct report_record r[] = {host(1, SEEN_UP, ""), host(1, SEEN_DOWN, "x")};
    struct health_node node;

    r[1].rail = 1;
    mapper(w, "n0", 1, r, 2);
    assert_true(model_node(w->m, "n1", &node));
    assert_int_equal(node.state, HEALTH_DOWN);
    assert_int_equal(node.rails, 3);
    assert_int_equal(node.rail_state[0], HEALTH_HEALTHY);
    assert_int_equal(node.worst->rail, 1);
    assert_false(model_node(w->m, "n7", &node));
}

static int counts(struct world *w, const char *node, const char *name,
                  unsigned rails, uint64_t value)
{
    struct report_counter c[SF_ELAN_RAILS_MAX];
    struct report r = {.from = REPORT_HSND,
                       .instance = 1,
                       .seq = ++w->seq,
                       .counters = c,
                       .ncounters = rails};
    struct errbuf err;

    snprintf(r.node, sizeof(r.node), "%s", node);
    for (unsigned i = 0; i < rails; i++) {
        c[i] = (struct report_counter){.rail = (uint8_t)i, .value = value + i};
        snprintf(c[i].name, sizeof(c[i].name), "%s", name);
    }
    return model_input(w->m, &r, w->now, &err);
}

static const struct health_reporter *reporter(struct world *w, const char *node)
{
    const struct health_reporter *r = model_next_reporter(w->m, NULL);

    while (r && strcmp(r->node, node) != 0)
        r = model_next_reporter(w->m, r);
    return r;
}

static void counters_are_kept_and_their_names_shared(void **state)
{
    struct world *w = *state;
    const struct health_reporter *a, *b;

    counts(w, "n1", "sent", 2, 10);
    counts(w, "n2", "sent", 2, 20);
    a = reporter(w, "n1");
    b = reporter(w, "n2");
    assert_int_equal(a->ncounters, 2);
    assert_string_equal(a->counters[1].name, "sent");
    assert_int_equal(a->counters[1].rail, 1);
    assert_int_equal(a->values[1], 11);
    assert_int_equal(b->values[1], 21);
    assert_ptr_equal(a->counters, b->counters);
    /* One that counts otherwise from now on changes nothing of the others. */
    counts(w, "n1", "lost", 1, 3);
    assert_int_equal(a->ncounters, 1);
    assert_string_equal(a->counters[0].name, "lost");
    assert_int_equal(a->values[0], 3);
    assert_string_equal(b->counters[0].name, "sent");
    assert_int_equal(b->values[1], 21);
    /* The last one's list goes with it. */
    counts(w, "n2", "lost", 1, 4);
    assert_ptr_equal(a->counters, b->counters);
    /* Without counters the last ones stand. */
    hsnd(w, 2, SEEN_UP, "");
    assert_int_equal(b->values[0], 4);
}

/* hsnd counts the NIC of its node; the same from the node's mapper would be a
 * series twice. */
static void what_a_mapper_counts_is_left_out(void **state)
{
    struct world *w = *state;
    struct report_counter c = {0, "sent", 1};
    struct report r = {.node = "n1",
                       .from = REPORT_MAPPERD,
                       .instance = 1,
                       .seq = ++w->seq,
                       .map = {.present = true, .leader = true, .version = 1},
                       .counters = &c,
                       .ncounters = 1};
    const struct health_reporter *i = NULL;
    struct errbuf err;
    int n = 0;

    assert_int_equal(model_input(w->m, &r, w->now, &err), 0);
    counts(w, "n1", "sent", 1, 10);
    while ((i = model_next_reporter(w->m, i))) {
        assert_int_equal(i->ncounters, i->from == REPORT_HSND ? 1 : 0);
        n++;
    }
    assert_int_equal(n, 2);
}

static void the_model_survives_a_restart(void **state)
{
    struct world *w = *state;
    int64_t since;

    hsnd(w, 1, SEEN_UP, "");
    hsnd(w, 2, SEEN_UP, "");
    pass(w, SEC);
    hsnd(w, 2, SEEN_DOWN, "mute");
    since = w->now;
    restart(w, 30 * SEC);
    model_tick(w->m, w->now);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    assert_int_equal(state_of(w, 2), HEALTH_DOWN);
    assert_int_equal(model_host(w->m, "n2", 0)->since, since);
    assert_int_equal(model_count(w->m, REPORT_HOST, HEALTH_DOWN), 1);
    /* What does not speak again ages as ever. */
    pass(w, 16 * SEC);
    assert_int_equal(state_of(w, 1), HEALTH_UNKNOWN);
    /* Flaps are not forgotten either. */
    for (int i = 0; i < 4; i++) {
        hsnd(w, 2, SEEN_UP, "");
        hsnd(w, 2, SEEN_DOWN, "mute");
    }
    hsnd(w, 2, SEEN_UP, "");
    assert_int_equal(state_of(w, 2), HEALTH_FLAPPING);
}

static void a_restart_after_long_trusts_nothing(void **state)
{
    struct world *w = *state;

    hsnd(w, 1, SEEN_UP, "");
    restart(w, 3600 * SEC);
    model_tick(w->m, w->now);
    assert_int_equal(state_of(w, 1), HEALTH_UNKNOWN);
}

static void a_spoiled_state_file_is_refused_whole(void **state)
{
    struct world *w = *state;
    struct json_object *saved, *items;
    struct errbuf err;

    hsnd(w, 1, SEEN_UP, "");
    hsnd(w, 2, SEEN_UP, "");
    saved = saved_of(w);
    items = json_object_object_get(saved, "items");
    json_object_object_del(json_object_array_get_idx(items, 1), "state");
    model_free(w->m);
    w->m = fresh(w);
    assert_int_equal(model_load(w->m, saved, w->now, SEC, &err), -1);
    assert_int_equal(errno, EBADMSG);
    assert_null(model_next(w->m, REPORT_HOST, NULL));
    assert_int_equal(model_count(w->m, REPORT_HOST, HEALTH_HEALTHY), 0);
    json_object_put(saved);
}

static void what_nobody_speaks_of_is_forgotten(void **state)
{
    struct world *w = *state;

    hsnd(w, 1, SEEN_UP, "");
    pass(w, w->conf.forget_after - SEC);
    assert_non_null(model_host(w->m, "n1", 0));
    pass(w, 2 * SEC);
    assert_null(model_host(w->m, "n1", 0));
}

/* 5 % of the reports get lost, for an hour: nothing happens. */
static void lost_reports_drain_nobody(void **state)
{
    struct world *w = *state;
    uint32_t random = 1;

    hsnd(w, 1, SEEN_UP, "");
    for (int i = 0; i < 3600; i++) {
        pass(w, SEC);
        random = random * 1664525 + 1013904223;
        if (random >> 16 > 65536 / 20)
            hsnd(w, 1, SEEN_UP, "");
        assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    }
}

/* What an identity table, or root on a node, may call a host: of all texts the
 * longest, and each byte of them to be written otherwise. */
static void texts_that_json_quotes_are_saved(void **state)
{
    static const char odd[] = "\"\\{}[],:'";
    struct world *w = *state;
    struct report_record r = {.kind = REPORT_HOST, .seen = SEEN_UP};
    struct report rep = {.instance = 1, .records = &r, .nrecords = 1};
    const struct health_item *i;
    struct errbuf err;

    for (size_t k = 0; k < sizeof(r.name) - 1; k++)
        r.name[k] = r.peer[k] = r.why[k] = r.nic[k] =
            odd[k % (sizeof(odd) - 1)];
    memcpy(rep.node, r.name, sizeof(rep.node));
    for (int from = 0; from < REPORT_FROMS; from++) {
        rep.from = (enum report_from)from;
        rep.seq = ++w->seq;
        rep.map.present = rep.map.leader = from == REPORT_MAPPERD;
        assert_int_equal(model_input(w->m, &rep, w->now, &err), 0);
    }
    restart(w, 0);
    i = model_host(w->m, r.name, 0);
    assert_non_null(i);
    assert_string_equal(i->peer, r.peer);
    assert_string_equal(i->evidence[REPORT_NICD].why, r.why);
    assert_string_equal(i->evidence[REPORT_LINKS].why, r.why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HEALTH_TEST(texts_that_json_quotes_are_saved),
        HEALTH_TEST(the_first_good_word_makes_healthy),
        HEALTH_TEST(down_comes_at_once_and_healthy_after_a_while),
        HEALTH_TEST(silence_becomes_unknown_never_healthy),
        HEALTH_TEST(who_is_silent_for_long_is_degraded_never_proven),
        HEALTH_TEST(time_that_nobody_listened_is_not_silence),
        HEALTH_TEST(a_reason_stays_with_its_state),
        HEALTH_TEST(one_silent_source_is_enough_for_unknown),
        HEALTH_TEST(hsnd_speaks_for_its_own_node_only),
        HEALTH_TEST(old_reports_are_refused),
        HEALTH_TEST(flapping_is_damped),
        HEALTH_TEST(short_faults_are_flapping_together),
        HEALTH_TEST(flapping_that_ends_down_is_down),
        HEALTH_TEST(degraded_needs_a_moment),
        HEALTH_TEST(names_and_boards_that_disagree_are_an_alarm_no_fault),
        HEALTH_TEST(a_node_is_as_its_worst_rail),
        HEALTH_TEST(counters_are_kept_and_their_names_shared),
        HEALTH_TEST(what_a_mapper_counts_is_left_out),
        HEALTH_TEST(the_model_survives_a_restart),
        HEALTH_TEST(a_restart_after_long_trusts_nothing),
        HEALTH_TEST(a_spoiled_state_file_is_refused_whole),
        HEALTH_TEST(what_nobody_speaks_of_is_forgotten),
        HEALTH_TEST(lost_reports_drain_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
