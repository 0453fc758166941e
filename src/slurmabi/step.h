/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads slurmctld's record of a step (its step_record_t) and of the step's
 * job: owner, component and the --network string are nowhere else.
 */
#ifndef SF_SLURMABI_STEP_H
#define SF_SLURMABI_STEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "slurmabi/slurm_sym.h"

/* When slurmctld of this version (SLURM_VERSION_NUM) starts it skips what a
 * switch plugin gave the steps that live: 24.11.0 to 24.11.4
 * (switch_g_unpack_stepinfo() of src/interfaces/switch.c asks only slurmstepd's
 * plugins there). */
bool slurmabi_step_info_is_lost(uint32_t version);

/* Which step it is, by a record whose magic numbers are right and whose step
 * and job agree.  As below. */
int slurmabi_step_identify(const struct slurmabi_step *step,
                           slurm_step_id_t *id, struct errbuf *err);

/* Besides, it is the step that alloc_jobinfo() was given.  Returns 0, or -1
 * with errno ENOTSUP or EINVAL and a text.  The accessors below need a record
 * that passed. */
int slurmabi_step_check(const struct slurmabi_step *step, uint32_t job_id,
                        uint32_t step_id, struct errbuf *err);

slurm_step_id_t slurmabi_step_step_id(const struct slurmabi_step *step);
/* What the user said with --network; borrowed; NULL when nothing. */
const char *slurmabi_step_network(const struct slurmabi_step *step);
/* Where its srun listens; host borrowed and NULL, port 0: nowhere. */
const char *slurmabi_step_host(const struct slurmabi_step *step);
uint16_t slurmabi_step_port(const struct slurmabi_step *step);
/* Send a line of text to the user who started the step's job; -1: it cannot be
 * delivered. */
int slurmabi_step_tell_user(const struct slurmabi_step *step, char *text);
/* Where its tasks run; borrowed; NULL: it has none. */
const slurm_step_layout_t *
slurmabi_step_layout(const struct slurmabi_step *step);
/* The step's job. */
struct slurmabi_job *slurmabi_step_job(const struct slurmabi_step *step);
/* Owner of the step's job. */
uid_t slurmabi_step_uid(const struct slurmabi_step *step);
/* How often the step's job was requeued and started again. */
uint16_t slurmabi_step_job_restarts(const struct slurmabi_step *step);
/* Leader of the hetjob, 0 outside hetjobs; this job's place in it. */
uint32_t slurmabi_step_het_job_id(const struct slurmabi_step *step);
uint32_t slurmabi_step_het_job_offset(const struct slurmabi_step *step);

#endif
