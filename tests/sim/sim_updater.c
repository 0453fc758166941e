/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The updater of a large machine in virtual time: the real one, 65 536 nodes,
 * a Slurm of which one look at all nodes takes 40 s, and a collector that has
 * its turn now and then, as on a busy machine.  Between the two are sockets
 * that hold some hundred records each.
 *
 * Work is counted in looks at Slurm.  However long a look takes, all that the
 * collector knows comes to Slurm within a few of them; and what healed while
 * one lasted is not drained after it.
 *
 *   sim_updater [FIRST [LAST]]    faults and heals of those seeds
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "health/mgrconf.h"
#include "health/plan.h"
#include "net/rng.h"
#include "slurmabi/slurm_sym.h"
#include "switchmgrd/topology.h"
#include "switchmgrd/updater.h"
#include "tests/unit/fake_clock.h"
#include "tests/unit/fake_hostlist.h"

#define NODES 65536
#define LOOK_MS 40000 /* at all nodes */
#define ONE_MS 20     /* at one node, or a change of some */
#define TURN_MS 300   /* from one turn of the collector to its next */
#define READ_MAX 1000 /* records that it reads in one */
#define QUEUE 278     /* records that the socket holds */
#define LOOKS_FEW 8   /* until everything that is known is in Slurm */
#define HOUR 3600000  /* the longest run */
#define FAIL 60       /* nodes at a time */
#define CHANGES 4     /* looks in which some fail and some heal */

/* ---- the world ----------------------------------------------------------- */

struct node {
    /* Slurm's */
    bool drain, own;
    char extra[160], reason[160];
    /* The collector's */
    struct plan_want want;
    bool known, dirty;
};

static struct node node[NODES];

union record {
    uint32_t type;
    struct rec_want want;
    struct rec_node node;
    struct rec_status status;
};

struct queue {
    union record at[QUEUE];
    size_t len[QUEUE];
    unsigned head, n;
};

static struct queue to_updater, to_collector;
static unsigned dirty[NODES], dirty_head, dirty_n; /* the collector's list */
static int64_t next_turn, give_up;
static unsigned looks, drains;
static int64_t looked;        /* the end of the last one; 0: it goes on */
static uint32_t waiting;      /* nodes that the updater has something for */
static void (*between)(void); /* at turns of the collector without a look */
static struct updater_orders orders;
static struct net_rng chance;
static uint64_t first = 1, last = 3;
static void (*story)(void); /* in the middle of each look; NULL: it is over */

static bool put(struct queue *q, const void *rec, size_t len)
{
    unsigned at = (q->head + q->n) % QUEUE;

    if (q->n == QUEUE)
        return false;
    memcpy(&q->at[at], rec, len);
    q->len[at] = len;
    q->n++;
    return true;
}

static size_t take(struct queue *q, void *rec, size_t size)
{
    size_t len = q->len[q->head];

    memcpy(rec, &q->at[q->head], len < size ? len : size);
    q->head = (q->head + 1) % QUEUE;
    q->n--;
    return len;
}

/* ---- the collector ------------------------------------------------------- */

static void list(unsigned i)
{
    if (node[i].dirty)
        return;
    node[i].dirty = true;
    dirty[(dirty_head + dirty_n++) % NODES] = i;
}

static void make_want(unsigned i, enum health_state state)
{
    struct plan_want *w = &node[i].want;
    bool down = state == HEALTH_DOWN;

    memset(w, 0, sizeof(*w));
    snprintf(w->node, sizeof(w->node), "n%u", i);
    w->state = (uint8_t)state;
    w->rails = 1;
    w->rail_state[0] = (uint8_t)state;
    w->drain = down;
    w->resume = !down;
    w->since = clock_ms();
    if (node[i].known)
        list(i);
}

static void read_of_updater(void)
{
    union record rec;
    unsigned i;

    for (int have = 0; have < READ_MAX && to_collector.n; have++) {
        take(&to_collector, &rec, sizeof(rec));
        if (rec.type == REC_STATUS)
            waiting = rec.status.waiting;
        if (rec.type != REC_NODE)
            continue;
        assert_int_equal(sscanf(rec.node.name, "n%u", &i), 1);
        if (!node[i].known || rec.node.flags & REC_NODE_AGAIN)
            list(i);
        node[i].known = true;
    }
}

/* As collector_nodes.c: what is wanted by now, while there is room. */
static void its_turn(void)
{
    struct rec_want rec;

    read_of_updater();
    while (dirty_n) {
        unsigned i = dirty[dirty_head];

        memset(&rec, 0, sizeof(rec));
        rec.type = REC_WANT;
        rec.at = clock_ms();
        rec.want = node[i].want;
        if (!put(&to_updater, &rec, sizeof(rec)))
            return;
        node[i].dirty = false;
        dirty_head = (dirty_head + 1) % NODES;
        dirty_n--;
    }
}

