/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sessions, and the start and end of a world that is only used by them.
 */
#ifndef LIBIMPI_SESSION_H
#define LIBIMPI_SESSION_H

/* How many there are. */
int session_count(void);

/* Of world.c, for session.c.  world_session_begin(), before a session begins:
 * if it is the process's first MPI call, impid is told of the process, and
 * where the step has several clients their world is made.
 * world_session_begun(): afterwards. */
int world_session_begin(void);
void world_session_begun(void);

#endif
