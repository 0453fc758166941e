/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Comm_spawn, MPI_Comm_spawn_multiple and MPI_Comm_get_parent: the root
 * opens a port, has the server beside srun start a step (impi/spawn.h), and
 * waits for it as MPI_Comm_accept does.  The children connect to that port in
 * their MPI_Init.  Children that were there before and have just been parted
 * from are given time to leave.  Where there is no room the info key `soft`
 * lets it ask for fewer.  doc/impi-processes.md.
 */
#define _GNU_SOURCE
#include "libimpi/spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytebuf.h"
#include "impi/spawn.h"
#include "libimpi/failed.h"
#include "libimpi/foreign.h"
#include "libimpi/port.h"
#include "libimpi/state.h"

#define KEY_OVERLAP "slurm_overlap"
#define KEY_SOFT "soft"
#define VALUE_MAX 4096

/* ---- what is asked for ---- */

static uint32_t last_number;

/* One call, at its root. */
struct spawning {
    struct impi_spawn request;
    int count;
    char **commands;
    char ***argvs;
    const int *maxprocs;
    const MPI_Info *infos;
    uint32_t *now; /* how many of each are asked for */
};

/* A copy, "" where there is no such key. */
static char *value_of(MPI_Info info, const char *key)
{
    char value[VALUE_MAX] = "";
    int flag = 0, len = 0;

    if (info != MPI_INFO_NULL)
        impi_real.Info_get_valuelen(info, key, &len, &flag);
    if (flag && len < VALUE_MAX)
        impi_real.Info_get(info, key, VALUE_MAX - 1, value, &flag);
    return strdup(flag ? value : "");
}

static bool is_yes(const char *value)
{
    return strcmp(value, "yes") == 0 || strcmp(value, "true") == 0 ||
           strcmp(value, "1") == 0;
}

static int fill_argv(struct impi_spawn_command *c, const char *command,
                     char **argv)
{
    uint32_t n = 0;

    while (argv && argv[n])
        n++;
    c->argv = calloc(n + 1, sizeof(*c->argv));
    if (!c->argv)
        return -1;
    c->argc = n + 1;
    for (uint32_t i = 0; i <= n; i++)
        if (!(c->argv[i] = strdup(i == 0 ? command : argv[i - 1])))
            return -1;
    return 0;
}

static int fill_command(struct spawning *s, int i, struct errbuf *err)
{
    struct impi_spawn_command *c = &s->request.commands[i];
    MPI_Info info = s->infos[i];
    char **argv = s->argvs == MPI_ARGVS_NULL ? MPI_ARGV_NULL : s->argvs[i];
    char *overlap;

    if (!s->commands[i] || !s->commands[i][0])
        return errprintf(err, "no command is given");
    c->maxprocs = s->now[i];
    c->host = value_of(info, "host");
    c->wdir = value_of(info, "wdir");
    c->path = value_of(info, "path");
    overlap = value_of(info, KEY_OVERLAP);
    c->overlap = overlap && is_yes(overlap);
    free(overlap);
    c->wait = foreign_children_leave();
    if (!c->host || !c->wdir || !c->path ||
        fill_argv(c, s->commands[i], argv) < 0)
        return errprintf(err, "no memory");
    return 0;
}

static int fill_request(struct spawning *s, const char *port,
                        struct errbuf *err)
{
    struct impi_spawn *r = &s->request;
    char cwd[VALUE_MAX];

    impi_spawn_free(r);
    r->number = __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
    r->port = strdup(port);
    r->cwd = strdup(getcwd(cwd, sizeof(cwd)) ? cwd : "");
    r->commands = calloc((size_t)s->count, sizeof(*r->commands));
    if (!r->port || !r->cwd || !r->commands)
        return errprintf(err, "no memory");
    r->ncommands = (uint32_t)s->count;
    for (int i = 0; i < s->count; i++)
        if (fill_command(s, i, err) < 0)
            return -1;
    return 0;
}

/* ---- how many ---- */

/* The most that command i may have below `limit`; 0: nothing, -1 with text.  A
 * number that the job has no processors for is not tried. */
static int fewer(const struct spawning *s, int i, uint32_t limit,
                 struct errbuf *err)
{
    int room = impi_spawn_room(getenv("SLURM_JOB_CPUS_PER_NODE"), NULL);
    char *soft = value_of(s->infos[i], KEY_SOFT);
    uint32_t most = limit - 1;
    int n = -1;

    if (room > 0 && most > (uint32_t)room)
        most = (uint32_t)room;
    if (!soft)
        errprintf(err, "no memory");
    else if (*soft)
        n = impi_spawn_soft(soft, most, err);
    else
        n = limit > (uint32_t)s->maxprocs[i] ? s->maxprocs[i] : 0;
    free(soft);
    return n;
}

static int ask_for_most(struct spawning *s, struct errbuf *err)
{
    if (s->count < 1 || s->count > SF_IMPI_SPAWN_MAX)
        return errprintf(err, "%d commands, 1 to %d can be started", s->count,
                         SF_IMPI_SPAWN_MAX);
    s->now = calloc((size_t)s->count, sizeof(*s->now));
    if (!s->now)
        return errprintf(err, "no memory");
    for (int i = 0; i < s->count; i++) {
        int n;

        if (s->maxprocs[i] <= 0)
            return errprintf(err, "maxprocs is %d", s->maxprocs[i]);
        n = fewer(s, i, (uint32_t)s->maxprocs[i] + 1, err);
        if (n == 0)
            errprintf(err,
                      "the info key soft has no number from 1 to %d that the "
                      "job has processors for",
                      s->maxprocs[i]);
        if (n <= 0)
            return -1;
        s->now[i] = (uint32_t)n;
    }
    return 0;
}

