/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cables of InfiniBand: what both ends say of them, sweep by sweep, and which
 * records that makes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mapperd/ib_watch.h"

#define LEAF 0x1001
#define SPINE 0x2001

static const struct smp_port_info active = {
    .state = SMP_ACTIVE,
    .physical = SMP_LINK_UP,
    .now = {.width = 4},
    .enabled = {.width = 4},
    .supported = {.width = 4},
};
static const struct smp_port_info polling = {.state = SMP_DOWN, .physical = 2};
static const struct smp_port_info init = {
    .state = SMP_INIT,
    .physical = SMP_LINK_UP,
    .now = {.width = 4},
    .enabled = {.width = 4},
    .supported = {.width = 4},
};

static struct ib_end leaf(uint8_t port)
{
    return (struct ib_end){.guid = LEAF, .port = port, .name = "leaf0"};
}

static struct ib_end spine(uint8_t port)
{
    return (struct ib_end){.guid = SPINE, .port = port, .name = "spine0"};
}

static struct ib_end host(uint64_t guid, uint8_t rail, const char *name)
{
    struct ib_end e = {.guid = guid, .port = 1, .host = true, .rail = rail};

    strcpy(e.name, name);
    return e;
}

static void plug(struct ib_watch *w, struct ib_end a, struct ib_end b)
{
    assert_true(ib_watch_cable(w, &a, &b));
}

static struct pma_counters counted; /* by errors(), so far */

/* n0 and two rails of n1 on a leaf, which has one cable to a spine. */
static struct ib_watch *world(void)
{
    struct ib_watch *w = ib_watch_new();

    assert_non_null(w);
    memset(&counted, 0, sizeof(counted));
    plug(w, host(0x10, 0, "n0"), leaf(1));
    plug(w, host(0x20, 0, "n1"), leaf(2));
    plug(w, leaf(3), host(0x30, 1, "n1"));
    plug(w, leaf(8), spine(1));
    return w;
}

struct said {
    uint64_t guid;
    uint8_t port;
    const struct smp_port_info *info; /* NULL: it does not answer */
};

static const struct said well[] = {{LEAF, 1, &active},  {LEAF, 2, &active},
                                   {LEAF, 3, &active},  {LEAF, 8, &active},
                                   {SPINE, 1, &active}, {0x10, 1, &active},
                                   {0x20, 1, &active},  {0x30, 1, &active}};
#define NWELL (sizeof(well) / sizeof(well[0]))

/* All is well, but for these. */
static void sweep(struct ib_watch *w, const struct said *but, size_t n)
{
    ib_watch_begin(w);
    for (size_t i = 0; i < NWELL; i++) {
        const struct smp_port_info *info = well[i].info;

        for (size_t k = 0; k < n; k++)
            if (but[k].guid == well[i].guid && but[k].port == well[i].port)
                info = but[k].info;
        if (info)
            ib_watch_port(w, well[i].guid, well[i].port, info);
    }
    ib_watch_end(w);
}

static struct report_record *found;

static struct report_record record(struct ib_watch *w, enum report_kind kind,
                                   const char *name, uint8_t rail)
{
    struct report_record none = {.seen = SEEN_UNKNOWN};
    uint64_t version;
    size_t n;

    free(found);
    found = ib_watch_records(w, &n, &version);
    assert_non_null(found);
    for (size_t i = 0; i < n; i++)
        if (found[i].kind == kind && found[i].rail == rail &&
            strcmp(found[i].name, name) == 0)
            return found[i];
    fail_msg("no record of %s", name);
    return none;
}

static void expect(struct ib_watch *w, enum report_kind kind, const char *name,
                   uint8_t rail, enum report_seen seen, const char *why)
{
    struct report_record r = record(w, kind, name, rail);

    assert_string_equal(r.why, why);
    assert_int_equal(r.seen, seen);
}

static void end(struct ib_watch *w)
{
    free(found);
    found = NULL;
    ib_watch_free(w);
}

