/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What switchmgrd tells of changes: each of a few, many at once in few lines.
 * Lines of the log are counted, of a real model with thousands of items.
 */
#include "base/jsonx.h"
#include "captured_log.h"
#include "health_world.h"
#include "switchmgrd/collector.h"

#define HOSTS 4096
#define XBARS 512
#define LINKS 2048

/* Of the kinds of items, one each. */
#define LINES_FEW 3

static int64_t clock_now;

int64_t steady_now(void)
{
    return clock_now;
}

int64_t steady_wall(int64_t ms)
{
    return ms;
}

struct bed {
    struct collector n;
    struct captured_log log;
    uint64_t seq;
};

static void changed_item(const struct health_item *item, enum health_state was,
                         int64_t now, void *arg)
{
    collector_events_changed(arg, item, was, now);
}

static int bed_up(void **state)
{
    struct bed *b = calloc(1, sizeof(*b));
    struct model_ops ops = {
        .changed = changed_item, .alarm = collector_events_alarm, .arg = &b->n};
    struct model_conf conf;

    model_conf_defaults(&conf);
    conf.up_after = 0;
    clock_now = T0;
    b->n.events = calloc(SF_SWITCHMGR_EVENTS_MAX, sizeof(*b->n.events));
    b->n.model = model_new(&conf, &ops);
    captured_log_open(&b->log);
    *state = b;
    return 0;
}

static int bed_down(void **state)
{
    struct bed *b = *state;

    captured_log_close(&b->log);
    model_free(b->n.model);
    free(b->n.events);
    free(b->n.held);
    free(b);
    return 0;
}

/* The lines that the log has, and what is held, told. */
static size_t lines(struct bed *b)
{
    size_t n;

    collector_events_tell(&b->n, clock_now);
    n = captured_log_lines(&b->log, "\n");
    assert_int_equal(n, b->n.nevents);
    return n;
}

static const char *last(const struct bed *b)
{
    return b->n.events[(b->n.nevents - 1) % SF_SWITCHMGR_EVENTS_MAX].text;
}

static void let_pass(struct bed *b, int64_t ms)
{
    clock_now += ms;
    model_listens(b->n.model, clock_now);
    model_tick(b->n.model, clock_now);
}

/* ---- a mapper ------------------------------------------------------------ */

static void put(struct bed *b, struct report_record *records, size_t n,
                uint32_t part, uint32_t parts)
{
    struct report r = {.from = REPORT_MAPPERD,
                       .node = "n0",
                       .instance = 1,
                       .seq = ++b->seq,
                       .records = records,
                       .nrecords = n};
    struct errbuf err;

    r.map.present = r.map.leader = r.map.configured = true;
    r.map.version = 1;
    r.map.part = part;
    r.map.parts = parts;
    assert_int_equal(model_input(b->n.model, &r, clock_now, &err), 0);
}

static void name_it(struct report_record *r, size_t i)
{
    *r = (struct report_record){.kind = REPORT_HOST, .seen = SEEN_UP};
    if (i < HOSTS) {
        snprintf(r->name, sizeof(r->name), "n%zu", i);
    } else if (i < HOSTS + XBARS) {
        r->kind = REPORT_XBAR;
        snprintf(r->name, sizeof(r->name), "x%zu", i - HOSTS);
    } else {
        r->kind = REPORT_LINK;
        i -= HOSTS + XBARS;
        snprintf(r->name, sizeof(r->name), "x%zu:%zu", i % XBARS, i);
        snprintf(r->peer, sizeof(r->peer), "x%zu:%zu", (i + 1) % XBARS, i);
    }
}

static void tell_map(struct bed *b)
{
    static struct report_record records[SF_REPORT_RECORDS_MAX];
    size_t all = HOSTS + XBARS + LINKS, n = 0;
    uint32_t part = 0;

    for (size_t i = 0; i < all; i++) {
        name_it(&records[n++], i);
        if (n < SF_REPORT_RECORDS_MAX && i + 1 < all)
            continue;
        put(b, records, n, ++part,
            (uint32_t)((all + SF_REPORT_RECORDS_MAX - 1) /
                       SF_REPORT_RECORDS_MAX));
        n = 0;
    }
}

/* ---- the tests ----------------------------------------------------------- */

static void a_new_map_is_one_line_a_kind(void **state)
{
    struct bed *b = *state;

    tell_map(b);
    assert_in_range(lines(b), 1, LINES_FEW);
}

