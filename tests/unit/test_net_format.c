/* SPDX-License-Identifier: BSD-3-Clause
 * Nets as text: what is written is read again, what is wrong is named.
 */
#include <errno.h>

#include <json-c/json.h>

#include "net/diff.h"
#include "net/format.h"
#include "net/same.h"
#include "net_check.h"

static struct net *parsed(const char *text)
{
    struct errbuf err = {""};
    struct net *net = net_parse("f", text, strlen(text), &err);

    if (!net)
        fail_msg("%s", err.text);
    return net;
}

static void refused(const char *text, const char *why)
{
    struct errbuf err = {""};
    struct net *net = net_parse("f", text, strlen(text), &err);

    assert_null(net);
    assert_string_equal(err.text, why);
}

static void exactly_same(const struct net *a, const struct net *b)
{
    assert_int_equal(a->nnodes, b->nnodes);
    assert_int_equal(a->ncables, b->ncables);
    for (uint32_t n = 0; n < a->nnodes; n++) {
        assert_string_equal(a->nodes[n].name, b->nodes[n].name);
        assert_int_equal(a->nodes[n].id, b->nodes[n].id);
        assert_int_equal(a->nodes[n].has_id, b->nodes[n].has_id);
        assert_int_equal(a->nodes[n].plane, b->nodes[n].plane);
        assert_int_equal(a->nodes[n].nports, b->nodes[n].nports);
    }
    assert_memory_equal(a->ports, b->ports, a->nports * sizeof(*a->ports));
}

static const char *const nets[] = {
    "C64",       "C64+ids+cut=20",      "C512+shuffle",  "two-planes",
    "torus:4x4", "random:30:100:2+ids", "hostless-ring", "line:1:1"};

static void own_format_keeps_everything(void **state)
{
    for (size_t i = 0; i < sizeof(nets) / sizeof(*nets); i++) {
        struct net *net = named(nets[i]), *again;
        struct errbuf err;
        struct bytebuf b;

        bytebuf_init(&b, SF_NET_FILE_MAX);
        net_write_text(net, &b);
        assert_false(b.bad);
        again = net_parse("x", (const char *)bytebuf_data(&b), bytebuf_len(&b),
                          &err);
        assert_non_null(again);
        exactly_same(net, again);
        net_free(again);
        net_free(net);
        bytebuf_free(&b);
    }
}

/* A map that a mapper made: no names, and one board id in three places. */
static void a_map_with_twins_can_be_written_and_read(void **state)
{
    struct net *net = net_new(), *copy, *again;
    uint32_t x = net_add_xbar(net, "", 8, 0);
    char buf[40];
    struct errbuf err;
    struct bytebuf b;

    for (unsigned i = 0; i < 4; i++)
        assert_true(net_connect(
            net, net_add_host(net, "", i == 1 ? 8 : 0x0060dd000007), 0, x, i));
    copy = net_copy_named(net);
    assert_non_null(copy);
    bytebuf_init(&b, SF_NET_FILE_MAX);
    net_write_text(copy, &b);
    again = net_parse_text("x", (const char *)bytebuf_data(&b), bytebuf_len(&b),
                           &err);
    if (!again)
        fail_msg("%s", err.text);
    exactly_same(copy, again);
    assert_string_equal(net_name_of(again, 1, buf), "0060dd000007");
    assert_string_equal(net_name_of(again, 2, buf), "000000000008");
    assert_string_equal(net_name_of(again, 3, buf), "0060dd000007.3");
    assert_int_equal(net_conflicts(again, NULL, NULL), 2);
    bytebuf_free(&b);
    net_free(again);
    net_free(copy);
    net_free(net);
}

/* Both had one word, and the file was refused for it. */
static void a_map_with_twins_in_the_ib_format_was_refused(void **state)
{
    struct net *net = net_new(), *again;
    struct errbuf err = {""};
    struct bytebuf b;

    net_add_host(net, "a", 0x0060dd000007);
    net_add_host(net, "b", 0x0060dd000008);
    net_add_host(net, "c", 0x0060dd000007);
    net_add_xbar(net, "x", 8, 5);
    net_add_host(net, "d", 0x0060dd000007);
    net->nodes[3].has_id = true;
    for (uint32_t n = 0; n < 5; n++)
        assert_true(n == 3 || net_connect(net, n, 0, 3, n));
    bytebuf_init(&b, SF_NET_FILE_MAX);
    net_write_ib(net, &b);
    again =
        net_parse("x", (const char *)bytebuf_data(&b), bytebuf_len(&b), &err);
    if (!again)
        fail_msg("%s", err.text);
    assert_int_equal(again->nhosts, 4);
    assert_int_equal(net_conflicts(again, NULL, NULL), 2);
    for (uint32_t n = 0; n < 5; n++) {
        uint32_t is = net_find_name(again, net->nodes[n].name);

        assert_int_not_equal(is, NET_NONE);
        assert_true(again->nodes[is].id == net->nodes[n].id);
        assert_true(n == 3 || net_peer_port(again, is, 0) == n);
    }
    bytebuf_free(&b);
    net_free(again);
    net_free(net);
}

