/* SPDX-License-Identifier: BSD-3-Clause
 * The hooks of Slurm 22.05 to 23.11: every one is there, and none minds NULL,
 * never-built or repeated arguments.
 */
#include "elan/elanvp.h"
#include "switch_host.h"

static void every_hook_is_there(void **state)
{
    static const char *const hooks[] = {
        "plugin_id",
        "switch_p_libstate_save",
        "switch_p_libstate_restore",
        "switch_p_alloc_jobinfo",
        "switch_p_build_jobinfo",
        "switch_p_duplicate_jobinfo",
        "switch_p_free_jobinfo",
        "switch_p_pack_jobinfo",
        "switch_p_unpack_jobinfo",
        "switch_p_get_jobinfo",
        "switch_p_job_preinit",
        "switch_p_job_init",
        "switch_p_job_suspend_test",
        "switch_p_job_suspend_info_get",
        "switch_p_job_suspend_info_pack",
        "switch_p_job_suspend_info_unpack",
        "switch_p_job_suspend_info_free",
        "switch_p_job_suspend",
        "switch_p_job_resume",
        "switch_p_job_fini",
        "switch_p_job_postfini",
        "switch_p_job_attach",
        "switch_p_job_step_complete",
        "switch_p_job_step_allocated",
        "switch_p_libstate_clear",
        "switch_p_reconfig",
        "switch_p_job_step_pre_suspend",
        "switch_p_job_step_post_suspend",
        "switch_p_job_step_pre_resume",
        "switch_p_job_step_post_resume",
        "switch_p_job_complete",
    };

    assert_int_equal(N_OF(hooks), 31);
    for (uint32_t i = 0; i < N_OF(hooks); i++)
        sym(hooks[i]);
}

static void no_hook_minds_null(void **state)
{
    struct switch_jobinfo *j = (void *)1;
    struct slurmabi_buf buf = {.len = 0};
    void *info = (void *)1;

    assert_int_equal(HOOK(switch_p_build_jobinfo)(NULL, NULL, NULL),
                     SLURM_ERROR);
    assert_int_equal(errno, ESLURM_INTERCONNECT_FAILURE);
    assert_int_equal(HOOK(switch_p_duplicate_jobinfo)(NULL, &j), 0);
    assert_null(j);
    HOOK(switch_p_free_jobinfo)(NULL);
    assert_int_equal(HOOK(switch_p_get_jobinfo)(NULL, 0, NULL), SLURM_ERROR);
    assert_int_equal(HOOK(switch_p_job_suspend_test)(NULL), 0);
    HOOK(switch_p_job_suspend_info_get)(NULL, &info);
    assert_null(info);
    HOOK(switch_p_job_suspend_info_get)(NULL, NULL);
    HOOK(switch_p_job_suspend_info_pack)(NULL, &buf, 0);
    assert_int_equal(HOOK(switch_p_job_suspend_info_unpack)(&info, &buf, 0), 0);
    HOOK(switch_p_job_suspend_info_free)(NULL);
    assert_int_equal(HOOK(switch_p_job_suspend)(NULL, 0), 0);
    assert_int_equal(HOOK(switch_p_job_resume)(NULL, 0), 0);
    assert_int_equal(HOOK(switch_p_job_step_complete)(NULL, NULL), 0);
    assert_int_equal(HOOK(switch_p_job_step_allocated)(NULL, NULL), 0);
    HOOK(switch_p_job_complete)(7);
    HOOK(switch_p_job_complete)(7);
    assert_int_equal(HOOK(switch_p_libstate_clear)(), 0);
}

static void node_hooks_without_a_program(void **state)
{
    char **env = NULL;

    /* A refused step goes on to its tasks, and not one of them gets past. */
    assert_int_equal(HOOK(switch_p_job_init)(NULL), SLURM_SUCCESS);
    assert_int_equal(HOOK(switch_p_job_attach)(NULL, &env, 0, 0, 1, 1, 0),
                     SLURM_ERROR);
    assert_int_equal(HOOK(switch_p_job_fini)(NULL), 0);
    assert_int_equal(HOOK(switch_p_job_fini)(NULL), 0);
    assert_int_equal(HOOK(switch_p_job_postfini)(NULL), 0);
    assert_int_equal(HOOK(switch_p_job_postfini)(NULL), 0);
    assert_int_equal(HOOK(switch_p_job_step_pre_suspend)(NULL), 0);
    assert_int_equal(HOOK(switch_p_job_step_post_suspend)(NULL), 0);
    assert_int_equal(HOOK(switch_p_job_step_pre_resume)(NULL), 0);
    assert_int_equal(HOOK(switch_p_job_step_post_resume)(NULL), 0);
}

