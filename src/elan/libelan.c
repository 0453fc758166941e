/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libelan: the calls of elan/rmscall.h, made to the program's holder.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sitedir.h"
#include "elan/program_client.h"
#include "elan/program_holder.h"
#include "elan/rmscall.h"

#define PATH_SIZE 108 /* of a unix socket */

/* Directory of the sockets of this process' node: that of its own program,
 * or the run-time directory. */
static void rundir_of_env(char *dir, size_t size)
{
    const char *own = getenv("SLURM_FABRIC_PROGRAM");
    const char *slash = own ? strrchr(own, '/') : NULL;

    if (slash && (size_t)(slash - own) < size)
        snprintf(dir, size, "%.*s", (int)(slash - own), own);
    else
        snprintf(dir, size, "%s", SITEDIR_RUN(""));
}

typedef int each_f(const char *socket, void *arg);

/* Call each for the sockets in dir, then in the directories of it, until it
 * returns something other than -1. */
static int for_sockets(const char *dir, each_f *each, void *arg, int depth)
{
    DIR *d = opendir(dir);
    char path[PATH_SIZE];
    struct dirent *e;
    int rc = -1;

    while (d && rc == -1 && (e = readdir(d))) {
        if (e->d_name[0] == '.' ||
            (size_t)snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) >=
                sizeof(path))
            continue;
        if (strncmp(e->d_name, "prg-", 4) == 0)
            rc = each(path, arg);
        else if (depth > 0 && e->d_type == DT_DIR)
            rc = for_sockets(path, each, arg, depth - 1);
    }
    if (d)
        closedir(d);
    return rc;
}

struct search {
    int pid;    /* who is searched; 0: ourselves */
    int number; /* or which program; 0: any */
    int found;
    char path[PATH_SIZE];
};

/* Is the program behind this socket the one? */
static int ask(const char *path, void *arg)
{
    struct search *s = arg;
    struct program_request request = {.verb = PROGRAM_PRGID, .a = s->pid};
    struct be_reader answer;
    void *buf;

    if (program_call(path, &request, &answer, &buf) < 0)
        return -1;
    s->found = (int)be_get32(&answer);
    free(buf);
    snprintf(s->path, sizeof(s->path), "%s", path);
    return 0;
}

static int same_number(const char *path, void *arg)
{
    struct search *s = arg;

    if (atoi(strrchr(path, '/') + 5) != s->number)
        return -1;
    snprintf(s->path, sizeof(s->path), "%s", path);
    return 0;
}

/* The socket of the own program (number 0) or of a given one. */
static int find_program(struct search *s)
{
    const char *own = getenv("SLURM_FABRIC_PROGRAM");
    char dir[PATH_SIZE];

    if (s->number == 0 && own && ask(own, s) == 0)
        return 0;
    rundir_of_env(dir, sizeof(dir));
    if (for_sockets(dir, s->number ? same_number : ask, s, 1) == 0 ||
        for_sockets(SITEDIR_RUN(""), s->number ? same_number : ask, s, 1) == 0)
        return 0;
    errno = ENOENT;
    return -1;
}

/* A member's call goes straight to the known socket; found by a search
 * otherwise. */
static int own_program(char path[PATH_SIZE])
{
    const char *own = getenv("SLURM_FABRIC_PROGRAM");
    struct search s = {0};

    if (own && strlen(own) < PATH_SIZE) {
        strcpy(path, own);
        return 0;
    }
    if (find_program(&s) < 0)
        return -1;
    strcpy(path, s.path);
    return 0;
}

/* No holder there any more is no program. */
static int outcome(int rc)
{
    if (rc < 0 && (errno == ECONNREFUSED || errno == ECONNRESET))
        errno = ENOENT;
    return rc;
}

int rms_ncaps(int *ncaps)
{
    struct program_request request = {.verb = PROGRAM_NCAPS};
    struct be_reader answer;
    char path[PATH_SIZE];
    void *buf;

    if (own_program(path) < 0 ||
        outcome(program_call(path, &request, &answer, &buf)) < 0)
        return -1;
    *ncaps = (int)be_get32(&answer);
    free(buf);
    return 0;
}