static void what_is_well_is_up(void **state)
{
    struct ib_watch *w = world();
    struct report_record r;

    sweep(w, NULL, 0);
    expect(w, REPORT_HOST, "n0", 0, SEEN_UP, "");
    expect(w, REPORT_HOST, "n1", 1, SEEN_UP, "");
    expect(w, REPORT_XBAR, "leaf0", 0, SEEN_UP, "");
    r = record(w, REPORT_LINK, "leaf0:8", 0);
    assert_string_equal(r.peer, "spine0:1");
    assert_int_equal(r.seen, SEEN_UP);
    r = record(w, REPORT_HOST, "n1", 1);
    assert_string_equal(r.peer, "leaf0:3");
    assert_int_equal(r.board, 0x30);
    end(w);
}

/* By the switch's end: the host behind it cannot be asked any more. */
static void a_pulled_cable_is_named_by_the_switchs_end(void **state)
{
    static const struct said pulled[] = {{LEAF, 3, &polling}, {0x30, 1, NULL}};
    struct ib_watch *w = world();

    sweep(w, NULL, 0);
    sweep(w, pulled, 2);
    expect(w, REPORT_HOST, "n1", 1, SEEN_DOWN, "no link at leaf0:3: Polling");
    expect(w, REPORT_HOST, "n1", 0, SEEN_UP, "");
    sweep(w, NULL, 0);
    expect(w, REPORT_HOST, "n1", 1, SEEN_UP, "");
    end(w);
}

static void init_and_armed_are_not_up(void **state)
{
    struct smp_port_info armed = init;
    struct said here[] = {{LEAF, 1, &init}, {0x10, 1, &init}};
    struct ib_watch *w = world();

    sweep(w, here, 2);
    expect(w, REPORT_HOST, "n0", 0, SEEN_DOWN,
           "leaf0:1 is INIT: no subnet manager");
    armed.state = SMP_ARMED;
    here[0].info = &active;
    here[1].info = &armed;
    sweep(w, here, 2);
    expect(w, REPORT_HOST, "n0", 0, SEEN_DOWN,
           "n0:1 is ARMED: no subnet manager");
    end(w);
}

/* A lost answer is no fault; three in a row are told, and no drain. */
static void one_silent_sweep_is_nothing(void **state)
{
    static const struct said mute[] = {{0x10, 1, NULL}};
    struct ib_watch *w = world();

    sweep(w, NULL, 0);
    for (int i = 1; i < IB_WATCH_SILENT; i++) {
        sweep(w, mute, 1);
        expect(w, REPORT_HOST, "n0", 0, SEEN_UP, "");
    }
    sweep(w, mute, 1);
    expect(w, REPORT_HOST, "n0", 0, SEEN_DEGRADED, "n0:1 answers no question");
    sweep(w, NULL, 0);
    expect(w, REPORT_HOST, "n0", 0, SEEN_UP, "");
    end(w);
}

static void a_dead_switch_takes_its_hosts_along(void **state)
{
    static const struct said dead[] = {{LEAF, 1, NULL},      {LEAF, 2, NULL},
                                       {LEAF, 3, NULL},      {LEAF, 8, NULL},
                                       {SPINE, 1, &polling}, {0x10, 1, NULL},
                                       {0x20, 1, NULL},      {0x30, 1, NULL}};
    struct ib_watch *w = world();

    sweep(w, NULL, 0);
    for (int i = 0; i < IB_WATCH_SILENT; i++)
        sweep(w, dead, 8);
    expect(w, REPORT_XBAR, "leaf0", 0, SEEN_DOWN, "answers no question");
    expect(w, REPORT_XBAR, "spine0", 0, SEEN_UP, "");
    expect(w, REPORT_HOST, "n0", 0, SEEN_DOWN, "leaf0:1 is out of reach");
    expect(w, REPORT_LINK, "leaf0:8", 0, SEEN_DOWN,
           "no link at spine0:1: Polling");
    end(w);
}

/* Who was plugged elsewhere is not missed where it was. */
static void a_cable_that_is_moved_is_not_missed(void **state)
{
    static const struct said moved[] = {{LEAF, 1, &polling}};
    struct ib_watch *w = world();
    struct report_record r;

    sweep(w, NULL, 0);
    plug(w, leaf(4), host(0x10, 0, "n0"));
    sweep(w, moved, 1);
    ib_watch_begin(w);
    ib_watch_port(w, LEAF, 4, &active);
    ib_watch_port(w, 0x10, 1, &active);
    ib_watch_end(w);
    r = record(w, REPORT_HOST, "n0", 0);
    assert_string_equal(r.peer, "leaf0:4");
    assert_int_equal(r.seen, SEEN_UP);
    end(w);
}

