/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In slurmstepd, as root: has impid started when a task calls MPI, one per node
 * and component.
 */
#ifndef SF_MPI_IMPI_AGENT_H
#define SF_MPI_IMPI_AGENT_H

#include "slurmabi/slurm_sym.h"

/* env: the step's environment; the variables of names.h are handed to impid
 * as they are, root looks into none of them.  When it fails there is a line in
 * the log, and no task gets past impi_task_prepare(), which says why: of a
 * failure before there are tasks srun shows no reason, and exits with 0. */
void impi_agent_start(const struct slurmabi_stepd *step, char **env);

/* Path of its socket, also in the task that slurmstepd forked; NULL: none, and
 * why, with its code ("": srun has said it). */
const char *impi_agent_socket(void);
const char *impi_agent_refused(void);

/* In the task: where it registers, and the socket on which its node waits for
 * others to call MPI.  -1: none. */
int impi_agent_tasks(void);
int impi_agent_presence(void);

/* slurmstepd ends: remove the step directory.  Nothing to do elsewhere. */
void impi_agent_cleanup(void);

#endif
