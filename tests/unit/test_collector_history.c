/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What switchmgrd puts into the history of links, from reports to the JSON
 * that page and `sfabric history` get.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clerk.h"
#include "base/jsonx.h"
#include "health_world.h"
#include "switchmgrd/collector.h"

#define MINUTE 60000
#define START (T0 / MINUTE * MINUTE)

static int64_t clock_now;
static int alarms;

/* A disk that stands still: whoever waits for it is counted, and waits. */
static atomic_bool stands;
static atomic_int waiting;
static pthread_t loop_thread;
static int loop_waited; /* the thread of the loop did, which must not */

static void wait_for_disk(void)
{
    if (stands && pthread_equal(pthread_self(), loop_thread)) {
        loop_waited++;
        return;
    }
    waiting++;
    while (stands)
        usleep(1000);
    waiting--;
}

int fsync(int fd)
{
    wait_for_disk();
    return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    wait_for_disk();
    return (int)syscall(SYS_fdatasync, fd);
}

ssize_t pread(int fd, void *buf, size_t size, off_t at)
{
    wait_for_disk();
    return syscall(SYS_pread64, fd, buf, size, at);
}

int64_t steady_now(void)
{
    return clock_now;
}

int64_t steady_wall(int64_t when)
{
    return when;
}

void collector_events_alarm(const char *text, int64_t now, void *arg)
{
    alarms++;
}

struct bed {
    struct collector n;
    struct world w;
    char dir[64];
};

static void on_changed(const struct health_item *item, enum health_state was,
                       int64_t now, void *arg)
{
    struct bed *b = arg;

    collector_history_changed(&b->n, item, was);
}

static int bed_up(void **state)
{
    struct bed *b = calloc(1, sizeof(*b));
    struct model_ops ops = {.changed = on_changed, .arg = b};
    struct errbuf err;
    char sub[96];

    snprintf(b->dir, sizeof(b->dir), "/tmp/history.XXXXXX");
    if (!mkdtemp(b->dir))
        return -1;
    snprintf(sub, sizeof(sub), "%s/switchmgrd", b->dir);
    mkdir(sub, 0700);
    model_conf_defaults(&b->w.conf);
    clock_now = b->w.now = START;
    b->w.m = model_new(&b->w.conf, &ops);
    b->n.model = b->w.m;
    b->n.conf.state_dir = b->dir;
    b->n.conf.history_links = 100;
    *state = b;
    return collector_history_open(&b->n, &err);
}

static int bed_down(void **state)
{
    struct bed *b = *state;
    char command[128];
    int rc;

    collector_history_close(&b->n);
    model_free(b->w.m);
    snprintf(command, sizeof(command), "rm -rf '%s'", b->dir);
    rc = system(command);
    free(b);
    return rc;
}

/* hsnd of n<node>'s rail says what its NIC counts. */
static void says(struct bed *b, int node, uint8_t rail, uint64_t instance,
                 uint64_t in, uint64_t out, uint64_t bad, enum report_seen seen)
{
    struct report_record r = host(node, seen, "test");
    struct report_counter c[] = {{rail, "sent_bytes", out},
                                 {rail, "received_bytes", in},
                                 {rail, "received", in},
                                 {rail, "loop_lost", bad}};
    struct report rep = {.from = REPORT_HSND,
                         .instance = instance,
                         .seq = ++b->w.seq,
                         .records = &r,
                         .counters = c,
                         .nrecords = 1,
                         .ncounters = 4};
    struct errbuf err = {""};

    r.rail = rail;
    snprintf(rep.node, sizeof(rep.node), "n%d", node);
    assert_int_equal(model_input(b->w.m, &rep, b->w.now, &err), 0);
}

static void later(struct bed *b, int64_t ms)
{
    clock_now = b->w.now += ms;
    model_tick(b->w.m, b->w.now);
    collector_history_tick(&b->n, b->w.now);
}

static void keep_day(struct json_object *day, void *arg)
{
    *(struct json_object **)arg = json_object_get(day);
}

/* Without a thread that reads, it is there at once. */
static struct json_object *day_of(struct bed *b, const char *name)
{
    struct json_object *day = NULL;

    if (collector_history_ask(&b->n, name, HISTORY_BY_MINUTE, keep_day, &day) <
        0)
        assert_int_equal(errno, ENOENT);
    return day;
}

