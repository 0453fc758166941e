/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ports of a node's NICs as nicd judges them: links, devices that vanish,
 * width and speed, counters, flaps; what is no fault; and what sysfs says of
 * them, read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "health/nic.h"
#include "health/nic_text.h"

#define SEC 1000

struct world {
    struct nics *nics;
    struct nic_rules rules;
    struct nic_port port[4];
    size_t n;
    int64_t now;
    struct report_record r[NIC_RECORDS_MAX];
    size_t told;
    bool changed;
};

static struct nic_port port(const char *name, uint64_t board)
{
    struct nic_port p = {
        .board = board, .link = NIC_UP, .mbps = 100000, .lanes = 4};

    snprintf(p.name, sizeof(p.name), "%s", name);
    snprintf(p.model, sizeof(p.model), "MT4123");
    snprintf(p.says, sizeof(p.says), "ACTIVE");
    return p;
}

static int up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    nic_rules_default(&w->rules);
    w->port[0] = port("mlx5_0/1", 0x10);
    w->port[1] = port("mlx5_1/1", 0x20);
    w->n = 2;
    w->now = 5 * SEC;
    *state = w;
    return 0;
}

static int down(void **state)
{
    struct world *w = *state;

    nics_free(w->nics);
    free(w);
    return 0;
}

static void look(struct world *w)
{
    if (!w->nics)
        assert_non_null(w->nics = nics_new(&w->rules));
    w->now += SEC;
    assert_true(nics_look(w->nics, w->port, w->n, w->now));
    w->told = nics_records(w->nics, "n1", 0, w->r, &w->changed, w->now);
}

static void looks(struct world *w, int n)
{
    while (n-- > 0)
        look(w);
}

static void is_told(const struct world *w, size_t i, enum report_seen seen,
                    const char *why)
{
    assert_true(i < w->told);
    assert_string_equal(w->r[i].why, why);
    assert_int_equal(w->r[i].seen, seen);
}

static void set_link(struct nic_port *p, enum nic_link link, const char *says)
{
    p->link = link;
    snprintf(p->says, sizeof(p->says), "%s", says);
}

/* ---- links and devices --------------------------------------------------- */

static void a_port_is_a_rail_of_its_node(void **state)
{
    struct world *w = *state;

    look(w);
    assert_int_equal(w->told, 2);
    assert_true(w->changed);
    for (size_t i = 0; i < 2; i++) {
        is_told(w, i, SEEN_UP, "");
        assert_int_equal(w->r[i].kind, REPORT_HOST);
        assert_int_equal(w->r[i].rail, i);
        assert_string_equal(w->r[i].name, "n1");
        assert_int_equal(w->r[i].mbps, 100000);
    }
    assert_string_equal(w->r[1].nic, "MT4123 mlx5_1/1");
    assert_int_equal(w->r[1].board, 0x20);
    look(w);
    assert_false(w->changed);
}

static void a_lost_link_is_told_at_once_and_over_at_once(void **state)
{
    struct world *w = *state;

    look(w);
    set_link(&w->port[1], NIC_DOWN, "Polling");
    look(w);
    assert_true(w->changed);
    is_told(w, 1, SEEN_DOWN, "mlx5_1/1 no link: Polling");
    assert_false(w->r[1].never);
    is_told(w, 0, SEEN_UP, "");
    set_link(&w->port[1], NIC_INIT, "INIT");
    look(w);
    is_told(w, 1, SEEN_DOWN, "mlx5_1/1 is INIT: no subnet manager");
    set_link(&w->port[1], NIC_UP, "ACTIVE");
    look(w);
    is_told(w, 1, SEEN_UP, "");
    assert_int_equal(w->r[1].count, 1);
}

/* After a start a link takes a moment; after that it is down, and was never
 * up as far as nicd knows. */
static void a_port_without_a_link_from_the_start_waits(void **state)
{
    struct world *w = *state;

    set_link(&w->port[0], NIC_DOWN, "Polling");
    looks(w, 30);
    is_told(w, 0, SEEN_UNKNOWN, "mlx5_0/1 has no link yet");
    looks(w, 40);
    is_told(w, 0, SEEN_DOWN, "mlx5_0/1 no link: Polling");
    assert_true(w->r[0].never);
    set_link(&w->port[0], NIC_UP, "ACTIVE");
    look(w);
    is_told(w, 0, SEEN_UP, "");
    assert_false(w->r[0].never);
    assert_int_equal(w->r[0].count, 0);
}

