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

#include "libimpi/calls.h"

#define BUFFER_LOOK_TICKS (UINT64_C(1) << 24)

/* May any pointer be one of these? */
bool buffer_devices(void);

/* A page with a buffer that was right a moment ago, for those that take turns
 * in few buffers: reading the counter takes longer than most of a message. */
struct buffer_page {
    uintptr_t at;
};
#define BUFFER_PAGE 4096
#define BUFFER_NO_PAGE UINTPTR_MAX /* 0 would be the page of a null pointer */

/* May not any pointer be one of these, or does this lie on that page?  False
 * says nothing, and so is no buffer for data. */
static inline bool buffer_is_ours(struct buffer_page *page, const void *buf,
                                  size_t len)
{
    uintptr_t at = __atomic_load_n(&page->at, __ATOMIC_RELAXED);
    uintptr_t from = (uintptr_t)buf;

    if (likely(((from ^ at) | ((from + len) ^ at)) < BUFFER_PAGE))
        return true;
    if (buffer_devices())
        return false;
    if (!buf)
        return len == 0;
    __atomic_store_n(&page->at, from & ~(uintptr_t)(BUFFER_PAGE - 1),
                     __ATOMIC_RELAXED);
    return true;
}
/* Before long: the program may map other memory there. */
static inline void buffer_forget(struct buffer_page *page)
{
    __atomic_store_n(&page->at, BUFFER_NO_PAGE, __ATOMIC_RELAXED);
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
