/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugins/mpi_impi/stepdir.h"

#define BACKLOG 1024

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
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/sock", path);
    if (fd >= 0 && bind(fd, (const void *)&addr, sizeof(addr)) == 0 &&
        chown(addr.sun_path, uid, gid) == 0 &&
        chmod(addr.sun_path, 0600) == 0 && listen(fd, BACKLOG) == 0 &&
        chown(path, uid, gid) == 0)
        return fd;
    errprintf(err, "%s: %s", addr.sun_path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

int stepdir_make(char path[STEPDIR_PATH_MAX], const char *parent,
                 const char *name, uid_t uid, gid_t gid, struct errbuf *err)
{
    int n, fd;

    if (make_parents(parent, err) < 0)
        return -1;
    n = snprintf(path, STEPDIR_PATH_MAX, "%s/%s", parent, name);
    if (n < 0 || n >= STEPDIR_PATH_MAX)
        return errprintf(err, "%s: path too long for a socket", parent);
    if (mkdir(path, 0700) < 0)
        return errprintf(err, "%s: %s", path, strerror(errno));
    fd = listen_in(path, uid, gid, err);
    if (fd < 0)
        stepdir_remove(path, geteuid(), getegid());
    return fd;
}

static int remove_one(const char *path, const struct stat *st, int flag,
                      struct FTW *ftw)
{
    if (ftw->level > 0)
        remove(path);
    return 0;
}

/* In a child of its own: from here on with the user's ids only. */
static void empty_as_user(const char *path, uid_t uid, gid_t gid)
{
    if (setgroups(1, &gid) < 0 && geteuid() == 0)
        _exit(1);
    if (setgid(gid) < 0 || setuid(uid) < 0)
        _exit(1);
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    _exit(0);
}

void stepdir_remove(const char *path, uid_t uid, gid_t gid)
{
    pid_t pid;

    if (rmdir(path) == 0)
        return;
    pid = fork();
    if (pid == 0)
        empty_as_user(path, uid, gid);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    rmdir(path);
}

static void sweep_one(const char *parent, const char *name)
{
    const char *dash = strrchr(name, '-');
    long pid = dash ? strtol(dash + 1, NULL, 10) : 0;
    char path[STEPDIR_PATH_MAX];
    struct stat st;
    int n;

    if (pid <= 1 || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
        return;
    n = snprintf(path, sizeof(path), "%s/%s", parent, name);
    if (n < (int)sizeof(path) && lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
        stepdir_remove(path, st.st_uid, st.st_gid);
}

void stepdir_sweep(const char *parent)
{
    DIR *dir = opendir(parent);
    struct dirent *entry;

    if (!dir)
        return;
    while ((entry = readdir(dir)))
        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
            sweep_one(parent, entry->d_name);
    closedir(dir);
}
