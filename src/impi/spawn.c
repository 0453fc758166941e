/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "impi/spawn.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"

#define FORMAT 1
#define OVERLAP 1u
#define WAIT 2u

/* ---- the request ---- */

void impi_spawn_encode(struct bytebuf *out, const struct impi_spawn *s)
{
    bytebuf_add32(out, FORMAT);
    bytebuf_add32(out, s->number);
    bytebuf_add_str(out, s->port);
    bytebuf_add_str(out, s->cwd);
    bytebuf_add32(out, s->ncommands);
    for (uint32_t i = 0; i < s->ncommands; i++) {
        const struct impi_spawn_command *c = &s->commands[i];

        bytebuf_add32(out, c->maxprocs);
        bytebuf_add32(out, (c->overlap ? OVERLAP : 0) | (c->wait ? WAIT : 0));
        bytebuf_add_str(out, c->host);
        bytebuf_add_str(out, c->wdir);
        bytebuf_add_str(out, c->path);
        bytebuf_add32(out, c->argc);
        for (uint32_t k = 0; k < c->argc; k++)
            bytebuf_add_str(out, c->argv[k]);
    }
}

static bool get_command(struct be_reader *r, struct impi_spawn_command *c)
{
    uint32_t flags;
    bool good;

    c->maxprocs = be_get32(r);
    flags = be_get32(r);
    c->overlap = flags & OVERLAP;
    c->wait = flags & WAIT;
    c->host = be_dup_str(r);
    c->wdir = be_dup_str(r);
    c->path = be_dup_str(r);
    c->argc = be_get32(r);
    /* Each takes two bytes at least. */
    if (r->bad || c->argc == 0 || c->argc > r->left / 2 || c->maxprocs == 0 ||
        c->maxprocs > SF_IMPI_PROCS_MAX) {
        r->bad = true;
        c->argc = 0;
        return false;
    }
    c->argv = calloc(c->argc, sizeof(*c->argv));
    good = c->host && c->wdir && c->path && c->argv;
    for (uint32_t i = 0; good && i < c->argc; i++)
        good = (c->argv[i] = be_dup_str(r)) != NULL;
    if (good && !c->argv[0][0])
        r->bad = true;
    return good && !r->bad;
}

int impi_spawn_decode(struct impi_spawn *s, const void *data, size_t len,
                      struct errbuf *err)
{
    struct be_reader r;
    bool good;

    memset(s, 0, sizeof(*s));
    be_reader_init(&r, data, len);
    r.bad |= be_get32(&r) != FORMAT;
    s->number = be_get32(&r);
    s->port = be_dup_str(&r);
    s->cwd = be_dup_str(&r);
    s->ncommands = be_get32(&r);
    if (s->ncommands == 0 || s->ncommands > SF_IMPI_SPAWN_MAX)
        r.bad = true;
    if (r.bad)
        s->ncommands = 0;
    s->commands = calloc(s->ncommands + 1, sizeof(*s->commands));
    good = s->port && s->cwd && s->commands;
    for (uint32_t i = 0; good && i < s->ncommands; i++)
        good = get_command(&r, &s->commands[i]);
    if (good && be_reader_done(&r))
        return 0;
    if (!s->commands)
        s->ncommands = 0;
    good = r.bad || good;
    impi_spawn_free(s);
    errno = good ? EPROTO : ENOMEM;
    return errprintf(err, "%s", good ? "malformed SPAWN" : "no memory");
}

void impi_spawn_free(struct impi_spawn *s)
{
    for (uint32_t i = 0; i < s->ncommands; i++) {
        struct impi_spawn_command *c = &s->commands[i];

        for (uint32_t k = 0; c->argv && k < c->argc; k++)
            free(c->argv[k]);
        free(c->argv);
        free(c->host);
        free(c->wdir);
        free(c->path);
    }
    free(s->commands);
    if (s->port)
        explicit_bzero(s->port, strlen(s->port));
    free(s->port);
    free(s->cwd);
    memset(s, 0, sizeof(*s));
}

