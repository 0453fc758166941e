/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PMI-2: messages, and what each command does.
 *
 * Source: the PMI-2 wire as the clients of MPICH and of Slurm (libpmi2) speak
 * it.  After an init line of PMI-1 each message, either way, is six characters
 * that hold its length in decimal, and so many of "cmd=NAME;key=value;..".  In
 * a value ';' is doubled.  A request that has "thrid" gets it back.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "pmi/pmi_wire.h"

/* The clients' numbers of errors. */
enum {
    PMI2_OK = 0,
    PMI2_NO_MEMORY = 2,
    PMI2_BAD_KEY_LENGTH = 5,
    PMI2_BAD_VALUE_LENGTH = 7,
    PMI2_OTHER = 14,
};

/* A thread of a process that waits for an attribute of the node. */
struct pmi2_wait {
    struct pmi2_wait *next;
    char thread[SF_PMI2_THREAD_MAX + 1];
    char key[SF_PMI_KEY_MAX + 1];
};

/* ---- requests ---- */

/* Taken apart: key, NUL, value, NUL, and so on. */
struct request {
    const char *words;
    size_t len;
    const char *thread; /* who asks; NULL: it has not said */
};

/* In place: what comes out is never longer.  Returns its length; 0: that is no
 * request. */
static size_t take_apart(char *text, size_t len)
{
    size_t r = 0, w = 0;

    while (r < len) {
        size_t start = w;

        while (r < len && text[r] && text[r] != '=' && text[r] != ';')
            text[w++] = text[r++];
        if (r == len || text[r] != '=' || w == start)
            return 0;
        text[w++] = '\0';
        r++;
        while (r < len && text[r]) {
            if (text[r] == ';' && (r + 1 == len || text[r + 1] != ';'))
                break;
            r += text[r] == ';';
            text[w++] = text[r++];
        }
        if (r == len || text[r] != ';')
            return 0;
        text[w++] = '\0';
        r++;
    }
    return w;
}

/* The value of the first such key, or NULL. */
static const char *get(const struct request *q, const char *key)
{
    const char *end = q->words + q->len;

    for (const char *word = q->words; word < end;) {
        const char *value = word + strlen(word) + 1;

        if (strcmp(word, key) == 0)
            return value;
        word = value + strlen(value) + 1;
    }
    return NULL;
}

static bool is_true(const struct request *q, const char *key)
{
    const char *value = get(q, key);

    return value && strcmp(value, "TRUE") == 0;
}

/* ---- answers ---- */

/* The longest has two values, each of their characters doubled, and some
 * words. */
struct answer {
    size_t len;
    char text[4 * SF_PMI_VALUE_MAX + 1024];
};

static void add_char(struct answer *a, char c)
{
    if (a->len < sizeof(a->text))
        a->text[a->len++] = c;
}

static void add_text(struct answer *a, const char *text, bool twice)
{
    for (; *text; text++) {
        if (twice && *text == ';')
            add_char(a, ';');
        add_char(a, *text);
    }
}

static void add(struct answer *a, const char *key, const char *value)
{
    add_text(a, key, false);
    add_char(a, '=');
    add_text(a, value, true);
    add_char(a, ';');
}

static void add_number(struct answer *a, const char *key, uint32_t value)
{
    char text[16];

    snprintf(text, sizeof(text), "%u", value);
    add(a, key, text);
}

/* "cmd=NAME-response;", who has asked, and how it went. */
static void begin(struct answer *a, const char *name, const char *thread,
                  int rc)
{
    a->len = 0;
    add_text(a, "      cmd=", false);
    add_text(a, name, false);
    add_text(a, "-response;", false);
    if (thread && *thread)
        add(a, "thrid", thread);
    add_number(a, "rc", (uint32_t)rc);
}

static void send(struct pmi *p, uint32_t local, struct answer *a)
{
    char head[16];
    int n = snprintf(head, sizeof(head), "%zu", a->len - 6);

    memcpy(a->text, head, (size_t)n);
    p->ops->reply(p->arg, local, a->text, a->len);
}

/* The answer has no more than that. */
static void done(struct pmi *p, uint32_t local, const char *name,
                 const struct request *q, int rc, const char *why)
{
    struct answer a;

    begin(&a, name, q->thread, rc);
    if (rc != PMI2_OK)
        add(&a, "errmsg", why);
    send(p, local, &a);
}

/* A value that was looked for; NULL: there is none. */
static void found(struct pmi *p, uint32_t local, const char *name,
                  const char *thread, const char *value)
{
    struct answer a;

    begin(&a, name, thread, PMI2_OK);
    add(&a, "found", value ? "TRUE" : "FALSE");
    if (value)
        add(&a, "value", value);
    send(p, local, &a);
}

/* ---- commands ---- */

