/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Our own handles (ours.h says how they are told from the library's) are made
 * from an index into a table.  With this
 * header and ours.h ends what differs between the families of MPI libraries.
 */
#ifndef LIBIMPI_FAMILY_H
#define LIBIMPI_FAMILY_H

#include "libimpi/ours.h"

#ifdef IMPI_FAMILY_OPENMPI

#define IMPI_FAMILY_NAME "Open MPI"
/* Two ints of Fortran hold it as well: c2f below. */
#define HANDLE_INDEX_MAX 0x3fffffffu

#define OURS(name, type)                                                       \
    static inline type name##_from_index(uint32_t index)                       \
    {                                                                          \
        return (type)(((uintptr_t)index << 1) | 1);                            \
    }                                                                          \
    static inline uint32_t name##_to_index(type handle)                        \
    {                                                                          \
        return (uint32_t)((uintptr_t)handle >> 1);                             \
    }
OURS(handle, MPI_Request)
OURS(message, MPI_Message)

/* Open MPI's Fortran functions that make a group do not ask MPI_Group_c2f but
 * read Fortran's handle in the group, so there it is: our handle is an odd
 * address that far before a place of its own. */
#define GROUP_FORTRAN_AT 0x18
#define GROUP_PLACE 8
#define GROUP_INDEX_MAX 0xffffu
extern char group_places[(GROUP_INDEX_MAX + 1) * GROUP_PLACE];

static inline int keyval_of_fortran(int keyval)
{
    return keyval;
}

/* Nothing in Open MPI has a window of MPI_Win_create on one process alone, only
 * of MPI_Win_allocate. */
#define WINDOW_OF_OTHERS_MEMORY 0
/* A receive whose type has an extent but no bytes ends no program. */
#define RECV_OF_EMPTY_TYPE_FAILS 0

static inline MPI_Group group_from_index(uint32_t index)
{
    return (MPI_Group)((uintptr_t)group_places +
                       (uintptr_t)index * GROUP_PLACE + 1 - GROUP_FORTRAN_AT);
}

static inline uint32_t group_to_index(MPI_Group group)
{
    return (uint32_t)(((uintptr_t)group + GROUP_FORTRAN_AT -
                       (uintptr_t)group_places) /
                      GROUP_PLACE);
}

#else

#define IMPI_FAMILY_NAME "MPICH"
#define WINDOW_OF_OTHERS_MEMORY 1
#define RECV_OF_EMPTY_TYPE_FAILS 1 /* data_spare_empty() */
#define HANDLE_INDEX_MAX 0x00ffffffu

/* A keyval of MPI's own: those of Fortran are even, one more than C's. */
static inline int keyval_of_fortran(int keyval)
{
    return keyval % 2 ? keyval : keyval - 1;
}

#define OURS(name, type, tag)                                                  \
    static inline type name##_from_index(uint32_t index)                       \
    {                                                                          \
        return (type)(tag | index);                                            \
    }                                                                          \
    static inline uint32_t name##_to_index(type handle)                        \
    {                                                                          \
        return (uint32_t)handle & HANDLE_INDEX_MAX;                            \
    }
OURS(handle, MPI_Request, IMPI_REQUEST_TAG)
OURS(group, MPI_Group, IMPI_GROUP_TAG)
#define GROUP_INDEX_MAX HANDLE_INDEX_MAX
OURS(message, MPI_Message, IMPI_MESSAGE_TAG)

#endif

#endif