static void pack_and_unpack_null_and_never_built(void **state)
{
    struct slurmabi_buf buf = {.len = 0};
    struct switch_jobinfo *j, *got = NULL;

    assert_int_equal(HOOK(switch_p_alloc_jobinfo)(&j, 42, 7), 0);
    assert_int_equal(HOOK(switch_p_pack_jobinfo)(NULL, &buf, 0), 0);
    assert_int_equal(HOOK(switch_p_pack_jobinfo)(j, &buf, 0), 0);
    assert_int_equal(HOOK(switch_p_unpack_jobinfo)(&got, &buf, 0), 0);
    assert_int_equal(got->info.job_id, 0);
    HOOK(switch_p_free_jobinfo)(got);
    assert_int_equal(HOOK(switch_p_unpack_jobinfo)(&got, &buf, 0), 0);
    assert_int_equal(got->info.job_id, 42);
    assert_int_equal(got->info.prognum, 0);
    HOOK(switch_p_free_jobinfo)(got);
    /* The end of the buffer, and a blob that is none. */
    assert_int_equal(HOOK(switch_p_unpack_jobinfo)(&got, &buf, 0), SLURM_ERROR);
    assert_null(got);
    host.ctld = false;
    slurm_packmem("rubbish", 7, &buf);
    assert_int_equal(HOOK(switch_p_unpack_jobinfo)(&got, &buf, 0), SLURM_ERROR);
    assert_null(got);
    assert_non_null(strstr(host.last, "SF-E110"));
    host.ctld = true;
    HOOK(switch_p_free_jobinfo)(j);
}

/* A slurmctld that is told of an error ends, and so at each new start: its
 * state stays.  What could not be packed for want of memory is empty there. */
static void step_that_cannot_be_read_does_not_end_slurmctld(void **state)
{
    struct slurmabi_buf buf = {.len = 0};
    struct switch_jobinfo *j, *got;

    assert_int_equal(HOOK(switch_p_alloc_jobinfo)(&j, 42, 7), 0);
    assert_int_equal(HOOK(switch_p_pack_jobinfo)(j, &buf, 0), 0);
    buf.data[4 + 4 + 1]++; /* behind length and magic: the version */
    slurm_packmem("", 0, &buf);
    assert_int_equal(HOOK(switch_p_pack_jobinfo)(j, &buf, 0), 0);
    for (int i = 0; i < 2; i++) {
        host.errors = 0;
        got = NULL;
        assert_int_equal(HOOK(switch_p_unpack_jobinfo)(&got, &buf, 0), 0);
        assert_int_equal(host.errors, 1);
        assert_non_null(strstr(host.last, "SF-E114"));
        assert_int_equal(HOOK(switch_p_job_step_allocated)(got, "n0"), 0);
        assert_int_equal(HOOK(switch_p_job_step_complete)(got, "n0"), 0);
        HOOK(switch_p_free_jobinfo)(got);
    }
    assert_int_equal(HOOK(switch_p_unpack_jobinfo)(&got, &buf, 0), 0);
    assert_int_equal(got->info.job_id, 42);
    HOOK(switch_p_free_jobinfo)(got);
    HOOK(switch_p_free_jobinfo)(j);
}

