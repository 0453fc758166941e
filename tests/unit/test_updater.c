/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The two sides of switchmgrd on a large machine: far more records of nodes
 * than fit into the socket between them.  The updater is real and runs in a
 * thread, Slurm is some functions of this test, which is the collector.
 */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "fake_hostlist.h"
#include "health/mgrconf.h"
#include "slurmabi/slurm_sym.h"
#include "switchmgrd/topology.h"
#include "switchmgrd/updater.h"

#define NODES 4000

/* ---- Slurm ----------------------------------------------------------------
 */

static unsigned updates;      /* under the lock */
static bool nodes_set[NODES]; /* under the lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void node_name(char *name, unsigned i)
{
    snprintf(name, SF_REPORT_NAME_MAX, "n%u", i);
}

int upd_slurm_load(struct updater *u)
{
    char name[SF_REPORT_NAME_MAX];

    for (unsigned i = 0; i < NODES; i++) {
        struct upd_node *n;

        node_name(name, i);
        n = upd_node_make(u, name);
        n->addr.s_addr = 0x0100007f;
        n->dirty = true;
    }
    u->status.reachable = 1;
    return 1;
}

/* Names are "n0,n1,..". */
int upd_slurm_set(struct updater *u, const char *nodes, const char *features,
                  const char *extra, const char *comment)
{
    unsigned i;

    pthread_mutex_lock(&lock);
    updates++;
    for (const char *at = nodes; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (sscanf(at, "n%u", &i) == 1 && i < NODES)
            nodes_set[i] = true;
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

int upd_slurm_load_one(struct updater *u, struct upd_node *n)
{
    return -1;
}

int upd_slurm_drain(struct updater *u, const char *node, const char *reason)
{
    return -1;
}

int upd_slurm_resume(struct updater *u, const char *node)
{
    return -1;
}

int upd_slurm_reconfigure(struct updater *u)
{
    return -1;
}

void upd_jobs_look(struct updater *u)
{
}

void upd_jobs_tell(struct updater *u)
{
}

int topology_install(const char *candidate, const char *path,
                     struct errbuf *err)
{
    return 0;
}

void slurm_xfree(void **p)
{
    free(*p);
    *p = NULL;
}

/* ---- the collector --------------------------------------------------------
 */

struct bed {
    struct mgrconf conf;
    struct updater_orders orders;
    char state[64];
    int fd, its;
    pthread_t thread;
};

static void *run(void *arg)
{
    struct bed *b = arg;

    updater_run(&b->conf, "/dev/null", b->its, b->state, &b->orders);
    return NULL;
}

static int bed_up(void **state)
{
    struct bed *b = calloc(1, sizeof(*b));
    int pair[2];

    updates = 0;
    memset(nodes_set, 0, sizeof(nodes_set));
    snprintf(b->state, sizeof(b->state), "/tmp/test_updater.%d", (int)getpid());
    if (mgrconf_parse(&b->conf, "", "SlurmRate = 100\n", NULL, NULL) < 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    b->fd = pair[0];
    b->its = pair[1];
    *state = b;
    return pthread_create(&b->thread, NULL, run, b);
}

static int bed_down(void **state)
{
    struct bed *b = *state;

    close(b->fd); /* the updater ends when the collector has gone */
    pthread_join(b->thread, NULL);
    close(b->its);
    mgrconf_free(&b->conf);
    unlink(b->state);
    free(b);
    return 0;
}

/* Read until there is a status; how many nodes came before it. */
static unsigned nodes_before_a_status(struct bed *b)
{
    union {
        uint32_t type;
        struct rec_node node;
        struct rec_status status;
    } rec;
    unsigned n = 0;

    while (recv(b->fd, &rec, sizeof(rec), 0) > 0) {
        if (rec.type == REC_STATUS && rec.status.nodes > 0)
            return n;
        n += rec.type == REC_NODE && rec.node.addr.s_addr != 0;
    }
    fail_msg("the updater has gone");
    return 0;
}

/* The collector hears reports from the first status on. */
static void the_first_status_comes_after_all_nodes(void **state)
{
    assert_int_equal(nodes_before_a_status(*state), NODES);
}

static unsigned nodes_that_are_set(void)
{
    unsigned n = 0;

    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < NODES; i++)
        n += nodes_set[i];
    pthread_mutex_unlock(&lock);
    return n;
}

/* Each update makes the next one load all nodes anew: as many as the socket
 * holds of it at a time would be some fifteen. */
static void what_is_wanted_of_all_is_told_together(void **state)
{
    struct bed *b = *state;

    nodes_before_a_status(b);
    for (unsigned i = 0; i < NODES; i++) {
        struct rec_want rec = {
            .type = REC_WANT,
            .at = clock_ms(),
            .want = {
                .state = HEALTH_HEALTHY, .rails = 1, .since = 1, .resume = 1}};

        node_name(rec.want.node, i);
        assert_int_equal(send(b->fd, &rec, sizeof(rec), 0), sizeof(rec));
    }
    while (nodes_that_are_set() < NODES)
        nodes_before_a_status(b);
    assert_in_range(updates, 1, 5);
}

static void want_of_long_ago(struct bed *b)
{
    struct rec_want rec = {.type = REC_WANT, .at = clock_ms() - 60000};

    rec.want = (struct plan_want){
        .state = HEALTH_HEALTHY, .rails = 1, .since = 1, .resume = 1};
    node_name(rec.want.node, 7);
    assert_int_equal(send(b->fd, &rec, sizeof(rec), 0), sizeof(rec));
}

static bool is_asked_for_again(struct bed *b)
{
    union {
        uint32_t type;
        struct rec_node node;
        struct rec_status status;
    } rec;
    bool again = false;

    while (recv(b->fd, &rec, sizeof(rec), 0) > 0) {
        if (rec.type == REC_NODE)
            again = again || rec.node.flags & REC_NODE_AGAIN;
        else if (again)
            return true;
    }
    return false;
}

/* Slurm may hang twice in a row. */
static void a_want_that_is_late_twice_is_asked_for_twice(void **state)
{
    struct bed *b = *state;

    nodes_before_a_status(b);
    want_of_long_ago(b);
    assert_true(is_asked_for_again(b));
    want_of_long_ago(b);
    assert_true(is_asked_for_again(b));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, bed_up, bed_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_status_comes_after_all_nodes),
        TEST(what_is_wanted_of_all_is_told_together),
        TEST(a_want_that_is_late_twice_is_asked_for_twice),
    };

    return cmocka_run_group_tests_name("updater", tests, NULL, NULL);
}
