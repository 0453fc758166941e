/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "elan/program_descent.h"
#include "elan/program_proc.h"
#include "elan/program_read.h"

struct set {
    struct program_process *v;
    size_t n, size;
};

struct program_descent {
    struct program_process root;
    int entry;  /* -1: not the holder's */
    bool begun; /* a task has entered; outside is filled */
    struct set inside, outside;
};

/* One look at the machine. */
struct seen {
    struct program_process process;
    pid_t parent;
    bool zombie, below, inside;
};

struct look {
    struct seen *v;
    size_t n, size;
};

struct program_descent *program_descent_new(const struct program_process *root)
{
    struct program_descent *d = calloc(1, sizeof(*d));

    if (d) {
        d->root = *root;
        d->entry = -1;
    }
    return d;
}

void program_descent_free(struct program_descent *d)
{
    int e = errno;

    if (d && d->entry >= 0)
        close(d->entry);
    if (d) {
        free(d->inside.v);
        free(d->outside.v);
    }
    free(d);
    errno = e;
}

static bool same(const struct program_process *a,
                 const struct program_process *b)
{
    return a->pid == b->pid && a->start == b->start;
}

static bool set_has(const struct set *s, const struct program_process *p)
{
    for (size_t i = 0; i < s->n; i++)
        if (same(&s->v[i], p))
            return true;
    return false;
}

static int set_add(struct set *s, const struct program_process *p)
{
    struct program_process *grown;

    if (set_has(s, p))
        return 0;
    if (s->n == s->size) {
        size_t size = s->size ? 2 * s->size : 16;

        grown = realloc(s->v, size * sizeof(*grown));
        if (!grown)
            return -1;
        s->v = grown;
        s->size = size;
    }
    s->v[s->n++] = *p;
    return 0;
}

/* ---- looking ------------------------------------------------------------- */

static int look_add(struct look *l, pid_t pid)
{
    char *text = program_read_proc(pid, "stat", 4096), *name;
    struct seen seen = {.process.pid = pid};
    struct seen *grown;

    if (!text || proc_parse_stat(text, &seen.parent, &seen.process.start) < 0) {
        free(text); /* it is gone */
        return 0;
    }
    name = strrchr(text, ')');
    seen.zombie = name[1] == ' ' && name[2] == 'Z';
    free(text);
    if (l->n == l->size) {
        size_t size = l->size ? 2 * l->size : 256;

        grown = realloc(l->v, size * sizeof(*grown));
        if (!grown)
            return -1;
        l->v = grown;
        l->size = size;
    }
    l->v[l->n++] = seen;
    return 0;
}

static int by_pid(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;

    return x->process.pid < y->process.pid ? -1
                                           : x->process.pid > y->process.pid;
}

static int look_round(struct look *l)
{
    DIR *dir = opendir("/proc");
    struct dirent *e;
    int rc = dir ? 0 : -1;

    *l = (struct look){NULL, 0, 0};
    while (rc == 0 && (e = readdir(dir))) {
        char *end;
        long pid = strtol(e->d_name, &end, 10);

        if (pid > 0 && *end == '\0')
            rc = look_add(l, (pid_t)pid);
    }
    if (dir)
        closedir(dir);
    if (rc == 0 && l->n > 0)
        qsort(l->v, l->n, sizeof(l->v[0]), by_pid);
    return rc;
}

static const struct seen *look_find(const struct look *l, pid_t pid)
{
    struct seen key = {.process.pid = pid};

    return l->n == 0 ? NULL
                     : bsearch(&key, l->v, l->n, sizeof(l->v[0]), by_pid);
}

/* Where a process stands: it is below the root, it is inside. */
static void place(const struct program_descent *d, const struct look *l,
                  struct seen *s)
{
    const struct seen *at = s, *up;

    for (size_t depth = 0; at && depth <= l->n; depth++, at = up) {
        if (same(&at->process, &d->root))
            return;
        if (set_has(&d->inside, &at->process)) {
            s->inside = s->below = true;
            return;
        }
        up = at->parent > 0 ? look_find(l, at->parent) : NULL;
        if (!up || !same(&up->process, &d->root))
            continue;
        s->below = true;
        s->inside =
            d->entry < 0 || (d->begun && !set_has(&d->outside, &at->process));
        return;
    }
}

static int look_all(const struct program_descent *d, struct look *l)
{
    if (look_round(l) < 0) {
        free(l->v);
        return -1;
    }
    for (size_t i = 0; i < l->n; i++)
        place(d, l, &l->v[i]);
    return 0;
}