static void never_built_job_info_in_every_order(void **state)
{
    struct switch_jobinfo *j, *copy;

    assert_int_equal(HOOK(switch_p_alloc_jobinfo)(&j, 42, 7), 0);
    HOOK(switch_p_job_complete)(42);
    assert_int_equal(HOOK(switch_p_job_step_allocated)(j, "n0"), 0);
    errno = ESLURM_INTERCONNECT_BUSY;
    assert_int_equal(HOOK(switch_p_job_step_complete)(j, "n0"), 0);
    assert_int_equal(HOOK(switch_p_job_step_complete)(j, "n0"), 0);
    assert_int_equal(errno, ESLURM_INTERCONNECT_BUSY);
    assert_int_equal(HOOK(switch_p_duplicate_jobinfo)(j, &copy), 0);
    assert_int_equal(copy->info.job_id, 42);
    HOOK(switch_p_free_jobinfo)(copy);
    HOOK(switch_p_free_jobinfo)(j);
}

static void reconfig_and_state_any_number_of_times(void **state)
{
    host.errors = 0;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(HOOK(switch_p_reconfig)(), 0);
        assert_int_equal(HOOK(switch_p_libstate_save)(state_dir), 0);
        assert_int_equal(HOOK(switch_p_libstate_restore)(state_dir, true), 0);
        assert_int_equal(HOOK(switch_p_libstate_restore)(state_dir, false), 0);
    }
    assert_int_equal(host.errors, 0);
    slurm_conf.switch_param = strdup("speed=11");
    assert_int_equal(HOOK(switch_p_reconfig)(), 0);
    assert_non_null(strstr(host.last, "speed=11: no such word"));
    free(slurm_conf.switch_param);
    slurm_conf.switch_param = NULL;
    assert_int_equal(HOOK(switch_p_reconfig)(), 0);
}

/* A step of job that was built once, with contexts of the node with Elan id 0
 * (0x500 and 0x501 if not said); what Slurm tells of each step that it
 * recovers. */
static void tell_of_wide_step(struct switch_jobinfo **j, uint32_t job,
                              uint32_t prognum, uint32_t low, uint32_t width)
{
    assert_int_equal(HOOK(switch_p_alloc_jobinfo)(j, job, 0), 0);
    (*j)->info.prognum = prognum;
    (*j)->info.low_context = low;
    (*j)->info.ncontexts = width;
    (*j)->info.nnodes = 1;
    (*j)->info.nodes = calloc(1, sizeof(uint32_t));
    host.errors = 0;
    assert_int_equal(HOOK(switch_p_job_step_allocated)(*j, "n0"), 0);
}

static void tell_of_step(struct switch_jobinfo **j, uint32_t job,
                         uint32_t prognum)
{
    tell_of_wide_step(j, job, prognum, 0x500, 2);
}

/* A slurmctld that is in charge a second time gets the steps told anew: those
 * that ended in between are not among them, and their contexts are others'. */
static void restore_forgets_what_was_live_before(void **state)
{
    struct switch_jobinfo *before, *other, *now;

    tell_of_step(&before, 1, 70);
    assert_int_equal(host.errors, 0);
    tell_of_step(&other, 2, 71);
    assert_int_equal(host.errors, 1);
    assert_non_null(strstr(host.last, "SF-E107"));
    assert_int_equal(HOOK(switch_p_libstate_restore)(state_dir, true), 0);
    tell_of_step(&now, 3, 72);
    assert_int_equal(host.errors, 0);
    assert_int_equal(HOOK(switch_p_job_step_complete)(now, "n0"), 0);
    HOOK(switch_p_free_jobinfo)(before);
    HOOK(switch_p_free_jobinfo)(other);
    HOOK(switch_p_free_jobinfo)(now);
}

static void hooks_after_fini_do_no_harm(void **state)
{
    int (*fini)(void) = (int (*)(void))(uintptr_t)sym("fini");
    struct switch_jobinfo *j;

    assert_int_equal(HOOK(switch_p_alloc_jobinfo)(&j, 42, 7), 0);
    assert_int_equal(fini(), SLURM_SUCCESS);
    assert_int_equal(fini(), SLURM_SUCCESS);
    assert_int_equal(HOOK(switch_p_job_step_complete)(j, "n0"), 0);
    assert_int_equal(HOOK(switch_p_libstate_save)(state_dir), 0);
    HOOK(switch_p_free_jobinfo)(j);
}

