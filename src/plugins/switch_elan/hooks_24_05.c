/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The hooks of Slurm 24.05, 24.11 and 25.05.  (The older ask for fewer.)
 * Against 22.05:
 *
 * - Making a step's info and building the step is one call, so that the step's
 *   ids come from its record alone.
 * - Only the info of steps that slurmctld finds alive when it starts is
 *   unpacked there, so that is where the books learn of them.
 * - Nothing is called between a task's end and the end of all that is in the
 *   step's container; impid is not in there (mpi_impi/agent.c), and what
 *   escaped the container ends with the program, in job_postfini.
 * - Nothing is called when a step is suspended: what escaped the container
 *   runs on.
 * - scontrol reconfigure starts slurmctld anew.
 */
#include <errno.h>

#include "plugins/switch_elan/hooks.h"
#include "slurmabi/step.h"

/* ---- every process ------------------------------------------------------- */

void switch_p_free_stepinfo(struct switch_jobinfo *j)
{
    switch_elan_info_destroy(j);
}

void switch_p_duplicate_stepinfo(struct switch_jobinfo *src,
                                 struct switch_jobinfo **dst)
{
    *dst = src ? switch_elan_info_copy(src) : NULL;
}

void switch_p_pack_stepinfo(struct switch_jobinfo *j, struct slurmabi_buf *buf,
                            uint16_t protocol)
{
    switch_elan_info_pack(j, buf);
}

int switch_p_unpack_stepinfo(struct switch_jobinfo **out,
                             struct slurmabi_buf *buf, uint16_t protocol)
{
    *out = switch_elan_info_unpack(buf);
    if (*out && slurmabi_in_slurmctld())
        switch_elan_recover(*out);
    return *out ? SLURM_SUCCESS : SLURM_ERROR;
}

/* A job as a whole has nothing of ours. */
void switch_p_pack_jobinfo(void *info, struct slurmabi_buf *buf,
                           uint16_t protocol)
{
}

int switch_p_unpack_jobinfo(void **info, struct slurmabi_buf *buf,
                            uint16_t protocol)
{
    *info = NULL;
    return SLURM_SUCCESS;
}

void switch_p_free_jobinfo(struct slurmabi_job *job)
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

static enum switch_elan_built build(struct switch_jobinfo **out,
                                    const slurm_step_layout_t *layout,
                                    const struct slurmabi_step *record)
{
    struct errbuf err = {""};
    slurm_step_id_t id;

    if (slurmabi_step_identify(record, &id, &err) < 0) {
        slurm_error("SF-E103 switch/elan: a step is refused: %s", err.text);
        return SWITCH_ELAN_REFUSED;
    }
    if (!slurmabi_in_slurmctld()) {
        switch_elan_refuse_stepmgr(id);
        return SWITCH_ELAN_REFUSED;
    }
    *out = switch_elan_info_create(id.job_id, id.step_id);
    return switch_elan_build(*out, layout, record, true);
}

int switch_p_build_stepinfo(struct switch_jobinfo **out,
                            slurm_step_layout_t *layout,
                            struct slurmabi_step *record)
{
    *out = NULL;
    switch (build(out, layout, record)) {
    case SWITCH_ELAN_BUILT:
        return SLURM_SUCCESS;
    case SWITCH_ELAN_WAIT:
        errno = ESLURM_INTERCONNECT_BUSY;
        return SLURM_ERROR;
    default:
        errno = ESLURM_INTERCONNECT_FAILURE;
        return SLURM_ERROR;
    }
}

int switch_p_job_step_complete(struct switch_jobinfo *j, char *nodelist)
{
    switch_elan_complete(j);
    return SLURM_SUCCESS;
}

void switch_p_job_start(struct slurmabi_job *job)
{
}

/* May come before the job's steps are complete: nothing is returned here. */
void switch_p_job_complete(struct slurmabi_job *job)
{
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
