/* SPDX-License-Identifier: BSD-3-Clause
 * Messages for receives that cannot be claimed when they come: what is kept,
 * what goes on, and that the order stays.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "p2p_net.h"

#define AT 2 /* who receives */

struct box {
    struct impi_request req;
    char text[64];
};

static void post(struct net *net, struct box *b, uint32_t from, int32_t tag)
{
    struct impi_recv recv = {
        .peer = from,
        .rank = (int32_t)from,
        .tag = tag,
        .shared = from == IMPI_ANY_PEER,
        .buf = {.base = b->text, .len = sizeof(b->text)},
    };

    strcpy(b->text, "untouched");
    impi_p2p_irecv(net->p2p[AT], &b->req, &recv);
}

static void send_text(struct net *net, uint32_t from, int32_t tag,
                      const char *text, bool sync, struct impi_request *req)
{
    net_isend(net, from, AT, tag, text, strlen(text) + 1, sync, req);
}

static void settle(struct net *net)
{
    net->procs[AT].later = false;
    impi_p2p_settle(net->p2p[AT]);
    net_settle(net);
}

static struct net *start(void)
{
    struct net *net = net_create(&net_three);

    net->procs[AT].later = true;
    return net;
}

static void kept_until_it_can_be_claimed(void **state)
{
    struct net *net = start();
    struct impi_request s;
    struct box any;

    post(net, &any, IMPI_ANY_PEER, 1);
    send_text(net, 0, 1, "one", true, &s);
    net_settle(net);
    assert_false(any.req.done || s.done);
    assert_string_equal(any.text, "untouched");
    settle(net);
    assert_true(any.req.done && s.done);
    assert_string_equal(any.text, "one");
    assert_int_equal(any.req.status.source, 0);
    assert_false(impi_p2p_busy(net->p2p[AT]));
    net_destroy(net);
}

static void a_long_one_follows_when_it_is_claimed(void **state)
{
    struct net *net = start();
    struct impi_request s;
    struct box any;

    post(net, &any, IMPI_ANY_PEER, 1);
    send_text(net, 0, 1, "longer than one packet of sixteen", false, &s);
    net_settle(net);
    assert_false(any.req.done || s.done);
    settle(net);
    assert_true(any.req.done && s.done);
    assert_string_equal(any.text, "longer than one packet of sixteen");
    net_destroy(net);
}

/* The one thing that it is for. */
static void what_others_wait_for_goes_on(void **state)
{
    struct net *net = start();
    struct impi_request s[4];
    struct box any, tagged, older, other;

    post(net, &older, 1, 1);
    post(net, &any, IMPI_ANY_PEER, 1);
    post(net, &tagged, 0, 2);
    post(net, &other, 0, IMPI_ANY_TAG);
    send_text(net, 0, 1, "for any", true, &s[0]);
    send_text(net, 0, 2, "tagged", true, &s[1]);
    send_text(net, 1, 1, "a long one for the older", true, &s[2]);
    send_text(net, 0, 3, "may not overtake", true, &s[3]);
    net_settle(net);
    assert_false(any.req.done || other.req.done);
    assert_true(tagged.req.done && s[1].done);
    assert_true(older.req.done && s[2].done);
    assert_string_equal(tagged.text, "tagged");
    assert_string_equal(older.text, "a long one for the older");
    settle(net);
    assert_string_equal(any.text, "for any");
    assert_string_equal(other.text, "may not overtake");
    net_destroy(net);
}

/* The receive behind it fits both: it gets the second. */
static void messages_of_one_pair_keep_their_order(void **state)
{
    for (int deny = 0; deny < 2; deny++) {
        struct net *net = start();
        struct impi_request s[2];
        struct box any, next;

        post(net, &any, IMPI_ANY_PEER, 1);
        post(net, &next, 0, 1);
        send_text(net, 0, 1, "first", false, &s[0]);
        send_text(net, 0, 1, "second", false, &s[1]);
        net_settle(net);
        assert_false(any.req.done || next.req.done);
        net->procs[AT].deny = deny;
        settle(net);
        assert_string_equal(any.text, deny ? "untouched" : "first");
        assert_string_equal(next.text, deny ? "first" : "second");
        net_destroy(net);
    }
}

