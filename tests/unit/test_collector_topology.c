/* SPDX-License-Identifier: BSD-3-Clause
 *
 * switchmgrd asks the mappers of all rails for their maps.  Their sockets are
 * real; mappers that hang never accept.  Time passes only in poll(), which is
 * a function of this test, as the clock is.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/local.h"
#include "switchmgrd/collector.h"
#include "switchmgrd/page.h"
#include "switchmgrd/topology.h"

static int64_t now_ms;
static int answering = -1; /* a listener whose mapper answers */
static unsigned taken;     /* rails whose maps the page has */
static char events[2048];

uint64_t clock_ns(void)
{
    return (uint64_t)now_ms * 1000000;
}

double clock_cpu_s(void)
{
    return 0;
}

int64_t steady_now(void)
{
    return now_ms;
}

/* The mapper that answers does so as soon as somebody waits. */
static bool answer(void)
{
    static const char map[] =
        "{\"ok\":true,\"map\":\"host n0 020000000000\\nhost n1 "
        "020000000001\\ncable n0 n1\\n\"}\n";
    char line[256];
    int fd = answering < 0 ? -1 : accept(answering, NULL, NULL);

    if (fd < 0)
        return false;
    assert_true(recv(fd, line, sizeof(line), 0) > 0);
    assert_int_equal(send(fd, map, sizeof(map) - 1, 0), sizeof(map) - 1);
    close(fd);
    return true;
}

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
    static const struct timespec none;
    bool answered = answer();
    int ready = (int)syscall(SYS_ppoll, fds, n, &none, NULL, 0);

    if (ready == 0 && !answered)
        now_ms += timeout;
    return ready;
}

int nanosleep(const struct timespec *t, struct timespec *rest)
{
    now_ms += t->tv_sec * 1000 + t->tv_nsec / 1000000;
    return 0;
}

/* ---- the rest of a collector -------------------------------------------- */

void collector_event(struct collector *n, int64_t now, const char *fmt, ...)
{
    size_t len = strlen(events);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(events + len, sizeof(events) - len, fmt, ap);
    va_end(ap);
}

void collector_events_alarm(const char *text, int64_t now, void *arg)
{
    fail_msg("%s", text);
}

struct collector_node *collector_node_find(struct collector *n,
                                           const char *name)
{
    return NULL;
}

void page_take_net(struct page *p, uint8_t rail, const struct net *net)
{
    taken |= 1u << rail;
}

void page_drop_net(struct page *p, uint8_t rail)
{
}

/* ---- mappers --------------------------------------------------------------
 */

struct bed {
    struct collector n;
    char dir[64];
    int listens[SF_ELAN_RAILS_MAX];
    int queued[64], nqueued;
};

static void path_of(const struct bed *b, int rail, char path[128])
{
    snprintf(path, 128, rail ? "%s/mapperd-%d.sock" : "%s/mapperd.sock", b->dir,
             rail);
}

static int bed_up(void **state)
{
    struct bed *b = calloc(1, sizeof(*b));

    strcpy(b->dir, "/tmp/mappersXXXXXX");
    assert_non_null(mkdtemp(b->dir));
    setenv("SLURM_FABRIC_RUNDIR", b->dir, 1);
    for (int i = 0; i < SF_ELAN_RAILS_MAX; i++)
        b->listens[i] = -1;
    b->n.page = (struct page *)b; /* there is one */
    now_ms = 1000;
    answering = -1;
    taken = 0;
    events[0] = '\0';
    *state = b;
    return 0;
}

static void mapper_ends(struct bed *b, int rail)
{
    char path[128];

    path_of(b, rail, path);
    close(b->listens[rail]);
    b->listens[rail] = -1;
    unlink(path);
}

static int bed_down(void **state)
{
    struct bed *b = *state;

    for (int i = 0; i < SF_ELAN_RAILS_MAX; i++) {
        if (b->listens[i] >= 0)
            mapper_ends(b, i);
    }
    while (b->nqueued > 0)
        close(b->queued[--b->nqueued]);
    rmdir(b->dir);
    free(b);
    return 0;
}

