/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/local.h"
#include "plugins/mpi_impi/stepdir.h"

/* How long it may take to empty one directory; to remove all that the user of a
 * new step has left; all that other users have left, who could make it take for
 * ever; and for a killed child to end. */
#define REMOVE_MS 10000
#define SWEEP_MS 2000
#define SWEEP_OTHERS_MS 100
#define KILL_MS 1000

/* mkdir -p for a path of ours; every part must be root's. */
static int make_parents(const char *path, struct errbuf *err)
{
    char part[STEPDIR_PATH_MAX];
    struct stat st;

    snprintf(part, sizeof(part), "%s", path);
    for (char *p = part + 1; p; p = p ? p + 1 : NULL) {
        p = strchr(p, '/');
        if (p)
            *p = '\0';
        if (mkdir(part, 0755) < 0 && errno != EEXIST)
            return errprintf(err, "%s: %s", part, strerror(errno));
        if (!p)
            break;
        *p = '/';
    }
    if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) ||
        st.st_uid != geteuid() || (st.st_mode & 022))
        return errprintf(err, "%s is not a directory of root's own", path);
    return 0;
}

/* The directory is still ours alone here, so nothing can be slipped in. */
static int listen_in(const char *path, uid_t uid, gid_t gid, struct errbuf *err)
{
    char sock[STEPDIR_PATH_MAX + sizeof("/sock")];
    int fd;

    snprintf(sock, sizeof(sock), "%s/sock", path);
    fd = local_listen_new(sock, SOCK_STREAM);
    if (fd >= 0 && chown(sock, uid, gid) == 0 && chmod(sock, 0600) == 0 &&
        chown(path, uid, gid) == 0)
        return fd;
    errprintf(err, "%s: %s", sock, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

int stepdir_make(char path[STEPDIR_PATH_MAX], const char *parent,
                 const char *name, uid_t uid, gid_t gid, int *dir,
                 struct errbuf *err)
{
    int n, fd;

    *dir = -1;

    if (make_parents(parent, err) < 0)
        return -1;
    n = snprintf(path, STEPDIR_PATH_MAX, "%s/%s", parent, name);
    if (n < 0 || n >= STEPDIR_PATH_MAX)
        return errprintf(err, "%s: path too long for a socket", parent);
    if (mkdir(path, 0700) < 0)
        return errprintf(err, "%s: %s", path, strerror(errno));
    *dir = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    fd = listen_in(path, uid, gid, err);
    if (fd < 0) {
        stepdir_remove(path, geteuid(), getegid(), *dir);
        *dir = -1;
    }
    return fd;
}

/* No directory of another device is entered, which is what the user has
 * mounted there.  (nftw() with FTW_MOUNT skips files of another device, too,
 * and on an overlay that is every file.) */
static void empty(const char *path)
{
    char *const roots[] = {(char *)path, NULL};
    FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_XDEV, NULL);
    FTSENT *e;

    while (fts && (e = fts_read(fts)))
        if (e->fts_level > FTS_ROOTLEVEL && e->fts_info != FTS_D)
            remove(e->fts_accpath);
    if (fts)
        fts_close(fts);
}

/* In a child of its own: from here on with the user's ids only. */
static void empty_as_user(const char *path, uid_t uid, gid_t gid)
{
    if (setgroups(1, &gid) < 0 && geteuid() == 0)
        _exit(1);
    if (setgid(gid) < 0 || setuid(uid) < 0)
        _exit(1);
    empty(path);
    _exit(0);
}

/* Not for ever: the tree is the user's, who may have mounted there what never
 * answers, or made more than can be deleted soon.  False: not even a signal
 * ends it. */
static bool await_child(pid_t pid, int64_t end)
{
    struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, pid, 0),
                       .events = POLLIN};
    int64_t left = end - clock_ms();
    bool gone = true;

    while (p.fd >= 0 && left > 0 && poll(&p, 1, (int)left) < 0)
        left = end - clock_ms();
    kill(pid, SIGKILL);
    if (p.fd >= 0) {
        gone = poll(&p, 1, KILL_MS) == 1;
        close(p.fd);
    }
    waitpid(pid, NULL, WNOHANG);
    return gone;
}

/* Out of the sight of sweeps: each would lose a child there. */
static void put_aside(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    char aside[STEPDIR_PATH_MAX + sizeof("stuck-")];

    snprintf(aside, sizeof(aside), "%.*sstuck-%s", (int)(name - path), path,
             name);
    rename(path, aside);
}

static void remove_until(const char *path, uid_t uid, gid_t gid, int64_t end)
{
    bool gone = true;
    pid_t pid;

    if (rmdir(path) == 0 || clock_ms() >= end)
        return;
    pid = fork();
    if (pid == 0)
        empty_as_user(path, uid, gid);
    if (pid > 0)
        gone = await_child(pid, end);
    if (rmdir(path) < 0 && !gone)
        put_aside(path);
}

/* Root deletes one name in a directory that it made, on a file system of its
 * own choice, and follows nothing; a directory of that name stays. */
void stepdir_remove(const char *path, uid_t uid, gid_t gid, int dir)
{
    if (dir >= 0) {
        unlinkat(dir, "sock", 0);
        close(dir);
    }
    remove_until(path, uid, gid, clock_ms() + REMOVE_MS);
}

/* When to give up. */
struct patience {
    uid_t uid; /* whose directories may take until `own` */
    int64_t own, others;
};

/* (What is mounted over the directory itself may never answer, either: rmdir()
 * does not ask it.) */
static void sweep_one(const char *parent, const char *name,
                      const struct patience *p)
{
    const char *dash = strrchr(name, '-');
    long pid = dash ? strtol(dash + 1, NULL, 10) : 0;
    char path[STEPDIR_PATH_MAX];
    struct stat st;
    int n;

    if (pid <= 1 || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
        return;
    n = snprintf(path, sizeof(path), "%s/%s", parent, name);
    if (n < (int)sizeof(path) && rmdir(path) < 0 && errno == ENOTEMPTY &&
        lstat(path, &st) == 0)
        remove_until(path, st.st_uid, st.st_gid,
                     st.st_uid == p->uid ? p->own : p->others);
}

void stepdir_sweep(const char *parent, uid_t uid)
{
    struct patience p = {uid, clock_ms() + SWEEP_MS,
                         clock_ms() + SWEEP_OTHERS_MS};
    DIR *dir = opendir(parent);
    struct dirent *entry;

    if (!dir)
        return;
    while ((entry = readdir(dir)))
        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
            sweep_one(parent, entry->d_name, &p);
    closedir(dir);
}