/* ---- time ---------------------------------------------------------------- */

static void pass(int64_t ms)
{
    int64_t until = steady + ms;

    while (steady < until) {
        int64_t to = next_turn < until ? next_turn : until;

        wall += to - steady;
        steady = to;
        if (steady < next_turn)
            continue;
        if (between && looked)
            between();
        its_turn();
        next_turn = steady + TURN_MS;
    }
}

static bool is_settled(void);

/* What there is to wait for comes with a turn of the collector. */
int poll(struct pollfd *fds, nfds_t n, int timeout)
{
    int64_t until = steady + (timeout > 0 ? timeout : 0);
    bool in = n && fds->events & POLLIN;

    orders.stop = steady >= give_up || (!story && is_settled());
    if (timeout == 0)
        pass(1); /* nothing runs for no time at all */
    for (;;) {
        if (n && (in ? to_updater.n > 0 : to_collector.n < QUEUE))
            return 1;
        if (steady >= until)
            return 0;
        pass((next_turn < until ? next_turn : until) - steady);
    }
}

ssize_t recv(int fd, void *rec, size_t size, int flags)
{
    if (to_updater.n)
        return (ssize_t)take(&to_updater, rec, size);
    errno = EAGAIN;
    return -1;
}

ssize_t send(int fd, const void *rec, size_t len, int flags)
{
    if (put(&to_collector, rec, len))
        return (ssize_t)len;
    errno = EAGAIN;
    return -1;
}

/* ---- Slurm --------------------------------------------------------------- */

static void take_over(struct updater *u, unsigned i)
{
    struct upd_node *n = upd_node_make(u, node[i].want.node);

    assert_non_null(n);
    free(n->extra);
    free(n->reason);
    n->extra = strdup(node[i].extra);
    n->reason = strdup(node[i].reason);
    n->addr.s_addr = 0x0100007f;
    if (n->own != node[i].own || n->drain != node[i].drain)
        n->told = false;
    n->own = node[i].own;
    n->drain = node[i].drain;
    n->dirty = n->seen = true;
}

int upd_slurm_load(struct updater *u)
{
    looks++;
    looked = 0;
    pass(LOOK_MS / 2);
    if (story)
        story();
    pass(LOOK_MS / 2);
    looked = steady;
    for (unsigned i = 0; i < NODES; i++)
        take_over(u, i);
    u->status.reachable = 1;
    return 1;
}

int upd_slurm_load_one(struct updater *u, struct upd_node *n)
{
    unsigned i;

    pass(ONE_MS);
    assert_int_equal(sscanf(n->name, "n%u", &i), 1);
    take_over(u, i);
    return 0;
}

/* Names are "n0,n1,..". */
int upd_slurm_set(struct updater *u, const char *nodes, const char *features,
                  const char *extra, const char *comment)
{
    unsigned i;

    pass(ONE_MS);
    for (const char *at = nodes; at; at = strchr(at, ',')) {
        at += *at == ',';
        i = (unsigned)strtoul(at + 1, NULL, 10);
        assert_in_range(i, 0, NODES - 1);
        if (extra)
            snprintf(node[i].extra, sizeof(node[i].extra), "%s", extra);
    }
    return 0;
}

int upd_slurm_drain(struct updater *u, const char *name, const char *reason)
{
    unsigned i;

    pass(ONE_MS);
    assert_int_equal(sscanf(name, "n%u", &i), 1);
    node[i].drain = node[i].own = true;
    drains++;
    snprintf(node[i].reason, sizeof(node[i].reason), "%s", reason);
    return 0;
}

int upd_slurm_resume(struct updater *u, const char *name)
{
    unsigned i;

    pass(ONE_MS);
    assert_int_equal(sscanf(name, "n%u", &i), 1);
    node[i].drain = node[i].own = false;
    return 0;
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

/* ---- the run ------------------------------------------------------------- */

/* Does Slurm have of it what the collector wants? */
static bool is_in(unsigned i)
{
    const struct node *n = &node[i];
    bool down = n->want.state == HEALTH_DOWN;

    return strncmp(n->extra, down ? "fabric=down" : "fabric=up",
                   down ? 11 : 9) == 0 &&
           n->drain == down;
}

static bool is_settled(void)
{
    static unsigned at; /* most often the same one is missing */

    for (unsigned k = 0; k < NODES; k++, at = (at + 1) % NODES) {
        if (!is_in(at))
            return false;
    }
    return true;
}

static unsigned in_slurm(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < NODES; i++)
        n += is_in(i);
    return n;
}