static void mapper_hangs(struct bed *b, int rail)
{
    char path[128];

    path_of(b, rail, path);
    b->listens[rail] = local_listen(path, SOCK_STREAM);
    assert_true(b->listens[rail] >= 0);
}

/* So many have given up on it that its queue takes nobody any more. */
static void its_queue_is_full(struct bed *b, int rail)
{
    char path[128];
    int fd;

    path_of(b, rail, path);
    assert_int_equal(listen(b->listens[rail], 0), 0);
    while ((fd = local_connect(path, SOCK_STREAM | SOCK_NONBLOCK, 0)) >= 0) {
        assert_true(b->nqueued < 64);
        b->queued[b->nqueued++] = fd;
    }
}

static void mappers_that_hang_cost_one_wait_together(void **state)
{
    struct bed *b = *state;

    for (int i = 0; i < SF_ELAN_RAILS_MAX; i++)
        mapper_hangs(b, i);
    collector_topology_look(&b->n);
    assert_int_equal(now_ms, 2000);
    assert_int_equal(b->n.mappers_late, (1u << SF_ELAN_RAILS_MAX) - 1);
}

static void full_queues_cost_one_wait_together(void **state)
{
    struct bed *b = *state;

    for (int i = 0; i < 4; i++) {
        mapper_hangs(b, i);
        its_queue_is_full(b, i);
    }
    collector_topology_look(&b->n);
    assert_int_equal(now_ms, 2000);
    assert_int_equal(b->n.mappers_late, 0xf);
}

static void who_answers_is_heard_beside_who_hangs(void **state)
{
    struct bed *b = *state;

    mapper_hangs(b, 0);
    mapper_hangs(b, 2);
    mapper_hangs(b, 3);
    answering = b->listens[2];
    collector_topology_look(&b->n);
    assert_int_equal(now_ms, 2000);
    assert_int_equal(taken, 1u << 2);
    assert_int_equal(b->n.mappers_late, 1u << 0 | 1u << 3);
}

static void who_is_late_is_named_once_until_it_is_not(void **state)
{
    struct bed *b = *state;
    int fd;

    mapper_hangs(b, 1);
    collector_topology_look(&b->n);
    assert_non_null(strstr(events, "mapperd of rail 1 is late:"));
    assert_null(strstr(events, "rail 0"));
    events[0] = '\0';
    collector_topology_look(&b->n);
    assert_string_equal(events, "");
    answering = b->listens[1];
    /* Those who gave up before are in its queue yet. */
    while ((fd = accept(answering, NULL, NULL)) >= 0)
        close(fd);
    collector_topology_look(&b->n);
    assert_string_equal(events, "mapperd of rail 1 is late no more");
    assert_int_equal(b->n.mappers_late, 0);
    assert_int_equal(taken, 1u << 1);
}

static void who_is_not_there_costs_nothing(void **state)
{
    struct bed *b = *state;

    collector_topology_look(&b->n);
    mapper_hangs(b, 0);
    mapper_ends(b, 0);
    collector_topology_look(&b->n);
    assert_int_equal(now_ms, 1000);
    assert_int_equal(b->n.mappers_late, 0);
    assert_string_equal(events, "");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            mappers_that_hang_cost_one_wait_together, bed_up, bed_down),
        cmocka_unit_test_setup_teardown(full_queues_cost_one_wait_together,
                                        bed_up, bed_down),
        cmocka_unit_test_setup_teardown(who_answers_is_heard_beside_who_hangs,
                                        bed_up, bed_down),
        cmocka_unit_test_setup_teardown(
            who_is_late_is_named_once_until_it_is_not, bed_up, bed_down),
        cmocka_unit_test_setup_teardown(who_is_not_there_costs_nothing, bed_up,
                                        bed_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
