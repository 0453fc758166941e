/* SPDX-License-Identifier: BSD-3-Clause
 * Slurm's private records, read from fakes laid out as the table says.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "slurmabi/layout.h"
#include "slurmabi/step.h"
#include "slurmabi/stepd.h"

static int cred_locks;

void *slurm_cred_get_args(struct slurmabi_cred *cred)
{
    cred_locks++;
    return cred; /* a fake is its own */
}

void slurm_cred_unlock_args(struct slurmabi_cred *cred)
{
    cred_locks--;
}

const char *conf; /* as slurmstepd has it */

struct fakes {
    char stepd[1024], step[1024], job[2048];
    struct slurmabi_plugin_data wrapped;
    char *env[2];
    char task[3][256];
    char *tasks[3];
    char launch[1024], cred[512];
};

static struct slurmabi_stepd *stepd_of(struct fakes *f)
{
    return (struct slurmabi_stepd *)f->stepd;
}

static struct slurmabi_step *step_of(struct fakes *f)
{
    return (struct slurmabi_step *)f->step;
}

static void put32(char *record, size_t offset, uint32_t v)
{
    memcpy(record + offset, &v, sizeof(v));
}

static void put_pointer(char *record, size_t offset, const void *p)
{
    memcpy(record + offset, &p, sizeof(p));
}

static void fill_stepd(struct fakes *f, const struct slurmabi_layout *l)
{
    slurm_step_id_t id = {.job_id = 77, .step_het_comp = NO_VAL, .step_id = 3};

    memcpy(f->stepd + l->stepd.step_id, &id, sizeof(id));
    put32(f->stepd, l->stepd.nnodes, 4);
    put32(f->stepd, l->stepd.ntasks, 9);
    put32(f->stepd, l->stepd.nodeid, 2);
    put32(f->stepd, l->stepd.node_tasks, 3);
    put32(f->stepd, l->stepd.het_job_id, 70);
    put32(f->stepd, l->stepd.het_job_offset, 1);
    put32(f->stepd, l->stepd.het_job_step_cnt, 2);
    put32(f->stepd, l->stepd.het_job_task_offset, 5);
    put32(f->stepd, l->stepd.uid, 1000);
    put32(f->stepd, l->stepd.gid, 1001);
    put_pointer(f->stepd, l->stepd.env, f->env);
    f->wrapped.data = f;
    put_pointer(f->stepd, l->stepd.switch_job, &f->wrapped);
    for (uint32_t i = 0; i < 3; i++) {
        f->tasks[i] = f->task[i];
        put32(f->task[i], l->task.id, i);
        put32(f->task[i], l->task.pid, 500 + i);
        put32(f->task[i], l->task.status, (uint32_t)-1);
    }
    put_pointer(f->stepd, l->stepd.tasks, f->tasks);
    memcpy(f->cred + l->cred.step_id, &id, sizeof(id));
    put32(f->cred, l->cred.uid, 1000);
    memcpy(f->cred + l->cred.restarts, &(uint16_t){5}, sizeof(uint16_t));
    put_pointer(f->launch, l->launch.cred, f->cred);
    put_pointer(f->stepd, l->stepd.msg, f->launch);
}

static void fill_step(struct fakes *f, const struct slurmabi_layout *l)
{
    slurm_step_id_t id = {.job_id = 77, .step_het_comp = 1, .step_id = 3};

    put32(f->step, l->step.magic_at, l->step.magic);
    memcpy(f->step + l->step.step_id, &id, sizeof(id));
    put_pointer(f->step, l->step.job_ptr, f->job);
    put_pointer(f->step, l->step.network, "rails=2");
    put_pointer(f->step, l->step.host, "login");
    memcpy(f->step + l->step.port, &(uint16_t){4711}, sizeof(uint16_t));
    put32(f->job, l->job.magic_at, l->job.magic);
    put32(f->job, l->job.job_id, 77);
    put32(f->job, l->job.het_job_id, 76);
    put32(f->job, l->job.het_job_offset, 1);
    put32(f->job, l->job.user_id, 1000);
    memcpy(f->job + l->job.restarts, &(uint16_t){6}, sizeof(uint16_t));
}

