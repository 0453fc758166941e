/* SPDX-License-Identifier: BSD-3-Clause
 * The identity table.
 */
#include "base/limits.h"
#include "elan/elanhosts.h"
#include "elan_util.h"

/* ---- the table ------------------------------------------------------------
 */

struct complaints {
    uint32_t n;
    char text[16][SF_ERRBUF_SIZE];
};

static void collect(const char *text, void *arg)
{
    struct complaints *c = arg;

    assert_in_range(c->n, 0, 15);
    strcpy(c->text[c->n++], text);
}

static struct elanhosts *parse(const char *text)
{
    struct complaints c = {0};
    struct elanhosts *h =
        elanhosts_parse("elanhosts", text, strlen(text), collect, &c);

    if (!h)
        fail_msg("%s", c.text[0]);
    return h;
}

static uint32_t id_of(const struct elanhosts *h, const char *node,
                      uint32_t rail)
{
    uint32_t ids[SF_ELAN_RAILS_MAX];
    struct errbuf err = {""};

    if (elanhosts_ids(h, node, SF_ELAN_RAILS_MAX, ids, &err) < 0)
        fail_msg("%s", err.text);
    return ids[rail];
}

static void table_gives_ids_and_boards_per_rail(void **state)
{
    struct elanhosts *h =
        parse("# our machine\n"
              "NodeName=n[0-3] ElanId=[10-13] ElanId1=3,2,1,0 "
              "Board=00:60:dd:47:00:0e-00:60:dd:47:00:11\r\n"
              "\n"
              "\tnodename=gw\telanid=20 board1=0x0002C90300000001 # gateway\n");
    uint32_t rail = 9;

    assert_int_equal(id_of(h, "n0", 0), 10);
    assert_int_equal(id_of(h, "n3", 0), 13);
    assert_int_equal(id_of(h, "n3", 1), 0);
    assert_int_equal(id_of(h, "n3", 2), 13);
    assert_int_equal(id_of(h, "gw", 5), 20);
    assert_string_equal(elanhosts_get(h, 4)->name, "gw");
    assert_int_equal(elanhosts_get(h, 4)->line, 4);
    assert_null(elanhosts_get(h, 5));
    assert_true(elanhosts_find(h, "n2")->board[0] == 0x0060dd470010);
    assert_true(elanhosts_find(h, "n2")->board[1] == 0);
    assert_string_equal(
        elanhosts_find_board(h, 0x0002c90300000001, &rail)->name, "gw");
    assert_int_equal(rail, 1);
    assert_string_equal(elanhosts_find_board(h, 0x0060dd470011, &rail)->name,
                        "n3");
    assert_null(elanhosts_find_board(h, 1, &rail));
    assert_null(elanhosts_find(h, "n4"));
    elanhosts_destroy(h);
}

static void table_names_the_missing_node(void **state)
{
    struct elanhosts *h = parse("NodeName=n0 ElanId=0\n");
    uint32_t id;
    struct errbuf err;

    assert_int_equal(elanhosts_ids(h, "n1", 1, &id, &err), -1);
    assert_int_equal(errno, ENOENT);
    assert_string_equal(err.text, "node n1 is not in elanhosts");
    elanhosts_destroy(h);
    h = parse("");
    assert_int_equal(elanhosts_ids(h, "n1", 1, &id, &err), -1);
    elanhosts_destroy(h);
}

