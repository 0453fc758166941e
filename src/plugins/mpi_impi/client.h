/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In srun: one impi-server for the launch, whatever number of components.
 * Slurm calls launch and end once per component, from a thread each, in any
 * order, and an end may come before another component's launch: so the
 * server lives until srun exits.
 */
#ifndef SF_MPI_IMPI_CLIENT_H
#define SF_MPI_IMPI_CLIENT_H

#include "base/errbuf.h"
#include "slurmabi/slurm_sym.h"

/* Before srun asks for nodes: can nothing come of it?  0, or -1 with text. */
int impi_client_check(struct errbuf *err);

/* Start the server if it is not there, and put what agents need into the
 * component's environment.  Returns a handle for impi_client_end(), also where
 * that fails: with a line on srun's stderr, and a word to the nodes to end the
 * tasks as they begin.  (Of an error srun waits KillWait and more for tasks
 * that were never started.) */
void *impi_client_launch(const struct slurmabi_mpi_client *client, char ***env);

/* The step's output is done: the exit code that srun takes if not 0. */
int impi_client_end(void *handle);

#endif
