/* SPDX-License-Identifier: BSD-3-Clause
 * Layout of a program over its nodes.
 */
#include "base/limits.h"
#include "elan/elanvp.h"
#include "elan_util.h"

static void block_order_is_node_by_node(void **state)
{
    struct elan_layout l = even_layout(8, 0, 2, false);

    assert_int_equal(l.nprocs, 16);
    assert_int_equal(elan_layout_proc(&l, 0, 0), 0);
    assert_int_equal(elan_layout_proc(&l, 0, 1), 1);
    assert_int_equal(elan_layout_proc(&l, 7, 1), 15);
    elan_layout_free(&l);
}

static void cyclic_order_is_slot_by_slot(void **state)
{
    struct elan_layout l = even_layout(8, 0, 2, true);

    assert_int_equal(elan_layout_proc(&l, 0, 0), 0);
    assert_int_equal(elan_layout_proc(&l, 0, 1), 8);
    assert_int_equal(elan_layout_proc(&l, 7, 1), 15);
    elan_layout_free(&l);
}

static void cyclic_order_skips_full_nodes(void **state)
{
    const uint32_t ids[] = {0, 1, 2};
    const uint16_t tasks[] = {1, 3, 2};
    struct elan_layout l = layout_of(3, ids, tasks, true, NULL);

    assert_int_equal(elan_layout_proc(&l, 1, 1), 3);
    assert_int_equal(elan_layout_proc(&l, 2, 1), 4);
    assert_int_equal(elan_layout_proc(&l, 1, 2), 5);
    assert_int_equal(l.max_tasks, 3);
    elan_layout_free(&l);
}

static void every_process_has_one_slot(void **state)
{
    uint32_t n0[] = {4, 0}, n1[] = {2}, n2[] = {1, 3, 5};
    uint32_t *const tids[] = {n0, n1, n2};
    const uint32_t ids[] = {9, 4, 6};
    const uint16_t tasks[] = {2, 1, 3};
    struct elan_layout l = layout_of(3, ids, tasks, false, tids);

    for (uint32_t node = 0; node < 3; node++)
        for (uint32_t slot = 0; slot < tasks[node]; slot++)
            assert_int_equal(elan_layout_proc(&l, node, slot),
                             tids[node][slot]);
    assert_int_equal(elan_layout_find(&l, 4), 1);
    assert_int_equal(elan_layout_find(&l, 5), -1);
    elan_layout_free(&l);
}

static void expect_refused(struct elan_layout_spec spec, int code,
                           const char *text)
{
    struct elan_layout l;
    struct errbuf err = {""};

    errno = 0;
    assert_int_equal(elan_layout_make(&l, &spec, &err), -1);
    assert_int_equal(errno, code);
    assert_string_equal(err.text, text);
    assert_null(l.procs);
}

static void layout_refuses_what_makes_no_program(void **state)
{
    static const uint32_t ids[] = {1, 1, 70000};
    static const uint16_t one[] = {1, 1, 1}, none[] = {0, 0, 0};
    uint32_t t0[] = {0}, t0again[] = {0}, t7[] = {7};
    uint32_t *const twice[] = {t0, t0again}, *const beyond[] = {t0, t7};
    struct elan_layout_spec ok = {1, 1, ids, one, NULL, false}, s = ok;

    s.nnodes = 0;
    expect_refused(s, EINVAL, "a step without nodes");
    s = ok;
    s.tasks = none;
    expect_refused(s, EINVAL, "a step without processes");
    s = ok;
    s.nnodes = 2;
    expect_refused(s, EINVAL, "two nodes of the step have Elan id 1 on rail 0");
    s.ids = ids + 1;
    expect_refused(s, EINVAL, "Elan id 70000 is above 65535");
    s.ids = (const uint32_t[]){1, 2};
    s.tids = twice;
    expect_refused(s, EINVAL, "task 0 is twice in a step of 2 tasks");
    s.tids = beyond;
    expect_refused(s, EINVAL, "task 7 does not exist in a step of 2 tasks");
    s = ok;
    s.nrails = SF_ELAN_RAILS_MAX + 1;
    expect_refused(s, E2BIG, "9 rails, limit 8");
}