static void a_device_that_is_away_has_not_vanished_yet(void **state)
{
    struct world *w = *state;

    look(w);
    w->n = 1;
    looks(w, 2);
    is_told(w, 1, SEEN_UP, "");
    look(w);
    is_told(w, 1, SEEN_DEGRADED, "mlx5_1/1 is not there");
    looks(w, 30);
    is_told(w, 1, SEEN_DOWN, "mlx5_1/1 vanished");
    w->n = 2;
    look(w);
    is_told(w, 1, SEEN_UP, "");
    assert_int_equal(w->r[1].rail, 1);
}

/* A driver that is loaded again: counters begin anew, or go on elsewhere; the
 * device was away for some seconds. */
static void a_driver_loaded_again_is_no_fault(void **state)
{
    struct world *w = *state;
    struct nic_port *p = &w->port[0];

    p->has = 1u << TALLY_SYMBOL_ERROR;
    p->has_downs = true;
    for (int i = 0; i < 300; i++) {
        w->n = i % 100 > 90 ? 0 : 2;
        p->value[TALLY_SYMBOL_ERROR] = i < 100 ? 50000u : i < 200 ? 3 : 60000;
        p->downs = i < 100 ? 200 : i < 200 ? 1 : 250;
        look(w);
        if (w->n == 2)
            is_told(w, 0, SEEN_UP, "");
        assert_int_not_equal(w->r[0].seen, SEEN_DOWN);
        assert_int_equal(w->r[0].count, 0);
    }
}

static void a_lack_of_verbs_is_degraded(void **state)
{
    struct world *w = *state;

    w->port[0].no_verbs = true;
    look(w);
    is_told(w, 0, SEEN_DEGRADED, "mlx5_0/1 has no uverbs device");
}

static void fewer_lanes_and_less_speed_are_degraded(void **state)
{
    struct world *w = *state;

    look(w);
    w->port[0].lanes = 1;
    w->port[0].mbps = 25000;
    w->port[1].mbps = 2500;
    look(w);
    is_told(w, 0, SEEN_DEGRADED, "mlx5_0/1 runs 1x of 4x");
    is_told(w, 1, SEEN_DEGRADED, "mlx5_1/1 runs 2500 Mb/s of 100 Gb/s");
    w->port[0] = port("mlx5_0/1", 0x10);
    look(w);
    is_told(w, 0, SEEN_UP, "");
}

/* ---- counters ------------------------------------------------------------ */

static void errors(struct world *w, uint64_t each, int seconds)
{
    w->port[0].has = 1u << TALLY_SYMBOL_ERROR;
    for (int i = 0; i < seconds; i++) {
        w->port[0].value[TALLY_SYMBOL_ERROR] += each;
        look(w);
    }
}

static void a_rate_of_errors_is_told_with_its_limit(void **state)
{
    struct world *w = *state;

    errors(w, 31, 20);
    is_told(w, 0, SEEN_DEGRADED, "mlx5_0/1 symbol errors 31/s > 10/s");
    errors(w, 0, 60);
    is_told(w, 0, SEEN_UP, "");
}

static void each_rule_is_done(void **state)
{
    static const struct {
        const char *action;
        enum report_seen seen;
        bool told;
    } each[] = {{"ignore", SEEN_UP, false},
                {"show", SEEN_UP, true},
                {"degrade", SEEN_DEGRADED, true},
                {"drain", SEEN_DOWN, true}};
    struct world *w = *state;
    struct errbuf err;
    char text[128];

    for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
        int len = snprintf(text, sizeof(text),
                           "symbol_error > 10/s %s\ndown %s # ports\n"
                           "slow %s\n",
                           each[i].action, each[i].action, each[i].action);

        nic_rules_default(&w->rules);
        assert_int_equal(
            nic_rules_parse(&w->rules, "rules", text, (size_t)len, &err), 0);
        nics_free(w->nics);
        w->nics = NULL;
        w->port[1] = port("mlx5_1/1", 0x20);
        errors(w, 31, 20);
        is_told(w, 0, each[i].seen,
                each[i].told ? "mlx5_0/1 symbol errors 31/s > 10/s" : "");
        w->port[1].lanes = 1;
        look(w);
        is_told(w, 1, each[i].seen,
                each[i].told ? "mlx5_1/1 runs 1x of 4x" : "");
        set_link(&w->port[1], NIC_DOWN, "Polling");
        look(w);
        is_told(w, 1, each[i].seen,
                each[i].told ? "mlx5_1/1 no link: Polling" : "");
    }
}

