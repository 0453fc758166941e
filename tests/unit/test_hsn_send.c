/* SPDX-License-Identifier: BSD-3-Clause
 * Pending queue, send queue, completions.
 */
#include "hsn_util.h"

static uint8_t page[8192];

static void fill_page(void)
{
    fill(page, sizeof(page), 9);
}

static struct node *sender(void)
{
    fill_page();
    return node_new(1, 8192, &copy_module);
}

static int send_small(struct node *n, uint64_t cookie)
{
    return send_to(n, HSN_MODULE_CLIENT, 2, page, 64, "h", 1, cookie);
}

static struct hsn_levels levels(struct node *n)
{
    struct hsn_levels l;

    hsn_engine_levels(n->e, &l);
    return l;
}

static void busy_interface_keeps_messages_pending(void **state)
{
    struct node *n = sender();

    n->nic.room = 0;
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(send_small(n, i), 0);
    assert_int_equal(levels(n).pending, 3);
    assert_int_equal(n->nic.nout, 0);
    assert_int_equal(n->client.ndone, 0);
    node_free(n);
}

static void packets_are_busy_until_completion(void **state)
{
    struct node *n = sender();

    n->nic.hold = true;
    assert_int_equal(send_small(n, 5), 0);
    assert_int_equal(levels(n).busy, 1);
    assert_int_equal(levels(n).pending, 0);
    assert_int_equal(n->client.ndone, 0);
    fake_done(&n->nic, 0, 0);
    wake(n);
    assert_int_equal(levels(n).busy, 0);
    assert_int_equal(n->client.ndone, 1);
    assert_true(n->client.done[0].cookie == 5);
    node_free(n);
}

static void full_pending_queue_refuses_and_counts(void **state)
{
    struct node *n = sender();

    n->nic.room = 0;
    for (int i = 0; i < 256; i++)
        assert_int_equal(send_small(n, 0), 0);
    assert_int_equal(send_small(n, 0), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(COUNT(n, refused_full), 1);
    n->nic.room = SIZE_MAX;
    wake(n);
    assert_int_equal(n->client.ndone, 256);
    assert_int_equal(send_small(n, 0), 0);
    node_free(n);
}

static void send_queue_begins_free(void **state)
{
    for (int i = 0; i < 2; i++) {
        struct node *n = sender();

        assert_int_equal(levels(n).busy, 0);
        n->nic.hold = true;
        for (uint64_t k = 0; k < 64; k++)
            send_small(n, k);
        assert_int_equal(levels(n).busy, 64); /* all were free */
        node_free(n);
    }
}

static void handler_sends_what_is_pending(void **state)
{
    struct node *n = sender();

    n->nic.room = 0;
    send_small(n, 1);
    n->nic.room = 1;
    assert_int_equal(wake(n), 0);
    assert_int_equal(n->nic.nout, 1);
    assert_int_equal(n->client.ndone, 1);
    node_free(n);
}

static void sending_never_waits_for_the_wire(void **state)
{
    struct node *n = sender();

    n->nic.room = 0;
    assert_int_equal(send_small(n, 1), 0); /* returns; nothing left */
    n->nic.fail = ENETDOWN;
    assert_int_equal(send_small(n, 2), 0);
    assert_int_equal(n->client.ndone, 2);
    assert_int_equal(n->client.done[1].error, ENETDOWN);
    assert_int_equal(COUNT(n, send_failed), 2);
    node_free(n);
}

static void messages_leave_in_order(void **state)
{
    struct node *n = sender();

    n->nic.room = 10;
    for (uint8_t i = 0; i < 100; i++)
        assert_int_equal(
            send_to(n, HSN_MODULE_CLIENT, 2, NULL, 0, &page[i], 1, i), 0);
    n->nic.room = SIZE_MAX;
    wake(n);
    assert_int_equal(n->nic.nout, 100);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(n->nic.out[i].bytes[0], page[i]);
        assert_true(n->client.done[i].cookie == (uint64_t)i);
    }
    node_free(n);
}

static void send_again(struct inbox *box, uint64_t cookie, int error)
{
    size_t before = box->node->nic.nout;

    (void)error;
    if (cookie < 3)
        assert_int_equal(send_small(box->node, cookie + 1), 0);
    assert_int_equal(box->node->nic.nout, before);
}

static void output_from_a_completion_returns_at_once(void **state)
{
    struct node *n = sender();

    n->client.on_done = send_again;
    send_small(n, 0);
    for (int i = 0; i < 4; i++)
        wake(n);
    assert_int_equal(n->nic.nout, 4); /* none lost, none twice */
    assert_int_equal(n->client.ndone, 4);
    for (int i = 0; i < 4; i++)
        assert_true(n->client.done[i].cookie == (uint64_t)i);
    node_free(n);
}

