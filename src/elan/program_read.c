/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "elan/program_proc.h"
#include "elan/program_read.h"

/* Read all of fd into a buffer that grows up to max. */
static char *read_all(int fd, size_t max)
{
    size_t size = 4096, len = 0;
    char *buf = malloc(size + 1), *grown;
    ssize_t n;

    while (buf && (n = read(fd, buf + len, size - len)) > 0) {
        len += (size_t)n;
        if (len < size || len >= max)
            continue;
        size *= 2;
        grown = realloc(buf, size + 1);
        if (!grown)
            break;
        buf = grown;
    }
    if (buf)
        buf[len] = '\0';
    return buf;
}

char *program_read_at(int dir, const char *name, size_t max)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    char *text;

    if (fd < 0)
        return NULL;
    text = read_all(fd, max);
    close(fd);
    return text;
}

char *program_read_proc(pid_t pid, const char *file, size_t max)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    return program_read_at(AT_FDCWD, path, max);
}

int program_read_process(pid_t pid, struct program_process *process,
                         pid_t *ppid)
{
    char *text = program_read_proc(pid, "stat", 4096);
    int rc = -1;

    process->pid = pid;
    if (text)
        rc = proc_parse_stat(text, ppid, &process->start);
    free(text);
    return rc;
}
