/* SPDX-License-Identifier: BSD-3-Clause
 * GM-1, from a fault to the first word of it, in virtual time: mappers on all
 * hosts with the document's timers, beside each what hsnd does (echoes, and
 * whether anybody hears it), and a fault at every phase of the cycle: in the
 * interregnum, while the leader verifies, explores and configures.
 *
 * A fault is known when hsnd of the host says that nobody answers, or when a
 * leader has configured the others by a map without that host.  It has to stay
 * known until it is mended.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hsn/alone.h"
#include "mapper_world.h"
#include "net/build.h"
#include "net/packet.h"

#define SMALL "clos:2x2:1x2:1x1" /* four hosts, as the demo has them */
#define LARGE "C64"              /* whose configurations are two messages */
#define HOSTS_MAX 64
#define NEIGHBOURS 3
#define STEP (20 * MS)         /* of the hsnds' clock */
#define ECHO_EVERY 5000        /* ms; hsn.conf's default */
#define ECHO_WAIT (1 * SECOND) /* as hsnd's */
#define SETTLE (120 * SECOND)  /* at most */
#define LASTS (30 * SECOND)    /* a fault */
#define INTERREGNUM (10 * SECOND)
#define GOAL (INTERREGNUM + 3 * SECOND)

/* One echo that has come back. */
struct answered {
    uint32_t asker, peer;
    uint64_t number;
};

struct hsnd {
    struct hsn_routes routes;
    struct hsn_alone alone;
    struct hsn_echo echo;
    uint64_t next_look, next_echo;
};

enum fault { MUTE, CABLE, NFAULTS };
static const char *const fault_names[NFAULTS] = {"mute", "cable pulled"};

struct bed {
    struct world *w;
    struct hsnd hsnd[HOSTS_MAX]; /* of host 0, 1 .. */
    unsigned nhosts;
    struct answered answered[HOSTS_MAX];
    size_t nanswered;
    unsigned asker, victim; /* hosts */
    bool no_hsnd;           /* its own says nothing */
    bool not_in_the_map;    /* as a leader said last */
};

static uint32_t node_of(const struct bed *b, unsigned host)
{
    return net_find_host(b->w->net, NET_BUILD_HOST_ID + host);
}

static unsigned host_of(const struct bed *b, uint32_t node)
{
    return (unsigned)(b->w->net->nodes[node].id - NET_BUILD_HOST_ID);
}

/* ---- echoes -------------------------------------------------------------- */

/* Along alternative `by` of the routes that `from` has to `to`. */
static bool passes(struct bed *b, unsigned from, unsigned to, unsigned by)
{
    const struct hsn_routes *r = &b->hsnd[from].routes;
    const struct hsn_routed *peer = hsn_routes_find(r, NET_BUILD_HOST_ID + to);
    uint8_t bytes[NET_PACKET_MAX], body[16] = {0};
    struct swfab_arrival at;
    size_t n;

    if (!peer || by >= peer->nroutes)
        return false;
    n = net_packet_make(
        bytes, sizeof(bytes),
        &(struct net_packet){.route = r->routes[peer->first + by].byte,
                             .nroute = r->routes[peer->first + by].len,
                             .type = NET_TYPE_HSN,
                             .payload = body,
                             .len = sizeof(body)});
    return swfab_send(b->w->fab, node_of(b, from), bytes, n, &at) &&
           at.node == node_of(b, to);
}

/* The peer answers by all of its routes; it comes before the next look. */
static void ask(void *arg, uint64_t board, uint8_t by, uint64_t number)
{
    struct bed *b = arg;
    unsigned peer = (unsigned)(board - NET_BUILD_HOST_ID);
    bool back = false;

    if (!passes(b, b->asker, peer, by - 1u))
        return;
    for (unsigned i = 0; i < HSN_ROUTES_MAX; i++)
        back |= passes(b, peer, b->asker, i);
    if (!back)
        return;
    assert_true(b->nanswered < HOSTS_MAX);
    b->answered[b->nanswered++] = (struct answered){b->asker, peer, number};
}

static void take_answers(struct bed *b)
{
    for (size_t i = 0; i < b->nanswered; i++) {
        const struct answered *a = &b->answered[i];
        struct hsnd *h = &b->hsnd[a->asker];

        hsn_alone_answer(&h->alone);
        hsn_echo_answer(&h->echo, &h->routes, NET_BUILD_HOST_ID + a->peer,
                        a->number, world_now(b->w));
    }
    b->nanswered = 0;
}

/* ---- hsnd ---------------------------------------------------------------- */

struct loading {
    struct hsn_peer peers[HOSTS_MAX];
    size_t n;
    uint64_t own;
    unsigned nhosts;
};

static void add_peer(const struct gm1_entry *entry, void *arg)
{
    struct loading *l = arg;
    struct hsn_peer *peer = &l->peers[l->n];

    if (entry->address == l->own)
        return;
    peer->address = entry->address;
    peer->neighbour =
        (entry->address + l->nhosts - l->own) % l->nhosts <= NEIGHBOURS;
    peer->nroutes = 1;
    peer->route[0].len = (uint8_t)entry->route.len;
    memcpy(peer->route[0].byte, entry->route.byte, entry->route.len);
    l->n++;
}