static void each_port_keeps_its_rail(void **state)
{
    struct ib_watch *w = world();

    assert_int_equal(ib_watch_rail(w, 0x20, 1), 0);
    assert_int_equal(ib_watch_rail(w, 0x30, 1), 1);
    assert_int_equal(ib_watch_rail(w, LEAF, 1), -1);
    assert_int_equal(ib_watch_rail(w, 0x40, 1), -1);
    assert_int_equal(ib_watch_free_rail(w, "n1", 0), 2);
    assert_int_equal(ib_watch_free_rail(w, "n7", 0), 0);
    assert_int_equal(ib_watch_free_rail(w, "n7", 1), 1);
    plug(w, leaf(2), host(0x50, 2, "n1")); /* another adapter in its place */
    assert_int_equal(ib_watch_free_rail(w, "n1", 1), 3);
    end(w);
}

static void the_version_rises_when_something_changes(void **state)
{
    static const struct said pulled[] = {{LEAF, 3, &polling}};
    struct ib_watch *w = world();
    uint64_t first, second;
    size_t n;

    sweep(w, NULL, 0);
    free(ib_watch_records(w, &n, &first));
    assert_int_equal(n, 2 + 4);
    sweep(w, NULL, 0);
    free(ib_watch_records(w, &n, &second));
    assert_int_equal(first, second);
    sweep(w, pulled, 1);
    free(ib_watch_records(w, &n, &second));
    assert_int_equal(first + 1, second);
    end(w);
}

static void fewer_lanes_than_both_ends_can_is_degraded(void **state)
{
    struct smp_port_info one = active, slow = active, both = active;
    const struct said narrow[] = {{LEAF, 1, &one}, {0x10, 1, &one}};
    const struct said lame[] = {{LEAF, 1, &slow}, {0x10, 1, &both}};
    const struct said small[] = {{LEAF, 1, &one}, {0x10, 1, &slow}};
    struct ib_watch *w = world();

    one.now.width = 1;
    sweep(w, narrow, 2);
    expect(w, REPORT_HOST, "n0", 0, SEEN_DEGRADED, "leaf0:1 runs 1x of 4x");
    slow.now.speed = 258;
    slow.enabled.speed = both.enabled.speed = 1062;
    sweep(w, lame, 2);
    expect(w, REPORT_HOST, "n0", 0, SEEN_DEGRADED,
           "leaf0:1 runs 25.8 of 106.2 Gb/s");
    one.enabled.width = one.supported.width = 1; /* that is all that it may */
    slow = active;
    sweep(w, small, 2);
    expect(w, REPORT_HOST, "n0", 0, SEEN_UP, "");
    end(w);
}

/* Somebody has enabled less than both ends support, or one has. */
static void less_than_both_ends_support_is_shown(void **state)
{
    struct smp_port_info one = active, slow = active, other = active;
    const struct said narrow[] = {{LEAF, 1, &one}, {0x10, 1, &other}};
    const struct said lame[] = {{LEAF, 8, &slow}, {SPINE, 1, &slow}};
    const struct said half[] = {{LEAF, 1, &one}};
    struct ib_watch *w = world();

    one.now.width = other.now.width = 1;
    one.enabled.width = 1;
    sweep(w, narrow, 2);
    expect(w, REPORT_HOST, "n0", 0, SEEN_UP, "leaf0:1 runs 1x of 4x supported");
    slow.now.speed = slow.enabled.speed = 258;
    slow.supported.speed = 1062;
    sweep(w, lame, 2);
    expect(w, REPORT_LINK, "leaf0:8", 0, SEEN_UP,
           "leaf0:8 runs 25.8 of 106.2 Gb/s supported");
    expect(w, REPORT_HOST, "n0", 0, SEEN_UP, "");
    other.supported.width = 1; /* one end is able to no more */
    sweep(w, narrow, 2);
    expect(w, REPORT_HOST, "n0", 0, SEEN_UP, "");
    other.supported.width = 0; /* or does not tell */
    sweep(w, narrow, 2);
    expect(w, REPORT_HOST, "n0", 0, SEEN_UP, "");
    other = active;
    other.now.width = 1; /* less than is enabled says more */
    one = other;
    sweep(w, narrow, 2);
    expect(w, REPORT_HOST, "n0", 0, SEEN_DEGRADED, "leaf0:1 runs 1x of 4x");
    sweep(w, half, 1);
    expect(w, REPORT_HOST, "n0", 0, SEEN_DEGRADED, "leaf0:1 runs 1x of 4x");
    end(w);
}

