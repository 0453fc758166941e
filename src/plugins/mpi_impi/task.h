/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In the task, as the job's user, before exec.
 */
#ifndef SF_MPI_IMPI_TASK_H
#define SF_MPI_IMPI_TASK_H

#include "slurmabi/slurm_sym.h"

/* Make the task known to impid (one send, no answer is waited for; the first
 * task also opens its node's line to the launch) and set its environment.  0,
 * or -1 with a line in the log. */
int impi_task_prepare(const struct slurmabi_mpi_task *task, char ***env);

#endif
