/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between the two halves of the holder: program_start.c forks it,
 * program_holder.c is what it does.
 */
#ifndef SF_ELAN_PROGRAM_HOLDER_PRIV_H
#define SF_ELAN_PROGRAM_HOLDER_PRIV_H

#include "elan/program_holder.h"

#define PROGRAM_GROUP_PREFIX "elan-prg-"

/* The holder's life, in its own process.  Returns when it is over. */
void program_holder_run(int lifeline, const struct program_spec *spec,
                        pid_t starter);

/* Is this a socket that nobody listens on? */
bool program_socket_is_stale(const char *path);

#endif
