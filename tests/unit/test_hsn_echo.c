/* SPDX-License-Identifier: BSD-3-Clause
 * Several routes to one peer: which one a message takes, echoes that find dead
 * ones, and when that is reported; all in virtual time.
 */
#include "health/pace.h"
#include "hsn/echo_round.h"
#include "hsn_util.h"

enum { SECOND = 1000000000, WAYS = 4, HOSTS = 3 };

/* Routes to board 2 (a neighbour or not) and 3: WAYS of one length, the nth
 * with delta n, and one that is longer. */
static void load(struct node *n, bool neighbour)
{
    struct hsn_peer peer[2];
    struct hsn_routes r;

    memset(peer, 0, sizeof(peer));
    for (int k = 0; k < 2; k++) {
        peer[k].address = (uint64_t)k + 2;
        peer[k].neighbour = neighbour && k == 0;
        peer[k].nroutes = WAYS + 1;
        for (int i = 0; i <= WAYS; i++) {
            peer[k].route[i].len = i < WAYS ? 2 : 3;
            memset(peer[k].route[i].byte, 0x81 + i, 3);
        }
    }
    assert_int_equal(
        hsn_routes_make(&r, peer, 2, hsn_engine_routes(n->e), NULL), 0);
    hsn_engine_set_routes(n->e, &r);
}

static struct node *node_with_ways(bool neighbour)
{
    struct node *n = node_new(1, 8192, &copy_module);

    load(n, neighbour);
    return n;
}

static struct hsn_routes *routes(struct node *n)
{
    return hsn_engine_routes_of(n->e);
}

/* Which way the last packet went. */
static int last_way(const struct node *n)
{
    return n->nic.out[n->nic.nout - 1].route[0] - 0x81;
}

static int send_flow(struct node *n, uint32_t flow)
{
    struct hsn_send s = {
        .board = 2, .header = {(void *)(uintptr_t) "h", 1}, .flow = flow};

    assert_int_equal(hsn_engine_send(n->e, HSN_MODULE_CLIENT, &s, n->now), 0);
    return last_way(n);
}

static unsigned ways_of_flows(struct node *n)
{
    unsigned seen = 0;

    for (uint32_t flow = 1; flow <= 100; flow++)
        seen |= 1u << send_flow(n, flow);
    return seen;
}

static void flows_use_all_of_the_shortest_routes(void **state)
{
    struct node *n = node_with_ways(true);

    assert_int_equal(ways_of_flows(n), (1u << WAYS) - 1);
    for (uint32_t flow = 1; flow <= 20; flow++)
        assert_int_equal(send_flow(n, flow), send_flow(n, flow));
    node_free(n);
}

static void halves_of_a_message_take_one_route(void **state)
{
    struct node *n = node_with_ways(true);
    static uint8_t page[8192];

    for (uint32_t flow = 1; flow <= 20; flow++) {
        struct hsn_send s = {.board = 2, .data = {page, 8192}, .flow = flow};
        size_t at = n->nic.nout;

        assert_int_equal(hsn_engine_send(n->e, HSN_MODULE_CLIENT, &s, n->now),
                         0);
        assert_int_equal(n->nic.nout, at + 2);
        assert_int_equal(n->nic.out[at].route[0], n->nic.out[at + 1].route[0]);
    }
    node_free(n);
}

static void dead_routes_are_not_used_unless_all_are(void **state)
{
    struct node *n = node_with_ways(true);
    struct hsn_routed *peer = hsn_routes_find(routes(n), 2);

    assert_true(hsn_routes_mark(routes(n), peer, 1, true));
    assert_false(hsn_routes_mark(routes(n), peer, 1, true));
    assert_int_equal(ways_of_flows(n), 0xd);
    for (unsigned i = 0; i < WAYS; i++)
        hsn_routes_mark(routes(n), peer, i, true);
    assert_int_equal(ways_of_flows(n), 1u << WAYS); /* the long one */
    hsn_routes_mark(routes(n), peer, WAYS, true);
    assert_int_equal(ways_of_flows(n), (1u << WAYS) - 1);
    assert_true(hsn_routes_mark(routes(n), peer, 2, false));
    assert_int_equal(ways_of_flows(n), 1u << 2);
    node_free(n);
}

