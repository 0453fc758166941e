/* SPDX-License-Identifier: BSD-3-Clause
 * The partition manager: steps come and go.
 */
#include "elan/prognum.h"
#include "partition_bed.h"

static void program_has_number_contexts_and_capability(void **state)
{
    struct elan_partition *pm = manager("base_context=100,top_context=199");
    struct program p;

    assert_int_equal(build(pm, &p, 42, 3, 10, 2), 0);
    assert_int_equal(p.info.prognum, 1000);
    assert_int_equal(p.info.ncontexts, 2);
    assert_in_range(p.info.low_context, 100, 198);
    assert_int_equal(p.info.nnodes, 3);
    assert_int_equal(p.info.nodes[2], 12);
    assert_int_equal(p.payload.prognum, 1000);
    assert_int_equal(p.payload.job_id, 42);
    assert_int_equal(p.payload.uid, 1000);
    assert_int_equal(p.payload.issued, 5000);
    assert_int_equal(p.payload.ncaps, 1);
    assert_int_equal(p.payload.caps[0].LowContext, p.info.low_context);
    assert_int_equal(p.payload.caps[0].HighContext, p.info.low_context + 1);
    assert_int_equal(p.payload.layout.nprocs, 6);
    assert_int_equal(elan_partition_programs(pm), 1);
    assert_int_equal(elan_partition_contexts(pm), 6);
    assert_true(elan_partition_release(pm, &p.info));
    program_free(&p);
    elan_partition_destroy(pm);
}

static void width_is_the_largest_number_of_tasks(void **state)
{
    const uint32_t ids[] = {1, 2, 3};
    const uint16_t tasks[] = {1, 4, 3};
    struct elan_partition *pm = manager(NULL);
    struct program p;

    assert_int_equal(build_layout(pm, &p, 1, 0, NO_COMPONENT,
                                  layout_of(3, ids, tasks, false, NULL),
                                  (struct elan_options){1, 0}),
                     0);
    assert_int_equal(p.info.ncontexts, 4);
    assert_int_equal(p.payload.caps[0].Entries, 8);
    program_free(&p);
    elan_partition_destroy(pm);
}

static void extra_contexts_widen_the_range(void **state)
{
    struct elan_partition *pm = manager(NULL);
    struct program p;

    assert_int_equal(build_layout(pm, &p, 1, 0, NO_COMPONENT,
                                  even_layout(2, 0, 2, true),
                                  (struct elan_options){1, 3}),
                     0);
    assert_int_equal(p.info.ncontexts, 5);
    assert_int_equal(
        p.payload.caps[0].HighContext - p.payload.caps[0].LowContext + 1, 5);
    assert_int_equal(p.payload.caps[0].Entries, 4);
    program_free(&p);
    elan_partition_destroy(pm);
}

static void one_capability_per_rail(void **state)
{
    const uint32_t ids[] = {4, 5, 8, 9};
    const uint16_t tasks[] = {1, 1};
    struct elan_layout_spec spec = {2, 2, ids, tasks, NULL, false};
    struct elan_partition *pm = manager("rails=2");
    struct elan_layout l;
    struct program p;

    assert_int_equal(elan_layout_make(&l, &spec, NULL), 0);
    assert_int_equal(build_layout(pm, &p, 1, 0, NO_COMPONENT, l,
                                  (struct elan_options){2, 0}),
                     0);
    assert_int_equal(p.payload.ncaps, 2);
    assert_int_equal(p.payload.caps[0].RailMask, 1);
    assert_int_equal(p.payload.caps[1].RailMask, 2);
    assert_int_equal(p.payload.caps[1].LowNode, 8);
    assert_int_equal(p.payload.caps[1].LowContext,
                     p.payload.caps[0].LowContext);
    assert_memory_not_equal(&p.payload.caps[0].UserKey,
                            &p.payload.caps[1].UserKey, 16);
    program_free(&p);
    /* A layout of one rail for two is a mistake of the caller. */
    assert_int_equal(build_layout(pm, &p, 1, 0, NO_COMPONENT,
                                  even_layout(1, 0, 1, false),
                                  (struct elan_options){2, 0}),
                     EINVAL);
    elan_partition_destroy(pm);
}