static void ib_format_keeps_the_graph_and_the_names(void **state)
{
    for (size_t i = 0; i < sizeof(nets) / sizeof(*nets); i++) {
        struct net *net = named(nets[i]), *again;
        struct errbuf err = {""};
        struct bytebuf b;

        bytebuf_init(&b, SF_NET_FILE_MAX);
        net_write_ib(net, &b);
        again = net_parse("x", (const char *)bytebuf_data(&b), bytebuf_len(&b),
                          &err);
        if (!again)
            fail_msg("%s", err.text);
        net_tell_ids(net, true);
        if (!net_same(net, again, &err))
            fail_msg("%s: %s", nets[i], err.text);
        for (uint32_t n = 0; n < net->nnodes; n++)
            assert_int_not_equal(net_find_name(again, net->nodes[n].name),
                                 NET_NONE);
        net_free(again);
        net_free(net);
        bytebuf_free(&b);
    }
}

/* As ibnetdiscover printed it: port GUIDs, one node from each side. */
static void ibnetdiscover_output_is_read(void **state)
{
    struct net *net = parsed(
        "#\n# Topology file: generated on Fri\n#\n\n\v\n \f\n"
        "vendid=0x2c9\ndevid=0x1234\nsysimgguid=0x11\n"
        "switchguid=0x8f1040041(8f1040041)\n"
        "Switch\t24 \"S-00000008f1040041\"\t\t# \"ISR9024D Voltaire\" base "
        "port 0 lid 3 lmc 0\n"
        "[1]\t\"H-000000000000aa00\"[1](aa01) \t\t# \"n1 HCA-1\" lid 4 4xSDR\n"
        "[2]\t\"H-000000000000aa00\"[2](aa02) \t\t# \"n1 HCA-1\" lid 5 4xSDR\n"
        "[24]\t\"H-000000000000bb00\"[1](bb01) \t\t# \"n2 HCA-1\" lid 6\n"
        "\nvendid=0x2c9\ncaguid=0xaa00\n"
        "Ca\t2 \"H-000000000000aa00\"\t\t# \"n1 HCA-1\"\n"
        "[1](aa01) \t\"S-00000008f1040041\"[1]\t\t# lid 4 lmc 0 \"ISR\" lid 3\n"
        "[2](aa02) \t\"S-00000008f1040041\"[2]\t\t# lid 5 lmc 0 \"ISR\" lid 3\n"
        "\ncaguid=0xbb00\nCa\t1 \"H-000000000000bb00\"\t\t# \"n2 HCA-1\"\n"
        "[1](bb01) \t\"S-00000008f1040041\"[24]\t\t# lid 6 lmc 0\n");
    uint32_t x = net_find_xbar(net, 0x8f1040041);

    assert_int_equal(net->nxbars, 1);
    assert_int_equal(net->nhosts, 3);
    assert_true(net->nodes[x].has_id);
    assert_string_equal(net->nodes[x].name, "S-00000008f1040041");
    assert_int_equal(net_peer_node(net, x, 0), net_find_host(net, 0xaa01));
    assert_int_equal(net_peer_node(net, x, 1), net_find_name(net, "n1-p2"));
    assert_int_equal(net_find_host(net, 0xaa02), net_find_name(net, "n1-p2"));
    assert_int_equal(net_peer_node(net, x, 23), net_find_name(net, "n2"));
    net_free(net);
}

