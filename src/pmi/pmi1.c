/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PMI-1: lines, the key-value space, what each command does, barriers.
 */
#include "pmi/pmi1.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "base/errbuf.h"
#include "base/limits.h"

/* One line of PMI-1: blank-separated key=value words. */
#define PMI1_WORDS_MAX 16

struct pmi1_line {
    size_t nwords;
    struct {
        const char *key;
        const char *value;
    } word[PMI1_WORDS_MAX];
};

/* The key-value space of one PMI-1 client: what was put on this node since
 * the last barrier, and everything known so far. */
struct pmi1_pair;

struct pmi1_kvs {
    struct pmi1_pair *pairs; /* uthash */
    uint8_t *fresh;          /* put since the last barrier, encoded */
    size_t fresh_len;
    size_t fresh_size;
    size_t bytes; /* keys and values in all */
};

struct pmi1_proc {
    bool initialized;
    bool finalized;
    bool in_barrier;
    bool in_spawn; /* between mcmd= and endcmd */
    bool aborted;  /* whatever else it says is not listened to */
    size_t len;    /* bytes of an unfinished line */
    char text[SF_PMI1_LINE_MAX];
};

struct pmi1 {
    const struct pmi1_ops *ops;
    void *arg;
    struct pmi1_config config; /* strings allocated */
    struct pmi1_kvs kvs;
    uint32_t in_barrier;     /* local processes that wait */
    bool exchanging;         /* the host has the barrier */
    bool leaving;            /* nobody waits any more */
    struct pmi1_proc proc[]; /* nlocal */
};

/* 0, or -1 with errno and text: drop the process. */
typedef int pmi1_command_f(struct pmi1 *p, uint32_t local,
                           const struct pmi1_line *line, struct errbuf *err);

struct pmi1_command {
    const char *name;
    pmi1_command_f *run;
    bool before_init;
};

static void pmi1_reply(struct pmi1 *p, uint32_t local, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static int pmi1_refuse(struct errbuf *err, int code, uint32_t local,
                       const char *text);

/* ---- pmi1 line --------------------------------------------------------- */

static int add_word(struct pmi1_line *line, char *word)
{
    char *eq = strchr(word, '=');

    if (!eq || eq == word || line->nwords == PMI1_WORDS_MAX) {
        errno = EPROTO;
        return -1;
    }
    *eq = '\0';
    line->word[line->nwords].key = word;
    line->word[line->nwords].value = eq + 1;
    line->nwords++;
    return 0;
}

/* Split text (NUL terminated, no newline) in place; the words borrow from
 * it.  Returns 0, or -1 with errno EPROTO: no '=' in a word, too many. */
static int pmi1_line_split(struct pmi1_line *line, char *text)
{
    char *save, *word;

    line->nwords = 0;
    for (word = strtok_r(text, " \t\r", &save); word;
         word = strtok_r(NULL, " \t\r", &save)) {
        if (add_word(line, word) < 0)
            return -1;
    }
    return 0;
}

/* The value of a key, or NULL. */
static const char *pmi1_line_get(const struct pmi1_line *line, const char *key)
{
    for (size_t i = 0; i < line->nwords; i++)
        if (strcmp(line->word[i].key, key) == 0)
            return line->word[i].value;
    return NULL;
}

/* ---- pmi1 kvs ---------------------------------------------------------- */

/* An entry that cannot be stored is our ENOMEM, not an exit. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct pmi1_pair {
    UT_hash_handle hh;
    char *value;
    char key[]; /* hashed */
};

/* Zeroed is empty. */
static void pmi1_kvs_clear(struct pmi1_kvs *kvs)
{
    struct pmi1_pair *pair, *next;

    HASH_ITER(hh, kvs->pairs, pair, next)
    {
        HASH_DEL(kvs->pairs, pair);
        free(pair->value);
        free(pair);
    }
    free(kvs->fresh);
    memset(kvs, 0, sizeof(*kvs));
}

static struct pmi1_pair *find(const struct pmi1_kvs *kvs, const char *key)
{
    struct pmi1_pair *pair;

    HASH_FIND_STR(kvs->pairs, key, pair);
    return pair;
}