static void components_are_programs_of_their_own(void **state)
{
    struct elan_partition *pm = manager(NULL);
    struct program a, b;
    struct elan_options one = {1, 0};

    assert_int_equal(
        build_layout(pm, &a, 7, 3, 0, even_layout(1, 0, 2, false), one), 0);
    assert_int_equal(
        build_layout(pm, &b, 7, 3, 1, even_layout(1, 0, 3, false), one), 0);
    assert_int_not_equal(a.info.prognum, b.info.prognum);
    assert_int_equal(a.payload.caps[0].Entries, 2);
    assert_int_equal(b.payload.caps[0].Entries, 3);
    assert_true(b.info.low_context >= a.info.low_context + 2 ||
                a.info.low_context >= b.info.low_context + 3);
    assert_memory_not_equal(&a.payload.caps[0].UserKey,
                            &b.payload.caps[0].UserKey, 16);
    assert_true(elan_partition_release(pm, &a.info));
    assert_int_equal(elan_partition_programs(pm), 1);
    program_free(&a);
    program_free(&b);
    elan_partition_destroy(pm);
}

static void exhausted_is_busy_until_release(void **state)
{
    struct elan_partition *pm = manager("base_context=0,top_context=3");
    struct program a, b;

    assert_int_equal(build(pm, &a, 1, 1, 0, 4), 0);
    assert_int_equal(build(pm, &b, 2, 1, 0, 4), EBUSY);
    assert_int_equal(build(pm, &b, 2, 1, 0, 5), E2BIG);
    assert_int_equal(elan_partition_programs(pm), 1);
    assert_true(elan_partition_release(pm, &a.info));
    assert_int_equal(build(pm, &b, 2, 1, 0, 4), 0);
    program_free(&a);
    program_free(&b);
    elan_partition_destroy(pm);
}

/* The linker sends the manager's call through here. */
uint32_t __real_elan_prognum_take(struct elan_prognum *p,
                                  elan_prognum_live_f *live, void *arg);
uint32_t __wrap_elan_prognum_take(struct elan_prognum *p,
                                  elan_prognum_live_f *live, void *arg);
static bool no_number;

uint32_t __wrap_elan_prognum_take(struct elan_prognum *p,
                                  elan_prognum_live_f *live, void *arg)
{
    return no_number ? 0 : __real_elan_prognum_take(p, live, arg);
}

/* All of 2^31 numbers live, which no test can wait for. */
static void contexts_come_back_when_no_number_is_free(void **state)
{
    struct elan_partition *pm = manager("base_context=0,top_context=3");
    struct program p;

    no_number = true;
    assert_int_equal(build(pm, &p, 1, 1, 0, 4), EBUSY);
    assert_int_equal(elan_partition_contexts(pm), 0);
    assert_int_equal(elan_partition_programs(pm), 0);
    no_number = false;
    assert_int_equal(build(pm, &p, 1, 1, 0, 4), 0);
    program_free(&p);
    elan_partition_destroy(pm);
}

/* OnDown=nobroadcast: what the health table says of a step reaches each of its
 * capabilities. */
static void no_broadcast_for_a_step_with_a_fault(void **state)
{
    struct elan_partition *pm = manager(NULL);
    struct elan_userkey keys[1] = {{{1, 2, 3, 4}}};
    struct elan_step step = {.options = {1, 0}, .keys = keys};

    for (int fault = 0; fault < 2; fault++) {
        struct elan_layout l = even_layout(3, 0, 1, false);
        struct program p;
        struct errbuf err;

        step.no_broadcast = fault;
        elan_jobinfo_init(&p.info, 1, (uint32_t)fault, NO_COMPONENT);
        assert_int_equal(
            elan_partition_build(pm, &step, &l, &p.info, &p.payload, &err), 0);
        assert_int_equal(
            !(p.payload.caps[0].Type & ELAN_CAP_TYPE_BROADCASTABLE), fault);
        program_free(&p);
    }
    elan_partition_destroy(pm);
}

static void more_slots_than_a_bitmap_is_final(void **state)
{
    struct elan_partition *pm = manager(NULL);
    const uint32_t ids[] = {0, 16000};
    const uint16_t tasks[] = {2, 1};
    struct program p;

    assert_int_equal(build_layout(pm, &p, 1, 0, NO_COMPONENT,
                                  layout_of(2, ids, tasks, false, NULL),
                                  (struct elan_options){1, 0}),
                     E2BIG);
    assert_int_equal(elan_partition_contexts(pm), 0);
    elan_partition_destroy(pm);
}

