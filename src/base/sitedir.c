/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

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
