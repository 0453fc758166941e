/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads slurmctld's record of a job (its job_record_t), from 24.05 on: a
 * stepmgr has one, too.
 */
#ifndef SF_SLURMABI_JOB_H
#define SF_SLURMABI_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "slurmabi/slurm_sym.h"

/* Its magic number is right, and its layout was measured.  The functions below
 * need a job that passed. */
bool slurmabi_job_is_good(const struct slurmabi_job *job);

uint32_t slurmabi_job_id(const struct slurmabi_job *job);
uid_t slurmabi_job_uid(const struct slurmabi_job *job);
/* How often it was requeued and started again. */
uint16_t slurmabi_job_restarts(const struct slurmabi_job *job);
/* Does a stepmgr make its steps? */
bool slurmabi_job_has_stepmgr(const struct slurmabi_job *job);
/* May it have processes on its nodes? */
bool slurmabi_job_is_on_nodes(const struct slurmabi_job *job);
/* Its nodes as Slurm's host list; borrowed; NULL: none. */
const char *slurmabi_job_nodes(const struct slurmabi_job *job);
/* The most CPUs that it has on a node; 0: not known. */
uint16_t slurmabi_job_cpus(const struct slurmabi_job *job);
/* What it has of the switch plugin: the pointer itself. */
void **slurmabi_job_switch(struct slurmabi_job *job);

/* slurmctld's record of the job with that number; NULL: there is none (any
 * more), or this is not slurmctld. */
struct slurmabi_job *slurmabi_job_find(uint32_t job_id);

#endif
