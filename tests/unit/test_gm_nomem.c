/* SPDX-License-Identifier: BSD-3-Clause
 * Mappers, and the check of topology.conf, when memory runs out: for each
 * allocation that may fail, the call says so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mapper/gm1.h"
#include "mapper/gm2.h"
#include "net/build.h"
#include "net/topo.h"
#include "nomem.h"

#define MANY 100000

/* `what` fails whichever of its allocations fails, alone or with all behind
 * it. */
static void says_so(bool (*what)(void))
{
    long used;

    left = MANY;
    assert_true(what());
    used = MANY - left;
    assert_true(used > 0 && used < MANY);
    for (long n = 0; n < 2 * used; n++) {
        bool ok;

        once = n < used;
        left = n % used;
        ok = what();
        left = -1;
        if (ok)
            fail_msg("allocation %ld of %ld failed, and nobody said so",
                     n % used, used);
    }
}

static bool make_gm1(void)
{
    static const struct gm1_ops ops;
    struct gm1_options options;
    struct gm1 *g;

    gm1_options_default(&options);
    options.host.address = NET_BUILD_HOST_ID;
    g = gm1_new(&options, &ops, NULL, 0);
    gm1_free(g);
    return g;
}

static bool make_gm2(void)
{
    static const struct gm2_ops ops;
    struct gm2_config config;
    struct gm2 *m;

    gm2_config_default(&config);
    config.address = NET_BUILD_HOST_ID;
    m = gm2_new(&config, &ops, NULL, 0);
    gm2_free(m);
    return m;
}

static void sends_into_nothing(const uint8_t *route, size_t nroute,
                               const void *body, size_t len, void *arg)
{
}

#define SECOND UINT64_C(1000000000)

/* Alone on its cable; its n-th allocation from its start on fails.  Whatever
 * that was: a map that is valid has routes, and in the end there is one. */
static void a_valid_map_has_routes(void **state)
{
    static const struct gm2_ops ops = {.send = sends_into_nothing};
    struct gm2_status status;
    struct gm2_config config;
    long used = 1;

    gm2_config_default(&config);
    config.address = NET_BUILD_HOST_ID;
    once = true;
    for (long n = 0; n < used; n++) {
        struct gm2 *m = gm2_new(&config, &ops, NULL, 0);

        assert_non_null(m);
        left = n > 0 ? n - 1 : MANY;
        do {
            gm2_tick(m, gm2_deadline(m));
            gm2_status(m, &status);
            if (status.valid && !gm2_current_routes(m))
                fail_msg("allocation %ld: valid without routes", n);
        } while (!status.valid && gm2_deadline(m) < 600 * SECOND);
        if (n == 0)
            used = MANY - left;
        left = -1;
        assert_true(used > 1);
        assert_true(status.valid);
        gm2_free(m);
    }
}

static bool check_conf(void)
{
    static const char text[] = "SwitchName=leaf0 Nodes=n[0-3]\n"
                               "SwitchName=leaf1 Nodes=n[4-7]\n"
                               "SwitchName=root Switches=leaf[0-1]\n";

    return net_topo_check(text, sizeof(text) - 1, NULL, NULL, NULL) == 0;
}

static void a_gm1_mapper_is_there_or_not(void **state)
{
    says_so(make_gm1);
}

static void a_gm2_mapper_is_there_or_not(void **state)
{
    says_so(make_gm2);
}

static void topology_conf_is_not_passed_unread(void **state)
{
    says_so(check_conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gm1_mapper_is_there_or_not),
        cmocka_unit_test(a_gm2_mapper_is_there_or_not),
        cmocka_unit_test(a_valid_map_has_routes),
        cmocka_unit_test(topology_conf_is_not_passed_unread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
