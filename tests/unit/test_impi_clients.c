/* SPDX-License-Identifier: BSD-3-Clause
 * Task map and lazy clients.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "impi/clients.h"
#include "impi/holds.h"
#include "impi/taskmap.h"

#define M 1 /* MPICH */
#define O 2 /* Open MPI */

#define RANKS_MAX 3000

/* One process, and its node. */
struct member {
    uint32_t component, family;
    uint16_t node;
    uint32_t build;
    uint16_t memory;
};

static uint16_t nodes[RANKS_MAX];

static int try(struct impi_clients *c, const struct member *m, uint32_t n,
               bool by_node, struct errbuf *err)
{
    static struct impi_member members[RANKS_MAX];

    for (uint32_t i = 0; i < n; i++) {
        nodes[i] = m[i].node;
        members[i] = (struct impi_member){m[i].component, m[i].family,
                                          m[i].build, m[i].memory};
    }
    return impi_clients_form(c, members, nodes, n, by_node, err);
}

static struct impi_clients form(const struct member *m, uint32_t n,
                                bool by_node)
{
    struct impi_clients c;
    struct errbuf err;

    assert_int_equal(try(&c, m, n, by_node, &err), 0);
    assert_int_equal(c.nprocs, n);
    return c;
}

static void expect(const uint32_t *got, const uint32_t *want, uint32_t n)
{
    assert_memory_equal(got, want, n * sizeof(*got));
}

/* Of each world rank. */
static void expect_clients(const struct impi_clients *c, const uint32_t *want)
{
    for (uint32_t r = 0; r < c->nprocs; r++)
        assert_int_equal(impi_clients_client(c, r), want[r]);
}

static void expect_natives(const struct impi_clients *c, const uint32_t *want)
{
    for (uint32_t r = 0; r < c->nprocs; r++)
        assert_int_equal(impi_clients_native(c, r), want[r]);
}

/* Of each native rank of a client, counted from its first host. */
static void expect_hosts(const struct impi_clients *c, uint32_t client,
                         const uint32_t *want)
{
    uint32_t *got = impi_clients_native_hosts(c, client);

    assert_non_null(got);
    expect(got, want, c->clients[client].nprocs);
    free(got);
}

static void one_component_one_library_is_one_client(void **state)
{
    const struct member m[] = {
        {0, M, 0, 0, 0}, {0, M, 0, 0, 0}, {0, M, 1, 0, 0}};
    struct impi_clients c = form(m, 3, false);

    assert_int_equal(c.nclients, 1);
    assert_int_equal(c.nhosts, 2);
    expect_natives(&c, (uint32_t[]){0, 1, 2});
    expect_hosts(&c, 0, (uint32_t[]){0, 0, 1});
    impi_clients_free(&c);
}

/* Containers: one host of ours, several nodes to the library. */
static void a_memory_of_its_own_is_a_native_node(void **state)
{
    const struct member m[] = {{0, M, 0, 0, 0},
                               {0, M, 0, 0, 0},
                               {0, M, 0, 0, 2},
                               {0, M, 1, 0, 0},
                               {0, M, 1, 0, 1}};
    struct impi_clients c = form(m, 5, false);
    uint32_t *node = impi_clients_native_nodes(&c, 0);

    assert_int_equal(c.nhosts, 2);
    assert_non_null(node);
    expect(node, (uint32_t[]){0, 0, 2, 3, 4}, 5);
    free(node);
    impi_clients_free(&c);
}

static void hetjob_of_two_components(void **state)
{
    const struct member m[] = {
        {0, M, 0, 0, 0}, {0, M, 0, 0, 0}, {1, O, 1, 0, 0}, {1, O, 1, 0, 0}};
    struct impi_clients c = form(m, 4, false);

    assert_int_equal(c.nclients, 2);
    assert_int_equal(c.clients[1].family, O);
    assert_int_equal(c.clients[1].first_host, 1);
    expect_clients(&c, (uint32_t[]){0, 0, 1, 1});
    expect_natives(&c, (uint32_t[]){0, 1, 0, 1});
    impi_clients_free(&c);
}

static void two_components_with_one_library_are_two_clients(void **state)
{
    const struct member m[] = {{0, M, 0, 0, 0}, {1, M, 1, 0, 0}};
    struct impi_clients c = form(m, 2, false);

    assert_int_equal(c.nclients, 2);
    impi_clients_free(&c);
}

static void multi_prog_interleaves_libraries_on_a_node(void **state)
{
    const struct member m[] = {
        {0, O, 0, 0, 0}, {0, M, 0, 0, 0}, {0, O, 0, 0, 0}, {0, M, 0, 0, 0}};
    struct impi_clients c = form(m, 4, false);

    assert_int_equal(c.nclients, 2);
    assert_int_equal(c.nhosts, 2);
    assert_int_equal(c.clients[0].family, O); /* holds rank 0 */
    expect_clients(&c, (uint32_t[]){0, 1, 0, 1});
    expect_natives(&c, (uint32_t[]){0, 0, 1, 1});
    expect_hosts(&c, 0, (uint32_t[]){0, 0});
    expect_hosts(&c, 1, (uint32_t[]){0, 0});
    impi_clients_free(&c);
}