static void two_gather_parts_data_first_uncopied(void **state)
{
    struct node *n = sender();
    struct fake_packet *p = n->nic.out;

    send_to(n, HSN_MODULE_CLIENT, 2, page, 4096, "head", 4, 0);
    send_to(n, HSN_MODULE_CLIENT, 2, page, 8192, "head", 4, 0);
    assert_ptr_equal(p[0].part[0].iov_base, page);
    assert_int_equal(p[0].part[0].iov_len, 4096);
    assert_int_equal(p[0].part[1].iov_len, 4 + HSN_TRAILER);
    assert_ptr_equal(p[1].part[0].iov_base, page);
    assert_ptr_equal(p[2].part[0].iov_base, page + 4096);
    assert_int_equal(p[2].part[1].iov_len, 4 + HSN_TRAILER);
    assert_int_equal(COUNT(n, copied_data), 0);
    node_free(n);
}

static void completions_in_any_order_once_each(void **state)
{
    struct node *n = sender();
    static const size_t order[] = {3, 0, 4, 1, 2};

    n->nic.hold = true;
    for (uint64_t i = 0; i < 5; i++)
        send_small(n, i);
    for (int i = 0; i < 5; i++) {
        fake_done(&n->nic, order[i], 0);
        fake_done(&n->nic, order[i], 0); /* an interface that says it twice */
        wake(n);
        assert_int_equal(n->client.ndone, i + 1);
        assert_true(n->client.done[i].cookie == order[i]);
        assert_int_equal(levels(n).busy, 4 - i);
    }
    node_free(n);
}

static void data_is_the_drivers_until_completion(void **state)
{
    struct node *n = sender(), *m = node_new(2, 8192, &copy_module);
    static uint8_t mine[128];

    fill(mine, sizeof(mine), 1);
    n->nic.room = 0;
    send_to(n, HSN_MODULE_CLIENT, 2, mine, sizeof(mine), NULL, 0, 1);
    assert_int_equal(n->client.ndone, 0); /* still read from my memory: */
    fill(mine, sizeof(mine), 2);
    n->nic.room = SIZE_MAX;
    wake(n);
    assert_int_equal(n->client.ndone, 1); /* from now on it is mine */
    memset(mine, 0, sizeof(mine));
    pass(n, 0, m);
    wake(m);
    fill(mine, sizeof(mine), 2);
    assert_memory_equal(m->client.got[0].data, mine, sizeof(mine));
    node_free(n);
    node_free(m);
}

static void both_packets_of_a_message_first(void **state)
{
    for (size_t last = 0; last < 2; last++) {
        struct node *n = sender();

        n->nic.hold = true;
        send_to(n, HSN_MODULE_CLIENT, 2, page, 8192, "h", 1, 5);
        fake_done(&n->nic, !last, 0);
        wake(n);
        assert_int_equal(n->client.ndone, 0);
        fake_done(&n->nic, last, 0);
        wake(n);
        assert_int_equal(n->client.ndone, 1);
        node_free(n);
    }
}

static void completion_does_not_mean_received(void **state)
{
    struct node *n = sender(); /* there is no board 2 at all */

    assert_int_equal(send_small(n, 1), 0);
    assert_int_equal(n->client.ndone, 1);
    assert_int_equal(n->client.done[0].error, 0);
    node_free(n);
}

static void everything_completes_at_the_end(void **state)
{
    struct node *n = sender();
    unsigned seen = 0;

    n->nic.hold = true;
    for (uint64_t i = 0; i < 100; i++)
        send_to(n, HSN_MODULE_CLIENT, 2, page, 8192, "h", 1, i);
    assert_int_equal(levels(n).busy, 64);
    hsn_engine_stop(n->e);
    assert_int_equal(n->client.ndone, 100);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(n->client.done[i].error, ECANCELED);
        seen += (unsigned)n->client.done[i].cookie;
    }
    assert_int_equal(seen, 99 * 100 / 2); /* each once */
    assert_int_equal(n->nic.cancelled, 64);
    assert_int_equal(send_small(n, 0), -1);
    assert_int_equal(errno, ESHUTDOWN);
    node_free(n);
}

