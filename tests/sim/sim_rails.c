/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hosts with two rails, in virtual time and by seed: two fabrics, a mapper of
 * GM-1 on each NIC, who report as mapperd does, and what an hsnd of each NIC
 * says; one switchmgrd with the real model and the real policy.  Cables of
 * single NICs are pulled, also of the mapper that leads on one rail and not on
 * the other, and mappers are killed.
 *
 * Looked at in each step:
 *  - a NIC without a fault is never called worse than unknown, whatever its
 *    node's other NIC does; without a mapper it may be degraded;
 *  - nobody says that two mappers lead;
 *  - a node is drained only for a NIC that is cut off, with DrainRails=all only
 *    when both are.
 * And a NIC that stays cut off is called down, its node is drained, and all is
 * well again after it.
 *
 *   sim_rails [FIRST [LAST]]    those seeds
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "health/model.h"
#include "health/policy.h"
#include "mapper_world.h"
#include "net/build.h"

#define SEEDS 12
#define RAILS 2
#define HOSTS_MAX 16
#define TICK 200        /* ms */
#define TOLD_EVERY 5000 /* HealthInterval */
#define QUIET 75000     /* between two words of a mapper that does not lead */
#define RECOVERS 25000  /* a fault may still show */
#define HOLDS 100000    /* a fault */
#define EPOCH 1700000000000

static const char *const nets[] = {"clos:2x2:1x2:1x1", "line:3:2", "ring:5:2",
                                   "torus:3x3:1"};
#define NETS (sizeof(nets) / sizeof(*nets))

struct nic {
    bool cut, killed;
    uint32_t peer; /* where its cable was */
    unsigned port;
    int64_t faulty_until;
    int64_t unmapped_until; /* its mapper was dead: no map has it */
    int64_t hsnd_next, mapper_next;
    uint64_t hsnd_seq, mapper_seq, instance;
    uint32_t told; /* version of the map */
    bool answered;
};

struct rail {
    struct world *w;
    struct nic nic[HOSTS_MAX];
};

struct sim {
    uint64_t seed;
    struct net_rng rng;
    struct rail rail[RAILS];
    unsigned nhosts;
    int64_t now;
    struct model *model;
    struct policy_conf policy;
    uint64_t instances;
};

static uint32_t draw(struct sim *s, uint32_t n)
{
    return net_rng_below(&s->rng, n);
}

static uint32_t node_of(const struct rail *r, unsigned host)
{
    return net_find_host(r->w->net, NET_BUILD_HOST_ID + host);
}

static _Noreturn void wrong(const struct sim *s, const char *what,
                            unsigned host, unsigned rail)
{
    char name[16];
    const struct health_item *i;

    snprintf(name, sizeof(name), "n%u", host);
    i = model_host(s->model, name, (uint8_t)rail);
    fail_msg("seed %" PRIu64 ", %.1f s: n%u rail %u %s (%s: %s); again: "
             "sim_rails %" PRIu64,
             s->seed, (double)(s->now - EPOCH) / 1000, host, rail, what,
             i ? health_state_name(i->state) : "?", i ? i->why : "?", s->seed);
    abort();
}

/* ---- reports ------------------------------------------------------------- */

static void input(struct sim *s, struct report *report, unsigned host)
{
    struct errbuf err;

    snprintf(report->node, sizeof(report->node), "n%u", host);
    if (model_input(s->model, report, s->now, &err) < 0 &&
        report->from == REPORT_MAPPERD)
        for (unsigned r = 0; r < RAILS; r++)
            if (report->map.rail == r)
                s->rail[r].nic[host].told = 0; /* mapperd tells it anew */
}

