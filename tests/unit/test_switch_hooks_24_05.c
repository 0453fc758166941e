/* SPDX-License-Identifier: BSD-3-Clause
 * The hooks of Slurm 24.05 and later: every one is there, and none minds NULL,
 * never-built or repeated arguments.
 */
#include "elan/elanvp.h"
#include "switch_host.h"

#if SLURMABI_HOOKS_25_11
#define PACK switch_p_stepinfo_pack
#define UNPACK switch_p_stepinfo_unpack
#define FREE switch_p_stepinfo_free
#define DUPLICATE switch_p_stepinfo_duplicate
#define PACK_JOB switch_p_jobinfo_pack
#define UNPACK_JOB switch_p_jobinfo_unpack
#define FREE_JOB switch_p_jobinfo_free
#define FULL ESLURM_INTERCONNECT_FAILURE
#else
#define PACK switch_p_pack_stepinfo
#define UNPACK switch_p_unpack_stepinfo
#define FREE switch_p_free_stepinfo
#define DUPLICATE switch_p_duplicate_stepinfo
#define PACK_JOB switch_p_pack_jobinfo
#define UNPACK_JOB switch_p_unpack_jobinfo
#define FREE_JOB switch_p_free_jobinfo
#define FULL ESLURM_INTERCONNECT_BUSY
#endif

static void sl_02_every_hook_is_there(void **state)
{
    static const char *const hooks[] = {
        "plugin_id",
        "switch_p_save",
        "switch_p_restore",
#if SLURMABI_HOOKS_25_11
        "switch_p_jobinfo_pack",
        "switch_p_jobinfo_unpack",
        "switch_p_jobinfo_free",
        "switch_p_stepinfo_build",
        "switch_p_stepinfo_duplicate",
        "switch_p_stepinfo_free",
        "switch_p_stepinfo_pack",
        "switch_p_stepinfo_unpack",
        "switch_p_setup_special_steps",
        "switch_p_job_channel",
        "switch_p_stepmgr_init",
        "switch_p_stepmgr_fini",
#else
        "switch_p_pack_jobinfo",
        "switch_p_unpack_jobinfo",
        "switch_p_free_jobinfo",
        "switch_p_build_stepinfo",
        "switch_p_duplicate_stepinfo",
        "switch_p_free_stepinfo",
        "switch_p_pack_stepinfo",
        "switch_p_unpack_stepinfo",
        "switch_p_extern_stepinfo",
#endif
        "switch_p_job_preinit",
        "switch_p_job_init",
        "switch_p_job_postfini",
        "switch_p_job_attach",
        "switch_p_job_step_complete",
        "switch_p_job_start",
        "switch_p_job_complete",
        "switch_p_fs_init",
        "switch_p_extern_step_fini",
    };

    for (uint32_t i = 0; i < N_OF(hooks); i++)
        sym(hooks[i]);
}

static int build(struct switch_jobinfo **j, slurm_step_layout_t *layout,
                 struct records *r)
{
    struct slurmabi_step *step = r ? fill_records(r) : NULL;

#if SLURMABI_HOOKS_25_11
    if (r)
        memcpy(r->step + slurmabi_layout()->step.layout, &layout,
               sizeof(layout));
    return HOOK(switch_p_stepinfo_build)(j, NULL, step);
#else
    return HOOK(switch_p_build_stepinfo)(j, layout, step);
#endif
}

static void sl_02_no_hook_minds_null(void **state)
{
    struct switch_jobinfo *j = (void *)1;
    struct slurmabi_buf buf = {.len = 0};
    void *info = (void *)1;

    assert_int_equal(build(&j, NULL, NULL), SLURM_ERROR);
    assert_int_equal(errno, ESLURM_INTERCONNECT_FAILURE);
    assert_null(j);
    j = (void *)1;
    HOOK(DUPLICATE)(NULL, &j);
    assert_null(j);
    HOOK(FREE)(NULL);
    HOOK(PACK_JOB)(NULL, &buf, 0);
    assert_int_equal(buf.len, 0); /* what unpack takes, to the byte */
    assert_int_equal(HOOK(UNPACK_JOB)(&info, &buf, 0), 0);
    assert_null(info);
    assert_int_equal(HOOK(switch_p_job_step_complete)(NULL, NULL), 0);
    HOOK(FREE_JOB)(NULL);
    HOOK(switch_p_job_complete)(NULL);
    HOOK(switch_p_extern_step_fini)(7);
#if SLURMABI_HOOKS_25_11
    assert_int_equal(HOOK(switch_p_job_start)(NULL, true), SLURM_SUCCESS);
    assert_int_equal(HOOK(switch_p_job_start)(NULL, false), SLURM_SUCCESS);
    assert_int_equal(HOOK(switch_p_job_channel)(NULL, NULL), NO_VAL);
    assert_false(HOOK(switch_p_setup_special_steps)());
    assert_int_equal(HOOK(switch_p_stepmgr_init)(), SLURM_SUCCESS);
    HOOK(switch_p_stepmgr_fini)(7);
#else
    HOOK(switch_p_job_start)(NULL);
    j = (void *)1;
    HOOK(switch_p_extern_stepinfo)(&j, NULL);
    assert_null(j);
#endif
}

