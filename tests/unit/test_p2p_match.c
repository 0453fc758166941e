/* SPDX-License-Identifier: BSD-3-Clause
 * Matching: order, wildcards, claims against the native library, probes,
 * cancelled receives, contexts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/slots.h"
#include "p2p_net.h"

static void send_text(struct net *net, uint32_t from, uint32_t to, int32_t tag,
                      const char *text, struct impi_request *req)
{
    net_isend(net, from, to, tag, text, strlen(text) + 1, false, req);
}

static void recv_text(struct net *net, uint32_t at, uint32_t from, int32_t tag,
                      char *text, struct impi_request *req)
{
    net_irecv(net, at, from, tag, text, 64, req);
}

static void order_of_arrival_is_order_of_sending(void **state)
{
    struct net *net = net_create(&net_three);
    struct impi_request s[3], r[3];
    char text[3][64];

    send_text(net, 0, 2, 1, "first", &s[0]);
    send_text(net, 0, 2, 2, "second", &s[1]);
    send_text(net, 0, 2, 1, "third", &s[2]);
    net_settle(net);
    recv_text(net, 2, 0, IMPI_ANY_TAG, text[0], &r[0]);
    recv_text(net, 2, 0, 1, text[1], &r[1]);
    recv_text(net, 2, 0, 2, text[2], &r[2]);
    assert_true(r[0].done && r[1].done && r[2].done);
    assert_string_equal(text[0], "first");
    assert_string_equal(text[1], "third");
    assert_string_equal(text[2], "second");
    assert_int_equal(r[0].status.tag, 1);
    net_destroy(net);
}

/* A wildcard posted before (after) a receive from the source is older
 * (younger) than it. */
static void posted_receives_match_in_posting_order(void **state)
{
    struct net *net = net_create(&net_three);
    struct impi_request s[3], r[3];
    char text[3][64];

    recv_text(net, 2, 0, 1, text[0], &r[0]);
    recv_text(net, 2, IMPI_ANY_PEER, 1, text[1], &r[1]);
    recv_text(net, 2, 0, IMPI_ANY_TAG, text[2], &r[2]);
    send_text(net, 0, 2, 1, "first", &s[0]);
    send_text(net, 0, 2, 1, "second", &s[1]);
    send_text(net, 0, 2, 1, "third", &s[2]);
    net_settle(net);
    assert_string_equal(text[0], "first");
    assert_string_equal(text[1], "second");
    assert_string_equal(text[2], "third");
    assert_int_equal(r[1].status.source, 0);
    net_destroy(net);
}

static void any_source_takes_the_oldest_arrival(void **state)
{
    struct net *net = net_create(&net_three);
    struct impi_request s[2], r[2];
    char text[2][64];

    send_text(net, 1, 2, 7, "from one", &s[0]);
    net_settle(net);
    send_text(net, 0, 2, 7, "from zero", &s[1]);
    net_settle(net);
    recv_text(net, 2, IMPI_ANY_PEER, IMPI_ANY_TAG, text[0], &r[0]);
    recv_text(net, 2, IMPI_ANY_PEER, 7, text[1], &r[1]);
    assert_string_equal(text[0], "from one");
    assert_int_equal(r[0].status.source, 1);
    assert_int_equal(r[0].status.tag, 7);
    assert_string_equal(text[1], "from zero");
    assert_int_equal(r[1].status.source, 0);
    net_destroy(net);
}

static void context_ids_keep_messages_apart(void **state)
{
    struct net *net = net_create(&net_three);
    struct impi_request s, r[2];
    char text[2][64] = {"", ""};
    struct impi_send send = {.peer = 2, .tag = 1, .cid = UINT64_C(1) << 40};
    struct impi_recv recv = {.peer = 0, .tag = IMPI_ANY_TAG};

    recv.buf = (struct impi_buffer){.base = text[0], .len = 64};
    impi_p2p_irecv(net->p2p[2], &r[0], &recv);
    recv.cid = send.cid;
    recv.buf.base = text[1];
    impi_p2p_irecv(net->p2p[2], &r[1], &recv);
    send.buf = (struct impi_buffer){.base = "other", .len = 6};
    impi_p2p_isend(net->p2p[0], &s, &send);
    net_settle(net);
    assert_false(r[0].done);
    assert_true(r[1].done);
    assert_string_equal(text[1], "other");
    net_destroy(net);
}

