/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "base/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fstat_old.h"
#include "base/identity.h"
#include "base/mac.h"

/* What /proc/PID/fd/N shows for a memfd of this name.  Nothing else is opened:
 * that could be a device, or a file that never answers. */
#define SHOWN(name) "/memfd:" name " (deleted)"

static const char *shown(enum memory_kind kind)
{
    return kind == MEMORY_RING ? SHOWN(RING_NAME) : SHOWN(MEMORY_AREA_NAME);
}

int memory_open(uint32_t pid, uint32_t fd, enum memory_kind kind)
{
    const char *name = shown(kind);
    char path[64], text[64];
    struct stat st;
    ssize_t n;
    int own;

    snprintf(path, sizeof(path), "/proc/%u/fd/%u", pid, fd);
    n = readlink(path, text, sizeof(text));
    if (n != (ssize_t)strlen(name) || memcmp(text, name, (size_t)n) != 0)
        return -1;
    own = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (own >= 0 && fstat_old(own, &st) == 0 && st.st_uid == geteuid())
        return own;
    if (own >= 0)
        close(own);
    return -1;
}

bool memory_has(int fd, enum memory_kind kind,
                const uint8_t token[MEMORY_TOKEN_SIZE])
{
    uint8_t got[MEMORY_TOKEN_SIZE];
    off_t at = kind == MEMORY_RING ? RING_LABEL_AT : 0;

    return pread(fd, got, sizeof(got), at) == sizeof(got) &&
           mac_equal(got, token, sizeof(got));
}

/* FNV-1a */
static uint64_t add_to_hash(uint64_t hash, const void *data, size_t len)
{
    const uint8_t *p = data;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
    return hash;
}

uint64_t memory_machine(void)
{
    static const char *const spaces[] = {"/proc/self/ns/pid",
                                         "/proc/self/ns/user"};
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    uid_t uid = geteuid();
    char text[64];
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

    if (fd >= 0)
        close(fd);
    for (size_t i = 0; i < 2 && n > 0; i++) {
        hash = add_to_hash(hash, text, (size_t)n);
        n = readlink(spaces[i], text, sizeof(text));
    }
    if (n <= 0)
        return 0;
    hash = add_to_hash(hash, text, (size_t)n);
    hash = add_to_hash(hash, &uid, sizeof(uid));
    return hash ? hash : 1;
}

/* The kernel asks for the same rights when a descriptor is opened. */
static bool may_open(pid_t pid)
{
    char path[64], text[64];

    snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
    return readlink(path, text, sizeof(text)) > 0;
}

struct memory_view memory_view_of(pid_t pid, uint32_t said, uint64_t users)
{
    struct memory_view v = {0};

    if (pid <= 0)
        return v;
    if ((uint32_t)pid != said)
        v.pid = (uint32_t)pid;
    if ((v.pid || users != identity_of("/proc/self/ns/user")) && may_open(pid))
        v.machine = memory_machine();
    return v;
}