int rms_getcap(int index, ELAN_CAPABILITY *cap)
{
    char path[PATH_SIZE];

    if (own_program(path) < 0)
        return -1;
    return outcome(program_call_getcap(path, index, cap));
}

int rms_setcap(int index, int ctx)
{
    char path[PATH_SIZE];

    if (own_program(path) < 0)
        return -1;
    return outcome(program_tell(path, PROGRAM_SETCAP, index, ctx));
}

int rms_getprgid(pid_t pid, int *id)
{
    struct search s = {.pid = pid};

    if (find_program(&s) < 0)
        return -1;
    *id = s.found;
    return 0;
}

static int find_numbered(struct search *s, int id)
{
    *s = (struct search){.number = id};
    if (id > 0)
        return find_program(s);
    errno = EINVAL;
    return -1;
}

static int tell_program(int id, uint32_t verb, int a)
{
    struct search s;

    if (find_numbered(&s, id) < 0)
        return -1;
    return outcome(program_tell(s.path, verb, a, 0));
}

int rms_prgsignal(int id, int signo)
{
    return tell_program(id, PROGRAM_SIGNAL, signo);
}

int rms_prgsuspend(int id)
{
    return tell_program(id, PROGRAM_SUSPEND, 0);
}

int rms_prgresume(int id)
{
    return tell_program(id, PROGRAM_RESUME, 0);
}

int rms_prgdestroy(int id)
{
    return tell_program(id, PROGRAM_DESTROY, 0);
}

int rms_prginfo(int id, int maxpids, pid_t *pids, int *nprocs)
{
    struct program_request request = {.verb = PROGRAM_INFO, .a = maxpids};
    struct be_reader answer;
    struct search s;
    void *buf;

    if (maxpids < 0) {
        errno = EINVAL;
        return -1;
    }
    if (find_numbered(&s, id) < 0 ||
        outcome(program_call(s.path, &request, &answer, &buf)) < 0)
        return -1;
    *nprocs = (int)be_get32(&answer);
    for (int i = 0; i < *nprocs && i < maxpids; i++)
        pids[i] = (pid_t)be_get32(&answer);
    free(buf);
    return 0;
}

int rms_prggetstats(int id, struct rms_prgstats *stats)
{
    struct program_stats p;
    struct search s;

    if (find_numbered(&s, id) < 0 ||
        outcome(program_call_stats(s.path, PROGRAM_STATS, &p)) < 0)
        return -1;
    *stats = (struct rms_prgstats){
        .prg_utime_us = p.user_us,
        .prg_stime_us = p.system_us,
        .prg_maxmem = p.memory_peak,
        .prg_maxproc = p.process_peak,
        .prg_now = p.now,
        .prg_most = p.most,
        .prg_seen = p.seen,
        .prg_exact = p.exact,
    };
    return 0;
}

/* Become a member.  In Slurm's own group the caller is one already. */
static int enter(const struct program_handle *h)
{
    int fd, rc, e;

    if (!h->group.own)
        return 0;
    fd = program_cgroup_open_procs(&h->group, NULL);
    if (fd < 0)
        return -1;
    rc = write(fd, "0", 1) == 1 ? 0 : -1;
    e = errno;
    close(fd);
    errno = e;
    return rc;
}

int rms_prgcreate(int id, uid_t uid, int cpus)
{
    char dir[PATH_SIZE];
    struct program_spec spec = {.number = id, .uid = uid, .rundir = dir};
    struct program_handle handle;
    int rc, e;

    (void)cpus;
    if (id <= 0) {
        errno = EINVAL;
        return -1;
    }
    rundir_of_env(dir, sizeof(dir));
    if (program_make_rundir(dir, NULL) < 0 ||
        program_start(&handle, &spec, NULL) < 0)
        return -1;
    /* The lifeline stays open, on purpose: it ends with the caller. */
    rc = enter(&handle);
    e = errno;
    program_cgroup_close(&handle.group);
    if (rc < 0) /* and with it the program */
        program_release(&handle);
    errno = e;
    return rc;
}

int rms_prgaddcap(int id, int index, const ELAN_CAPABILITY *cap)
{
    struct search s;

    if (find_numbered(&s, id) < 0)
        return -1;
    return outcome(program_call_addcap(s.path, index, cap));
}