static void wrong_rules_are_told_by_line(void **state)
{
    static const char *const wrong[] = {"\ndown", "\ndown drai",
                                        "\ndown drain now", "\ndonw drain",
                                        "\nslow > 10/s drain"};
    struct world *w = *state;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct nic_rules was = w->rules;
        struct errbuf err;

        assert_int_equal(nic_rules_parse(&w->rules, "rules", wrong[i],
                                         strlen(wrong[i]), &err),
                         -1);
        assert_memory_equal(err.text, "rules:2: ", 9);
        assert_memory_equal(&was, &w->rules, sizeof(was));
    }
}

/* By default a node is drained for what is down or gone, and no counter. */
static void nothing_but_down_and_vanished_drains_by_default(void **state)
{
    struct world *w = *state;

    for (int i = 0; i < TALLY_COUNTERS; i++)
        assert_int_not_equal(w->rules.counters.of[i].action, TALLY_DRAIN);
    for (int i = 0; i < NIC_FAULTS; i++)
        assert_int_equal(w->rules.fault[i] == TALLY_DRAIN,
                         i == NIC_IS_DOWN || i == NIC_VANISHED);
}

/* Ten times a second: no look sees it, the carrier's own counter does; what
 * both see is one. */
static void flaps_between_two_looks_are_counted(void **state)
{
    struct world *w = *state;
    struct nic_port *p = &w->port[0];

    p->has_downs = true;
    p->downs = 7;
    looks(w, 3);
    assert_int_equal(w->r[0].count, 0);
    p->downs += 10;
    look(w);
    assert_int_equal(w->r[0].count, 10);
    set_link(p, NIC_DOWN, "Polling");
    p->has_downs = false; /* it is not read at this look */
    look(w);
    assert_int_equal(w->r[0].count, 11);
    set_link(p, NIC_UP, "ACTIVE");
    p->has_downs = true;
    p->downs += 1;
    look(w);
    assert_int_equal(w->r[0].count, 11);
}

/* ---- who is who ---------------------------------------------------------- */

static void a_board_that_two_ports_have_is_not_told(void **state)
{
    struct world *w = *state;

    w->port[1].board = w->port[0].board; /* of one bond */
    look(w);
    assert_int_equal(w->r[0].board, 0);
    assert_int_equal(w->r[1].board, 0);
}

static void what_is_left_out_is_told_as_such(void **state)
{
    struct world *w = *state;

    w->port[0].out = true;
    look(w);
    assert_int_equal(w->told, 2);
    assert_true(w->r[0].out);
    assert_false(w->r[1].out);
    assert_int_equal(w->r[1].rail, 0);
}

static void names_of_strangers_make_a_report_that_is_taken(void **state)
{
    struct world *w = *state;
    struct report rep = {.from = REPORT_NICD,
                         .node = "n1",
                         .instance = 1,
                         .seq = 1,
                         .records = w->r},
                  back;
    struct errbuf err;
    char *text;

    memset(w->port[0].name, 0xfe, sizeof(w->port[0].name) - 1);
    memset(w->port[0].model, '"', sizeof(w->port[0].model) - 1);
    memset(w->port[0].says, '\n', sizeof(w->port[0].says) - 1);
    look(w);
    w->port[0].link = NIC_DOWN;
    look(w);
    rep.nrecords = w->told;
    assert_non_null(text = report_encode(&rep, &err));
    assert_int_equal(report_decode(&back, text, strlen(text), &err), 0);
    assert_int_equal(back.nrecords, 2);
    assert_string_equal(back.records[0].nic, w->r[0].nic);
    assert_int_equal(back.records[0].seen, SEEN_DOWN);
    assert_int_equal(back.records[1].mbps, 100000);
    report_free(&back);
    free(text);
}