/* n0's cable: of 12 lanes that both support 4 are enabled, and 1 runs. */
static void what_a_rule_says_of_lanes_is_done(void **state)
{
    static const struct {
        const char *rules;
        enum report_seen seen;
        const char *why;
    } each[] = {
        {"", SEEN_DEGRADED, "leaf0:1 runs 1x of 4x"},
        {"slow show", SEEN_UP, "leaf0:1 runs 1x of 4x"},
        {"slow drain\n", SEEN_DOWN, "leaf0:1 runs 1x of 4x"},
        {"slow ignore", SEEN_UP, "leaf0:1 runs 1x of 12x supported"},
        {"slow ignore\nbelow_supported degrade # so\n", SEEN_DEGRADED,
         "leaf0:1 runs 1x of 12x supported"},
        {"slow show\nbelow_supported degrade", SEEN_DEGRADED,
         "leaf0:1 runs 1x of 12x supported"},
        {"below_supported ignore\nslow ignore", SEEN_UP, ""},
    };
    struct smp_port_info one = active;
    const struct said narrow[] = {{LEAF, 1, &one}, {0x10, 1, &one}};

    one.now.width = 1;
    one.supported.width = 12;
    for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
        struct ib_watch *w = world();
        struct ib_rules rules;
        struct errbuf err;

        ib_rules_default(&rules);
        assert_int_equal(ib_rules_parse(&rules, "rules", each[i].rules,
                                        strlen(each[i].rules), &err),
                         0);
        ib_watch_rules(w, &rules);
        sweep(w, narrow, 2);
        expect(w, REPORT_HOST, "n0", 0, each[i].seen, each[i].why);
        end(w);
    }
}

static void a_wrong_rule_changes_none(void **state)
{
    static const char *const wrong[] = {
        "slow drain\nbelow_supported > 1/s drain\n", "slow drain\nslow\n",
        "slow drain\nbelow_supportet show\n",
        "slow drain\nsymbol_error > 10/s\n"};
    struct ib_rules rules, was;
    struct errbuf err;

    ib_rules_default(&rules);
    was = rules;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(
            ib_rules_parse(&rules, "rules", wrong[i], strlen(wrong[i]), &err),
            -1);
        assert_memory_equal(err.text, "rules:2: ", 9);
        assert_memory_equal(&rules, &was, sizeof(rules));
    }
}

/* Errors on this port, sweep by sweep. */
static void errors(struct ib_watch *w, uint64_t guid, uint8_t port,
                   enum tally_counter c, unsigned each, int seconds,
                   int64_t *now)
{
    for (int i = 0; i < seconds; i++) {
        *now += 1000;
        counted.value[c] += each;
        sweep(w, NULL, 0);
        ib_watch_counters(w, guid, port, &counted, *now);
    }
}

static void errors_of_either_end_degrade_and_heal(void **state)
{
    struct ib_watch *w = world();
    int64_t now = 0;

    errors(w, LEAF, 2, TALLY_SYMBOL_ERROR, 0, 5, &now);
    expect(w, REPORT_HOST, "n1", 0, SEEN_UP, "");
    errors(w, LEAF, 2, TALLY_SYMBOL_ERROR, 50, 15, &now);
    expect(w, REPORT_HOST, "n1", 0, SEEN_DEGRADED,
           "leaf0:2 symbol errors 50/s > 10/s");
    expect(w, REPORT_HOST, "n1", 1, SEEN_UP, "");
    errors(w, LEAF, 2, TALLY_SYMBOL_ERROR, 0, 45, &now);
    expect(w, REPORT_HOST, "n1", 0, SEEN_UP, "");
    errors(w, 0x20, 1, TALLY_PORT_RCV_ERRORS, 90, 15, &now);
    expect(w, REPORT_HOST, "n1", 0, SEEN_DEGRADED,
           "n1:1 receive errors 90/s > 10/s");
    errors(w, SPINE, 1, TALLY_SYMBOL_ERROR, 70, 15, &now);
    expect(w, REPORT_LINK, "leaf0:8", 0, SEEN_DEGRADED,
           "spine0:1 symbol errors 70/s > 10/s");
    end(w);
}

