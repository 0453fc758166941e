/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The MPI functions inside a back end.
 *
 * A back end never calls MPI_X or PMPI_X by that name: both lead back into
 * the front.  The library's own functions are impi_real.X (NULL when the
 * library has none), set before the first MPI call gets through.
 * Overrides (overrides.def) are functions impi_X; everything else that could
 * go wrong on a spanning communicator has a generated wrapper that fails.
 */
#ifndef SF_LIBIMPI_CALLS_H
#define SF_LIBIMPI_CALLS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "libimpi/calls_types.h"

/* The libraries' own headers, or that of the standard ABI (standard/mpi.h). */
#if defined(OPEN_MPI)
#define IMPI_FAMILY_OPENMPI 1
#elif defined(MPI_ABI_VERSION) && !defined(MPICH)
#define IMPI_FAMILY_ABI 1
#else
#define IMPI_FAMILY_MPICH 1
#endif

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

extern struct impi_real impi_real;

typedef void impi_call_f(void);

struct impi_call {
    const char *name;   /* MPI_X */
    impi_call_f *fn;    /* override or wrapper; NULL: the library's own */
    impi_call_f **real; /* its place in impi_real; NULL: it has none */
    bool always;        /* also in a world of one client */
    /* Only once there is a window, or a file, that spans. */
    enum { IMPI_AT_ONCE, IMPI_WITH_WINDOWS, IMPI_WITH_FILES } from;
};
extern const struct impi_call impi_calls[IMPI_NCALLS];

/* Fail because `call` cannot be done on communicator comm (or on a request or
 * message of ours; comm is then MPI_COMM_SELF): error class
 * MPI_ERR_UNSUPPORTED_OPERATION with a text that names the function, for the
 * error handler of comm (of file).  Returns the error code, for
 * impi_told_X(). */
int impi_unsupported(MPI_Comm comm, int call);
int impi_unsupported_file(MPI_File file, int call);

/* The world has one client: from now on the program calls its library
 * directly, but for the overrides marked "always". */
void impi_calls_go_native(void);

/* It meets another world: all overrides hold again. */
void impi_calls_go_across(void);

/* There is a window that spans: from now on calls with a window are looked
 * at.  Until then they are the library's own. */
void impi_calls_have_windows(void);
/* Likewise of a file. */
void impi_calls_have_files(void);

#endif
