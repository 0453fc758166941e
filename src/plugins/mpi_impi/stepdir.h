/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The directory of a step's agent on a node, in a parent that is root's own:
 * PARENT/JOB.STEP.COMPONENT-PID, PID that of slurmstepd.  It belongs to the
 * job's user.  Root makes it, and removes it when it is empty; what the user
 * put into it is removed by a child with the user's ids.
 */
#ifndef SF_MPI_IMPI_STEPDIR_H
#define SF_MPI_IMPI_STEPDIR_H

#include <sys/types.h>

#include "base/errbuf.h"

#define STEPDIR_PATH_MAX 96 /* leaves room for "/sock" in sun_path */

/* Make PARENT (0755) and PARENT/name (0700, the user's) with a listening
 * socket "sock" in it.  Returns the socket, close-on-exec; or -1 with text.
 * *dir gets the directory itself, whatever is put over it later. */
int stepdir_make(char path[STEPDIR_PATH_MAX], const char *parent,
                 const char *name, uid_t uid, gid_t gid, int *dir,
                 struct errbuf *err);

/* Remove path and all in it, and close dir (-1: there is none).  Where only
 * the socket is left that costs no process.  Gives up after ten seconds. */
void stepdir_remove(const char *path, uid_t uid, gid_t gid, int dir);

/* Before a step of uid: remove what slurmstepds that are gone have left in
 * parent.  Gives up after two seconds, and after a tenth of one for what others
 * left; the next sweep goes on. */
void stepdir_sweep(const char *parent, uid_t uid);

#endif