static void natural_default_is_the_number_of_the_name(void **state)
{
    struct elanhosts *h = elanhosts_natural();
    uint32_t id;
    struct errbuf err;

    assert_int_equal(id_of(h, "n17", 0), 17);
    assert_int_equal(id_of(h, "rack3-017.example5.org", 1), 17);
    assert_int_equal(id_of(h, "42", 0), 42);
    assert_int_equal(id_of(h, "n65535", 0), 65535);
    assert_int_equal(elanhosts_ids(h, "login", 1, &id, &err), -1);
    assert_int_equal(errno, ENOENT);
    assert_string_equal(err.text, "node login: no number ends its name and "
                                  "there is no elanhosts file");
    assert_int_equal(elanhosts_ids(h, "n65536", 1, &id, &err), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(elanhosts_ids(h, "n99999999999999999999999", 1, &id, &err),
                     -1);
    elanhosts_destroy(h);
}

static void expect_table_refused(const char *text, const char *first)
{
    struct complaints c = {0};

    errno = 0;
    assert_null(elanhosts_parse("elanhosts", text, strlen(text), collect, &c));
    assert_int_equal(errno, EINVAL);
    assert_true(c.n > 0);
    assert_string_equal(c.text[0], first);
}

static void table_errors_name_file_line_and_key(void **state)
{
    expect_table_refused("NodeName=n0\n", "elanhosts:1: ElanId: missing");
    expect_table_refused("\nElanId=3\n", "elanhosts:2: NodeName: missing");
    expect_table_refused("NodeName=n[0-3] ElanId=0-2\n",
                         "elanhosts:1: ElanId: 3 numbers for 4 nodes");
    expect_table_refused("NodeName=n0 ElanId=0 Board2=1-2\n",
                         "elanhosts:1: Board2: 2 numbers for 1 nodes");
    expect_table_refused("NodeName=n0 ElanId=x\n",
                         "elanhosts:1: ElanId: a number is missing or too "
                         "long");
    expect_table_refused("NodeName=n0 ElanId=65536\n",
                         "elanhosts:1: ElanId: 65536 is above 65535");
    expect_table_refused("NodeName=n0 ElanId=5-4\n",
                         "elanhosts:1: ElanId: a range runs backwards");
    expect_table_refused("NodeName=n0 ElanId=[5\n",
                         "elanhosts:1: ElanId: not a list of numbers");
    expect_table_refused("NodeName=n0 ElanId=5 Colour=red\n",
                         "elanhosts:1: Colour: no such key");
    expect_table_refused("NodeName=n0 ElanId=5 ElanId8=1\n",
                         "elanhosts:1: ElanId8: no such key");
    expect_table_refused("NodeName=n0 ElanId=5 ElanId=5\n",
                         "elanhosts:1: ElanId: given twice");
    expect_table_refused("NodeName=n0 NodeName=n1 ElanId=5\n",
                         "elanhosts:1: NodeName: given twice");
    expect_table_refused("NodeName=n[ ElanId=5\n",
                         "elanhosts:1: NodeName: ] is missing at \"\"");
    expect_table_refused("n0 5\n", "elanhosts:1: n0: not Key=Value");
    expect_table_refused("NodeName=n0 ElanId=5 Board=0\n",
                         "elanhosts:1: Board: 0 is no board");
    expect_table_refused("NodeName=n0 ElanId=0-65536\n",
                         "elanhosts:1: ElanId: more than 65536 numbers");
    expect_table_refused("NodeName=n0 ElanId=0 Board=0-ffffffffffffffff\n",
                         "elanhosts:1: Board: more than 65536 numbers");
}

static void nothing_stands_in_the_table_twice(void **state)
{
    expect_table_refused("NodeName=n[0-1] ElanId=0-1\nNodeName=n1 ElanId=5\n",
                         "elanhosts:2: NodeName: n1: already in line 1");
    expect_table_refused("NodeName=n[0-1] ElanId=0-1\nNodeName=n2 ElanId=1\n",
                         "elanhosts:2: ElanId: rail 0: 1 is already n1's "
                         "(line 1)");
    expect_table_refused("NodeName=n[0-1] ElanId=0-1 ElanId1=7,7\n",
                         "elanhosts:1: ElanId: rail 1: 7 is already n0's "
                         "(line 1)");
    expect_table_refused("NodeName=a ElanId=0 Board=ab\n"
                         "NodeName=b ElanId=1 Board1=0xAB\n",
                         "elanhosts:2: Board: ab is already a's (line 1)");
}

static void all_errors_are_found_in_one_pass(void **state)
{
    const char *text = "NodeName=n0 ElanId=x Colour=red\n"
                       "NodeName=n1\n"
                       "Nodename=n2 ElanId=2\n";
    struct complaints c = {0};

    assert_null(elanhosts_parse("f", text, strlen(text), collect, &c));
    assert_int_equal(c.n, 3);
    assert_string_equal(c.text[1], "f:1: Colour: no such key");
    assert_string_equal(c.text[2], "f:2: ElanId: missing");
}

static void table_is_bounded_and_a_text(void **state)
{
    struct complaints c = {0};

    assert_null(elanhosts_parse("f", "a\0b", 3, collect, &c));
    assert_int_equal(errno, EINVAL);
    assert_null(elanhosts_parse("f", "\n\0", 2, collect, &c));
    assert_int_equal(errno, EINVAL);
    assert_null(
        elanhosts_parse("f", "", SF_ELAN_HOSTS_SIZE_MAX + 1, collect, &c));
    assert_int_equal(errno, EMSGSIZE);
    assert_int_equal(c.n, 3);
    expect_table_refused("NodeName=n[0-65535] ElanId=0-65535\n"
                         "NodeName=m ElanId=1\n",
                         "elanhosts:2: NodeName: more than 65536 nodes");
}

static void step_gets_its_layout_by_name(void **state)
{
    struct elanhosts *h = parse("NodeName=n[0-3] ElanId=4-7 ElanId1=7,6,5,4");
    const uint16_t tasks[] = {2, 1};
    struct elan_step_layout step = {"n[1,3]", 2, tasks, NULL, true};
    struct elan_layout l;
    struct errbuf err;

    assert_int_equal(elanhosts_layout(h, &l, &step, 2, &err), 0);
    assert_int_equal(elan_layout_id(&l, 0, 0), 5);
    assert_int_equal(elan_layout_id(&l, 0, 1), 7);
    assert_int_equal(elan_layout_id(&l, 1, 0), 6);
    assert_int_equal(elan_layout_id(&l, 1, 1), 4);
    assert_int_equal(elan_layout_proc(&l, 0, 1), 2);
    elan_layout_free(&l);
    step.nnodes = 3;
    assert_int_equal(elanhosts_layout(h, &l, &step, 2, &err), -1);
    assert_string_equal(err.text, "2 names for 3 nodes");
    step.nnodes = 2;
    step.node_list = "n[1,9]";
    assert_int_equal(elanhosts_layout(h, &l, &step, 1, &err), -1);
    assert_string_equal(err.text, "node n9 is not in elanhosts");
    step.node_list = "n[1,";
    assert_int_equal(elanhosts_layout(h, &l, &step, 1, &err), -1);
    step.node_list = "n[1,3]";
    assert_int_equal(elanhosts_layout(h, &l, &step, 9, &err), -1);
    elanhosts_destroy(h);
    h = elanhosts_natural();
    step.node_list = "r1n4,r2n4";
    assert_int_equal(elanhosts_layout(h, &l, &step, 1, &err), -1);
    assert_string_equal(err.text,
                        "two nodes of the step have Elan id 4 on rail 0");
    elanhosts_destroy(h);
}

static void example_file_is_good(void **state)
{
    const char *top = getenv("SF_TOP_SRCDIR");
    char path[4096], text[8192];
    struct elanhosts *h;
    size_t len;
    FILE *f;

    if (!top)
        skip();
    snprintf(path, sizeof(path), "%s/etc/elanhosts.example", top);
    f = fopen(path, "r");
    assert_non_null(f);
    len = fread(text, 1, sizeof(text) - 1, f);
    text[len] = '\0';
    fclose(f);
    h = parse(text);
    assert_non_null(elanhosts_get(h, 0));
    elanhosts_destroy(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_gives_ids_and_boards_per_rail),
        cmocka_unit_test(table_names_the_missing_node),
        cmocka_unit_test(natural_default_is_the_number_of_the_name),
        cmocka_unit_test(table_errors_name_file_line_and_key),
        cmocka_unit_test(nothing_stands_in_the_table_twice),
        cmocka_unit_test(all_errors_are_found_in_one_pass),
        cmocka_unit_test(table_is_bounded_and_a_text),
        cmocka_unit_test(step_gets_its_layout_by_name),
        cmocka_unit_test(example_file_is_good),
    };

    return cmocka_run_group_tests_name("elan_elanhosts", tests, NULL, NULL);
}
