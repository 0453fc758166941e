/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In srun: one impi-server for the launch, whatever number of components.
 * Slurm calls launch and end once per component, from a thread each, in any
 * order, and an end may come before another component's launch: so the
 * server lives until srun exits.
 */
#ifndef SF_MPI_IMPI_CLIENT_H
#define SF_MPI_IMPI_CLIENT_H

#include "slurmabi/slurm_sym.h"

/* Start the server if it is not there, and put what agents need into the
 * component's environment.  A handle for impi_client_end(), or NULL with a
 * line on srun's stderr. */
void *impi_client_launch(const struct slurmabi_mpi_client *client, char ***env);

/* The step's output is done: the exit code that srun takes if not 0. */
int impi_client_end(void *handle);

#endif