static void hsnd_reports(struct sim *s, unsigned rail, unsigned host)
{
    struct nic *n = &s->rail[rail].nic[host];
    struct report_record r = {.kind = REPORT_HOST,
                              .rail = (uint8_t)rail,
                              .seen = n->cut ? SEEN_DOWN : SEEN_UP,
                              .answered = n->cut ? ANSWERED_NO : ANSWERED_YES,
                              .turned = n->cut ? ANSWERED_NO : ANSWERED_YES,
                              .asked = n->cut ? s->nhosts - 1 : 0};
    struct report report = {.from = REPORT_HSND,
                            .instance = n->instance,
                            .seq = ++n->hsnd_seq,
                            .records = &r,
                            .nrecords = 1};

    snprintf(r.name, sizeof(r.name), "n%u", host);
    snprintf(r.why, sizeof(r.why), n->cut ? "nobody answers" : "link up");
    n->answered = !n->cut;
    n->hsnd_next = s->now + TOLD_EVERY;
    input(s, &report, host);
}

/* As mapperd/reports.c does. */
static void mapper_reports(struct sim *s, unsigned rail, unsigned host,
                           const struct gm1_status *status)
{
    struct nic *n = &s->rail[rail].nic[host];
    const struct gm1 *g =
        s->rail[rail].w->hosts[node_of(&s->rail[rail], host)].gm1;
    struct report_record records[HOSTS_MAX] = {0};
    struct report report = {.from = REPORT_MAPPERD,
                            .instance = n->instance,
                            .seq = ++n->mapper_seq,
                            .records = records,
                            .map = {.present = true,
                                    .rail = (uint8_t)rail,
                                    .version = status->version}};
    const struct net *map = gm1_map(g);

    report.map.leader = status->state != GM1_STATE_DORMANT && map;
    n->mapper_next = s->now + (report.map.leader ? TOLD_EVERY : QUIET);
    if (report.map.leader && n->told != status->version) {
        n->told = status->version;
        report.map.part = report.map.parts = 1;
        for (uint32_t i = 0; i < map->nnodes; i++) {
            struct report_record *r = &records[report.nrecords];

            if (map->nodes[i].kind != NET_HOST)
                continue;
            r->rail = (uint8_t)rail;
            r->seen = SEEN_UP;
            snprintf(r->name, sizeof(r->name), "n%u",
                     (unsigned)(map->nodes[i].id - NET_BUILD_HOST_ID));
            report.nrecords++;
        }
    }
    input(s, &report, host);
}

static void run_nic(struct sim *s, unsigned rail, unsigned host)
{
    struct nic *n = &s->rail[rail].nic[host];
    const struct world *w = s->rail[rail].w;
    const struct gm1 *g = w->hosts[node_of(&s->rail[rail], host)].gm1;
    struct gm1_status status;

    if (n->answered == n->cut || s->now >= n->hsnd_next)
        hsnd_reports(s, rail, host);
    if (!g)
        return;
    gm1_status(g, &status);
    if (s->now >= n->mapper_next ||
        (status.state == GM1_STATE_SLEEPING && status.version != n->told))
        mapper_reports(s, rail, host, &status);
}

/* ---- what has to hold ---------------------------------------------------- */

static const char *name_of(unsigned host)
{
    static char name[16];

    snprintf(name, sizeof(name), "n%u", host);
    return name;
}

static enum health_state state_of(const struct sim *s, unsigned rail,
                                  unsigned host)
{
    const struct health_item *i =
        model_host(s->model, name_of(host), (uint8_t)rail);

    return i ? i->state : HEALTH_UNKNOWN;
}

static struct policy_want wants(const struct sim *s, unsigned host,
                                bool any_rail)
{
    struct policy_conf conf = s->policy;
    struct health_node n;

    if (!model_node(s->model, name_of(host), &n))
        return (struct policy_want){0};
    conf.any_rail = any_rail;
    return policy_decide(&conf, &n, false, s->now, EPOCH);
}

static bool is_well(const struct sim *s, unsigned rail, unsigned host)
{
    return s->rail[rail].nic[host].faulty_until < s->now;
}