/* IM-122: a wildcard learns the rank that the sender has in the communicator
 * from the packet; a receive from a peer gives back what was asked for. */
static void source_is_the_rank_in_the_communicator(void **state)
{
    struct net *net = net_create(&net_three);
    struct impi_send send = {.peer = 2, .rank = 5, .tag = 1, .cid = 8};
    struct impi_recv recv = {.peer = IMPI_ANY_PEER, .tag = 1, .cid = 8};
    struct impi_request s[2], r[2];

    impi_p2p_irecv(net->p2p[2], &r[0], &recv);
    impi_p2p_isend(net->p2p[0], &s[0], &send);
    net_settle(net);
    assert_true(r[0].done);
    assert_int_equal(r[0].status.source, 5);
    impi_p2p_isend(net->p2p[0], &s[1], &send);
    recv.peer = 0;
    recv.rank = 5;
    impi_p2p_irecv(net->p2p[2], &r[1], &recv);
    net_settle(net);
    assert_int_equal(r[1].status.source, 5);
    net_destroy(net);
}

/* ---- claims ---- */

static void post_shared(struct net *net, char *text, struct impi_request *req)
{
    struct impi_recv recv = {
        .peer = IMPI_ANY_PEER,
        .tag = 1,
        .shared = true,
        .buf = {.base = text, .len = 64},
    };

    impi_p2p_irecv(net->p2p[2], req, &recv);
}

static void claim_granted_takes_the_message(void **state)
{
    struct net *net = net_create(&net_three);
    struct impi_request s, r;
    char text[64] = "untouched";

    post_shared(net, text, &r);
    assert_int_equal(r.state, IMPI_REQ_POSTED);
    send_text(net, 0, 2, 1, "ours", &s);
    net_settle(net);
    assert_int_equal(net->procs[2].claims, 1);
    assert_true(r.done);
    assert_string_equal(text, "ours");
    net_destroy(net);
}

/* The native library was faster: the message goes to the next receive, and
 * not one byte into the buffer that is not ours any more. */
static void claim_denied_goes_on_to_the_next_receive(void **state)
{
    struct net *net = net_create(&net_three);
    struct impi_request s, r[2];
    char text[2][64] = {"untouched", ""};

    post_shared(net, text[0], &r[0]);
    post_shared(net, text[1], &r[1]);
    net->procs[2].deny = 1;
    send_text(net, 0, 2, 1, "ours", &s);
    net_settle(net);
    assert_int_equal(net->procs[2].claims, 2);
    assert_ptr_equal(net->procs[2].denied, &r[0]);
    assert_false(r[0].done);
    assert_int_equal(r[0].state, IMPI_REQ_IDLE);
    assert_string_equal(text[0], "untouched");
    assert_true(r[1].done);
    assert_string_equal(text[1], "ours");
    assert_false(impi_p2p_busy(net->p2p[2]));
    net_destroy(net);
}

static void claim_denied_by_all_leaves_it_unexpected(void **state)
{
    struct net *net = net_create(&net_three);
    struct impi_request s, r[3];
    char text[3][64] = {"untouched", "untouched", ""};

    post_shared(net, text[0], &r[0]);
    post_shared(net, text[1], &r[1]);
    net->procs[2].deny = 2;
    send_text(net, 0, 2, 1, "ours", &s);
    net_settle(net);
    assert_string_equal(text[0], "untouched");
    assert_string_equal(text[1], "untouched");
    post_shared(net, text[2], &r[2]); /* found at once: no claim */
    assert_true(r[2].done);
    assert_int_equal(net->procs[2].claims, 2);
    assert_string_equal(text[2], "ours");
    net_destroy(net);
}

/* ---- probes ---- */

