/* SPDX-License-Identifier: BSD-3-Clause
 * The updater's looks at Slurm, with a library of ours in the place of Slurm's
 * that counts its memory and leaves behind what Slurm 22.05 leaves behind; and
 * its times, with clocks of ours.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "fake_clock.h"
#include "fake_hostlist.h"
#include "health/plan.h"
#include "suite.h"
#include "slurmabi/slurm_sym.h"
#include "switchmgrd/steady_clock.h"
#include "switchmgrd/topology.h"
#include "switchmgrd/updater.h"

#define NODES 3
#define HOUR 3600000

static int live;               /* texts of Slurm's that nobody has freed */
static uint32_t nodes = NODES; /* that Slurm has */
static int loads;              /* of its nodes */
static const char *extra = "fabric=up";
static char extra_set[64]; /* by the updater, at first */

/* ---- the clocks ---------------------------------------------------------- */

/* Of the steady clock: the updater is to stop. */
static int64_t end = INT64_MAX;
static int64_t set_at_load;
static struct updater_orders orders;

static void pass(int64_t ms)
{
    wall += ms;
    steady += ms;
    orders.stop = steady >= end;
}

/* Nothing ever comes but what this sends. */
static void (*at_poll)(void);
static bool sent_at_once; /* it did, and nobody has to wait */

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
    bool ready;

    if (at_poll)
        at_poll();
    ready = sent_at_once;
    sent_at_once = false;
    pass(timeout > 0 && !ready ? timeout : 1);
    return ready;
}

/* ---- Slurm's part -------------------------------------------------------- */

static char *text(const char *s)
{
    live++;
    return strdup(s);
}

void slurm_xfree(void **item)
{
    live -= *item != NULL;
    free(*item);
    *item = NULL;
}

static node_info_msg_t *some_nodes(const char *first, uint32_t n)
{
    node_info_msg_t *msg = calloc(1, sizeof(*msg));

    msg->record_count = n;
    msg->node_array = calloc(n, sizeof(*msg->node_array));
    msg->last_update = 1;
    for (uint32_t i = 0; i < n; i++) {
        node_info_t *node = &msg->node_array[i];
        char name[8] = {first[0], (char)(first[1] + (char)i), '\0'};

        node->name = text(name);
        node->node_state = NODE_STATE_IDLE;
        node->node_addr = text("127.0.0.1");
        node->bcast_address = text("127.0.0.2");
        node->features = text("fabric_up");
        node->extra = text(extra);
        node->comment = text("fabric=up");
    }
    return msg;
}

int slurm_load_node(time_t since, node_info_msg_t **msg, uint16_t flags)
{
    loads++;
    wall += set_at_load;
    set_at_load = 0;
    *msg = some_nodes("n0", nodes);
    return SLURM_SUCCESS;
}

int slurm_load_node_single(node_info_msg_t **msg, char *name, uint16_t flags)
{
    *msg = some_nodes(name, 1);
    return SLURM_SUCCESS;
}

/* As in 22.05: not the extra, the comment, the address for broadcasts. */
void slurm_free_node_info_msg(node_info_msg_t *msg)
{
    for (uint32_t i = 0; i < msg->record_count; i++) {
        slurmabi_free(msg->node_array[i].name);
        slurmabi_free(msg->node_array[i].node_addr);
        slurmabi_free(msg->node_array[i].features);
    }
    free(msg->node_array);
    free(msg);
}

char *slurm_strerror(int code)
{
    return "no error";
}

int slurm_load_ctl_conf(time_t since, slurm_conf_t **conf)
{
    return SLURM_ERROR;
}

#if SLURMABI_SINCE(26, 5)
#define slurm_free_ctl_conf slurm_free_conf
#endif
void slurm_free_ctl_conf(slurm_conf_t *conf)
{
}

void slurm_init_update_node_msg(update_node_msg_t *msg)
{
    memset(msg, 0, sizeof(*msg));
}

static int drains;

int slurm_update_node(update_node_msg_t *msg)
{
    drains += msg->node_state == NODE_STATE_DRAIN;
    if (msg->extra && !*extra_set)
        snprintf(extra_set, sizeof(extra_set), "%s", msg->extra);
    return SLURM_SUCCESS;
}

int slurm_reconfigure(void)
{
    return SLURM_SUCCESS;
}

/* ---- the updater's ------------------------------------------------------- */

int topology_install(const char *from, const char *to, struct errbuf *err)
{
    return 0;
}

static void looks_at_slurm_leave_no_memory(void **state)
{
    struct updater u = {.fd = -1};
    struct upd_node *n, *next;

    for (int i = 0; i < 3; i++) {
        assert_int_equal(upd_slurm_load(&u), 1);
        assert_int_equal(live, 0);
    }
    assert_int_equal(HASH_COUNT(u.nodes), NODES);
    n = upd_node_make(&u, "n1");
    assert_string_equal(n->extra, "fabric=up");
    assert_int_equal(upd_slurm_load_one(&u, n), 0);
    assert_int_equal(live, 0);
    HASH_ITER(hh, u.nodes, n, next)
    {
        HASH_DEL(u.nodes, n);
        free(n->features);
        free(n->features_act);
        free(n->extra);
        free(n->comment);
        free(n->addr_text);
        free(n);
    }
}

/* ---- its times ------------------------------------------------------------
 */

/* How often the updater looks at Slurm in a minute; the wall clock is set by
 * `ahead` at the first time. */