/* Two tasks on n0: the code for Slurm. */
static int build_on_n0(struct switch_jobinfo *j)
{
    uint16_t tasks[] = {2};
    uint32_t tids0[] = {0, 1}, *tids[] = {tids0};
    slurm_step_layout_t layout = {.node_cnt = 1,
                                  .node_list = "n0",
                                  .tasks = tasks,
                                  .task_cnt = 2,
                                  .task_dist = SLURM_DIST_BLOCK,
                                  .tids = tids};
    struct records records;

    host.errors = 0;
    host.last[0] = '\0';
    assert_int_equal(
        HOOK(switch_p_build_jobinfo)(j, &layout, fill_records(&records)),
        SLURM_ERROR);
    return errno;
}

/* Slurm asks again for what is BUSY, and gives up on all else. */
static void a_full_pool_is_told_as_busy(void **state)
{
    struct switch_jobinfo *all, *j;

    tell_of_wide_step(&all, 1, 70, ELAN_RMS_BASE_CONTEXT_NUM,
                      ELAN_RMS_TOP_CONTEXT_NUM - ELAN_RMS_BASE_CONTEXT_NUM + 1);
    assert_int_equal(host.errors, 0);
    assert_int_equal(HOOK(switch_p_alloc_jobinfo)(&j, 42, 7), 0);
    assert_int_equal(build_on_n0(j), ESLURM_INTERCONNECT_BUSY);
    assert_null(strstr(host.last, "SF-E103"));
    assert_int_equal(HOOK(switch_p_job_step_complete)(all, "n0"), 0);
    /* There is room, but no munged. */
    assert_int_equal(build_on_n0(j), ESLURM_INTERCONNECT_FAILURE);
    HOOK(switch_p_free_jobinfo)(all);
    HOOK(switch_p_free_jobinfo)(j);
}

/* A key that is not random is no key. */
static void no_random_bytes_no_step(void **state)
{
    struct switch_jobinfo *j;

    assert_int_equal(HOOK(switch_p_alloc_jobinfo)(&j, 42, 7), 0);
    no_random = true;
    assert_int_equal(build_on_n0(j), ESLURM_INTERCONNECT_FAILURE);
    no_random = false;
    assert_non_null(strstr(host.last, "SF-E103"));
    assert_non_null(strstr(host.last, "no random bytes: Input/output error"));
    HOOK(switch_p_free_jobinfo)(j);
}

/* munged is not there: the step is refused for good, and nothing is kept. */
static void failed_seal_keeps_nothing(void **state)
{
    struct switch_jobinfo *j;

    /* More often than there are contexts: a leak would turn FAILURE to BUSY. */
    for (int i = 0; i < 600; i++) {
        assert_int_equal(HOOK(switch_p_alloc_jobinfo)(&j, 42, 7), 0);
        assert_int_equal(build_on_n0(j), ESLURM_INTERCONNECT_FAILURE);
        assert_non_null(strstr(host.last, "SF-E103"));
        assert_int_equal(HOOK(switch_p_job_step_complete)(j, "n0"), 0);
        HOOK(switch_p_free_jobinfo)(j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(name_type_version_and_id),
        cmocka_unit_test(every_hook_is_there),
        cmocka_unit_test(nothing_but_hooks_is_seen),
        cmocka_unit_test(init_is_silent),
        cmocka_unit_test(init_of_nobody_prints_nothing),
        cmocka_unit_test(no_hook_minds_null),
        cmocka_unit_test(node_hooks_without_a_program),
        cmocka_unit_test(pack_and_unpack_null_and_never_built),
        cmocka_unit_test(never_built_job_info_in_every_order),
        cmocka_unit_test(reconfig_and_state_any_number_of_times),
        cmocka_unit_test(restore_forgets_what_was_live_before),
        cmocka_unit_test(step_that_cannot_be_read_does_not_end_slurmctld),
        cmocka_unit_test(a_full_pool_is_told_as_busy),
        cmocka_unit_test(no_random_bytes_no_step),
        cmocka_unit_test(hooks_after_fini_do_no_harm),
        cmocka_unit_test(failed_seal_keeps_nothing),
    };

    return cmocka_run_group_tests_name("switch_hooks", tests, load, unload);
}
