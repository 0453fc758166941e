/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the bytes of a datatype lie, as runs of equal blocks in the order of
 * the type map (impi/typemap.h).
 */
#ifndef LIBIMPI_TYPE_RUNS_H
#define LIBIMPI_TYPE_RUNS_H

#include "impi/typemap.h"
#include "libimpi/calls.h"

struct type_runs {
    struct impi_run *run; /* [n] free() it, also after an error */
    uint32_t n, room;
    uint32_t most;
    MPI_Aint extent;
};

/* MPI error class; MPI_ERR_NO_MEM: no memory, or more than `most` runs. */
int type_runs_get(struct type_runs *r, MPI_Datatype type, uint32_t most);

#endif
