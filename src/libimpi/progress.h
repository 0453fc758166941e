/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting.  A loop that waits for anything calls progress_wait() until what
 * it waits for is there:
 *
 *     struct waiter w = {.native = true};
 *     be_lock();
 *     while (!there())
 *         progress_wait(&w);
 *     be_unlock();
 *
 * It polls for a while (a wake-up costs ten times a message), then gives the
 * processor away; at once where there are more processes than processors.
 */
#ifndef LIBIMPI_PROGRESS_H
#define LIBIMPI_PROGRESS_H

#include "libimpi/state.h"

struct waiter {
    bool native; /* the loop itself asks the native library for something */
    unsigned idle;
};

/* One round, and a rest if nothing moved.  Under the lock, which is given up
 * for a moment. */
void progress_wait(struct waiter *w);

/* One round.  True when something moved. */
bool progress_once(void);

/* Let the native library move what it has under way. */
void progress_native(void);

/* Wait for a native request while everything of ours goes on.  Returns what
 * MPI_Test returned.  Without the lock. */
int progress_native_wait(MPI_Request *request, MPI_Status *status);

#endif