static void look_at(const struct sim *s, unsigned host)
{
    unsigned well = 0;

    for (unsigned r = 0; r < RAILS; r++) {
        enum health_state state = state_of(s, r, host);

        if (!is_well(s, r, host))
            continue;
        well++;
        if (state == HEALTH_DOWN || state == HEALTH_FLAPPING ||
            (state == HEALTH_DEGRADED &&
             s->rail[r].nic[host].unmapped_until < s->now))
            wrong(s, "has no fault", host, r);
    }
    if (well == RAILS && wants(s, host, true).drain)
        wrong(s, "is of a node drained for nothing", host, 0);
    if (well > 0 && wants(s, host, false).drain)
        wrong(s, "is of a node drained with a NIC left", host, 0);
}

static void step(struct sim *s)
{
    s->now += TICK;
    for (unsigned r = 0; r < RAILS; r++)
        world_run(s->rail[r].w, (uint64_t)(s->now - EPOCH) * MS);
    for (unsigned h = 0; h < s->nhosts; h++)
        for (unsigned r = 0; r < RAILS; r++) {
            if (s->rail[r].nic[h].cut)
                s->rail[r].nic[h].faulty_until = s->now + RECOVERS;
            if (s->rail[r].nic[h].killed)
                s->rail[r].nic[h].unmapped_until = s->now + 2 * RECOVERS;
            run_nic(s, r, h);
        }
    model_tick(s->model, s->now);
    for (unsigned h = 0; h < s->nhosts; h++)
        look_at(s, h);
}

static void run(struct sim *s, int64_t ms)
{
    for (int64_t end = s->now + ms; s->now < end;)
        step(s);
}

static void on_alarm(const char *text, int64_t now, void *arg)
{
    const struct sim *s = arg;

    if (strncmp(text, "two mappers", strlen("two mappers")) == 0)
        fail_msg("seed %" PRIu64 ", %.1f s: %s", s->seed,
                 (double)(now - EPOCH) / 1000, text);
}

/* ---- faults -------------------------------------------------------------- */

static void cut(struct sim *s, unsigned rail, unsigned host)
{
    struct world *w = s->rail[rail].w;
    struct nic *n = &s->rail[rail].nic[host];
    uint32_t node = node_of(&s->rail[rail], host);

    n->peer = net_peer_node(w->net, node, 0);
    n->port = net_peer_port(w->net, node, 0);
    n->cut = true;
    world_pull(w, node, 0);
}

/* The host of a rail's leader; any, when there is none. */
static unsigned leader_of(struct sim *s, unsigned rail)
{
    struct world *w = s->rail[rail].w;

    for (unsigned h = 0; h < s->nhosts; h++) {
        uint32_t node = node_of(&s->rail[rail], h);

        if (world_gm1_is_awake(w, node))
            return h;
    }
    return draw(s, s->nhosts);
}

static void begin_mapper(struct sim *s, unsigned rail, unsigned host)
{
    struct nic *n = &s->rail[rail].nic[host];

    world_gm1(s->rail[rail].w, node_of(&s->rail[rail], host), NULL, NULL);
    n->instance = ++s->instances;
    n->hsnd_seq = n->mapper_seq = 0;
    n->told = 0;
    n->killed = false;
}

static void kill_mapper(struct sim *s, unsigned rail, unsigned host)
{
    world_kill(s->rail[rail].w, node_of(&s->rail[rail], host));
    s->rail[rail].nic[host].killed = true;
}

static void mend(struct sim *s)
{
    for (unsigned r = 0; r < RAILS; r++)
        for (unsigned h = 0; h < s->nhosts; h++) {
            struct nic *n = &s->rail[r].nic[h];

            if (n->cut)
                world_plug(s->rail[r].w, node_of(&s->rail[r], h), 0, n->peer,
                           n->port);
            n->cut = false;
            if (n->killed)
                begin_mapper(s, r, h);
        }
}

/* A NIC or both of a host; half of the time it is the leader's. */
static void strike(struct sim *s)
{
    unsigned rail = draw(s, RAILS), host = draw(s, s->nhosts);

    if (draw(s, 2))
        host = leader_of(s, rail);
    cut(s, rail, host);
    if (draw(s, 3) == 0)
        cut(s, 1 - rail, host);
}

