/* SPDX-License-Identifier: BSD-3-Clause
 * The graph of hosts, crossbars and cables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/graph.h"
#include "net/rng.h"

static void cable_is_seen_from_both_ends(void **state)
{
    struct net *net = net_new();
    uint32_t x = net_add_xbar(net, "x0", 8, 0x77);
    uint32_t h = net_add_host(net, "h0", 0x0060dd000001ULL);

    assert_true(net_connect(net, h, 0, x, 5));
    assert_int_equal(net_peer_node(net, h, 0), x);
    assert_int_equal(net_peer_port(net, h, 0), 5);
    assert_int_equal(net_peer_node(net, x, 5), h);
    assert_int_equal(net_peer_port(net, x, 5), 0);
    assert_int_equal(net_peer_node(net, x, 4), NET_NONE);
    assert_int_equal(net->ncables, 1);
    assert_int_equal(net->nhosts, 1);
    assert_int_equal(net->nxbars, 1);
    net_disconnect(net, x, 5);
    assert_int_equal(net_peer_node(net, h, 0), NET_NONE);
    assert_int_equal(net->ncables, 0);
    net_disconnect(net, x, 5);
    assert_int_equal(net->ncables, 0);
    net_free(net);
}

static void impossible_cables_are_refused(void **state)
{
    struct net *net = net_new();
    uint32_t x = net_add_xbar(net, "x0", 4, 0);
    uint32_t h = net_add_host(net, "h0", 1);

    assert_false(net_connect(net, x, 4, h, 0));
    assert_false(net_connect(net, x, 0, h, 1));
    assert_false(net_connect(net, x, 0, x, 0));
    assert_false(net_connect(net, x, 0, 99, 0));
    assert_true(net_connect(net, x, 0, h, 0));
    assert_false(net_connect(net, x, 1, h, 0));
    assert_false(net_connect(net, x, 0, x, 1));
    assert_true(net_connect(net, x, 1, x, 2)); /* a loop cable is a cable */
    assert_int_equal(net_peer_port(net, x, 1), 2);
    assert_int_equal(net->ncables, 2);
    net_free(net);
}

static void nodes_are_found_by_name_and_address(void **state)
{
    struct net *net = net_new();
    char name[16];

    for (uint32_t i = 0; i < 5000; i++) {
        snprintf(name, sizeof(name), "h%u", i);
        assert_int_equal(net_add_host(net, name, 0x0060dd000000ULL + i + 1), i);
    }
    assert_int_equal(net_add_xbar(net, "x", 8, 0x0060dd000001ULL), 5000);
    for (uint32_t i = 0; i < 5000; i++) {
        snprintf(name, sizeof(name), "h%u", i);
        assert_int_equal(net_find_name(net, name), i);
        assert_int_equal(net_find_host(net, 0x0060dd000001ULL + i), i);
    }
    assert_int_equal(net_find_xbar(net, 0x0060dd000001ULL), 5000);
    assert_int_equal(net_find_xbar(net, 0x0060dd000002ULL), NET_NONE);
    assert_int_equal(net_find_name(net, "h5000"), NET_NONE);
    assert_int_equal(net_find_host(net, 0), NET_NONE);
    net_free(net);
}

static void first_of_two_with_one_address_is_found(void **state)
{
    struct net *net = net_new();

    assert_int_equal(net_find_host(net, 9), NET_NONE);
    assert_int_equal(net_add_host(net, "a", 9), 0);
    assert_int_equal(net_add_host(net, "b", 9), 1);
    assert_int_equal(net_find_host(net, 9), 0);
    net_free(net);
}

static void renamed_nodes_are_found_by_the_new_name_only(void **state)
{
    struct net *net = net_new();
    char name[16];

    net_add_host(net, "first", 1);
    net_add_xbar(net, "other", 4, 0);
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        assert_true(net_set_name(net, 0, name));
        assert_true(net_set_id(net, 0, 100 + (uint64_t)i));
        assert_true(net_set_id(net, 1, 1 + (uint64_t)i));
    }
    assert_int_equal(net_find_name(net, "n999"), 0);
    assert_int_equal(net_find_name(net, "n998"), NET_NONE);
    assert_int_equal(net_find_name(net, "first"), NET_NONE);
    assert_int_equal(net_find_name(net, "other"), 1);
    assert_int_equal(net_find_host(net, 1099), 0);
    assert_int_equal(net_find_host(net, 1098), NET_NONE);
    assert_int_equal(net_find_xbar(net, 1000), 1);
    net_free(net);
}

static void copy_shares_nothing(void **state)
{
    struct net *net = net_new(), *copy;
    uint32_t x = net_add_xbar(net, "x", 16, 5), h = net_add_host(net, "h", 6);

    net_connect(net, x, 3, h, 0);
    copy = net_copy(net);
    assert_non_null(copy);
    net_set_name(net, x, "y");
    net_disconnect_all(net, x);
    assert_int_equal(net_peer_node(copy, h, 0), x);
    assert_int_equal(copy->ncables, 1);
    assert_int_equal(net_find_name(copy, "x"), x);
    assert_int_equal(net_find_host(copy, 6), h);
    assert_int_equal(net_add_host(copy, "h2", 7), 2);
    net_free(copy);
    copy = net_new();
    net_free(net);
    net = net_copy(copy);
    assert_non_null(net);
    net_free(net);
    net_free(copy);
    net_free(NULL);
}

static void limits_are_errors(void **state)
{
    struct net *net = net_new();

    assert_int_equal(net_add_xbar(net, "x", 256, 0), NET_NONE);
    assert_int_equal(net->nnodes, 0);
    for (uint32_t i = 0; i < SF_NET_NODES_MAX; i++)
        assert_int_equal(net_add_host(net, "", 0), i);
    assert_int_equal(net_add_host(net, "", 0), NET_NONE);
    net_free(net);
}

static void random_numbers_repeat_by_seed(void **state)
{
    struct net_rng a = {42}, b = {42};
    unsigned hits = 0;

    for (int i = 0; i < 1000; i++) {
        uint32_t v = net_rng_below(&a, 10);

        assert_true(v < 10);
        assert_int_equal(v, net_rng_below(&b, 10));
        hits += net_rng_chance(&a, 0.5) != 0;
        net_rng_next(&b);
    }
    assert_in_range(hits, 400, 600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cable_is_seen_from_both_ends),
        cmocka_unit_test(impossible_cables_are_refused),
        cmocka_unit_test(nodes_are_found_by_name_and_address),
        cmocka_unit_test(first_of_two_with_one_address_is_found),
        cmocka_unit_test(renamed_nodes_are_found_by_the_new_name_only),
        cmocka_unit_test(copy_shares_nothing),
        cmocka_unit_test(limits_are_errors),
        cmocka_unit_test(random_numbers_repeat_by_seed),
    };

    return cmocka_run_group_tests_name("net graph", tests, NULL, NULL);
}
