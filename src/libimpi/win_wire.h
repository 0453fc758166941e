/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One-sided communication's messages: between the engine (impi/rma.h) and the
 * channels.  All under the lock.
 */
#ifndef LIBIMPI_WIN_WIRE_H
#define LIBIMPI_WIN_WIRE_H

#include "impi/rma.h"

/* The process's engine, made at need; ends the job when there is no memory. */
struct impi_rma *win_engine(void);

/* The first window is there: its calls lead here, others are served. */
void win_first(void);

/* More processes have come: 0, or -1 where there is no memory. */
int win_grow(void);

/* One of another world is lost: those that wait for it hear of it when they
 * look next. */
void win_lost(void);

/* This memory of a window goes.  Nobody may be writing there any more: else it
 * ends the job. */
void win_wire_leave(const void *base, uint64_t size);

/* At MPI_Finalize. */
void win_end(void);

#endif
