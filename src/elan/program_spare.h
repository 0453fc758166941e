/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A holder whose program has ended waits a while for the next one: a program
 * that is started anew costs more than all that a holder does for a short step.
 * It waits at RUNDIR/spare-KEY-PID, for its own uid alone.  KEY stands for the
 * executable's very file and for the mount namespace: a starter takes what it
 * would have started itself.  Who takes one renames its socket first, so only
 * one does.
 */
#ifndef SF_ELAN_PROGRAM_SPARE_H
#define SF_ELAN_PROGRAM_SPARE_H

#include <stdbool.h>

/* In the holder: wait.  Returns the connection to who took us, which is the
 * next lifeline; -1: nobody came in that time, or others wait already. */
int program_spare_wait(const char *rundir, int wait_ms);

/* In the starter: one that waits there and is this executable, as a connection
 * to it; -1: there is none. */
int program_spare_take(const char *rundir, const char *holder);

/* Is the file of that name in RUNDIR what a holder or a starter left that was
 * killed? */
bool program_spare_is_left(const char *name);

#endif
