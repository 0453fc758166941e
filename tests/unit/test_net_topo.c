/* SPDX-License-Identifier: BSD-3-Clause
 * Slurm's topology files: what is written keeps the rules, what breaks one
 * is found.
 */
#include "net/format.h"
#include "net/topo.h"
#include "net_check.h"

/* ---- the writer -----------------------------------------------------------
 */

static char *conf_of(const struct net *net, unsigned plane)
{
    struct net_topo *t = net_topo_new(net, plane);
    struct bytebuf b;
    char *text;

    assert_non_null(t);
    bytebuf_init(&b, SF_NET_FILE_MAX);
    net_topo_write_conf(t, &b);
    bytebuf_add(&b, "", 1);
    assert_false(b.bad);
    text = strdup((const char *)bytebuf_data(&b));
    bytebuf_free(&b);
    net_topo_free(t);
    return text;
}

static unsigned lines_of(const char *text)
{
    unsigned n = 0;

    for (; (text = strstr(text, "SwitchName=")); text++)
        n++;
    return n;
}

static void no_word(void *arg, bool fatal, unsigned line, const char *text)
{
    fail_msg("line %u: %s", line, text);
}

static void small_tree_in_full(void **state)
{
    struct net *net = named("clos:2x2x2:1x2x2:1x1x1");
    char *text = conf_of(net, 0);

    assert_string_equal(
        text,
        "# Written from the map of the fabric: changes made here are lost.\n"
        "SwitchName=s3_0060dd000001 "
        "Switches=s2_0060dd000001,s2_0060dd000005\n"
        "SwitchName=s2_0060dd000001 "
        "Switches=s1_0060dd000001,s1_0060dd000003\n"
        "SwitchName=s2_0060dd000005 "
        "Switches=s1_0060dd000005,s1_0060dd000007\n"
        "SwitchName=s1_0060dd000001 Nodes=h[0-1]\n"
        "SwitchName=s1_0060dd000003 Nodes=h[2-3]\n"
        "SwitchName=s1_0060dd000005 Nodes=h[4-5]\n"
        "SwitchName=s1_0060dd000007 Nodes=h[6-7]\n");
    free(text);
    net_free(net);
}

static void every_net_gives_a_file_that_keeps_the_rules(void **state)
{
    static const struct {
        const char *name;
        unsigned lines;
    } nets[] = {{"C64", 9},
                {"C512", 64 + 8 + 1},
                {"C2048", 128 + 8 + 1},
                {"C8192", 512 + 32 + 1},
                {"ring:9", 10},
                {"torus:4x4", 17},
                {"random:20:60:1", 0},
                {"hostless-ring", 3},
                {"line:1:4", 1},
                {"C512+cutx=10:3+shuffle", 73}};

    for (size_t i = 0; i < sizeof(nets) / sizeof(*nets); i++) {
        struct net *net = named(nets[i].name);
        char *text = conf_of(net, 0);

        assert_int_equal(
            net_topo_check(text, strlen(text), no_word, NULL, NULL), 0);
        if (nets[i].lines)
            assert_int_equal(lines_of(text), nets[i].lines);
        free(text);
        net_free(net);
    }
}

static void nothing_changed_nothing_differs(void **state)
{
    struct net *a = named("C512"), *b = named("C512+shuffle=8"), *c;
    char *ta = conf_of(a, 0), *tb = conf_of(b, 0), *tc;

    assert_string_equal(ta, tb); /* other ports, same file */
    free(tb);
    net_cut_cables(b, 0.05, 1, false); /* a pod stays a pod with fewer */
    tb = conf_of(b, 0);
    assert_string_equal(ta, tb);
    c = named("C512");
    net_disconnect(c, 17, 0); /* one host gone: one line differs */
    tc = conf_of(c, 0);
    assert_int_equal(lines_of(tc), lines_of(ta));
    assert_non_null(strstr(tc, "Nodes=h[16,18-23]\n"));
    free(ta);
    free(tb);
    free(tc);
    net_free(a);
    net_free(b);
    net_free(c);
}

static void planes_give_a_file_each(void **state)
{
    struct net *net = named("two-planes");
    char *a = conf_of(net, 0), *b = conf_of(net, 1), *none = conf_of(net, 2);

    assert_int_equal(lines_of(a), 9);
    assert_int_equal(lines_of(b), 9);
    assert_int_equal(lines_of(none), 0);
    assert_null(strstr(a, "-p1"));
    assert_non_null(strstr(b, "h0-p1"));
    free(a);
    free(b);
    free(none);
    net_free(net);
}

static void every_crossbar_has_its_switch(void **state)
{
    struct net *net = named("C512");
    struct net_topo *t = net_topo_new(net, 0);

    for (uint32_t n = 0; n < net->nnodes; n++) {
        unsigned level =
            net_is_host(net, n) ? 1 : (unsigned)(net->nodes[n].name[1] - '0');

        assert_int_not_equal(t->of[n], NET_NONE);
        assert_int_equal(t->sw[t->of[n]].level, level);
    }
    net_topo_free(t);
    net_free(net);
}

