/* SPDX-License-Identifier: BSD-3-Clause
 * Receive queue, delivery, what is dropped.
 */
#include "hsn_pair.h"

static void two_modules_at_once_by_one_interface(void **state)
{
    struct pair p = pair(8192, &copy_module);

    for (unsigned i = 0; i < 10; i++) {
        say(p.from, HSN_MODULE_CLIENT, 100, 5, i);
        say(p.from, HSN_MODULE_SERVER, 8192, 7, 100 + i);
    }
    pass(p.from, 0, p.to);
    wake(p.to);
    assert_int_equal(p.to->client.ngot, 10);
    assert_int_equal(p.to->server.ngot, 10);
    for (unsigned i = 0; i < 10; i++) {
        expect(&p.to->client, i, 100, 5, i);
        expect(&p.to->server, i, 8192, 7, 100 + i);
    }
    pair_free(&p);
}

static void unknown_module_is_dropped_and_counted(void **state)
{
    struct pair p = pair(8192, &copy_module);

    hsn_engine_open(p.from->e, 999, &copy_module, &p.from->raw);
    say(p.from, 999, 100, 0, 1);
    pass(p.from, 0, p.to);
    wake(p.to);
    assert_int_equal(COUNT(p.to, no_module), 1);
    assert_int_equal(
        hsn_engine_open(p.to->e, HSN_MODULE_CLIENT, &copy_module, NULL), -1);
    assert_int_equal(errno, EBUSY);
    pair_free(&p);
}

static void try_receive_queue(size_t size)
{
    struct pair p = pair(size, &copy_module);

    assert_int_equal(levels(p.to).rx_filled, 64);
    for (unsigned i = 0; i < 300; i++) {
        size_t at = say(p.from, HSN_MODULE_CLIENT, size, 9, i);

        pass(p.from, at, p.to);
        p.from->nic.nout = 0;
        wake(p.to);
        assert_int_equal(levels(p.to).rx_filled, levels(p.to).rx_slots);
        p.to->nic.nin = p.to->nic.next_in = 0;
        assert_int_equal(p.to->client.ngot, 1);
        p.to->client.ngot = 0;
    }
    pair_free(&p);
}

/* Halves that wait take buffers with them. */
static void receive_queue_is_always_filled(void **state)
{
    try_receive_queue(4096);
    try_receive_queue(8192);
}

static void burst_of_the_pool_size_loses_none(void **state)
{
    struct pair p = pair(8192, &copy_module);

    for (unsigned i = 0; i < 64; i++)
        say(p.from, HSN_MODULE_CLIENT, 4096, 9, i);
    pass(p.from, 0, p.to);
    wake(p.to);
    wake(p.to);
    assert_int_equal(p.to->client.ngot, 64);
    pair_free(&p);
}

static void handler_takes_the_first_few(void **state)
{
    struct pair p = pair(8192, &copy_module);

    for (unsigned i = 0; i < 1000; i++)
        say(p.from, HSN_MODULE_CLIENT, 8, 0, i);
    pass(p.from, 0, p.to);
    for (unsigned i = 0; i < 1000; i += 32) {
        assert_int_equal(p.to->client.ngot, i);
        assert_int_equal(wake(p.to), 1000 - i < 32 ? 1000 - i : 32);
    }
    assert_int_equal(wake(p.to), 0);
    assert_int_equal(p.to->client.ngot, 1000);
    assert_int_equal(COUNT(p.to, received), 1000);
    assert_int_equal(p.to->nic.recv_most, 32);
    p.to->nic.next_in = 0; /* once more, from an interface that gives few */
    p.to->client.ngot = 0;
    p.to->nic.recv_limit = 20;
    assert_int_equal(wake(p.to), 32);
    assert_int_equal(p.to->client.ngot, 32);
    pair_free(&p);
}

static void header_of_the_driver_is_gone(void **state)
{
    struct pair p = pair(8192, &copy_module);

    say(p.from, HSN_MODULE_CLIENT, 333, 21, 1);
    pass(p.from, 0, p.to);
    wake(p.to);
    expect(&p.to->client, 0, 333, 21, 1);
    assert_int_equal(p.to->client.got[0].d.module, HSN_MODULE_CLIENT);
    pair_free(&p);
}

static void broken_and_foreign_packets_are_counted(void **state)
{
    struct pair p = pair(8192, &copy_module);
    struct fake_packet *out = p.from->nic.out;

    say(p.from, HSN_MODULE_CLIENT, 100, 9, 1);
    send_to(p.from, HSN_MODULE_CLIENT, 3, page, 10, NULL, 0, 0);
    say(p.from, HSN_MODULE_CLIENT, 100, 9, 2);
    out[0].bytes[50] ^= 4;
    arrive(p.to, &out[0]);
    arrive(p.to, &out[1]); /* of board 3, on a wrong route */
    out[2].len = 20;
    arrive(p.to, &out[2]);
    wake(p.to);
    assert_int_equal(p.to->client.ngot, 0);
    assert_int_equal(COUNT(p.to, bad_checksum), 1);
    assert_int_equal(COUNT(p.to, foreign), 1);
    assert_int_equal(COUNT(p.to, bad_short), 1);
    assert_true(hsn_counts_lost(hsn_engine_counts(p.to->e)) == 3);
    pair_free(&p);
}

static void messages_to_the_own_board_loop_back(void **state)
{
    struct node *n = node_new(1, 8192, &copy_module);

    fill(page, sizeof(page), 4);
    assert_int_equal(send_to(n, HSN_MODULE_CLIENT, 1, page, 8192, head, 9, 3),
                     0);
    assert_int_equal(n->nic.nout, 0);
    assert_int_equal(n->client.ndone, 1);
    expect(&n->client, 0, 8192, 9, 4);
    node_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_modules_at_once_by_one_interface),
        cmocka_unit_test(unknown_module_is_dropped_and_counted),
        cmocka_unit_test(receive_queue_is_always_filled),
        cmocka_unit_test(burst_of_the_pool_size_loses_none),
        cmocka_unit_test(handler_takes_the_first_few),
        cmocka_unit_test(header_of_the_driver_is_gone),
        cmocka_unit_test(broken_and_foreign_packets_are_counted),
        cmocka_unit_test(messages_to_the_own_board_loop_back),
    };

    return cmocka_run_group_tests_name("hsn_receive", tests, NULL, NULL);
}
