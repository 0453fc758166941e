/* SPDX-License-Identifier: BSD-3-Clause
 * topology.yaml: what we write is read again by another library's YAML, and
 * what is wrong is found with its line.
 */
#include "net/topo.h"
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
        net_topo_write_yaml(t, &b);
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
           "5: a [ without ]\n");
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
    judged("topology: a\n", -1, "1: not a list of one topology\n");
    judged("- topology: a\n  flat: true\n", -1,
           "2: what is flat, or it is there already\n");
    judged("- topology: a\n", -1, "1: the topology has no tree\n");
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
           "1: not a list of one topology\n");
    judged(HEAD "    - switch: a\n      nodes: n1\n---\n- topology: b\n", -1,
           "0: more than one document\n");
    judged(HEAD "    - switch: a\n      nodes: [n1]\n", -1,
           "6: nodes is no text\n5: a has neither nodes nor switches\n");
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
        cmocka_unit_test(what_is_no_yaml_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