static void more_ports_than_rails_are_counted(void **state)
{
    struct world *w = *state;
    struct nic_port many[SF_NIC_PORTS_MAX + 1];
    struct report_record r[NIC_RECORDS_MAX];
    char name[16];

    for (int i = 0; i <= SF_NIC_PORTS_MAX; i++) {
        snprintf(name, sizeof(name), "mlx5_%d/1", i);
        many[i] = port(name, (uint64_t)i + 1);
    }
    assert_non_null(w->nics = nics_new(&w->rules));
    assert_true(nics_look(w->nics, many, SF_NIC_PORTS_MAX, SEC));
    assert_int_equal(nics_records(w->nics, "n1", 2, r, &w->changed, SEC),
                     SF_ELAN_RAILS_MAX - 2);
    assert_int_equal(nics_untold(w->nics),
                     SF_NIC_PORTS_MAX - SF_ELAN_RAILS_MAX + 2);
    assert_false(nics_look(w->nics, many, SF_NIC_PORTS_MAX + 1, 2 * SEC));
}

/* ---- what sysfs says ----------------------------------------------------- */

static void states_are_read(void **state)
{
    static const struct {
        const char *state, *phys;
        enum nic_link link;
        const char *says;
    } each[] = {
        {"4: ACTIVE", "5: LinkUp", NIC_UP, "ACTIVE"},
        {"5: ACTIVE_DEFER", "5: LinkUp", NIC_UP, "ACTIVE_DEFER"},
        {"2: INIT", "5: LinkUp", NIC_INIT, "INIT"},
        {"3: ARMED", "5: LinkUp", NIC_INIT, "ARMED"},
        {"1: DOWN", "2: Polling", NIC_DOWN, "Polling"},
        {"1: DOWN", "3: Disabled", NIC_DOWN, "Disabled"},
        {"4: ACTIVE", "6: LinkErrorRecovery", NIC_DOWN, "LinkErrorRecovery"},
        {"1: DOWN", "5: LinkUp", NIC_DOWN, "DOWN"}};
    static const char *const wrong[] = {
        "", "4", "4:", "ACTIVE", "44: ACTIVE", "-4: ACTIVE"};
    struct nic_port p;

    for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
        memset(&p, 0, sizeof(p));
        assert_true(nic_text_link(each[i].state, each[i].phys, &p));
        assert_int_equal(p.link, each[i].link);
        assert_string_equal(p.says, each[i].says);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_false(nic_text_link(wrong[i], "5: LinkUp", &p));
        assert_false(nic_text_link("4: ACTIVE", wrong[i], &p));
    }
}

static void rates_are_read(void **state)
{
    static const struct {
        const char *text;
        uint32_t mbps;
        uint8_t lanes;
    } each[] = {{"100 Gb/sec (4X EDR)", 100000, 4},
                {"2.5 Gb/sec (1X SDR)", 2500, 1},
                {"400 Gb/sec (4X NDR)", 400000, 4},
                {"40 Gb/sec (12X)", 40000, 12},
                {"100 Gb/sec", 100000, 0},
                {"", 0, 0},
                {"-5 Gb/sec (4X)", 0, 0},
                {"99999999999 Gb/sec (999X)", 0, 0},
                {"fast", 0, 0}};

    for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
        struct nic_port p = {.mbps = 0};

        nic_text_rate(each[i].text, &p);
        assert_int_equal(p.mbps, each[i].mbps);
        assert_int_equal(p.lanes, each[i].lanes);
    }
}

static void addresses_are_read(void **state)
{
    assert_true(nic_text_gid("fe80:0000:0000:0000:0002:c903:00a1:b2c3") ==
                0x0002c90300a1b2c3);
    assert_true(nic_text_gid("fe80:0000:0000:0000:0002:c903:00a1") == 0);
    assert_true(nic_text_gid("") == 0);
    assert_true(nic_text_mac("0c:42:a1:00:00:01") == 0x0c42a1000001);
    assert_true(nic_text_mac("0c:42:a1:00:00:01:02") == 0);
    assert_true(nic_text_mac("0c:42:a1") == 0);
}

static void counters_are_read_with_where_they_end(void **state)
{
    struct nic_port p = {.has = 0};

    nic_text_counter(TALLY_SYMBOL_ERROR, "4711", &p);
    nic_text_counter(TALLY_LINK_DOWNED, "255", &p);
    nic_text_counter(TALLY_PORT_RCV_ERRORS, "-1", &p);
    nic_text_counter(TALLY_PORT_XMIT_DISCARDS, "N/A (no PMA)", &p);
    nic_text_counter(TALLY_ROCE_SLOW_RESTART, "65535", &p);
    assert_int_equal(p.has, 1u << TALLY_SYMBOL_ERROR | 1u << TALLY_LINK_DOWNED |
                                1u << TALLY_ROCE_SLOW_RESTART);
    assert_int_equal(p.full, 1u << TALLY_LINK_DOWNED);
    assert_int_equal(p.value[TALLY_SYMBOL_ERROR], 4711);
}

