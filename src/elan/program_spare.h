/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A holder whose program has ended waits a while for the next one: a program
 * that is started anew costs more than all that a holder does for a short step.
 * It waits at RUNDIR/spare-KEY-PID, for its own uid alone.  KEY stands for the
 * executable's very file and for the mount namespace: a starter takes what it
 * would have started itself.  A starter renames the socket of the one it takes
 * first, so only one starter gets it.  To touch the socket's file, as the
 * plugin does, announces that a step is on its way: elan/program_expect.h.
 */
#ifndef SF_ELAN_PROGRAM_SPARE_H
#define SF_ELAN_PROGRAM_SPARE_H

#include <stdbool.h>

/* What a holder keeps from one program for the next: descriptors, -1 where
 * there is none. */
struct program_kept {
    int tree; /* root of the cgroup2 tree */
    int way;  /* cgroup.procs by which program_expect_begin_by() moves */
    int news; /* inotify; to close one would wait for the kernel */
};

#define PROGRAM_KEPT_NONE ((struct program_kept){-1, -1, -1})

/* In the holder: wait.  Returns the connection to the process that took us,
 * the next lifeline; -1: nobody came in that time, or others wait already. */
int program_spare_wait(const char *rundir, int wait_ms,
                       struct program_kept *kept);

/* One that waits there will be taken soon: it may make ready.  Best effort. */
void program_spare_tell(const char *rundir);

/* In the starter: one that waits there and is this executable, as a connection
 * to it; -1: there is none. */
int program_spare_take(const char *rundir, const char *holder);

/* Is the file of that name in RUNDIR what a holder or a starter left that was
 * killed? */
bool program_spare_is_left(const char *name);

#endif
