/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each key of mapper.conf that counts or waits: what it is by default, and what
 * the engines are given when it is another.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "mapperd/settings.h"

#define MS 1000000u

static void no_error(const char *text, void *arg)
{
    (void)arg;
    fail_msg("%s", text);
}

/* Settings of a file of one line; "" none. */
static void settings_of(struct settings *s, const char *line)
{
    char path[] = "test_mapper_conf.XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, line, strlen(line)), strlen(line));
    close(fd);
    settings_default(s);
    assert_int_equal(settings_read(s, path, true, no_error, NULL), 0);
    unlink(path);
}

/* ---- numbers ------------------------------------------------------------- */

enum engine { GM2, GM1 };

#define WIDTH(type, member) sizeof(((type *)0)->member)
#define OF2(member)                                                            \
    GM2, offsetof(struct gm2_config, member), WIDTH(struct gm2_config, member)
#define OF1(member)                                                            \
    GM1, offsetof(struct gm1_options, member), WIDTH(struct gm1_options, member)

static const struct number {
    const char *key;
    enum engine engine;
    size_t at, width;
    uint64_t normal; /* given to the engine, by default */
    uint64_t unit;   /* of one in the file */
    uint64_t more;   /* than in the file */
} numbers[] = {
    {"Level", OF2(level), 1, 1, 0},
    {"HostType", OF2(host_type), 0, 1, 0},
    {"NumPasses", OF2(routes.alternatives), 8, 1, 0},
    {"MaxHops", OF2(routes.hop_limit), 11, 1, 0},
    {"MaxPorts", OF2(limits.max_ports), 32, 1, 0},
    {"ScoutTimeout", OF2(limits.scout_wait), 10 * MS, MS, 0},
    {"ScoutTimeout", OF2(scout_wait), 10 * MS, MS, 0},
    {"ScoutRetries", OF2(limits.tries), 4, 1, 1},
    {"SwitchTimeout", OF2(limits.loop_wait), 5 * MS, MS, 0},
    {"StartDelay", OF2(start_delay), 0, MS, 0},
    {"PingInterval", OF2(ping_interval), 1000ull * MS, MS, 0},
    {"VerifyPause", OF2(verify_pause), 1000ull * MS, MS, 0},
    {"ParentTries", OF2(parent_tries), 30, 1, 0},
    {"TreeTries", OF2(tree_tries), 10, 1, 0},
    {"PieceTimeout", OF2(piece_wait), 20 * MS, MS, 0},
    {"PieceTries", OF2(piece_tries), 30, 1, 0},
    {"VerifyTries", OF2(verify_tries), 15, 1, 0},
    {"PauseTime", OF2(pause_time), 10000ull * MS, MS, 0},
    {"ExtraHosts", OF2(extra_hosts), 0, 1, 0},
    {"Level", OF1(host.level), 1, 1, 0},
    {"HostType", OF1(host.node_type), 0, 1, 0},
    {"MaxHops", OF1(routes.hop_limit), 11, 1, 0},
    {"MaxPorts", OF1(limits.max_ports), 32, 1, 0},
    {"ScoutTimeout", OF1(limits.scout_wait), 10 * MS, MS, 0},
    {"ScoutRetries", OF1(limits.tries), 4, 1, 1},
    {"SwitchTimeout", OF1(limits.loop_wait), 5 * MS, MS, 0},
    {"StartDelay", OF1(start_delay), 0, MS, 0},
    {"ActiveSleep", OF1(active_sleep), 10000ull * MS, MS, 0},
    {"DormantWake", OF1(dormant_wake), 5000ull * MS, MS, 0},
    {"ConfigWindow", OF1(window), 16, 1, 0},
};
#define NNUMBERS (sizeof(numbers) / sizeof(*numbers))

static uint64_t given(const struct settings *s, const struct number *n)
{
    struct gm2_config two;
    struct gm1_options one;
    const uint8_t *at = n->engine == GM2 ? (uint8_t *)&two : (uint8_t *)&one;
    uint64_t value = 0;

    settings_gm2(s, &two);
    settings_gm1(s, &one);
    at += n->at;
    switch (n->width) {
    case 1:
        return *at;
    case 2:
        return *(const uint16_t *)(const void *)at;
    case 4:
        return *(const uint32_t *)(const void *)at;
    default:
        memcpy(&value, at, sizeof(value));
        return value;
    }
}