static int setup(void **state)
{
    struct fakes *f = calloc(1, sizeof(*f));

    assert_non_null(slurmabi_layout());
    fill_stepd(f, slurmabi_layout());
    fill_step(f, slurmabi_layout());
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

static void versions_without_a_layout_are_refused(void **state)
{
    assert_non_null(slurmabi_layout_find(SLURM_VERSION_NUM(22, 5, 8)));
    assert_null(slurmabi_layout_find(SLURM_VERSION_NUM(21, 8, 8)));
    assert_null(slurmabi_layout_find(SLURM_VERSION_NUM(22, 5, 12)));
    assert_null(slurmabi_layout_find(SLURM_VERSION_NUM(23, 2, 9)));
    assert_null(slurmabi_layout_find(SLURM_VERSION_NUM(24, 11, 8)));
}

static void versions_that_lose_what_steps_were_given(void **state)
{
    assert_false(slurmabi_step_info_is_lost(SLURM_VERSION_NUM(24, 5, 8)));
    assert_true(slurmabi_step_info_is_lost(SLURM_VERSION_NUM(24, 11, 0)));
    assert_true(slurmabi_step_info_is_lost(SLURM_VERSION_NUM(24, 11, 4)));
    assert_false(slurmabi_step_info_is_lost(SLURM_VERSION_NUM(24, 11, 5)));
}

/* 23.02.1 moved what 23.02.0 has. */
static void a_release_has_the_row_that_was_measured_on_it(void **state)
{
    const struct slurmabi_layout *old = slurmabi_layout_find(
                                     SLURM_VERSION_NUM(23, 2, 0)),
                                 *new = slurmabi_layout_find(
                                     SLURM_VERSION_NUM(23, 2, 1)),
                                 *last = slurmabi_layout_find(
                                     SLURM_VERSION_NUM(23, 11, 11));

    assert_int_equal(old->stepd.msg, 704);
    assert_int_equal(new->stepd.msg, 792);
    assert_int_equal(last->stepd.msg, 808);
    assert_int_equal(last->job.user_id, 1064);
}

static void stepd_members_come_from_their_places(void **state)
{
    struct fakes *f = *state;
    struct slurmabi_stepd *s = stepd_of(f);

    assert_int_equal(slurmabi_stepd_check(s, NULL), 0);
    assert_int_equal(slurmabi_stepd_step_id(s).job_id, 77);
    assert_int_equal(slurmabi_stepd_step_id(s).step_id, 3);
    assert_int_equal(slurmabi_stepd_uid(s), 1000);
    assert_int_equal(slurmabi_stepd_gid(s), 1001);
    assert_int_equal(slurmabi_stepd_nnodes(s), 4);
    assert_int_equal(slurmabi_stepd_ntasks(s), 9);
    assert_int_equal(slurmabi_stepd_nodeid(s), 2);
    assert_int_equal(slurmabi_stepd_node_tasks(s), 3);
    assert_int_equal(slurmabi_stepd_het_job_id(s), 70);
    assert_int_equal(slurmabi_stepd_het_job_offset(s), 1);
    assert_int_equal(slurmabi_stepd_het_job_step_cnt(s), 2);
    assert_int_equal(slurmabi_stepd_het_job_task_offset(s), 5);
    assert_ptr_equal(slurmabi_stepd_env(s), f->env);
    assert_ptr_equal(slurmabi_stepd_switch_job(s), f);
}

static void stepd_knows_how_a_task_ended(void **state)
{
    const struct slurmabi_layout *l = slurmabi_layout();
    struct fakes *f = *state;
    struct slurmabi_stepd *s = stepd_of(f);

    assert_int_equal(slurmabi_stepd_task_status(s, 501), -1);
    put32(f->task[1], l->task.status, 9);
    assert_int_equal(slurmabi_stepd_task_status(s, 501), 9);
    assert_int_equal(slurmabi_stepd_task_status(s, 502), -1);
    assert_int_equal(slurmabi_stepd_task_status(s, 503), -1);
    assert_int_equal(slurmabi_stepd_task_pid(s, 0), 500);
    assert_int_equal(slurmabi_stepd_task_pid(s, 1), 0); /* reaped */
    put32(f->task[2], l->task.pid, 0);                  /* not started */
    assert_int_equal(slurmabi_stepd_task_pid(s, 2), 0);
    put32(f->task[2], l->task.pid, 502);
    assert_int_equal(slurmabi_stepd_task_pid(s, 2), 502);
    put32(f->task[1], l->task.id, 7); /* another layout than ours */
    assert_int_equal(slurmabi_stepd_task_status(s, 501), -1);
    assert_int_equal(slurmabi_stepd_task_pid(s, 1), 0);
    put_pointer(f->stepd, l->stepd.tasks, NULL);
    assert_int_equal(slurmabi_stepd_task_status(s, 500), -1);
}

static void refuse_cred(struct fakes *f, const char *word)
{
    struct errbuf err;
    uint16_t n;

    assert_int_equal(slurmabi_stepd_job_restarts(stepd_of(f), &n, &err), -1);
    assert_int_equal(errno, EINVAL);
    assert_non_null(strstr(err.text, word));
    assert_int_equal(cred_locks, 0);
}

static void stepd_credential_knows_the_run_of_the_job(void **state)
{
    const struct slurmabi_layout *l = slurmabi_layout();
    struct fakes *f = *state;
    uint16_t n = 0;

    assert_int_equal(slurmabi_stepd_job_restarts(stepd_of(f), &n, NULL), 0);
    assert_int_equal(n, 5);
    assert_int_equal(cred_locks, 0);
    put32(f->cred, l->cred.uid, 1001);
    refuse_cred(f, "uid of the credential");
    put32(f->cred, l->cred.step_id + offsetof(slurm_step_id_t, step_id), 4);
    refuse_cred(f, "step of the credential");
    put_pointer(f->launch, l->launch.cred, NULL);
    refuse_cred(f, "credential");
    put_pointer(f->stepd, l->stepd.msg, NULL);
    refuse_cred(f, "credential");
}

static void refuse_stepd(struct fakes *f, uint16_t offset, uint32_t v,
                         const char *word)
{
    struct errbuf err;

    fill_stepd(f, slurmabi_layout());
    put32(f->stepd, offset, v);
    assert_int_equal(slurmabi_stepd_check(stepd_of(f), &err), -1);
    assert_int_equal(errno, EINVAL);
    assert_non_null(strstr(err.text, word));
}

static void stepd_record_that_contradicts_the_layout_is_refused(void **state)
{
    const struct slurmabi_layout *l = slurmabi_layout();
    struct fakes *f = *state;

    refuse_stepd(f, l->stepd.step_id + offsetof(slurm_step_id_t, job_id), 0,
                 "job_id");
    refuse_stepd(f, l->stepd.nnodes, 0, "nnodes");
    refuse_stepd(f, l->stepd.ntasks, NO_VAL, "ntasks");
    refuse_stepd(f, l->stepd.nodeid, 4, "nodeid");
    refuse_stepd(f, l->stepd.node_tasks, 10, "node_tasks");
    assert_int_equal(slurmabi_stepd_check(NULL, NULL), -1);
}

static void stepd_without_switch_info_gives_null(void **state)
{
    struct fakes *f = *state;

    put_pointer(f->stepd, slurmabi_layout()->stepd.switch_job, NULL);
    assert_null(slurmabi_stepd_switch_job(stepd_of(f)));
}

static void step_members_come_from_their_places(void **state)
{
    struct slurmabi_step *s = step_of(*state);

    assert_int_equal(slurmabi_step_check(s, 77, 3, NULL), 0);
    assert_int_equal(slurmabi_step_step_id(s).step_het_comp, 1);
    assert_string_equal(slurmabi_step_network(s), "rails=2");
    assert_string_equal(slurmabi_step_host(s), "login");
    assert_int_equal(slurmabi_step_port(s), 4711);
    assert_int_equal(slurmabi_step_uid(s), 1000);
    assert_int_equal(slurmabi_step_job_restarts(s), 6);
    assert_int_equal(slurmabi_step_het_job_id(s), 76);
    assert_int_equal(slurmabi_step_het_job_offset(s), 1);
}

static void refuse_step(struct fakes *f, uint32_t job, uint32_t step,
                        const char *word)
{
    struct errbuf err;

    assert_int_equal(slurmabi_step_check(step_of(f), job, step, &err), -1);
    assert_int_equal(errno, EINVAL);
    assert_non_null(strstr(err.text, word));
}

static void step_record_with_wrong_magic_or_id_is_refused(void **state)
{
    const struct slurmabi_layout *l = slurmabi_layout();
    struct fakes *f = *state;

    refuse_step(f, 78, 3, "step_id");
    refuse_step(f, 77, 4, "step_id");
    put32(f->job, l->job.job_id, 78);
    refuse_step(f, 77, 3, "job_id");
    put32(f->job, 0, 1);
    refuse_step(f, 77, 3, "magic of the job");
    put_pointer(f->step, l->step.job_ptr, NULL);
    refuse_step(f, 77, 3, "magic of the job");
    put32(f->step, 0, 1);
    refuse_step(f, 77, 3, "magic of the step");
    assert_int_equal(slurmabi_step_check(NULL, 77, 3, NULL), -1);
}

static void node_name_comes_from_the_daemons_configuration(void **state)
{
    static char fake[8192];

    (void)state;
    assert_null(slurmabi_node_name());
    put_pointer(fake, slurmabi_layout()->conf_node_name, "n7");
    conf = fake;
    assert_string_equal(slurmabi_node_name(), "n7");
    conf = NULL;
}

static void mpi_structs_have_slurms_sizes(void **state)
{
    bool longer_id = SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 11, 0);
    bool with_self = SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 11, 0);

    assert_int_equal(sizeof(slurm_step_id_t), longer_id ? 24 : 12);
    assert_int_equal(sizeof(struct slurmabi_mpi_client), longer_id ? 40 : 32);
    assert_int_equal(sizeof(struct slurmabi_mpi_task),
                     longer_id || with_self ? 56 : 48);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(versions_without_a_layout_are_refused),
        TEST(versions_that_lose_what_steps_were_given),
        TEST(a_release_has_the_row_that_was_measured_on_it),
        TEST(stepd_members_come_from_their_places),
        TEST(stepd_knows_how_a_task_ended),
        TEST(stepd_credential_knows_the_run_of_the_job),
        TEST(stepd_record_that_contradicts_the_layout_is_refused),
        TEST(stepd_without_switch_info_gives_null),
        TEST(step_members_come_from_their_places),
        TEST(step_record_with_wrong_magic_or_id_is_refused),
        TEST(node_name_comes_from_the_daemons_configuration),
        TEST(mpi_structs_have_slurms_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
