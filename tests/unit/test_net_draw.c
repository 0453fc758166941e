/* SPDX-License-Identifier: BSD-3-Clause
 * Pictures: the graph that dot is given, and SVG.
 */
#include "net/draw.h"
#include "net/format.h"
#include "net_check.h"

static char *dot_of(const char *name, const struct net_drawing *how)
{
    struct net *net = named(name);
    struct bytebuf b;
    char *text;

    bytebuf_init(&b, SF_NET_FILE_MAX);
    assert_true(net_write_dot(net, how, &b));
    bytebuf_add(&b, "", 1);
    assert_false(b.bad);
    text = strdup((const char *)bytebuf_data(&b));
    bytebuf_free(&b);
    net_free(net);
    return text;
}

static char *svg_of(const char *name, const struct net_drawing *how)
{
    struct net *net = named(name);
    struct bytebuf b;
    char *text;

    bytebuf_init(&b, SF_NET_FILE_MAX);
    assert_true(net_write_svg(net, how, &b));
    bytebuf_add(&b, "", 1);
    assert_false(b.bad);
    text = strdup((const char *)bytebuf_data(&b));
    bytebuf_free(&b);
    net_free(net);
    return text;
}

static unsigned count(const char *text, const char *word)
{
    unsigned n = 0;

    for (; (text = strstr(text, word)); text++)
        n++;
    return n;
}

static void a_drawing_is_one_graph(void **state)
{

    for (int i = 0; i < 2; i++) {
        const struct net_drawing how = {
            .what = (i ? NET_DRAW_COLLAPSED : NET_DRAW_ALL)};
        char *text = dot_of("C64", &how);

        assert_int_equal(strncmp(text, "graph fabric {\n", 15), 0);
        assert_string_equal(text + strlen(text) - 2, "}\n");
        assert_int_equal(count(text, "graph fabric"), 1);
        free(text);
    }
}

static void sixty_four_hosts_are_all_drawn(void **state)
{
    char *text = dot_of("C64", NULL);

    assert_int_equal(count(text, "shape=plain"), 12);
    assert_int_equal(count(text, "<TR>"), 64 + 12);
    assert_int_equal(count(text, "2 cables"), 32);     /* and one line */
    assert_int_equal(count(text, " -- "), 32 + 7 + 3); /* invisible ones */
    assert_int_equal(count(text, "rank=same"), 2);
    free(text);
}

static void two_thousand_hosts_are_collapsed(void **state)
{
    char *text = dot_of("C2048", NULL);

    assert_int_equal(count(text, "shape=box"), 128 + 8 + 1);
    assert_int_equal(count(text, " -- "), 128 + 8);
    assert_int_equal(count(text, "label=\"16\""), 128); /* leaf to pod */
    assert_int_equal(count(text, "label=\"256\""), 8);  /* pod to core */
    assert_int_equal(count(text, "\\n64 crossbars"), 1);
    assert_non_null(strstr(text, "s1.5\\nh[80-95]"));
    free(text);
}

static enum net_paint one_dead(void *arg, const struct net *net, uint32_t node,
                               uint32_t port)
{
    if (node == net_find_name(net, "s1.3"))
        return port == NET_NONE ? NET_HURT : port == 9 ? NET_DEAD : NET_FINE;
    return NET_FINE;
}

static void health_is_painted(void **state)
{
    struct net_drawing how = {.paint = one_dead};
    char *text = dot_of("C64", &how);

    assert_int_equal(count(text, "#ffe0b2"), 1);      /* the crossbar */
    assert_int_equal(count(text, "style=dashed"), 1); /* its dead cable */
    free(text);
    how.what = NET_DRAW_COLLAPSED;
    text = dot_of("C64", &how);
    assert_int_equal(count(text, "shape=box"), 9);
    assert_int_equal(count(text, "#ffe0b2"), 1);
    assert_int_equal(count(text, "style=dashed"), 1);
    free(text);
}

static void what_is_not_known_is_grey(void **state)
{
    char *text = dot_of("C64", NULL);

    assert_int_equal(count(text, "#2e7d32"), 0); /* healthy */
    assert_int_equal(count(text, "#eeeeee"), 64 + 12);
    free(text);
}

static void groups_go_by_their_crossbars(void **state)
{
    char *text = dot_of("C2048", NULL);

    assert_int_equal(count(text, "_0060dd"), 0); /* no address */
    assert_int_equal(count(text, "label=\"s2.[0-15]\\n16 crossbars"), 1);
    free(text);
}

static void odd_names_do_not_break_out(void **state)
{
    struct net *net = net_new();
    struct bytebuf b;

    net_connect(net, net_add_xbar(net, "a\"<b>&\n", 8, 0), 0,
                net_add_host(net, "h", 1), 0);
    net_add_host(net, "a\"];x[\\\n", 2);
    bytebuf_init(&b, 10000);
    assert_true(net_write_dot(net, NULL, &b));
    bytebuf_add(&b, "", 1);
    assert_non_null(strstr((const char *)bytebuf_data(&b),
                           "<B>a&#34;&#60;b&#62;&#38;?</B>"));
    assert_non_null(
        strstr((const char *)bytebuf_data(&b), "label=\"a\\\"];x[\\\\?\"]"));
    bytebuf_free(&b);
    net_free(net);
}