/* NULL when not there. */
static const char *pmi1_kvs_get(const struct pmi1_kvs *kvs, const char *key)
{
    const struct pmi1_pair *pair = find(kvs, key);

    return pair ? pair->value : NULL;
}

static int replace(struct pmi1_kvs *kvs, struct pmi1_pair *pair,
                   const char *value)
{
    char *copy = strdup(value);

    if (!copy)
        return -1;
    kvs->bytes += strlen(value) - strlen(pair->value);
    free(pair->value);
    pair->value = copy;
    return 0;
}

static int add(struct pmi1_kvs *kvs, const char *key, const char *value)
{
    size_t klen = strlen(key);
    struct pmi1_pair *pair = calloc(1, sizeof(*pair) + klen + 1);
    char *copy = strdup(value);

    if (pair && copy) {
        memcpy(pair->key, key, klen + 1);
        pair->value = copy;
        HASH_ADD_STR(kvs->pairs, key, pair);
        if (pair->hh.tbl) {
            kvs->bytes += klen + strlen(value);
            return 0;
        }
    }
    free(copy);
    free(pair);
    errno = ENOMEM;
    return -1;
}

/* Set without making it fresh (given by the host). */
static int pmi1_kvs_set(struct pmi1_kvs *kvs, const char *key,
                        const char *value)
{
    struct pmi1_pair *pair = find(kvs, key);

    if (kvs->bytes + strlen(key) + strlen(value) > SF_PMI1_KVS_MAX) {
        errno = EMSGSIZE;
        return -1;
    }
    return pair ? replace(kvs, pair, value) : add(kvs, key, value);
}

static int fresh_reserve(struct pmi1_kvs *kvs, size_t more)
{
    size_t size = kvs->fresh_size ? kvs->fresh_size : 4096;
    uint8_t *grown;

    while (size < kvs->fresh_len + more)
        size *= 2;
    if (size == kvs->fresh_size)
        return 0;
    grown = realloc(kvs->fresh, size);
    if (!grown)
        return -1;
    kvs->fresh = grown;
    kvs->fresh_size = size;
    return 0;
}

/* Put locally: known at once, and part of the next blob.  A key put again
 * takes the new value.  Returns 0, or -1 with errno EMSGSIZE or ENOMEM. */
static int pmi1_kvs_put(struct pmi1_kvs *kvs, const char *key,
                        const char *value)
{
    size_t need = 4 + strlen(key) + strlen(value);
    struct be_writer w;

    if (fresh_reserve(kvs, need) < 0 || pmi1_kvs_set(kvs, key, value) < 0)
        return -1;
    be_writer_init(&w, kvs->fresh + kvs->fresh_len, need);
    be_put_str(&w, key);
    be_put_str(&w, value);
    kvs->fresh_len += w.len;
    return 0;
}

/* Forget what is fresh (after the barrier took it). */
static void pmi1_kvs_taken(struct pmi1_kvs *kvs)
{
    kvs->fresh_len = 0;
}

/* Take in a blob of another node (or our own).  Returns 0, or -1 with errno
 * EPROTO, EMSGSIZE, ENOMEM. */
static int pmi1_kvs_merge(struct pmi1_kvs *kvs, const void *blob, size_t len)
{
    char key[SF_PMI1_KEY_MAX + 1], value[SF_PMI1_VALUE_MAX + 1];
    struct be_reader r;

    be_reader_init(&r, blob, len);
    while (r.left > 0) {
        be_get_str(&r, key, sizeof(key));
        be_get_str(&r, value, sizeof(value));
        if (r.bad) {
            errno = EPROTO;
            return -1;
        }
        if (pmi1_kvs_set(kvs, key, value) < 0)
            return -1;
    }
    return 0;
}

/* ---- pmi1 mapping ------------------------------------------------------ */

/* PMI_process_mapping: runs of nodes that hold the same number of consecutive
 * ranks, as (first node, nodes, ranks on each). */

struct run {
    uint32_t node, nodes, ranks;
};

