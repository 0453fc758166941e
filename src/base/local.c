/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* syscall */
#include "base/local.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

static int address_of(struct sockaddr_un *un, const char *path)
{
    size_t len = strlen(path);

    if (len >= sizeof(un->sun_path))
        return errno = ENAMETOOLONG, -1;
    memset(un, 0, sizeof(*un));
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path, path, len);
    return 0;
}

static int fail(int fd)
{
    int e = errno;

    if (fd >= 0)
        close(fd);
    errno = e;
    return -1;
}

int local_connect(const char *path, int type, int seconds)
{
    struct timeval limit = {.tv_sec = seconds};
    struct sockaddr_un un;
    int fd, rc;

    if (address_of(&un, path) < 0)
        return -1;
    fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (seconds > 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    }
    do
        rc = connect(fd, (struct sockaddr *)&un, sizeof(un));
    while (rc < 0 && errno == EINTR);
    if (rc < 0 && errno == EAGAIN && seconds > 0)
        errno = ETIMEDOUT;
    return rc == 0 ? fd : fail(fd);
}

/* One whose queue is full listens, too. */
static bool somebody_listens(const char *path, int type)
{
    int fd = local_connect(path, type | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return errno == EAGAIN;
    close(fd);
    return true;
}

int local_listen_new(const char *path, int type)
{
    struct sockaddr_un un;
    int fd;

    if (address_of(&un, path) < 0)
        return -1;
    fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&un, sizeof(un)) < 0 ||
        listen(fd, SOMAXCONN) < 0)
        return fail(fd);
    return fd;
}

int local_listen_over(const char *path, int type)
{
    char own[sizeof(((struct sockaddr_un *)0)->sun_path) + 16];
    int fd, e;

    snprintf(own, sizeof(own), "%s.%d", path, (int)getpid());
    unlink(own);
    fd = local_listen_new(own, type);
    if (fd < 0 || (chmod(own, 0666) == 0 && rename(own, path) == 0))
        return fd;
    e = errno;
    close(fd);
    unlink(own);
    return errno = e, -1;
}

int local_listen(const char *path, int type)
{
    if (somebody_listens(path, type))
        return errno = EADDRINUSE, -1;
    return local_listen_over(path, type);
}

int local_peer_pidfd(int fd, pid_t pid)
{
    socklen_t len = sizeof(int);
    int pidfd = -1;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) == 0)
        return pidfd;
    if (errno != ENOPROTOOPT && errno != EOPNOTSUPP)
        return -1; /* it has ended: its pid may be another's */
    return (int)syscall(SYS_pidfd_open, pid, 0);
}