static void what_a_rule_says_is_done(void **state)
{
    static const struct {
        enum tally_action action;
        enum report_seen seen;
        const char *why;
    } each[] = {
        {TALLY_IGNORE, SEEN_UP, ""},
        {TALLY_SHOW, SEEN_UP, "leaf0:2 symbol errors 50/s > 10/s"},
        {TALLY_DEGRADE, SEEN_DEGRADED, "leaf0:2 symbol errors 50/s > 10/s"},
        {TALLY_DRAIN, SEEN_DOWN, "leaf0:2 symbol errors 50/s > 10/s"},
    };

    for (unsigned i = 0; i < 4; i++) {
        struct ib_watch *w = world();
        struct ib_rules rules;
        int64_t now = 0;

        ib_rules_default(&rules);
        rules.counters.of[TALLY_SYMBOL_ERROR].action = each[i].action;
        ib_watch_rules(w, &rules);
        errors(w, LEAF, 2, TALLY_SYMBOL_ERROR, 50, 15, &now);
        expect(w, REPORT_HOST, "n1", 0, each[i].seen, each[i].why);
        end(w);
    }
}

/* A full counter is shown as blind; another's rate is the worse. */
static void a_blind_counter_is_shown(void **state)
{
    struct pma_counters full = {{0}, {0}};
    struct ib_watch *w = world();
    int64_t now = 0;

    full.value[TALLY_LINK_DOWNED] = 255;
    full.full[TALLY_LINK_DOWNED] = true;
    sweep(w, NULL, 0);
    ib_watch_counters(w, LEAF, 2, &full, 1);
    expect(w, REPORT_HOST, "n1", 0, SEEN_UP,
           "leaf0:2 link downs: counter is full");
    errors(w, LEAF, 2, TALLY_SYMBOL_ERROR, 50, 15, &now);
    expect(w, REPORT_HOST, "n1", 0, SEEN_DEGRADED,
           "leaf0:2 symbol errors 50/s > 10/s");
    end(w);
}

/* A question for port 7's counters, and an answer with each at another value;
 * layouts by hand. */
static void counters_are_asked_and_read(void **state)
{
    uint8_t mad[SMP_SIZE];
    struct pma_counters c;
    enum pma_attr attr;
    uint32_t tid;

    pma_make(mad, 0x01020304, PMA_COUNTERS, 7);
    assert_int_equal(mad[1], PMA_CLASS);
    assert_int_equal(mad[3], 1); /* Get: nothing is ever cleared */
    assert_int_equal(mad[17], 0x12);
    assert_int_equal(mad[65], 7);
    assert_false(pma_parse(mad, &attr, &tid));
    mad[3] = 0x81;
    memcpy(mad + 64 + 4, (uint8_t[]){1, 2, 3, 255, 4, 5}, 6);
    memcpy(mad + 64 + 14, (uint8_t[]){255, 255}, 2);
    mad[64 + 19] = 0x6f;
    assert_true(pma_parse(mad, &attr, &tid));
    assert_int_equal(attr, PMA_COUNTERS);
    assert_int_equal(tid, 0x01020304);
    assert_false(pma_counters(mad, attr, 8, &c));
    assert_true(pma_counters(mad, attr, 7, &c));
    assert_int_equal(c.value[TALLY_SYMBOL_ERROR], 0x102);
    assert_int_equal(c.value[TALLY_LINK_ERROR_RECOVERY], 3);
    assert_true(c.full[TALLY_LINK_DOWNED]);
    assert_int_equal(c.value[TALLY_PORT_RCV_ERRORS], 0x405);
    assert_true(c.full[TALLY_PORT_XMIT_DISCARDS]);
    assert_int_equal(c.value[TALLY_LOCAL_LINK_INTEGRITY_ERRORS], 6);
    assert_true(c.full[TALLY_EXCESSIVE_BUFFER_OVERRUN_ERRORS]);
    assert_false(c.full[TALLY_SYMBOL_ERROR]);
    mad[5] = 0x0c; /* it knows no such thing */
    assert_false(pma_parse(mad, &attr, &tid));
}

