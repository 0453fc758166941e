/* SPDX-License-Identifier: BSD-3-Clause */
#include "libimpi/descriptors.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

/* The program's own, for which there is room beside those wanted. */
#define OWN 256

static int kept = -1;

/* Up to n, as far as the hard limit lets it.  False: it has so many. */
static bool raise_to(rlim_t n)
{
    struct rlimit r;

    if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur >= n ||
        r.rlim_cur >= r.rlim_max)
        return false;
    r.rlim_cur = n < r.rlim_max ? n : r.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &r) == 0;
}

void descriptors_want(size_t n)
{
    raise_to(n + OWN);
}

static bool raise_limit(void)
{
    struct rlimit r;

    return getrlimit(RLIMIT_NOFILE, &r) == 0 && raise_to(r.rlim_cur + OWN);
}

/* That takes nothing else. */
static int take(void)
{
    return eventfd(0, EFD_CLOEXEC);
}

bool descriptors_left(void)
{
    int fd = take();

    if (fd < 0 && errno == EMFILE && raise_limit())
        fd = take();
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

void descriptors_keep(void)
{
    int fd, none = -1;

    if (__atomic_load_n(&kept, __ATOMIC_RELAXED) >= 0)
        return;
    fd = take();
    if (fd >= 0 && !__atomic_compare_exchange_n(
                       &kept, &none, fd, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        close(fd);
}

/* False: there was none. */
static bool let_go(void)
{
    int fd = __atomic_exchange_n(&kept, -1, __ATOMIC_RELAXED);

    return fd >= 0 && close(fd) == 0;
}

bool descriptors_lend(int error)
{
    return (error == EMFILE || error == ENFILE) && let_go();
}

void descriptors_end(void)
{
    let_go();
}