/* Both were called n1, or one of them by its GUID. */
static void adapters_of_one_node_have_names_of_their_own(void **state)
{
    struct net *net = parsed(
        "Switch 24 \"S-1\" # \"sw\"\n"
        "caguid=0xaa00\nCa 2 \"H-a\" # \"n1 mlx5_0\"\n"
        "[1](aa01) \"S-1\"[1]\n[2](aa02) \"S-1\"[2]\n"
        "caguid=0xbb00\nCa 2 \"H-b\" # \"n1 mlx5_1\"\n"
        "[1](bb01) \"S-1\"[3]\n[2](bb02) \"S-1\"[4]\n"
        "caguid=0xcc00\nCa 1 \"H-c\" # \"n1 mlx5_1\"\n[1](cc01) \"S-1\"[5]\n"
        "caguid=0xdd00\nCa 1 \"H-d\" # \"n1\"\n[1](dd01) \"S-1\"[6]\n");
    static const struct {
        uint64_t guid;
        const char *name;
    } ports[] = {{0xaa01, "n1"},          {0xaa02, "n1-p2"},
                 {0xbb01, "n1-mlx5_1"},   {0xbb02, "n1-mlx5_1-p2"},
                 {0xcc01, "n1-mlx5_1-2"}, {0xdd01, "n1-2"}};

    assert_int_equal(net->nhosts, 6);
    for (size_t i = 0; i < 6; i++) {
        uint32_t host = net_find_host(net, ports[i].guid);

        assert_string_equal(net->nodes[host].name, ports[i].name);
    }
    for (int i = 0; i < 2; i++) {
        struct bytebuf text;
        struct errbuf err;
        struct net *back;

        bytebuf_init(&text, 65536);
        (i ? net_write_ib : net_write_text)(net, &text);
        back = net_parse("f", (const char *)bytebuf_data(&text),
                         bytebuf_len(&text), &err);
        assert_non_null(back);
        for (size_t k = 0; k < 6; k++)
            assert_int_equal(net_find_host(back, ports[k].guid),
                             net_find_name(back, ports[k].name));
        net_free(back);
        bytebuf_free(&text);
    }
    net_free(net);
}

/* ibsim's short form: no GUIDs, cables from one side. */
static void ibsim_short_form_is_read(void **state)
{
    struct net *net = parsed("Switch 8 \"sw1\"\n[1] \"hca1\"[1]\n"
                             "[8] \"sw2\"[3]\n\nHca 2 \"hca1\"\n"
                             "Switch 4 \"sw2\"\n");

    assert_int_equal(net->nnodes, 3);
    assert_int_equal(net->ncables, 2);
    assert_int_equal(net_peer_port(net, net_find_name(net, "sw1"), 7), 2);
    net_free(net);
}

static void own_format_is_read(void **state)
{
    struct net *net =
        parsed("# two crossbars\n\n host a%20b 00:60:dd:00:00:01 plane=3\n"
               "host h2 0060dd000002 # second\nxbar x1 8 id=77\n"
               "xbar x2 16 guid=78\ncable a%20b x1:7\r\n"
               "cable x1:0 x2:15\ncable h2:0 x2:3");
    uint32_t x1 = net_find_name(net, "x1");

    assert_int_equal(net->ncables, 3);
    assert_int_equal(net_peer_node(net, x1, 7), net_find_name(net, "a b"));
    assert_int_equal(net->nodes[net_find_name(net, "a b")].plane, 3);
    assert_int_equal(net_find_xbar(net, 0x77), x1);
    assert_true(net->nodes[x1].has_id);
    assert_false(net->nodes[net_find_xbar(net, 0x78)].has_id);
    net_free(net);
}

static void errors_name_file_line_and_what(void **state)
{
    refused("bus 1\n", "f:1: bus: a line says host, xbar or cable");
    refused("\nhost h\n", "f:2: host NAME ADDRESS [plane=N] [twin]");
    refused("host h 0\n", "f:1: 0 is not a board address");
    refused("host h 0x12\n", "f:1: 0x12 is not a board address");
    refused("host h 11223344556677889\n",
            "f:1: 11223344556677889 is not a board address");
    refused("host h 1\nhost h 2\n", "f:2: h is there already");
    refused("host h 1\nhost i 1\n", "f:2: i has the address of h");
    refused("xbar x 8 twin\n", "f:1: what is twin?");
    refused("xbar x 0\n", "f:1: 0: a crossbar has 1 to 255 ports");
    refused("xbar x 256\n", "f:1: 256: a crossbar has 1 to 255 ports");
    refused("xbar x -1\n", "f:1: -1: a crossbar has 1 to 255 ports");
    refused("xbar x 8 id=5\nxbar y 8 id=5\n", "f:2: y has the id of x");
    refused("xbar x 8 id=5 guid=6\n", "f:1: either id= or guid=");
    refused("xbar x 8 colour=red\n", "f:1: what is colour=red?");
    refused("host h 1 id=5\n", "f:1: what is id=5?");
    refused("host h 1 plane=256\n", "f:1: what is plane=256?");
    refused("xbar x 8\ncable x:8 x:1\n", "f:2: x has ports 0 to 7");
    refused("xbar x 8\ncable x x:1\n", "f:2: which port of x?");
    refused("xbar x 8\ncable x:a x:1\n", "f:2: a is no port");
    refused("xbar x 8\ncable x:1 x:1\n", "f:2: a cable has two ends");
    refused("xbar x 8\ncable x:1 y:1\n", "f:2: there is no y above");
    refused("xbar x 8\ncable x:1\n", "f:2: cable NAME[:PORT] NAME[:PORT]");
    refused("xbar x 8\ncable x:1 x:2\ncable x:1 x:3\n",
            "f:3: port 1 of x has a cable already");
    refused("host a%2 1\n", "f:1: a%2: two digits must follow %");
    refused("host a%00 1\n", "f:1: a%00: two digits must follow %");
}