static void sl_02_node_hooks_without_a_program(void **state)
{
    char **env = NULL;

    /* A refused step goes on to its tasks, and not one of them gets past. */
    assert_int_equal(HOOK(switch_p_job_init)(NULL), SLURM_SUCCESS);
    assert_int_equal(HOOK(switch_p_fs_init)(NULL), SLURM_SUCCESS);
    assert_int_equal(HOOK(switch_p_job_attach)(NULL, &env, 0, 0, 1, 1, 0),
                     SLURM_ERROR);
    assert_int_equal(HOOK(switch_p_job_postfini)(NULL), 0);
    assert_int_equal(HOOK(switch_p_job_postfini)(NULL), 0);
}

/* As slurmctld packed it before it ended; freed by the caller. */
static struct switch_jobinfo *make_info(uint32_t job, uint32_t prognum,
                                        uint32_t low, uint32_t width)
{
    struct switch_jobinfo *j = calloc(1, sizeof(*j));

    j->magic = SWITCH_ELAN_MAGIC;
    j->info.job_id = job;
    j->info.het_comp = NO_VAL;
    j->info.prognum = prognum;
    j->info.low_context = low;
    j->info.ncontexts = width;
    j->info.nnodes = width ? 1 : 0;
    j->info.nodes = width ? calloc(1, sizeof(uint32_t)) : NULL;
    return j;
}

/* Slurm's books of a step that it finds alive: unpacked, in slurmctld. */
static struct switch_jobinfo *recover(uint32_t job, uint32_t prognum,
                                      uint32_t low, uint32_t width)
{
    struct switch_jobinfo *j = make_info(job, prognum, low, width), *got;
    struct slurmabi_buf buf = {.len = 0};

    host.errors = 0;
    HOOK(PACK)(j, &buf, 0);
    HOOK(FREE)(j);
    assert_int_equal(HOOK(UNPACK)(&got, &buf, 0), 0);
    return got;
}

static void sl_08_pack_and_unpack_null_and_never_built(void **state)
{
    struct slurmabi_buf buf = {.len = 0};
    struct switch_jobinfo *j = make_info(42, 0, 0, 0), *copy, *got = NULL;

    HOOK(PACK)(NULL, &buf, 0);
    HOOK(PACK)(j, &buf, 0);
    assert_int_equal(HOOK(UNPACK)(&got, &buf, 0), 0);
    assert_int_equal(got->info.job_id, 0);
    HOOK(FREE)(got);
    assert_int_equal(HOOK(UNPACK)(&got, &buf, 0), 0);
    assert_int_equal(got->info.job_id, 42);
    HOOK(DUPLICATE)(got, &copy);
    assert_int_equal(copy->info.job_id, 42);
    HOOK(FREE)(copy);
    HOOK(FREE)(got);
    /* The end of the buffer, and a blob that is none. */
    assert_int_equal(HOOK(UNPACK)(&got, &buf, 0), SLURM_ERROR);
    assert_null(got);
    host.ctld = false;
    slurm_packmem("rubbish", 7, &buf);
    assert_int_equal(HOOK(UNPACK)(&got, &buf, 0), SLURM_ERROR);
    assert_null(got);
    assert_non_null(strstr(host.last, "SF-E110"));
    host.ctld = true;
    HOOK(FREE)(j);
}

/* Of two steps that claim the same contexts one is told; after another start
 * only the steps that are alive then have theirs. */