static void a_new_receive_or_probe_does_not_take_it(void **state)
{
    struct net *net = start();
    struct impi_recv want = {.peer = 0, .tag = 1};
    struct impi_status st;
    struct impi_request s[2];
    struct box any, next;

    post(net, &any, IMPI_ANY_PEER, 1);
    send_text(net, 0, 1, "first", false, &s[0]);
    net_settle(net);
    net->procs[AT].later = false;
    post(net, &next, 0, 1);
    assert_string_equal(any.text, "first");
    assert_false(next.req.done);
    net->procs[AT].later = true;
    post(net, &any, IMPI_ANY_PEER, 1);
    send_text(net, 0, 1, "second", false, &s[0]);
    send_text(net, 0, 1, "third", false, &s[1]);
    net_settle(net);
    assert_string_equal(next.text, "second");
    net->procs[AT].later = false;
    assert_false(impi_p2p_iprobe(net->p2p[AT], &want, &st));
    assert_string_equal(any.text, "third");
    net_destroy(net);
}

static void it_can_be_cancelled_while_it_waits(void **state)
{
    struct net *net = start();
    struct impi_request s[2];
    struct box any;

    post(net, &any, IMPI_ANY_PEER, 1);
    send_text(net, 0, 1, "never", true, &s[0]);
    net_settle(net);
    impi_p2p_cancel_send(net->p2p[0], &s[0]);
    net_settle(net);
    assert_true(s[0].done && s[0].status.cancelled);
    settle(net);
    assert_false(any.req.done);
    send_text(net, 0, 1, "this", true, &s[1]);
    net_settle(net);
    assert_string_equal(any.text, "this");
    net_destroy(net);
}

static void its_peer_may_be_lost_meanwhile(void **state)
{
    struct net *net = start();
    struct impi_request s;
    struct box any;

    post(net, &any, IMPI_ANY_PEER, 1);
    send_text(net, 0, 1, "longer than one packet of sixteen", false, &s);
    net_settle(net);
    impi_p2p_peer_fail(net->p2p[AT], 0, "gone");
    settle(net);
    assert_true(any.req.done);
    assert_int_equal(any.req.status.error, IMPI_ERR_PEER);
    net_destroy(net);
}

/* ---- the same matches, whenever they are made ---- */

#define N 40

static int32_t random_tag(struct net *net)
{
    return 1 + (int32_t)net_random(net, 2);
}

/* Sends and receives in an order that follows from the seed alone: got[i] is
 * what receive i got. */
static void run(uint64_t seed, bool later, char got[N][64])
{
    static struct impi_request s[N];
    static char text[N][64];
    static struct box box[N];
    struct net_options o = net_three;
    struct net *net, *dice;

    o.seed = seed;
    net = net_create(&o);
    dice = net_create(&o);
    for (int i = 0; i < N; i++) {
        uint32_t from = net_random(dice, 3) ? 0 : IMPI_ANY_PEER;
        int32_t tag = net_random(dice, 4) ? random_tag(dice) : IMPI_ANY_TAG;
        bool first = net_random(dice, 2), may = net_random(dice, 2);

        if (first)
            post(net, &box[i], from, tag);
        snprintf(text[i], sizeof(text[i]), "message %d%s", i,
                 net_random(dice, 2) ? "" : " and more than a packet takes");
        net->procs[AT].later = later && may;
        send_text(net, 0, random_tag(dice), text[i], net_random(dice, 2),
                  &s[i]);
        net_settle(net);
        net->procs[AT].later = false;
        if (!first)
            post(net, &box[i], from, tag);
    }
    settle(net);
    for (int i = 0; i < N; i++)
        memcpy(got[i], box[i].text, sizeof(got[i]));
    net_destroy(dice);
    net_destroy(net);
}

static void random_orders_match_alike_now_and_later(void **state)
{
    static char now[N][64], later[N][64];

    for (uint64_t seed = 1; seed <= 200; seed++) {
        run(seed, false, now);
        run(seed, true, later);
        for (int i = 0; i < N; i++)
            assert_string_equal(now[i], later[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_until_it_can_be_claimed),
        cmocka_unit_test(a_long_one_follows_when_it_is_claimed),
        cmocka_unit_test(what_others_wait_for_goes_on),
        cmocka_unit_test(messages_of_one_pair_keep_their_order),
        cmocka_unit_test(a_new_receive_or_probe_does_not_take_it),
        cmocka_unit_test(it_can_be_cancelled_while_it_waits),
        cmocka_unit_test(its_peer_may_be_lost_meanwhile),
        cmocka_unit_test(random_orders_match_alike_now_and_later),
    };

    return cmocka_run_group_tests_name("p2p_later", tests, NULL, NULL);
}