/* All are healthy, of which Slurm has nothing yet. */
static void begin(uint64_t seed)
{
    memset(node, 0, sizeof(node));
    memset(&to_updater, 0, sizeof(to_updater));
    memset(&to_collector, 0, sizeof(to_collector));
    chance.state = seed;
    dirty_head = dirty_n = drains = 0;
    story = between = NULL;
    waiting = NODES;
    next_turn = steady + TURN_MS;
    for (unsigned i = 0; i < NODES; i++)
        make_want(i, HEALTH_HEALTHY);
}

/* The updater, until the story is over and Slurm has all, for an hour at most.
 */
static void run(void)
{
    struct mgrconf conf;
    char state[64];

    assert_int_equal(mgrconf_parse(&conf, "",
                                   "Features = no\nComment = no\n"
                                   "DrainMax = 256\nDrainPercent = 100\n",
                                   NULL, NULL),
                     0);
    snprintf(state, sizeof(state), "/tmp/sim_updater.%d", (int)getpid());
    looks = 0;
    give_up = steady + HOUR;
    orders.stop = 0;
    assert_int_equal(updater_run(&conf, "/dev/null", 0, state, &orders), 0);
    unlink(state);
    mgrconf_free(&conf);
}

static void all_nodes_come_to_slurm_within_a_few_looks(void **state)
{
    begin(0);
    run();
    print_message("%u of %u nodes in Slurm after %u looks\n", in_slurm(), NODES,
                  looks);
    assert_int_equal(in_slurm(), NODES);
    assert_in_range(looks, 1, LOOKS_FEW);
}

static void strike(unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        make_want(net_rng_below(&chance, NODES), HEALTH_DOWN);
}

static void heal(double part)
{
    for (unsigned i = 0; i < NODES; i++) {
        if (node[i].want.state == HEALTH_DOWN && net_rng_chance(&chance, part))
            make_want(i, HEALTH_HEALTHY);
    }
}

static void some_fail_and_some_heal(void)
{
    heal(0.5);
    strike(FAIL);
    if (looks == CHANGES)
        story = NULL;
}

static void faults_and_heals_among_them_come_too(void **state)
{
    for (uint64_t seed = first; seed <= last; seed++) {
        begin(seed);
        strike(FAIL);
        story = some_fail_and_some_heal;
        run();
        print_message("seed %u: %u of %u nodes in Slurm after %u looks, "
                      "%u drains\n",
                      (unsigned)seed, in_slurm(), NODES, looks, drains);
        assert_int_equal(in_slurm(), NODES);
        assert_in_range(looks, 1, CHANGES + LOOKS_FEW);
    }
}

/* The updater has read all that the collector wants of all nodes. */
static bool all_is_read(void)
{
    unsigned known = 0;

    for (unsigned i = 0; i < NODES; i++)
        known += node[i].known;
    return known == NODES && !dirty_n && !to_updater.n && !to_collector.n;
}

/* They fail in a quiet cluster, and heal while the updater, which has heard of
 * all of them, looks at Slurm before it drains them. */
static void all_heal(void)
{
    if (!all_is_read())
        return;
    heal(1.);
    story = NULL;
}

static void some_fail(void)
{
    if (!all_is_read())
        return;
    strike(FAIL);
    story = all_heal;
}

static void what_healed_while_slurm_was_looked_at_is_not_drained(void **state)
{
    begin(1);
    for (unsigned i = 0; i < NODES; i++)
        strcpy(node[i].extra, "fabric=up:rail0=up");
    story = some_fail;
    run();
    assert_null(story);
    assert_int_equal(drains, 0);
    assert_int_equal(in_slurm(), NODES);
}

/* Some fail in a quiet cluster, while nobody looks at Slurm. */
static int64_t failed_at;
static unsigned looks_then;

static void nothing(void)
{
}

static void fail_now(void)
{
    if (!all_is_read() || waiting || steady - looked > LOOK_MS / 4)
        return;
    strike(FAIL);
    failed_at = steady;
    looks_then = looks;
    story = between = NULL;
}

/* What is to be done to a few nodes does not cost a look at all of them. */
static void a_few_faults_come_without_a_look_at_all_nodes(void **state)
{
    begin(1);
    for (unsigned i = 0; i < NODES; i++)
        strcpy(node[i].extra, "fabric=up:rail0=up");
    story = nothing;
    between = fail_now;
    run();
    assert_null(story);
    print_message("%u nodes down in Slurm after %u ms and %u looks\n", FAIL,
                  (unsigned)(steady - failed_at), looks - looks_then);
    assert_int_equal(in_slurm(), NODES);
    assert_int_equal(looks, looks_then);
    assert_true(steady - failed_at < LOOK_MS / 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_nodes_come_to_slurm_within_a_few_looks),
        cmocka_unit_test(faults_and_heals_among_them_come_too),
        cmocka_unit_test(what_healed_while_slurm_was_looked_at_is_not_drained),
        cmocka_unit_test(a_few_faults_come_without_a_look_at_all_nodes),
    };

    if (argc > 1)
        first = last = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        last = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