/* Number the nodes by first use: out[i] for rank i. */
static int renumber(uint32_t *out, const uint32_t *node, uint32_t size)
{
    uint32_t *seen = calloc(size, sizeof(*seen));
    uint32_t nseen = 0;

    if (!seen)
        return -1;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t k = 0;

        if (i > 0 && node[i] == node[i - 1]) {
            out[i] = out[i - 1];
            continue;
        }
        while (k < nseen && seen[k] != node[i])
            k++;
        if (k == nseen)
            seen[nseen++] = node[i];
        out[i] = k;
    }
    free(seen);
    return 0;
}

/* The block of consecutive ranks on one node that starts at rank i. */
static uint32_t block_length(const uint32_t *node, uint32_t size, uint32_t i)
{
    uint32_t n = 1;

    while (i + n < size && node[i + n] == node[i])
        n++;
    return n;
}

static struct run next_run(const uint32_t *node, uint32_t size, uint32_t *pos)
{
    struct run run = {.node = node[*pos], .nodes = 1};
    uint32_t i = *pos;

    run.ranks = block_length(node, size, i);
    i += run.ranks;
    while (i < size && node[i] == run.node + run.nodes &&
           block_length(node, size, i) == run.ranks) {
        run.nodes++;
        i += run.ranks;
    }
    *pos = i;
    return run;
}

char *pmi1_mapping(const uint32_t *node, uint32_t size)
{
    uint32_t *number = calloc(size ? size : 1, sizeof(*number));
    char *text = NULL;
    size_t len;
    FILE *f;

    if (!number || renumber(number, node, size) < 0) {
        free(number);
        return NULL;
    }
    f = open_memstream(&text, &len);
    if (f) {
        fputs("(vector", f);
        for (uint32_t pos = 0; pos < size;) {
            struct run run = next_run(number, size, &pos);

            fprintf(f, ",(%u,%u,%u)", run.node, run.nodes, run.ranks);
        }
        fputs(")", f);
        if (fclose(f) != 0) {
            free(text);
            text = NULL;
        }
    }
    free(number);
    return text;
}

/* ---- pmi1 cmd ---------------------------------------------------------- */

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
    pmi1_reply(p, local, "cmd=appnum rc=0 appnum=%u\n", p->config.appnum);
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
    if (p->leaving) {
        pmi1_reply(p, local, "cmd=barrier_out\n");
        return 0;
    }
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

    p->proc[local].aborted = true;
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

/* NULL: no such command. */
static const struct pmi1_command *pmi1_find_command(const char *name)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

/* ---- pmi1 -------------------------------------------------------------- */

static void pmi1_reply(struct pmi1 *p, uint32_t local, const char *fmt, ...)
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

/* Fill err, set errno to code, return -1. */
static int pmi1_refuse(struct errbuf *err, int code, uint32_t local,
                       const char *text)
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

/* Why it aborts is free text behind all else, with blanks and of any length:
 * the process says that itself on stderr. */
#define ABORT "cmd=abort "

static void cut_message(char *text)
{
    char *message = strstr(text, " message=");

    if (message && strncmp(text, ABORT, strlen(ABORT)) == 0)
        *message = '\0';
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
    cut_message(text);
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

    for (const char *c = data; len > 0 && !proc->aborted; c++, len--) {
        bool full = proc->len == sizeof(proc->text) - 1;

        if (*c == '\0')
            return pmi1_refuse(err, EPROTO, local, "NUL in a line");
        if (*c != '\n' && !full) {
            proc->text[proc->len++] = *c;
            continue;
        }
        proc->text[proc->len] = '\0';
        if (*c != '\n' && strncmp(proc->text, ABORT, strlen(ABORT)) != 0)
            return pmi1_refuse(err, EMSGSIZE, local, "line too long");
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
    if (p->leaving)
        return 0;
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

void pmi1_leave(struct pmi1 *p)
{
    p->leaving = true;
    p->exchanging = false;
    p->in_barrier = 0;
    for (uint32_t i = 0; i < p->config.nlocal; i++) {
        if (!p->proc[i].in_barrier)
            continue;
        p->proc[i].in_barrier = false;
        pmi1_reply(p, i, "cmd=barrier_out\n");
    }
}

bool pmi1_in_barrier(const struct pmi1 *p, uint32_t local)
{
    return p->proc[local].in_barrier;
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
