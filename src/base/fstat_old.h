/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fstat(), which is a symbol of glibc from 2.33 on only, by the system call,
 * for what must load with an older one (old_glibc.h).
 */
#ifndef SF_BASE_FSTAT_OLD_H
#define SF_BASE_FSTAT_OLD_H

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int fstat_old(int fd, struct stat *st)
{
    /* Where the kernel's struct is another one than the C library's. */
#if defined(__x86_64__) && defined(SYS_fstat)
    return (int)syscall(SYS_fstat, fd, st);
#else
    return fstat(fd, st);
#endif
}

#endif