/* The next smaller world, by the last command that can have fewer.  False:
 * there is none. */
static bool ask_for_fewer(struct spawning *s)
{
    struct errbuf err;

    for (int i = s->count - 1; i >= 0; i--) {
        int n = fewer(s, i, s->now[i], &err);

        if (n > 0) {
            s->now[i] = (uint32_t)n;
            return true;
        }
    }
    return false;
}

/* ---- what port.c asks for ---- */

static int ask(struct spawning *s, const char *port, struct errbuf *err)
{
    struct bytebuf b;
    int rc = -1;

    if (fill_request(s, port, err) < 0)
        return -1;
    bytebuf_init(&b, SF_TASK_REQUEST_MAX);
    impi_spawn_encode(&b, &s->request);
    if (b.bad)
        errprintf(err, "the commands and their arguments are too long");
    else
        rc =
            agent_spawn(&impi_be.agent, bytebuf_data(&b), bytebuf_len(&b), err);
    bytebuf_free(&b);
    return rc;
}

static int start(void *arg, const char *port, struct errbuf *err)
{
    struct spawning *s = arg;

    return ask_for_most(s, err) < 0 ? -1 : ask(s, port, err);
}

static bool has_failed(void *arg, struct errbuf *why)
{
    struct spawning *s = arg;
    char *port;
    int rc;

    if (!agent_spawned(&impi_be.agent, s->request.number, why))
        return false;
    if (!impi_spawn_no_room(why->text) || !ask_for_fewer(s))
        return true;
    port = s->request.port;
    s->request.port = NULL;
    rc = ask(s, port, why);
    explicit_bzero(port, strlen(port));
    free(port);
    return rc < 0;
}

/* ---- the calls ---- */

static uint32_t wanted(const struct spawning *s)
{
    uint32_t n = 0;

    for (int i = 0; i < s->count; i++)
        n += s->maxprocs[i] > 0 ? (uint32_t)s->maxprocs[i] : 0;
    return n;
}

/* Which of the processes that might be are not there: the first ones of a
 * command are. */
static void fill_missing(const struct spawning *s, int *missing)
{
    for (int i = 0; i < s->count; i++)
        for (int k = 0; k < s->maxprocs[i]; k++)
            *missing++ = (uint32_t)k >= s->now[i];
}

/* codes of n processes for all that call, most of whom know of n only. */
static int tell_codes(const struct spawning *s, int n, bool is_root, int root,
                      MPI_Comm comm, MPI_Comm children, int *codes)
{
    int there = 0, rc = impi_Comm_remote_size(children, &there);
    int *missing;

    if (rc != MPI_SUCCESS)
        return rc;
    missing = calloc((size_t)n + 1, sizeof(*missing));
    if (!missing)
        be_die(1, "SF-E403: no memory for the codes of spawned processes");
    if (is_root)
        fill_missing(s, missing);
    if (there < n)
        rc = impi_Bcast(missing, n, MPI_INT, root, comm);
    for (int i = 0; codes != MPI_ERRCODES_IGNORE && i < n; i++)
        codes[i] = missing[i] ? MPI_ERR_SPAWN : MPI_SUCCESS;
    free(missing);
    return rc;
}

int impi_Comm_spawn_multiple(int count, char *commands[], char **argvs[],
                             const int maxprocs[], const MPI_Info infos[],
                             int root, MPI_Comm comm, MPI_Comm *newintercomm,
                             int errcodes[])
{
    struct spawning s = {.count = count,
                         .commands = commands,
                         .argvs = argvs,
                         .maxprocs = maxprocs,
                         .infos = infos};
    struct port_children children = {
        .start = start, .has_failed = has_failed, .arg = &s};
    int rank = -1, rc;

    impi_Comm_rank(comm, &rank);
    if (rank == root)
        children.wanted = wanted(&s);
    rc = port_meet_children(&children, root, comm, newintercomm);
    if (rc == MPI_SUCCESS)
        rc = tell_codes(&s, (int)children.wanted, rank == root, root, comm,
                        *newintercomm, errcodes);
    else if (errcodes != MPI_ERRCODES_IGNORE)
        for (uint32_t i = 0; i < children.wanted; i++)
            errcodes[i] = MPI_ERR_SPAWN;
    impi_spawn_free(&s.request);
    free(s.now);
    return rc;
}

int impi_Comm_spawn(const char *command, char *argv[], int maxprocs,
                    MPI_Info info, int root, MPI_Comm comm,
                    MPI_Comm *newintercomm, int errcodes[])
{
    char *commands[1] = {(char *)command};
    char **argvs[1] = {argv};

    return impi_Comm_spawn_multiple(1, commands, argvs, &maxprocs, &info, root,
                                    comm, newintercomm, errcodes);
}

/* ---- the children ---- */

static MPI_Comm parent = MPI_COMM_NULL;

void spawn_meet_parent(void)
{
    const char *port = getenv(IMPI_SPAWN_PARENT);
    int rc;

    if (!port || !*port || impi_be.generation > 0)
        return;
    rc = impi_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &parent);
    if (rc == MPI_SUCCESS) /* its name in MPI */
        rc = impi_real.Comm_set_name(parent, "MPI_COMM_PARENT");
    if (rc == MPI_SUCCESS)
        return;
    be_die(1, "SF-E514: cannot meet the world that has spawned this one: %s",
           failed_noted_why());
}

/* Not after MPI_Comm_disconnect. */
int impi_Comm_get_parent(MPI_Comm *newparent)
{
    if (parent != MPI_COMM_NULL && !impi_comm_spans(parent))
        parent = MPI_COMM_NULL;
    *newparent = parent;
    return MPI_SUCCESS;
}