static void probe_sees_only_wholly_read_first_packets(void **state)
{
    struct net *net = net_create(&net_three);
    struct impi_recv want = {.peer = 0, .rank = 0, .tag = IMPI_ANY_TAG};
    struct impi_packet pk = {.len = 10, .msglen = 10, .tag = 4};
    uint8_t wire[IMPI_PACKET_SIZE + 10] = {0};
    struct impi_status status;

    net_connect(net, 2, 0);
    impi_proc_encode(pk.src, net->world.procs[0].hostid, 1000);
    impi_proc_encode(pk.dest, net->world.procs[2].hostid, 1002);
    impi_packet_encode(wire, &pk);
    for (size_t i = 0; i < sizeof(wire); i++) {
        assert_false(impi_p2p_iprobe(net->p2p[2], &want, &status));
        assert_int_equal(net_inject(net, 2, 0, wire + i, 1), 0);
    }
    assert_true(impi_p2p_iprobe(net->p2p[2], &want, &status));
    assert_int_equal(status.bytes, 10);
    assert_int_equal(status.tag, 4);
    assert_int_equal(status.source, 0);
    want.tag = 5;
    assert_false(impi_p2p_iprobe(net->p2p[2], &want, &status));
    net_destroy(net);
}

static void probe_of_a_long_message_tells_its_length(void **state)
{
    struct net *net = net_create(&net_three);
    struct impi_recv want = {.peer = IMPI_ANY_PEER, .tag = 3};
    struct impi_request s, r, *both[] = {&s, &r};
    uint8_t out[100] = "long", in[100];
    struct impi_status status;

    net_isend(net, 1, 2, 3, out, 100, false, &s);
    net_settle(net);
    assert_true(impi_p2p_iprobe(net->p2p[2], &want, &status));
    assert_int_equal(status.msglen, 100);
    assert_int_equal(status.bytes, 100);
    assert_int_equal(status.source, 1);
    net_irecv(net, 2, 1, 3, in, status.msglen, &r);
    net_wait(net, both, 2);
    assert_memory_equal(in, out, 100);
    net_destroy(net);
}

static void matched_probe_takes_the_message_out(void **state)
{
    struct net *net = net_create(&net_three);
    struct impi_recv want = {.peer = 0, .tag = 3};
    struct impi_request s[2], r[2], *all[] = {&s[0], &s[1], &r[0], &r[1]};
    uint8_t out[100] = "long", in[100];
    struct impi_buffer buf = {.base = in, .len = 100};
    struct impi_unexpected *message;
    struct impi_status status;
    char text[64];

    net_isend(net, 0, 2, 3, out, 100, true, &s[0]);
    send_text(net, 0, 2, 3, "second", &s[1]);
    net_settle(net);
    message = impi_p2p_improbe(net->p2p[2], &want, &status);
    assert_non_null(message);
    recv_text(net, 2, 0, 3, text, &r[0]);
    net_settle(net);
    assert_string_equal(text, "second");
    assert_false(s[0].done);
    impi_p2p_imrecv(net->p2p[2], &r[1], message, &buf);
    net_wait(net, all, 4);
    assert_memory_equal(in, out, 100);
    assert_int_equal(r[1].status.tag, 3);
    net_destroy(net);
}

/* ---- cancelled receives ---- */

static void cancel_of_a_posted_receive(void **state)
{
    struct net *net = net_create(&net_three);
    struct impi_request s, r[3];
    char text[3][64] = {"", "", ""};

    recv_text(net, 2, 0, 1, text[0], &r[0]);
    recv_text(net, 2, IMPI_ANY_PEER, 1, text[1], &r[1]);
    recv_text(net, 2, 0, 1, text[2], &r[2]);
    assert_true(impi_p2p_cancel_recv(net->p2p[2], &r[0], false));
    assert_true(r[0].done && r[0].status.cancelled);
    assert_true(impi_p2p_cancel_recv(net->p2p[2], &r[1], true));
    assert_false(r[1].done);
    send_text(net, 0, 2, 1, "mine", &s);
    net_settle(net);
    assert_string_equal(text[2], "mine");
    assert_false(impi_p2p_cancel_recv(net->p2p[2], &r[2], false));
    assert_false(r[2].status.cancelled);
    assert_false(impi_p2p_busy(net->p2p[2]));
    net_destroy(net);
}

/* A receive posted while its message is half read takes the other half
 * straight, wherever the cut is. */
