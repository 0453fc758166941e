/* SPDX-License-Identifier: BSD-3-Clause
 * topology.yaml: what we write is read again by another library's YAML, and
 * what is wrong is found with its line.
 */
#include "net/topo.h"
#include "net/topo_domains.h"
#include "net_check.h"

struct told {
    unsigned fatal;
    char text[2000];
};

static void note(void *arg, bool fatal, unsigned line, const char *text)
{
    struct told *t = arg;
    size_t n = strlen(t->text);

    t->fatal += fatal;
    snprintf(t->text + n, sizeof(t->text) - n, "%u: %s\n", line, text);
}

static void judged(const char *text, int rc, const char *words)
{
    struct told t = {0};

    assert_int_equal(net_topo_check_yaml(text, strlen(text), note, NULL, &t),
                     rc);
    assert_string_equal(t.text, words);
    assert_int_equal(t.fatal > 0, rc < 0);
}

#define HEAD                                                                   \
    "- topology: fabric\n  cluster_default: true\n  tree:\n    switches:\n"

static void what_is_written_keeps_the_rules(void **state)
{
    static const char *const nets[] = {"C64", "C512", "C8192", "ring:9",
                                       "torus:4x4"};

    for (size_t i = 0; i < sizeof(nets) / sizeof(nets[0]); i++) {
        struct net *net = named(nets[i]);
        struct net_topo *t = net_topo_new(net, 0);
        struct told told = {0};
        struct bytebuf b;

        bytebuf_init(&b, SF_TOPOLOGY_SIZE_MAX);
        net_topo_write_yaml(t, NULL, &b);
        assert_false(b.bad);
        net_topo_check_yaml((const char *)bytebuf_data(&b), bytebuf_len(&b),
                            note, NULL, &told);
        assert_string_equal(told.text, "");
        bytebuf_free(&b);
        net_topo_free(t);
        net_free(net);
    }
}

static void other_ways_to_write_it_are_read(void **state)
{
    judged("# comment\n---\n- {topology: a, tree: {switches: [{switch: s1, "
           "nodes: 'n[1-4]'}]}}\n...\n",
           0, "");
    judged(HEAD "    - switch: s1\n      nodes: n1\n"
                "    - nodes: n2\n      switch: s2\n"
                "    - switch: top\n      children: s[1-2]\n",
           0, "");
}

static void what_breaks_a_rule_of_the_tree_is_found(void **state)
{
    judged(HEAD "    - switch: a\n      nodes: n1\n      children: b\n", -1,
           "5: a has both nodes and switches\n");
    judged(HEAD "    - switch: a\n", -1,
           "5: a has neither nodes nor switches\n");
    judged(HEAD "    - nodes: n1\n", -1, "5: a switch needs a name\n");
    judged(HEAD "    - switch: a\n      nodes: n1\n"
                "    - switch: a\n      nodes: n2\n",
           -1, "7: a is there already\n");
    judged(HEAD "    - switch: a\n      nodes: n1\n"
                "    - switch: b\n      children: c\n",
           -1, "7: no line has the switch c\n");
    judged(HEAD "    - switch: a\n      nodes: n[1\n", -1,
           "5: ] is missing at \"1\"\n");
    judged("- topology: a\n  tree:\n    switches: []\n", -1,
           "3: no switches\n");
}

#define LETTERS_32 "abcdefghijklmnopqrstuvwxyz012345"

static void a_switchs_name_has_a_longest_form(void **state)
{
    judged(HEAD "    - switch: " LETTERS_32 LETTERS_32 "\n      nodes: n1\n", 0,
           "");
    judged(HEAD "    - switch: " LETTERS_32 LETTERS_32 "6\n      nodes: n1\n",
           -1, "5: the switch's name is longer than 64\n");
}

