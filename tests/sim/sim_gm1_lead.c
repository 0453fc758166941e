/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who leads, in virtual time and by seed: mappers of GM-1 on all hosts of a
 * small fabric, of which the leader is killed, stands still, or loses its
 * cable; or the fabric falls in two, each half finds a leader, and the two
 * leaders meet.  All of it at any moment of the leader's cycle.
 *
 * Looked at in each step:
 *  - a mapper that outranks all that it can reach never gives up the lead;
 *  - whose host another has configured leads no more;
 *  - within WOKEN the others notice that the leader is gone, and within LED
 *    all follow one leader, the highest;
 *  - once it is so it stays so: nobody wakes up again;
 *  - a host whose cable is out keeps the routes that it had.
 *
 *   sim_gm1_lead [FIRST [LAST]]    those seeds, each family
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

#include "mapper_world.h"

#define SEEDS 40
#define STEP (20 * MS)
#define CYCLE_MS 11000 /* the leader's sleep and a verification */
/* A dormant mapper looks every 5 s whether it has heard its leader: once it
 * finds that it has, once that it has not, then it asks. */
#define WOKEN (12 * SECOND)
/* Who woke first explores, and may meet a higher one that sleeps. */
#define LED (40 * SECOND)
#define QUIET (60 * SECOND)

static const char *const nets[] = {"clos:2x2:1x2:1x1", "clos:4x4:1x2:1x2",
                                   "line:3:3",         "ring:5:2",
                                   "torus:3x3:1",      "random:6:16:3"};
#define NETS (sizeof(nets) / sizeof(*nets))

enum levels { ONE_LEVEL, THREE_LEVELS, ANY_LEVEL, NLEVELS };

/* Of a mapper, as of the end of the step. */
struct times {
    bool awake, busy;
    uint64_t woke, searches; /* when the last time began */
};

struct story {
    struct world *w;
    uint64_t seed;
    const char *family;
    struct net_rng rng; /* of what happens; the world has its own */
    enum levels levels;
    struct times *times;          /* by node */
    uint32_t *level;              /* by node */
    unsigned cleared, configured; /* of `watched` */
    uint32_t watched;             /* a host whose routes are to stay */
};

static uint32_t draw(struct story *s, uint32_t n)
{
    return net_rng_below(&s->rng, n);
}

static uint64_t draw_time(struct story *s, uint32_t below_ms)
{
    return draw(s, below_ms) * MS;
}

static _Noreturn void wrong(const struct story *s, const char *what,
                            uint32_t node)
{
    world_gm1_explain(s->w);
    fail_msg(
        "%s, seed %" PRIu64 ", %.2f s: %s %s; again: sim_gm1_lead %" PRIu64,
        s->family, s->seed, (double)world_now(s->w) / 1e9,
        node == NET_NONE ? "" : s->w->net->nodes[node].name, what, s->seed);
    abort();
}

/* ---- the fabric ---------------------------------------------------------- */

static void tune(struct gm1_options *config, uint32_t node, void *arg)
{
    const struct story *s = arg;

    config->host.level = s->level[node];
}

static void put(struct story *s, uint32_t node)
{
    world_gm1(s->w, node, tune, s);
}

/* Its host was configured by a leader whose search began after it woke: that
 * must have met it. */
static bool goes_on(const struct story *s, uint32_t node, uint32_t leader)
{
    return leader != node && world_gm1_is_awake(s->w, node) &&
           s->times[node].woke + STEP <= s->times[leader].searches;
}

static void loads(struct world *w, uint32_t node, bool whole)
{
    struct story *s = w->tap_arg;
    struct hostside_state side;

    hostside_state(gm1_host_side(w->hosts[node].gm1), &side);
    if (whole && goes_on(s, node, net_find_host(w->net, side.mapper)))
        wrong(s, "was configured by another and goes on leading", node);
    if (node != s->watched)
        return;
    s->configured += whole;
    s->cleared += !whole;
}

static bool takes_part(const struct world *w, uint32_t node)
{
    return w->hosts[node].gm1 && !w->hosts[node].stopped;
}

