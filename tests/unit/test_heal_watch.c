/* SPDX-License-Identifier: BSD-3-Clause
 * Launches that wait for a node's fabric are woken when the table lets them
 * through, or when they will be refused for good.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "launch.h"
#include "plugins/switch_elan/heal_watch.h"

#define LONG (600 * 1000)

struct world {
    char dir[64], path[96];
    struct waiters *waiters;
    struct heal_watch *watch;
    struct launch launch;
};

static atomic_int told;

static void count(const struct gate_wait *wait)
{
    assert_string_equal(wait->node, "n3");
    told++;
}

static int64_t now(void)
{
    return (int64_t)time(NULL) * 1000;
}

static int up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    told = 0;
    strcpy(w->dir, "/tmp/healXXXXXX");
    assert_non_null(mkdtemp(w->dir));
    snprintf(w->path, sizeof(w->path), "%s/health", w->dir);
    w->waiters = waiters_create();
    w->watch = heal_watch_create(w->waiters, count);
    w->launch = launch_open();
    *state = w;
    return 0;
}

static int down(void **state)
{
    struct world *w = *state;

    heal_watch_destroy(w->watch);
    waiters_destroy(w->waiters);
    close(w->launch.fd);
    unlink(w->path);
    rmdir(w->dir);
    free(w);
    return 0;
}

static void write_table(struct world *w, bool is_down)
{
    struct health_table_node n = {"n3", HEALTH_DOWN, 0, 2, 1, 1, "mute"};
    struct health_table t = {now(), 8, 8 - is_down, &n, is_down};
    struct errbuf err;

    assert_int_equal(health_table_write(w->path, &t, &err), 0);
}

static void wait_for_n3(struct world *w, int64_t until, uint16_t port)
{
    struct gate_wait wait = {.node = "n3",
                             .rails = 1,
                             .until = until,
                             .stale_after = LONG,
                             .refuse_percent = 50};

    heal_watch_add(w->watch, w->path, &wait, "127.0.0.1", port);
}

static void a_launch_is_woken_when_the_node_heals(void **state)
{
    struct world *w = *state;

    write_table(w, true);
    wait_for_n3(w, now() + LONG, w->launch.port);
    assert_false(is_woken(&w->launch, 700));
    write_table(w, false);
    assert_true(is_woken(&w->launch, 20000));
    assert_int_equal(told, 1);
}

/* Between the gate's look and ours the table was written. */
static void a_node_that_healed_meanwhile_is_seen(void **state)
{
    struct world *w = *state;

    write_table(w, false);
    wait_for_n3(w, now() + LONG, w->launch.port);
    assert_true(is_woken(&w->launch, 20000));
}

static void a_launch_is_woken_to_be_refused(void **state)
{
    struct world *w = *state;

    write_table(w, true);
    wait_for_n3(w, now() + 1000, w->launch.port);
    assert_true(is_woken(&w->launch, 20000));
}

static void a_new_policy_wakes_all(void **state)
{
    struct launch other = launch_open();
    struct world *w = *state;

    write_table(w, true);
    heal_watch_wake_all(w->watch); /* nobody */
    wait_for_n3(w, now() + LONG, w->launch.port);
    wait_for_n3(w, now() + LONG, other.port);
    heal_watch_wake_all(w->watch);
    assert_true(is_woken(&w->launch, 20000));
    assert_true(is_woken(&other, 20000));
    assert_int_equal(told, 2);
    close(other.fd);
}

static void too_many_forget_the_oldest(void **state)
{
    struct world *w = *state;

    write_table(w, true);
    for (unsigned i = 0; i <= SF_WAITERS_MAX; i++)
        wait_for_n3(w, now() + LONG, w->launch.port);
    heal_watch_wake_all(w->watch);
    assert_int_equal(told, SF_WAITERS_MAX);
}

/* No path, host or port of it makes us write beyond. */
static void what_can_be_no_launch_is_not_entered(void **state)
{
    struct gate_wait wait = {.node = "n3"};
    struct world *w = *state;
    char longest[5000];

    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    heal_watch_add(w->watch, w->path, &wait, NULL, 1);
    heal_watch_add(w->watch, w->path, &wait, "", 1);
    heal_watch_add(w->watch, w->path, &wait, longest, 1);
    heal_watch_add(w->watch, w->path, &wait, "127.0.0.1", 0);
    heal_watch_add(w->watch, longest, &wait, "127.0.0.1", 1);
    heal_watch_wake_all(w->watch);
    assert_int_equal(told, 0);
    heal_watch_destroy(NULL);
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_launch_is_woken_when_the_node_heals),
        T(a_node_that_healed_meanwhile_is_seen),
        T(a_launch_is_woken_to_be_refused),
        T(a_new_policy_wakes_all),
        T(too_many_forget_the_oldest),
        T(what_can_be_no_launch_is_not_entered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
