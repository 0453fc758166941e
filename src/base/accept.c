/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* accept4 */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/accept.h"

#define REST 2 /* s; of a clock of whole seconds at least one */

static int take(int listener)
{
    return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static void keep_spare(int *spare)
{
    if (*spare <= 0)
        *spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void accept_spare_close(int *spare)
{
    if (*spare > 0)
        close(*spare);
    *spare = 0;
}

int accept_or_shed(int listener, int *spare)
{
    int fd, error;

    keep_spare(spare);
    fd = take(listener);
    error = errno;
    if (fd >= 0 || (error != EMFILE && error != ENFILE) || *spare <= 0)
        return fd;
    accept_spare_close(spare);
    fd = take(listener);
    if (fd >= 0)
        close(fd);
    keep_spare(spare);
    errno = error;
    return -1;
}

void accept_rest_begin(struct accept_rest *r, int error, time_t now)
{
    if (error == EMFILE || error == ENFILE || error == ENOBUFS ||
        error == ENOMEM)
        r->until = now + REST;
}

size_t accept_room(void)
{
    struct rlimit r;

    if (getrlimit(RLIMIT_NOFILE, &r) < 0)
        return 0;
    if (r.rlim_cur < r.rlim_max) {
        r.rlim_cur = r.rlim_max;
        setrlimit(RLIMIT_NOFILE, &r);
    }
    return r.rlim_max;
}