static void receive_posted_in_the_middle_of_the_message(void **state)
{
    for (size_t cut = IMPI_PACKET_SIZE; cut <= IMPI_PACKET_SIZE + 16; cut++) {
        struct net *net = net_create(&net_three);
        struct impi_packet pk = {.len = 16, .msglen = 16, .tag = 4};
        uint8_t wire[IMPI_PACKET_SIZE + 16] = {0}, in[16] = {0};
        struct impi_request r;

        net_connect(net, 2, 0);
        impi_proc_encode(pk.src, net->world.procs[0].hostid, 1000);
        impi_proc_encode(pk.dest, net->world.procs[2].hostid, 1002);
        impi_packet_encode(wire, &pk);
        memcpy(wire + IMPI_PACKET_SIZE, "0123456789abcdef", 16);
        assert_int_equal(net_inject(net, 2, 0, wire, cut), 0);
        net_irecv(net, 2, 0, 4, in, 16, &r);
        assert_int_equal(r.done, cut == sizeof(wire));
        assert_int_equal(net_inject(net, 2, 0, wire + cut, sizeof(wire) - cut),
                         0);
        assert_true(r.done);
        assert_memory_equal(in, "0123456789abcdef", 16);
        net_destroy(net);
    }
}

/* ---- data through a callback ---- */

struct flow {
    uint64_t next; /* bytes moved so far: pieces come in order */
    uint8_t data[1000];
    bool fails;
};

static int move_out(void *arg, uint64_t off, void *wire, size_t n)
{
    struct flow *f = arg;

    assert_int_equal(off, f->next);
    memcpy(wire, f->data + off, n);
    f->next += n;
    return f->fails ? -1 : 0;
}

static int move_in(void *arg, uint64_t off, void *wire, size_t n)
{
    struct flow *f = arg;

    assert_int_equal(off, f->next);
    memcpy(f->data + off, wire, n);
    f->next += n;
    return f->fails ? -1 : 0;
}

/* Two bytes each, in order. */
static int where_next(void *arg, struct iovec *at, int max, size_t n)
{
    struct flow *f = arg;
    int i;

    for (i = 0; i < max && n > 0; i++) {
        size_t len = n < 2 ? n : 2;

        at[i] = (struct iovec){f->data + f->next + 2 * (size_t)i, len};
        n -= len;
    }
    return i;
}

static void pass(void *arg, size_t n)
{
    ((struct flow *)arg)->next += n;
}

enum by { BUFFER, APART, PLACES };

static void converted(uint64_t seed, size_t len, size_t room, bool early,
                      bool send_fails, bool recv_fails, enum by by)
{
    struct net_options o = net_three;
    struct flow out = {.fails = send_fails}, in = {.fails = recv_fails};
    struct impi_send send = {.peer = 1, .tag = 1};
    struct impi_recv recv = {.peer = 0, .tag = 1};
    struct impi_request s, r, *both[] = {&s, &r};
    struct net *net;

    o.seed = seed;
    o.piece = 50 + seed * 37 % 400;
    o.apart = by == APART;
    o.places = by == PLACES;
    net = net_create(&o);
    for (size_t i = 0; i < len; i++)
        out.data[i] = (uint8_t)(i * 7);
    send.buf = (struct impi_buffer){.len = len, .move = move_out, .arg = &out};
    recv.buf = (struct impi_buffer){.len = room, .move = move_in, .arg = &in};
    if (by == PLACES) {
        send.buf.places = recv.buf.places = where_next;
        send.buf.pass = recv.buf.pass = pass;
    }
    if (early)
        impi_p2p_irecv(net->p2p[1], &r, &recv);
    impi_p2p_isend(net->p2p[0], &s, &send);
    net_step(net);
    net_step(net);
    if (!early)
        impi_p2p_irecv(net->p2p[1], &r, &recv);
    net_wait(net, both, 2);
    assert_int_equal(out.next, len);
    assert_int_equal(in.next, len < room ? len : room);
    assert_int_equal(s.status.error, send_fails ? IMPI_ERR_CONVERT : IMPI_OK);
    if (recv_fails)
        assert_int_equal(r.status.error, IMPI_ERR_CONVERT);
    else
        assert_int_equal(r.status.error,
                         len > room ? IMPI_ERR_TRUNCATE : IMPI_OK);
    if (!send_fails)
        assert_memory_equal(in.data, out.data, in.next);
    net_settle(net);
    net_destroy(net);
}

