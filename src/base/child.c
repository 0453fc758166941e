/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "base/child.h"

#include <signal.h>

/* Signals as a program finds them, and a session of its own. */
static int set_attributes(posix_spawnattr_t *attr)
{
    sigset_t none, all;
    int rc;

    sigemptyset(&none);
    sigfillset(&all);
    rc = posix_spawnattr_setsigmask(attr, &none);
    if (rc == 0)
        rc = posix_spawnattr_setsigdefault(attr, &all);
    if (rc == 0)
        rc = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK |
                                                POSIX_SPAWN_SETSIGDEF |
                                                POSIX_SPAWN_SETSID);
    return rc;
}

int child_spawn(pid_t *pid, const char *path,
                const posix_spawn_file_actions_t *files, char *const *argv,
                char *const *env)
{
    posix_spawnattr_t attr;
    int rc = posix_spawnattr_init(&attr);

    if (rc != 0)
        return rc;
    rc = set_attributes(&attr);
    if (rc == 0)
        rc = posix_spawn(pid, path, files, &attr, argv, env);
    posix_spawnattr_destroy(&attr);
    return rc;
}
