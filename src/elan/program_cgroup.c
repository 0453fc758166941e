/* SPDX-License-Identifier: BSD-3-Clause
 * What a group is and what is done to it.  Finding it in the tree is in
 * program_cgroup_tree.c.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "elan/program_cgroup.h"
#include "elan/program_descent.h"
#include "elan/program_proc.h"
#include "elan/program_read.h"

#define LABEL "trusted.slurm_fabric"

void program_cgroup_close(struct program_cgroup *g)
{
    if (g->dir >= 0)
        close(g->dir);
    if (g->tree >= 0)
        close(g->tree);
    program_descent_free(g->descent);
    *g = PROGRAM_CGROUP_NONE;
}

int program_cgroup_open_procs(const struct program_cgroup *g,
                              struct errbuf *err)
{
    int fd;

    if (g->descent) {
        fd = program_descent_entry(g->descent);
        return fd >= 0 ? fd : errprintf(err, "socketpair: %s", strerror(errno));
    }
    if (!g->own) {
        errno = EXDEV;
        return errprintf(err, "the program is Slurm's own group");
    }
    fd = openat(g->dir, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        errprintf(err, "%s/cgroup.procs: %s", g->path, strerror(errno));
    return fd;
}

/* Write word into a file of the group. */
static int put_word(const struct program_cgroup *g, const char *file,
                    const char *word)
{
    int fd = openat(g->dir, file, O_WRONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return -1;
    n = write(fd, word, strlen(word));
    close(fd);
    return n < 0 ? -1 : 0;
}

struct pid_list {
    pid_t *pids;
    int max, n;
    program_skip_f *skip;
    void *arg;
};

static int pids_of_dir(int dir, struct pid_list *list)
{
    char *text = program_read_at(dir, "cgroup.procs", 1 << 20), *rest;

    if (!text)
        return -1;
    rest = text;
    for (char *end; (end = strchr(rest, '\n')); rest = end + 1) {
        pid_t pid = (pid_t)strtol(rest, NULL, 10);

        if (pid <= 0 || (list->skip && list->skip(pid, list->arg)))
            continue;
        if (list->n < list->max)
            list->pids[list->n] = pid;
        list->n++;
    }
    free(text);
    return 0;
}

typedef int visit_f(int dir, void *arg);

/* Call visit for the directory and all below it, deepest first.  A group that
 * vanishes meanwhile is not an error. */
static int walk(int dir, visit_f *visit, void *arg, int depth)
{
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *e;

    if (!d) {
        if (copy >= 0)
            close(copy);
        return errno == ENOENT || errno == ENODEV ? 0 : -1;
    }
    while (depth > 0 && (e = readdir(d))) {
        int sub;

        if (e->d_type != DT_DIR || e->d_name[0] == '.')
            continue;
        sub = openat(dir, e->d_name,
                     O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (sub < 0)
            continue;
        walk(sub, visit, arg, depth - 1);
        close(sub);
    }
    closedir(d);
    return visit(dir, arg);
}

#define WALK_DEPTH 16

static int visit_pids(int dir, void *arg)
{
    return pids_of_dir(dir, arg) < 0 && errno != ENODEV && errno != ENOENT ? -1
                                                                           : 0;
}

int program_cgroup_pids(const struct program_cgroup *g, pid_t *pids, int max,
                        program_skip_f *skip, void *arg, struct errbuf *err)
{
    struct pid_list list = {pids, max, 0, skip, arg};

    if (g->descent) {
        int n = program_descent_pids(g->descent, pids, max, skip, arg);

        return n >= 0 ? n : errprintf(err, "/proc: %s", strerror(errno));
    }
    if (walk(g->dir, visit_pids, &list, WALK_DEPTH) < 0)
        return errprintf(err, "%s: reading its processes: %s", g->path,
                         strerror(errno));
    return list.n;
}

/* Through a pidfd: the pid may be another process' by the time of the signal,
 * and we are root. */
static bool signal_member(const struct program_cgroup *g, pid_t pid, int signo)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    bool sent;

    if (fd < 0)
        return false;
    sent = program_cgroup_has(g, pid) == 1 &&
           syscall(SYS_pidfd_send_signal, fd, signo, NULL, 0) == 0;
    close(fd);
    return sent;
}

/* Signal everybody once. */
static int signal_once(const struct program_cgroup *g, int signo,
                       program_skip_f *skip, void *arg, struct errbuf *err)
{
    pid_t *pids = malloc(SF_PROGRAM_PIDS_MAX * sizeof(*pids));
    int n, sent = 0;

    if (!pids)
        return errprintf(err, "out of memory");
    n = program_cgroup_pids(g, pids, SF_PROGRAM_PIDS_MAX, skip, arg, err);
    for (int i = 0; i < n && i < SF_PROGRAM_PIDS_MAX; i++)
        sent += signal_member(g, pids[i], signo);
    free(pids);
    return n < 0 ? -1 : sent;
}

static bool is_frozen(const struct program_cgroup *g)
{
    char *text = program_read_at(g->dir, "cgroup.freeze", 16);
    bool frozen = text && text[0] == '1';

    free(text);
    return frozen;
}

int program_cgroup_signal(const struct program_cgroup *g, int signo,
                          program_skip_f *skip, void *arg, struct errbuf *err)
{
    int frozen = 0, sent;

    /* Nobody forks away between the list and the signal.  A suspended program
     * stays so: its signal waits. */
    if (g->own && signo != SIGKILL && !is_frozen(g))
        frozen = put_word(g, "cgroup.freeze", "1") == 0;
    sent = signal_once(g, signo, skip, arg, err);
    if (frozen)
        put_word(g, "cgroup.freeze", "0");
    return sent;
}

int program_cgroup_freeze(const struct program_cgroup *g, bool stop,
                          program_skip_f *skip, void *arg, struct errbuf *err)
{
    int before = -1, sent = 0;

    if (g->own) {
        if (put_word(g, "cgroup.freeze", stop ? "1" : "0") == 0)
            return 0;
        return errprintf(err, "%s/cgroup.freeze: %s", g->path, strerror(errno));
    }
    /* A stopped process does not fork: repeat until no new one shows up. */
    for (int i = 0; i < 100 && sent != before; i++) {
        before = sent;
        sent = signal_once(g, stop ? SIGSTOP : SIGCONT, skip, arg, err);
        if (sent < 0)
            return -1;
    }
    return 0;
}

/* Reading is also what lets poll() wait for the next change.  A group that is
 * gone is empty. */
static bool is_populated(int events)
{
    char text[256];
    ssize_t n = events < 0 ? -1 : pread(events, text, sizeof(text) - 1, 0);

    if (n <= 0)
        return false;
    text[n] = '\0';
    return proc_parse_flat(text, "populated") != 0;
}

static bool descent_lives(const struct program_cgroup *g)
{
    return program_descent_pids(g->descent, NULL, 0, NULL, NULL) != 0;
}

bool program_cgroup_lives(const struct program_cgroup *g)
{
    bool lives;
    int fd;

    if (g->descent)
        return descent_lives(g);
    fd = openat(g->dir, "cgroup.events", O_RDONLY | O_CLOEXEC);
    lives = fd < 0 ? errno != ENOENT && errno != ENODEV : is_populated(fd);
    if (fd >= 0)
        close(fd);
    return lives;
}

static int still_lives(const struct program_cgroup *g, int timeout_ms,
                       struct errbuf *err)
{
    errno = ETIME;
    return errprintf(err, "%s: still has processes after %d ms", g->path,
                     timeout_ms);
}

#define DESCENT_LOOK_MS 20

static int empty_descent(const struct program_cgroup *g, int timeout_ms,
                         struct errbuf *err)
{
    int64_t end = clock_ms() + timeout_ms;

    while (descent_lives(g)) {
        if (clock_ms() >= end)
            return still_lives(g, timeout_ms, err);
        signal_once(g, SIGKILL, NULL, NULL, NULL);
        poll(NULL, 0, DESCENT_LOOK_MS);
    }
    return 0;
}

int program_cgroup_empty(const struct program_cgroup *g, int timeout_ms,
                         struct errbuf *err)
{
    int64_t end = clock_ms() + timeout_ms;
    struct pollfd p = {.fd = -1, .events = POLLPRI};
    bool alive;
    int fd;

    if (g->descent)
        return empty_descent(g, timeout_ms, err);
    fd = p.fd = openat(g->dir, "cgroup.events", O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT && errno != ENODEV)
        return errprintf(err, "%s/cgroup.events: %s", g->path, strerror(errno));
    while ((alive = is_populated(fd)) && clock_ms() < end) {
        /* cgroup.kill since Linux 5.14 */
        if (put_word(g, "cgroup.kill", "1") < 0)
            signal_once(g, SIGKILL, NULL, NULL, NULL);
        poll(&p, 1, 100);
    }
    if (fd >= 0)
        close(fd);
    if (!alive)
        return 0;
    return still_lives(g, timeout_ms, err);
}

static int visit_remove(int dir, void *arg)
{
    char name[64], path[4096];
    ssize_t n;

    (void)arg;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", dir);
    n = readlink(name, path, sizeof(path) - 1);
    if (n <= 0)
        return -1;
    path[n] = '\0';
    return rmdir(path);
}

int program_cgroup_remove(struct program_cgroup *g, struct errbuf *err)
{
    if (!g->own || g->dir < 0)
        return 0;
    /* Descriptors do not keep a cgroup directory alive. */
    if (unlinkat(g->tree, g->path + 1, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    walk(g->dir, visit_remove, NULL, WALK_DEPTH);
    if (unlinkat(g->tree, g->path + 1, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    return errprintf(err, "%s: %s", g->path, strerror(errno));
}

int program_cgroup_cpu(const struct program_cgroup *g, uint64_t *user_us,
                       uint64_t *system_us)
{
    char *text;

    if (g->descent)
        return program_descent_cpu(g->descent, user_us, system_us);
    text = program_read_at(g->dir, "cpu.stat", 4096);
    if (!text)
        return -1;
    *user_us = proc_parse_flat(text, "user_usec");
    *system_us = proc_parse_flat(text, "system_usec");
    free(text);
    return 0;
}

uint64_t program_cgroup_memory_peak(const struct program_cgroup *g)
{
    char *text = g->descent ? NULL : program_read_at(g->dir, "memory.peak", 64);
    uint64_t peak = text ? strtoull(text, NULL, 10) : 0;

    free(text);
    return peak;
}

int program_cgroup_set_label(const struct program_cgroup *g, const char *label,
                             struct errbuf *err)
{
    if (fsetxattr(g->dir, LABEL, label, strlen(label), 0) == 0)
        return 0;
    return errprintf(err, "%s: label: %s", g->path, strerror(errno));
}

ssize_t program_cgroup_get_label(int dir, char *label, size_t size)
{
    ssize_t n = fgetxattr(dir, LABEL, label, size - 1);

    if (n >= 0)
        label[n] = '\0';
    return n;
}