/* 0, or -1 with errno and text: drop the process.  name: the command's. */
typedef int command_f(struct pmi *p, uint32_t local, const char *name,
                      const struct request *q, struct errbuf *err);

static int cmd_fullinit(struct pmi *p, uint32_t local, const char *name,
                        const struct request *q, struct errbuf *err)
{
    struct answer a;

    if (p->proc[local].initialized)
        return pmi_refuse(err, EPROTO, local, "fullinit twice");
    p->proc[local].initialized = true;
    begin(&a, name, q->thread, PMI2_OK);
    add(&a, "pmi-version", "2");
    add(&a, "pmi-subversion", "0");
    add_number(&a, "rank", p->config.ranks[local]);
    add_number(&a, "size", p->config.size);
    add_number(&a, "appnum", p->config.appnum);
    add(&a, "debugged", "FALSE");
    add(&a, "pmiverbose", "FALSE");
    send(p, local, &a);
    return 0;
}

static int cmd_finalize(struct pmi *p, uint32_t local, const char *name,
                        const struct request *q, struct errbuf *err)
{
    p->proc[local].finalized = true;
    done(p, local, name, q, PMI2_OK, NULL);
    return 0;
}

/* What does not concern the world is told by the process's end. */
static int cmd_abort(struct pmi *p, uint32_t local, const char *name,
                     const struct request *q, struct errbuf *err)
{
    const char *code = get(q, "exitcode");

    if (is_true(q, "isworld") || !get(q, "isworld"))
        pmi_abort(p, local, code ? (int)strtol(code, NULL, 10) : 1);
    return 0;
}

static int cmd_job_getid(struct pmi *p, uint32_t local, const char *name,
                         const struct request *q, struct errbuf *err)
{
    struct answer a;

    begin(&a, name, q->thread, PMI2_OK);
    add(&a, "jobid", p->config.kvsname);
    send(p, local, &a);
    return 0;
}

/* A key and a value that are to be kept; false: the process was told why not,
 * or (*rc < 0) is dropped. */
static bool may_put(struct pmi *p, uint32_t local, const char *name,
                    const struct request *q, int *rc, struct errbuf *err)
{
    const char *key = get(q, "key");
    const char *value = get(q, "value");

    *rc = 0;
    if (!key || !value)
        *rc = pmi_refuse(err, EPROTO, local, "put without key or value");
    else if (!*key || strlen(key) > SF_PMI_KEY_MAX)
        done(p, local, name, q, PMI2_BAD_KEY_LENGTH,
             "a key is empty or too long");
    else if (strlen(value) > SF_PMI_VALUE_MAX)
        done(p, local, name, q, PMI2_BAD_VALUE_LENGTH, "a value is too long");
    else
        return true;
    return false;
}

static void was_put(struct pmi *p, uint32_t local, const char *name,
                    const struct request *q, int rc)
{
    if (rc < 0)
        done(p, local, name, q, PMI2_NO_MEMORY,
             errno == EMSGSIZE ? "the key-value space is full"
                               : "out of memory");
    else
        done(p, local, name, q, PMI2_OK, NULL);
}

static int cmd_kvs_put(struct pmi *p, uint32_t local, const char *name,
                       const struct request *q, struct errbuf *err)
{
    int rc;

    if (may_put(p, local, name, q, &rc, err))
        was_put(p, local, name, q,
                pmi_kvs_put(&p->kvs, get(q, "key"), get(q, "value")));
    return rc;
}

/* No job named is its own. */
static int cmd_kvs_get(struct pmi *p, uint32_t local, const char *name,
                       const struct request *q, struct errbuf *err)
{
    const char *key = get(q, "key"), *job = get(q, "jobid");
    bool own = !job || !*job || strcmp(job, p->config.kvsname) == 0;

    found(p, local, name, q->thread,
          key && own ? pmi_kvs_get(&p->kvs, key) : NULL);
    return 0;
}

static int come_to_barrier(struct pmi *p, uint32_t local,
                           const struct request *q, bool ring,
                           struct errbuf *err)
{
    struct pmi2_proc *two = &p->proc[local].two;

    if (!p->proc[local].in_barrier) {
        two->in_ring = ring;
        snprintf(two->barrier_thread, sizeof(two->barrier_thread), "%s",
                 q->thread ? q->thread : "");
    }
    return pmi_enter(p, local, err);
}

static int cmd_kvs_fence(struct pmi *p, uint32_t local, const char *name,
                         const struct request *q, struct errbuf *err)
{
    return come_to_barrier(p, local, q, false, err);
}

/* PMIX_Ring: a fence in which each gives two values, and then gets that of the
 * rank before it and that of the one behind it. */
static void ring_key(char key[SF_PMI_KEY_MAX + 1], const char *side,
                     uint32_t rank)
{
    snprintf(key, SF_PMI_KEY_MAX + 1, "-ring-%s-%u", side, rank);
}