/* Of the minute that ended `back` minutes ago; -1: null. */
static int64_t told_in(struct json_object *o, const char *key, size_t back)
{
    struct json_object *list, *v;
    int64_t value;
    size_t n = 0;

    assert_non_null(o);
    list = jsonx_array(o, key, &n);
    assert_int_equal(n, HISTORY_MINUTES);
    v = json_object_array_get_idx(list, n - back);
    value = !v ? -1
            : json_object_is_type(v, json_type_string)
                ? health_state_parse(json_object_get_string(v))
                : json_object_get_int64(v);
    json_object_put(o);
    return value;
}

static int64_t told(struct bed *b, const char *name, const char *key,
                    size_t back)
{
    return told_in(day_of(b, name), key, back);
}

static void rates_are_what_was_counted_between_two_minutes(void **state)
{
    struct bed *b = *state;

    says(b, 1, 0, 5, 1000, 500, 0, SEEN_UP);
    says(b, 1, 2, 5, 0, 0, 0, SEEN_UP);
    later(b, MINUTE);
    assert_int_equal(told(b, "n1", "in", 1), -1); /* only one look so far */
    says(b, 1, 0, 5, 1000 + 60 * 700, 500 + 60 * 30, 3, SEEN_UP);
    says(b, 1, 2, 5, 60 * 9, 0, 0, SEEN_UP);
    later(b, MINUTE);
    assert_int_equal(told(b, "n1", "in", 1), 700);
    assert_int_equal(told(b, "n1", "out", 1), 30);
    assert_int_equal(told(b, "n1", "errors", 1), 3);
    assert_int_equal(told(b, "n1/2", "in", 1), 9);
    later(b, MINUTE); /* nobody said anything */
    assert_int_equal(told(b, "n1", "in", 1), -1);
    assert_int_equal(told(b, "n1", "in", 2), 700);
    assert_null(day_of(b, "n9"));
    assert_int_equal(alarms, 0);
}

static void counters_that_begin_again_are_no_rate(void **state)
{
    struct bed *b = *state;

    says(b, 1, 0, 5, 1000, 500, 0, SEEN_UP);
    later(b, MINUTE);
    says(b, 1, 0, 5, 10, 600, 0, SEEN_UP); /* cleared */
    later(b, MINUTE);
    assert_int_equal(told(b, "n1", "in", 1), -1);
    says(b, 1, 0, 6, 60010, 90000, 0, SEEN_UP); /* started again */
    later(b, MINUTE);
    assert_int_equal(told(b, "n1", "in", 1), -1);
    says(b, 1, 0, 6, 120010, 90000, 0, SEEN_UP);
    later(b, MINUTE);
    assert_int_equal(told(b, "n1", "in", 1), 1000);
}

static void a_fault_within_a_minute_is_kept(void **state)
{
    struct bed *b = *state;

    for (int i = 0; i < 12; i++) {
        says(b, 1, 0, 5, 1, 1, 0, i == 4 ? SEEN_DOWN : SEEN_UP);
        later(b, 5000);
    }
    /* Well again only after UpAfter; then the minute after is. */
    assert_int_equal(told(b, "n1", "state", 1), HEALTH_DOWN);
    for (int i = 0; i < 12; i++) {
        says(b, 1, 0, 5, 1, 1, 0, SEEN_UP);
        later(b, 5000);
    }
    assert_int_equal(told(b, "n1", "state", 1), HEALTH_HEALTHY);
}

static void only_links_with_names_that_last_are_kept(void **state)
{
    struct bed *b = *state;
    struct report_record r[3] = {{.kind = REPORT_XBAR, .seen = SEEN_UP},
                                 {.kind = REPORT_LINK, .seen = SEEN_UP},
                                 {.kind = REPORT_LINK, .seen = SEEN_UP}};

    snprintf(r[0].name, sizeof(r[0].name), "leaf0");
    snprintf(r[1].name, sizeof(r[1].name), "leaf0:3");
    snprintf(r[1].peer, sizeof(r[1].peer), "spine:1");
    snprintf(r[2].name, sizeof(r[2].name), REPORT_ANON "7:3");
    snprintf(r[2].peer, sizeof(r[2].peer), "leaf0:4");
    says(b, 1, 0, 5, 1, 1, 0, SEEN_UP);
    assert_int_equal(mapper(&b->w, "n1", 1, r, 3), 0);
    later(b, MINUTE);
    assert_true(told(b, "leaf0:3", "state", 1) >= 0);
    assert_int_equal(told(b, "leaf0:3", "in", 1), -1); /* nobody counts */
    assert_null(day_of(b, REPORT_ANON "7:3"));
    assert_null(day_of(b, "leaf0"));
}

