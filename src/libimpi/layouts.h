/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Layouts (impi/layout.h) of MPI's datatypes.  Functions return an MPI error
 * code; MPI_ERR_UNSUPPORTED_DATAREP: external32 does not know the type.
 */
#ifndef LIBIMPI_LAYOUTS_H
#define LIBIMPI_LAYOUTS_H

#include "impi/layout.h"
#include "libimpi/calls.h"

/* *l: for the caller to free; NULL after an error. */
int layout_make(struct impi_layout **l, MPI_Datatype type);

/* Predefined types, and those of MPI_Type_create_f90_*.  *l is to be freed
 * also after an error. */
int layout_of_named(struct impi_layout **l, MPI_Datatype type);
int layout_of_f90(struct impi_layout **l, MPI_Datatype type, int combiner);

static inline int layout_made(const struct impi_layout *l)
{
    return l ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

/* impi_layout_add(); l NULL: there was no memory for it. */
static inline int layout_add(struct impi_layout *to, ptrdiff_t disp,
                             uint64_t repeat, ptrdiff_t stride,
                             struct impi_layout *l)
{
    if (l)
        impi_layout_add(to, disp, repeat, stride, l);
    return layout_made(l);
}

#endif