/* The highest mapper that a host can reach.  One that stands still is there,
 * but leads nobody. */
static uint32_t highest(struct story *s, uint32_t from)
{
    struct world_host *still = NULL;
    uint32_t best;

    for (uint32_t i = 0; i < s->w->net->nnodes; i++)
        if (s->w->hosts[i].stopped)
            still = &s->w->hosts[i];
    if (still)
        still->kind = WORLD_NOBODY;
    best = world_gm1_highest(s->w, from);
    if (still)
        still->kind = WORLD_GM1;
    return best;
}

static uint32_t any_host(struct story *s)
{
    uint32_t k = draw(s, s->w->net->nhosts), i = 0;

    while (s->w->net->nodes[i].kind != NET_HOST || k-- > 0)
        i++;
    return i;
}

/* ---- what has to hold in each step --------------------------------------- */

struct counted {
    uint64_t woken, met; /* moves so far, by node */
};

static struct counted *count(const struct story *s)
{
    const struct world *w = s->w;
    struct counted *c = calloc(w->net->nnodes, sizeof(*c));

    assert_non_null(c);
    for (uint32_t i = 0; i < w->net->nnodes; i++)
        c[i] = (struct counted){w->hosts[i].moves[GM1_EVENT_WAKE_UP],
                                w->hosts[i].moves[GM1_EVENT_MET_HIGHER]};
    return c;
}

static void look_at_times(struct story *s)
{
    uint64_t now = world_now(s->w);

    for (uint32_t i = 0; i < s->w->net->nnodes; i++) {
        bool awake = world_gm1_is_awake(s->w, i), busy = false;
        struct times *t = &s->times[i];
        struct gm1_status status;

        if (awake) {
            gm1_status(s->w->hosts[i].gm1, &status);
            busy = status.state != GM1_STATE_SLEEPING;
        }
        if (awake && !t->awake)
            t->woke = now;
        if (busy && !t->busy)
            t->searches = now;
        t->awake = awake;
        t->busy = busy;
    }
}

/* A step; who is the highest in reach before and after it gives up nothing. */
static void step(struct story *s)
{
    const struct world *w = s->w;
    struct counted *was = count(s);

    world_run(s->w, world_now(w) + STEP);
    look_at_times(s);
    for (uint32_t i = 0; i < w->net->nnodes; i++)
        if (w->hosts[i].moves[GM1_EVENT_MET_HIGHER] != was[i].met &&
            highest(s, i) == i)
            wrong(s, "is the highest and gave up the lead", i);
    free(was);
}

static void run(struct story *s, uint64_t time)
{
    for (uint64_t end = world_now(s->w) + time; world_now(s->w) < end;)
        step(s);
}

/* Does each part of the fabric follow its highest mapper alone? */
static bool all_follow(struct story *s)
{
    const struct world *w = s->w;

    for (uint32_t i = 0; i < w->net->nnodes; i++)
        if (takes_part(w, i) &&
            world_gm1_is_awake(w, i) != (highest(s, i) == i))
            return false;
    return true;
}

static bool somebody_leads(struct story *s, uint32_t but)
{
    for (uint32_t i = 0; i < s->w->net->nnodes; i++)
        if (i != but && takes_part(s->w, i) && world_gm1_is_awake(s->w, i))
            return true;
    return false;
}

static bool settled(struct story *s)
{
    return all_follow(s) && world_gm1_settled(s->w);
}

static uint64_t until(struct story *s, bool (*test)(struct story *s),
                      uint64_t limit, const char *what)
{
    uint64_t begin = world_now(s->w);

    while (!test(s)) {
        if (world_now(s->w) - begin > limit)
            wrong(s, what, NET_NONE);
        step(s);
    }
    return world_now(s->w) - begin;
}

/* Nothing happens: nobody wakes, nobody meets anybody, all routes are true. */
static void stays_so(struct story *s)
{
    struct counted *was = count(s), *is;
    struct errbuf why = {""};

    run(s, QUIET);
    is = count(s);
    for (uint32_t i = 0; i < s->w->net->nnodes; i++)
        if (is[i].woken != was[i].woken || is[i].met != was[i].met)
            wrong(s, "woke up, or met a leader, where nothing happened", i);
    if (!world_gm1_routes_lead(s->w, &why))
        wrong(s, why.text, NET_NONE);
    free(was);
    free(is);
}

