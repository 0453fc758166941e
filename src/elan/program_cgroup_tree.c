/* SPDX-License-Identifier: BSD-3-Clause
 * Where a program's group is in the cgroup2 tree, and who is in it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "elan/program_cgroup.h"
#include "elan/program_descent.h"
#include "elan/program_proc.h"
#include "elan/program_read.h"

/* A mount that only our descriptor holds.  Only where there is no other:
 * a second mount would change the tree's options for everybody. */
static int private_tree(struct errbuf *err)
{
    int fs = fsopen("cgroup2", FSOPEN_CLOEXEC);
    int fd = -1;

    if (fs >= 0 && fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
        fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID);
    if (fd < 0) {
        errprintf(err, "no cgroup2 tree, and it can not be mounted: %s",
                  strerror(errno));
        errno = ENOTSUP;
    }
    if (fs >= 0)
        close(fs);
    return fd;
}

int program_cgroup_tree(struct errbuf *err)
{
    char *text = program_read_at(AT_FDCWD, "/proc/self/mountinfo", 1 << 20);
    char path[4096];
    int found, fd;

    if (!text)
        return errprintf(err, "/proc/self/mountinfo: %s", strerror(errno));
    found = proc_find_cgroup_mount(text, NULL, path, sizeof(path));
    free(text);
    if (found < 0)
        return private_tree(err);
    fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        errprintf(err, "%s: %s", path, strerror(errno));
    return fd;
}

