/* SPDX-License-Identifier: BSD-3-Clause
 * The hooks of Slurm 24.05 and later: every one is there, and none minds NULL,
 * never-built or repeated arguments.
 */
#include "elan/elanvp.h"
#include "elan/partition.h"
#include "switch_host.h"

#if SLURMABI_SINCE(25, 11)
#define FULL ESLURM_INTERCONNECT_FAILURE
#else
#define FULL ESLURM_INTERCONNECT_BUSY
#endif

static void every_hook_is_there(void **state)
{
    static const char *const hooks[] = {
        "plugin_id",
        "switch_p_save",
        "switch_p_restore",
        NAME_OF(switch_p_jobinfo_pack),
        NAME_OF(switch_p_jobinfo_unpack),
        NAME_OF(switch_p_jobinfo_free),
        NAME_OF(switch_p_stepinfo_build),
        NAME_OF(switch_p_stepinfo_duplicate),
        NAME_OF(switch_p_stepinfo_free),
        NAME_OF(switch_p_stepinfo_pack),
        NAME_OF(switch_p_stepinfo_unpack),
        "switch_p_setup_special_steps",
        "switch_p_job_channel",
        "switch_p_stepmgr_init",
        "switch_p_stepmgr_fini",
        "switch_p_extern_stepinfo",
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

#if SLURMABI_SINCE(25, 11)
    if (r)
        memcpy(r->step + slurmabi_layout()->step.layout, &layout,
               sizeof(layout));
    return HOOK(switch_p_stepinfo_build)(j, NULL, step);
#else
    return HOOK(switch_p_stepinfo_build)(j, layout, step);
#endif
}

static void no_hook_minds_null(void **state)
{
    struct switch_jobinfo *j = (void *)1;
    struct slurmabi_buf buf = {.len = 0};
    void *info = (void *)1;

    assert_int_equal(build(&j, NULL, NULL), SLURM_ERROR);
    assert_int_equal(errno, ESLURM_INTERCONNECT_FAILURE);
    assert_null(j);
    j = (void *)1;
    HOOK(switch_p_stepinfo_duplicate)(NULL, &j);
    assert_null(j);
    HOOK(switch_p_stepinfo_free)(NULL);
    HOOK(switch_p_jobinfo_pack)(NULL, &buf, 0);
    assert_int_equal(HOOK(switch_p_jobinfo_unpack)(&info, &buf, 0), 0);
    assert_null(info);
    assert_int_equal(buf.pos, buf.len); /* to the byte */
    assert_int_equal(HOOK(switch_p_jobinfo_unpack)(&info, &buf, 0),
                     SLURM_ERROR);
    assert_int_equal(HOOK(switch_p_job_step_complete)(NULL, NULL), 0);
    HOOK(switch_p_jobinfo_free)(NULL);
    HOOK(switch_p_job_complete)(NULL);
    HOOK(switch_p_extern_step_fini)(7);
#if SLURMABI_SINCE(25, 11)
    assert_int_equal(HOOK(switch_p_job_start)(NULL, true), SLURM_SUCCESS);
    assert_int_equal(HOOK(switch_p_job_start)(NULL, false), SLURM_SUCCESS);
#else
    HOOK(switch_p_job_start)(NULL);
#endif
    assert_int_equal(HOOK(switch_p_job_channel)(NULL, NULL), NO_VAL);
    assert_false(HOOK(switch_p_setup_special_steps)());
    assert_int_equal(HOOK(switch_p_stepmgr_init)(), SLURM_SUCCESS);
    HOOK(switch_p_stepmgr_fini)(7);
    j = (void *)1;
    HOOK(switch_p_extern_stepinfo)(&j, NULL);
    assert_null(j);
}

static void node_hooks_without_a_program(void **state)
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
    HOOK(switch_p_stepinfo_pack)(j, &buf, 0);
    HOOK(switch_p_stepinfo_free)(j);
    assert_int_equal(HOOK(switch_p_stepinfo_unpack)(&got, &buf, 0), 0);
    return got;
}

static void pack_and_unpack_null_and_never_built(void **state)
{
    struct slurmabi_buf buf = {.len = 0};
    struct switch_jobinfo *j = make_info(42, 0, 0, 0), *copy, *got = NULL;

    HOOK(switch_p_stepinfo_pack)(NULL, &buf, 0);
    HOOK(switch_p_stepinfo_pack)(j, &buf, 0);
    assert_int_equal(HOOK(switch_p_stepinfo_unpack)(&got, &buf, 0), 0);
    assert_int_equal(got->info.job_id, 0);
    HOOK(switch_p_stepinfo_free)(got);
    assert_int_equal(HOOK(switch_p_stepinfo_unpack)(&got, &buf, 0), 0);
    assert_int_equal(got->info.job_id, 42);
    HOOK(switch_p_stepinfo_duplicate)(got, &copy);
    assert_int_equal(copy->info.job_id, 42);
    HOOK(switch_p_stepinfo_free)(copy);
    HOOK(switch_p_stepinfo_free)(got);
    /* The end of the buffer, and a blob that is none. */
    assert_int_equal(HOOK(switch_p_stepinfo_unpack)(&got, &buf, 0),
                     SLURM_ERROR);
    assert_null(got);
    host.ctld = false;
    slurm_packmem("rubbish", 7, &buf);
    assert_int_equal(HOOK(switch_p_stepinfo_unpack)(&got, &buf, 0),
                     SLURM_ERROR);
    assert_null(got);
    assert_non_null(strstr(host.last, "SF-E110"));
    host.ctld = true;
    HOOK(switch_p_stepinfo_free)(j);
}

