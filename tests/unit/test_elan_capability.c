/* SPDX-License-Identifier: BSD-3-Clause
 * Elan capabilities: every member, the bitmap, the limits.
 */
#include "base/limits.h"
#include "capability_util.h"

static int popcount(const struct elan_capability *cap)
{
    int n = 0;

    for (uint32_t i = 0; i < ELAN_BITMAPSIZE; i++)
        n += __builtin_popcount(cap->Bitmap[i]);
    return n;
}

static void nullcap_sets_every_member(void **state)
{
    struct elan_capability cap, zero = {0};

    memset(&cap, 0xa5, sizeof(cap));
    elan3_nullcap(&cap);
    assert_int_equal(cap.Type, (uint32_t)ELAN_CAP_UNINITIALISED);
    assert_int_equal(cap.Version, ELAN_CAP_VERSION_NUMBER);
    assert_int_equal(cap.LowContext, ELAN_CAP_UNINITIALISED);
    assert_int_equal(cap.HighContext, ELAN_CAP_UNINITIALISED);
    assert_int_equal(cap.MyContext, ELAN_CAP_UNINITIALISED);
    assert_int_equal(cap.LowNode, ELAN_CAP_UNINITIALISED);
    assert_int_equal(cap.HighNode, ELAN_CAP_UNINITIALISED);
    assert_int_equal(cap.Entries, ELAN_CAP_UNINITIALISED);
    assert_int_equal(cap.RailMask, 0);
    assert_memory_equal(&cap.UserKey, &zero.UserKey, sizeof(cap.UserKey));
    assert_memory_equal(cap.Bitmap, zero.Bitmap, sizeof(cap.Bitmap));
}

static void members_not_named_keep_their_null_value(void **state)
{
    struct elan_layout l = even_layout(2, 0, 2, false);
    struct elan_capability cap = build(&l, 2);

    assert_int_equal(cap.MyContext, ELAN_CAP_UNINITIALISED);
    assert_int_equal(cap.Version, ELAN_CAP_VERSION_NUMBER);
    elan_layout_free(&l);
}

static void type_follows_the_distribution(void **state)
{
    struct elan_layout b = even_layout(2, 0, 2, false);
    struct elan_layout c = even_layout(2, 0, 2, true);
    struct elan_capability cap = build(&b, 2);

    assert_int_equal(cap.Type & ELAN_CAP_TYPE_MASK, ELAN_CAP_TYPE_BLOCK);
    cap = build(&c, 2);
    assert_int_equal(cap.Type & ELAN_CAP_TYPE_MASK, ELAN_CAP_TYPE_CYCLIC);
    elan_layout_free(&b);
    elan_layout_free(&c);
}

/* Where both orders are the same, what the step asked for is kept. */
static void one_task_per_node_keeps_the_name(void **state)
{
    struct elan_layout b = even_layout(4, 0, 1, false);
    struct elan_layout c = even_layout(4, 0, 1, true);
    struct elan_capability cap = build(&b, 1);

    assert_int_equal(cap.Type & ELAN_CAP_TYPE_MASK, ELAN_CAP_TYPE_BLOCK);
    assert_false(cap.Type & ELAN_CAP_TYPE_MAPPED);
    cap = build(&c, 1);
    assert_int_equal(cap.Type & ELAN_CAP_TYPE_MASK, ELAN_CAP_TYPE_CYCLIC);
    assert_false(cap.Type & ELAN_CAP_TYPE_MAPPED);
    elan_layout_free(&b);
    elan_layout_free(&c);
}

/* Every process is where the layout has it: by its number when the
 * capability can say so, and in the bitmap in any case. */
static void check_places(const struct elan_layout *l, bool mapped)
{
    struct elan_capability cap = build(l, l->max_tasks);
    uint32_t id, context, p;

    assert_int_equal(!!(cap.Type & ELAN_CAP_TYPE_MAPPED), mapped);
    assert_int_equal(popcount(&cap), l->nprocs);
    for (uint32_t node = 0; node < l->nnodes; node++)
        for (uint32_t slot = 0; slot < elan_layout_tasks(l, node); slot++) {
            p = elan_layout_proc(l, node, slot);
            assert_true(
                elan_capability_has(&cap, elan_layout_id(l, 0, node), slot));
            if (mapped)
                continue;
            assert_int_equal(elan3_locate(&cap, p, &id, &context), 0);
            assert_int_equal(id, elan_layout_id(l, 0, node));
            assert_int_equal(context, LOW + slot);
        }
    assert_int_equal(elan3_locate(&cap, l->nprocs, &id, &context), -1);
}