static void dead_interface_completes_with_an_error(void **state)
{
    struct node *n = sender();

    n->nic.hold = true;
    n->nic.room = 1;
    send_small(n, 0);
    send_small(n, 1);
    assert_true(hsn_engine_deadline(n->e) == 1000 + 1000000000);
    n->now += 999999999;
    wake(n);
    assert_int_equal(n->client.ndone, 0);
    n->now++;
    wake(n);
    assert_int_equal(n->client.ndone, 2);
    assert_int_equal(n->client.done[0].error, ETIMEDOUT);
    assert_int_equal(n->client.done[1].error, ETIMEDOUT);
    assert_int_equal(COUNT(n, send_expired), 2);
    assert_int_equal(n->nic.cancelled, 1); /* the one it had */
    fake_done(&n->nic, 0, 0);              /* too late: not completed again */
    wake(n);
    assert_int_equal(n->client.ndone, 2);
    node_free(n);
}

static void peer_that_left_the_map(void **state)
{
    struct node *n = sender();
    struct hsn_routes none;

    assert_int_equal(send_to(n, HSN_MODULE_CLIENT, 77, page, 1, NULL, 0, 0),
                     -1);
    assert_int_equal(errno, ENETUNREACH);
    n->nic.room = 0;
    send_small(n, 4);
    hsn_routes_make(&none, NULL, 0, NULL, NULL);
    hsn_engine_set_routes(n->e, &none);
    n->nic.room = SIZE_MAX;
    wake(n);
    assert_int_equal(n->client.ndone, 1);
    assert_int_equal(n->client.done[0].error, ENETUNREACH);
    assert_int_equal(COUNT(n, no_route), 2);
    node_free(n);
}

static void module_that_closes_gets_its_memory_back(void **state)
{
    struct node *n = sender();

    n->nic.hold = true;
    n->nic.room = 2;
    send_small(n, 0);
    send_to(n, HSN_MODULE_SERVER, 2, page, 64, NULL, 0, 100);
    send_small(n, 1);
    send_to(n, HSN_MODULE_SERVER, 2, page, 64, NULL, 0, 101);
    hsn_engine_close(n->e, HSN_MODULE_CLIENT);
    assert_int_equal(n->client.ndone, 2);
    assert_int_equal(n->server.ndone, 0);
    n->nic.hold = false;
    n->nic.room = SIZE_MAX;
    fake_done(&n->nic, 1, 0);
    wake(n);
    assert_int_equal(n->server.ndone, 2);
    assert_int_equal(COUNT(n, send_cancelled), 2);
    node_free(n);
}

static void burst_leaves_without_further_calls(void **state)
{
    struct node *n = sender();

    n->nic.room = 0;
    for (uint64_t i = 0; i < 100; i++)
        send_small(n, i);
    n->nic.room = SIZE_MAX;
    wake(n);
    assert_int_equal(n->nic.nout, 100);
    assert_int_equal(levels(n).pending, 0);
    node_free(n);
}

static void send_for_ever(struct inbox *box, uint64_t cookie, int error)
{
    (void)error;
    if (box->ndone < 3000)
        assert_int_equal(send_small(box->node, cookie + 1), 0);
}

/* A module that sends as soon as it is told of a failure. */
static void each_call_is_bounded(void **state)
{
    struct node *n = sender();

    n->client.on_done = send_for_ever;
    n->nic.fail = ENETDOWN;
    send_small(n, 0);
    assert_int_equal(n->client.ndone, 1024);
    wake(n); /* goes on with it */
    assert_int_equal(n->client.ndone, 2048);
    n->client.on_done = NULL;
    node_free(n);
}

static void multicast_is_one_unicast_each(void **state)
{
    struct node *n = sender(), *to[3];

    for (uint64_t i = 0; i < 3; i++) {
        to[i] = node_new(i + 2, 8192, &copy_module);
        send_to(n, HSN_MODULE_CLIENT, i + 2, page, 64, NULL, 0, i);
    }
    assert_int_equal(n->nic.nout, 3);
    for (int i = 0; i < 3; i++) {
        if (i != 1) /* the second one is lost on the way */
            arrive(to[i], &n->nic.out[i]);
        wake(to[i]);
        assert_int_equal(to[i]->client.ngot, i != 1);
        node_free(to[i]);
    }
    node_free(n);
}

