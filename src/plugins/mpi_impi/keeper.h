/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In slurmstepd: a thread that keeps the step's agent.  It starts impid when
 * the first process of the step calls MPI (its connection waits in the step's
 * socket, unread), or when another node of the step says that one did; tells
 * it how a task ended, which Slurm keeps in its record of the step when the
 * kernel may have forgotten it; and ends it when it is told to.
 */
#ifndef SF_MPI_IMPI_KEEPER_H
#define SF_MPI_IMPI_KEEPER_H

#include <stdbool.h>
#include <sys/types.h>

#include "slurmabi/slurm_sym.h"

/* Start impid, once, in the thread that keeps it.  *status gets our end of its
 * socket, by which alone it sees that we live.  *pid gets the child, or 0 when
 * impid is not our child; then *pidfd is what it can be ended by (-1: nothing).
 * 0, or -1 with a line in the log. */
typedef int impi_keeper_start_f(void *arg, int *status, pid_t *pid, int *pidfd);

/* The step ends, and no task has connected the presence: the others of the
 * step know nothing of this node and may wait for it. */
typedef void impi_keeper_absent_f(void *arg);

struct impi_keeper_options {
    const struct slurmabi_stepd *step;
    impi_keeper_start_f *start;
    impi_keeper_absent_f *absent; /* in that thread, too; NULL: nothing */
    void *arg;
    bool now;      /* do not wait for a call of MPI */
    int grace_ms;  /* from SIGTERM to SIGKILL */
    int linger_ms; /* from the end of the presence's connection */
    int listener;  /* taken: closed when impid has it, or never will */
    int presence;  /* a socket that a task will connect; anything that comes on
                      it starts impid at once, its end after linger_ms.  -1:
                      none; borrowed */
};

/* The thread starts with the first fork, which is of the first task.
 * Returns the descriptor by which impid is told to end (impi_keeper_stop),
 * valid until impi_keeper_end(); -1: there is no thread, impid has been
 * started if that went. */
int impi_keeper_begin(const struct impi_keeper_options *options);

/* Before Slurm's record of the step goes, and our code with it. */
void impi_keeper_end(void);

/* The other side of that descriptor's dialogue: one byte there, one byte
 * back when impid is gone. */
#define IMPI_KEEPER_GONE '0'
#define IMPI_KEEPER_KILLED '1' /* it did not go by itself */

#endif