static void no_distribution_misplaces_a_task(void **state)
{
    const uint32_t ids[] = {3, 4, 6}, reversed[] = {6, 4, 3};
    const uint16_t even[] = {4, 4, 4}, uneven[] = {1, 4, 2};
    uint32_t p0[] = {0, 1, 6, 7}, p1[] = {2, 3, 8, 9}, p2[] = {4, 5, 10, 11};
    uint32_t a0[] = {3}, a1[] = {0, 2, 5, 6}, a2[] = {1, 4};
    uint32_t *const plane[] = {p0, p1, p2}, *const arbitrary[] = {a0, a1, a2};
    const struct {
        const uint32_t *ids;
        const uint16_t *tasks;
        bool cyclic;
        uint32_t *const *tids;
        bool mapped;
    } cases[] = {
        {ids, even, false, NULL, false},
        {ids, even, true, NULL, false},
        {ids, uneven, false, NULL, false},
        {ids, uneven, true, NULL, false},
        {ids, even, false, plane, true},
        {ids, uneven, false, arbitrary, true},
        {ids, even, true, plane, true},
        {reversed, even, false, NULL, true},
        {reversed, even, true, NULL, true},
    };

    for (uint32_t i = 0; i < N_OF(cases); i++) {
        struct elan_layout l = layout_of(3, cases[i].ids, cases[i].tasks,
                                         cases[i].cyclic, cases[i].tids);

        check_places(&l, cases[i].mapped);
        elan_layout_free(&l);
    }
}

/* A plane distribution that happens to be block order is block. */
static void the_layout_counts_not_its_name(void **state)
{
    uint32_t n0[] = {0, 2}, n1[] = {1, 3};
    uint32_t *const tids[] = {n0, n1};
    const uint32_t ids[] = {0, 1};
    const uint16_t two[] = {2, 2};
    struct elan_layout l = layout_of(2, ids, two, false, tids);
    struct elan_capability cap = build(&l, 2);

    assert_int_equal(cap.Type & ELAN_CAP_TYPE_MASK, ELAN_CAP_TYPE_CYCLIC);
    assert_false(cap.Type & ELAN_CAP_TYPE_MAPPED);
    elan_layout_free(&l);
}

static void random_layouts(void **state)
{
    uint32_t seed = 99;

    for (int round = 0; round < 300; round++) {
        uint32_t n = next_random(&seed) % 6 + 1, nprocs = 0;
        uint32_t ids[6], procs[36], *tids[6];
        uint16_t tasks[6];
        struct elan_layout l;
        struct elan_capability cap;

        for (uint32_t i = 0; i < n; i++) {
            ids[i] = next_random(&seed) % 8 * 6 + i;
            tasks[i] = (uint16_t)(next_random(&seed) % 5 + 1);
            tids[i] = procs + nprocs;
            nprocs += tasks[i];
        }
        for (uint32_t i = 0; i < nprocs; i++) {
            uint32_t j = next_random(&seed) % (i + 1);

            procs[i] = procs[j];
            procs[j] = i;
        }
        l = layout_of(n, ids, tasks, false, tids);
        cap = build(&l, l.max_tasks);
        check_places(&l, cap.Type & ELAN_CAP_TYPE_MAPPED);
        elan_layout_free(&l);
    }
}

static bool broadcastable(uint32_t n, const uint32_t *ids)
{
    const uint16_t ones[] = {1, 1, 1, 1};

    return build_of(n, ids, ones, false).Type & ELAN_CAP_TYPE_BROADCASTABLE;
}

static void broadcastable_only_without_holes(void **state)
{
    assert_true(broadcastable(3, (const uint32_t[]){4, 5, 6}));
    assert_true(broadcastable(1, (const uint32_t[]){9}));
    assert_true(broadcastable(3, (const uint32_t[]){6, 5, 4}));
    assert_false(broadcastable(3, (const uint32_t[]){1, 2, 4}));
    assert_false(broadcastable(2, (const uint32_t[]){4, 6}));
}

static void contiguous_across_switch_blocks(void **state)
{
    assert_true(broadcastable(4, (const uint32_t[]){126, 127, 128, 129}));
}

static void node_off_the_fabric_clears_broadcast(void **state)
{
    struct elan_layout l = even_layout(3, 4, 1, false);
    struct elan_capability_spec spec = {&l, 0, LOW, 1, key, true};
    struct elan_capability cap;

    assert_int_equal(elan_capability_build(&cap, &spec, NULL), 0);
    assert_false(cap.Type & ELAN_CAP_TYPE_BROADCASTABLE);
    elan_layout_free(&l);
}

