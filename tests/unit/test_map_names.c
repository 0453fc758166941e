/* SPDX-License-Identifier: BSD-3-Clause
 * What the site calls the nodes of a map.
 */
#include "mapperd/names.h"

#include <unistd.h>

#include "net/align.h"
#include "net/format.h"
#include "net_check.h"

/* ---- names and ports of the cabling -------------------------------------- */

/* As a mapper finds it: no names, another order. */
static struct net *found_from(const struct net *site, uint64_t seed)
{
    uint32_t there;
    struct net *net =
        net_reachable(site, (uint32_t)(seed % site->nhosts), &there);

    assert_non_null(net);
    for (uint32_t i = 0; i < net->nnodes; i++)
        assert_true(net_set_name(net, i, ""));
    return net;
}

/* Every cable is where the site says, under the site's names. */
static void assert_same_cables(const struct net *named, const struct net *site)
{
    assert_int_equal(named->ncables, site->ncables);
    for (uint32_t i = 0; i < named->nnodes; i++) {
        uint32_t s = net_find_name(site, named->nodes[i].name);

        assert_true(s != NET_NONE);
        assert_int_equal(named->nodes[i].kind, site->nodes[s].kind);
        for (unsigned p = 0; p < site->nodes[s].nports; p++) {
            uint32_t far = net_peer_node(site, s, p);
            uint32_t got = net_peer_node(named, i, p);

            assert_int_equal(far == NET_NONE, got == NET_NONE);
            if (far == NET_NONE)
                continue;
            assert_string_equal(named->nodes[got].name, site->nodes[far].name);
            assert_int_equal(net_peer_port(named, i, p),
                             net_peer_port(site, s, p));
        }
    }
}

static void a_found_map_gets_names_and_ports_of_the_cabling(void **state)
{
    static const char *const nets[] = {"C64", "torus:3x3:1", "line:3:3",
                                       "clos:4x2:1x2:1x1+ids"};

    for (unsigned i = 0; i < sizeof(nets) / sizeof(*nets); i++)
        for (uint64_t seed = 0; seed < 5; seed++) {
            struct net *site = named(nets[i]);
            struct net *found = found_from(site, seed);
            struct net *map = net_align_names(site, found);

            assert_non_null(map);
            assert_same_cables(map, site);
            for (uint32_t n = 0; n < map->nnodes; n++)
                assert_int_equal(map->nodes[n].id, found->nodes[n].id);
            net_free(map);
            net_free(found);
            net_free(site);
        }
}

static void the_cabling_need_not_know_the_ids_of_crossbars(void **state)
{
    struct net *site = named("clos:4x2:1x2:1x1"), *map;
    struct net *real = named("clos:4x2:1x2:1x1+ids");
    struct net *found = found_from(real, 3);

    map = net_align_names(site, found);
    assert_non_null(map);
    assert_same_cables(map, site);
    net_free(map);
    net_free(found);
    net_free(real);
    net_free(site);
}

/* What the cabling lacks keeps its place and has no name. */
static void a_crossbar_that_the_cabling_lacks_has_no_name(void **state)
{
    struct net *site = named("line:2:2"), *real = named("line:3:2"), *map;
    struct net *found = found_from(real, 0);
    uint32_t unnamed = 0;

    map = net_align_names(site, found);
    assert_non_null(map);
    assert_int_equal(map->ncables, found->ncables);
    for (uint32_t n = 0; n < map->nnodes; n++)
        unnamed += map->nodes[n].name[0] == '\0';
    assert_int_equal(unnamed, 1 + 2); /* the third, and its hosts */
    net_free(map);
    net_free(found);
    net_free(real);
    net_free(site);
}

/* Somebody calls a crossbar x1; the map's own number for another is that. */
static void no_two_nodes_have_one_name(void **state)
{
    struct net *net = net_new(), *copy;

    net_add_xbar(net, "x1", 4, 0);
    net_add_xbar(net, "", 4, 0);
    copy = net_copy_named(net);
    assert_non_null(copy);
    assert_string_not_equal(copy->nodes[0].name, copy->nodes[1].name);
    net_free(copy);
    net_free(net);
}

