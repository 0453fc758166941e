/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counters of ports that rise too fast, the rules for them, and what is no
 * fault: resets, reloads, reboots, one burst, a counter that is full.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "by_chance.h"
#include "health/tally.h"

#define SEC 1000
#define ERRORS TALLY_SYMBOL_ERROR

static const struct tally_rule ten = {10, 1, TALLY_DEGRADE};

/* So many in a second, for so long. */
static uint64_t run(struct tally *t, const struct tally_rule *rule,
                    uint64_t value, uint64_t each, int seconds, int64_t *now)
{
    for (int i = 0; i < seconds; i++) {
        *now += SEC;
        value += each;
        tally_take(t, rule, value, false, false, *now);
    }
    return value;
}

static void a_rate_over_the_limit_is_told_with_it(void **state)
{
    struct tally t = {0};
    int64_t now = 0;
    char text[64];
    uint64_t v;

    v = run(&t, &ten, 1000, 0, 30, &now);
    assert_false(t.high);
    v = run(&t, &ten, v, 31, 20, &now);
    assert_true(t.high);
    tally_text(ERRORS, &t, &ten, text, sizeof(text));
    assert_string_equal(text, "symbol errors 31/s > 10/s");
    v = run(&t, &ten, v, 0, 60, &now);
    assert_false(t.high);
    (void)v;
}

static void a_rate_at_the_limit_is_none(void **state)
{
    struct tally t = {0};
    int64_t now = 0;

    run(&t, &ten, 0, 10, 300, &now);
    assert_false(t.high);
    run(&t, &ten, t.last, 11, 30, &now);
    assert_true(t.high);
}

/* It stays so until it is well for some windows: no coming and going. */
static void a_rate_near_the_limit_does_not_flutter(void **state)
{
    struct tally t = {0};
    int64_t now = 0;
    unsigned changes = 0;
    bool was = false;

    for (int i = 0; i < 3600; i++) {
        run(&t, &ten, t.last, i % 40 < 20 ? 13 : 8, 1, &now);
        changes += t.high != was;
        was = t.high;
    }
    assert_int_equal(changes, 1);
}

static void a_counter_that_begins_again_is_no_fault(void **state)
{
    struct tally t = {0};
    int64_t now = 0;

    run(&t, &ten, 5000000, 1, 30, &now);
    run(&t, &ten, 0, 1, 30, &now); /* the driver was loaded anew */
    assert_false(t.high);
    tally_take(&t, &ten, 900000, false, true, now += SEC); /* a reboot */
    assert_false(t.high);
    run(&t, &ten, 900000, 1, 30, &now);
    assert_false(t.high);
}

static void what_was_counted_before_we_looked_is_no_fault(void **state)
{
    struct tally t = {0};

    tally_take(&t, &ten, UINT64_MAX / 2, false, false, SEC);
    tally_take(&t, &ten, UINT64_MAX / 2, false, false, 20 * SEC);
    assert_false(t.high);
}

/* Full, a counter is blind: that is said, and nothing follows from it. */
static void a_full_counter_is_blind(void **state)
{
    struct tally t = {0};
    int64_t now = 0;
    char text[64];

    for (int i = 0; i < 100; i++)
        tally_take(&t, &ten, 65535, true, false, now += SEC);
    assert_true(t.blind);
    assert_false(t.high);
    tally_text(ERRORS, &t, &ten, text, sizeof(text));
    assert_string_equal(text, "symbol errors: counter is full");
    tally_take(&t, &ten, 0, false, false, now += SEC); /* cleared */
    assert_false(t.blind);
    run(&t, &ten, 0, 40, 20, &now);
    assert_true(t.high);
}

static void an_ignored_counter_is_never_high(void **state)
{
    static const struct tally_rule ignored = {10, 1, TALLY_IGNORE};
    struct tally t = {0};
    int64_t now = 0;

    run(&t, &ignored, 0, 100000, 60, &now);
    assert_false(t.high);
}