static int looks_when_set_by(int64_t ahead)
{
    struct mgrconf conf = {.slurm_poll = 10, .slurm_rate = 10};
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
    nodes = 0;
    loads = orders.stop = 0;
    end = steady + 60000;
    set_at_load = ahead;
    assert_int_equal(updater_run(&conf, "", fds[0], "/no/such/state", &orders),
                     0);
    nodes = NODES;
    end = INT64_MAX;
    close(fds[0]);
    close(fds[1]);
    return loads;
}

static void a_clock_set_back_pauses_no_look_at_slurm(void **state)
{
    int undisturbed = looks_when_set_by(0);

    assert_in_range(undisturbed, 5, 7); /* SlurmPoll is 10 s */
    assert_int_equal(looks_when_set_by(-HOUR), undisturbed);
    assert_int_equal(looks_when_set_by(HOUR), undisturbed);
}

/* ---- wants that are late --------------------------------------------------
 */

static int collector;  /* its end */
static int64_t waited; /* of the next want, before it is read; -1: none */
static bool asked_again;

static void send_want(void)
{
    struct rec_want rec = {.type = REC_WANT, .at = clock_ms() - waited};
    union {
        uint32_t type;
        struct rec_node node;
    } got;

    while (recv(collector, &got, sizeof(got), MSG_DONTWAIT) > 0)
        asked_again |= got.type == REC_NODE &&
                       strcmp(got.node.name, "n1") == 0 &&
                       got.node.flags & REC_NODE_AGAIN;
    if (waited < 0 || loads == 0)
        return;
    strcpy(rec.want.node, "n1");
    rec.want.state = HEALTH_DOWN;
    rec.want.rails = 1;
    rec.want.drain = 1;
    rec.want.since = 1;
    assert_int_equal(send(collector, &rec, sizeof(rec), 0), sizeof(rec));
    waited = -1;
}

/* How often n1 is drained for a want of `story` that waited so long (ms). */
static int drains_when(void (*story)(void), int64_t ms)
{
    struct mgrconf conf = {.slurm_poll = 10, .slurm_rate = 10};
    const char *state = "test_updater_slurm.state";
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
    collector = fds[1];
    waited = ms;
    asked_again = false;
    loads = drains = orders.stop = 0;
    end = steady + 60000;
    mgrconf_caps(&conf, &(struct caps_conf){0});
    conf.drain_max = conf.drain_percent = 100;
    conf.extra = true;
    at_poll = story;
    assert_int_equal(updater_run(&conf, "", fds[0], state, &orders), 0);
    at_poll = NULL;
    end = INT64_MAX;
    remove(state);
    close(fds[0]);
    close(fds[1]);
    return drains;
}

static int drains_for(int64_t ms)
{
    return drains_when(send_want, ms);
}

/* The updater stood still, or was stopped: what it finds then may be over. */
static void a_want_that_waited_for_long_drains_nobody(void **state)
{
    assert_int_equal(drains_for(0), 1);
    assert_false(asked_again);
    assert_int_equal(drains_for(REC_WANT_LATE_MS + 1000), 0);
    assert_true(asked_again);
}

/* Right after the first look an administrator sets a node's Extra, and
 * something is wanted of the node. */
static void set_extra_and_want(void)
{
    if (loads == 0 || waited < 0)
        return;
    extra_set[0] = '\0';
    extra = "rack=7 fabric=up";
    send_want();
    sent_at_once = true;
}

static void what_was_set_since_the_last_look_stays(void **state)
{
    assert_int_equal(drains_when(set_extra_and_want, 0), 1);
    extra = "fabric=up";
    assert_non_null(strstr(extra_set, "rack=7"));
}

static struct updater *with_one_drain_an_hour(void)
{
    struct updater *u = calloc(1, sizeof(*u));
    static struct mgrconf conf;

    u->conf = &conf;
    u->state_path = "test_updater_slurm.state";
    u->caps_conf =
        (struct caps_conf){.max = 1, .interval = HOUR, .max_percent = 100};
    return u;
}

static void a_clock_set_forward_does_not_lift_the_caps(void **state)
{
    struct updater *u = with_one_drain_an_hour();

    assert_true(upd_caps_take(u));
    wall += 2 * HOUR;
    assert_false(upd_caps_room(u));
    pass(HOUR);
    assert_true(upd_caps_room(u));
    wall -= 2 * HOUR;
    free(u);
}

/* What a restart reads was written by the wall clock of then. */
static bool room_after_restart(int64_t set, int64_t later)
{
    struct updater *u = with_one_drain_an_hour();
    bool room;

    assert_true(upd_caps_take(u));
    wall += set;
    upd_state_save(u);
    wall -= set;
    free(u);
    pass(later);
    u = with_one_drain_an_hour();
    upd_state_load(u);
    room = upd_caps_room(u);
    remove(u->state_path);
    free(u);
    return room;
}

static void the_caps_are_kept_over_a_restart_by_the_wall_clock(void **state)
{
    assert_false(room_after_restart(0, HOUR - 1000));
    assert_true(room_after_restart(0, HOUR));
    assert_true(room_after_restart(-HOUR, 0));
    /* It seems to come from the future: as if it were now. */
    assert_false(room_after_restart(3 * HOUR, 2 * HOUR));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_at_slurm_leave_no_memory),
        cmocka_unit_test(a_clock_set_back_pauses_no_look_at_slurm),
        cmocka_unit_test(a_want_that_waited_for_long_drains_nobody),
        cmocka_unit_test(what_was_set_since_the_last_look_stays),
        cmocka_unit_test(a_clock_set_forward_does_not_lift_the_caps),
        cmocka_unit_test(the_caps_are_kept_over_a_restart_by_the_wall_clock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