static void packets_are_counted_by_route(void **state)
{
    struct node *n = node_with_ways(true);
    struct hsn_routed *peer = hsn_routes_find(routes(n), 2);
    uint64_t sum = 0;

    ways_of_flows(n);
    for (unsigned i = 0; i < WAYS; i++) {
        assert_true(routes(n)->states[peer->first + i].sent > 0);
        sum += routes(n)->states[peer->first + i].sent;
    }
    assert_int_equal(sum, 100);
    assert_int_equal(peer->state.sent, 100);
    node_free(n);
}

/* ---- echoes ---- */

/* A fabric in which some routes of ours, and some of the peer's, are cut. */
struct fabric {
    struct node *n;
    struct hsn_echo echo;
    unsigned cut, cut_back;
    unsigned asked; /* echoes that left */
    uint64_t number[16];
    unsigned nnumbers;
};

static void ask(void *arg, uint64_t board, uint8_t by, uint64_t number)
{
    struct fabric *f = arg;

    f->asked++;
    if (board == 2 && !(f->cut >> (by - 1) & 1))
        f->number[f->nnumbers++] = number;
}

/* A round: the peer answers what reaches it by all of its routes. */
static bool play_round(struct fabric *f)
{
    struct hsn_routes *r = routes(f->n);
    bool changed;

    f->asked = f->nnumbers = 0;
    changed = hsn_echo_begin(&f->echo, r, f->n->now, ask, f);
    f->n->now += 1000;
    for (unsigned i = 0; i < f->nnumbers; i++)
        for (unsigned back = 0; back <= WAYS; back++)
            if (!(f->cut_back >> back & 1))
                changed |=
                    hsn_echo_answer(&f->echo, r, 2, f->number[i], f->n->now);
    f->n->now += SECOND;
    if (f->echo.due && f->n->now >= f->echo.due)
        changed |= hsn_echo_judge(&f->echo, r);
    return changed;
}

static struct fabric fabric(bool neighbour)
{
    return (struct fabric){.n = node_with_ways(neighbour),
                           .echo = {.board = 1, .wait_ns = SECOND}};
}

static struct hsn_peer_state *peer_of(struct fabric *f)
{
    return &hsn_routes_find(routes(f->n), 2)->state;
}

static void pulled_cable_moves_messages_without_a_new_map(void **state)
{
    struct fabric f = fabric(true);

    assert_false(play_round(&f));
    assert_int_equal(f.asked, WAYS + 1);
    f.cut = 1 << 0 | 1 << 2;
    assert_true(play_round(&f));
    assert_int_equal(ways_of_flows(f.n), 0xa);
    assert_int_equal(f.echo.died, 2);
    assert_false(play_round(&f)); /* told once */
    f.cut = 0;
    assert_true(play_round(&f));
    assert_int_equal(ways_of_flows(f.n), 0xf);
    assert_int_equal(f.echo.revived, 2);
    assert_int_equal(peer_of(&f)->echo_sent, peer_of(&f)->echo_back);
    node_free(f.n);
}

static void one_live_way_back_is_enough(void **state)
{
    struct fabric f = fabric(true);

    f.cut_back = 0x1e; /* all but the first */
    assert_false(play_round(&f));
    assert_int_equal(f.echo.died, 0);
    node_free(f.n);
}

static void silent_peer_is_told_once_and_keeps_its_routes(void **state)
{
    struct fabric f = fabric(true);

    f.cut = 0x1f;
    assert_true(play_round(&f));
    assert_true(peer_of(&f)->silent);
    assert_int_equal(f.echo.died, 0);
    assert_int_equal(ways_of_flows(f.n), 0xf);
    assert_false(play_round(&f));
    assert_int_equal(peer_of(&f)->echo_sent, 2);
    assert_int_equal(peer_of(&f)->echo_back, 0);
    f.cut = 0;
    assert_true(play_round(&f));
    assert_false(peer_of(&f)->silent);
    node_free(f.n);
}

static void who_is_sent_to_is_asked_as_well(void **state)
{
    struct fabric f = fabric(false);

    assert_false(play_round(&f));
    assert_int_equal(f.asked, 0);
    send_flow(f.n, 1);
    f.cut = 1 << 3;
    assert_true(play_round(&f));
    assert_int_equal(f.asked, WAYS + 1);
    assert_int_equal(ways_of_flows(f.n), 0x7);
    node_free(f.n);
}

