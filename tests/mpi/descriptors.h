/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A process that has no file descriptor left.
 */
#ifndef TESTS_MPI_DESCRIPTORS_H
#define TESTS_MPI_DESCRIPTORS_H

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"

#define DESCRIPTORS 64

static int taken[2 * DESCRIPTORS], ntaken;

/* From now on this process opens none, whatever limit it asks for. */
static void take_descriptors(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct rlimit few;

    CHECK(getrlimit(RLIMIT_NOFILE, &few) == 0);
    if (few.rlim_max > (rlim_t)(fd + DESCRIPTORS))
        few.rlim_cur = few.rlim_max = (rlim_t)(fd + DESCRIPTORS);
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    for (; fd >= 0; fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) {
        CHECK(ntaken < 2 * DESCRIPTORS);
        taken[ntaken++] = fd;
    }
    CHECK(errno == EMFILE);
}

static void give_descriptors_back(void)
{
    while (ntaken > 0)
        CHECK(close(taken[--ntaken]) == 0);
}

#endif