/* ---- a soak -------------------------------------------------------------- */

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return *seed >> 33;
}

/* What happens to a port beside faults: drivers loaded again, counters that
 * begin anew, noise, a look that finds nothing, nicd started again; now and
 * then the cable is pulled.  Down is told for that alone, and each time. */
static void soak(uint64_t seed)
{
    struct world *w = NULL;
    void *state = NULL;
    int pulled = 0, away = 0, faults = 0, told = 0;
    bool was_down = false;

    up(&state);
    w = state;
    w->n = 1;
    w->port[0].has = 1u << TALLY_SYMBOL_ERROR | 1u << TALLY_PORT_RCV_ERRORS;
    looks(w, 5);
    for (int i = 0; i < 100000; i++) {
        struct nic_port *p = &w->port[0];

        if (pulled == 0 && away == 0 && next(&seed) % 3000 == 0) {
            pulled = 20 + (int)(next(&seed) % 300);
            faults++;
        } else if (pulled == 0 && away == 0 && next(&seed) % 1000 == 0) {
            away = 2 + (int)(next(&seed) % 27); /* shorter than vanish_ms */
        }
        if (away > 0 && --away == 0 && next(&seed) % 2)
            p->value[TALLY_SYMBOL_ERROR] = next(&seed) % 60000;
        pulled -= pulled > 0;
        w->n = away == 0;
        set_link(p, pulled ? NIC_DOWN : NIC_UP, pulled ? "Polling" : "ACTIVE");
        p->value[TALLY_SYMBOL_ERROR] += next(&seed) % 4;
        if (next(&seed) % 2000 == 0)
            p->value[TALLY_PORT_RCV_ERRORS] = 0;
        if (next(&seed) % 5000 == 0 && pulled == 0 && away == 0) {
            nics_free(w->nics);
            w->nics = NULL;
        }
        look(w);
        if (w->told == 0)
            continue;
        assert_int_equal(w->r[0].seen == SEEN_DOWN, pulled > 0);
        told += w->r[0].seen == SEEN_DOWN && !was_down;
        was_down = w->r[0].seen == SEEN_DOWN;
        if (away == 0 && pulled == 0)
            is_told(w, 0, SEEN_UP, "");
    }
    assert_int_equal(told, faults);
    assert_true(faults > 10);
    down(&state);
}

static void a_soak_tells_each_pulled_cable_once_and_nothing_else(void **state)
{
    for (uint64_t seed = 1; seed <= 20; seed++)
        soak(seed);
}

#define NIC_TEST(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        NIC_TEST(a_port_is_a_rail_of_its_node),
        NIC_TEST(a_lost_link_is_told_at_once_and_over_at_once),
        NIC_TEST(a_port_without_a_link_from_the_start_waits),
        NIC_TEST(a_device_that_is_away_has_not_vanished_yet),
        NIC_TEST(a_driver_loaded_again_is_no_fault),
        NIC_TEST(a_lack_of_verbs_is_degraded),
        NIC_TEST(fewer_lanes_and_less_speed_are_degraded),
        NIC_TEST(a_rate_of_errors_is_told_with_its_limit),
        NIC_TEST(each_rule_is_done),
        NIC_TEST(wrong_rules_are_told_by_line),
        NIC_TEST(nothing_but_down_and_vanished_drains_by_default),
        NIC_TEST(flaps_between_two_looks_are_counted),
        NIC_TEST(a_board_that_two_ports_have_is_not_told),
        NIC_TEST(what_is_left_out_is_told_as_such),
        NIC_TEST(names_of_strangers_make_a_report_that_is_taken),
        NIC_TEST(more_ports_than_rails_are_counted),
        NIC_TEST(states_are_read),
        NIC_TEST(rates_are_read),
        NIC_TEST(addresses_are_read),
        NIC_TEST(counters_are_read_with_where_they_end),
        NIC_TEST(a_soak_tells_each_pulled_cable_once_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
