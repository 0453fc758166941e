/* SPDX-License-Identifier: BSD-3-Clause
 * What killed processes left behind, and the place for sockets.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/local.h"
#include "elan/program_holder.h"
#include "elan/program_holder_priv.h"
#include "elan/program_member.h"
#include "elan/program_proc.h"
#include "elan/program_read.h"
#include "elan/program_spare.h"

/* By its label: are holder and starter of this group both gone?  A group
 * without a label is younger than it, or not ours. */
static bool is_abandoned(int dir)
{
    struct program_process holder, starter;
    char label[128];
    int number, hpid, spid;

    if (program_cgroup_get_label(dir, label, sizeof(label)) < 0)
        return false;
    if (sscanf(label, "%d %d %" SCNu64 " %d %" SCNu64, &number, &hpid,
               &holder.start, &spid, &starter.start) != 5)
        return false;
    holder.pid = hpid;
    starter.pid = spid;
    return !program_process_lives(&holder) && !program_process_lives(&starter);
}

/* Counts it in *done, or sets *stuck when it has to stay. */
static void remove_abandoned(const char *path, int *done, bool *stuck)
{
    struct program_cgroup g;

    if (program_cgroup_reopen(&g, path, true, NULL) < 0)
        return;
    if (is_abandoned(g.dir)) {
        if (program_cgroup_empty(&g, SF_PROGRAM_KILL_SECONDS * 1000, NULL) ==
                0 &&
            program_cgroup_remove(&g, NULL) == 0)
            ++*done;
        else
            *stuck = true;
    }
    program_cgroup_close(&g);
}

static int sweep_groups(bool *stuck)
{
    char *text = program_read_proc(getpid(), "cgroup", 1 << 16);
    char own[2048] = "/", path[4096];
    int tree = program_cgroup_tree(NULL), fd, n = 0;
    struct dirent *e;
    DIR *d = NULL;

    if (text && proc_parse_cgroup2(text, own, sizeof(own)) < 0)
        strcpy(own, "/");
    free(text);
    if (tree < 0)
        return 0;
    fd = openat(tree, own[1] ? own + 1 : ".",
                O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    close(tree);
    if (fd >= 0)
        d = fdopendir(fd);
    while (d && (e = readdir(d))) {
        if (strncmp(e->d_name, PROGRAM_GROUP_PREFIX,
                    strlen(PROGRAM_GROUP_PREFIX)) != 0)
            continue;
        snprintf(path, sizeof(path), "%s%s%s", own, own[1] ? "/" : "",
                 e->d_name);
        remove_abandoned(path, &n, stuck);
    }
    if (d)
        closedir(d);
    return n;
}

bool program_socket_is_stale(const char *path)
{
    int fd = local_connect(path, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return errno == ECONNREFUSED;
    close(fd);
    return false;
}

/* How many sockets of programs there are that nobody listens on; they are
 * removed if told so.  What is left of those that waited always is. */
static int look_at_sockets(const char *rundir, bool remove)
{
    DIR *d = opendir(rundir);
    char path[4096];
    struct dirent *e;
    int n = 0;

    while (d && (e = readdir(d))) {
        if (program_spare_is_left(e->d_name))
            unlinkat(dirfd(d), e->d_name, 0);
        if (strncmp(e->d_name, "prg-", 4) != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", rundir, e->d_name);
        if (!program_socket_is_stale(path))
            continue;
        n++;
        if (remove)
            unlink(path);
    }
    if (d)
        closedir(d);
    return n;
}

int program_sweep(const char *rundir)
{
    bool stuck = false;
    int n = sweep_groups(&stuck);

    look_at_sockets(rundir, !stuck);
    return n;
}

int program_sweep_if_any(const char *rundir)
{
    return look_at_sockets(rundir, false) > 0 ? program_sweep(rundir) : 0;
}

static int make_dir(const char *path, struct errbuf *err)
{
    struct stat st;

    if (mkdir(path, 0755) == 0)
        return 0;
    if (errno != EEXIST || lstat(path, &st) < 0)
        return errprintf(err, "%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
        (st.st_mode & 022) == 0)
        return 0;
    errno = EPERM;
    return errprintf(err, "%s: must be a directory that only root can write",
                     path);
}

int program_make_rundir(const char *rundir, struct errbuf *err)
{
    char parent[4096];
    char *slash;

    snprintf(parent, sizeof(parent), "%s", rundir);
    slash = strrchr(parent, '/');
    if (slash && slash != parent) {
        *slash = '\0';
        if (make_dir(parent, err) < 0)
            return -1;
    }
    return make_dir(rundir, err);
}