/* The keys that do not stand in the file keep what they are. */
static void try_key(const char *key, unsigned value)
{
    struct settings s;
    char line[60];

    snprintf(line, sizeof(line), "%s=%u\n", key, value);
    settings_of(&s, line);
    for (size_t i = 0; i < NNUMBERS; i++) {
        const struct number *n = &numbers[i];
        uint64_t wanted =
            strcmp(n->key, key) == 0 ? value * n->unit + n->more : n->normal;

        if (given(&s, n) != wanted)
            fail_msg("%s: %s of GM-%d is %llu, not %llu", line, n->key,
                     n->engine == GM1 ? 1 : 2, (unsigned long long)given(&s, n),
                     (unsigned long long)wanted);
    }
    settings_free(&s);
}

static void keys_reach_the_engines(void **state)
{
    (void)state;
    for (size_t i = 0; i < NNUMBERS; i++) {
        bool long_one = strcmp(numbers[i].key, "PauseTime") == 0;

        try_key(numbers[i].key, long_one ? 7001 : 13);
    }
}

/* ---- yes or no ----------------------------------------------------------- */

/* Each that is on alone, in the file or as an option; all others are as they
 * are without. */
static void flags_reach_the_engines(void **state)
{
    static const char *const keys[] = {
        "Thrash", "MapOnce",  "MapIncrementally", "NoMapDeltas", "NoXbarCheck",
        "Pause",  "NoVerify", "ConfigsInOrder",   "NoRoutes",    "NonClos"};
    enum { NFLAGS = sizeof(keys) / sizeof(keys[0]) };

    (void)state;
    for (size_t on = 0; on <= NFLAGS; on++) {
        struct settings s;
        struct gm2_config two;
        struct gm1_options one;
        char line[60] = "";

        if (on < NFLAGS)
            snprintf(line, sizeof(line), "%s=yes\n", keys[on]);
        settings_of(&s, line);
        settings_gm2(&s, &two);
        settings_gm1(&s, &one);
        for (size_t i = 0; i < NFLAGS; i++) {
            const bool is[NFLAGS] = {two.thrash,
                                     two.map_once,
                                     two.map_incrementally,
                                     !two.map_deltas,
                                     two.no_xbar_check,
                                     two.pause,
                                     one.no_verify,
                                     one.in_order,
                                     one.host.minimal,
                                     two.routes.engine == NET_PAIRS};

            if (is[i] != (i == on))
                fail_msg("with \"%s\" %s is %d", line, keys[i], is[i]);
        }
        assert_int_equal(one.routes.engine, two.routes.engine);
        settings_free(&s);
    }
}

/* ---- words --------------------------------------------------------------- */

/* As the option does. */
static void verbose_file_alone_is_verbose(void **state)
{
    struct settings s;
    struct errbuf err;

    (void)state;
    settings_of(&s, "VerboseFile=/v\n");
    assert_int_equal(settings_finish(&s, &err), 0);
    assert_true(s.verbose);
    assert_string_equal(s.verbose_file, "/v");
    settings_free(&s);
    settings_of(&s, "Verbose=no\n");
    assert_int_equal(settings_finish(&s, &err), 0);
    assert_false(s.verbose);
    settings_free(&s);
}

/* ---- timers -------------------------------------------------------------- */

static void try_timers(const char *line, bool fixed1, bool fixed2)
{
    struct settings s;
    struct gm2_config two;
    struct gm1_options one;

    settings_of(&s, line);
    settings_gm1(&s, &one);
    settings_gm2(&s, &two);
    assert_int_equal(one.limits.fixed_timers, fixed1);
    assert_int_equal(two.limits.fixed_timers, fixed2);
    settings_free(&s);
}

static void gm1_has_fixed_timers_and_gm2_learns(void **state)
{
    (void)state;
    try_timers("", true, false);
    try_timers("FixedTimers=yes\n", true, true);
    try_timers("LearntTimers=yes\n", false, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_reach_the_engines),
        cmocka_unit_test(flags_reach_the_engines),
        cmocka_unit_test(verbose_file_alone_is_verbose),
        cmocka_unit_test(gm1_has_fixed_timers_and_gm2_learns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