static void one_rail_is_mask_1_and_multi_rail(void **state)
{
    struct elan_layout l = even_layout(2, 0, 1, false);
    struct elan_capability cap = build(&l, 1);

    assert_true(cap.Type & ELAN_CAP_TYPE_MULTI_RAIL);
    assert_int_equal(cap.RailMask, 1);
    elan_layout_free(&l);
}

static void each_rail_has_its_own_ids_and_mask(void **state)
{
    const uint32_t ids[] = {0, 1, 7, 5}; /* rail 0: 0 1, rail 1: 7 5 */
    const uint16_t two[] = {2, 2};
    struct elan_layout_spec ls = {2, 2, ids, two, NULL, false};
    struct elan_layout l;
    struct elan_capability_spec spec = {&l, 1, LOW, 2, key, false};
    struct elan_capability cap;

    assert_int_equal(elan_layout_make(&l, &ls, NULL), 0);
    assert_int_equal(elan_capability_build(&cap, &spec, NULL), 0);
    assert_int_equal(cap.RailMask, 2);
    assert_int_equal(cap.LowNode, 5);
    assert_int_equal(cap.HighNode, 7);
    assert_false(cap.Type & ELAN_CAP_TYPE_BROADCASTABLE);
    /* On this rail the nodes are the other way round. */
    assert_true(cap.Type & ELAN_CAP_TYPE_MAPPED);
    elan_layout_free(&l);
}

static void contexts_are_first_and_last(void **state)
{
    struct elan_layout l = even_layout(2, 0, 3, false);
    struct elan_capability cap = build(&l, 3);

    assert_int_equal(cap.LowContext, LOW);
    assert_int_equal(cap.HighContext, LOW + 2);
    /* Extra contexts make the range wider, not the program larger. */
    cap = build(&l, 5);
    assert_int_equal(cap.HighContext, LOW + 4);
    assert_int_equal(cap.Entries, 6);
    assert_int_equal(popcount(&cap), 6);
    elan_layout_free(&l);
}

static void key_is_taken_as_four_values(void **state)
{
    struct elan_layout l = even_layout(1, 0, 1, false);
    struct elan_capability cap = build(&l, 1);

    for (int i = 0; i < ELAN_USERKEY_ENTRIES; i++)
        assert_int_equal(cap.UserKey.Values[i], key.Values[i]);
    elan_layout_free(&l);
}

static void entries_and_node_bounds(void **state)
{
    const uint32_t ids[] = {7, 3, 9};
    const uint32_t downward[] = {9, 7, 3};
    const uint16_t tasks[] = {4, 1, 3};
    struct elan_capability cap = build_of(3, ids, tasks, false);

    assert_int_equal(cap.Entries, 8);
    assert_int_equal(cap.LowNode, 3);
    assert_int_equal(cap.HighNode, 9);
    cap = build_of(3, downward, tasks, false);
    assert_int_equal(cap.LowNode, 3);
    assert_int_equal(cap.HighNode, 9);
}

/* Two tasks per node: bits 0 and 1 are LowNode's, 2 and 3 LowNode + 1's. */
static void bitmap_block_two_per_node(void **state)
{
    const uint32_t ids[] = {10, 11, 12};
    const uint16_t tasks[] = {2, 1, 2}; /* 3 is the one that is not there */
    struct elan_capability cap = build_of(3, ids, tasks, false);

    for (uint32_t bit = 0; bit < 8; bit++)
        assert_int_equal(elan_capability_bit(&cap, bit), bit < 6 && bit != 3);
    assert_int_equal(popcount(&cap), 5);
    assert_true(elan_capability_has(&cap, 11, 0));
    assert_false(elan_capability_has(&cap, 11, 1));
    assert_false(elan_capability_has(&cap, 13, 0));
}

static void holes_are_clear(void **state)
{
    const uint32_t ids[] = {10, 12, 15};
    const uint16_t tasks[] = {2, 1, 2};
    const uint32_t set[] = {0, 1, 4, 10, 11};
    struct elan_capability cap = build_of(3, ids, tasks, false);

    for (uint32_t i = 0; i < N_OF(set); i++)
        assert_true(elan_capability_bit(&cap, set[i]));
    assert_int_equal(popcount(&cap), cap.Entries);
    assert_int_equal(popcount(&cap), N_OF(set));
}

