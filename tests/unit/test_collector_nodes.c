/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What switchmgrd wants of nodes and writes into the health table, with
 * thousands of them: a change of one costs what that one costs.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "health_world.h"
#include "switchmgrd/collector.h"
#include "switchmgrd/jobs.h"

#define NODES 4000
#define LINE_MAX_BYTES 200 /* of the table, and its head has no more */

static int64_t clock_now;

int64_t steady_now(void)
{
    return clock_now;
}

int64_t steady_wall(int64_t ms)
{
    return ms;
}

void collector_event(struct collector *n, int64_t now, const char *fmt, ...)
{
}

void collector_events_alarm(const char *text, int64_t now, void *arg)
{
    fail_msg("%s", text);
}

void collector_reports_start(struct collector *n)
{
}

bool jobs_take(struct jobs *jobs, const struct rec_job *rec)
{
    return true;
}

struct bed {
    struct collector n;
    int updater; /* its end */
    uint64_t seq;
    char table[64];
    struct rec_want last; /* of the updater's records */
};

static void changed_item(const struct health_item *item, enum health_state was,
                         int64_t now, void *arg)
{
    if (item->kind == REPORT_HOST)
        collector_nodes_changed(arg, item);
}

/* Records that the updater has not read yet. */
static unsigned read_all(struct bed *b)
{
    unsigned n = 0;

    for (;;) {
        while (recv(b->updater, &b->last, sizeof(b->last), MSG_DONTWAIT) > 0)
            n++;
        if (STAILQ_EMPTY(&b->n.dirty))
            return n;
        b->n.updater_full = false;
        collector_nodes_send(&b->n);
    }
}

static void says(struct bed *b, int i, enum report_seen seen, const char *why)
{
    assert_int_equal(hsnd_says(b->n.model, ++b->seq, i, seen, why, clock_now),
                     0);
}

/* All are healthy, and the updater has been told. */
static int bed_up(void **state)
{
    struct bed *b = calloc(1, sizeof(*b));
    struct model_ops ops = {
        .changed = changed_item, .stirs = collector_nodes_stir, .arg = &b->n};
    struct model_conf conf;
    char name[16];
    int fds[2];

    model_conf_defaults(&conf);
    conf.up_after = 0;
    clock_now = T0;
    collector_nodes_init(&b->n);
    b->n.loop = ev_loop_new(0);
    b->n.model = model_new(&conf, &ops);
    b->n.policy = (struct policy_conf){0};
    strcpy(b->table, "/tmp/nodesXXXXXX");
    close(mkstemp(b->table));
    b->n.conf.health_table = b->table;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
    b->n.updater_fd = fds[0];
    b->updater = fds[1];
    ev_io_init(&b->n.updater_out, NULL, fds[0], EV_WRITE);
    for (int i = 0; i < NODES; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        collector_node_make(&b->n, name)->in_slurm = true;
        says(b, i, SEEN_UP, "");
    }
    collector_nodes_judge(&b->n);
    assert_int_equal(read_all(b), NODES);
    collector_nodes_follow(&b->n);
    assert_int_equal(read_all(b), 0);
    *state = b;
    return 0;
}

static int bed_down(void **state)
{
    struct bed *b = *state;
    struct collector_node *p, *next;

    HASH_ITER(hh, b->n.nodes, p, next)
    {
        HASH_DEL(b->n.nodes, p);
        free(p->unwell);
        free(p);
    }
    ev_io_stop(b->n.loop, &b->n.updater_out);
    ev_loop_destroy(b->n.loop);
    close(b->n.updater_fd);
    close(b->updater);
    unlink(b->table);
    model_free(b->n.model);
    free(b);
    return 0;
}

/* Everybody else would be wanted otherwise if he were looked at. */
static void change_all_others(struct bed *b)
{
    b->n.policy.resume_after = INT64_MAX / 2;
}

static void read_table(struct bed *b, struct health_table_reader *r)
{
    struct errbuf err;

    collector_nodes_table(&b->n);
    assert_int_equal(health_table_look(r, b->table, &err), HEALTH_TABLE_NEW);
}

