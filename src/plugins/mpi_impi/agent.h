/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In slurmstepd, as root: has impid started when a task calls MPI, one per node
 * and component.
 */
#ifndef SF_MPI_IMPI_AGENT_H
#define SF_MPI_IMPI_AGENT_H

#include "slurmabi/slurm_sym.h"

/* env: the step's environment; the variables of names.h are handed to impid
 * as they are, root looks into none of them.  0, or -1 with a line in the
 * log. */
int impi_agent_start(const struct slurmabi_stepd *step, char **env);

/* Path of its socket, also in the task that slurmstepd forked; NULL: none. */
const char *impi_agent_socket(void);

/* In the task: where it registers, and the socket on which its node waits for
 * others to call MPI.  -1: none. */
int impi_agent_tasks(void);
int impi_agent_presence(void);

/* slurmstepd ends: remove the step directory.  Nothing to do elsewhere. */
void impi_agent_cleanup(void);

#endif
