/* SPDX-License-Identifier: BSD-3-Clause
 * What the native library of a client needs, by its family.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "impid/impid_pmi.h"

uint32_t *impid_pmi_rank_hosts(const struct impid_client *c)
{
    const struct impi_clients *all = &c->round->clients;
    const struct impi_client_info *info = &all->clients[c->number];
    uint32_t *host = calloc(info->nprocs, sizeof(*host));

    for (uint32_t i = 0; host && i < info->nprocs; i++)
        host[i] = all->host[info->ranks[i]] - info->first_host;
    return host;
}

char **impid_pmi_env_alloc(size_t n)
{
    return calloc(n + 1, sizeof(char *));
}

int impid_pmi_env_add(char **env, const char *fmt, ...)
{
    va_list ap;
    size_t n = 0;
    int rc;

    while (env[n])
        n++;
    va_start(ap, fmt);
    rc = vasprintf(&env[n], fmt, ap);
    va_end(ap);
    if (rc < 0)
        env[n] = NULL;
    return rc;
}

void impid_pmi_free_env(char **env)
{
    if (!env)
        return;
    for (char **e = env; *e; e++)
        free(*e);
    free(env);
}

bool impid_pmi_subdir(char *path, size_t size, const struct impid *a,
                      const char *name, struct errbuf *err)
{
    snprintf(path, size, "%s/%s", a->conf.dir, name);
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return true;
    errprintf(err, "%s: %s", path, strerror(errno));
    return false;
}

int impid_pmi_start(struct impid_client *c, struct errbuf *err)
{
    char dir[256];

    if (c->family == TASK_FAMILY_MPICH)
        return impid_pmi1_start(c, err);
    if (!impid_pmi_subdir(dir, sizeof(dir), c->round->impid, "vader", err))
        return -1;
    return impid_pmix_start(c, err);
}

void impid_pmi_stop(struct impid_client *c)
{
    pmi1_destroy(c->pmi1);
    c->pmi1 = NULL;
    if (c->nspace_known && c->round->impid->pmix)
        c->round->impid->pmix->remove_nspace(c->nspace);
    c->nspace_known = false;
    while (c->fences) {
        struct impid_fence_count *f = c->fences;

        c->fences = f->next;
        free(f);
    }
}

/* What the site wants of the process itself.  Takes env, also when it fails:
 * NULL. */
static char **add_site(char **env, const struct impi_site *site,
                       struct errbuf *err)
{
    size_t n = 0;
    char **more;

    if (!env || site->shared_memory)
        return env;
    while (env[n])
        n++;
    more = realloc(env, (n + 2) * sizeof(char *));
    if (more) {
        env = more;
        env[n + 1] = NULL;
        if (impid_pmi_env_add(env, "IMPI_SHM=0") >= 0)
            return env;
    }
    errprintf(err, "%s", strerror(ENOMEM));
    impid_pmi_free_env(env);
    return NULL;
}

char **impid_pmi_env(struct impid_proc *p, int *pass_fd, struct errbuf *err)
{
    char **env = p->family == TASK_FAMILY_MPICH
                     ? impid_pmi1_env(p, pass_fd, err)
                     : impid_pmix_env(p, err);

    return add_site(env, &p->round->impid->conf.site, err);
}
