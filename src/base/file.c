/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fstat_old.h"

#define PIECE 65536u /* where the size is not known */

/* ---- reading ------------------------------------------------------------- */

static ssize_t read_some(int fd, char *at, size_t size)
{
    ssize_t n;

    do
        n = read(fd, at, size);
    while (n < 0 && errno == EINTR);
    return n;
}

/* All there is, in memory that grows from `size` bytes on.  A file may become
 * longer while it is read. */
static char *read_all(int fd, size_t size, size_t max, size_t *len)
{
    char *text = NULL, *more;
    ssize_t n = 1;

    for (*len = 0; n > 0; *len += n > 0 ? (size_t)n : 0) {
        if (*len > max) {
            errno = EFBIG;
            break;
        }
        if (!text || *len == size) {
            size = text ? 2 * size : size;
            more = realloc(text, size + 1);
            if (!more)
                break;
            text = more;
        }
        n = read_some(fd, text + *len, size - *len);
    }
    if (n == 0) {
        text[*len] = '\0';
        return text;
    }
    free(text);
    return NULL;
}

static char *read_open(int fd, size_t max, unsigned flags, size_t *len)
{
    struct stat st;

    if (fstat_old(fd, &st) < 0)
        return NULL;
    if (flags & FILE_ANY)
        return read_all(fd, PIECE, max, len);
    errno = S_ISREG(st.st_mode) ? EFBIG : EINVAL;
    if (!S_ISREG(st.st_mode) || (uintmax_t)st.st_size > max)
        return NULL;
    /* One more, so that the end is seen without growing. */
    return read_all(fd, (size_t)st.st_size + 1, max, len);
}

static const char *why(void)
{
    if (errno == EFBIG)
        return "too long";
    return errno == EINVAL ? "not a regular file" : strerror(errno);
}

char *file_read(const char *path, size_t max, unsigned flags, size_t *len,
                struct errbuf *err)
{
    int mode = O_RDONLY | O_CLOEXEC | O_NOCTTY;
    int fd, saved;
    char *text;
    size_t n = 0;

    mode |= flags & FILE_NO_LINK ? O_NOFOLLOW : 0;
    mode |= flags & FILE_ANY ? 0 : O_NONBLOCK;
    fd = open(path, mode);
    text = fd >= 0 ? read_open(fd, max, flags, &n) : NULL;
    if (!text)
        errprintf(err, "%s: %s", path, why());
    saved = errno;
    if (fd >= 0)
        close(fd);
    errno = saved;
    if (len)
        *len = text ? n : 0;
    return text;
}

/* ---- replacing ----------------------------------------------------------- */

static int write_all(int fd, const char *at, size_t left)
{
    while (left > 0) {
        ssize_t n = write(fd, at, left);

        if (n < 0 && errno != EINTR)
            return -1;
        at += n > 0 ? n : 0;
        left -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int fill(const char *path, const void *bytes, size_t len, mode_t mode,
                unsigned flags)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    bool good;

    if (fd < 0)
        return -1;
    good = ((flags & FILE_UMASK) || fchmod(fd, mode) == 0) &&
           write_all(fd, bytes, len) == 0 &&
           (!(flags & FILE_DURABLE) || fsync(fd) == 0);
    return close(fd) == 0 && good ? 0 : -1;
}

/* A name is in its directory, and only that makes it last.  Some file systems
 * keep their directories by themselves and say EINVAL. */
static int sync_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) : 0;
    char dir[PATH_MAX];
    int fd, rc;

    snprintf(dir, sizeof(dir), "%.*s", (int)len, path);
    fd = open(slash ? (len ? dir : "/") : ".",
              O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    rc = fsync(fd) == 0 || errno == EINVAL ? 0 : -1;
    close(fd);
    return rc;
}

int file_replace(const char *path, const void *bytes, size_t len, mode_t mode,
                 unsigned flags, struct errbuf *err)
{
    char beside[PATH_MAX];

    if (snprintf(beside, sizeof(beside), "%s.new", path) >=
        (int)sizeof(beside)) {
        errno = ENAMETOOLONG;
        return errprintf(err, "%s: %s", path, strerror(errno));
    }
    unlink(beside); /* of a process that died */
    if (fill(beside, bytes, len, mode, flags) == 0 &&
        rename(beside, path) == 0) {
        if (!(flags & FILE_DURABLE) || sync_directory(path) == 0)
            return 0;
        return errprintf(err, "%s: %s: it may not survive a power failure",
                         path, strerror(errno));
    }
    errprintf(err, "%s: %s", path, strerror(errno));
    unlink(beside);
    return -1;
}
