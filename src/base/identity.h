/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Do two processes of a machine see the same under a path (a mount, a
 * namespace of /proc/self/ns)?  Where the numbers are equal they do.
 */
#ifndef SF_BASE_IDENTITY_H
#define SF_BASE_IDENTITY_H

#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "base/fstat_old.h"

/* 0: not known. */
static inline uint64_t identity_of(const char *path)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    uint64_t id = 0;
    struct stat st;

    if (fd < 0)
        return 0;
    if (fstat_old(fd, &st) == 0)
        id = ((uint64_t)st.st_dev << 32) ^ (uint64_t)st.st_ino;
    close(fd);
    return id;
}

#endif