/* Of two steps that claim the same contexts one is told; after another start
 * only the steps that are alive then have theirs. */
static void books_are_those_of_the_steps_that_are_alive(void **state)
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
    HOOK(switch_p_stepinfo_free)(first);
    HOOK(switch_p_stepinfo_free)(second);
    HOOK(switch_p_stepinfo_free)(third);
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
    HOOK(switch_p_stepinfo_free)(seen);
    HOOK(switch_p_stepinfo_free)(held);
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
static void a_full_pool_is_told_as_busy(void **state)
{
    struct switch_jobinfo *j, *all = recover(1, 70, ELAN_RMS_BASE_CONTEXT_NUM,
                                             ELAN_RMS_TOP_CONTEXT_NUM -
                                                 ELAN_RMS_BASE_CONTEXT_NUM + 1);

    assert_int_equal(host.errors, 0);
    assert_int_equal(build_on_n0(&j), FULL);
    assert_int_equal(!strstr(host.last, "SF-E103"),
                     FULL != ESLURM_INTERCONNECT_FAILURE);
    HOOK(switch_p_stepinfo_free)(j);
    assert_int_equal(HOOK(switch_p_job_step_complete)(all, "n0"), 0);
    /* There is room, but no munged: nothing is kept of it. */
    for (int i = 0; i < 600; i++) {
        assert_int_equal(build_on_n0(&j), ESLURM_INTERCONNECT_FAILURE);
        assert_non_null(strstr(host.last, "SF-E103"));
        assert_int_equal(HOOK(switch_p_job_step_complete)(j, "n0"), 0);
        HOOK(switch_p_stepinfo_free)(j);
    }
    HOOK(switch_p_stepinfo_free)(all);
}

/* A key that is not random is no key. */
static void no_random_bytes_no_step(void **state)
{
    struct switch_jobinfo *j;

    no_random = true;
    assert_int_equal(build_on_n0(&j), ESLURM_INTERCONNECT_FAILURE);
    no_random = false;
    assert_non_null(strstr(host.last, "SF-E103"));
    assert_non_null(strstr(host.last, "no random bytes: Input/output error"));
    HOOK(switch_p_stepinfo_free)(j);
}

static void a_stepmgr_without_a_lease_gives_nothing(void **state)
{
    struct switch_jobinfo *j;

    host.ctld = false;
    assert_int_equal(build_on_n0(&j), ESLURM_INTERCONNECT_FAILURE);
    assert_non_null(strstr(host.last, "SF-E117"));
    HOOK(switch_p_stepinfo_free)(j);
    host.ctld = true;
}

/* A job that a stepmgr serves, as slurmctld finds it in its state; and again,
 * as it would any contexts that somebody has. */
static void a_lease_is_in_the_books_again(void **state)
{
    struct switch_jobinfo *lease = make_info(5, 4096, 0x500, 8), *step;
    struct slurmabi_buf buf = {.len = 0};
    void *got;

    lease->info.step_id = ELAN_LEASE_STEP;
    HOOK(switch_p_jobinfo_pack)(lease, &buf, 0);
    host.errors = 0;
    assert_int_equal(HOOK(switch_p_jobinfo_unpack)(&got, &buf, 0), 0);
    assert_non_null(got);
    assert_int_equal(host.errors, 0);
    step = recover(6, 5000, 0x505, 1); /* its contexts */
    assert_int_equal(host.errors, 1);
    assert_non_null(strstr(host.last, "SF-E107"));
    HOOK(switch_p_stepinfo_free)(step);
    step = recover(6, 4097, 0x600, 1); /* its numbers */
    assert_int_equal(host.errors, 1);
    HOOK(switch_p_stepinfo_free)(step);
    HOOK(switch_p_job_complete)(NULL); /* no record of the job: it is over */
    step = recover(6, 4097, 0x505, 1);
    assert_int_equal(host.errors, 0);
    assert_int_equal(HOOK(switch_p_job_step_complete)(step, "n0"), 0);
    HOOK(switch_p_stepinfo_free)(step);
    HOOK(switch_p_stepinfo_free)(got);
    HOOK(switch_p_stepinfo_free)(lease);
}

static void hooks_after_fini_do_no_harm(void **state)
{
    int (*fini)(void) = (int (*)(void))(uintptr_t)sym("fini");
    struct switch_jobinfo *j = make_info(42, 0, 0, 0);

    assert_int_equal(fini(), SLURM_SUCCESS);
    assert_int_equal(fini(), SLURM_SUCCESS);
    assert_int_equal(HOOK(switch_p_job_step_complete)(j, "n0"), 0);
    assert_int_equal(HOOK(switch_p_save)(), 0);
    HOOK(switch_p_stepinfo_free)(j);
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
        cmocka_unit_test(books_are_those_of_the_steps_that_are_alive),
        cmocka_unit_test(only_slurmctld_keeps_books),
        cmocka_unit_test(a_full_pool_is_told_as_busy),
        cmocka_unit_test(no_random_bytes_no_step),
        cmocka_unit_test(a_stepmgr_without_a_lease_gives_nothing),
        cmocka_unit_test(a_lease_is_in_the_books_again),
        cmocka_unit_test(hooks_after_fini_do_no_harm),
    };

    return cmocka_run_group_tests_name("switch_hooks_24_05", tests, load,
                                       unload);
}
