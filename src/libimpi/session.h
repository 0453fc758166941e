/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sessions, and the start and end of a world that is only used by them.
 */
#ifndef LIBIMPI_SESSION_H
#define LIBIMPI_SESSION_H

/* How many there are. */
int session_count(void);

/* Of world.c.  Before a session begins: if nothing of MPI has, the process says
 * who it is, and where the step has several clients their world comes to be.
 * After it. */
int world_session_begin(void);
void world_session_begun(void);

#endif
