/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sitedir.h"

static const char *put(struct sitedir *p, const char *dir, const char *built_in,
                       const char *name)
{
    int n;

    if (!dir || dir[0] != '/')
        dir = built_in;
    n = snprintf(p->path, sizeof(p->path), "%s%s%s", dir, *name ? "/" : "",
                 name);
    if (n < 0 || (size_t)n >= sizeof(p->path))
        p->path[0] = '\0';
    return p->path;
}

const char *sitedir_conf(struct sitedir *p, const char *name)
{
    return put(p, secure_getenv("SLURM_FABRIC_CONFDIR"), SF_SYSCONFDIR, name);
}

const char *sitedir_run(struct sitedir *p, const char *name)
{
    return put(p, secure_getenv("SLURM_FABRIC_RUNDIR"), SF_RUNSTATEDIR, name);
}

/* The first directory of a list, copied; NULL where there is none. */
static const char *first_of(struct sitedir *room, const char *list)
{
    size_t len = list ? strcspn(list, ":") : 0;

    if (len == 0 || len >= sizeof(room->path))
        return NULL;
    memcpy(room->path, list, len);
    room->path[len] = '\0';
    return room->path;
}

/* The first directory of the list that is below `above`, else the first of all.
 * (systemd sorts the list: the order in the unit says nothing.) */
static const char *first_below(struct sitedir *room, const char *list,
                               const char *above)
{
    size_t len = strlen(above);

    for (const char *at = list; at && *at; at += strcspn(at, ":")) {
        at += *at == ':';
        if (strncmp(at, above, len) == 0 && at[len] == '/')
            return first_of(room, at);
    }
    return first_of(room, list);
}

const char *sitedir_own_run(struct sitedir *p, const char *name)
{
    const char *dir = secure_getenv("SLURM_FABRIC_RUNDIR");
    struct sitedir own;

    if (!dir || dir[0] != '/')
        dir = first_below(&own, secure_getenv("RUNTIME_DIRECTORY"),
                          SF_RUNSTATEDIR);
    return put(p, dir, SF_RUNSTATEDIR, name);
}

const char *sitedir_own_state(struct sitedir *p, const char *name)
{
    struct sitedir own;

    return put(p, first_of(&own, secure_getenv("STATE_DIRECTORY")), SF_STATEDIR,
               name);
}
