/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A disk that stands still, for LD_PRELOAD: as long as the file $SLOW_DISK is
 * there, fsync(), fdatasync() and pread() do not return; as long as
 * $SLOW_DISK.write is there, pwrite() does not begin.  A process that waits
 * makes $SLOW_DISK.PID.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void wait_for_disk(const char *what)
{
    const struct timespec moment = {.tv_nsec = 20000000};
    const char *path = getenv("SLOW_DISK");
    char met[4096], held[4096];

    snprintf(held, sizeof(held), "%s%s", path ? path : "", what);
    while (path && access(held, F_OK) == 0) {
        snprintf(met, sizeof(met), "%s.%d", path, (int)getpid());
        close(open(met, O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
        nanosleep(&moment, NULL);
    }
}

static int then(const char *name, int fd)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);

    wait_for_disk("");
    return real(fd);
}

int fsync(int fd)
{
    return then("fsync", fd);
}

int fdatasync(int fd)
{
    return then("fdatasync", fd);
}

ssize_t pread(int fd, void *buf, size_t size, off_t at)
{
    ssize_t (*real)(int, void *, size_t, off_t) =
        (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");

    wait_for_disk("");
    return real(fd, buf, size, at);
}

ssize_t pwrite(int fd, const void *buf, size_t size, off_t at)
{
    ssize_t (*real)(int, const void *, size_t, off_t) =
        (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT,
                                                            "pwrite");

    wait_for_disk(".write");
    return real(fd, buf, size, at);
}

/* As they are called where off_t has been told to have 64 bits. */
ssize_t pwrite64(int fd, const void *buf, size_t size, off_t at)
{
    return pwrite(fd, buf, size, at);
}

ssize_t pread64(int fd, void *buf, size_t size, off_t at)
{
    return pread(fd, buf, size, at);
}