/* PortCountersExtended: errors from byte 72 on, eight bytes each. */
static void wide_counters_are_read(void **state)
{
    uint8_t mad[SMP_SIZE];
    struct pma_counters c;

    pma_make(mad, 1, PMA_COUNTERS_WIDE, 7);
    assert_int_equal(mad[17], 0x1d);
    mad[64 + 72] = 1;               /* SymbolErrorCounter */
    memset(mad + 64 + 88, 0xff, 8); /* LinkDownedCounter */
    mad[64 + 127] = 9;              /* PortXmitDiscards */
    mad[64 + 159] = 2;              /* ExcessiveBufferOverrunErrors */
    assert_true(pma_counters(mad, PMA_COUNTERS_WIDE, 7, &c));
    assert_true(c.value[TALLY_SYMBOL_ERROR] == 1ULL << 56);
    assert_true(c.full[TALLY_LINK_DOWNED]);
    assert_int_equal(c.value[TALLY_PORT_XMIT_DISCARDS], 9);
    assert_int_equal(c.value[TALLY_EXCESSIVE_BUFFER_OVERRUN_ERRORS], 2);
    assert_int_equal(c.value[TALLY_LINK_ERROR_RECOVERY], 0);
    pma_make(mad, 1, PMA_CLASS_INFO, 7);
    assert_int_equal(mad[65], 0);
    assert_false(pma_is_wide(mad));
    mad[64 + 2] = 0x02; /* PortCountersExtended */
    mad[64 + 7] = 0x1f; /* an answer takes long */
    assert_false(pma_is_wide(mad));
    mad[64 + 7] = 2 << 5; /* ... with errors */
    assert_true(pma_is_wide(mad));
    pma_make_clear(mad, 1, 7, 1u << TALLY_PORT_XMIT_DISCARDS);
    assert_int_equal(mad[3], 2); /* Set */
    assert_int_equal(mad[65], 7);
    assert_int_equal(mad[66] << 8 | mad[67], 1 << 6);
}

/* ---- whom a cable hurts -------------------------------------------------- */

static char hurt_link[64], hurt_names[64];
static unsigned hurt_nodes, hurts;

static void hurt(const char *link, const char *names, unsigned n, void *arg)
{
    (void)arg;
    snprintf(hurt_link, sizeof(hurt_link), "%s", link);
    snprintf(hurt_names, sizeof(hurt_names), "%s", names);
    hurt_nodes = n;
    hurts++;
}

/* n2 behind the spine; LIDs of n0, n1 (two rails) and n2 are 1 to 4. */
static struct ib_watch *routed_world(void)
{
    struct ib_watch *w = world();
    const uint64_t guid[] = {0x10, 0x20, 0x30, 0x40};
    uint8_t leaf_routes[SMP_BLOCK], spine_routes[SMP_BLOCK];
    struct smp_port_info info = active;

    ib_watch_on_hurt(w, hurt, NULL);
    hurts = hurt_nodes = 0;
    plug(w, host(0x40, 0, "n2"), spine(2));
    sweep(w, NULL, 0);
    for (uint16_t i = 0; i < 4; i++) {
        info.lid = i + 1;
        ib_watch_port(w, guid[i], 1, &info);
    }
    memset(leaf_routes, 255, sizeof(leaf_routes));
    memset(spine_routes, 255, sizeof(spine_routes));
    memcpy(leaf_routes + 1, (uint8_t[]){1, 2, 3, 8}, 4);
    memcpy(spine_routes + 1, (uint8_t[]){1, 1, 1, 2}, 4);
    ib_watch_routes(w, LEAF, 0, leaf_routes);
    ib_watch_routes(w, SPINE, 0, spine_routes);
    ib_watch_routes(w, 0x999, 0, leaf_routes); /* none of ours */
    ib_watch_routes(w, LEAF, SMP_BLOCKS_MAX, leaf_routes);
    return w;
}