static int cmd_ring(struct pmi *p, uint32_t local, const char *name,
                    const struct request *q, struct errbuf *err)
{
    static const char *const sides[] = {"left", "right"};
    static const char *const names[] = {"ring-left", "ring-right"};
    char key[SF_PMI_KEY_MAX + 1];

    for (int i = 0; i < 2; i++) {
        const char *value = get(q, names[i]);

        if (!value || strlen(value) > SF_PMI_VALUE_MAX)
            return pmi_refuse(err, EPROTO, local,
                              "ring without values, or too long");
        ring_key(key, sides[i], p->config.ranks[local]);
        if (pmi_kvs_put(&p->kvs, key, value) < 0)
            return pmi_refuse(err, errno, local, "key-value space is full");
    }
    return come_to_barrier(p, local, q, true, err);
}

static int cmd_info_getjobattr(struct pmi *p, uint32_t local, const char *name,
                               const struct request *q, struct errbuf *err)
{
    static const char mapping[] = "PMI_process_mapping";
    const char *key = get(q, "key"), *value = NULL;
    char number[16];

    if (key && strcmp(key, mapping) == 0) {
        value = pmi_kvs_get(&p->kvs, mapping);
    } else if (key && strcmp(key, "universeSize") == 0) {
        snprintf(number, sizeof(number), "%u", p->config.universe);
        value = number;
    }
    found(p, local, name, q->thread, value);
    return 0;
}

/* Those that wait for it. */
static void tell_waiting(struct pmi *p, uint32_t local, const char *key,
                         const char *value)
{
    struct pmi2_proc *two = &p->proc[local].two;

    for (struct pmi2_wait **at = &two->waits; *at;) {
        struct pmi2_wait *w = *at;

        if (strcmp(w->key, key) != 0) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        two->nwaits--;
        found(p, local, "info-getnodeattr", w->thread, value);
        free(w);
    }
}

static int cmd_info_putnodeattr(struct pmi *p, uint32_t local, const char *name,
                                const struct request *q, struct errbuf *err)
{
    const char *key = get(q, "key"), *value = get(q, "value");
    int rc;

    if (!may_put(p, local, name, q, &rc, err))
        return rc;
    rc = pmi_kvs_set(&p->attributes, key, value);
    was_put(p, local, name, q, rc);
    for (uint32_t i = 0; rc == 0 && i < p->config.nlocal; i++)
        tell_waiting(p, i, key, value);
    return 0;
}

static int wait_for(struct pmi *p, uint32_t local, const char *name,
                    const struct request *q, const char *key)
{
    struct pmi2_proc *two = &p->proc[local].two;
    struct pmi2_wait *w = NULL;

    if (two->nwaits < SF_PMI2_WAITS_MAX)
        w = calloc(1, sizeof(*w));
    if (!w) {
        done(p, local, name, q, PMI2_NO_MEMORY, "too many wait");
        return 0;
    }
    snprintf(w->key, sizeof(w->key), "%s", key);
    snprintf(w->thread, sizeof(w->thread), "%s", q->thread ? q->thread : "");
    w->next = two->waits;
    two->waits = w;
    two->nwaits++;
    return 0;
}

static int cmd_info_getnodeattr(struct pmi *p, uint32_t local, const char *name,
                                const struct request *q, struct errbuf *err)
{
    const char *key = get(q, "key");
    const char *value = key ? pmi_kvs_get(&p->attributes, key) : NULL;

    if (key && !value && is_true(q, "wait") && strlen(key) <= SF_PMI_KEY_MAX)
        return wait_for(p, local, name, q, key);
    found(p, local, name, q->thread, value);
    return 0;
}

/* What PMI-2 has and an IMPI step does not: refused, the program goes on. */
static int cmd_not_here(struct pmi *p, uint32_t local, const char *name,
                        const struct request *q, struct errbuf *err)
{
    done(p, local, name, q, PMI2_OTHER, "not supported");
    return 0;
}

static const struct {
    const char *name;
    command_f *run;
} commands[] = {
    {"fullinit", cmd_fullinit},
    {"finalize", cmd_finalize},
    {"abort", cmd_abort},
    {"job-getid", cmd_job_getid},
    {"job-connect", cmd_not_here},
    {"job-disconnect", cmd_not_here},
    {"kvs-put", cmd_kvs_put},
    {"kvs-get", cmd_kvs_get},
    {"kvs-fence", cmd_kvs_fence},
    {"ring", cmd_ring},
    {"info-getjobattr", cmd_info_getjobattr},
    {"info-putnodeattr", cmd_info_putnodeattr},
    {"info-getnodeattr", cmd_info_getnodeattr},
    {"name-publish", cmd_not_here},
    {"name-unpublish", cmd_not_here},
    {"name-lookup", cmd_not_here},
    {"spawn", cmd_not_here},
};