static void release_twice_never_built_and_failed(void **state)
{
    struct elan_partition *pm = manager("base_context=0,top_context=3");
    struct program a, b;
    struct elan_jobinfo never;

    assert_int_equal(build(pm, &a, 1, 2, 0, 4), 0);
    assert_int_equal(build(pm, &b, 2, 2, 0, 4), EBUSY);
    errno = EBUSY;
    assert_false(elan_partition_release(pm, &b.info));
    assert_int_equal(errno, EBUSY);
    elan_jobinfo_init(&never, 3, 0, NO_COMPONENT);
    assert_false(elan_partition_release(pm, &never));
    errno = EBUSY;
    assert_true(elan_partition_release(pm, &a.info));
    assert_int_equal(errno, EBUSY);
    assert_false(elan_partition_release(pm, &a.info));
    assert_int_equal(elan_partition_contexts(pm), 0);
    program_free(&a);
    elan_partition_destroy(pm);
}

/* A late second release must not free what another step got since. */
static void stale_release_spares_the_next_owner(void **state)
{
    struct elan_partition *pm = manager("base_context=0,top_context=3");
    struct program a, b;
    struct elan_jobinfo stale;

    assert_int_equal(build(pm, &a, 1, 1, 0, 4), 0);
    assert_true(elan_partition_release(pm, &a.info));
    assert_int_equal(build(pm, &b, 2, 1, 0, 4), 0);
    assert_false(elan_partition_release(pm, &a.info));
    stale = a.info;
    stale.prognum = b.info.prognum;
    assert_false(elan_partition_release(pm, &stale));
    assert_int_equal(elan_partition_contexts(pm), 4);
    program_free(&a);
    program_free(&b);
    elan_partition_destroy(pm);
}

static void release_in_every_order(void **state)
{
    for (int order = 0; order < 24; order++) {
        struct elan_partition *pm = manager(NULL);
        struct program p[4];
        int left[4] = {0, 1, 2, 3}, code = order;

        for (uint32_t i = 0; i < 4; i++)
            assert_int_equal(build(pm, &p[i], i, 2, i, 3), 0);
        for (int n = 4; n > 0; n--) {
            int pick = code % n;

            code /= n;
            assert_true(elan_partition_release(pm, &p[left[pick]].info));
            assert_false(elan_partition_release(pm, &p[left[pick]].info));
            left[pick] = left[n - 1];
        }
        assert_int_equal(elan_partition_programs(pm), 0);
        assert_int_equal(elan_partition_contexts(pm), 0);
        for (int i = 0; i < 4; i++)
            program_free(&p[i]);
        elan_partition_destroy(pm);
    }
}

static void reconfigured_range_holds_for_the_next_program(void **state)
{
    struct elan_partition *pm = manager("base_context=0,top_context=7");
    struct elan_site site;
    struct program a, b;

    assert_int_equal(build(pm, &a, 1, 1, 0, 8), 0);
    assert_int_equal(
        elan_site_parse(&site, "base_context=8,top_context=9", NULL), 0);
    assert_int_equal(elan_partition_configure(pm, &site, NULL), 0);
    assert_int_equal(build(pm, &b, 2, 1, 0, 2), 0);
    assert_int_equal(b.info.low_context, 8);
    assert_true(elan_partition_release(pm, &a.info));
    assert_true(elan_partition_release(pm, &b.info));
    assert_int_equal(elan_partition_contexts(pm), 0);
    program_free(&a);
    program_free(&b);
    elan_partition_destroy(pm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(program_has_number_contexts_and_capability),
        cmocka_unit_test(width_is_the_largest_number_of_tasks),
        cmocka_unit_test(extra_contexts_widen_the_range),
        cmocka_unit_test(one_capability_per_rail),
        cmocka_unit_test(components_are_programs_of_their_own),
        cmocka_unit_test(exhausted_is_busy_until_release),
        cmocka_unit_test(contexts_come_back_when_no_number_is_free),
        cmocka_unit_test(no_broadcast_for_a_step_with_a_fault),
        cmocka_unit_test(more_slots_than_a_bitmap_is_final),
        cmocka_unit_test(release_twice_never_built_and_failed),
        cmocka_unit_test(stale_release_spares_the_next_owner),
        cmocka_unit_test(release_in_every_order),
        cmocka_unit_test(reconfigured_range_holds_for_the_next_program),
    };

    return cmocka_run_group_tests_name("elan_partition", tests, NULL, NULL);
}