static void until_one_leads(struct story *s)
{
    until(s, settled, LED, "not all follow the highest");
    stays_so(s);
}

/* ---- stories ------------------------------------------------------------- */

static struct story *story_new(const char *family, uint64_t seed)
{
    struct story *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    s->family = family;
    s->seed = seed;
    s->rng.state = seed * UINT64_C(0x9e3779b97f4a7c15);
    s->watched = NET_NONE;
    s->w = world_new(nets[draw(s, NETS)], seed);
    s->w->tap_arg = s;
    s->w->loads = loads;
    s->w->keeps = draw(s, 2) != 0;
    s->levels = (enum levels)draw(s, NLEVELS);
    s->level = calloc(s->w->net->nnodes, sizeof(*s->level));
    s->times = calloc(s->w->net->nnodes, sizeof(*s->times));
    assert_non_null(s->level);
    assert_non_null(s->times);
    for (uint32_t i = 0; i < s->w->net->nnodes; i++) {
        s->level[i] = s->levels == ONE_LEVEL      ? 1
                      : s->levels == THREE_LEVELS ? 1 + i % 3
                                                  : 1 + draw(s, 4);
        if (s->w->net->nodes[i].kind == NET_HOST)
            put(s, i);
    }
    until(s, settled, 240 * SECOND, "no leader at the start");
    run(s, draw_time(s, CYCLE_MS));
    return s;
}

static void story_free(struct story *s)
{
    world_free(s->w);
    free(s->times);
    free(s->level);
    free(s);
}

/* The others find another leader, and soon. */
static void others_find_one(struct story *s, uint32_t lost)
{
    uint64_t begin = world_now(s->w);

    while (!somebody_leads(s, lost)) {
        if (world_now(s->w) - begin > WOKEN)
            wrong(s, "is gone and nobody has noticed", lost);
        step(s);
    }
}

/* It comes back before anybody noticed, while others settle, or later. */
static void while_it_is_away(struct story *s, uint32_t lost)
{
    switch (draw(s, 3)) {
    case 0:
        run(s, draw_time(s, 5000));
        break;
    case 1:
        others_find_one(s, lost);
        run(s, draw_time(s, 3000));
        break;
    default:
        others_find_one(s, lost);
        until_one_leads(s);
        run(s, draw_time(s, CYCLE_MS));
        break;
    }
}

static void leader_killed(uint64_t seed)
{
    struct story *s = story_new("leader killed", seed);
    uint32_t leader = world_gm1_highest(s->w, any_host(s));

    world_kill(s->w, leader);
    while_it_is_away(s, leader);
    if (s->levels == ANY_LEVEL) /* its configuration is another */
        s->level[leader] = 1 + draw(s, 4);
    put(s, leader);
    until_one_leads(s);
    story_free(s);
}

/* It goes on where it stood, holds itself for the leader, and is. */
static void leader_stands_still(uint64_t seed)
{
    struct story *s = story_new("leader stands still", seed);
    uint32_t leader = world_gm1_highest(s->w, any_host(s));

    world_stop(s->w, leader, true);
    if (draw(s, 3) == 0) {
        run(s, draw_time(s, 5000));
    } else {
        others_find_one(s, leader);
        run(s, draw_time(s, 30000));
    }
    world_stop(s->w, leader, false);
    until_one_leads(s);
    story_free(s);
}

/* One of the others: the leader is not disturbed. */
static void another_stands_still(uint64_t seed)
{
    struct story *s = story_new("another stands still", seed);
    uint32_t leader = world_gm1_highest(s->w, any_host(s)), other;

    do
        other = any_host(s);
    while (other == leader);
    world_stop(s->w, other, true);
    run(s, draw_time(s, 40000));
    if (!world_gm1_is_awake(s->w, leader))
        wrong(s, "led, and sleeps", leader);
    world_stop(s->w, other, false);
    until_one_leads(s);
    story_free(s);
}