static void processes_at_and_above_the_limit(void **state)
{
    const uint32_t ids[] = {0, 1};
    const uint16_t fits[] = {ELAN_MAX_VPS - 1, 1}, over[] = {ELAN_MAX_VPS, 1};
    struct elan_layout_spec spec = {2, 1, ids, over, NULL, false};
    struct elan_layout l = layout_of(2, ids, fits, false, NULL);

    assert_int_equal(l.nprocs, ELAN_MAX_VPS);
    elan_layout_free(&l);
    expect_refused(spec, E2BIG, "16385 processes, a capability holds 16384");
}

static void by_id_sorts_node_indexes(void **state)
{
    const uint32_t ids[] = {7, 3, 9};
    const uint16_t tasks[] = {1, 1, 1};
    struct elan_layout l = layout_of(3, ids, tasks, false, NULL);
    uint32_t *order = elan_layout_by_id(&l, 0);

    assert_int_equal(order[0], 1);
    assert_int_equal(order[1], 0);
    assert_int_equal(order[2], 2);
    free(order);
    elan_layout_free(&l);
}

static size_t code(const struct elan_layout *l)
{
    size_t size = elan_layout_size(l);
    uint8_t *buf = malloc(size);
    struct be_writer w;
    struct be_reader r;
    struct elan_layout got;
    struct errbuf err = {""};

    be_writer_init(&w, buf, size);
    elan_layout_put(&w, l);
    assert_false(w.bad);
    be_reader_init(&r, buf, w.len);
    if (elan_layout_get(&r, &got, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(be_reader_done(&r));
    assert_same_layout(l, &got);
    elan_layout_free(&got);
    for (size_t len = 0; len < w.len; len++) {
        be_reader_init(&r, buf, len);
        assert_int_equal(elan_layout_get(&r, &got, &err), -1);
    }
    free(buf);
    return w.len;
}

static void layout_codec_keeps_every_distribution(void **state)
{
    uint32_t n0[] = {0, 1, 4, 5}, n1[] = {2, 3, 6, 7};
    uint32_t *const plane[] = {n0, n1};
    uint32_t a0[] = {5}, a1[] = {1, 0, 4}, a2[] = {3, 2};
    uint32_t *const arbitrary[] = {a0, a1, a2};
    const uint32_t ids[] = {12, 5, 6};
    const uint16_t four[] = {4, 4}, uneven[] = {1, 3, 2};
    struct elan_layout l;

    l = even_layout(4, 10, 3, false);
    code(&l);
    elan_layout_free(&l);
    l = even_layout(4, 10, 3, true);
    code(&l);
    elan_layout_free(&l);
    l = layout_of(2, ids, four, false, plane);
    code(&l);
    elan_layout_free(&l);
    l = layout_of(3, ids, uneven, true, arbitrary);
    code(&l);
    elan_layout_free(&l);
}

static void layout_of_5000_nodes_takes_few_bytes(void **state)
{
    struct elan_layout block = even_layout(5000, 1, 3, false);
    struct elan_layout cyclic = even_layout(5000, 1, 3, true);
    struct be_writer w;
    uint8_t buf[128];

    be_writer_init(&w, buf, sizeof(buf));
    elan_layout_put(&w, &block);
    elan_layout_put(&w, &cyclic);
    assert_false(w.bad);
    elan_layout_free(&block);
    elan_layout_free(&cyclic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_order_is_node_by_node),
        cmocka_unit_test(cyclic_order_is_slot_by_slot),
        cmocka_unit_test(cyclic_order_skips_full_nodes),
        cmocka_unit_test(every_process_has_one_slot),
        cmocka_unit_test(layout_refuses_what_makes_no_program),
        cmocka_unit_test(processes_at_and_above_the_limit),
        cmocka_unit_test(by_id_sorts_node_indexes),
        cmocka_unit_test(layout_codec_keeps_every_distribution),
        cmocka_unit_test(layout_of_5000_nodes_takes_few_bytes),
    };

    return cmocka_run_group_tests_name("elan_layout", tests, NULL, NULL);
}