static void what_is_no_tree_is_refused(void **state)
{
    judged("", -1, "0: nothing in it\n");
    judged("topology: a\n", -1, "1: not a list of one or two topologies\n");
    judged("- topology: a\n  flat: true\n", -1,
           "2: what is flat, or it is there already\n");
    judged("- topology: a\n", -1,
           "1: the topology has neither tree nor block\n");
    judged("- topology: a\n  tree:\n    colour: red\n", -1,
           "3: what is colour, or it is there already\n");
    judged("- topology: a\n  tree: []\n", -1, "2: not a list of KEY: VALUE\n");
    judged("- cluster_default: true\n  topology: a\n", -1,
           "1: topology must be the first key\n"
           "1: what is cluster_default, or it is there already\n");
    judged("- topology: a\n  cluster_default: maybe\n  tree: {switches: "
           "[{switch: s, nodes: n1}]}\n",
           -1, "2: cluster_default is not true or false\n");
    judged(HEAD "    - switch: a\n      nodes: n1\n- topology: b\n", -1,
           "7: the topology has neither tree nor block\n");
    judged(HEAD "    - switch: a\n      nodes: n1\n---\n- topology: b\n", -1,
           "0: more than one document\n");
    judged(HEAD "    - switch: a\n      nodes: [n1]\n", -1,
           "6: nodes is no text\n5: a has neither nodes nor switches\n");
}

#define BLOCKS "- topology: b\n  block:\n    "

static void blocks_are_judged(void **state)
{
    judged(BLOCKS "blocks: [{block: x, nodes: n1}]\n", 0, "");
    judged(HEAD "    - switch: a\n      nodes: n1\n" BLOCKS
                "block_sizes: [2, 4, 16]\n    blocks:\n"
                "    - block: x\n      nodes: n[1-2]\n"
                "    - block: y\n      nodes: n[3-4]\n",
           0, "");
    judged(BLOCKS "block_sizes: [2]\n    blocks: []\n", -1, "3: no blocks\n");
    judged(BLOCKS "block_sizes: [2]\n", -1, "3: no blocks\n");
    judged(BLOCKS "blocks: [{block: x}]\n", -1, "3: block x has no nodes\n");
    judged(BLOCKS "blocks: [{nodes: n1}]\n", -1, "3: a block needs a name\n");
    judged(BLOCKS "blocks: [{block: x, nodes: n[1}]\n", -1,
           "3: did not find expected ',' or '}'\n");
    judged(BLOCKS "blocks: [{block: x, nodes: 'n[1'}]\n", -1,
           "3: ] is missing at \"1\"\n");
    judged(BLOCKS "blocks:\n    - {block: x, nodes: n1}\n"
                  "    - {block: x, nodes: n2}\n",
           -1, "5: block x is there already\n");
    judged(BLOCKS "blocks:\n    - {block: x, nodes: n1}\n"
                  "    - {block: y, nodes: n1}\n",
           0,
           "5: node n1 is in more than one block\n"
           "3: a block has 0 nodes, less than 1\n");
    judged(BLOCKS "blocks:\n    - {block: x, nodes: n1, colour: red}\n", -1,
           "4: what is colour, or it is there already\n");
}

static void sizes_of_blocks_are_judged(void **state)
{
    static const char *const wrong[] = {
        "0", "-1", "x", "''", "1e9", "[1]", "99999999999999999999"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char text[200];
        struct told t = {0};

        snprintf(text, sizeof(text),
                 BLOCKS "block_sizes: [%s]\n    blocks: [{block: x, nodes: "
                        "n1}]\n",
                 wrong[i]);
        assert_int_equal(
            net_topo_check_yaml(text, strlen(text), note, NULL, &t), -1);
        assert_non_null(strstr(t.text, "is not the size of a block"));
    }
    judged(BLOCKS "block_sizes: [2, 6]\n    blocks: [{block: x, nodes: "
                  "'n[1-6]'}]\n",
           -1, "3: the size 6 is not 2 times a power of two\n");
    judged(BLOCKS "block_sizes: [2, 3]\n    blocks: [{block: x, nodes: "
                  "'n[1-6]'}]\n",
           -1, "3: the size 3 is not 2 times a power of two\n");
    judged(BLOCKS "block_sizes: [1, 65536]\n    blocks: [{block: x, nodes: "
                  "n1}]\n",
           -1, "3: the size 65536 is not 1 times a power of two\n");
    judged(BLOCKS "block_sizes: [4]\n    blocks: [{block: x, nodes: n1}]\n", 0,
           "3: a block has 1 nodes, less than 4\n");
}

