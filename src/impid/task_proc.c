/* SPDX-License-Identifier: BSD-3-Clause */
#include "impid/task_proc.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "impi/task_wire.h"

int task_proc_register(const char *path, uint32_t rank, uint32_t local)
{
    struct task_register r = {rank, local};
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    uint8_t frame[64];
    ssize_t len = task_register_encode(frame, sizeof(frame), &r);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int rc = -1;

    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
    if (fd >= 0 && connect(fd, (const void *)&addr, sizeof(addr)) == 0 &&
        send(fd, frame, (size_t)len, MSG_NOSIGNAL) == len)
        rc = 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

static bool is_foreign(const char *entry)
{
    static const char *const prefix[] = {"PMI_", "PMIX_", "PMI2_"};

    for (size_t i = 0; i < sizeof(prefix) / sizeof(prefix[0]); i++)
        if (strncmp(entry, prefix[i], strlen(prefix[i])) == 0)
            return true;
    return false;
}

bool task_proc_foreign(char *const *env, char *name, size_t size)
{
    for (; env && *env; env++) {
        size_t len = strcspn(*env, "=");

        if (!is_foreign(*env) || (*env)[len] != '=' || len >= size)
            continue;
        memcpy(name, *env, len);
        name[len] = '\0';
        return true;
    }
    return false;
}