/* ---- as SVG ------------------------------------------------------------- */

static void a_small_fabric_has_a_row_for_each_level(void **state)
{
    struct net_drawing how = {.title = "Fabric of t", .health = "As of now."};
    char *text = svg_of("C64", &how);

    assert_int_equal(count(text, ">Fabric of t</text>"), 1);
    assert_int_equal(count(text, "64 hosts, 12 crossbars, 128 cables. As of "
                                 "now.</text>"),
                     1);
    assert_int_equal(count(text, "<title>node "), 64);
    assert_int_equal(count(text, "<title>switch "), 12);
    assert_int_equal(count(text, "<title>s1."), 64); /* cables, lower first */
    /* Legend, then ports at both ends of the two cables between each pair. */
    assert_int_equal(count(text, ">not known</text>"), 1);
    assert_int_equal(count(text, "class=\"p\""), 64);
    assert_int_equal(count(text, ">8,9</text>"), 8 + 4);
    assert_int_equal(count(text, "<title>node h0 on s1.0:0, not known</title>"),
                     1);
    free(text);
}

static void a_large_fabric_has_groups_and_matrices(void **state)
{
    char *text = svg_of("C512", NULL);

    assert_int_equal(count(text, ">Groups by core switches"), 1);
    assert_int_equal(count(text, ": 64 nodes</text>"), 8);
    assert_int_equal(count(text, ", not known</title></rect>"), 512);
    /* Cells: each group by each core, and each leaf by each spine of it. */
    assert_int_equal(count(text, "class=\"u\"/>"), 8 * 32 + 8 * 64 + 1);
    assert_int_equal(count(text, "Nothing is known of its health"), 1);
    free(text);
}

static void what_is_dead_is_red_and_all_can_be_asked_for(void **state)
{
    struct net_drawing how = {.paint = one_dead};
    char *text = svg_of("C64", &how);

    assert_int_equal(count(text, "<path class=\"x\""), 1);
    assert_int_equal(count(text, "<title>switch s1.3, degraded or flapping"),
                     1);
    free(text);
    how.what = NET_DRAW_COLLAPSED;
    text = svg_of("C64", &how);
    assert_int_equal(count(text, "<path"), 0);
    assert_int_equal(count(text, "class=\"x\"/>"), 1 + 1); /* and the legend */
    free(text);
    how.what = NET_DRAW_ALL;
    text = svg_of("C512", &how);
    assert_int_equal(count(text, "<title>node "), 512);
    free(text);
}

static void what_hangs_on_nothing_is_drawn(void **state)
{
    struct net *net = net_new();
    struct bytebuf b;

    bytebuf_init(&b, 100000);
    assert_true(net_write_svg(net, NULL, &b));
    net_connect(net, net_add_xbar(net, "a<b>&\n", 8, 0), 0,
                net_add_host(net, "h", 1), 0);
    net_add_host(net, "alone", 2);
    net_add_xbar(net, "far", 8, 0);
    assert_true(net_write_svg(net, NULL, &b));
    bytebuf_add(&b, "", 1);
    assert_int_equal(count((const char *)bytebuf_data(&b), "The map is empty"),
                     1);
    assert_int_equal(count((const char *)bytebuf_data(&b), "no node reaches"),
                     1);
    assert_int_equal(
        count((const char *)bytebuf_data(&b), "<title>node alone,"), 1);
    assert_int_equal(
        count((const char *)bytebuf_data(&b), "<title>switch far,"), 1);
    assert_int_equal(
        count((const char *)bytebuf_data(&b), "a&#60;b&#62;&#38;?"), 2 + 1);
    assert_int_equal(count((const char *)bytebuf_data(&b), "a<b"), 0);
    bytebuf_free(&b);
    net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_drawing_is_one_graph),
        cmocka_unit_test(sixty_four_hosts_are_all_drawn),
        cmocka_unit_test(two_thousand_hosts_are_collapsed),
        cmocka_unit_test(health_is_painted),
        cmocka_unit_test(what_is_not_known_is_grey),
        cmocka_unit_test(groups_go_by_their_crossbars),
        cmocka_unit_test(odd_names_do_not_break_out),
        cmocka_unit_test(a_small_fabric_has_a_row_for_each_level),
        cmocka_unit_test(a_large_fabric_has_groups_and_matrices),
        cmocka_unit_test(what_is_dead_is_red_and_all_can_be_asked_for),
        cmocka_unit_test(what_hangs_on_nothing_is_drawn),
    };

    return cmocka_run_group_tests_name("net draw", tests, NULL, NULL);
}