static void a_bad_cable_between_switches_tells_whom_it_hurts(void **state)
{
    static const struct said pulled[] = {{LEAF, 8, &polling},
                                         {SPINE, 1, &polling}};
    uint8_t round[SMP_BLOCK] = {0};
    struct ib_watch *w = routed_world();

    expect(w, REPORT_LINK, "leaf0:8", 0, SEEN_UP, "");
    sweep(w, pulled, 2);
    expect(w, REPORT_LINK, "leaf0:8", 0, SEEN_DOWN,
           "no link at leaf0:8: Polling - routes to 3 nodes");
    assert_string_equal(hurt_link, "leaf0:8 - spine0:1");
    assert_int_equal(hurt_nodes, 3);
    assert_int_equal(strlen(hurt_names), strlen("n0,n1,n2"));
    /* The subnet manager leads them round it. */
    ib_watch_routes(w, LEAF, 0, round);
    ib_watch_routes(w, SPINE, 0, round);
    sweep(w, pulled, 2);
    expect(w, REPORT_LINK, "leaf0:8", 0, SEEN_DOWN,
           "no link at leaf0:8: Polling - routes to 3 nodes");
    assert_int_equal(hurts, 1);
    sweep(w, NULL, 0);
    expect(w, REPORT_LINK, "leaf0:8", 0, SEEN_UP, "");
    sweep(w, pulled, 2);
    expect(w, REPORT_LINK, "leaf0:8", 0, SEEN_DOWN,
           "no link at leaf0:8: Polling");
    end(w);
}

static void without_routes_nothing_is_said_of_them(void **state)
{
    static const struct said pulled[] = {{LEAF, 8, &polling}};
    struct ib_watch *w = world();

    sweep(w, NULL, 0);
    sweep(w, pulled, 1);
    expect(w, REPORT_LINK, "leaf0:8", 0, SEEN_DOWN,
           "no link at leaf0:8: Polling");
    end(w);
}

/* A cable of a port to itself, ports of nobody: no crash, nothing told twice.
 */
static void what_makes_no_sense_hurts_nobody(void **state)
{
    struct ib_watch *w = ib_watch_new();
    struct ib_end a = leaf(1), b = host(0x10, 0, "n0");
    uint64_t version;
    size_t n;

    ib_watch_cable(w, &a, &a);
    assert_true(ib_watch_cable(w, &a, &b));
    assert_true(ib_watch_cable(w, &b, &a));
    ib_watch_port(w, 0x77, 9, &active);
    free(ib_watch_records(w, &n, &version));
    assert_int_equal(n, 2);
    end(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_well_is_up),
        cmocka_unit_test(a_pulled_cable_is_named_by_the_switchs_end),
        cmocka_unit_test(init_and_armed_are_not_up),
        cmocka_unit_test(one_silent_sweep_is_nothing),
        cmocka_unit_test(a_dead_switch_takes_its_hosts_along),
        cmocka_unit_test(a_cable_that_is_moved_is_not_missed),
        cmocka_unit_test(each_port_keeps_its_rail),
        cmocka_unit_test(the_version_rises_when_something_changes),
        cmocka_unit_test(what_makes_no_sense_hurts_nobody),
        cmocka_unit_test(fewer_lanes_than_both_ends_can_is_degraded),
        cmocka_unit_test(less_than_both_ends_support_is_shown),
        cmocka_unit_test(what_a_rule_says_of_lanes_is_done),
        cmocka_unit_test(a_wrong_rule_changes_none),
        cmocka_unit_test(errors_of_either_end_degrade_and_heal),
        cmocka_unit_test(what_a_rule_says_is_done),
        cmocka_unit_test(a_blind_counter_is_shown),
        cmocka_unit_test(counters_are_asked_and_read),
        cmocka_unit_test(wide_counters_are_read),
        cmocka_unit_test(a_bad_cable_between_switches_tells_whom_it_hurts),
        cmocka_unit_test(without_routes_nothing_is_said_of_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
