/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which nodes Slurm's running jobs have, so that a job can be found on the
 * page: numbers and nodes, nothing else of a job.  The updater tells them by
 * records (record.h), of which each is checked and no more is kept than
 * SF_SWITCHMGR_JOBS_MAX jobs of SF_JOB_NODES_MAX bytes.
 */
#ifndef SF_SWITCHMGRD_JOBS_H
#define SF_SWITCHMGRD_JOBS_H

#include <stdbool.h>

#include "switchmgrd/record.h"

struct jobs;

struct jobs *jobs_new(void); /* NULL: no memory */
void jobs_free(struct jobs *jobs);

/* False: a record that makes no sense here; the job is not known then. */
bool jobs_take(struct jobs *jobs, const struct rec_job *rec);

/* The nodes of a job, as a list that Slurm wrote, by its name ("12", "12_3",
 * "12+1") or its number; NULL: no such job is known.  Borrowed until the next
 * record. */
const char *jobs_nodes(const struct jobs *jobs, const char *name);

#endif
