/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Handles that a back end makes up: requests, messages and groups.  Their
 * values are ones that no handle of the library has: MPICH's are integers whose
 * top byte names the kind, Open MPI's are aligned pointers.  Of the standard
 * ABI they are small numbers, and else what the library likes: addresses, or
 * MPICH's integers called addresses.
 */
#ifndef SF_LIBIMPI_OURS_H
#define SF_LIBIMPI_OURS_H

#include <stdint.h>

#include "libimpi/calls.h"

#ifdef IMPI_FAMILY_OPENMPI

static inline bool impi_request_ours(MPI_Request request)
{
    return (uintptr_t)request & 1;
}

static inline bool impi_message_ours(MPI_Message message)
{
    return (uintptr_t)message & 1;
}

static inline bool impi_group_ours(MPI_Group group)
{
    return (uintptr_t)group & 1;
}

#else

#define IMPI_REQUEST_TAG 0x3a000000U
#define IMPI_GROUP_TAG 0x3b000000U
#define IMPI_MESSAGE_TAG 0x3c000000U

#ifdef IMPI_FAMILY_ABI
/* No address of a process has such upper bits. */
#define IMPI_OURS_ABI 0x5fab000000000000U
#define IMPI_OURS(handle, tag)                                                 \
    (((uintptr_t)(handle)&0xffffffffff000000U) == (IMPI_OURS_ABI | (tag)))
#else
#define IMPI_OURS(handle, tag) (((uint32_t)(handle)&0xff000000U) == (tag))
#endif

static inline bool impi_request_ours(MPI_Request request)
{
    return IMPI_OURS(request, IMPI_REQUEST_TAG);
}

static inline bool impi_message_ours(MPI_Message message)
{
    return IMPI_OURS(message, IMPI_MESSAGE_TAG);
}

static inline bool impi_group_ours(MPI_Group group)
{
    return IMPI_OURS(group, IMPI_GROUP_TAG);
}

#endif

static inline bool impi_requests_ours(int n, const MPI_Request requests[])
{
    for (int i = 0; i < n; i++)
        if (impi_request_ours(requests[i]))
            return true;
    return false;
}

#endif