/* ---- what comes and goes ---- */

static int run(struct pmi *p, uint32_t local, char *text, size_t len,
               struct errbuf *err)
{
    struct request q = {.words = text, .len = take_apart(text, len)};
    const char *name = q.len > 0 ? q.words + strlen(q.words) + 1 : NULL;

    if (!name || strcmp(q.words, "cmd") != 0)
        return pmi_refuse(err, EPROTO, local, "not a message of PMI-2");
    q.thread = get(&q, "thrid");
    if (q.thread && strlen(q.thread) > SF_PMI2_THREAD_MAX)
        return pmi_refuse(err, EMSGSIZE, local, "thrid is too long");
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(commands[i].name, name) != 0)
            continue;
        if (!p->proc[local].initialized && commands[i].run != cmd_fullinit)
            return pmi_refuse(err, EPROTO, local, "command before fullinit");
        return commands[i].run(p, local, commands[i].name, &q, err);
    }
    return pmi_refuse(err, EPROTO, local, "unknown command");
}

/* Digits with blanks before or after them; 0: it is none. */
static size_t read_length(const char head[6])
{
    size_t i = 0, n = 0;

    while (i < 6 && head[i] == ' ')
        i++;
    for (; i < 6 && head[i] >= '0' && head[i] <= '9'; i++)
        n = 10 * n + (size_t)(head[i] - '0');
    while (i < 6 && head[i] == ' ')
        i++;
    return i == 6 ? n : 0;
}

static int begin_message(struct pmi *p, uint32_t local, struct errbuf *err)
{
    struct pmi2_proc *two = &p->proc[local].two;

    two->size = read_length(two->head);
    two->len = 0;
    if (two->size == 0)
        return pmi_refuse(err, EPROTO, local, "not a length of PMI-2");
    if (two->size > SF_PMI2_MESSAGE_MAX)
        return pmi_refuse(err, EMSGSIZE, local, "message too long");
    two->message = malloc(two->size);
    if (!two->message)
        return pmi_refuse(err, ENOMEM, local, "out of memory");
    two->nhead = 0;
    return 0;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static ssize_t pmi2_input(struct pmi *p, uint32_t local, const char *data,
                          size_t len, struct errbuf *err)
{
    struct pmi2_proc *two = &p->proc[local].two;
    char *message = two->message;
    size_t n;
    int rc;

    if (!message) {
        n = least(len, sizeof(two->head) - two->nhead);
        memcpy(two->head + two->nhead, data, n);
        two->nhead += n;
        if (two->nhead == sizeof(two->head) && begin_message(p, local, err) < 0)
            return -1;
        return (ssize_t)n;
    }
    n = least(len, two->size - two->len);
    memcpy(message + two->len, data, n);
    two->len += n;
    if (two->len < two->size)
        return (ssize_t)n;
    two->message = NULL;
    rc = run(p, local, message, two->size, err);
    free(message);
    return rc < 0 ? -1 : (ssize_t)n;
}

/* False: one of its neighbours was in a fence. */
static bool let_out_of_ring(struct pmi *p, uint32_t local, const char *thread)
{
    uint32_t rank = p->config.ranks[local], size = p->config.size;
    char key[SF_PMI_KEY_MAX + 1];
    const char *left, *right;
    struct answer a;

    ring_key(key, "right", (rank + size - 1) % size);
    left = pmi_kvs_get(&p->kvs, key);
    ring_key(key, "left", (rank + 1) % size);
    right = pmi_kvs_get(&p->kvs, key);
    if (!left || !right)
        return false;
    begin(&a, "ring", thread, PMI2_OK);
    add_number(&a, "ring-count", rank);
    add(&a, "ring-left", left);
    add(&a, "ring-right", right);
    send(p, local, &a);
    return true;
}

static void pmi2_let_out(struct pmi *p, uint32_t local, bool complete)
{
    struct pmi2_proc *two = &p->proc[local].two;
    struct request q = {.thread = two->barrier_thread};

    if (!two->in_ring)
        done(p, local, "kvs-fence", &q, PMI2_OK, NULL);
    else if (!complete || !let_out_of_ring(p, local, q.thread))
        done(p, local, "ring", &q, PMI2_OTHER, "not all are in the ring");
}

const struct pmi_wire pmi2_wire = {pmi2_input, pmi2_let_out};

void pmi2_begin(struct pmi *p, uint32_t local)
{
    static const char line[] =
        "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n";

    p->proc[local].wire = &pmi2_wire;
    p->ops->reply(p->arg, local, line, sizeof(line) - 1);
}

void pmi2_end(struct pmi_proc *proc)
{
    struct pmi2_wait *w;

    free(proc->two.message);
    while ((w = proc->two.waits)) {
        proc->two.waits = w->next;
        free(w);
    }
}
