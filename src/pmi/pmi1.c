/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmi/pmi1_priv.h"

void pmi1_reply(struct pmi1 *p, uint32_t local, const char *fmt, ...)
{
    char text[SF_PMI1_LINE_MAX];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (n > 0 && (size_t)n < sizeof(text))
        p->ops->reply(p->arg, local, text, (size_t)n);
}

int pmi1_refuse(struct errbuf *err, int code, uint32_t local, const char *text)
{
    errprintf(err, "PMI-1 process %u: %s", local, text);
    errno = code;
    return -1;
}

/* MPI_Comm_spawn: many lines up to endcmd, all of them skipped. */
static int spawn_line(struct pmi1 *p, uint32_t local, const char *text)
{
    if (strcmp(text, "endcmd") == 0) {
        p->proc[local].in_spawn = false;
        pmi1_reply(p, local, "cmd=spawn_result rc=-1 msg=not_supported\n");
    }
    return 0;
}

static int run_line(struct pmi1 *p, uint32_t local, char *text,
                    struct errbuf *err)
{
    const struct pmi1_command *command;
    struct pmi1_line line;
    const char *name;

    if (p->proc[local].in_spawn)
        return spawn_line(p, local, text);
    if (strncmp(text, "mcmd=", 5) == 0) {
        p->proc[local].in_spawn = true;
        return 0;
    }
    if (pmi1_line_split(&line, text) < 0)
        return pmi1_refuse(err, EPROTO, local, "not a line of PMI-1");
    name = pmi1_line_get(&line, "cmd");
    command = name ? pmi1_find_command(name) : NULL;
    if (!command)
        return pmi1_refuse(err, EPROTO, local, "unknown command");
    if (!command->before_init && !p->proc[local].initialized)
        return pmi1_refuse(err, EPROTO, local, "command before init");
    return command->run(p, local, &line, err);
}

int pmi1_input(struct pmi1 *p, uint32_t local, const void *data, size_t len,
               struct errbuf *err)
{
    struct pmi1_proc *proc = &p->proc[local];

    for (const char *c = data; len > 0; c++, len--) {
        if (*c == '\0')
            return pmi1_refuse(err, EPROTO, local, "NUL in a line");
        if (*c != '\n') {
            if (proc->len == sizeof(proc->text) - 1)
                return pmi1_refuse(err, EMSGSIZE, local, "line too long");
            proc->text[proc->len++] = *c;
            continue;
        }
        proc->text[proc->len] = '\0';
        proc->len = 0;
        if (run_line(p, local, proc->text, err) < 0)
            return -1;
    }
    return 0;
}

static int merge_all(struct pmi1 *p, const struct pmi1_blob *blobs,
                     size_t nblobs, struct errbuf *err)
{
    for (size_t i = 0; i < nblobs; i++)
        if (pmi1_kvs_merge(&p->kvs, blobs[i].data, blobs[i].len) < 0)
            return errprintf(err, "PMI-1 barrier: blob %zu: %s", i,
                             strerror(errno));
    return 0;
}

int pmi1_barrier_done(struct pmi1 *p, const struct pmi1_blob *blobs,
                      size_t nblobs, struct errbuf *err)
{
    if (!p->exchanging) {
        errno = EINVAL;
        return errprintf(err, "PMI-1 barrier: none is open");
    }
    if (merge_all(p, blobs, nblobs, err) < 0)
        return -1;
    pmi1_kvs_taken(&p->kvs);
    p->exchanging = false;
    p->in_barrier = 0;
    for (uint32_t i = 0; i < p->config.nlocal; i++)
        p->proc[i].in_barrier = false;
    for (uint32_t i = 0; i < p->config.nlocal; i++)
        pmi1_reply(p, i, "cmd=barrier_out\n");
    return 0;
}

bool pmi1_initialized(const struct pmi1 *p, uint32_t local)
{
    return p->proc[local].initialized;
}

bool pmi1_finalized(const struct pmi1 *p, uint32_t local)
{
    return p->proc[local].finalized;
}

void pmi1_destroy(struct pmi1 *p)
{
    int saved = errno;

    if (!p)
        return;
    pmi1_kvs_clear(&p->kvs);
    free((char *)p->config.kvsname);
    free((char *)p->config.mapping);
    free(p);
    errno = saved;
}

struct pmi1 *pmi1_create(const struct pmi1_config *config,
                         const struct pmi1_ops *ops, void *arg)
{
    struct pmi1 *p;

    if (config->nlocal > SF_PMI1_LOCAL_MAX ||
        strlen(config->kvsname) >= SF_PMI1_KVSNAME_MAX) {
        errno = EINVAL;
        return NULL;
    }
    p = calloc(1, sizeof(*p) + config->nlocal * sizeof(p->proc[0]));
    if (!p)
        return NULL;
    p->ops = ops;
    p->arg = arg;
    p->config = *config;
    p->config.kvsname = strdup(config->kvsname);
    p->config.mapping = strdup(config->mapping);
    /* A mapping longer than a value is left out: MPICH then asks each
     * process for its host name. */
    if (!p->config.kvsname || !p->config.mapping ||
        (strlen(config->mapping) <= SF_PMI1_VALUE_MAX &&
         pmi1_kvs_set(&p->kvs, "PMI_process_mapping", config->mapping) < 0)) {
        pmi1_destroy(p);
        return NULL;
    }
    return p;
}