/* ---- the answer ---- */

void impi_spawned_encode(struct bytebuf *out, uint32_t number, const char *why)
{
    bytebuf_add32(out, number);
    bytebuf_add_str(out, why);
}

int impi_spawned_decode(uint32_t *number, char *why, size_t size,
                        const void *data, size_t len)
{
    struct be_reader r;

    be_reader_init(&r, data, len);
    *number = be_get32(&r);
    be_get_str(&r, why, size);
    if (be_reader_done(&r))
        return 0;
    errno = EPROTO;
    return -1;
}

/* ---- srun ---- */

struct strings {
    char **at;
    size_t n, room;
    bool bad;
};

static void add(struct strings *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void add(struct strings *s, const char *fmt, ...)
{
    va_list ap;
    char **at;

    if (s->n + 1 >= s->room) {
        size_t room = s->room ? 2 * s->room : 64;

        at = realloc(s->at, room * sizeof(*at));
        if (!at) {
            s->bad = true;
            return;
        }
        s->at = at;
        s->room = room;
    }
    va_start(ap, fmt);
    if (vasprintf(&s->at[s->n], fmt, ap) < 0)
        s->bad = true;
    else
        s->n++;
    va_end(ap);
    s->at[s->n] = NULL;
}

void impi_strings_free(char **strings)
{
    for (char **s = strings; s && *s; s++)
        free(*s);
    free(strings);
}

static char **taken(struct strings *s)
{
    if (!s->bad)
        return s->at;
    impi_strings_free(s->at);
    errno = ENOMEM;
    return NULL;
}

/* --exact: what the others have not; --immediate: at once, or within so many
 * seconds, or say why. */
static void add_options(struct strings *out, const struct impi_spawn *s,
                        const struct impi_spawn_command *c, uint32_t job)
{
    add(out, "--jobid=%u", job);
    add(out, "--mpi=impi");
    add(out, "--exact");
    if (c->overlap)
        add(out, "--overlap");
    if (c->wait)
        add(out, "--immediate=%d", SF_IMPI_SPAWN_WAIT);
    else
        add(out, "--immediate");
    add(out, "--input=none");
    add(out, "--export=ALL");
    add(out, "--ntasks=%u", c->maxprocs);
    if (c->host[0])
        add(out, "--nodelist=%s", c->host);
    if (c->wdir[0] || s->cwd[0])
        add(out, "--chdir=%s", c->wdir[0] ? c->wdir : s->cwd);
    add(out, "--");
}

char **impi_spawn_argv(const struct impi_spawn *s, uint32_t job,
                       struct errbuf *err)
{
    struct strings out = {0};

    add(&out, "srun");
    for (uint32_t i = 0; i < s->ncommands; i++) {
        const struct impi_spawn_command *c = &s->commands[i];

        if (i > 0)
            add(&out, ":");
        add_options(&out, s, c, job);
        for (uint32_t k = 0; k < c->argc; k++) {
            if (strcmp(c->argv[k], ":") == 0) {
                impi_strings_free(out.at);
                errprintf(err, "an argument that is a single colon cannot be "
                               "given to srun");
                return NULL;
            }
            add(&out, "%s", c->argv[k]);
        }
    }
    if (out.bad)
        errprintf(err, "no memory");
    return taken(&out);
}

/* What Slurm and this launch have put there is not the children's, but for what
 * the job has: srun gives that to no step of a job that is there already. */
static bool is_of_launch(const char *variable)
{
    static const char *const begins[] = {
        "SLURM_", "SLURMD_", "SRUN_", "SBATCH_", "SALLOC_", "PMI_", "PMIX_"};
    static const char *const users[] = {"SLURM_CONF=",
                                        "SLURM_IMPI_CLIENTS=",
                                        "SLURM_IMPI_LOG=",
                                        "SLURM_IMPI_BACKENDS=",
                                        "SLURM_IMPI_DATA=",
                                        "SLURM_IMPI_THREAD=",
                                        "SLURM_IMPI_FLAT=",
                                        "SLURM_IMPI_NAMES=",
                                        "SLURM_IMPI_WINDOWS=",
                                        "SLURM_IMPI_DIRECT=",
                                        "SLURM_JOB_CPUS_PER_NODE="};

    for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++)
        if (strncmp(variable, users[i], strlen(users[i])) == 0)
            return false;
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
        if (strncmp(variable, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

char **impi_spawn_env(const struct impi_spawn *s, char *const *env)
{
    struct strings out = {0};

    for (; *env; env++)
        if (!is_of_launch(*env))
            add(&out, "%s", *env);
    add(&out, IMPI_SPAWN_PARENT "=%s", s->port);
    return taken(&out);
}

/* ---- how many there can be ---- */

/* Of from, from + step .. to, where step > 0: the largest up to `most`. */
static long largest_of(long from, long to, long step, long most)
{
    if (to > most)
        to = most;
    return to < from ? 0 : to - (to - from) % step;
}

/* A number of MPI's; *at behind it.  False: there is none. */
static bool get_int(const char **at, long *n)
{
    char *end;

    errno = 0;
    *n = strtol(*at, &end, 10);
    if (end == *at || errno == ERANGE || *n < INT_MIN || *n > INT_MAX)
        return false;
    *at = end + strspn(end, " ");
    return true;
}

/* One member of the list.  False: it is none. */
static bool largest_of_triplet(const char **at, long most, long *largest)
{
    long from, to, step = 1;

    if (!get_int(at, &from))
        return false;
    to = from;
    if (**at == ':') {
        (*at)++;
        if (!get_int(at, &to))
            return false;
        if (**at == ':') {
            (*at)++;
            if (!get_int(at, &step))
                return false;
        }
    }
    if (step == 0 || (to != from && (to > from) != (step > 0)))
        return false;
    if (step > 0)
        *largest = largest_of(from, to, step, most);
    else
        *largest =
            largest_of(from - (from - to) / -step * -step, from, -step, most);
    return true;
}

int impi_spawn_soft(const char *soft, uint32_t most, struct errbuf *err)
{
    const char *at = soft;
    long best = 0, one;

    for (;; at++) {
        if (!largest_of_triplet(&at, most, &one) || (*at && *at != ','))
            return errprintf(err,
                             "the info key soft is \"%s\": numbers, "
                             "first:last or first:last:step, with commas",
                             soft);
        if (one > best)
            best = one;
        if (!*at)
            return (int)best;
    }
}

bool impi_spawn_no_room(const char *why)
{
    return strstr(why, "Unable to create step") ||
           strstr(why, "Allocation failure of");
}

int impi_spawn_room(const char *cpus_per_node, const char *cpus_per_task)
{
    long each = cpus_per_task ? strtol(cpus_per_task, NULL, 10) : 1, room = 0;
    const char *at = cpus_per_node;

    if (each < 1)
        each = 1;
    while (at && *at) {
        char *end;
        long cpus = strtol(at, &end, 10), nodes = 1;

        if (end == at || cpus < 0 || cpus > SF_IMPI_PROCS_MAX)
            return 0;
        if (strncmp(end, "(x", 2) == 0) {
            nodes = strtol(end + 2, &end, 10);
            if (nodes < 1 || nodes > SF_IMPI_PROCS_MAX || *end++ != ')')
                return 0;
        }
        room += cpus / each * nodes;
        if (room > SF_IMPI_PROCS_MAX)
            return SF_IMPI_PROCS_MAX;
        if (*end && *end != ',')
            return 0;
        at = *end ? end + 1 : end;
    }
    return (int)room;
}