static void two_builds_of_one_library_are_two_clients(void **state)
{
    const struct member m[] = {
        {0, M, 0, 7, 0}, {0, M, 0, 8, 0}, {0, O, 0, 7, 0}, {0, M, 1, 7, 0}};
    struct impi_clients c = form(m, 4, false);

    assert_int_equal(c.nclients, 3);
    expect_clients(&c, (uint32_t[]){0, 1, 2, 0});
    assert_int_equal(c.clients[1].family, M);
    impi_clients_free(&c);
}

static void three_components_two_nodes_per_client_cyclic(void **state)
{
    const struct member m[] = {{0, M, 0, 0, 0}, {0, M, 3, 0, 0},
                               {0, M, 0, 0, 0}, {1, O, 1, 0, 0},
                               {1, O, 2, 0, 0}, {2, M, 4, 0, 0}};
    struct impi_clients c = form(m, 6, false);

    assert_int_equal(c.nclients, 3);
    assert_int_equal(c.nhosts, 5);
    expect_hosts(&c, 0, (uint32_t[]){0, 1, 0});
    expect_hosts(&c, 1, (uint32_t[]){0, 1});
    expect_hosts(&c, 2, (uint32_t[]){0});
    assert_int_equal(c.hosts[1].node, 3);
    assert_int_equal(c.hosts[0].nprocs, 2);
    assert_int_equal(impi_clients_host_on(&c, 1, 2), 3);
    assert_int_equal(impi_clients_host_on(&c, 1, 0), -1);
    impi_clients_free(&c);
}

static void node_mode_makes_each_node_a_client(void **state)
{
    const struct member m[] = {
        {0, M, 0, 0, 0}, {0, M, 1, 0, 0}, {0, M, 0, 0, 0}, {0, O, 1, 0, 0}};
    struct impi_clients c = form(m, 4, true);

    assert_int_equal(c.nclients, 3);
    expect_clients(&c, (uint32_t[]){0, 1, 0, 2});
    impi_clients_free(&c);
}

/* Strewn over nodes and clients: beside counting by hand. */
static void any_order_of_ranks_is_known(void **state)
{
    static struct member m[RANKS_MAX];
    uint32_t seen[5] = {0}, *hosts[5];
    struct impi_clients c;

    srandom(7);
    for (uint32_t r = 0; r < RANKS_MAX; r++) {
        m[r].family = r < 5 ? r + 1 : 1 + (uint32_t)random() % 5;
        m[r].node = (uint16_t)(random() % 70);
    }
    c = form(m, RANKS_MAX, false);
    assert_int_equal(c.nclients, 5);
    for (uint32_t k = 0; k < 5; k++) {
        hosts[k] = impi_clients_native_hosts(&c, k);
        assert_non_null(hosts[k]);
    }
    for (uint32_t r = 0; r < RANKS_MAX; r++) {
        uint32_t k = m[r].family - 1, native = seen[k]++, host;

        assert_int_equal(impi_clients_client(&c, r), k);
        assert_int_equal(impi_clients_native(&c, r), native);
        host = c.clients[k].first_host + hosts[k][native];
        assert_int_equal(c.hosts[host].client, k);
        assert_int_equal(c.hosts[host].node, m[r].node);
        assert_int_equal(impi_clients_host_on(&c, k, m[r].node), host);
    }
    for (uint32_t k = 0; k < 5; k++) {
        assert_int_equal(seen[k], c.clients[k].nprocs);
        free(hosts[k]);
    }
    impi_clients_free(&c);
}

static void the_33rd_client_is_refused(void **state)
{
    struct member m[SF_IMPI_CLIENTS_MAX + 1];
    struct impi_clients c;
    struct errbuf err;

    for (uint32_t i = 0; i <= SF_IMPI_CLIENTS_MAX; i++)
        m[i] = (struct member){i, M, (uint16_t)i, 0, 0};
    c = form(m, SF_IMPI_CLIENTS_MAX, false);
    impi_clients_free(&c);
    assert_int_equal(try(&c, m, SF_IMPI_CLIENTS_MAX + 1, false, &err), -1);
    assert_int_equal(errno, E2BIG);
    assert_non_null(strstr(err.text, "32"));
}

