/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In the first task of a node, as the job's user, before exec: opens the line
 * on which slurmstepd waits for other nodes to call MPI (impi/presence.h).
 * Here because what it needs to know is the user's, which root does not read.
 */
#ifndef SF_MPI_IMPI_PRESENCE_H
#define SF_MPI_IMPI_PRESENCE_H

#include <stdint.h>

/* A socket for what ENV_PRESENCE says, of which only the version is looked at;
 * -1: it says nothing, or errno. */
int impi_presence_socket(const char *where);

/* Connect fd, a nonblocking socket, to where env says; it is not waited for.
 * What fails shows on fd, which starts the agent.  Nothing to do for -1, and
 * in a step of one node. */
void impi_presence_connect(int fd, char **env, uint32_t rank);

/* By a line of its own: no task of this node will call MPI, so that nobody
 * waits for one. */
void impi_presence_goodbye(char **env, uint32_t rank);
/* The same for the node'th node of the component of count tasks from rank first
 * on. */
void impi_presence_goodbye_node(char **env, uint32_t first, uint32_t count,
                                uint32_t node);

#endif
