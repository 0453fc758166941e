/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The n-th allocation of the explorer and of the verifier fails, for every n:
 * they end and say that they failed, or give the true map.  So does an explorer
 * that begins with what was verified.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mapperd/simfab.h"
#include "net/build.h"
#include "net/same.h"
#include "nomem.h"

static long budget; /* allocations that the engine may still do */

/* Only the engine's own allocations fail, not the fabric's. */
#define LIMITED(call)                                                          \
    do {                                                                       \
        left = budget;                                                         \
        call;                                                                  \
        budget = left;                                                         \
        left = -1;                                                             \
    } while (0)

static struct simfab_engine inner;

static bool next(void *e, uint64_t now, struct probe *probe)
{
    bool r;

    LIMITED(r = inner.next(e, now, probe));
    return r;
}

static void answer(void *e, uint64_t now, const struct probe_answer *a)
{
    LIMITED(inner.answer(e, now, a));
}

static void tick(void *e, uint64_t now)
{
    LIMITED(inner.tick(e, now));
}

static bool run(struct simfab *sim, struct simfab_engine e)
{
    inner = e;
    e.next = next;
    e.answer = answer;
    e.tick = tick;
    return simfab_run(sim, e, 1000000000000ULL);
}

static struct explore *new_explorer(const struct net *truth, uint32_t host)
{
    struct prober_limits limits = PROBER_LIMITS_DEFAULT;
    struct probe_host me;

    limits.max_ports = 16;
    limits.window_max = 64;
    simfab_host_info(truth, host, &me);
    return explore_new(&limits, &me);
}

/* To its end, with what is left of the budget.  True: nothing failed. */
static bool goes_on(struct explore *x, struct simfab *sim,
                    const struct net *truth, long n)
{
    struct net *map;
    struct errbuf err;
    bool well;

    assert_true(run(sim, simfab_explorer(x)));
    LIMITED(map = explore_map(x));
    well = budget > 0;
    if (map && !net_same(truth, map, &err))
        fail_msg("allocation %ld: %s", n, err.text);
    if (!map)
        assert_false(well);
    net_free(map);
    return well;
}

/* True: nothing failed. */
static bool explore(const struct net *truth, long n)
{
    uint32_t host = net_find_name(truth, "h0");
    struct simfab *sim = simfab_new(truth, host);
    struct explore *x;
    bool well;

    budget = n;
    LIMITED(x = new_explorer(truth, host));
    well = x && goes_on(x, sim, truth, n);
    explore_free(x);
    simfab_free(sim);
    return well;
}

static void each_allocation_of_the_explorer_fails(void **state)
{
    static const char *const nets[] = {"line:3:2", "hostless-ring:4",
                                       "torus:3x3:1:1"};

    (void)state;
    for (size_t i = 0; i < sizeof(nets) / sizeof(nets[0]); i++) {
        struct net *truth = net_build_named(nets[i], NULL);
        long n = 0;

        assert_non_null(truth);
        while (!explore(truth, n) && n < 3000)
            n++;
        assert_in_range(n, 20, 2999);
        net_free(truth);
    }
}

static bool verify(const struct net *net, long n)
{
    static const struct verify_options all = {
        .hosts = true, .links = true, .empty = true};
    struct prober_limits limits = PROBER_LIMITS_DEFAULT;
    uint32_t host = net_find_name(net, "h0");
    struct simfab *sim = simfab_new(net, host);
    struct verify *v;
    bool well = false;

    limits.window_max = 64;
    swfab_set_link(simfab_fabric(sim), net_find_name(net, "h9"), 0, false);
    budget = n;
    LIMITED(v = verify_new(&limits, &all, net, host));
    if (v) {
        assert_true(run(sim, simfab_verifier(v)));
        well = !verify_failed(v);
        if (well)
            assert_non_null(verify_change(v, 0));
    }
    verify_free(v);
    simfab_free(sim);
    return well;
}

static void each_allocation_of_the_verifier_fails(void **state)
{
    struct net *net = net_build_named("C64", NULL);
    long n = 0;

    (void)state;
    while (!verify(net, n) && n < 1000)
        n++;
    assert_in_range(n, 5, 999);
    net_free(net);
}

/* A host is silent since; what that is not is taken over. */
static struct verify *changed(const struct net *old, struct simfab *sim,
                              uint32_t host)
{
    static const struct verify_options all = {
        .hosts = true, .links = true, .empty = true, .rings = VERIFY_RINGS_ALL};
    struct prober_limits limits = PROBER_LIMITS_DEFAULT;
    struct verify *v;

    limits.max_ports = 16;
    v = verify_new(&limits, &all, old, host);
    assert_non_null(v);
    assert_true(simfab_run(sim, simfab_verifier(v), 1000000000000ULL));
    assert_non_null(verify_change(v, 0));
    return v;
}

/* True: nothing failed. */
static bool explore_rest(const struct verify *v, struct simfab *sim,
                         const struct net *truth, uint32_t host, long n)
{
    struct explore *x = new_explorer(truth, host);
    bool well;

    assert_non_null(x);
    budget = n;
    LIMITED(well = explore_after(x, v));
    well = well && goes_on(x, sim, truth, n);
    explore_free(x);
    return well;
}

static void each_allocation_of_exploring_the_rest_fails(void **state)
{
    static const char *const nets[] = {"line:3:2", "hostless-ring:4+ids",
                                       "torus:3x3:1:1"};

    (void)state;
    for (size_t i = 0; i < sizeof(nets) / sizeof(nets[0]); i++) {
        struct net *old = net_build_named(nets[i], NULL);
        struct net *now = net_copy(old), *truth;
        uint32_t host = net_find_name(old, "h0"), there;
        uint32_t gone = net_find_name(old, "h1");
        struct simfab *sim = simfab_new(old, host);
        struct verify *v;
        long n = 0;

        swfab_disconnect(simfab_fabric(sim), gone, 0);
        v = changed(old, sim, host);
        net_disconnect(now, gone, 0);
        truth = net_reachable(now, host, &there);
        assert_non_null(truth);
        while (!explore_rest(v, sim, truth, there, n) && n < 3000)
            n++;
        assert_in_range(n, 20, 2999);
        verify_free(v);
        simfab_free(sim);
        net_free(truth);
        net_free(now);
        net_free(old);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_of_the_explorer_fails),
        cmocka_unit_test(each_allocation_of_exploring_the_rest_fails),
        cmocka_unit_test(each_allocation_of_the_verifier_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