/* What a leader reports when its own host is configured.  A map of less than
 * half of the hosts is not believed. */
static void hear_map(struct bed *b, uint32_t node)
{
    const struct gm1 *g = b->w->hosts[node].gm1;
    const struct net *map = gm1_map(g);
    struct gm1_status s;

    gm1_status(g, &s);
    if (s.state == GM1_STATE_DORMANT || 2 * map->nhosts < b->nhosts)
        return;
    b->not_in_the_map =
        net_find_host(map, NET_BUILD_HOST_ID + b->victim) == NET_NONE;
}

static void loads(struct world *w, uint32_t node, bool whole)
{
    struct bed *b = w->tap_arg;
    struct hsnd *h = &b->hsnd[host_of(b, node)];
    struct loading l = {.own = w->net->nodes[node].id, .nhosts = b->nhosts};
    struct hsn_routes made;

    if (whole)
        hear_map(b, node);
    if (whole)
        hostside_entries(gm1_host_side(w->hosts[node].gm1), add_peer, &l);
    assert_int_equal(hsn_routes_make(&made, l.peers, l.n, &h->routes, NULL), 0);
    hsn_routes_free(&h->routes);
    h->routes = made;
}

static void run_hsnd(struct bed *b, unsigned host)
{
    struct hsnd *h = &b->hsnd[host];
    const struct swfab *fab = b->w->fab;
    uint64_t now = world_now(b->w);
    uint32_t port = swfab_port_index(fab, node_of(b, host), 0);

    b->asker = host;
    if (h->echo.due && h->echo.due <= now) {
        hsn_echo_judge(&h->echo, &h->routes);
        hsn_alone_round(&h->alone, &h->routes);
    }
    if (h->next_echo <= now) {
        hsn_echo_begin(&h->echo, &h->routes, now, ask, b);
        h->next_echo += ECHO_EVERY * MS;
    }
    take_answers(b);
    if (h->next_look > now)
        return;
    hsn_alone_look(&h->alone, &h->routes,
                   swfab_count(fab, port, SWFAB_DELIVERED), ask, b);
    take_answers(b);
    h->next_look += HSN_ALONE_LOOK_NS;
}

static void run_to(struct bed *b, uint64_t until)
{
    while (world_now(b->w) < until) {
        uint64_t next = (world_now(b->w) / STEP + 1) * STEP;

        world_run(b->w, next < until ? next : until);
        for (unsigned i = 0; i < b->nhosts; i++)
            run_hsnd(b, i);
    }
}

/* ---- the fault ----------------------------------------------------------- */

static bool is_known(const struct bed *b)
{
    return (!b->no_hsnd && b->hsnd[b->victim].alone.alone) || b->not_in_the_map;
}

static bool is_well(const struct bed *b)
{
    if (!world_gm1_settled(b->w))
        return false;
    for (unsigned i = 0; i < b->nhosts; i++)
        if (b->hsnd[i].alone.alone || !b->hsnd[i].alone.heard)
            return false;
    return true;
}

static void until_well(struct bed *b)
{
    uint64_t limit = world_now(b->w) + SETTLE;

    while (!is_well(b)) {
        if (world_now(b->w) > limit)
            world_gm1_explain(b->w);
        assert_true(world_now(b->w) <= limit);
        run_to(b, world_now(b->w) + STEP);
    }
}

static void set_fault(struct bed *b, unsigned host, enum fault fault,
                      bool broken)
{
    uint32_t node = node_of(b, host);

    if (fault == MUTE)
        assert_true(swfab_set_host_mute(b->w->fab, node, broken));
    else
        assert_true(swfab_set_link(b->w->fab, node, 0, !broken));
}

static struct bed *bed_new(const char *net, uint64_t seed)
{
    struct bed *b = calloc(1, sizeof(*b));

    assert_non_null(b);
    b->w = world_new(net, seed);
    b->w->tap_arg = b;
    b->w->loads = loads;
    b->nhosts = b->w->net->nhosts;
    assert_true(b->nhosts <= HOSTS_MAX);
    for (unsigned i = 0; i < b->nhosts; i++) {
        struct hsnd *h = &b->hsnd[i];

        assert_int_equal(hsn_routes_make(&h->routes, NULL, 0, NULL, NULL), 0);
        h->alone.board = h->echo.board = NET_BUILD_HOST_ID + i;
        h->echo.wait_ns = ECHO_WAIT;
        /* Daemons do not start at once. */
        h->next_look = net_rng_below(&b->w->rng, HSN_ALONE_LOOK_NS / MS) * MS;
        h->next_echo = net_rng_below(&b->w->rng, ECHO_EVERY) * MS;
        world_gm1(b->w, node_of(b, i), NULL, NULL);
    }
    return b;
}