/* A directory by its path below the tree's root ("/" is the root). */
static int open_below(int tree, const char *path)
{
    return openat(tree, path[1] ? path + 1 : ".",
                  O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

/* What is written for the path where there is no group. */
#define DESCENT "descent:%d:%" SCNu64 "%n"

int program_cgroup_descend(struct program_cgroup *g,
                           const struct program_process *root,
                           struct errbuf *err)
{
    *g = PROGRAM_CGROUP_NONE;
    g->descent = program_descent_new(root);
    if (!g->descent)
        return errprintf(err, "out of memory");
    g->ino = root->start;
    snprintf(g->path, sizeof(g->path), "descent:%d:%" PRIu64, (int)root->pid,
             root->start);
    return 0;
}

/* false: the path is that of a cgroup. */
static bool read_descent(struct program_process *root, const char *path)
{
    int pid, end = 0;

    if (sscanf(path, DESCENT, &pid, &root->start, &end) != 2 || end == 0 ||
        path[end] != '\0' || pid <= 0)
        return false;
    root->pid = pid;
    return true;
}

int program_cgroup_take(struct program_cgroup *g, int tree, int dir,
                        const char *path, bool own, struct errbuf *err)
{
    struct program_process root;
    struct stat st;

    if (read_descent(&root, path)) {
        if (tree >= 0)
            close(tree);
        if (dir >= 0)
            close(dir);
        return program_cgroup_descend(g, &root, err);
    }
    *g = (struct program_cgroup){.tree = tree, .dir = dir, .own = own};
    snprintf(g->path, sizeof(g->path), "%s", path);
    if (dir < 0 || fstat(dir, &st) < 0) {
        int e = errno;

        errprintf(err, "%s: %s", path, strerror(e));
        program_cgroup_close(g);
        errno = e;
        return -1;
    }
    g->dev = st.st_dev;
    g->ino = st.st_ino;
    return 0;
}

/* The group at path; tree is taken over. */
static int open_at(struct program_cgroup *g, int tree, const char *path,
                   bool own, struct errbuf *err)
{
    return program_cgroup_take(g, tree, open_below(tree, path), path, own, err);
}

int program_cgroup_reopen(struct program_cgroup *g, const char *path, bool own,
                          struct errbuf *err)
{
    struct program_process root;
    int tree;

    if (read_descent(&root, path))
        return program_cgroup_descend(g, &root, err);
    tree = program_cgroup_tree(err);
    *g = PROGRAM_CGROUP_NONE;
    return tree < 0 ? -1 : open_at(g, tree, path, own, err);
}

/* Path of a process in the cgroup2 tree; -1 with errno. */
static int path_of(pid_t pid, char *path, size_t size)
{
    char *text = program_read_proc(pid, "cgroup", 1 << 16);
    int rc = -1;

    if (!text || !*text) {
        errno = ESRCH;
    } else {
        rc = proc_parse_cgroup2(text, path, size);
        if (rc < 0)
            errno = ENOTSUP;
    }
    free(text);
    return rc;
}

/* Make "<own path>/<name>" and open it.  tree is taken over. */
static int make_own(struct program_cgroup *g, int tree, const char *own,
                    const char *name, struct errbuf *err)
{
    char path[4096];
    int e = ENAMETOOLONG;

    if ((size_t)snprintf(path, sizeof(path), "%s%s%s", own, own[1] ? "/" : "",
                         name) >= sizeof(path)) {
        errprintf(err, "%s: path too long", own);
    } else if (mkdirat(tree, path + 1, 0755) < 0) {
        e = errno;
        errprintf(err, "%s: %s", path, strerror(e));
    } else {
        return open_at(g, tree, path, true, err);
    }
    close(tree);
    errno = e;
    return -1;
}

int program_cgroup_make(struct program_cgroup *g, int tree, const char *name,
                        pid_t starter, struct errbuf *err)
{
    char own[4096], user[4096];

    *g = PROGRAM_CGROUP_NONE;
    if (tree < 0)
        tree = program_cgroup_tree(err);
    if (tree < 0)
        return -1;
    if (path_of(starter, own, sizeof(own)) < 0)
        snprintf(own, sizeof(own), "/"); /* not mounted: it is at its root */
    if (proc_slurm_step_group(own, user, sizeof(user)))
        return open_at(g, tree, user, false, err);
    return make_own(g, tree, own, name, err);
}

/* Is the directory at path, or one above it, the group's? */
static int is_below(const struct program_cgroup *g, char *path)
{
    struct stat st;

    for (;;) {
        if (fstatat(g->tree, path[1] ? path + 1 : ".", &st, 0) == 0 &&
            st.st_dev == g->dev && st.st_ino == g->ino)
            return 1;
        if (!path[1])
            return 0;
        *strrchr(path, '/') = '\0';
        if (!path[0])
            strcpy(path, "/");
    }
}

int program_cgroup_has(const struct program_cgroup *g, pid_t pid)
{
    char path[4096];

    if (g->descent)
        return program_descent_has(g->descent, pid);
    if (path_of(pid, path, sizeof(path)) < 0)
        return -1;
    return is_below(g, path);
}

/* Write "0" (oneself) into the cgroup.procs of a hierarchy's root; where the
 * root may hold no processes (inside a container), into a leaf below it. */
static void enter_root(const char *mount)
{
    char leaf[4200], path[4300];
    int fd;

    snprintf(leaf, sizeof(leaf), "%s/slurm-fabric", mount);
    snprintf(path, sizeof(path), "%s/cgroup.procs", mount);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, "0", 1) == 1) {
        close(fd);
        return;
    }
    if (fd >= 0)
        close(fd);
    mkdir(leaf, 0755);
    snprintf(path, sizeof(path), "%s/cgroup.procs", leaf);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (write(fd, "0", 1) < 0)
        rmdir(leaf);
    close(fd);
}

void program_cgroup_leave_job(void)
{
    char *mounts = NULL; /* read only when there is one to be left */
    char *text = program_read_proc(getpid(), "cgroup", 1 << 16);
    char controllers[128], path[4096], mount[4096];
    const char *rest = text;

    while (rest && proc_next_cgroup(&rest, controllers, sizeof(controllers),
                                    path, sizeof(path))) {
        if (!proc_in_slurm_job(path))
            continue;
        if (!mounts)
            mounts = program_read_at(AT_FDCWD, "/proc/self/mountinfo", 1 << 20);
        if (mounts &&
            proc_find_cgroup_mount(mounts, controllers[0] ? controllers : NULL,
                                   mount, sizeof(mount)) == 0)
            enter_root(mount);
    }
    free(mounts);
    free(text);
}
