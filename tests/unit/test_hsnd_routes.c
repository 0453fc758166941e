/* SPDX-License-Identifier: BSD-3-Clause
 * A real hsnd: its routes are loaded whole, or changed.
 */
#include "hsnd_util.h"

static void routes_are_loaded_whole_or_not_at_all(void **state)
{
    struct hsnd_process *d = hsnd_new("");
    struct hsn *h = hsn_open(d->socket);
    struct hsn_peer *peers = calloc(5000, sizeof(*peers)), one;
    struct hsn_board_info info;

    for (int i = 0; i < 5000; i++) {
        peers[i].address = (uint64_t)i + 1;
        peers[i].nroutes = 8;
        for (int k = 0; k < 8; k++) {
            peers[i].route[k].len = 5;
            memset(peers[i].route[k].byte, 0x81 + k, 5);
        }
    }
    assert_int_equal(hsn_load_routes(h, 77, 3, true, peers, 5000), 0);
    assert_int_equal(hsn_board(h, &info), 0);
    assert_int_equal(info.map_version, 77);
    assert_int_equal(info.host_type, 3);
    assert_int_equal(info.npeers, 5000);
    assert_true(info.configured);
    assert_string_equal(info.node, "n1");
    assert_int_equal(hsn_peer_routes(h, 4711, &one), 0);
    assert_memory_equal(&one, &peers[4710], sizeof(one));
    peers[4000].address = 1;
    assert_int_equal(hsn_load_routes(h, 78, 3, true, peers, 5000), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(hsn_board(h, &info), 0);
    assert_int_equal(info.map_version, 77);
    assert_int_equal(hsn_peer_routes(h, 60000, &one), -1);
    assert_int_equal(errno, EHOSTUNREACH);
    hsn_close(h);
    free(peers);
    hsnd_free(d);
}

static struct hsn_peer peer_by(uint64_t address, int first)
{
    struct hsn_peer p = {.address = address, .nroutes = 1};

    p.route[0].len = 1;
    p.route[0].byte[0] = (uint8_t)(0x80 + first);
    return p;
}

static void routes_are_changed_where_they_are_said_to(void **state)
{
    struct hsnd_process *d = hsnd_new("");
    struct hsn *h = hsn_open(d->socket), *other = hsn_open(d->socket);
    struct hsn_peer all[100], some[3], one;
    struct hsn_board_info info;

    for (int i = 0; i < 100; i++)
        all[i] = peer_by((uint64_t)i + 1, 1);
    some[0] = peer_by(7, 2);    /* another route */
    some[1] = peer_by(1000, 3); /* a new peer */
    some[2] = peer_by(9, 1);    /* gone */
    some[2].nroutes = 0;
    /* there is nothing to change yet */
    assert_int_equal(hsn_change_routes(h, 0, 5, 3, true, some, 3), -1);
    assert_int_equal(errno, ESTALE);
    assert_int_equal(hsn_load_routes(h, 77, 3, true, all, 100), 0);
    /* of another version, of another client */
    assert_int_equal(hsn_change_routes(h, 76, 78, 3, true, some, 3), -1);
    assert_int_equal(errno, ESTALE);
    assert_int_equal(hsn_change_routes(other, 77, 78, 3, true, some, 3), -1);
    assert_int_equal(errno, ESTALE);
    assert_int_equal(hsn_change_routes(h, 77, 78, 3, false, some, 3), 0);
    assert_int_equal(hsn_board(h, &info), 0);
    assert_int_equal(info.map_version, 78);
    assert_int_equal(info.npeers, 100);
    assert_false(info.configured);
    assert_int_equal(hsn_peer_routes(h, 7, &one), 0);
    assert_memory_equal(&one, &some[0], sizeof(one));
    assert_int_equal(hsn_peer_routes(h, 1000, &one), 0);
    assert_int_equal(hsn_peer_routes(h, 9, &one), -1);
    assert_int_equal(hsn_peer_routes(h, 8, &one), 0);
    assert_memory_equal(&one, &all[7], sizeof(one));
    /* what is refused changes nothing */
    some[1].address = 7;
    assert_int_equal(hsn_change_routes(h, 78, 79, 3, true, some, 2), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(hsn_board(h, &info), 0);
    assert_int_equal(info.map_version, 78);
    /* somebody else's routes: all of them again */
    assert_int_equal(hsn_load_routes(other, 80, 3, true, all, 10), 0);
    assert_int_equal(hsn_change_routes(h, 80, 81, 3, true, some, 1), -1);
    assert_int_equal(errno, ESTALE);
    hsn_close(other);
    hsn_close(h);
    hsnd_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_are_loaded_whole_or_not_at_all),
        cmocka_unit_test(routes_are_changed_where_they_are_said_to),
    };

    return cmocka_run_group_tests_name("hsnd_routes", tests, NULL, NULL);
}