static void sl_11_books_are_those_of_the_steps_that_are_alive(void **state)
{
    struct switch_jobinfo *first = recover(1, 70, 0x500, 2), *second, *third;

    assert_int_equal(host.errors, 0);
    second = recover(2, 71, 0x500, 2);
    assert_int_equal(host.errors, 1);
    assert_non_null(strstr(host.last, "SF-E107"));
    assert_int_equal(HOOK(switch_p_save)(), 0);
    assert_int_equal(HOOK(switch_p_restore)(true), 0);
    third = recover(3, 72, 0x500, 2);
    assert_int_equal(host.errors, 0);
    assert_int_equal(HOOK(switch_p_job_step_complete)(third, "n0"), 0);
    HOOK(FREE)(first);
    HOOK(FREE)(second);
    HOOK(FREE)(third);
}

/* What slurmd and srun unpack is nothing for the books. */
static void only_slurmctld_keeps_books(void **state)
{
    struct switch_jobinfo *seen, *held;

    host.ctld = false;
    seen = recover(1, 70, 0x500, 2);
    host.ctld = true;
    held = recover(2, 71, 0x500, 2);
    assert_int_equal(host.errors, 0);
    assert_int_equal(HOOK(switch_p_job_step_complete)(held, "n0"), 0);
    HOOK(FREE)(seen);
    HOOK(FREE)(held);
}

/* Two tasks on n0: the code for Slurm. */
static int build_on_n0(struct switch_jobinfo **j)
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
    assert_int_equal(build(j, &layout, &records), SLURM_ERROR);
    return errno;
}

/* Slurm asks again for what is BUSY, where it knows that, and gives up on all
 * else. */
static void sl_05_a_full_pool_is_told_as_busy(void **state)
{
    struct switch_jobinfo *j, *all = recover(1, 70, ELAN_RMS_BASE_CONTEXT_NUM,
                                             ELAN_RMS_TOP_CONTEXT_NUM -
                                                 ELAN_RMS_BASE_CONTEXT_NUM + 1);

    assert_int_equal(host.errors, 0);
    assert_int_equal(build_on_n0(&j), FULL);
    assert_int_equal(!strstr(host.last, "SF-E103"),
                     FULL != ESLURM_INTERCONNECT_FAILURE);
    HOOK(FREE)(j);
    assert_int_equal(HOOK(switch_p_job_step_complete)(all, "n0"), 0);
    /* There is room, but no munged: nothing is kept of it. */
    for (int i = 0; i < 600; i++) {
        assert_int_equal(build_on_n0(&j), ESLURM_INTERCONNECT_FAILURE);
        assert_non_null(strstr(host.last, "SF-E103"));
        assert_int_equal(HOOK(switch_p_job_step_complete)(j, "n0"), 0);
        HOOK(FREE)(j);
    }
    HOOK(FREE)(all);
}

static void a_stepmgr_has_no_contexts_to_give(void **state)
{
    struct switch_jobinfo *j;

    host.ctld = false;
    assert_int_equal(build_on_n0(&j), ESLURM_INTERCONNECT_FAILURE);
    assert_non_null(strstr(host.last, "SF-E117"));
    assert_null(j);
    host.ctld = true;
}

static void sl_02_hooks_after_fini_do_no_harm(void **state)
{
    int (*fini)(void) = (int (*)(void))(uintptr_t)sym("fini");
    struct switch_jobinfo *j = make_info(42, 0, 0, 0);

    assert_int_equal(fini(), SLURM_SUCCESS);
    assert_int_equal(fini(), SLURM_SUCCESS);
    assert_int_equal(HOOK(switch_p_job_step_complete)(j, "n0"), 0);
    assert_int_equal(HOOK(switch_p_save)(), 0);
    HOOK(FREE)(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sl_01_name_type_version_and_id),
        cmocka_unit_test(sl_02_every_hook_is_there),
        cmocka_unit_test(sl_02_nothing_but_hooks_is_seen),
        cmocka_unit_test(sl_03_init_is_silent),
        cmocka_unit_test(sl_03_init_of_nobody_prints_nothing),
        cmocka_unit_test(sl_02_no_hook_minds_null),
        cmocka_unit_test(sl_02_node_hooks_without_a_program),
        cmocka_unit_test(sl_08_pack_and_unpack_null_and_never_built),
        cmocka_unit_test(sl_11_books_are_those_of_the_steps_that_are_alive),
        cmocka_unit_test(only_slurmctld_keeps_books),
        cmocka_unit_test(sl_05_a_full_pool_is_told_as_busy),
        cmocka_unit_test(a_stepmgr_has_no_contexts_to_give),
        cmocka_unit_test(sl_02_hooks_after_fini_do_no_harm),
    };

    return cmocka_run_group_tests_name("switch_hooks_24_05", tests, load,
                                       unload);
}