static void bitmap_cyclic_order(void **state)
{
    const uint32_t ids[] = {10, 11, 13};
    const uint16_t tasks[] = {2, 1, 2};
    /* bit = (node - LowNode) + slot * 4 */
    const uint32_t set[] = {0, 1, 3, 4, 7};
    struct elan_capability cap = build_of(3, ids, tasks, true);

    for (uint32_t i = 0; i < N_OF(set); i++)
        assert_true(elan_capability_bit(&cap, set[i]));
    assert_int_equal(popcount(&cap), N_OF(set));
}

static void cyclic_2_by_8(void **state)
{
    struct elan_layout l = even_layout(8, 20, 2, true);
    struct elan_capability cap = build(&l, 2);
    uint32_t node, context;

    assert_int_equal(elan3_locate(&cap, 8, &node, &context), 0);
    assert_int_equal(node, 20);
    assert_int_equal(context, LOW + 1);
    elan_layout_free(&l);
}

static void slots_below_at_and_above_the_limit(void **state)
{
    const uint32_t below[] = {0, ELAN_MAX_VPS - 2};
    const uint32_t at[] = {0, ELAN_MAX_VPS - 1};
    const uint32_t above[] = {0, ELAN_MAX_VPS};
    const uint16_t ones[] = {1, 1};
    struct elan_layout l = layout_of(2, above, ones, false, NULL);
    struct elan_capability_spec spec = {&l, 0, LOW, 1, key, false};
    struct elan_capability cap;
    struct errbuf err;

    cap = build_of(2, below, ones, false);
    assert_true(elan_capability_bit(&cap, ELAN_MAX_VPS - 2));
    cap = build_of(2, at, ones, false);
    assert_true(elan_capability_bit(&cap, ELAN_MAX_VPS - 1));
    assert_int_equal(elan_capability_build(&cap, &spec, &err), -1);
    assert_int_equal(errno, E2BIG);
    assert_string_equal(err.text, "Elan ids 0 to 16384 with 1 contexts a node "
                                  "are 16385 possible processes, a capability "
                                  "holds 16384");
    assert_int_equal(cap.Entries, ELAN_CAP_UNINITIALISED);
    elan_layout_free(&l);
}

static void five_thousand_nodes(void **state)
{
    struct elan_layout l = even_layout(5000, 100, 3, true);

    check_places(&l, false);
    elan_layout_free(&l);
}

static void build_refuses_contexts_outside_the_adapter(void **state)
{
    struct elan_layout l = even_layout(2, 0, 2, false);
    struct elan_capability_spec spec = {&l, 0, 4095, 2, key, false};
    struct elan_capability cap;

    assert_int_equal(elan_capability_build(&cap, &spec, NULL), -1);
    assert_int_equal(errno, EINVAL);
    spec.low_context = 4094;
    assert_int_equal(elan_capability_build(&cap, &spec, NULL), 0);
    spec.ncontexts = 1; /* fewer than tasks on a node */
    assert_int_equal(elan_capability_build(&cap, &spec, NULL), -1);
    spec.ncontexts = 2;
    spec.rail = 1;
    assert_int_equal(elan_capability_build(&cap, &spec, NULL), -1);
    elan_layout_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nullcap_sets_every_member),
        cmocka_unit_test(members_not_named_keep_their_null_value),
        cmocka_unit_test(type_follows_the_distribution),
        cmocka_unit_test(one_task_per_node_keeps_the_name),
        cmocka_unit_test(no_distribution_misplaces_a_task),
        cmocka_unit_test(the_layout_counts_not_its_name),
        cmocka_unit_test(random_layouts),
        cmocka_unit_test(broadcastable_only_without_holes),
        cmocka_unit_test(contiguous_across_switch_blocks),
        cmocka_unit_test(node_off_the_fabric_clears_broadcast),
        cmocka_unit_test(one_rail_is_mask_1_and_multi_rail),
        cmocka_unit_test(each_rail_has_its_own_ids_and_mask),
        cmocka_unit_test(contexts_are_first_and_last),
        cmocka_unit_test(key_is_taken_as_four_values),
        cmocka_unit_test(entries_and_node_bounds),
        cmocka_unit_test(bitmap_block_two_per_node),
        cmocka_unit_test(holes_are_clear),
        cmocka_unit_test(bitmap_cyclic_order),
        cmocka_unit_test(cyclic_2_by_8),
        cmocka_unit_test(slots_below_at_and_above_the_limit),
        cmocka_unit_test(five_thousand_nodes),
        cmocka_unit_test(build_refuses_contexts_outside_the_adapter),
    };

    return cmocka_run_group_tests_name("elan_capability", tests, NULL, NULL);
}
