/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers that this process cannot read: memory of an accelerator, most
 * likely.  A native library may take such a pointer; what crosses between
 * clients is read and written by the processor, and would crash.
 *
 * Looked at only in a process that has a driver library of an accelerator
 * loaded.  That is asked again when BUFFER_LOOK_TICKS of the processor's
 * counter have passed, some milliseconds: to start such a driver takes much
 * longer.
 */
#ifndef LIBIMPI_BUFFER_H
#define LIBIMPI_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

#include "libimpi/buffer_page.h"
#include "libimpi/calls.h"

#define BUFFER_LOOK_TICKS (UINT64_C(1) << 24)

/* May any pointer be one of these? */
bool buffer_devices(void);

/* Can the processor read all of this?  Yes, if it lies on that page, or if this
 * process has no accelerator's driver; the page is then remembered.  False says
 * nothing.  A null pointer is right for no bytes only. */
static inline bool buffer_is_ours(struct buffer_page *page, const void *buf,
                                  size_t len)
{
    if (likely(buffer_page_has(page, buf, len)))
        return true;
    if (buffer_devices())
        return false;
    if (!buf)
        return len == 0;
    buffer_page_keep(page, buf);
    return true;
}

/* The bytes of one element: *length of them from *first on.  Of a type without
 * data Open MPI 5 says that it begins behind all addresses. */
static inline int buffer_span(MPI_Datatype type, MPI_Aint *first,
                              MPI_Aint *length)
{
    int rc = impi_real.Type_get_true_extent(type, first, length);
    MPI_Aint end;

    if (rc == MPI_SUCCESS && __builtin_add_overflow(*first, *length, &end))
        *first = *length = 0;
    return rc;
}

/* Where buffer_devices() says so.  Only the first and the last byte are tried.
 */
int buffer_look(const void *buf, int count, MPI_Datatype type);

/* No buffer for data (MPI_BOTTOM, which is null, and a type whose data lie
 * elsewhere are one): MPI_ERR_BUFFER as from both libraries. */
int buffer_missing(int count, MPI_Datatype type);

/* MPI_SUCCESS, or an error code of class MPI_ERR_BUFFER.  MPI_IN_PLACE, and
 * anything for no data, is right. */
static inline int buffer_check(const void *buf, int count, MPI_Datatype type)
{
    if (unlikely(!buf))
        return buffer_missing(count, type);
    return unlikely(buffer_devices()) ? buffer_look(buf, count, type)
                                      : MPI_SUCCESS;
}

/* The standard's class for a class of ours, others as they are. */
int buffer_error_class(int class);

#endif