static void a_silent_mapper_is_one_line_a_kind(void **state)
{
    struct bed *b = *state;
    size_t before;

    tell_map(b);
    before = lines(b);
    let_pass(b, 16 * SEC);
    assert_int_equal(model_count(b->n.model, REPORT_HOST, HEALTH_UNKNOWN),
                     HOSTS);
    assert_in_range(lines(b) - before, 1, LINES_FEW);
    before = lines(b);
    put(b, NULL, 0, 0, 0);
    let_pass(b, 0);
    assert_int_equal(model_count(b->n.model, REPORT_HOST, HEALTH_HEALTHY),
                     HOSTS);
    assert_in_range(lines(b) - before, 1, LINES_FEW);
}

/* An hour of a mapper that is heard now and then. */
static void a_mapper_that_comes_and_goes_fills_no_log(void **state)
{
    struct bed *b = *state;

    tell_map(b);
    for (int i = 0; i < 180; i++) {
        let_pass(b, 16 * SEC);
        collector_events_tell(&b->n, clock_now);
        let_pass(b, 4 * SEC);
        put(b, NULL, 0, 0, 0);
        let_pass(b, 0);
    }
    assert_in_range(lines(b), 180, 181 * 2 * LINES_FEW);
}

static void one_line_has_how_many_and_the_first_names(void **state)
{
    struct bed *b = *state;

    tell_map(b);
    lines(b);
    assert_string_equal(
        b->n.events[0].text,
        "host n0 rail 0: unknown -> healthy (mapperd), n1 rail 0, n2 rail 0, "
        "and 4093 more: 4096");
}

static void says(struct bed *b, int i, enum report_seen seen)
{
    assert_int_equal(hsnd_says(b->n.model, ++b->seq, i, seen, "", clock_now),
                     0);
}

static void each_of_a_few_has_its_line(void **state)
{
    struct bed *b = *state;
    size_t before;

    tell_map(b);
    before = lines(b);
    for (unsigned i = 0; i < 8; i++)
        says(b, (int)i, SEEN_DOWN);
    assert_int_equal(lines(b) - before, 8);
    assert_string_equal(last(b), "host n7 rail 0: healthy -> down (hsnd)");
    clock_now += SEC;
    says(b, 3, SEEN_UP);
    assert_int_equal(lines(b) - before, 9);
}

/* What is another change than that of the many is not lost among them. */
static void one_fault_among_many_changes_is_told_by_name(void **state)
{
    struct bed *b = *state;
    bool told = false;

    tell_map(b);
    lines(b);
    clock_now += 16 * SEC;
    says(b, 77, SEEN_DOWN);
    let_pass(b, 0);
    lines(b);
    for (size_t i = 0; i < b->n.nevents; i++)
        told |= strcmp(b->n.events[i].text,
                       "host n77 rail 0: healthy -> down (hsnd)") == 0;
    assert_true(told);
}

/* One after the other, ten a second, for an hour. */
static void many_single_changes_are_two_lines_a_second_at_most(void **state)
{
    struct bed *b = *state;
    size_t before;

    tell_map(b);
    before = lines(b);
    for (int i = 0; i < 36000; i++) {
        clock_now += 100;
        says(b, 5, i % 2 ? SEEN_UP : SEEN_DOWN);
        says(b, (int)(i % HOSTS), i % 3 ? SEEN_UP : SEEN_DOWN);
        collector_events_tell(&b->n, clock_now);
    }
    assert_in_range(lines(b) - before, 1, 2 * 3600 + 200);
}

static void many_alarms_are_two_lines_a_second_at_most(void **state)
{
    struct bed *b = *state;
    char text[64];

    for (int i = 0; i < 100000; i++) {
        snprintf(text, sizeof(text), "report of n%d refused", i);
        collector_events_alarm(text, clock_now, &b->n);
    }
    assert_in_range(lines(b), 1, 200);
    clock_now += 60 * SEC;
    lines(b);
    assert_non_null(strstr(last(b), " more, the last: report of n99999 "));
}

static void the_same_alarm_is_one_line_a_minute(void **state)
{
    struct bed *b = *state;

    for (int i = 0; i < 1000; i++)
        collector_events_alarm("two mappers say they lead", clock_now, &b->n);
    assert_int_equal(lines(b), 1);
    assert_string_equal(last(b), "alarm: two mappers say they lead");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, bed_up, bed_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(a_new_map_is_one_line_a_kind),
        TEST(a_silent_mapper_is_one_line_a_kind),
        TEST(a_mapper_that_comes_and_goes_fills_no_log),
        TEST(one_line_has_how_many_and_the_first_names),
        TEST(each_of_a_few_has_its_line),
        TEST(one_fault_among_many_changes_is_told_by_name),
        TEST(many_single_changes_are_two_lines_a_second_at_most),
        TEST(many_alarms_are_two_lines_a_second_at_most),
        TEST(the_same_alarm_is_one_line_a_minute),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
