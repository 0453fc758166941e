/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PMI-1: lines, and what each command does.
 *
 * Source: the PMI-1 wire as MPICH 4.0 to 4.2 speaks it (lines of key=value,
 * ended by a newline; "cmd=" first).
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "pmi/pmi_wire.h"

/* One line of PMI-1: blank-separated key=value words. */
#define PMI1_WORDS_MAX 16

struct pmi1_line {
    size_t nwords;
    struct {
        const char *key;
        const char *value;
    } word[PMI1_WORDS_MAX];
};

/* 0, or -1 with errno and text: drop the process. */
typedef int pmi1_command_f(struct pmi *p, uint32_t local,
                           const struct pmi1_line *line, struct errbuf *err);

struct pmi1_command {
    const char *name;
    pmi1_command_f *run;
    bool before_init;
};

static void pmi1_reply(struct pmi *p, uint32_t local, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- lines ---- */

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

/* ---- commands ---- */

static int cmd_init(struct pmi *p, uint32_t local, const struct pmi1_line *line,
                    struct errbuf *err)
{
    const char *version = pmi1_line_get(line, "pmi_version");

    if (p->proc[local].initialized)
        return pmi_refuse(err, EPROTO, local, "init twice");
    if (version && strcmp(version, "2") == 0) {
        pmi2_begin(p, local);
        return 0;
    }
    if (!version || strcmp(version, "1") != 0) {
        pmi1_reply(
            p, local,
            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n");
        return pmi_refuse(err, EPROTO, local, "neither PMI version 1 nor 2");
    }
    p->proc[local].initialized = true;
    pmi1_reply(p, local,
               "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    return 0;
}

static int cmd_get_maxes(struct pmi *p, uint32_t local,
                         const struct pmi1_line *line, struct errbuf *err)
{
    pmi1_reply(p, local,
               "cmd=maxes rc=0 kvsname_max=%d keylen_max=%d "
               "vallen_max=%d\n",
               SF_PMI_KVSNAME_MAX, SF_PMI_KEY_MAX, SF_PMI_VALUE_MAX);
    return 0;
}

static int cmd_get_appnum(struct pmi *p, uint32_t local,
                          const struct pmi1_line *line, struct errbuf *err)
{
    pmi1_reply(p, local, "cmd=appnum rc=0 appnum=%u\n", p->config.appnum);
    return 0;
}

static int cmd_get_universe_size(struct pmi *p, uint32_t local,
                                 const struct pmi1_line *line,
                                 struct errbuf *err)
{
    pmi1_reply(p, local, "cmd=universe_size rc=0 size=%u\n",
               p->config.universe);
    return 0;
}

static int cmd_get_my_kvsname(struct pmi *p, uint32_t local,
                              const struct pmi1_line *line, struct errbuf *err)
{
    pmi1_reply(p, local, "cmd=my_kvsname rc=0 kvsname=%s\n", p->config.kvsname);
    return 0;
}

static bool own_kvs(const struct pmi *p, const struct pmi1_line *line)
{
    const char *name = pmi1_line_get(line, "kvsname");

    return name && strcmp(name, p->config.kvsname) == 0;
}

static int cmd_get(struct pmi *p, uint32_t local, const struct pmi1_line *line,
                   struct errbuf *err)
{
    const char *key = pmi1_line_get(line, "key");
    const char *value = NULL;

    if (key && own_kvs(p, line))
        value = pmi_kvs_get(&p->kvs, key);
    if (value)
        pmi1_reply(p, local, "cmd=get_result rc=0 msg=success value=%s\n",
                   value);
    else
        pmi1_reply(p, local,
                   "cmd=get_result rc=-1 msg=key_not_found value=unknown"
                   "\n");
    return 0;
}

static int cmd_put(struct pmi *p, uint32_t local, const struct pmi1_line *line,
                   struct errbuf *err)
{
    const char *key = pmi1_line_get(line, "key");
    const char *value = pmi1_line_get(line, "value");

    if (!key || !value || !own_kvs(p, line))
        return pmi_refuse(err, EPROTO, local,
                          "put without key, value or kvsname");
    if (strlen(key) > SF_PMI_KEY_MAX || strlen(value) > SF_PMI_VALUE_MAX)
        return pmi_refuse(err, EMSGSIZE, local, "put longer than the limits");
    if (pmi_kvs_put(&p->kvs, key, value) < 0)
        return pmi_refuse(err, errno, local, "key-value space is full");
    pmi1_reply(p, local, "cmd=put_result rc=0 msg=success\n");
    return 0;
}

static int cmd_barrier_in(struct pmi *p, uint32_t local,
                          const struct pmi1_line *line, struct errbuf *err)
{
    return pmi_enter(p, local, err);
}

static int cmd_finalize(struct pmi *p, uint32_t local,
                        const struct pmi1_line *line, struct errbuf *err)
{
    p->proc[local].finalized = true;
    pmi1_reply(p, local, "cmd=finalize_ack rc=0\n");
    return 0;
}

static int cmd_abort(struct pmi *p, uint32_t local,
                     const struct pmi1_line *line, struct errbuf *err)
{
    const char *code = pmi1_line_get(line, "exitcode");

    pmi_abort(p, local, code ? (int)strtol(code, NULL, 10) : 1);
    return 0;
}

/* What PMI-1 has and an IMPI step does not: refused, the program goes on. */
static int cmd_publish(struct pmi *p, uint32_t local,
                       const struct pmi1_line *line, struct errbuf *err)
{
    pmi1_reply(p, local, "cmd=publish_result rc=-1 msg=not_supported\n");
    return 0;
}

static int cmd_unpublish(struct pmi *p, uint32_t local,
                         const struct pmi1_line *line, struct errbuf *err)
{
    pmi1_reply(p, local, "cmd=unpublish_result rc=-1 msg=not_supported\n");
    return 0;
}

static int cmd_lookup(struct pmi *p, uint32_t local,
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

/* ---- what comes and goes ---- */

static void pmi1_reply(struct pmi *p, uint32_t local, const char *fmt, ...)
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

/* MPI_Comm_spawn: many lines up to endcmd, all of them skipped. */
static int spawn_line(struct pmi *p, uint32_t local, const char *text)
{
    if (strcmp(text, "endcmd") == 0) {
        p->proc[local].one.in_spawn = false;
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

static int run_line(struct pmi *p, uint32_t local, char *text,
                    struct errbuf *err)
{
    const struct pmi1_command *command;
    struct pmi1_line line;
    const char *name;

    if (p->proc[local].one.in_spawn)
        return spawn_line(p, local, text);
    if (strncmp(text, "mcmd=", 5) == 0) {
        p->proc[local].one.in_spawn = true;
        return 0;
    }
    cut_message(text);
    if (pmi1_line_split(&line, text) < 0)
        return pmi_refuse(err, EPROTO, local, "not a line of PMI-1");
    name = pmi1_line_get(&line, "cmd");
    command = name ? pmi1_find_command(name) : NULL;
    if (!command)
        return pmi_refuse(err, EPROTO, local, "unknown command");
    if (!command->before_init && !p->proc[local].initialized)
        return pmi_refuse(err, EPROTO, local, "command before init");
    return command->run(p, local, &line, err);
}

static ssize_t pmi1_input(struct pmi *p, uint32_t local, const char *data,
                          size_t len, struct errbuf *err)
{
    struct pmi1_proc *one = &p->proc[local].one;

    for (size_t i = 0; i < len; i++) {
        bool full = one->len == sizeof(one->text) - 1;

        if (data[i] == '\0')
            return pmi_refuse(err, EPROTO, local, "NUL in a line");
        if (data[i] != '\n' && !full) {
            one->text[one->len++] = data[i];
            continue;
        }
        one->text[one->len] = '\0';
        if (data[i] != '\n' && strncmp(one->text, ABORT, strlen(ABORT)) != 0)
            return pmi_refuse(err, EMSGSIZE, local, "line too long");
        one->len = 0;
        if (run_line(p, local, one->text, err) < 0)
            return -1;
        return (ssize_t)i + 1;
    }
    return (ssize_t)len;
}

static void pmi1_let_out(struct pmi *p, uint32_t local, bool complete)
{
    pmi1_reply(p, local, "cmd=barrier_out\n");
}

const struct pmi_wire pmi1_wire = {pmi1_input, pmi1_let_out};
