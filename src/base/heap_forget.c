/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/heap_forget.h"

#define BLOCK ((size_t)1 << 16)

/* The line of /proc/self/maps, read without the heap's help. */
static bool find_heap(uintptr_t *from, uintptr_t *to, char *buf, size_t size)
{
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t have = 0;
    bool found = false;
    char *line, *end;
    ssize_t n;

    while (fd >= 0 && !found &&
           (n = read(fd, buf + have, size - 1 - have)) > 0) {
        buf[have + (size_t)n] = '\0';
        for (line = buf; (end = strchr(line, '\n')); line = end + 1) {
            *end = '\0';
            found = found ||
                    (strstr(line, "[heap]") &&
                     sscanf(line, "%" SCNxPTR "-%" SCNxPTR, from, to) == 2);
        }
        have = strlen(line);
        memmove(buf, line, have + 1);
    }
    if (fd >= 0)
        close(fd);
    return found;
}

/* By the file and not in place: another thread may give back a part of it. */
static int forget_in(int mem, char *buf, uintptr_t from, uintptr_t to,
                     const void *secret, size_t len)
{
    static const char zeros[4096];
    int found = 0;

    for (uintptr_t at = from; at < to; at += BLOCK) {
        ssize_t n = pread(mem, buf, BLOCK + len - 1, (off_t)at);
        char *hit = buf;

        if (n <= 0)
            break;
        while ((hit = memmem(hit, (size_t)(buf + n - hit), secret, len))) {
            uintptr_t copy = at + (uintptr_t)(hit - buf);

            for (size_t i = 0; copy != (uintptr_t)secret && i < len;
                 i += sizeof(zeros))
                if (pwrite(mem, zeros,
                           len - i < sizeof(zeros) ? len - i : sizeof(zeros),
                           (off_t)(copy + i)) < 0)
                    return -1;
            found += copy != (uintptr_t)secret;
            hit += len;
        }
    }
    return found;
}

int heap_forget(const void *secret, size_t len)
{
    size_t size = BLOCK + len;
    uintptr_t from, to;
    int mem, rc = -1;
    char *buf;

    if (len == 0)
        return 0;
    buf = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
               -1, 0);
    if (buf == MAP_FAILED)
        return -1;
    mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    if (!find_heap(&from, &to, buf, size))
        rc = 0; /* it has none */
    else if (mem >= 0)
        rc = forget_in(mem, buf, from, to, secret, len);
    if (mem >= 0)
        close(mem);
    explicit_bzero(buf, size);
    munmap(buf, size);
    return rc;
}
