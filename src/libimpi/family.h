/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Our own handles (ours.h says how they are told from the library's) are made
 * from an index into a table.  Most of what differs between the families of MPI
 * libraries is in this header and ours.h.
 */
#ifndef LIBIMPI_FAMILY_H
#define LIBIMPI_FAMILY_H

#include "libimpi/ours.h"

#ifdef IMPI_FAMILY_OPENMPI

/* An int of Fortran holds it as well. */
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

/* Fortran's number of a handle. */
#define OF_FORTRAN(Kind, number) impi_real.Kind##_f2c(number)
/* Our handles as ints: the library's are not negative. */
#define INT_OF_INDEX(tag, index) (-1 - (int)(index))
#define INT_IS_OURS(tag, number) ((number) < 0)
#define INDEX_OF_INT(number) ((uint32_t)(-1 - (number)))

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

/* Open MPI makes a window on one process alone by MPI_Win_allocate only, not by
 * MPI_Win_create. */
#define WINDOW_OF_OTHERS_MEMORY 0
/* A receive whose type has an extent but no bytes does no harm here. */
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

#define HANDLE_INDEX_MAX 0x00ffffffu
#define GROUP_INDEX_MAX HANDLE_INDEX_MAX
#define RECV_OF_EMPTY_TYPE_FAILS 1 /* data_spare_empty() */

/* Our handles as ints: so are MPICH's handles, and the numbers of all other
 * libraries are small. */
#define INT_OF_INDEX(tag, index) ((int)((tag) | (index)))
#define INT_IS_OURS(tag, number) (((uint32_t)(number)&0xff000000U) == (tag))
#define INDEX_OF_INT(number) ((uint32_t)(number)&HANDLE_INDEX_MAX)

#ifdef IMPI_FAMILY_ABI
#define OF_FORTRAN(Kind, number) impi_real.Kind##_fromint(number)
#define WINDOW_OF_OTHERS_MEMORY 0 /* Open MPI may be behind it */
#define HANDLE(type, tag, index) ((type)(IMPI_OURS_ABI | (tag) | (index)))

static inline int keyval_of_fortran(int keyval)
{
    return keyval;
}
#else
#define OF_FORTRAN(Kind, number) (number)
#define WINDOW_OF_OTHERS_MEMORY 1
#define HANDLE(type, tag, index) ((type)((tag) | (index)))

/* A keyval of MPI's own: those of Fortran are even, one more than C's. */
static inline int keyval_of_fortran(int keyval)
{
    return keyval % 2 ? keyval : keyval - 1;
}
#endif

#define OURS(name, type, tag)                                                  \
    static inline type name##_from_index(uint32_t index)                       \
    {                                                                          \
        return HANDLE(type, tag, index);                                       \
    }                                                                          \
    static inline uint32_t name##_to_index(type handle)                        \
    {                                                                          \
        return (uint32_t)(uintptr_t)handle & HANDLE_INDEX_MAX;                 \
    }
OURS(handle, MPI_Request, IMPI_REQUEST_TAG)
OURS(group, MPI_Group, IMPI_GROUP_TAG)
OURS(message, MPI_Message, IMPI_MESSAGE_TAG)

#endif

/* A kind's handles as numbers, for Fortran and, since MPI-5, for C. */
#define NUMBERS_BY(Kind, to, from, is_ours, name, tag)                         \
    int impi_##Kind##_##to(MPI_##Kind handle)                                  \
    {                                                                          \
        if (!is_ours(handle))                                                  \
            return impi_real.Kind##_##to(handle);                              \
        return INT_OF_INDEX(tag, name##_to_index(handle));                     \
    }                                                                          \
    MPI_##Kind impi_##Kind##_##from(int number)                                \
    {                                                                          \
        if (!INT_IS_OURS(tag, number))                                         \
            return impi_real.Kind##_##from(number);                            \
        return name##_from_index(INDEX_OF_INT(number));                        \
    }
#define NUMBERS_OF(Kind, is_ours, name, tag)                                   \
    NUMBERS_BY(Kind, c2f, f2c, is_ours, name, tag)                             \
    NUMBERS_BY(Kind, toint, fromint, is_ours, name, tag)

#endif
