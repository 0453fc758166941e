/* SPDX-License-Identifier: BSD-3-Clause
 * Short messages without a request, mixed with all else: each tag's messages
 * stay in order, and whoever watches sees every packet.
 */
#include "p2p_fast.h"

#define MIX 400
#define TAGS 3
#define AHEAD 5 /* else a queue builds up that nothing passes */

/* Packets from 0 to 1, as either end shows them. */
static struct {
    unsigned out, in;
    char text[8 * MIX][200];
} seen;

static void watch_out(void *arg, uint32_t peer, bool comes,
                      const struct impi_packet *pk)
{
    if (comes || peer != 1)
        return;
    assert_in_range(seen.out, 0, 8 * MIX - 1);
    impi_packet_format(seen.text[seen.out++], sizeof(seen.text[0]), pk);
}

static void watch_in(void *arg, uint32_t peer, bool comes,
                     const struct impi_packet *pk)
{
    char text[200];

    if (!comes || peer != 0)
        return;
    impi_packet_format(text, sizeof(text), pk);
    assert_in_range(seen.in, 0, seen.out - 1);
    assert_string_equal(text, seen.text[seen.in++]);
}

static void watch(struct net *net)
{
    seen.out = seen.in = 0;
    net->ops[0].packet = watch_out;
    net->ops[1].packet = watch_in;
}

struct mix {
    struct net *net;
    struct impi_request send[MIX];
    uint32_t text[MIX];
    unsigned sent, next[TAGS], puts, takes;
};

static void send_one(struct mix *m)
{
    unsigned i = m->sent++;
    struct impi_send args = {.peer = 1,
                             .tag = (int32_t)net_random(m->net, TAGS),
                             .cid = 6,
                             .sync = net_random(m->net, 8) == 0,
                             .buf = {.base = &m->text[i], .len = 4}};

    m->text[i] = (uint32_t)args.tag << 16 | m->next[args.tag]++;
    if (!args.sync && net_random(m->net, 2) && put(m->net, 0, &args))
        m->puts++;
    else
        impi_p2p_isend(m->net->p2p[0], &m->send[i], &args);
}

static uint32_t receive_one(struct mix *m, int32_t tag)
{
    struct impi_request req, *p = &req;
    struct impi_status st;
    uint32_t got = 0;
    struct impi_recv want = in(0, tag, &got, 4);

    if (net_random(m->net, 2) && take(m->net, 1, 0, &want, &st)) {
        m->takes++;
        return got;
    }
    impi_p2p_irecv(m->net->p2p[1], &req, &want);
    net_wait(m->net, &p, 1);
    return got;
}

/* Each tag's messages come in their order, whichever way each end takes, and
 * each packet is shown once at both ends. */
static void order_stays_in_any_mix(void **state)
{
    unsigned puts = 0, takes = 0;

    for (uint64_t seed = 1; seed <= 200; seed++) {
        static struct mix m;
        unsigned want[TAGS] = {0}, got = 0;

        m = (struct mix){.net = start(200, seed)};
        watch(m.net);
        impi_p2p_set_unexpected_max(m.net->p2p[1], 1000000);
        while (got < MIX) {
            uint32_t tag = net_random(m.net, TAGS);

            if (m.sent < MIX && m.sent < got + AHEAD &&
                net_random(m.net, 5) < 3)
                send_one(&m);
            else if (want[tag] < m.next[tag]) {
                assert_int_equal(receive_one(&m, (int32_t)tag),
                                 tag << 16 | want[tag]);
                want[tag]++;
                got++;
            } else if (net_random(m.net, 8) == 0)
                net_settle(m.net);
        }
        puts += m.puts;
        takes += m.takes;
        net_settle(m.net);
        assert_true(seen.out >= MIX);
        assert_int_equal(seen.in, seen.out);
        net_destroy(m.net);
    }
    if (puts < 5000 || takes < 300)
        fail_msg("shows nothing: %u sent and %u received so", puts, takes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_stays_in_any_mix),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
