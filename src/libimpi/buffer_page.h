/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A page with a buffer that this process could read a moment ago, for short
 * messages that take turns in few buffers: to find out again (buffer.h) takes
 * longer than most of such a message.
 *
 * Kept is only what stays the host's memory while the program runs: its data,
 * its heap, the stack of its first thread.  Elsewhere a driver may put memory
 * of an accelerator where the host's was one message before.
 */
#ifndef LIBIMPI_BUFFER_PAGE_H
#define LIBIMPI_BUFFER_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUFFER_PAGE 4096
#define BUFFER_NO_PAGE UINTPTR_MAX /* 0 would be the page of a null pointer */

/* {BUFFER_NO_PAGE} at first.  Threads may use one at the same time. */
struct buffer_page {
    uintptr_t at;
};

/* Does all of this lie there?  False says nothing. */
static inline bool buffer_page_has(const struct buffer_page *page,
                                   const void *buf, size_t len)
{
    uintptr_t at = __atomic_load_n(&page->at, __ATOMIC_RELAXED);
    uintptr_t from = (uintptr_t)buf;

    return ((from ^ at) | ((from + len) ^ at)) < BUFFER_PAGE;
}

/* That of buf, which can be read now; none if it may not last. */
void buffer_page_keep(struct buffer_page *page, const void *buf);

static inline void buffer_page_forget(struct buffer_page *page)
{
    __atomic_store_n(&page->at, BUFFER_NO_PAGE, __ATOMIC_RELAXED);
}

#endif
