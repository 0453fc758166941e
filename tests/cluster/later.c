/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A later time, for LD_PRELOAD: the clocks are as many seconds ahead as the
 * file $LATER has bytes.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *t)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, t);
    const char *path = getenv("LATER");
    struct stat st;

    if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) &&
        path && stat(path, &st) == 0)
        t->tv_sec += st.st_size;
    return rc;
}