static void errors_in_ib_files_are_named_too(void **state)
{
    refused("Switch 8 \"a\"\nBridge 3 \"x\"\n",
            "f:2: Bridge: a line says Switch, Ca or a cable");
    refused("Switch 0 \"a\"\n", "f:1: a node has 1 to 255 ports");
    refused("Switch 8 a\n", "f:1: a node's name stands in quotes");
    refused("Switch 8 \"a\"\nSwitch 8 \"a\"\n", "f:2: \"a\" is there already");
    refused("vendid=0\n[1] \"a\"[1]\n", "f:2: a cable of no node");
    refused("Switch 8 \"a\"\n[x] \"a\"[1]\n",
            "f:2: a cable begins with [PORT]");
    refused("Switch 8 \"a\"\n[1] \"a\"\n",
            "f:2: a cable leads to \"NODE\"[PORT]");
    refused("Switch 8 \"a\"\n[1] \"b\"[1]\n", "f:2: there is no node \"b\"");
    refused("Switch 8 \"a\"\n[9] \"a\"[1]\n", "f:2: there is no such port");
    refused("Switch 8 \"a\"\n[1] \"a\"[0]\n", "f:2: there is no such port");
    refused("Switch 8 \"a\"\n[1] \"b\"[1]\n[2] \"b\"[1]\nCa 1 \"b\"\n",
            "f:3: a port has two cables");
}

static void other_bytes_are_refused(void **state)
{
    struct errbuf err;
    char *big = malloc(SF_NET_LINE_MAX + 10);

    assert_null(net_parse("f", "host a\0b 1\n", 11, &err));
    assert_string_equal(err.text, "f:1: not a text");
    memset(big, 'x', SF_NET_LINE_MAX + 10);
    assert_null(net_parse("f", big, SF_NET_LINE_MAX + 10, &err));
    assert_null(net_parse_text("f", big, SF_NET_FILE_MAX + 1UL, &err));
    assert_int_equal(errno, EMSGSIZE);
    assert_null(net_parse_ib("f", big, SF_NET_FILE_MAX + 1UL, &err));
    free(big);
}

static void json_is_json(void **state)
{
    struct net *net = named("C64+ids");
    struct bytebuf b;
    struct json_object *o, *v;

    net_set_name(net, 0, "a\"b\\\n\xff");
    bytebuf_init(&b, SF_NET_FILE_MAX);
    net_write_json(net, &b);
    bytebuf_add(&b, "", 1);
    o = json_tokener_parse((const char *)bytebuf_data(&b));
    assert_non_null(o);
    assert_true(json_object_object_get_ex(o, "hosts", &v));
    assert_int_equal(json_object_array_length(v), 64);
    assert_true(json_object_object_get_ex(o, "xbars", &v));
    assert_int_equal(json_object_array_length(v), 12);
    assert_true(json_object_object_get_ex(o, "links", &v));
    assert_int_equal(json_object_array_length(v), 128);
    json_object_put(o);
    bytebuf_free(&b);
    net_free(net);
}

static void example_file_is_whole(void **state)
{
    char path[1000], text[4000];
    const char *top = getenv("SF_TOP_SRCDIR");
    struct net *net;
    FILE *f;

    snprintf(path, sizeof(path), "%s/etc/swfab.net.example", top ? top : ".");
    f = fopen(path, "r");
    if (!f)
        skip();
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    fclose(f);
    net = parsed(text);
    assert_int_equal(net->nhosts, 4);
    assert_int_equal(net->nxbars, 3);
    assert_int_equal(net->ncables, 8);
    net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_format_keeps_everything),
        cmocka_unit_test(a_map_with_twins_can_be_written_and_read),
        cmocka_unit_test(a_map_with_twins_in_the_ib_format_was_refused),
        cmocka_unit_test(ib_format_keeps_the_graph_and_the_names),
        cmocka_unit_test(ibnetdiscover_output_is_read),
        cmocka_unit_test(adapters_of_one_node_have_names_of_their_own),
        cmocka_unit_test(ibsim_short_form_is_read),
        cmocka_unit_test(own_format_is_read),
        cmocka_unit_test(errors_name_file_line_and_what),
        cmocka_unit_test(errors_in_ib_files_are_named_too),
        cmocka_unit_test(other_bytes_are_refused),
        cmocka_unit_test(json_is_json),
        cmocka_unit_test(example_file_is_whole),
    };

    return cmocka_run_group_tests_name("net format", tests, NULL, NULL);
}