/* A process that is inside stays so when its parents are gone, even the root.
 */
static void remember(struct program_descent *d, const struct look *l)
{
    struct set still = {NULL, 0, 0};

    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].inside && set_add(&still, &l->v[i].process) < 0) {
            free(still.v); /* what is known remains */
            return;
        }
    free(d->inside.v);
    d->inside = still;
}

/* ---- entering ------------------------------------------------------------ */

int program_descent_entry(struct program_descent *d)
{
    int pair[2], on = 1;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    if (setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0) {
        close(pair[0]);
        close(pair[1]);
        return -1;
    }
    d->entry = pair[0];
    return pair[1];
}

/* The first task enters: all other children of the root are outside, but those
 * that enter later.  Nothing of the user's has run yet. */
static void begin(struct program_descent *d)
{
    struct look l;

    if (d->begun || look_round(&l) < 0)
        return;
    d->begun = true;
    for (size_t i = 0; i < l.n; i++)
        if (l.v[i].parent == d->root.pid &&
            set_add(&d->outside, &l.v[i].process) < 0)
            d->begun = false; /* rather nobody than the wrong ones */
    free(l.v);
}

static void enter(struct program_descent *d, pid_t pid)
{
    struct program_process process;
    pid_t parent;

    begin(d);
    if (d->begun && program_read_process(pid, &process, &parent) == 0)
        set_add(&d->inside, &process);
}

static pid_t sender(struct msghdr *msg)
{
    struct cmsghdr *c = CMSG_FIRSTHDR(msg);
    struct ucred cred;

    if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
        return 0;
    memcpy(&cred, CMSG_DATA(c), sizeof(cred));
    return cred.pid;
}

static void hear(struct program_descent *d)
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    char byte;
    struct iovec iov = {&byte, 1};
    ssize_t n = d->entry < 0 ? 0 : 1;

    while (n > 0) {
        struct msghdr msg = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};

        n = recvmsg(d->entry, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (n > 0 && sender(&msg) > 0)
            enter(d, sender(&msg));
    }
}

/* ---- asking ---------------------------------------------------------------
 */

int program_descent_pids(struct program_descent *d, pid_t *pids, int max,
                         program_skip_f *skip, void *arg)
{
    struct look l;
    int n = 0;

    hear(d);
    if (look_all(d, &l) < 0)
        return -1;
    for (size_t i = 0; i < l.n; i++) {
        pid_t pid = l.v[i].process.pid;

        if (!l.v[i].inside || l.v[i].zombie || (skip && skip(pid, arg)))
            continue;
        if (n < max)
            pids[n] = pid;
        n++;
    }
    if (d->entry >= 0)
        remember(d, &l);
    free(l.v);
    return n;
}

int program_descent_has(struct program_descent *d, pid_t pid)
{
    const struct seen *s;
    struct look l;
    int has;

    hear(d);
    if (look_all(d, &l) < 0)
        return -1;
    s = look_find(&l, pid);
    has = s ? s->inside : -1;
    free(l.v);
    if (has < 0)
        errno = ESRCH;
    return has;
}

/* Fields 14 to 17 of /proc/PID/stat: user, system, and those of the children
 * that were waited for; in ticks. */
static bool times_of(pid_t pid, unsigned long t[4])
{
    char *text = program_read_proc(pid, "stat", 4096);
    const char *p = text ? strrchr(text, ')') : NULL;
    bool good = p && sscanf(p,
                            ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u "
                            "%lu %lu %lu %lu",
                            &t[0], &t[1], &t[2], &t[3]) == 4;

    free(text);
    return good;
}

int program_descent_cpu(struct program_descent *d, uint64_t *user_us,
                        uint64_t *system_us)
{
    uint64_t tick = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
    unsigned long t[4];
    struct look l;

    if (look_all(d, &l) < 0)
        return -1;
    *user_us = *system_us = 0;
    for (size_t i = 0; i < l.n; i++) {
        const struct program_process *p = &l.v[i].process;
        bool root = same(p, &d->root);

        if ((!root && !l.v[i].inside) || !times_of(p->pid, t))
            continue;
        *user_us += ((root ? 0 : t[0]) + t[2]) * tick;
        *system_us += ((root ? 0 : t[1]) + t[3]) * tick;
    }
    free(l.v);
    return 0;
}
