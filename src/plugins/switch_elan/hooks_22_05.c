/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The hooks of Slurm 22.05, 23.02 and 23.11.  (23.02 asks for fewer.)
 */
#include <errno.h>
#include <unistd.h>

#include "plugins/switch_elan/hooks.h"
#include "plugins/switch_elan/sweep.h"

/* ---- every process ------------------------------------------------------- */

int switch_p_alloc_jobinfo(struct switch_jobinfo **out, uint32_t job_id,
                           uint32_t step_id)
{
    *out = switch_elan_info_create(job_id, step_id);
    return *out ? SLURM_SUCCESS : SLURM_ERROR;
}

void switch_p_free_jobinfo(struct switch_jobinfo *j)
{
    switch_elan_info_destroy(j);
}

int switch_p_duplicate_jobinfo(struct switch_jobinfo *src,
                               struct switch_jobinfo **dst)
{
    *dst = src ? switch_elan_info_copy(src) : NULL;
    return *dst || !src ? SLURM_SUCCESS : SLURM_ERROR;
}

int switch_p_pack_jobinfo(struct switch_jobinfo *j, struct slurmabi_buf *buf,
                          uint16_t protocol)
{
    return switch_elan_info_pack(j, buf);
}

int switch_p_unpack_jobinfo(struct switch_jobinfo **out,
                            struct slurmabi_buf *buf, uint16_t protocol)
{
    /* Nothing of ours is called earlier on a node. */
    if (slurmabi_in_slurmd() && geteuid() == 0)
        switch_elan_announce();
    *out = switch_elan_info_unpack(buf);
    return *out ? SLURM_SUCCESS : SLURM_ERROR;
}

int switch_p_get_jobinfo(struct switch_jobinfo *j, int key, void *data)
{
    errno = EINVAL;
    return SLURM_ERROR;
}

/* ---- slurmctld ----------------------------------------------------------- */

int switch_p_libstate_save(char *dir)
{
    switch_elan_save();
    return SLURM_SUCCESS;
}

/* Failing here would end slurmctld. */
int switch_p_libstate_restore(char *dir, bool recover)
{
    switch_elan_restore(recover);
    return SLURM_SUCCESS;
}

int switch_p_libstate_clear(void)
{
    return SLURM_SUCCESS;
}

int switch_p_reconfig(void)
{
    switch_elan_reconfigure();
    return SLURM_SUCCESS;
}

int switch_p_build_jobinfo(struct switch_jobinfo *j,
                           slurm_step_layout_t *layout,
                           struct slurmabi_step *record)
{
    return switch_elan_answer(switch_elan_build(j, layout, record, true));
}

int switch_p_job_step_complete(struct switch_jobinfo *j, char *nodelist)
{
    switch_elan_complete(j);
    return SLURM_SUCCESS;
}

int switch_p_job_step_allocated(struct switch_jobinfo *j, char *nodelist)
{
    switch_elan_recover(j);
    return SLURM_SUCCESS;
}

/* May come before the job's steps are complete: nothing is returned here. */
void switch_p_job_complete(uint32_t job_id)
{
}

/* ---- slurmstepd ---------------------------------------------------------- */

int switch_p_job_preinit(struct slurmabi_stepd *step)
{
    return switch_elan_preinit(step);
}

int switch_p_job_init(struct slurmabi_stepd *step)
{
    return switch_elan_begin();
}

int switch_p_job_attach(struct switch_jobinfo *j, char ***env, uint32_t nodeid,
                        uint32_t procid, uint32_t nnodes, uint32_t nprocs,
                        uint32_t rank)
{
    return switch_elan_attach(env, nodeid, procid);
}

/* srun hears of the end of its tasks only after this and job_postfini. */
int switch_p_job_fini(struct switch_jobinfo *j)
{
    switch_elan_tasks_gone();
    return SLURM_SUCCESS;
}

int switch_p_job_postfini(struct slurmabi_stepd *step)
{
    switch_elan_end();
    return SLURM_SUCCESS;
}

/* Slurm's own signals come first, so that a task may prepare; when all are
 * sent the whole program stops. */
int switch_p_job_step_pre_suspend(struct slurmabi_stepd *step)
{
    return SLURM_SUCCESS;
}

int switch_p_job_step_post_suspend(struct slurmabi_stepd *step)
{
    switch_elan_suspend(true);
    return SLURM_SUCCESS;
}

int switch_p_job_step_pre_resume(struct slurmabi_stepd *step)
{
    switch_elan_suspend(false);
    return SLURM_SUCCESS;
}

int switch_p_job_step_post_resume(struct slurmabi_stepd *step)
{
    return SLURM_SUCCESS;
}

/* ---- suspending a whole job: nothing of ours travels with it ------------- */

int switch_p_job_suspend_test(struct switch_jobinfo *j)
{
    return SLURM_SUCCESS;
}

void switch_p_job_suspend_info_get(struct switch_jobinfo *j, void *out)
{
    if (out)
        *(void **)out = NULL;
}

void switch_p_job_suspend_info_pack(void *info, struct slurmabi_buf *buf,
                                    uint16_t protocol)
{
}

int switch_p_job_suspend_info_unpack(void **info, struct slurmabi_buf *buf,
                                     uint16_t protocol)
{
    if (info)
        *info = NULL;
    return SLURM_SUCCESS;
}

void switch_p_job_suspend_info_free(void *info)
{
}

int switch_p_job_suspend(void *info, int max_wait)
{
    return SLURM_SUCCESS;
}

int switch_p_job_resume(void *info, int max_wait)
{
    return SLURM_SUCCESS;
}
