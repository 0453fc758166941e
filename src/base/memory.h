/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that processes of one user and machine share (doc/impi-shm.md): a
 * sealed memfd, found by the process that has made it and its descriptor there,
 * and proved by a token that lies in it.
 */
#ifndef SF_BASE_MEMORY_H
#define SF_BASE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/ring.h"

enum memory_kind {
    MEMORY_RING = 1, /* base/ring.h; the token is its label */
    MEMORY_AREA = 2  /* begins with the token */
};

#define MEMORY_TOKEN_SIZE RING_LABEL_SIZE
#define MEMORY_AREA_NAME "slurm-fabric-area" /* of its memfd */

/* A descriptor (close-on-exec) of the memory behind descriptor fd of process
 * pid.  -1: there is none of that kind and of our own user, or the kernel does
 * not let us look. */
int memory_open(uint32_t pid, uint32_t fd, enum memory_kind kind);

/* Is this its token?  Maps nothing. */
bool memory_has(int fd, enum memory_kind kind,
                const uint8_t token[MEMORY_TOKEN_SIZE]);

/* A number that processes have in common which can open each other's memory, as
 * far as they can tell: of one user, on one machine, in one pid and one user
 * namespace.  0: not known. */
uint64_t memory_machine(void);

/* How others on the machine get at the memory of a process, as somebody of the
 * same user sees it who can open theirs and passes it on (impid). */
struct memory_view {
    uint32_t pid;     /* its number, if it has another one for itself; else 0 */
    uint64_t machine; /* memory_machine() of us, if that is not its own, but we
                         can open its memory; else 0 */
};
/* pid: as we see it, said: as it says; users: the user namespace it says,
 * identity_of(). */
struct memory_view memory_view_of(pid_t pid, uint32_t said, uint64_t users);

#endif
