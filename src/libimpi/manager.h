/* SPDX-License-Identifier: BSD-3-Clause
 *
 * By which protocol an MPICH speaks to its process manager: PMI-1 or PMI-2 (it
 * says itself which), or PMIx, if it was built for that alone.
 */
#ifndef LIBIMPI_MANAGER_H
#define LIBIMPI_MANAGER_H

#include <stdbool.h>

/* The dlopen handle of the program's MPI library. */
void manager_of_library(void *mpi);

bool manager_is_pmix(void);

#endif
