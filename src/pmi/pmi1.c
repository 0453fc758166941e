/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "pmi/pmi1.h"
#include "pmi/pmi1_kvs.h"
#include "pmi/pmi1_line.h"

struct proc {
    bool initialized;
    bool finalized;
    bool in_barrier;
    bool in_spawn; /* between mcmd= and endcmd */
    size_t len;    /* bytes of an unfinished line */
    char text[SF_PMI1_LINE_MAX];
};

struct pmi1 {
    const struct pmi1_ops *ops;
    void *arg;
    struct pmi1_config config; /* strings allocated */
    struct pmi1_kvs kvs;
    uint32_t in_barrier; /* local processes that wait */
    bool exchanging;     /* the host has the barrier */
    struct proc proc[];  /* nlocal */
};

typedef int command_f(struct pmi1 *p, uint32_t local,
                      const struct pmi1_line *line, struct errbuf *err);

__attribute__((format(printf, 3, 4))) static void
reply(struct pmi1 *p, uint32_t local, const char *fmt, ...)
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

static int refuse(struct errbuf *err, int code, uint32_t local,
                  const char *text)
{
    errprintf(err, "PMI-1 process %u: %s", local, text);
    errno = code;
    return -1;
}

static int cmd_init(struct pmi1 *p, uint32_t local,
                    const struct pmi1_line *line, struct errbuf *err)
{
    const char *version = pmi1_line_get(line, "pmi_version");

    if (p->proc[local].initialized)
        return refuse(err, EPROTO, local, "init twice");
    if (!version || strcmp(version, "1") != 0) {
        reply(p, local,
              "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n");
        return refuse(err, EPROTO, local, "not PMI version 1");
    }
    p->proc[local].initialized = true;
    reply(p, local,
          "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    return 0;
}

static int cmd_get_maxes(struct pmi1 *p, uint32_t local,
                         const struct pmi1_line *line, struct errbuf *err)
{
    reply(p, local,
          "cmd=maxes rc=0 kvsname_max=%d keylen_max=%d "
          "vallen_max=%d\n",
          SF_PMI1_KVSNAME_MAX, SF_PMI1_KEY_MAX, SF_PMI1_VALUE_MAX);
    return 0;
}

static int cmd_get_appnum(struct pmi1 *p, uint32_t local,
                          const struct pmi1_line *line, struct errbuf *err)
{
    reply(p, local, "cmd=appnum rc=0 appnum=0\n");
    return 0;
}

static int cmd_get_universe_size(struct pmi1 *p, uint32_t local,
                                 const struct pmi1_line *line,
                                 struct errbuf *err)
{
    reply(p, local, "cmd=universe_size rc=0 size=%u\n", p->config.universe);
    return 0;
}

static int cmd_get_my_kvsname(struct pmi1 *p, uint32_t local,
                              const struct pmi1_line *line, struct errbuf *err)
{
    reply(p, local, "cmd=my_kvsname rc=0 kvsname=%s\n", p->config.kvsname);
    return 0;
}

static bool own_kvs(const struct pmi1 *p, const struct pmi1_line *line)
{
    const char *name = pmi1_line_get(line, "kvsname");

    return name && strcmp(name, p->config.kvsname) == 0;
}

static int cmd_get(struct pmi1 *p, uint32_t local, const struct pmi1_line *line,
                   struct errbuf *err)
{
    const char *key = pmi1_line_get(line, "key");
    const char *value = NULL;

    if (key && own_kvs(p, line))
        value = pmi1_kvs_get(&p->kvs, key);
    if (value)
        reply(p, local, "cmd=get_result rc=0 msg=success value=%s\n", value);
    else
        reply(p, local,
              "cmd=get_result rc=-1 msg=key_not_found value=unknown"
              "\n");
    return 0;
}

static int cmd_put(struct pmi1 *p, uint32_t local, const struct pmi1_line *line,
                   struct errbuf *err)
{
    const char *key = pmi1_line_get(line, "key");
    const char *value = pmi1_line_get(line, "value");

    if (!key || !value || !own_kvs(p, line))
        return refuse(err, EPROTO, local, "put without key, value or kvsname");
    if (strlen(key) > SF_PMI1_KEY_MAX || strlen(value) > SF_PMI1_VALUE_MAX)
        return refuse(err, EMSGSIZE, local, "put longer than the limits");
    if (pmi1_kvs_put(&p->kvs, key, value) < 0)
        return refuse(err, errno, local, "key-value space is full");
    reply(p, local, "cmd=put_result rc=0 msg=success\n");
    return 0;
}

static int cmd_barrier_in(struct pmi1 *p, uint32_t local,
                          const struct pmi1_line *line, struct errbuf *err)
{
    if (p->proc[local].in_barrier)
        return refuse(err, EPROTO, local, "barrier_in twice");
    p->proc[local].in_barrier = true;
    if (++p->in_barrier < p->config.nlocal)
        return 0;
    p->exchanging = true;
    p->ops->barrier(p->arg, p->kvs.fresh, p->kvs.fresh_len);
    return 0;
}

static int cmd_finalize(struct pmi1 *p, uint32_t local,
                        const struct pmi1_line *line, struct errbuf *err)
{
    p->proc[local].finalized = true;
    reply(p, local, "cmd=finalize_ack rc=0\n");
    return 0;
}

static int cmd_abort(struct pmi1 *p, uint32_t local,
                     const struct pmi1_line *line, struct errbuf *err)
{
    const char *code = pmi1_line_get(line, "exitcode");

    p->ops->abort(p->arg, local, code ? (int)strtol(code, NULL, 10) : 1);
    return 0;
}

/* What PMI-1 has and an IMPI step does not: refused, the program goes on. */
static int cmd_publish(struct pmi1 *p, uint32_t local,
                       const struct pmi1_line *line, struct errbuf *err)
{
    reply(p, local, "cmd=publish_result rc=-1 msg=not_supported\n");
    return 0;
}

static int cmd_unpublish(struct pmi1 *p, uint32_t local,
                         const struct pmi1_line *line, struct errbuf *err)
{
    reply(p, local, "cmd=unpublish_result rc=-1 msg=not_supported\n");
    return 0;
}

static int cmd_lookup(struct pmi1 *p, uint32_t local,
                      const struct pmi1_line *line, struct errbuf *err)
{
    reply(p, local, "cmd=lookup_result rc=-1 msg=not_supported\n");
    return 0;
}

static const struct command {
    const char *name;
    command_f *run;
} commands[] = {
    {"init", cmd_init},
    {"get_maxes", cmd_get_maxes},
    {"get_appnum", cmd_get_appnum},
    {"get_universe_size", cmd_get_universe_size},
    {"get_my_kvsname", cmd_get_my_kvsname},
    {"get", cmd_get},
    {"put", cmd_put},
    {"barrier_in", cmd_barrier_in},
    {"finalize", cmd_finalize},
    {"abort", cmd_abort},
    {"publish_name", cmd_publish},
    {"unpublish_name", cmd_unpublish},
    {"lookup_name", cmd_lookup},
};

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

/* MPI_Comm_spawn: many lines up to endcmd, all of them skipped. */
static int spawn_line(struct pmi1 *p, uint32_t local, const char *text)
{
    if (strcmp(text, "endcmd") == 0) {
        p->proc[local].in_spawn = false;
        reply(p, local, "cmd=spawn_result rc=-1 msg=not_supported\n");
    }
    return 0;
}

static int run_line(struct pmi1 *p, uint32_t local, char *text,
                    struct errbuf *err)
{
    const struct command *command;
    struct pmi1_line line;
    const char *name;

    if (p->proc[local].in_spawn)
        return spawn_line(p, local, text);
    if (strncmp(text, "mcmd=", 5) == 0) {
        p->proc[local].in_spawn = true;
        return 0;
    }
    if (pmi1_line_split(&line, text) < 0)
        return refuse(err, EPROTO, local, "not a line of PMI-1");
    name = pmi1_line_get(&line, "cmd");
    command = name ? find_command(name) : NULL;
    if (!command)
        return refuse(err, EPROTO, local, "unknown command");
    if (command->run != cmd_init && !p->proc[local].initialized)
        return refuse(err, EPROTO, local, "command before init");
    return command->run(p, local, &line, err);
}

int pmi1_input(struct pmi1 *p, uint32_t local, const void *data, size_t len,
               struct errbuf *err)
{
    struct proc *proc = &p->proc[local];

    for (const char *c = data; len > 0; c++, len--) {
        if (*c == '\0')
            return refuse(err, EPROTO, local, "NUL in a line");
        if (*c != '\n') {
            if (proc->len == sizeof(proc->text) - 1)
                return refuse(err, EMSGSIZE, local, "line too long");
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
        reply(p, i, "cmd=barrier_out\n");
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