static void topologies_are_one_of_a_kind(void **state)
{
    judged("- {topology: a, block: {blocks: [{block: x, nodes: n1}]}}\n"
           "- {topology: b, block: {blocks: [{block: x, nodes: n2}]}}\n",
           -1, "2: one more topology of a kind\n");
    judged("- {topology: a, block: {blocks: [{block: x, nodes: n1}]}}\n"
           "- {topology: a, tree: {switches: [{switch: s, nodes: n1}]}}\n",
           -1, "2: a is there already\n");
    judged("- {topology: a, cluster_default: true, block: {blocks: [{block: x, "
           "nodes: n1}]}}\n- {topology: b, cluster_default: true, tree: "
           "{switches: [{switch: s, nodes: n1}]}}\n",
           -1, "2: more than one topology has cluster_default\n");
    judged("- {topology: a, tree: {switches: [{switch: s, nodes: n1}]}, block: "
           "{blocks: [{block: x, nodes: n1}]}}\n",
           -1, "1: what is block, or it is there already\n");
}

/* NULL without a text. */
static struct net_domains *domains_of(const char *text)
{
    struct net_domains *d = NULL;
    struct errbuf err = {""};

    if (text)
        d = net_domains_parse("d", text, strlen(text), &err);
    assert_string_equal(err.text, "");
    return d;
}

/* Lines of the block_sizes of a net. */
static void sizes_by(const char *name, const char *domains, const char *want)
{
    struct net_domains *d = domains_of(domains);
    struct net *net = named(name);
    struct net_topo *t = net_topo_new(net, 0);
    const char *at, *end;
    struct bytebuf b;

    bytebuf_init(&b, SF_TOPOLOGY_SIZE_MAX);
    net_topo_write_yaml(t, d, &b);
    assert_false(b.bad);
    assert_int_equal(net_topo_check_yaml((const char *)bytebuf_data(&b),
                                         bytebuf_len(&b), NULL, NULL, NULL),
                     0);
    bytebuf_add(&b, "", 1);
    at = strstr((const char *)bytebuf_data(&b), "block_sizes:\n");
    assert_non_null(at);
    at += strlen("block_sizes:\n");
    end = strstr(at, "    blocks:");
    assert_non_null(end);
    assert_int_equal(end - at, strlen(want));
    assert_memory_equal(at, want, strlen(want));
    bytebuf_free(&b);
    net_topo_free(t);
    net_free(net);
    net_domains_free(d);
}

static void sizes_are(const char *name, const char *want)
{
    sizes_by(name, NULL, want);
}

/* Leaves, pods and the core, where there are as many of each in the next; nine
 * leaves are no power of two. */
static void blocks_follow_the_fabric(void **state)
{
    sizes_are("C64", "      - 8\n      - 64\n");
    sizes_are("C512", "      - 8\n      - 64\n      - 512\n");
    sizes_are("C8192", "      - 16\n      - 256\n      - 8192\n");
    sizes_are("ring:9", "      - 2\n");
}

