/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In slurmstepd: a thread that tells impid how a task ended.  Slurm keeps
 * that in its record of the step; the kernel may have forgotten it by the time
 * impid looks.
 */
#ifndef SF_MPI_IMPI_STATUS_H
#define SF_MPI_IMPI_STATUS_H

#include "slurmabi/slurm_sym.h"

/* Take over fd, impid's only sign that we live: it stays open until
 * impi_status_stop() or the end of slurmstepd, with or without the thread. */
void impi_status_serve(const struct slurmabi_stepd *step, int fd);

/* Before Slurm's record of the step goes, and our code with it. */
void impi_status_stop(void);

#endif