static void convert_many(enum by by)
{
    for (uint64_t seed = 1; seed < 60; seed++)
        converted(seed, 1 + seed * 131 % 999, 1000, seed & 1, false, false, by);
    for (uint64_t seed = 1; seed < 20; seed++)
        converted(seed, 500 + seed, 300 + seed, seed & 1, false, false, by);
}

static void converted_data_pass_through_the_callback(void **state)
{
    convert_many(BUFFER);
    converted(1, 700, 1000, true, true, false, BUFFER);
    converted(2, 700, 1000, false, false, true, BUFFER);
}

static void converted_data_go_straight_into_the_connections_memory(void **state)
{
    convert_many(APART);
    converted(1, 700, 1000, true, true, false, APART);
    converted(2, 700, 1000, false, false, true, APART);
}

static void data_in_pieces_are_written_and_read_where_they_lie(void **state)
{
    convert_many(PLACES);
}

/* IM-120: ids of many requests stay apart. */
/* So what a peer says of an old request finds no new one. */
static void an_id_that_was_used_is_no_more(void **state)
{
    struct impi_slots slots = {0};
    int object[2];
    uint64_t old = impi_slots_add(&slots, &object[0]), new;

    assert_ptr_equal(impi_slots_find(&slots, old), &object[0]);
    impi_slots_remove(&slots, old);
    assert_null(impi_slots_find(&slots, old));
    new = impi_slots_add(&slots, &object[1]);
    assert_true(new != old);
    assert_null(impi_slots_find(&slots, old));
    assert_ptr_equal(impi_slots_find(&slots, new), &object[1]);
    impi_slots_free(&slots);
}

static void ten_thousand_outstanding_requests(void **state)
{
    enum { N = 10000 };
    struct net *net = net_create(&net_three);
    struct impi_request *s = calloc(N, sizeof(*s)), *r = calloc(N, sizeof(*r));
    uint32_t *out = calloc(N, 4), *in = calloc(N, 4);

    for (uint32_t i = 0; i < N; i++) {
        out[i] = i * 2654435761u;
        net_isend(net, 0, 1, (int32_t)i, &out[i], 4, true, &s[i]);
    }
    for (uint32_t i = 1; i < N; i++)
        assert_true(s[i].id != s[i - 1].id && s[i].id != 0);
    for (uint32_t i = 0; i < N; i++)
        net_irecv(net, 1, 0, (int32_t)(N - 1 - i), &in[i], 4, &r[i]);
    net_settle(net);
    for (uint32_t i = 0; i < N; i++) {
        assert_true(s[i].done && r[i].done);
        assert_int_equal(in[i], out[N - 1 - i]);
    }
    free(s);
    free(r);
    free(in);
    free(out);
    net_destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_of_arrival_is_order_of_sending),
        cmocka_unit_test(posted_receives_match_in_posting_order),
        cmocka_unit_test(any_source_takes_the_oldest_arrival),
        cmocka_unit_test(context_ids_keep_messages_apart),
        cmocka_unit_test(source_is_the_rank_in_the_communicator),
        cmocka_unit_test(claim_granted_takes_the_message),
        cmocka_unit_test(claim_denied_goes_on_to_the_next_receive),
        cmocka_unit_test(claim_denied_by_all_leaves_it_unexpected),
        cmocka_unit_test(probe_sees_only_wholly_read_first_packets),
        cmocka_unit_test(probe_of_a_long_message_tells_its_length),
        cmocka_unit_test(matched_probe_takes_the_message_out),
        cmocka_unit_test(cancel_of_a_posted_receive),
        cmocka_unit_test(receive_posted_in_the_middle_of_the_message),
        cmocka_unit_test(converted_data_pass_through_the_callback),
        cmocka_unit_test(
            converted_data_go_straight_into_the_connections_memory),
        cmocka_unit_test(data_in_pieces_are_written_and_read_where_they_lie),
        cmocka_unit_test(ten_thousand_outstanding_requests),
        cmocka_unit_test(an_id_that_was_used_is_no_more),
    };

    return cmocka_run_group_tests_name("p2p_match", tests, NULL, NULL);
}