static void by_the_minute_and_by_the_hour(void **state)
{
    static const struct tally_rule minute = {5, 60, TALLY_DEGRADE},
                                   hour = {4, 3600, TALLY_SHOW};
    struct tally t = {0}, u = {0};
    int64_t now = 0;
    char text[64];

    tally_take(&t, &minute, 0, false, false, now);
    tally_take(&t, &minute, 5, false, false, now += SEC);
    assert_false(t.high);
    tally_take(&t, &minute, 6, false, false, now += SEC);
    assert_true(t.high);
    tally_text(TALLY_LINK_ERROR_RECOVERY, &t, &minute, text, sizeof(text));
    assert_string_equal(text, "link recoveries 6/min > 5/min");
    tally_take(&u, &hour, 0, false, false, now);
    for (int i = 1; i <= 4; i++)
        tally_take(&u, &hour, (uint64_t)i, false, false, now += 10 * SEC);
    assert_false(u.high);
    tally_take(&u, &hour, 5, false, false, now += 10 * SEC);
    assert_true(u.high);
}

/* ---- rules --------------------------------------------------------------- */

static int parse(struct tally_rules *r, const char *text, struct errbuf *err)
{
    tally_rules_default(r);
    return tally_lines_parse(r, tally_rule_read, "rules", text, strlen(text),
                             err);
}

static void no_counter_drains_by_default(void **state)
{
    struct tally_rules r;

    tally_rules_default(&r);
    for (int i = 0; i < TALLY_COUNTERS; i++)
        assert_int_not_equal(r.of[i].action, TALLY_DRAIN);
}

static void rules_are_read(void **state)
{
    struct tally_rules r;
    struct errbuf err;

    assert_int_equal(parse(&r,
                           "# what we have seen\n\n"
                           "symbol_error > 7/min drain # bad optics\n"
                           "port_xmit_discards > 0/s ignore",
                           &err),
                     0);
    assert_int_equal(r.of[ERRORS].limit, 7);
    assert_int_equal(r.of[ERRORS].per, 60);
    assert_int_equal(r.of[ERRORS].action, TALLY_DRAIN);
    assert_int_equal(r.of[TALLY_PORT_XMIT_DISCARDS].action, TALLY_IGNORE);
    assert_int_equal(r.of[TALLY_PORT_RCV_ERRORS].limit, 10);
}

static void wrong_rules_are_told_by_line(void **state)
{
    static const char *const wrong[] = {"\nsymbol_error > 10/s\n",
                                        "\nsymbol_error < 10/s drain\n",
                                        "\nsymbol_eror > 10/s drain\n",
                                        "\nsymbol_error > 10/y drain\n",
                                        "\nsymbol_error > -1/s drain\n",
                                        "\nsymbol_error > 10/s drainn\n",
                                        "\nsymbol_error > 99999999999/s show\n",
                                        "\nsymbol_error > 10/s show now\n"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct tally_rules r, was;
        struct errbuf err;

        tally_rules_default(&was);
        assert_int_equal(parse(&r, wrong[i], &err), -1);
        assert_memory_equal(err.text, "rules:2: ", 9);
        assert_memory_equal(&r, &was, sizeof(r));
    }
}

/* ---- a soak -------------------------------------------------------------- */

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return *seed >> 33;
}

/* Years of a port that is looked at every five seconds: noise of less than
 * half the limit, drivers loaded anew, reboots, looks that were lost, and now
 * and then a true fault, which is told once, and over after it is mended. */
static void soak(uint64_t seed)
{
    struct tally t = {0};
    int64_t now = 0, since = 0;
    uint64_t value = next(&seed), told = 0, faults = 0;
    bool faulty = false, was = false;

    for (uint32_t i = 0; i < 300000; i++) {
        bool anew = false;

        now += 5 * SEC;
        value += faulty ? 60 + next(&seed) % 400 : next(&seed) % 21;
        if (!faulty && now - since > 300 * SEC && next(&seed) % 2000 == 0) {
            faulty = true;
            since = now;
            faults++;
        } else if (faulty && now - since > 300 * SEC &&
                   next(&seed) % 100 == 0) {
            faulty = false;
            since = now;
        }
        if (next(&seed) % 1000 == 0)
            value = 0; /* a reset; 65535 and back is one as well */
        if (next(&seed) % 1000 == 0) {
            value = next(&seed);
            anew = true;
        } else if (next(&seed) % 50 == 0) {
            continue; /* no answer */
        }
        tally_take(&t, &ten, value, false, anew, now);
        told += t.high && !was;
        was = t.high;
        if (!faulty && now - since > 120 * SEC)
            assert_false(t.high);
        if (faulty && now - since > 120 * SEC)
            assert_true(t.high);
    }
    assert_true(faults > 20);
    assert_int_equal(told, faults - (faulty && !was));
}

