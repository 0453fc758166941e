/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads Slurm's record of a step inside slurmstepd (its stepd_step_rec_t),
 * whose layout is private and differs by version: offsets come from a table
 * (slurmabi/layout.h).  Call slurmabi_stepd_check() once per record before
 * any of the others; they do not check again.
 */
#ifndef SF_SLURMABI_STEPD_H
#define SF_SLURMABI_STEPD_H

#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "slurmabi/slurm_sym.h"

/* Does the record look like one: job id, counts and ids that fit together.
 * Returns 0, or -1 with errno ENOTSUP (no layout known for this Slurm),
 * EINVAL (the record contradicts the layout; err names the member). */
int slurmabi_stepd_check(const struct slurmabi_stepd *step, struct errbuf *err);

slurm_step_id_t slurmabi_stepd_step_id(const struct slurmabi_stepd *step);
uid_t slurmabi_stepd_uid(const struct slurmabi_stepd *step);
gid_t slurmabi_stepd_gid(const struct slurmabi_stepd *step);

/* Of the step's own component: nodes, tasks, index of this node, tasks on
 * this node. */
uint32_t slurmabi_stepd_nnodes(const struct slurmabi_stepd *step);
uint32_t slurmabi_stepd_ntasks(const struct slurmabi_stepd *step);
uint32_t slurmabi_stepd_nodeid(const struct slurmabi_stepd *step);
uint32_t slurmabi_stepd_node_tasks(const struct slurmabi_stepd *step);

/* Heterogeneous jobs and steps; job_id, offset and task_offset are NO_VAL
 * where there is none.  step_cnt is the number of components of the step (1
 * for a plain one): the only reliable source of it. */
uint32_t slurmabi_stepd_het_job_id(const struct slurmabi_stepd *step);
uint32_t slurmabi_stepd_het_job_offset(const struct slurmabi_stepd *step);
uint32_t slurmabi_stepd_het_job_step_cnt(const struct slurmabi_stepd *step);
uint32_t slurmabi_stepd_het_job_task_offset(const struct slurmabi_stepd *step);

/* The step's environment (borrowed, NULL terminated; may be NULL). */
char **slurmabi_stepd_env(const struct slurmabi_stepd *step);

/* The jobinfo of the configured switch plugin (borrowed; may be NULL). */
struct switch_jobinfo *
slurmabi_stepd_switch_job(const struct slurmabi_stepd *step);

/* How often the job was requeued and started again, by slurmctld's word: it is
 * in the credential that slurmctld signed for this launch and slurmd checked.
 * Returns 0, or -1 with EINVAL when the credential is not where the layout
 * says. */
int slurmabi_stepd_job_restarts(const struct slurmabi_stepd *step,
                                uint16_t *restarts, struct errbuf *err);

/* Wait status of the task that is, or was, process pid.  -1: slurmstepd has
 * not reaped it, or has no such task.  Any thread may ask. */
int slurmabi_stepd_task_status(const struct slurmabi_stepd *step, pid_t pid);

/* Process of the step's task i on this node; 0: it was not started, or has been
 * reaped.  Any thread may ask. */
pid_t slurmabi_stepd_task_pid(const struct slurmabi_stepd *step, uint32_t i);

/* The highest exit code of the tasks that slurmstepd has reaped, 128 + signal
 * for a signal; 0: none. */
int slurmabi_stepd_exit_code(const struct slurmabi_stepd *step);

/* The NodeName that this slurmd or slurmstepd serves, by its own
 * configuration and not by anything srun said.  Borrowed; NULL elsewhere. */
const char *slurmabi_node_name(void);

#endif
