/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* memfd_create, F_ADD_SEALS */
#include "base/sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fstat_old.h"

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static int write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

int sealed_make(const char *name, const void *data, size_t len)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), saved;

    if (fd < 0 ||
        (write_all(fd, data, len) == 0 && fcntl(fd, F_ADD_SEALS, SEALS) == 0))
        return fd;
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

const void *sealed_map(int fd, size_t max, size_t *len, struct errbuf *err)
{
    int seals = fcntl(fd, F_GET_SEALS);
    struct stat st;
    void *at;

    if (seals < 0 || (seals & SEALS) != SEALS || fstat_old(fd, &st) < 0 ||
        st.st_size <= 0) {
        errno = EPROTO;
        errprintf(err, "not a sealed memory file");
        return NULL;
    }
    if ((size_t)st.st_size > max) {
        errno = EMSGSIZE;
        errprintf(err, "a memory file of %lld bytes", (long long)st.st_size);
        return NULL;
    }
    *len = (size_t)st.st_size;
    at = mmap(NULL, *len, PROT_READ, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED)
        return at;
    errprintf(err, "cannot map a memory file: %s", strerror(errno));
    return NULL;
}
