/* SPDX-License-Identifier: BSD-3-Clause
 * Pictures: the graph that dot is given.
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

static unsigned count(const char *text, const char *word)
{
    unsigned n = 0;

    for (; (text = strstr(text, word)); text++)
        n++;
    return n;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sixty_four_hosts_are_all_drawn),
        cmocka_unit_test(two_thousand_hosts_are_collapsed),
        cmocka_unit_test(health_is_painted),
        cmocka_unit_test(what_is_not_known_is_grey),
        cmocka_unit_test(groups_go_by_their_crossbars),
        cmocka_unit_test(odd_names_do_not_break_out),
    };

    return cmocka_run_group_tests_name("net draw", tests, NULL, NULL);
}
