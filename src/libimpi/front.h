/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The preloaded front: libimpi.so.  It exports MPI_X and PMPI_X for every
 * function of calls.def as a jump through a slot, has no dependency on any
 * MPI library, and does nothing at all before the first MPI call.  That call
 * finds the MPI library among the loaded objects, loads the back end made for
 * it, and fills the slots.  Outside an IMPI step (SLURM_IMPI_AGENT not set)
 * the slots get the library's own functions.
 */
#ifndef SF_LIBIMPI_FRONT_H
#define SF_LIBIMPI_FRONT_H

/* Included before all else: it is loaded into whatever a task runs, and not
 * every C library has the fortified calls of the one we are built with. */
#undef _FORTIFY_SOURCE
#include <stdbool.h>
#include <stddef.h>

#include "libimpi/backend.h"

/* How many functions there are (an asm text needs it too): front_count.h. */
#include "libimpi/front_count.h"

/* Function number n: slot 2n is MPI_X's, slot 2n + 1 PMPI_X's. */
extern void *front_slots[2 * FRONT_NCALLS]
    __attribute__((visibility("hidden")));

/* Called by the trampolines through a slot that is not filled: what to call.
 * Does not return when there is nothing to call. */
void *front_resolve(unsigned long slot) __attribute__((visibility("hidden")));

/* The back end's, NULL without one. */
impi_fortran_attr_f *front_fortran_attr(void)
    __attribute__((visibility("hidden")));

/* An MPI library found in this process. */
struct front_mpi {
    void *handle;     /* of dlopen */
    const char *path; /* borrowed from the loader */
    const char *soname;
};

/* Find it: the one that would have been called without the front, else (all
 * loaded locally, as Python does) the first.  0, or -1 when there is none. */
int front_find_mpi(struct front_mpi *mpi);

/* "mpich", "openmpi" or "abi" (the standard one) for libimpi-FAMILY.so; NULL:
 * none that is known. */
const char *front_family(const struct front_mpi *mpi);

/* The function that MPI_X leads to after the front when that is not the
 * library's: a preloaded profiling tool.  NULL when there is none. */
void *front_find_tool(const struct front_mpi *mpi, const char *name);

/* This process is podman: have it begin again with a configuration by which
 * its containers are in the step whose agent this is.  Returns where that is
 * done already, and where it cannot be done (after SF-E507 on stderr). */
void front_podman(const char *agent) __attribute__((visibility("hidden")));

/* The same in apptainer, and in singularity. */
void front_apptainer(const char *agent) __attribute__((visibility("hidden")));

/* Is this setting, NAME=VALUE, one that a program in a container may ask for?
 */
bool front_passes(const char *setting) __attribute__((visibility("hidden")));

/* Are these words in that file? */
bool front_file_has(const char *path, const char *words)
    __attribute__((visibility("hidden")));

/* This program anew, with its arguments and the environment as it is now.
 * Returns when that cannot be. */
void front_begin_again(void) __attribute__((visibility("hidden")));

/* SF-E507 on stderr. */
void front_complain(const char *runtime, const char *fmt, ...)
    __attribute__((visibility("hidden"), format(printf, 2, 3)));

#endif