static void a_rank_without_library_is_refused(void **state)
{
    const struct member m[] = {{0, M, 0, 0, 0}, {0, 0, 0, 0, 0}};
    struct impi_clients c;

    assert_int_equal(try(&c, m, 2, false, NULL), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(try(&c, m, 0, false, NULL), -1);
}

static void map_is(const char *text, const uint32_t *node, uint32_t ntasks,
                   uint32_t nnodes)
{
    struct taskmap map;

    assert_int_equal(taskmap_parse(&map, text, NULL), 0);
    assert_int_equal(map.ntasks, ntasks);
    assert_int_equal(map.nnodes, nnodes);
    for (uint32_t i = 0; i < ntasks; i++)
        assert_int_equal(map.node[i], node[i]);
    taskmap_free(&map);
}

static void task_map_parses_ranges_and_strides(void **state)
{
    map_is("0", (uint32_t[]){0}, 1, 1);
    map_is("0-1;2,4;3", (uint32_t[]){0, 0, 1, 2, 1}, 5, 3);
    map_is("0-4:2;1-3:2", (uint32_t[]){0, 1, 0, 1, 0}, 5, 2);
}

static void task_map_refuses(void **state)
{
    const char *bad[] = {"",    ";",     "0;",           "1",     "0,0",
                         "0-",  "1-0",   "0-1:",         "0-1:0", "a",
                         "0 1", "0;1,1", "0-9999999999", "-1"};
    struct taskmap map;
    struct errbuf err;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(taskmap_parse(&map, bad[i], &err), -1);
        assert_null(map.node);
    }
}

static void task_map_is_written_short_and_read_back(void **state)
{
    uint32_t a[] = {0, 1, 2, 9}, b[] = {3, 5, 7}, c[] = {4, 8}, d[] = {6};
    uint32_t *ids[] = {a, b, c, d};
    const uint16_t tasks[] = {4, 3, 2, 1};
    char *text = taskmap_format(4, tasks, ids);

    assert_string_equal(text, "0-2,9;3-7:2;4,8;6");
    map_is(text, (uint32_t[]){0, 0, 0, 1, 2, 1, 3, 1, 2, 0}, 10, 4);
    free(text);
}

static void what_an_agent_holds_is_said_in_few_words(void **state)
{
    const uint32_t ids[] = {0, 1, 4, 6, 8};
    struct impi_holds h = {""};
    uint32_t strewn[200];

    impi_holds_add(&h, IMPI_HOLDS_NO_CLIENT, "rank", "ranks", ids, 2);
    assert_string_equal(h.text, "ranks 0-1");
    h = (struct impi_holds){""};
    impi_holds_add(&h, 0, "rank", "ranks", ids + 1, 4);
    impi_holds_add(&h, 12, "rank", "ranks", ids, 1);
    assert_string_equal(h.text, "client 0 (ranks 1,4-8:2), client 12 (rank 0)");
    for (uint32_t i = 0; i < 200; i++)
        strewn[i] = 1000 + i * i;
    h = (struct impi_holds){""};
    impi_holds_add(&h, 3, "process", "processes", strewn, 200);
    assert_string_equal(h.text, "client 3 (processes 1000-1001,1004,1009,1016,"
                                "1025,1036,1049,1064,1081,1100,1121,...)");
    for (uint32_t i = 4; i < 9; i++)
        impi_holds_add(&h, i, "rank", "ranks", strewn, 200);
    assert_int_equal(strlen(h.text), SF_AGENT_HOLDS_MAX - 1);
}

static void component_finds_its_nodes_in_the_map(void **state)
{
    struct taskmap map;

    /* component 0: ranks 0-2 on nodes 1 and 3; component 1: 3-4 on 0, 2 */
    assert_int_equal(taskmap_parse(&map, "3;0-1;4;2", NULL), 0);
    assert_int_equal(taskmap_component_node(&map, 0, 3, 0), 1);
    assert_int_equal(taskmap_component_node(&map, 0, 3, 1), 3);
    assert_int_equal(taskmap_component_node(&map, 3, 2, 1), 2);
    assert_int_equal(taskmap_component_node(&map, 3, 2, 2), -1);
    assert_int_equal(errno, ENOENT);
    taskmap_free(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_component_one_library_is_one_client),
        cmocka_unit_test(a_memory_of_its_own_is_a_native_node),
        cmocka_unit_test(hetjob_of_two_components),
        cmocka_unit_test(two_components_with_one_library_are_two_clients),
        cmocka_unit_test(multi_prog_interleaves_libraries_on_a_node),
        cmocka_unit_test(two_builds_of_one_library_are_two_clients),
        cmocka_unit_test(three_components_two_nodes_per_client_cyclic),
        cmocka_unit_test(node_mode_makes_each_node_a_client),
        cmocka_unit_test(any_order_of_ranks_is_known),
        cmocka_unit_test(the_33rd_client_is_refused),
        cmocka_unit_test(a_rank_without_library_is_refused),
        cmocka_unit_test(task_map_parses_ranges_and_strides),
        cmocka_unit_test(task_map_refuses),
        cmocka_unit_test(task_map_is_written_short_and_read_back),
        cmocka_unit_test(what_an_agent_holds_is_said_in_few_words),
        cmocka_unit_test(component_finds_its_nodes_in_the_map),
    };

    return cmocka_run_group_tests_name("impi_clients", tests, NULL, NULL);
}
