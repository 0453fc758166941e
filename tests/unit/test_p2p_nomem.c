/* SPDX-License-Identifier: BSD-3-Clause
 * The n-th allocation of the message engine fails, for every n: requests end
 * with an error or well, nothing hangs, nothing is leaked.  The linker sends
 * every allocation through here.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/schedule.h"
#include "nomem.h"
#include "p2p_net.h"

static const struct net_options two = {
    .nprocs = 2,
    .maxdatalen = 3000,
    .ackmark = 2,
    .hiwater = 4,
    .capacity = 9000,
    .piece = 9000,
    .seed = 1,
};

static int move(void *arg, uint64_t off, void *wire, size_t n)
{
    memset(wire, 7, n);
    return 0;
}

static void check_end(const struct impi_request *req)
{
    assert_true(req->done);
    assert_true(req->status.error == IMPI_OK ||
                req->status.error == IMPI_ERR_MEMORY ||
                req->status.error == IMPI_ERR_PEER);
}

/* Short, long, synchronous, converted, unexpected; true: nothing failed. */
static bool exchange(long n)
{
    struct net *net = net_create(&two);
    struct impi_send convert = {.peer = 1, .tag = 4};
    struct impi_request s[5] = {0}, r[5] = {0};
    uint8_t out[5000] = {0}, in[5][5000];
    bool well = true;

    net_connect(net, 0, 1);
    convert.buf = (struct impi_buffer){.len = 5000, .move = move};
    left = n;
    net_irecv(net, 1, 0, 0, in[0], 5000, &r[0]);
    net_isend(net, 0, 1, 0, out, 5, false, &s[0]);
    net_isend(net, 0, 1, 1, out, 2500, true, &s[1]);
    net_isend(net, 0, 1, 2, out, 5000, false, &s[2]);
    net_isend(net, 0, 1, 3, out, 6, true, &s[3]);
    impi_p2p_isend(net->p2p[0], &s[4], &convert);
    net_settle(net);
    for (int i = 1; i < 5; i++)
        net_irecv(net, 1, 0, i, in[i], 5000, &r[i]);
    net_settle(net);
    left = -1;
    /* What one side lost the other hears from the connection. */
    for (uint32_t i = 0; i < 2; i++) {
        if (impi_channel_failed(net->channel[i][!i]))
            impi_channel_rx_done(net->channel[!i][i], 0);
    }
    for (int i = 0; i < 5; i++) {
        if (s[i].status.error == IMPI_ERR_MEMORY) /* never sent */
            impi_p2p_cancel_recv(net->p2p[1], &r[i], false);
        if (r[i].status.error == IMPI_ERR_MEMORY && !s[i].done)
            impi_p2p_peer_fail(net->p2p[0], 1, "no memory there");
    }
    for (int i = 0; i < 5; i++) {
        check_end(&s[i]);
        check_end(&r[i]);
        well = well && !s[i].status.error && !r[i].status.error &&
               !r[i].status.cancelled;
    }
    net_destroy(net);
    return well;
}

static void requests_end_whatever_allocation_fails(void **state)
{
    long n = 0;

    while (!exchange(n))
        n++;
    assert_in_range(n, 4, 100);
}

/* Once the pools are warm, messages need no more memory. */
static void steady_state_allocates_nothing(void **state)
{
    struct net *net = net_create(&two);
    uint8_t out[5000] = {0}, in[4][5000];

    for (int round = 0; round < 50; round++) {
        struct impi_request s[4], r[4], *all[8];
        static const size_t len[] = {5, 900, 5000, 5};

        if (round == 2)
            left = 0;
        for (int i = 0; i < 4; i++) {
            net_isend(net, 0, 1, i, out, len[i], i == 3, &s[i]);
            if (i == 1)
                net_settle(net); /* unexpected */
            net_irecv(net, 1, 0, i, in[i], 5000, &r[i]);
            all[i] = &s[i];
            all[4 + i] = &r[i];
        }
        net_wait(net, all, 8);
        for (int i = 0; i < 8; i++)
            assert_int_equal(all[i]->status.error, IMPI_OK);
    }
    left = -1;
    net_destroy(net);
}

static void engine_is_made_or_not(void **state)
{
    static const struct impi_p2p_ops ops;
    struct impi_world w = {.maxdatalen = 1, .ackmark = 1, .hiwater = 1};
    struct impi_p2p *p2p = NULL;
    struct impi_channel *channel = NULL;

    assert_int_equal(impi_world_alloc(&w, 1, 2), 0);
    for (long n = 0; !channel; n++) {
        left = n;
        p2p = impi_p2p_create(&w, 0, &ops, NULL);
        assert_true(p2p || errno == ENOMEM);
        if (p2p)
            channel = impi_p2p_attach(p2p, 1);
        assert_true(!p2p || channel || errno == ENOMEM);
        left = -1;
        impi_p2p_destroy(p2p);
        assert_in_range(n, 0, 20);
    }
    impi_world_free(&w);
}

static void groups_and_schedules_are_made_or_not(void **state)
{
    static const struct impi_coll_rules rules = {.maxlinear = 4};
    static uint32_t client[40];
    struct impi_schedule s = {0};
    struct impi_group g;
    int rc = -1;

    for (uint32_t i = 0; i < 40; i++)
        client[i] = i;
    for (long n = 0; rc < 0; n++) {
        left = n;
        rc = impi_group_init(&g, client, 40);
        left = -1;
        assert_true(rc == 0 || errno == ENOMEM);
    }
    rc = -1;
    for (long n = 0; rc < 0; n++) {
        left = n;
        rc = impi_schedule_reduce(&s, &g, &rules, 0, 0, false);
        left = -1;
        assert_true(rc == 0 || (errno == ENOMEM && s.count == 0));
        impi_schedule_free(&s);
    }
    impi_group_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_end_whatever_allocation_fails),
        cmocka_unit_test(steady_state_allocates_nothing),
        cmocka_unit_test(engine_is_made_or_not),
        cmocka_unit_test(groups_and_schedules_are_made_or_not),
    };

    return cmocka_run_group_tests_name("p2p_nomem", tests, NULL, NULL);
}