static void bed_free(struct bed *b)
{
    for (unsigned i = 0; i < b->nhosts; i++)
        hsn_routes_free(&b->hsnd[i].routes);
    world_free(b->w);
    free(b);
}

/* From the fault to its first word, after which it has to stay known. */
static uint64_t time_of(struct bed *b, enum fault fault)
{
    uint64_t begin = world_now(b->w), took;

    set_fault(b, b->victim, fault, true);
    while (!is_known(b) && world_now(b->w) - begin < LASTS)
        run_to(b, world_now(b->w) + STEP);
    took = world_now(b->w) - begin;
    while (world_now(b->w) - begin < LASTS) {
        run_to(b, world_now(b->w) + STEP);
        assert_true(is_known(b));
    }
    set_fault(b, b->victim, fault, false);
    return took;
}

/* ---- phases -------------------------------------------------------------- */

struct figures {
    uint64_t worst, sum;
    unsigned n;
};

static void add(struct figures *f, uint64_t took)
{
    f->worst = took > f->worst ? took : f->worst;
    f->sum += took;
    f->n++;
}

static void tell(const char *phases, enum fault fault, const char *who,
                 const struct figures *f)
{
    print_message("# %s of %s, %u phases of %s: mean %.2f s, worst %.2f s\n",
                  fault_names[fault], who, f->n, phases,
                  (double)f->sum / f->n / 1e9, (double)f->worst / 1e9);
    assert_true(f->worst <= GOAL);
}

/* Any time of a whole cycle: the interregnum and a verification. */
static void faults_in_the_cycle(enum fault fault, unsigned victim,
                                const char *who, bool no_hsnd)
{
    struct figures f = {0};

    for (uint64_t at = 0; at < 11 * SECOND; at += 200 * MS) {
        struct bed *b = bed_new(SMALL, 1 + at / SECOND);

        b->victim = victim;
        b->no_hsnd = no_hsnd;
        until_well(b);
        run_to(b, world_now(b->w) + at);
        add(&f, time_of(b, fault));
        until_well(b);
        bed_free(b);
    }
    tell("a cycle", fault, who, &f);
}

static bool maps(const struct bed *b)
{
    struct gm1_status s;

    gm1_status(b->w->hosts[node_of(b, b->nhosts - 1)].gm1, &s);
    return s.state == GM1_STATE_EXPLORING || s.state == GM1_STATE_QUERYING ||
           s.state == GM1_STATE_CONFIGURING;
}

/* Host 0 is there again, and the leader makes a new map: `at` after it has
 * begun to, the victim falls.  False: it was ready by then. */
static bool fault_in_a_mapping(const char *net, enum fault fault, uint64_t at,
                               struct figures *f)
{
    struct bed *b = bed_new(net, 1);
    bool mapping;

    b->victim = 1;
    until_well(b);
    set_fault(b, 0, MUTE, true);
    run_to(b, world_now(b->w) + LASTS);
    set_fault(b, 0, MUTE, false);
    while (!maps(b))
        run_to(b, world_now(b->w) + MS);
    run_to(b, world_now(b->w) + at);
    mapping = maps(b);
    if (mapping) {
        add(f, time_of(b, fault));
        until_well(b);
    }
    bed_free(b);
    return mapping;
}

static void faults_in_a_mapping(const char *net, enum fault fault,
                                uint64_t step)
{
    struct figures f = {0};
    uint64_t at = 0;

    while (fault_in_a_mapping(net, fault, at, &f))
        at += step;
    assert_true(f.n > 10);
    tell("a mapping", fault, net, &f);
}

static void gm1_a_fault_in_any_phase_of_the_cycle_is_told(void **state)
{
    for (enum fault fault = 0; fault < NFAULTS; fault++) {
        faults_in_the_cycle(fault, 1, "a host", false);
        faults_in_the_cycle(fault, 3, "the leader", false);
    }
}

/* Silent ports were asked one after the other: 13 s for four hosts. */
static void gm1_the_mapper_alone_tells_within_the_goal(void **state)
{
    for (enum fault fault = 0; fault < NFAULTS; fault++) {
        faults_in_the_cycle(fault, 1, "a host without hsnd", true);
        faults_in_the_cycle(fault, 3, "the leader without hsnd", true);
    }
}

static void gm1_a_fault_while_a_new_map_is_made_is_told(void **state)
{
    for (enum fault fault = 0; fault < NFAULTS; fault++)
        faults_in_a_mapping(SMALL, fault, 25 * MS);
}

static void gm1_a_fault_within_a_configuration_of_two_is_told(void **state)
{
    for (enum fault fault = 0; fault < NFAULTS; fault++)
        faults_in_a_mapping(LARGE, fault, 100 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gm1_a_fault_in_any_phase_of_the_cycle_is_told),
        cmocka_unit_test(gm1_the_mapper_alone_tells_within_the_goal),
        cmocka_unit_test(gm1_a_fault_while_a_new_map_is_made_is_told),
        cmocka_unit_test(gm1_a_fault_within_a_configuration_of_two_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