/* Its cable is out: it finds nothing, and leaves its host the routes by which
 * that learns whether anybody hears it. */
static void leader_loses_its_cable(uint64_t seed)
{
    struct story *s = story_new("leader loses its cable", seed);
    uint32_t leader = world_gm1_highest(s->w, any_host(s));
    uint32_t peer = net_peer_node(s->w->net, leader, 0);
    unsigned port = net_peer_port(s->w->net, leader, 0);

    s->watched = leader;
    s->cleared = s->configured = 0;
    world_pull(s->w, leader, 0);
    while_it_is_away(s, leader);
    if (s->cleared || s->configured)
        wrong(s, "hears nothing, and has forgotten its routes", leader);
    s->watched = NET_NONE;
    world_plug(s->w, leader, 0, peer, port);
    until_one_leads(s);
    story_free(s);
}

/* ---- two leaders meet ---------------------------------------------------- */

struct cut {
    uint32_t a, b;
    unsigned pa, pb;
};

/* All cables between two halves of the crossbars, drawn. */
static size_t cut_in_two(struct story *s, struct cut *cuts, size_t size)
{
    const struct net *net = s->w->net;
    uint64_t half = net_rng_next(&s->rng);
    size_t n = 0;

    for (uint32_t p = 0; p < net->nports; p++) {
        uint32_t q = net->ports[p].peer, a = net->ports[p].node, b;

        if (q == NET_NONE)
            continue;
        b = net->ports[q].node;
        if (net_is_host(net, a) || net_is_host(net, b) ||
            (half >> a % 64 & 1) == (half >> b % 64 & 1))
            continue;
        assert_true(n < size);
        cuts[n++] = (struct cut){a, b, net_port_number(net, p),
                                 net_port_number(net, q)};
        world_pull(s->w, a, cuts[n - 1].pa);
    }
    return n;
}

static unsigned leaders(const struct story *s)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < s->w->net->nnodes; i++)
        n += world_gm1_is_awake(s->w, i);
    return n;
}

/* Each part finds its own; then the cables are back, some first. */
static void leaders_meet(uint64_t seed)
{
    struct story *s = story_new("leaders meet", seed);
    struct cut cuts[256];
    size_t n = cut_in_two(s, cuts, 256);

    if (draw(s, 4) != 0) {
        until(s, settled, LED, "a part has no leader of its own");
        run(s, draw_time(s, CYCLE_MS));
    } else {
        run(s, draw_time(s, 20000));
    }
    for (size_t i = 0; i < n; i++) {
        world_plug(s->w, cuts[i].a, cuts[i].pa, cuts[i].b, cuts[i].pb);
        if (draw(s, 4) == 0)
            run(s, draw_time(s, 1000));
    }
    until_one_leads(s);
    if (leaders(s) != 1)
        wrong(s, "more than one leads", NET_NONE);
    story_free(s);
}

/* ---- the families -------------------------------------------------------- */

static uint64_t first = 1, last = SEEDS;

static void over_seeds(void (*family)(uint64_t))
{
    for (uint64_t seed = first; seed <= last; seed++)
        family(seed);
}

static void a_killed_leader_is_followed_by_the_next(void **state)
{
    over_seeds(leader_killed);
}

static void a_leader_that_stood_still_leads_again(void **state)
{
    over_seeds(leader_stands_still);
}

static void one_that_stood_still_disturbs_no_leader(void **state)
{
    over_seeds(another_stands_still);
}

static void a_leader_without_a_cable_keeps_its_routes(void **state)
{
    over_seeds(leader_loses_its_cable);
}

static void of_leaders_that_meet_the_highest_remains(void **state)
{
    over_seeds(leaders_meet);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_leader_is_followed_by_the_next),
        cmocka_unit_test(a_leader_that_stood_still_leads_again),
        cmocka_unit_test(one_that_stood_still_disturbs_no_leader),
        cmocka_unit_test(a_leader_without_a_cable_keeps_its_routes),
        cmocka_unit_test(of_leaders_that_meet_the_highest_remains),
    };

    if (argc > 1)
        first = last = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        last = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