/* Domains of two leaves each, four to a pod, and within one leaf. */
static void blocks_follow_the_domains(void **state)
{
    char text[2048] = "";
    size_t n = 0;

    for (int i = 0; i < 32; i++)
        n += (size_t)sprintf(text + n, "rack%d h[%d-%d]\n", i, i * 16,
                             i * 16 + 15);
    sizes_by("C512", text, "      - 16\n      - 64\n      - 512\n");
    /* Half of the nodes: one pod in two is full of domains. */
    n = 0;
    for (int i = 0; i < 4; i++)
        n += (size_t)sprintf(text + n, "rack%d h[%d-%d] # a pod\n", i, i * 4,
                             i * 4 + 3);
    sizes_by("C512", text, "      - 4\n      - 8\n      - 16\n");
    /* One lies in two pods: only what holds all of it is a size. */
    sizes_by("C512", "a h[0-7]\nb h[60-67]\nc h[70-77]\nd h[80-87]\n",
             "      - 8\n      - 32\n");
}

/* Blocks come in the order of the tree, with the domains' names; hosts that
 * the map lacks and those in no domain are in none. */
static void blocks_have_the_names_of_domains(void **state)
{
    struct net_domains *d =
        domains_of("# NVLink\n\nlate h[8-9]\n early\th[0-1],gone # x\n");
    struct net *net = named("C64");
    struct net_topo *t = net_topo_new(net, 0);
    struct bytebuf b;

    bytebuf_init(&b, SF_TOPOLOGY_SIZE_MAX);
    net_topo_write_yaml(t, d, &b);
    bytebuf_add(&b, "", 1);
    assert_non_null(strstr((const char *)bytebuf_data(&b),
                           "    blocks:\n"
                           "      - block: early\n        nodes: \"h[0-1]\"\n"
                           "      - block: late\n        nodes: \"h[8-9]\"\n"));
    bytebuf_free(&b);
    net_topo_free(t);
    net_free(net);
    net_domains_free(d);
}

static void refused(const char *text, size_t len, const char *words)
{
    struct errbuf err = {""};

    assert_null(net_domains_parse("d", text, len, &err));
    assert_string_equal(err.text, words);
}

static void domains_that_are_none_are_refused_with_their_line(void **state)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"", "d:1: no domain in it"},
        {"# only\n", "d:2: no domain in it"},
        {"a\n", "d:1: not NAME NODES: a"},
        {"a n1 n2\n", "d:1: not NAME NODES: a"},
        {"a n1\na n2\n", "d:2: a domain that is there already: a"},
        {"a n[1-3]\nb n3\n", "d:2: a node that is in a domain already: n3"},
        {"a n1,n1\n", "d:1: a node that is in a domain already: n1"},
        {"a: n1\n", "d:1: not a name of a domain: a:"},
        {"-a n1\n", "d:1: not a name of a domain: -a"},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        refused(bad[i].text, strlen(bad[i].text), bad[i].words);
    refused("a n\0b c", 7, "d:0: a NUL in it");
}

static void what_is_no_yaml_is_refused(void **state)
{
    struct told t = {0};
    static const char broken[] = "- topology: [a\n", nul[] = "- a\0b";

    assert_int_equal(
        net_topo_check_yaml(broken, sizeof(broken) - 1, note, NULL, &t), -1);
    assert_int_equal(net_topo_check_yaml(nul, sizeof(nul) - 1, note, NULL, &t),
                     -1);
    assert_int_equal(t.fatal, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_keeps_the_rules),
        cmocka_unit_test(other_ways_to_write_it_are_read),
        cmocka_unit_test(what_breaks_a_rule_of_the_tree_is_found),
        cmocka_unit_test(a_switchs_name_has_a_longest_form),
        cmocka_unit_test(what_is_no_tree_is_refused),
        cmocka_unit_test(blocks_are_judged),
        cmocka_unit_test(sizes_of_blocks_are_judged),
        cmocka_unit_test(topologies_are_one_of_a_kind),
        cmocka_unit_test(blocks_follow_the_fabric),
        cmocka_unit_test(blocks_follow_the_domains),
        cmocka_unit_test(blocks_have_the_names_of_domains),
        cmocka_unit_test(domains_that_are_none_are_refused_with_their_line),
        cmocka_unit_test(what_is_no_yaml_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