static void a_change_of_one_node_looks_at_no_other(void **state)
{
    struct bed *b = *state;

    change_all_others(b);
    says(b, 7, SEEN_DOWN, "cable");
    collector_nodes_follow(&b->n);
    assert_int_equal(read_all(b), 1);
    assert_string_equal(b->last.want.node, "n7");
    assert_int_equal(b->last.want.state, HEALTH_DOWN);
    says(b, 8, SEEN_DOWN, "cable");
    says(b, 9, SEEN_DOWN, "cable");
    says(b, 8, SEEN_UP, "");
    collector_nodes_follow(&b->n);
    assert_int_equal(read_all(b), 2);
    /* A look at all finds the others. */
    collector_nodes_judge(&b->n);
    assert_int_equal(read_all(b), NODES - 3);
}

static void the_table_has_a_line_for_each_that_is_unwell(void **state)
{
    struct bed *b = *state;
    struct health_table_reader r = {0};
    const struct health_table_node *e;
    struct stat st;

    says(b, 7, SEEN_DOWN, "cable");
    says(b, 3999, SEEN_DOWN, "cable");
    collector_nodes_follow(&b->n);
    read_table(b, &r);
    assert_int_equal(r.table.nodes, NODES);
    assert_int_equal(r.table.healthy, NODES - 2);
    assert_int_equal(r.table.n, 2);
    e = health_table_find(&r.table, "n7");
    assert_non_null(e);
    assert_int_equal(e->state, HEALTH_DOWN);
    assert_int_equal(e->since, T0);
    assert_int_equal(e->rails, 1);
    assert_string_equal(e->why, "cable");
    assert_int_equal(stat(b->table, &st), 0);
    assert_in_range(st.st_size, 1, 3 * LINE_MAX_BYTES);
    says(b, 7, SEEN_UP, "");
    collector_nodes_follow(&b->n);
    read_table(b, &r);
    assert_int_equal(r.table.healthy, NODES - 1);
    assert_null(health_table_find(&r.table, "n7"));
    assert_non_null(health_table_find(&r.table, "n3999"));
    health_table_reader_free(&r);
}

/* By what a look at all finds it is the same table. */
static void a_look_at_all_finds_what_was_followed(void **state)
{
    struct bed *b = *state;
    struct health_table_reader r = {0};

    for (int i = 0; i < 50; i++)
        says(b, i * 37, SEEN_DOWN, "cable");
    collector_nodes_follow(&b->n);
    assert_int_equal(b->n.nunwell, 50);
    collector_nodes_judge(&b->n);
    assert_int_equal(b->n.nunwell, 50);
    assert_int_equal(b->n.nwell, NODES - 50);
    read_table(b, &r);
    assert_int_equal(r.table.n, 50);
    health_table_reader_free(&r);
}

static void a_node_that_is_forgotten_leaves_the_table(void **state)
{
    struct bed *b = *state;
    struct health_table_reader r = {0};

    says(b, 7, SEEN_DOWN, "cable");
    collector_nodes_follow(&b->n);
    clock_now += 86400000;
    for (int i = 0; i < NODES; i++)
        if (i != 7)
            says(b, i, SEEN_UP, "");
    clock_now += SEC;
    model_listens(b->n.model, clock_now);
    model_tick(b->n.model, clock_now);
    assert_null(model_host(b->n.model, "n7", 0));
    collector_nodes_judge(&b->n);
    read_table(b, &r);
    assert_int_equal(r.table.nodes, NODES - 1);
    assert_int_equal(r.table.n, 0);
    health_table_reader_free(&r);
}

static void a_dry_run_refuses_nothing_in_the_table(void **state)
{
    struct bed *b = *state;
    struct health_table_reader r = {0};

    b->n.conf.dry_run = true;
    says(b, 7, SEEN_DOWN, "cable");
    collector_nodes_follow(&b->n);
    read_table(b, &r);
    assert_int_equal(health_table_find(&r.table, "n7")->refuse, 0);
    b->n.conf.dry_run = false;
    collector_nodes_judge(&b->n);
    read_table(b, &r);
    assert_int_equal(health_table_find(&r.table, "n7")->refuse, 1);
    health_table_reader_free(&r);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, bed_up, bed_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(a_change_of_one_node_looks_at_no_other),
        TEST(the_table_has_a_line_for_each_that_is_unwell),
        TEST(a_look_at_all_finds_what_was_followed),
        TEST(a_node_that_is_forgotten_leaves_the_table),
        TEST(a_dry_run_refuses_nothing_in_the_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
