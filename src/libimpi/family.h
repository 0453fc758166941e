/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Our own request handles (ours.h says how they are told from the
 * library's) are made from an index into our table of requests.  With this
 * header and ours.h ends what differs between the families of MPI libraries.
 */
#ifndef LIBIMPI_FAMILY_H
#define LIBIMPI_FAMILY_H

#include "libimpi/ours.h"

#ifdef IMPI_FAMILY_OPENMPI

#define IMPI_FAMILY_NAME "Open MPI"
/* Two ints of Fortran hold it as well: c2f below. */
#define HANDLE_INDEX_MAX 0x3fffffffu

static inline MPI_Request handle_from_index(uint32_t index)
{
    return (MPI_Request)(((uintptr_t)index << 1) | 1);
}

static inline uint32_t handle_to_index(MPI_Request request)
{
    return (uint32_t)((uintptr_t)request >> 1);
}

#else

#define IMPI_FAMILY_NAME "MPICH"
#define HANDLE_INDEX_MAX 0x00ffffffu

static inline MPI_Request handle_from_index(uint32_t index)
{
    return (MPI_Request)(IMPI_REQUEST_TAG | index);
}

static inline uint32_t handle_to_index(MPI_Request request)
{
    return (uint32_t)request & HANDLE_INDEX_MAX;
}

#endif

#endif
