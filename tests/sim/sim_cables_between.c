/* SPDX-License-Identifier: BSD-3-Clause
 * Cables between crossbars that lose or break packets, or come and go, by seed:
 * the mapper that leads names that one and no other; of one that comes and goes
 * the health model says that it flaps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "health/model.h"
#include "mapper_world.h"

#define SEEDS 24
#define FLAP_SEEDS 12
#define TOLD_EVERY (5 * SECOND) /* HealthInterval */

static const char *const nets[] = {
    "clos:4x4:1x2:1x2+ids", "ring:5:2+ids", "torus:3x3:1+ids",
    "random:6:16:3+ids",    "C64+ids",      "line:4:2+ids"};
static const double losses[] = {0.005, 0.01, 0.03, 0.1};

struct story {
    struct world *w;
    uint32_t node; /* of the truth: an end of the cable */
    unsigned port;
};

static const struct gm2 *leader_of(const struct world *w)
{
    for (uint32_t i = 0; i < w->net->nnodes; i++) {
        struct gm2_status s;

        if (!w->hosts[i].gm2)
            continue;
        gm2_status(w->hosts[i].gm2, &s);
        if (s.leader)
            return w->hosts[i].gm2;
    }
    return NULL;
}

/* A cable between crossbars, by the seed. */
static void choose(struct story *s, uint64_t seed)
{
    const struct net *net = s->w->net;
    struct net_rng rng = {seed * 77};
    uint32_t p, q;

    do {
        p = net_rng_below(&rng, net->nports);
        q = net->ports[p].peer;
    } while (q == NET_NONE || net_is_host(net, net->ports[p].node) ||
             net_is_host(net, net->ports[q].node));
    s->node = net->ports[p].node;
    s->port = net_port_number(net, p);
}

/* Cables that the leader holds for faulty; *right: is one of them ours? */
static unsigned accused(const struct story *s, bool *right)
{
    const struct gm2 *m = leader_of(s->w);
    const struct net *truth = s->w->net, *map;
    unsigned n = 0;

    *right = false;
    if (!m)
        return 0;
    map = gm2_current_map(m)->net;
    for (uint32_t p = 0; p < map->nports; p++) {
        const struct net_node *x = &map->nodes[map->ports[p].node];

        if (map->ports[p].peer == NET_NONE || !gm2_cable_lost(m, p))
            continue;
        n++;
        *right |= x->id == truth->nodes[s->node].id &&
                  net_port_number(map, p) == s->port;
    }
    return n / 2;
}

static struct story *watched;

static bool somebody_is_accused(struct world *w)
{
    bool right;

    return accused(watched, &right) > 0;
}

static void play(uint64_t seed)
{
    const char *name = nets[seed % 6];
    double p = losses[seed / 6 % 4];
    struct story s = {.w = world_new(name, seed)};
    uint64_t since;
    bool right;

    watched = &s;
    world_gm2_all(s.w, NULL, NULL);
    assert_true(world_until(s.w, 60 * SECOND, world_gm2_settled));
    choose(&s, seed);
    since = world_now(s.w);
    assert_true(seed % 2 ? swfab_set_loss(s.w->fab, s.node, s.port, p)
                         : swfab_set_corruption(s.w->fab, s.node, s.port, p));
    if (!world_until(s.w, since + 900 * SECOND, somebody_is_accused))
        fail_msg("%s seed %d: nobody is accused of %g", name, (int)seed, p);
    print_message("# %s: %g lost, told after %.0f s\n", name, p,
                  (double)(world_now(s.w) - since) / 1e9);
    if (accused(&s, &right) != 1 || !right)
        fail_msg("%s seed %d: %u accused, %s", name, (int)seed,
                 accused(&s, &right), right ? "rightly" : "wrongly");
    swfab_set_loss(s.w->fab, s.node, s.port, 0);
    swfab_set_corruption(s.w->fab, s.node, s.port, 0);
    world_run(s.w, world_now(s.w) + 120 * SECOND);
    assert_int_equal(accused(&s, &right), 0);
    world_free(s.w);
}

static void a_cable_that_loses_is_the_only_one_accused(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        play(seed);
}

/* Neither is anybody where all lose alike, or the leader's own cable does. */
static void nobody_is_accused_of_what_all_lose(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        struct story s = {.w = world_new("clos:4x4:1x2:1x2+ids", 7 + i)};
        uint32_t h = net_find_name(s.w->net, "h15");
        bool right;

        watched = &s;
        world_gm2_all(s.w, NULL, NULL);
        assert_true(world_until(s.w, 60 * SECOND, world_gm2_settled));
        if (i)
            swfab_set_loss(s.w->fab, h, 0, 0.02);
        assert_false(world_until(s.w, world_now(s.w) + 600 * SECOND,
                                 somebody_is_accused));
        assert_int_equal(accused(&s, &right), 0);
        world_free(s.w);
    }
}

/* ---- that come and go ---------------------------------------------------- */

struct watch {
    struct model *model;
    uint64_t seq, version, at;
};

static void name_end(const struct net *map, uint32_t port, char *name)
{
    snprintf(name, SF_REPORT_NAME_MAX, "x%llx:%u",
             (unsigned long long)map->nodes[map->ports[port].node].id,
             net_port_number(map, port));
}

/* As mapperd/reports.c does: the whole map when it is new, and each time the
 * cables that fell. */
