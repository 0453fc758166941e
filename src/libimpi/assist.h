/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Serving the connections while the program is inside a blocking collective
 * operation of the native library.  Such a call cannot be replaced by its
 * nonblocking form, because the two do not match each other and the other
 * members may have nothing pending.  So for its time, and only when something
 * is pending, a thread moves what crosses between clients, as the one of
 * background.h does.
 */
#ifndef LIBIMPI_ASSIST_H
#define LIBIMPI_ASSIST_H

#include "libimpi/state.h"

void assist_begin(void);
void assist_end(void);

/* The value of a native call that may wait for other processes. */
#define ASSISTED(call)                                                         \
    (likely(!cross_pending()) ? (call) : (assist_begin(), assist_result(call)))

static inline int assist_result(int rc)
{
    assist_end();
    return rc;
}

#endif
