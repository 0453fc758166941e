/* SPDX-License-Identifier: BSD-3-Clause
 * The software fabric and its links when memory runs out: each call fails
 * clearly, and what it began is gone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/build.h"
#include "nomem.h"
#include "softlink_fake.h"
#include "swfab/script.h"

/* Do `what` with 0, 1, 2 ... allocations until it works. */
static void until_it_works(bool (*what)(void *arg), void *arg)
{
    for (long n = 0; n < 10000; n++) {
        bool ok;

        left = n;
        ok = what(arg);
        left = -1;
        if (ok) {
            assert_true(n > 0);
            return;
        }
    }
    fail_msg("it never worked");
}

static bool make_fabric(void *net)
{
    struct swfab *fab = swfab_new(net);
    bool ok = fab && swfab_set_loss_all(fab, 0.1) &&
              swfab_set_corruption_all(fab, 0.1);

    swfab_free(fab);
    return ok;
}

static bool script(void *net)
{
    struct swfab_script s = {0};
    struct errbuf err;
    bool ok = swfab_script_parse(&s, "x", "flap h0 every 1s for 40s\n", net,
                                 &err) == 0;

    /* sorting does without */
    for (size_t i = 1; ok && i < s.n; i++)
        assert_true(s.faults[i - 1].time <= s.faults[i].time);
    swfab_script_free(&s);
    return ok;
}

static bool connect_link(void *arg)
{
    struct fake_munge munge = {0};
    struct softlink_ops ops = fake_ops(&munge, 0);
    struct softlink *caller =
        softlink_new_caller("x", 1, SOFTLINK_DATAGRAMS, 0, &ops);
    struct softlink *called = softlink_new_called(0, &ops);
    uint8_t buf[SOFTLINK_CONTROL_MAX];
    const uint8_t *packet;
    struct softlink_hello hello;
    struct errbuf err;
    size_t n;
    bool ok = false;

    if (caller && called) {
        softlink_tick(caller, 1, &err);
        n = softlink_output(caller, buf, sizeof(buf));
        if (n && softlink_read_hello(&hello, &ops, buf, n, &err) == 0 &&
            softlink_answer(called, 1, &hello, &err) == 0) {
            n = softlink_output(called, buf, sizeof(buf));
            ok = softlink_input(caller, 1, buf, n, &packet, &n, &err) ==
                 SOFTLINK_WENT_UP;
        }
    }
    softlink_free(caller);
    softlink_free(called);
    fake_forget(&munge);
    return ok;
}

static void nothing_is_half_made_without_memory(void **state)
{
    struct net *net = net_build_named("ring:4:1", NULL);
    struct swfab *fab = swfab_new(net);

    until_it_works(make_fabric, net);
    until_it_works(script, net);
    until_it_works(connect_link, NULL);
    swfab_free(fab);
    net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_half_made_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