static void yaml_has_the_same_tree(void **state)
{
    struct net *net = named("clos:2x2:1x2:1x1");
    struct net_topo *t = net_topo_new(net, 0);
    struct bytebuf b;

    bytebuf_init(&b, 10000);
    net_topo_write_yaml(t, NULL, &b);
    bytebuf_add(&b, "", 1);
    assert_string_equal(
        (const char *)bytebuf_data(&b),
        "# Written from the map of the fabric: changes made here are lost.\n"
        "---\n- topology: fabric\n  cluster_default: true\n  tree:\n"
        "    switches:\n"
        "      - switch: s2_0060dd000001\n"
        "        children: \"s1_0060dd000001,s1_0060dd000003\"\n"
        "      - switch: s1_0060dd000001\n        nodes: \"h[0-1]\"\n"
        "      - switch: s1_0060dd000003\n        nodes: \"h[2-3]\"\n"
        "- topology: blocks\n  cluster_default: false\n  block:\n"
        "    block_sizes:\n      - 2\n      - 4\n    blocks:\n"
        "      - block: s1_0060dd000001\n        nodes: \"h[0-1]\"\n"
        "      - block: s1_0060dd000003\n        nodes: \"h[2-3]\"\n");
    bytebuf_free(&b);
    net_topo_free(t);
    net_free(net);
}

/* ---- the checker ----------------------------------------------------------
 */

struct told {
    unsigned fatal, logged;
    char text[2000];
};

static void note(void *arg, bool fatal, unsigned line, const char *text)
{
    struct told *t = arg;
    size_t n = strlen(t->text);

    fatal ? t->fatal++ : t->logged++;
    snprintf(t->text + n, sizeof(t->text) - n, "%u: %s\n", line, text);
}

static bool not_x(void *arg, const char *node)
{
    return node[0] != 'x';
}

static void judged(const char *text, int rc, const char *words)
{
    struct told t = {0};

    assert_int_equal(net_topo_check(text, strlen(text), note, not_x, &t), rc);
    assert_string_equal(t.text, words);
    assert_int_equal(t.fatal > 0, rc < 0);
}

static void what_ends_slurmctld_is_fatal(void **state)
{
    judged("SwitchName=a Nodes=n1 Switches=b\n", -1,
           "1: a has both nodes and switches\n");
    judged("SwitchName=a LinkSpeed=3\n", -1,
           "1: a has neither nodes nor switches\n");
    judged("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n", -1,
           "2: a is there already\n");
    judged("SwitchName=a Nodes=n1\nSwitchName=b Switches=c\n", -1,
           "2: no line has the switch c\n");
    judged("SwitchName=a Nodes=n1\nSwitchName=b Switches=b\n", -1,
           "2: b is its own child\n");
    judged("SwitchName=a Nodes=n[1\n", -1, "1: ] is missing at \"1\"\n");
    judged("SwitchName=a Nodes=n1\nSwitchName=b Switches=c\n"
           "SwitchName=c Switches=b\n",
           -1, "2: switch b: a cycle, or deeper than 20 levels\n");
    judged("SwitchName=a Nodes=xx\n", -1,
           "1: node xx is not in slurm.conf\n0: no leaf has a node\n");
    judged("Nodes=n1\n", -1, "1: a switch needs a name\n");
    judged("SwitchName=a Nodes=n1 Colour=red\n", -1, "1: what is Colour?\n");
    judged("SwitchName=a Nodes=n1 red\n", -1, "1: what is red?\n");
    judged("SwitchName=a Nodes=n1 LinkSpeed=fast\n", -1,
           "1: LinkSpeed=fast is not a number\n");
    judged("Include other.conf\n", -1, "1: Include is not followed here\n");
}

static void what_slurmctld_only_logs_is_not(void **state)
{
    judged("", 0, "0: no switches\n");
    judged("# nothing\n\n", 0, "0: no switches\n");
    judged("SwitchName=a Nodes=n1,xx\n", 0,
           "1: node xx is not in slurm.conf\n");
    judged("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1,n2\n"
           "SwitchName=c Switches=a,b\n",
           0, "2: node n1 is on more than one leaf\n");
    judged("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\n", 0,
           "0: no switch reaches all nodes\n");
    judged("SwitchName=a Nodes=n1\nSwitchName=b Switches=a\n"
           "SwitchName=c Switches=a\n",
           0, "3: switch a has more than one parent\n");
}

static void writing_is_free_in_slurms_ways(void **state)
{
    judged("switchname=\"a\" NODES=n[1-4] linkspeed=UNLIMITED # leaf\r\n"
           "SwitchName=b \\\n  Nodes=n5\n"
           "SwitchName=top Switches=a,b LinkSpeed=100",
           0, "");
    judged("SwitchName=s1 Nodes=n1\nSwitchName=s2 Nodes=n2\n"
           "SwitchName=top Switches=s[1-2]\n",
           0, "");
}

static void twenty_levels_are_enough(void **state)
{
    char text[4000] = "SwitchName=s0 Nodes=n1\n";

    for (int i = 1; i <= 19; i++)
        sprintf(text + strlen(text), "SwitchName=s%d Switches=s%d\n", i, i - 1);
    judged(text, 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_tree_in_full),
        cmocka_unit_test(every_net_gives_a_file_that_keeps_the_rules),
        cmocka_unit_test(nothing_changed_nothing_differs),
        cmocka_unit_test(planes_give_a_file_each),
        cmocka_unit_test(every_crossbar_has_its_switch),
        cmocka_unit_test(yaml_has_the_same_tree),
        cmocka_unit_test(what_ends_slurmctld_is_fatal),
        cmocka_unit_test(what_slurmctld_only_logs_is_not),
        cmocka_unit_test(writing_is_free_in_slurms_ways),
        cmocka_unit_test(twenty_levels_are_enough),
    };

    return cmocka_run_group_tests_name("net topo", tests, NULL, NULL);
}
