/* SPDX-License-Identifier: BSD-3-Clause
 * RMS_* variables.
 */
#include "elan/rms_env.h"
#include "elan_util.h"

static const char *get(const struct elan_layout *l, uint32_t node,
                       uint32_t slot, const char *name)
{
    static struct elan_rms_var vars[ELAN_RMS_NVARS];
    struct elan_rms_program program = {l, 1000, 42, "demo"};
    struct errbuf err = {""};

    if (elan_rms_env(vars, &program, node, slot, &err) < 0)
        fail_msg("%s", err.text);
    for (int i = 0; i < ELAN_RMS_NVARS; i++)
        if (strcmp(vars[i].name, name) == 0)
            return vars[i].value;
    return NULL;
}

static void all_variables_are_there(void **state)
{
    static const char *const names[] = {
        "RMS_NNODES", "RMS_NPROCS", "RMS_NODEID",     "RMS_PROCID",
        "RMS_RANK",   "RMS_JOBID",  "RMS_RESOURCEID", "RMS_MACHINE"};
    struct elan_layout l = even_layout(1, 0, 1, false);

    for (uint32_t i = 0; i < N_OF(names); i++)
        assert_non_null(get(&l, 0, 0, names[i]));
    elan_layout_free(&l);
}

static void block_16_on_8(void **state)
{
    struct elan_layout l = even_layout(8, 3, 2, false);

    assert_string_equal(get(&l, 0, 0, "RMS_PROCID"), "0");
    assert_string_equal(get(&l, 0, 1, "RMS_PROCID"), "1");
    assert_string_equal(get(&l, 7, 1, "RMS_PROCID"), "15");
    elan_layout_free(&l);
}

static void cyclic_16_on_8(void **state)
{
    struct elan_layout l = even_layout(8, 3, 2, true);

    assert_string_equal(get(&l, 0, 0, "RMS_PROCID"), "0");
    assert_string_equal(get(&l, 0, 1, "RMS_PROCID"), "8");
    assert_string_equal(get(&l, 7, 1, "RMS_PROCID"), "15");
    elan_layout_free(&l);
}

static void nodes_and_processes_uneven(void **state)
{
    const uint32_t ids[] = {5, 9, 12};
    const uint16_t tasks[] = {4, 1, 3};
    struct elan_layout l = layout_of(3, ids, tasks, false, NULL);

    assert_string_equal(get(&l, 1, 0, "RMS_NNODES"), "3");
    assert_string_equal(get(&l, 1, 0, "RMS_NPROCS"), "8");
    elan_layout_free(&l);
}

static void nodeid_counts_from_0_whatever_the_elan_ids(void **state)
{
    const uint32_t ids[] = {5, 9, 12};
    const uint16_t tasks[] = {1, 1, 1};
    static const char *const want[] = {"0", "1", "2"};
    struct elan_layout l = layout_of(3, ids, tasks, false, NULL);

    for (uint32_t n = 0; n < 3; n++)
        assert_string_equal(get(&l, n, 0, "RMS_NODEID"), want[n]);
    elan_layout_free(&l);
}

static void rank_is_procid_everywhere(void **state)
{
    uint32_t n0[] = {4, 0}, n1[] = {2}, n2[] = {1, 3, 5};
    uint32_t *const tids[] = {n0, n1, n2};
    const uint32_t ids[] = {1, 2, 3};
    const uint16_t tasks[] = {2, 1, 3};
    struct elan_layout l = layout_of(3, ids, tasks, false, tids);
    char procid[ELAN_RMS_VALUE_MAX], want[16];

    for (uint32_t n = 0; n < 3; n++) {
        for (uint32_t s = 0; s < tasks[n]; s++) {
            snprintf(want, sizeof(want), "%u", tids[n][s]);
            strcpy(procid, get(&l, n, s, "RMS_PROCID"));
            assert_string_equal(procid, want);
            assert_string_equal(get(&l, n, s, "RMS_RANK"), want);
        }
    }
    elan_layout_free(&l);
}

static void jobid_resourceid_machine(void **state)
{
    struct elan_layout l = even_layout(1, 0, 1, false);

    assert_string_equal(get(&l, 0, 0, "RMS_JOBID"), "1000");
    assert_string_equal(get(&l, 0, 0, "RMS_RESOURCEID"), "demo.42");
    assert_string_equal(get(&l, 0, 0, "RMS_MACHINE"), "demo");
    elan_layout_free(&l);
}

static void process_that_does_not_exist_is_refused(void **state)
{
    struct elan_layout l = even_layout(2, 0, 1, false);
    struct elan_rms_program program = {&l, 1, 1, NULL};
    struct elan_rms_var vars[ELAN_RMS_NVARS];
    struct errbuf err;

    assert_int_equal(elan_rms_env(vars, &program, 2, 0, &err), -1);
    assert_int_equal(errno, EINVAL);
    assert_string_equal(err.text, "node 2 of a program of 2 nodes");
    assert_int_equal(elan_rms_env(vars, &program, 1, 1, &err), -1);
    assert_string_equal(err.text, "local task 1 of 1 on node 1");
    assert_int_equal(elan_rms_env(vars, &program, 1, 0, &err), 0);
    elan_layout_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_variables_are_there),
        cmocka_unit_test(block_16_on_8),
        cmocka_unit_test(cyclic_16_on_8),
        cmocka_unit_test(nodes_and_processes_uneven),
        cmocka_unit_test(nodeid_counts_from_0_whatever_the_elan_ids),
        cmocka_unit_test(rank_is_procid_everywhere),
        cmocka_unit_test(jobid_resourceid_machine),
        cmocka_unit_test(process_that_does_not_exist_is_refused),
    };

    return cmocka_run_group_tests_name("elan_rms_env", tests, NULL, NULL);
}