static void report_links(struct watch *w, const struct gm2 *m, uint64_t now)
{
    const struct net *map = gm2_current_map(m)->net;
    struct report_record *r = calloc(map->ncables + 1, sizeof(*r));
    struct errbuf err = {""};
    struct gm2_status s;
    struct report report = {.from = REPORT_MAPPERD,
                            .node = "h",
                            .instance = gm2_current_map(m)->version.leader,
                            .seq = ++w->seq,
                            .records = r,
                            .map = {.present = true, .leader = true}};
    bool whole;

    gm2_status(m, &s);
    whole = s.version.counter != w->version;
    w->version = report.map.version = s.version.counter;
    report.map.part = report.map.parts = whole;
    for (uint32_t p = 0; p < map->nports; p++) {
        uint32_t q = map->ports[p].peer;
        struct report_record *to = &r[report.nrecords];

        if (q == NET_NONE || q < p || net_is_host(map, map->ports[p].node) ||
            net_is_host(map, map->ports[q].node))
            continue;
        *to = (struct report_record){
            .kind = REPORT_LINK,
            .seen = gm2_cable_lost(m, p) ? SEEN_DEGRADED : SEEN_UP,
            .count = gm2_cable_falls(m, p)};
        name_end(map, p, to->name);
        name_end(map, q, to->peer);
        report.nrecords += whole || to->count;
    }
    if (model_input(w->model, &report, (int64_t)(now / MS), &err) < 0)
        fail_msg("%s", err.text);
    free(r);
}

static bool is_at(const struct health_item *it, const char *end)
{
    return strcmp(it->name, end) == 0 || strcmp(it->peer, end) == 0;
}

/* Up for one part of each period, down for the other. */
static void flap(struct story *s, struct watch *w, uint64_t period, double down)
{
    uint64_t now = world_now(s->w), in = now % period;
    const struct gm2 *m = leader_of(s->w);

    swfab_set_link(s->w->fab, s->node, s->port,
                   in >= (uint64_t)((double)period * down));
    world_run(s->w, now + 10 * MS);
    if (!m || (m = leader_of(s->w)) == NULL)
        return;
    if (gm2_current_map(m)->version.counter == w->version &&
        now < w->at + TOLD_EVERY)
        return;
    w->at = now;
    report_links(w, m, now);
    model_tick(w->model, (int64_t)(now / MS));
}

static unsigned flapping(const struct watch *w, const char *end, bool *right)
{
    const struct health_item *it = NULL;
    unsigned n = 0;

    *right = false;
    while ((it = model_next(w->model, REPORT_LINK, it))) {
        n += it->state == HEALTH_FLAPPING;
        *right |= it->state == HEALTH_FLAPPING && is_at(it, end);
    }
    return n;
}

/* No cable is the only way between two parts: beyond one that is, all comes and
 * goes with it. */
static const char *const woven[] = {"clos:4x4:1x2:1x2+ids", "ring:5:2+ids",
                                    "torus:3x3:1+ids", "random:6:16:3+ids"};

static void play_flaps(uint64_t seed, unsigned hz, double down)
{
    const char *name = woven[seed % 4];
    struct story s = {.w = world_new(name, seed)};
    struct model_conf conf;
    struct model_ops ops = {0};
    struct watch w = {.version = UINT64_MAX};
    char end[SF_REPORT_NAME_MAX];
    uint64_t since;
    bool right = false;

    model_conf_defaults(&conf);
    w.model = model_new(&conf, &ops);
    world_gm2_all(s.w, NULL, NULL);
    assert_true(world_until(s.w, 60 * SECOND, world_gm2_settled));
    choose(&s, seed);
    snprintf(end, sizeof(end), "x%llx:%u",
             (unsigned long long)s.w->net->nodes[s.node].id, s.port);
    report_links(&w, leader_of(s.w), world_now(s.w));
    since = world_now(s.w);
    while (!right && world_now(s.w) < since + 300 * SECOND) {
        flap(&s, &w, SECOND / hz, down);
        if (flapping(&w, end, &right) > right)
            fail_msg("%s seed %d: another is accused", name, (int)seed);
    }
    if (!right)
        fail_msg("%s seed %d: nobody is called flapping at %u Hz, down %g",
                 name, (int)seed, hz, down);
    print_message("# %s: %u Hz, down %g, told after %.0f s\n", name, hz, down,
                  (double)(world_now(s.w) - since) / 1e9);
    for (since = world_now(s.w); world_now(s.w) < since + 60 * SECOND;) {
        flap(&s, &w, SECOND / hz, down);
        assert_int_equal(flapping(&w, end, &right), 1);
        assert_true(right);
    }
    model_free(w.model);
    world_free(s.w);
}

static void a_cable_that_flaps_each_second_is_called_so(void **state)
{
    for (uint64_t seed = 1; seed <= FLAP_SEEDS; seed++)
        play_flaps(seed, 1, seed / 4 % 2 ? 0.1 : 0.5);
}

static void a_cable_that_flaps_ten_times_a_second_is_called_so(void **state)
{
    for (uint64_t seed = 1; seed <= FLAP_SEEDS; seed++)
        play_flaps(seed, 10, seed / 4 % 2 ? 0.1 : 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cable_that_loses_is_the_only_one_accused),
        cmocka_unit_test(nobody_is_accused_of_what_all_lose),
        cmocka_unit_test(a_cable_that_flaps_each_second_is_called_so),
        cmocka_unit_test(a_cable_that_flaps_ten_times_a_second_is_called_so),
    };

    return cmocka_run_group_tests_name("sim cables between", tests, NULL, NULL);
}