static void who_is_stopped_keeps_the_minute_that_was_begun(void **state)
{
    struct bed *b = *state;
    struct errbuf err;

    says(b, 1, 0, 5, 1, 1, 0, SEEN_UP);
    later(b, MINUTE / 2);
    collector_history_close(&b->n);
    assert_int_equal(collector_history_open(&b->n, &err), 0);
    later(b, MINUTE / 2);
    assert_true(told(b, "n1", "state", 1) >= 0);
}

static void a_disk_that_stands_still_does_not_hold_up_the_loop(void **state)
{
    struct bed *b = *state;

    loop_thread = pthread_self();
    b->n.loop = ev_loop_new(EVFLAG_AUTO);
    b->n.writer = clerk_new(b->n.loop, 4);
    assert_non_null(b->n.writer);
    stands = true;
    waiting = 0;
    for (int i = 0; i < 4; i++) { /* new names, a new group, a new hour */
        says(b, i, 0, 5, 1, 1, 0, SEEN_UP);
        later(b, i == 2 ? 60 * MINUTE : MINUTE);
    }
    while (waiting == 0)
        usleep(1000);
    assert_int_equal(loop_waited, 0);
    stands = false;
    while (clerk_pending(b->n.writer) > 0)
        ev_run(b->n.loop, EVRUN_ONCE);
    ev_run(b->n.loop, EVRUN_NOWAIT);
    assert_true(told(b, "n0", "state", 1) >= 0);
    assert_true(told(b, "n0", "state", 62) >= 0);
    assert_int_equal(alarms, 0);
    assert_true(clerk_free(b->n.writer));
    b->n.writer = NULL;
    ev_loop_destroy(b->n.loop);
}

static void count_day(struct json_object *day, void *arg)
{
    if (day)
        ++*(int *)arg;
}

static void a_history_is_read_beside_the_loop(void **state)
{
    struct bed *b = *state;
    struct json_object *day = NULL;
    int others = 0, asked = 0;

    says(b, 1, 0, 5, 1, 1, 0, SEEN_UP);
    later(b, MINUTE);
    loop_thread = pthread_self();
    b->n.loop = ev_loop_new(EVFLAG_AUTO);
    b->n.reader = clerk_new(b->n.loop, 2);
    assert_non_null(b->n.reader);
    stands = true;
    waiting = 0;
    assert_int_equal(
        collector_history_ask(&b->n, "n1", HISTORY_BY_MINUTE, keep_day, &day),
        0);
    while (waiting == 0)
        usleep(1000);
    /* Others wait, and who is one too many is told so. */
    while (collector_history_ask(&b->n, "n1", HISTORY_BY_HOUR, count_day,
                                 &others) == 0)
        asked++;
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(asked, 2);
    says(b, 1, 0, 5, 2, 2, 0, SEEN_DOWN);
    later(b, MINUTE / 2); /* the loop goes on */
    assert_null(day);
    assert_int_equal(loop_waited, 0);
    stands = false;
    while (others < 2)
        ev_run(b->n.loop, EVRUN_ONCE);
    assert_true(told_in(day, "state", 1) >= 0);
    assert_true(clerk_free(b->n.reader));
    b->n.reader = NULL;
    ev_loop_destroy(b->n.loop);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, bed_up, bed_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rates_are_what_was_counted_between_two_minutes),
        TEST(counters_that_begin_again_are_no_rate),
        TEST(a_fault_within_a_minute_is_kept),
        TEST(only_links_with_names_that_last_are_kept),
        TEST(who_is_stopped_keeps_the_minute_that_was_begun),
        TEST(a_disk_that_stands_still_does_not_hold_up_the_loop),
        TEST(a_history_is_read_beside_the_loop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
