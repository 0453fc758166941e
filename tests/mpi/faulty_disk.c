/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Preloaded before all others: calls to the file system of one rank that go
 * wrong, FAULTY_DISK="WHAT RANK":
 *
 *   quota   a write fails: the quota is reached
 *   close   closing a file of IO_DIR does: what was written before had no room
 *   die     the process is killed in a write
 *   stall   a write does not come back; with FAULTY_UNTIL=FIFO not before
 *           somebody has opened that to write
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static int is_due(const char *what)
{
    const char *fault = getenv("FAULTY_DISK"), *rank = getenv("SLURM_PROCID");
    size_t n = strlen(what);

    return fault && rank && strncmp(fault, what, n) == 0 && fault[n] == ' ' &&
           strcmp(fault + n + 1, rank) == 0;
}

static void stall(void)
{
    const char *until = getenv("FAULTY_UNTIL");

    if (until)
        close(open(until, O_RDONLY));
    else
        for (;;)
            pause();
}

ssize_t pwritev(int fd, const struct iovec *iov, int n, off_t at)
{
    ssize_t (*real)(int, const struct iovec *, int, off_t) =
        (ssize_t(*)(int, const struct iovec *, int, off_t))(uintptr_t)dlsym(
            RTLD_NEXT, "pwritev");

    if (is_due("quota")) {
        errno = EDQUOT;
        return -1;
    }
    if (is_due("die")) {
        real(fd, iov, 1, at);
        raise(SIGKILL);
    }
    if (is_due("stall"))
        stall();
    return real(fd, iov, n, at);
}

ssize_t pwritev64(int fd, const struct iovec *iov, int n, off_t at)
{
    return pwritev(fd, iov, n, at);
}

static int is_of_dir(int fd)
{
    const char *dir = getenv("IO_DIR");
    char link[64], path[512] = "";

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    return dir && readlink(link, path, sizeof(path) - 1) > 0 &&
           strncmp(path, dir, strlen(dir)) == 0;
}

int close(int fd)
{
    int (*real)(int) = (int (*)(int))(uintptr_t)dlsym(RTLD_NEXT, "close");
    int ours = is_due("close") && is_of_dir(fd), rc = real(fd);

    if (!ours || rc < 0)
        return rc;
    errno = EDQUOT;
    return -1;
}
