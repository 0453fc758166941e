/* SPDX-License-Identifier: BSD-3-Clause */
#include "impid/task_proc.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/local.h"
#include "impi/task_wire.h"

int task_proc_register(const char *path, uint32_t rank, uint32_t local)
{
    struct task_register r = {rank, local};
    uint8_t frame[64];
    ssize_t len = task_register_encode(frame, sizeof(frame), &r);
    int fd = local_connect(path, SOCK_STREAM, 0), rc = -1;

    if (fd < 0)
        return -1;
    if (send(fd, frame, (size_t)len, MSG_NOSIGNAL) == len)
        rc = 0;
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
