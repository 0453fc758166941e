/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The hooks of Slurm 25.11 and 26.05.  (Each asks for some that the other does
 * not.)  Against 24.05:
 *
 * - A step that cannot be built is refused: srun asks no more.
 * - The layout of a step comes by its record.
 * - Names are the other way round.
 */
#include <errno.h>

#include "plugins/switch_elan/hooks.h"
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

/* A job as a whole has nothing of ours. */
void switch_p_jobinfo_pack(void *info, struct slurmabi_buf *buf,
                           uint16_t protocol)
{
}

int switch_p_jobinfo_unpack(void **info, struct slurmabi_buf *buf,
                            uint16_t protocol)
{
    *info = NULL;
    return SLURM_SUCCESS;
}

void switch_p_jobinfo_free(struct slurmabi_job *job)
{
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
    return SLURM_SUCCESS;
}

int switch_p_stepinfo_build(struct switch_jobinfo **out, void *jobinfo,
                            struct slurmabi_step *record)
{
    struct errbuf err = {""};
    slurm_step_id_t id;

    *out = NULL;
    errno = ESLURM_INTERCONNECT_FAILURE;
    if (slurmabi_step_identify(record, &id, &err) < 0) {
        slurm_error("SF-E103 switch/elan: a step is refused: %s", err.text);
        return SLURM_ERROR;
    }
    if (!slurmabi_in_slurmctld()) {
        switch_elan_refuse_stepmgr(id);
        return SLURM_ERROR;
    }
    *out = switch_elan_info_create(id.job_id, id.step_id);
    if (switch_elan_build(*out, slurmabi_step_layout(record), record, false) ==
        SWITCH_ELAN_BUILT)
        return SLURM_SUCCESS;
    errno = ESLURM_INTERCONNECT_FAILURE;
    return SLURM_ERROR;
}

int switch_p_job_step_complete(struct switch_jobinfo *j, char *nodelist)
{
    switch_elan_complete(j);
    return SLURM_SUCCESS;
}

/* Asked before slurmctld says which nodes the job gets. */
int switch_p_job_start(struct slurmabi_job *job, bool test_only)
{
    return SLURM_SUCCESS;
}

/* May come before the job's steps are complete: nothing is returned here. */
void switch_p_job_complete(struct slurmabi_job *job)
{
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

void switch_p_extern_step_fini(uint32_t job_id)
{
}

/* Its steps are refused one by one. */
int switch_p_stepmgr_init(void)
{
    return SLURM_SUCCESS;
}

void switch_p_stepmgr_fini(uint32_t job_id)
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