static void a_soak_tells_each_true_fault_once(void **state)
{
    for (uint64_t seed = 1; seed <= 30; seed++)
        soak(seed);
}

/* ---- links that corrupt ---------------------------------------------------
 */

#define PACKETS 1000000 /* a second, what 100 Gb/s has of 8 KB and fewer */
#define BITS 65536      /* of a packet of 8 KB */

/* A port that is looked at each `pace` ms, clean at first for a time that the
 * seed says: ms until it is told that of a packet `part` is corrupted; -1: not
 * within `most` s. */
static int64_t seen_after(uint64_t seed, const struct tally_rule *rule,
                          double part, int64_t pace, int64_t most)
{
    struct tally t = {0};
    int64_t now = 0, began = (int64_t)(next(&seed) % 200) * SEC;
    uint64_t value = next(&seed);

    while (now < began + most * SEC) {
        now += pace;
        if (now > began)
            value +=
                by_chance_count(&seed, part * PACKETS * (double)pace / SEC);
        tally_take(&t, rule, value, false, false, now);
        if (t.high)
            return now - began;
    }
    return -1;
}

static void seen_within(const char *line, double part, int64_t pace,
                        int64_t most)
{
    struct tally_rules rules;
    int64_t worst = 0;

    tally_rules_default(&rules);
    assert_null(tally_rule_read(&rules, line));
    for (uint64_t seed = 1; seed <= 500; seed++) {
        int64_t ms = seen_after(seed, &rules.of[TALLY_PORT_RCV_ERRORS], part,
                                pace, most);

        assert_true(ms >= 0);
        worst = ms > worst ? ms : worst;
    }
    print_message("%g of the packets, %s: within %lld s\n", part,
                  *line ? line : "by default", (long long)(worst / SEC));
}

/* doc/health.md says these times.  nicd and mapperd look at counters each ten
 * seconds. */
static void corruption_is_seen_within_the_stated_time(void **state)
{
    seen_within("port_rcv_errors > 30/min degrade", 1e-6, 10 * SEC, 120);
    seen_within("port_rcv_errors > 30/min degrade", 1e-5, 10 * SEC, 30);
    seen_within("", 2e-5, 10 * SEC, 40);
    seen_within("", 1e-4, 10 * SEC, 20);
}

/* A link that breaks one bit in 10^12, which is what InfiniBand allows, all
 * day, with each second full of packets. */
static void a_clean_link_is_never_called_corrupting(void **state)
{
    static const struct tally_rule careful = {30, 60, TALLY_DEGRADE};

    for (uint64_t seed = 1; seed <= 100; seed++)
        assert_int_equal(
            seen_after(seed, &careful, 1e-12 * BITS, 10 * SEC, 86400), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rate_over_the_limit_is_told_with_it),
        cmocka_unit_test(a_rate_at_the_limit_is_none),
        cmocka_unit_test(a_rate_near_the_limit_does_not_flutter),
        cmocka_unit_test(a_counter_that_begins_again_is_no_fault),
        cmocka_unit_test(what_was_counted_before_we_looked_is_no_fault),
        cmocka_unit_test(a_full_counter_is_blind),
        cmocka_unit_test(an_ignored_counter_is_never_high),
        cmocka_unit_test(by_the_minute_and_by_the_hour),
        cmocka_unit_test(no_counter_drains_by_default),
        cmocka_unit_test(rules_are_read),
        cmocka_unit_test(wrong_rules_are_told_by_line),
        cmocka_unit_test(a_soak_tells_each_true_fault_once),
        cmocka_unit_test(corruption_is_seen_within_the_stated_time),
        cmocka_unit_test(a_clean_link_is_never_called_corrupting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
