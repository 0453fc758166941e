/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pmi/pmi1_priv.h"

static int cmd_init(struct pmi1 *p, uint32_t local,
                    const struct pmi1_line *line, struct errbuf *err)
{
    const char *version = pmi1_line_get(line, "pmi_version");

    if (p->proc[local].initialized)
        return pmi1_refuse(err, EPROTO, local, "init twice");
    if (!version || strcmp(version, "1") != 0) {
        pmi1_reply(
            p, local,
            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n");
        return pmi1_refuse(err, EPROTO, local, "not PMI version 1");
    }
    p->proc[local].initialized = true;
    pmi1_reply(p, local,
               "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    return 0;
}

static int cmd_get_maxes(struct pmi1 *p, uint32_t local,
                         const struct pmi1_line *line, struct errbuf *err)
{
    pmi1_reply(p, local,
               "cmd=maxes rc=0 kvsname_max=%d keylen_max=%d "
               "vallen_max=%d\n",
               SF_PMI1_KVSNAME_MAX, SF_PMI1_KEY_MAX, SF_PMI1_VALUE_MAX);
    return 0;
}

static int cmd_get_appnum(struct pmi1 *p, uint32_t local,
                          const struct pmi1_line *line, struct errbuf *err)
{
    pmi1_reply(p, local, "cmd=appnum rc=0 appnum=0\n");
    return 0;
}

static int cmd_get_universe_size(struct pmi1 *p, uint32_t local,
                                 const struct pmi1_line *line,
                                 struct errbuf *err)
{
    pmi1_reply(p, local, "cmd=universe_size rc=0 size=%u\n",
               p->config.universe);
    return 0;
}

static int cmd_get_my_kvsname(struct pmi1 *p, uint32_t local,
                              const struct pmi1_line *line, struct errbuf *err)
{
    pmi1_reply(p, local, "cmd=my_kvsname rc=0 kvsname=%s\n", p->config.kvsname);
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
        pmi1_reply(p, local, "cmd=get_result rc=0 msg=success value=%s\n",
                   value);
    else
        pmi1_reply(p, local,
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
        return pmi1_refuse(err, EPROTO, local,
                           "put without key, value or kvsname");
    if (strlen(key) > SF_PMI1_KEY_MAX || strlen(value) > SF_PMI1_VALUE_MAX)
        return pmi1_refuse(err, EMSGSIZE, local, "put longer than the limits");
    if (pmi1_kvs_put(&p->kvs, key, value) < 0)
        return pmi1_refuse(err, errno, local, "key-value space is full");
    pmi1_reply(p, local, "cmd=put_result rc=0 msg=success\n");
    return 0;
}

static int cmd_barrier_in(struct pmi1 *p, uint32_t local,
                          const struct pmi1_line *line, struct errbuf *err)
{
    if (p->proc[local].in_barrier)
        return pmi1_refuse(err, EPROTO, local, "barrier_in twice");
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
    pmi1_reply(p, local, "cmd=finalize_ack rc=0\n");
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
    pmi1_reply(p, local, "cmd=publish_result rc=-1 msg=not_supported\n");
    return 0;
}

static int cmd_unpublish(struct pmi1 *p, uint32_t local,
                         const struct pmi1_line *line, struct errbuf *err)
{
    pmi1_reply(p, local, "cmd=unpublish_result rc=-1 msg=not_supported\n");
    return 0;
}

static int cmd_lookup(struct pmi1 *p, uint32_t local,
                      const struct pmi1_line *line, struct errbuf *err)
{
    pmi1_reply(p, local, "cmd=lookup_result rc=-1 msg=not_supported\n");
    return 0;
}

static const struct pmi1_command commands[] = {
    {"init", cmd_init, true},
    {"get_maxes", cmd_get_maxes, false},
    {"get_appnum", cmd_get_appnum, false},
    {"get_universe_size", cmd_get_universe_size, false},
    {"get_my_kvsname", cmd_get_my_kvsname, false},
    {"get", cmd_get, false},
    {"put", cmd_put, false},
    {"barrier_in", cmd_barrier_in, false},
    {"finalize", cmd_finalize, false},
    {"abort", cmd_abort, false},
    {"publish_name", cmd_publish, false},
    {"unpublish_name", cmd_unpublish, false},
    {"lookup_name", cmd_lookup, false},
};

const struct pmi1_command *pmi1_find_command(const char *name)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}
