/* SPDX-License-Identifier: BSD-3-Clause
 * Faults as text.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "swfab/script.h"

struct bed {
    struct net *net;
    struct swfab *fab;
    struct swfab_script script;
    uint32_t h, x, y;
    struct errbuf err;
};

static int open_bed(void **state)
{
    static struct bed b;

    memset(&b, 0, sizeof(b));
    b.net = net_new();
    b.h = net_add_host(b.net, "h", 1);
    b.x = net_add_xbar(b.net, "x", 8, 1);
    b.y = net_add_xbar(b.net, "rack:y", 16, 2);
    net_connect(b.net, b.h, 0, b.x, 0);
    net_connect(b.net, b.x, 3, b.y, 9);
    b.fab = swfab_new(b.net);
    *state = &b;
    return b.fab ? 0 : -1;
}

static int close_bed(void **state)
{
    struct bed *b = *state;

    swfab_script_free(&b->script);
    swfab_free(b->fab);
    net_free(b->net);
    return 0;
}

static int parse(struct bed *b, const char *text)
{
    return swfab_script_parse(&b->script, "faults", text, b->net, &b->err);
}

static void assert_refused(struct bed *b, const char *text, const char *why)
{
    assert_int_equal(parse(b, text), -1);
    assert_int_equal(errno, EINVAL);
    assert_string_equal(b->err.text, why);
    swfab_script_free(&b->script);
}

static void script_is_read_in_the_order_of_time(void **state)
{
    struct bed *b = *state;
    struct swfab_fault *f;

    assert_int_equal(parse(b, "# a day\n"
                              "at 2s up x:3\n"
                              "\n"
                              "at 1.5s   down rack:y:9  # cable\n"
                              "kill rack:y\n"
                              "at 10ms mute h\n"
                              "at 2s loss all 0.25\n"
                              "at 3us corrupt h 1\n"
                              "plug x:1 x:2\n"
                              "seed 0x10"),
                     0);
    f = b->script.faults;
    assert_int_equal(b->script.n, 8);
    assert_true(f[0].op == SWFAB_OP_KILL && f[0].node == b->y);
    assert_true(f[1].op == SWFAB_OP_PLUG && f[1].port == 1 && f[1].port2 == 2);
    assert_true(f[2].op == SWFAB_OP_SEED && f[2].seed == 16);
    assert_true(f[3].op == SWFAB_OP_CORRUPT && f[3].time == 3000);
    assert_true(f[4].op == SWFAB_OP_MUTE && f[4].time == 10000000);
    assert_true(f[5].op == SWFAB_OP_DOWN && f[5].node == b->y &&
                f[5].port == 9 && f[5].time == 1500000000);
    assert_true(f[6].op == SWFAB_OP_UP && f[6].time == 2000000000);
    assert_true(f[7].op == SWFAB_OP_LOSS && f[7].node == NET_NONE &&
                f[7].p == 0.25);
}

static void flapping_cable_ends_up(void **state)
{
    struct bed *b = *state;
    struct swfab_fault *f;

    assert_int_equal(parse(b, "at 1s flap x:3 every 10ms for 30ms"), 0);
    f = b->script.faults;
    assert_int_equal(b->script.n, 4);
    assert_true(f[0].op == SWFAB_OP_DOWN && f[0].time == 1000000000);
    assert_true(f[1].op == SWFAB_OP_UP && f[1].time == 1010000000);
    assert_true(f[2].op == SWFAB_OP_DOWN && f[2].time == 1020000000);
    assert_true(f[3].op == SWFAB_OP_UP && f[3].time == 1030000000);
    assert_int_equal(parse(b, "flap x:3 every 1ns for 1s"), -1);
    assert_int_equal(errno, EMSGSIZE);
}

static void mistakes_name_file_line_and_word(void **state)
{
    struct bed *b = *state;

    assert_refused(b, "\nbreak x:3", "faults:2: no such fault: break");
    assert_refused(b, "down x:8", "faults:1: no such port: x:8");
    assert_refused(b, "down z:1", "faults:1: no such port: z:1");
    assert_refused(b, "down x", "faults:1: not NODE:PORT: x");
    assert_refused(b, "down x:-1", "faults:1: not NODE:PORT: x:-1");
    assert_refused(b, "down x:1 x:2",
                   "faults:1: wrong number of words after: down");
    assert_refused(b, "kill h", "faults:1: not a crossbar: h");
    assert_refused(b, "mute x", "faults:1: not a host: x");
    assert_refused(b, "loss all 1.5",
                   "faults:1: not a probability (0 to 1): 1.5");
    assert_refused(b, "loss all nan",
                   "faults:1: not a probability (0 to 1): nan");
    assert_refused(b, "at 3 kill x",
                   "faults:1: a time is a number with ns, us, ms or s: 3");
    assert_refused(b, "at -1s kill x", "faults:1: not a time: -1s");
    assert_refused(b, "at", "faults:1: not a time: (nothing)");
    assert_refused(b, "at 1s", "faults:1: no such fault: (nothing)");
    assert_refused(b, "seed x", "faults:1: not a number: x");
    assert_refused(b, "flap x:3 every 0s for 1s", "faults:1: too often: 0s");
    assert_refused(b, "flap x:3 often 1s for 1s",
                   "faults:1: expected: every TIME for TIME, after: x:3");
}

static bool apply(struct bed *b, const char *text)
{
    bool ok =
        parse(b, text) == 0 && swfab_fault_apply(b->fab, &b->script.faults[0]);

    swfab_script_free(&b->script);
    return ok;
}

static void each_fault_strikes_and_is_mended(void **state)
{
    struct bed *b = *state;

    assert_true(apply(b, "down h"));
    assert_false(swfab_link_is_up(b->fab, b->x, 0));
    assert_true(apply(b, "up x:0"));
    assert_true(swfab_link_is_up(b->fab, b->x, 0));
    assert_true(apply(b, "kill rack:y"));
    assert_false(swfab_link_is_up(b->fab, b->x, 3));
    assert_true(apply(b, "revive rack:y"));
    assert_true(swfab_link_is_up(b->fab, b->x, 3));
    assert_true(apply(b, "pull x:3"));
    assert_false(apply(b, "pull x:3"));
    assert_int_equal(swfab_peer(b->fab, b->y, 9), NET_NONE);
    assert_true(apply(b, "plug x:4 rack:y:1"));
    assert_false(apply(b, "plug x:4 rack:y:2"));
    assert_true(swfab_link_is_up(b->fab, b->y, 1));
    assert_true(apply(b, "mute h"));
    assert_true(swfab_host_is_mute(b->fab, b->h));
    assert_true(apply(b, "unmute h"));
    assert_false(swfab_host_is_mute(b->fab, b->h));
    assert_true(apply(b, "loss x:4 0.5"));
    assert_false(apply(b, "loss x:5 0.5"));
    assert_true(apply(b, "corrupt all 0"));
    assert_true(apply(b, "seed 5"));
}

#define BED_TEST(f) cmocka_unit_test_setup_teardown(f, open_bed, close_bed)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(script_is_read_in_the_order_of_time),
        BED_TEST(flapping_cable_ends_up),
        BED_TEST(mistakes_name_file_line_and_word),
        BED_TEST(each_fault_strikes_and_is_mended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