static void answers_of_nothing_asked_change_nothing(void **state)
{
    struct fabric f = fabric(true);
    struct hsn_routes *r = routes(f.n);
    uint64_t number;

    assert_false(hsn_echo_answer(&f.echo, r, 2, 0, 1));
    f.cut = 1;
    hsn_echo_begin(&f.echo, r, f.n->now, ask, &f);
    number = f.number[0];
    assert_false(hsn_echo_answer(&f.echo, r, 3, number, 1)); /* not asked */
    assert_false(hsn_echo_answer(&f.echo, r, 9, number, 1));
    assert_false(hsn_echo_answer(&f.echo, r, 2, number + 77, 1));
    assert_false(hsn_echo_answer(&f.echo, r, 2, number + 256, 1));
    assert_int_equal(peer_of(&f)->echo_back, 0);
    hsn_echo_answer(&f.echo, r, 2, number, f.n->now);
    hsn_echo_answer(&f.echo, r, 2, number, f.n->now); /* by another way */
    assert_int_equal(peer_of(&f)->echo_back, 1);
    node_free(f.n);
}

static void new_map_keeps_dead_routes_and_loses_no_echo(void **state)
{
    struct fabric f = fabric(true);

    f.cut = 1 << 1;
    play_round(&f);
    hsn_echo_begin(&f.echo, routes(f.n), f.n->now, ask, &f);
    load(f.n, true);
    assert_int_equal(ways_of_flows(f.n), 0xd);
    hsn_echo_judge(&f.echo, routes(f.n));
    assert_false(peer_of(&f)->silent);
    assert_int_equal(peer_of(&f)->echo_sent, peer_of(&f)->echo_back);
    node_free(f.n);
}

/* ---- reports ---- */

static void change_is_reported_at_once_but_not_twice_a_second(void **state)
{
    struct pace p = {.every = 5ULL * SECOND, .least = SECOND};
    uint64_t now = 100ULL * SECOND;

    assert_true(pace_due(&p) <= now);
    pace_done(&p, now);
    assert_int_equal(pace_due(&p), now + p.every);
    now += 2ULL * SECOND;
    p.wanted = true;
    assert_true(pace_due(&p) <= now); /* at once */
    pace_done(&p, now);
    p.wanted = true; /* and again */
    assert_int_equal(pace_due(&p), now + SECOND);
    pace_done(&p, now + SECOND);
    assert_int_equal(pace_due(&p), now + SECOND + p.every);
}

static void change_does_not_wait_for_a_regular_report(void **state)
{
    struct pace p = {.every = 5ULL * SECOND, .least = SECOND};
    uint64_t now = 100ULL * SECOND;

    p.wanted = true;
    pace_done(&p, now);
    now += 5ULL * SECOND;
    pace_done(&p, now); /* regular */
    p.wanted = true;
    assert_true(pace_due(&p) <= now);
}

/* A host that is cut off shortly after a route died must not wait for it. */
static void what_is_urgent_waits_for_no_other_change(void **state)
{
    struct pace p = {.every = 5ULL * SECOND, .least = SECOND};
    uint64_t now = 100ULL * SECOND;

    p.wanted = true;
    pace_done(&p, now);
    p.wanted = p.urgent = true;
    assert_true(pace_due(&p) <= now);
    pace_done(&p, now);
    assert_false(p.urgent);
    p.wanted = p.urgent = true; /* it flaps */
    assert_int_equal(pace_due(&p), now + SECOND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flows_use_all_of_the_shortest_routes),
        cmocka_unit_test(halves_of_a_message_take_one_route),
        cmocka_unit_test(dead_routes_are_not_used_unless_all_are),
        cmocka_unit_test(packets_are_counted_by_route),
        cmocka_unit_test(pulled_cable_moves_messages_without_a_new_map),
        cmocka_unit_test(one_live_way_back_is_enough),
        cmocka_unit_test(silent_peer_is_told_once_and_keeps_its_routes),
        cmocka_unit_test(who_is_sent_to_is_asked_as_well),
        cmocka_unit_test(answers_of_nothing_asked_change_nothing),
        cmocka_unit_test(new_map_keeps_dead_routes_and_loses_no_echo),
        cmocka_unit_test(change_is_reported_at_once_but_not_twice_a_second),
        cmocka_unit_test(change_does_not_wait_for_a_regular_report),
        cmocka_unit_test(what_is_urgent_waits_for_no_other_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
