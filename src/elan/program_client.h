/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Asking a program's holder.  Used by libelan in a task and by slurmstepd.
 */
#ifndef SF_ELAN_PROGRAM_CLIENT_H
#define SF_ELAN_PROGRAM_CLIENT_H

#include <stddef.h>

#include "base/be.h"
#include "elan/program_wire.h"

/* Path of a program's socket: RUNDIR/prg-NUMBER.  0, or -1 with
 * ENAMETOOLONG. */
int program_socket_path(char *path, size_t size, const char *rundir,
                        int number);

/* Say one request to the holder at path.  On success *answer is positioned at
 * the answer, in *buf (free() it; NULL is not set on failure).
 * Returns 0, or -1 with errno: what the holder answered; ENOENT or
 * ECONNREFUSED no such program; ETIMEDOUT; EPROTO. */
int program_call(const char *path, const struct program_request *request,
                 struct be_reader *answer, void **buf);

/* The same without an answer. */
int program_tell(const char *path, uint32_t verb, int a, int b);

/* As program_call(): the program's figures; a capability (index 0, then 1..)
 * into it; one out of it, which the caller wipes. */
int program_call_stats(const char *path, uint32_t verb,
                       struct program_stats *stats);
int program_call_addcap(const char *path, int index,
                        const struct elan_capability *cap);
int program_call_getcap(const char *path, int index,
                        struct elan_capability *cap);

#endif