static void assert_told(struct sim *s)
{
    for (unsigned h = 0; h < s->nhosts; h++) {
        unsigned n = 0;

        for (unsigned r = 0; r < RAILS; r++) {
            n += s->rail[r].nic[h].cut;
            if (s->rail[r].nic[h].cut && state_of(s, r, h) != HEALTH_DOWN)
                wrong(s, "is cut off and that is not told", h, r);
        }
        if (n > 0 && !wants(s, h, true).drain)
            wrong(s, "is cut off and its node not drained", h, 0);
        if (n == RAILS && !wants(s, h, false).drain)
            wrong(s, "and the other are cut off, the node not drained", h, 0);
    }
}

static void assert_all_well(struct sim *s)
{
    for (unsigned h = 0; h < s->nhosts; h++)
        for (unsigned r = 0; r < RAILS; r++)
            if (state_of(s, r, h) != HEALTH_HEALTHY ||
                !wants(s, h, true).resume)
                wrong(s, "is not well again", h, r);
}

static struct sim *sim_new(uint64_t seed)
{
    struct sim *s = calloc(1, sizeof(*s));
    struct model_ops ops = {.alarm = on_alarm, .arg = s};
    struct model_conf conf;
    const char *net;

    assert_non_null(s);
    s->seed = seed;
    s->rng.state = seed * UINT64_C(0x9e3779b97f4a7c15);
    s->now = EPOCH;
    model_conf_defaults(&conf);
    conf.flap_quiet = 60000;
    policy_conf_defaults(&s->policy);
    s->model = model_new(&conf, &ops);
    net = nets[draw(s, NETS)];
    for (unsigned r = 0; r < RAILS; r++) {
        s->rail[r].w = world_new(net, seed * RAILS + r);
        s->nhosts = s->rail[r].w->net->nhosts;
        assert_in_range(s->nhosts, 2, HOSTS_MAX);
        for (unsigned h = 0; h < s->nhosts; h++) {
            struct nic *n = &s->rail[r].nic[h];

            begin_mapper(s, r, h);
            n->hsnd_next = s->now + draw(s, TOLD_EVERY);
            n->mapper_next = s->now + draw(s, TOLD_EVERY);
            n->answered = true;
        }
    }
    run(s, 120000);
    assert_all_well(s);
    return s;
}

static void sim_free(struct sim *s)
{
    for (unsigned r = 0; r < RAILS; r++)
        world_free(s->rail[r].w);
    model_free(s->model);
    free(s);
}

/* ---- the families -------------------------------------------------------- */

static uint64_t first = 1, last = SEEDS;

static void play_cables(uint64_t seed)
{
    struct sim *s = sim_new(seed);

    for (int i = 0; i < 3; i++) {
        strike(s);
        run(s, HOLDS);
        assert_told(s);
        mend(s);
        run(s, 150000);
        assert_all_well(s);
    }
    sim_free(s);
}

/* Nobody is cut off; leaders of both rails die and come back. */
static void play_deaths(uint64_t seed)
{
    struct sim *s = sim_new(seed);

    for (int i = 0; i < 12; i++) {
        unsigned rail = draw(s, RAILS);
        unsigned host = draw(s, 2) ? leader_of(s, rail) : draw(s, s->nhosts);

        if (!s->rail[rail].nic[host].killed && draw(s, 3))
            kill_mapper(s, rail, host);
        else if (s->rail[rail].nic[host].killed)
            begin_mapper(s, rail, host);
        /* Two that met have been told apart before the next. */
        run(s, MODEL_RIVAL_MS + 5000 + draw(s, 40000));
    }
    mend(s);
    run(s, 150000);
    assert_all_well(s);
    sim_free(s);
}

static void a_cut_nic_is_told_of_its_rail_alone(void **state)
{
    for (uint64_t seed = first; seed <= last; seed++)
        play_cables(seed);
}

static void mappers_of_two_rails_do_not_disturb_each_other(void **state)
{
    for (uint64_t seed = first; seed <= last; seed++)
        play_deaths(seed);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_nic_is_told_of_its_rail_alone),
        cmocka_unit_test(mappers_of_two_rails_do_not_disturb_each_other),
    };

    if (argc > 1)
        first = last = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        last = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