static void sequence_numbers_wrap_and_restart(void **state)
{
    struct node *m = node_new(2, 8192, &copy_module), *n;
    uint32_t seen[4];
    int k = 0;

    for (int start = 0; start < 2; start++) {
        struct hsn_engine_options o = {.board = 1,
                                       .incarnation = 40 + (uint32_t)start,
                                       .sequence = UINT32_MAX,
                                       .page_size = 8192};

        n = sender();
        hsn_engine_free(n->e);
        n->e = hsn_engine_new(&o, &fake_ops, &n->nic);
        node_routes(n);
        hsn_engine_open(n->e, HSN_MODULE_CLIENT, &copy_module, &n->client);
        for (int i = 0; i < 2; i++) {
            fill(page, 8192, (unsigned)(start * 2 + i));
            send_to(n, HSN_MODULE_CLIENT, 2, page, 8192, NULL, 0, 0);
            memcpy(&seen[k++], n->nic.out[2 * i].bytes + 4096 + 20, 4);
        }
        /* Before the restart only first halves get through. */
        arrive(m, &n->nic.out[start]);
        arrive(m, &n->nic.out[start + 2]);
        n->pages_out = 0;
        node_free(n);
    }
    assert_true(seen[0] == 0xffffffff && seen[1] == 0);
    wake(m);
    assert_int_equal(m->client.ngot, 0); /* not joined across the restart */
    m->now += 1000000000;
    wake(m);
    assert_int_equal(COUNT(m, fragment_expired), 4);
    node_free(m);
}

static void raw_packets_keep_route_type_and_bytes(void **state)
{
    struct node *n = sender();
    struct hsn_send_raw s = {.route = (const uint8_t *)"\x83\xbe",
                             .route_len = 2,
                             .type = HSN_TYPE_MAPPER,
                             .subtype = 9,
                             .payload = {page, 100},
                             .cookie = 6};
    struct node *m = node_new(2, 4096, &copy_module);

    assert_int_equal(hsn_engine_send_raw(n->e, &s, n->now), 0);
    assert_int_equal(n->raw.ndone, 1);
    assert_int_equal(n->nic.out[0].route_len, 2);
    assert_memory_equal(n->nic.out[0].route, "\x83\xbe", 2);
    pass(n, 0, m);
    n->nic.out[0].type = 0x0123;
    pass(n, 0, m);
    wake(m);
    assert_int_equal(m->raw.ngot, 1);
    assert_int_equal(m->raw.got[0].d.module, 9);
    assert_memory_equal(m->raw.got[0].data, page, 100);
    assert_int_equal(COUNT(m, no_type), 1);
    s.route = (const uint8_t *)"\x43";
    s.route_len = 1;
    assert_int_equal(hsn_engine_send_raw(n->e, &s, n->now), -1);
    assert_int_equal(errno, EINVAL);
    node_free(n);
    node_free(m);
}

static void raw_packets_have_a_longest_route(void **state)
{
    uint8_t route[HSN_ROUTE_MAX + 1];
    struct node *n = sender();
    struct hsn_send_raw s = {.route = route,
                             .route_len = HSN_ROUTE_MAX,
                             .type = HSN_TYPE_MAPPER,
                             .payload = {page, 100}};

    memset(route, 0x81, sizeof(route));
    assert_int_equal(hsn_engine_send_raw(n->e, &s, n->now), 0);
    assert_int_equal(n->nic.out[0].route_len, HSN_ROUTE_MAX);
    assert_memory_equal(n->nic.out[0].route, route, HSN_ROUTE_MAX);
    s.route_len++;
    assert_int_equal(hsn_engine_send_raw(n->e, &s, n->now), -1);
    assert_int_equal(errno, EMSGSIZE);
    assert_int_equal(COUNT(n, refused_size), 1);
    node_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(busy_interface_keeps_messages_pending),
        cmocka_unit_test(packets_are_busy_until_completion),
        cmocka_unit_test(full_pending_queue_refuses_and_counts),
        cmocka_unit_test(sequence_numbers_wrap_and_restart),
        cmocka_unit_test(multicast_is_one_unicast_each),
        cmocka_unit_test(send_queue_begins_free),
        cmocka_unit_test(handler_sends_what_is_pending),
        cmocka_unit_test(sending_never_waits_for_the_wire),
        cmocka_unit_test(messages_leave_in_order),
        cmocka_unit_test(output_from_a_completion_returns_at_once),
        cmocka_unit_test(two_gather_parts_data_first_uncopied),
        cmocka_unit_test(completions_in_any_order_once_each),
        cmocka_unit_test(data_is_the_drivers_until_completion),
        cmocka_unit_test(both_packets_of_a_message_first),
        cmocka_unit_test(completion_does_not_mean_received),
        cmocka_unit_test(everything_completes_at_the_end),
        cmocka_unit_test(dead_interface_completes_with_an_error),
        cmocka_unit_test(peer_that_left_the_map),
        cmocka_unit_test(module_that_closes_gets_its_memory_back),
        cmocka_unit_test(burst_leaves_without_further_calls),
        cmocka_unit_test(each_call_is_bounded),
        cmocka_unit_test(raw_packets_keep_route_type_and_bytes),
        cmocka_unit_test(raw_packets_have_a_longest_route),
    };

    return cmocka_run_group_tests_name("hsn_send", tests, NULL, NULL);
}