/* ---- files --------------------------------------------------------------- */

struct said {
    char text[400];
    int n;
};

static void note(const char *text, void *arg)
{
    struct said *s = arg;

    snprintf(s->text, sizeof(s->text), "%s", text);
    s->n++;
}

static void write_file(char path[64], const char *text)
{
    int fd;

    strcpy(path, "/tmp/names.XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static const char cabling[] = "host gate 020000000009\n"
                              "host odd 020000000001\n"
                              "xbar leaf 8\n"
                              "cable gate leaf:3\n"
                              "cable odd leaf:5\n";

static struct net *small_map(void)
{
    struct net *net = net_new();
    uint32_t a = net_add_host(net, "", 0x020000000001);
    uint32_t b = net_add_host(net, "", 0x020000000009);
    uint32_t x = net_add_xbar(net, "", 8, 0);

    assert_true(net_connect(net, a, 0, x, 2));
    assert_true(net_connect(net, b, 0, x, 0));
    return net;
}

static void the_identity_table_wins_over_the_cabling(void **state)
{
    char hosts[64], net_file[64];
    struct said said = {.n = 0};
    struct net *map = small_map(), *given;
    struct names *n;

    write_file(hosts, "NodeName=n1 ElanId=1 Board=020000000001\n");
    write_file(net_file, cabling);
    n = names_new(hosts, net_file, note, &said);
    assert_int_equal(said.n, 0);
    given = names_give(n, map);
    assert_string_equal(given->nodes[0].name, "n1");
    assert_string_equal(given->nodes[1].name, "gate");
    assert_string_equal(given->nodes[2].name, "leaf");
    assert_int_equal(net_peer_port(given, 0, 0), 5);
    assert_string_equal(names_of_host(n, 0x020000000001), "n1");
    assert_string_equal(names_of_host(n, 0x020000000009), "gate");
    assert_null(names_of_host(n, 0x020000000002));
    net_free(given);
    net_free(map);
    names_free(n);
    unlink(hosts);
    unlink(net_file);
}

static void two_boards_of_a_host_have_two_names(void **state)
{
    char hosts[64];
    struct said said = {.n = 0};
    struct net *map = small_map(), *given;
    struct names *n;

    write_file(hosts, "NodeName=n1 ElanId=1 Board=020000000001 "
                      "Board1=020000000009\n");
    n = names_new(hosts, "/dev/null", note, &said);
    given = names_give(n, map);
    assert_string_equal(given->nodes[0].name, "n1");
    assert_string_equal(given->nodes[1].name, "n1-rail1");
    net_free(given);
    net_free(map);
    names_free(n);
    unlink(hosts);
}

/* Mapping goes on, under addresses. */
static void a_wrong_file_is_told_and_names_nothing(void **state)
{
    char net_file[64];
    struct said said = {.n = 0};
    struct net *map = small_map(), *given;
    struct names *n;

    write_file(net_file, "xbar leaf eight\n");
    n = names_new("/nonexistent/elanhosts", net_file, note, &said);
    assert_non_null(n);
    assert_int_equal(said.n, 2);
    assert_non_null(strstr(said.text, net_file));
    given = names_give(n, map);
    assert_int_equal(given->ncables, 2);
    assert_string_equal(given->nodes[2].name, "");
    net_free(given);
    net_free(map);
    names_free(n);
    unlink(net_file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_found_map_gets_names_and_ports_of_the_cabling),
        cmocka_unit_test(the_cabling_need_not_know_the_ids_of_crossbars),
        cmocka_unit_test(a_crossbar_that_the_cabling_lacks_has_no_name),
        cmocka_unit_test(no_two_nodes_have_one_name),
        cmocka_unit_test(the_identity_table_wins_over_the_cabling),
        cmocka_unit_test(two_boards_of_a_host_have_two_names),
        cmocka_unit_test(a_wrong_file_is_told_and_names_nothing),
    };

    return cmocka_run_group_tests_name("names of a map", tests, NULL, NULL);
}
