/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The hooks of Slurm 24.05 to 26.05, by their names since 25.11; slurm_sym.h
 * has the older ones.  (Each release asks for some that others do not know.)
 * Against 22.05:
 *
 * - Making a step's info and building the step is one call, so that the step's
 *   ids come from its record alone.
 * - Only the info of steps that slurmctld finds alive when it starts is
 *   unpacked there, so that is where the books learn of them.
 * - Nothing is called between a task's end and the end of all that is in the
 *   step's container; impid is not in there (mpi_impi/agent.c), and what
 *   escaped the container ends with the program, in job_postfini.
 * - Nothing is called when a step is suspended: slurmstepd is asked
 *   (suspend_watch.h).
 * - scontrol reconfigure starts slurmctld anew.
 * - The steps of a job may be made by a stepmgr, which is root of a node: the
 *   job has a lease (elan/lease.h) as its info.
 * - From 25.11 on a step that cannot be built is refused: srun asks no more;
 *   and the layout of a step comes by its record.
 */

#include "plugins/switch_elan/hooks.h"
#include "plugins/switch_elan/sweep.h"
#include "slurmabi/job.h"
#include "slurmabi/step.h"

/* ---- every process ------------------------------------------------------- */

void switch_p_stepinfo_free(struct switch_jobinfo *j)
{
    switch_elan_info_destroy(j);
}

void switch_p_stepinfo_duplicate(struct switch_jobinfo *src,
                                 struct switch_jobinfo **dst)
{
    *dst = src ? switch_elan_info_copy(src) : NULL;
}

void switch_p_stepinfo_pack(struct switch_jobinfo *j, struct slurmabi_buf *buf,
                            uint16_t protocol)
{
    switch_elan_info_pack(j, buf);
}

int switch_p_stepinfo_unpack(struct switch_jobinfo **out,
                             struct slurmabi_buf *buf, uint16_t protocol)
{
    *out = switch_elan_info_unpack(buf);
    if (*out && slurmabi_in_slurmctld())
        switch_elan_recover(*out);
    return *out ? SLURM_SUCCESS : SLURM_ERROR;
}

/* A job's lease: a step's info; never built when the job has none. */
void switch_p_jobinfo_pack(void *info, struct slurmabi_buf *buf,
                           uint16_t protocol)
{
    switch_elan_info_pack(info, buf);
}

int switch_p_jobinfo_unpack(void **info, struct slurmabi_buf *buf,
                            uint16_t protocol)
{
    struct switch_jobinfo *j = switch_elan_info_unpack(buf);

    *info = NULL;
    if (!j)
        return SLURM_ERROR;
    if (j->info.prognum == 0) {
        switch_elan_info_destroy(j);
        return SLURM_SUCCESS;
    }
    if (slurmabi_in_slurmctld())
        switch_elan_recover(j);
    *info = j;
    return SLURM_SUCCESS;
}

/* Slurm deletes the record. */
void switch_p_jobinfo_free(struct slurmabi_job *job)
{
    void **info = slurmabi_job_is_good(job) ? slurmabi_job_switch(job) : NULL;

    if (!info)
        return;
    switch_elan_info_destroy(*info);
    *info = NULL;
}

/* ---- slurmctld ----------------------------------------------------------- */

int switch_p_save(void)
{
    switch_elan_save();
    return SLURM_SUCCESS;
}

/* Failing here would end slurmctld. */
int switch_p_restore(bool recover)
{
    switch_elan_restore(recover);
    if (recover && slurmabi_step_info_is_lost(SLURM_VERSION_NUMBER))
        slurm_error("SF-E115 switch/elan: slurmctld of 24.11.0 to 24.11.4 does "
                    "not read again what steps that live were given (24.11.5 "
                    "does): other steps may be given their contexts before "
                    "they end");
    return SLURM_SUCCESS;
}

static enum switch_elan_built build(struct switch_jobinfo **out,
                                    const slurm_step_layout_t *layout,
                                    const struct slurmabi_step *record,
                                    bool can_wait)
{
    struct errbuf err = {""};
    slurm_step_id_t id;

    *out = NULL;
    if (slurmabi_step_identify(record, &id, &err) < 0) {
        slurm_error("SF-E103 switch/elan: a step is refused: %s", err.text);
        return SWITCH_ELAN_REFUSED;
    }
    if (!layout)
        layout = slurmabi_step_layout(record);
    *out = switch_elan_info_create(id.job_id, id.step_id);
    return switch_elan_build(*out, layout, record, can_wait);
}

#if SLURMABI_SINCE(25, 11)
int switch_p_stepinfo_build(struct switch_jobinfo **out, void *jobinfo,
                            struct slurmabi_step *record)
{
    return switch_elan_answer(build(out, NULL, record, false));
}

/* With test_only it is asked before slurmctld says which nodes the job gets. */
int switch_p_job_start(struct slurmabi_job *job, bool test_only)
{
    if (!test_only)
        switch_elan_job_start(job);
    return SLURM_SUCCESS;
}
#else
int switch_p_stepinfo_build(struct switch_jobinfo **out,
                            slurm_step_layout_t *layout,
                            struct slurmabi_step *record)
{
    return switch_elan_answer(build(out, layout, record, true));
}

void switch_p_job_start(struct slurmabi_job *job)
{
    switch_elan_job_start(job);
}
#endif

int switch_p_job_step_complete(struct switch_jobinfo *j, char *nodelist)
{
    switch_elan_complete(j);
    return SLURM_SUCCESS;
}

/* May come before the job's steps are complete: of this job nothing is
 * returned here. */
void switch_p_job_complete(struct slurmabi_job *job)
{
    switch_elan_job_over();
}

/* Of a node there is one; who shares it is the contexts' to say. */
uint32_t switch_p_job_channel(struct slurmabi_job *job, char *node)
{
    return NO_VAL;
}

/* Batch scripts and extern steps have no tasks of ours. */
bool switch_p_setup_special_steps(void)
{
    return false;
}

/* An extern step has no tasks of ours. */
void switch_p_extern_stepinfo(struct switch_jobinfo **info,
                              struct slurmabi_job *job)
{
    *info = NULL;
}

void switch_p_extern_step_fini(uint32_t job_id)
{
}

/* It begins when the first step is built. */
int switch_p_stepmgr_init(void)
{
    return SLURM_SUCCESS;
}

/* Its process ends. */
void switch_p_stepmgr_fini(uint32_t job_id)
{
}

/* ---- slurmstepd ---------------------------------------------------------- */

/* Nothing of ours is called earlier on a node. */
int switch_p_job_preinit(struct slurmabi_stepd *step)
{
    if (step)
        switch_elan_announce();
    return switch_elan_preinit(step);
}

int switch_p_job_init(struct slurmabi_stepd *step)
{
    int rc = switch_elan_begin();

    switch_elan_watch_suspension(step, acct_gather_suspend_test);
    return rc;
}

int switch_p_fs_init(struct slurmabi_stepd *step)
{
    return SLURM_SUCCESS;
}

int switch_p_job_attach(struct switch_jobinfo *j, char ***env, uint32_t nodeid,
                        uint32_t procid, uint32_t nnodes, uint32_t nprocs,
                        uint32_t rank)
{
    return switch_elan_attach(env, nodeid, procid);
}

/* An error here would drain the node. */
int switch_p_job_postfini(struct slurmabi_stepd *step)
{
    switch_elan_end();
    return SLURM_SUCCESS;
}
