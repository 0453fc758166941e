/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A thread that answers other clients while the program is away: in its own
 * computation, or in a blocking call of the native library with nothing of
 * other clients pending.  Somebody may wait for an answer there that MPI
 * promises "irrespective of the activities of other processes": the end of a
 * cancelled send, the acknowledgement of a message that found its receive.
 *
 * It looks every LOOK_MS whether the program has served the connections
 * itself since the last time, and only if not does so in its place, until it
 * comes back.  It makes no MPI call unless the program has
 * MPI_THREAD_MULTIPLE: a message for a receive from anybody, which waits in
 * the native library, too, stays unmatched until the program is back.  What it
 * costs the program otherwise is in be_lock() (state.h): calls of the native
 * library cost nothing.
 */
#ifndef LIBIMPI_BACKGROUND_H
#define LIBIMPI_BACKGROUND_H

#include <stdbool.h>

/* In a spanning world, once that is set up.  Does without where the system has
 * no thread or no membarrier(2), or the user wants none (SLURM_IMPI_THREAD=no).
 */
void background_start(void);
/* There is something to do for it now. */
void background_wake(void);
/* The same, unless it looks within a millisecond anyway.  Under the lock. */
void background_hurry(void);
/* Before the connections end. */
void background_stop(void);

/* One round over the connections by a thread of ours.  Under the lock.  True
 * when something moved. */
bool background_round(void);

/* Shall it be allowed to (SLURM_IMPI_THREAD=multiple): must the library be
 * started with MPI_THREAD_MULTIPLE, whatever the program asks for? */
bool background_may_call(void);

#endif
