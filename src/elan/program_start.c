/* SPDX-License-Identifier: BSD-3-Clause
 * The starter's side of the holder.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "elan/program_client.h"
#include "elan/program_holder.h"
#include "elan/program_holder_priv.h"

#define HOLDER SF_LIBEXECDIR "/elan-holder"
#define ARGS_MAX 5

/* All descriptors but the lifeline stay here.  It goes first: it may be one of
 * those that are opened then. */
static int hand_over(posix_spawn_file_actions_t *fa, int lifeline)
{
    int rc = posix_spawn_file_actions_adddup2(fa, lifeline, PROGRAM_LIFELINE);

    for (int fd = 0; fd < PROGRAM_LIFELINE && rc == 0; fd++)
        rc = posix_spawn_file_actions_addopen(fa, fd, "/dev/null", O_RDWR, 0);
    if (rc == 0)
        rc = posix_spawn_file_actions_addclosefrom_np(fa, PROGRAM_LIFELINE + 1);
    return rc;
}

/* Signals as a program finds them, and a session of its own. */
static int set_attributes(posix_spawnattr_t *attr)
{
    sigset_t none, all;
    int rc;

    sigemptyset(&none);
    sigfillset(&all);
    rc = posix_spawnattr_setsigmask(attr, &none);
    if (rc == 0)
        rc = posix_spawnattr_setsigdefault(attr, &all);
    if (rc == 0)
        rc = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK |
                                                POSIX_SPAWN_SETSIGDEF |
                                                POSIX_SPAWN_SETSID);
    return rc;
}

/* Start the program; no page of ours is copied, and none of our environment
 * is seen.  An errno or 0. */
static int spawn(pid_t *pid, int lifeline, const char *path, char *const *argv)
{
    char *const env[] = {NULL};
    posix_spawn_file_actions_t fa;
    posix_spawnattr_t attr;
    int rc = posix_spawn_file_actions_init(&fa);

    if (rc != 0)
        return rc;
    rc = posix_spawnattr_init(&attr);
    if (rc == 0) {
        rc = hand_over(&fa, lifeline);
        if (rc == 0)
            rc = set_attributes(&attr);
        if (rc == 0)
            rc = posix_spawn(pid, path, &fa, &attr, argv, env);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&fa);
    return rc;
}

/* It forks, and what we started ends at once.  0, or -1 with errno and
 * text. */
static int spawn_holder(int lifeline, const struct program_spec *spec,
                        struct errbuf *err)
{
    const char *path = spec->holder ? spec->holder : HOLDER;
    char number[16], uid[16];
    char *argv[ARGS_MAX + 1] = {"elan-holder", number, uid,
                                (char *)spec->rundir, (char *)spec->agent};
    pid_t pid;
    int rc;

    snprintf(number, sizeof(number), "%d", spec->number);
    snprintf(uid, sizeof(uid), "%u", (unsigned)spec->uid);
    rc = spawn(&pid, lifeline, path, argv);
    if (rc != 0) {
        errno = rc;
        return errprintf(err, "%s: %s", path, strerror(rc));
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return 0;
}

/* Wait for the holder's line. */
static int read_report(struct program_handle *h, struct errbuf *err)
{
    char text[4096 + 64];
    struct pollfd p = {.fd = h->lifeline, .events = POLLIN};
    int error, own, at = 0;
    ssize_t n = -1;

    if (poll(&p, 1, 30000) == 1)
        n = recv(h->lifeline, text, sizeof(text) - 1, 0);
    if (n <= 0) {
        errno = n < 0 ? ETIMEDOUT : ECHILD;
        return errprintf(err, "the holder did not come up");
    }
    text[n] = '\0';
    if (sscanf(text, "%d %d %n", &error, &own, &at) != 2 || at == 0) {
        errno = EPROTO;
        return errprintf(err, "the holder is confused");
    }
    if (error != 0) {
        errprintf(err, "%s", text + at);
        errno = error;
        return -1;
    }
    return program_cgroup_reopen(&h->group, text + at, own != 0, err);
}

int program_start(struct program_handle *h, const struct program_spec *spec,
                  struct errbuf *err)
{
    int pair[2], e;

    *h = (struct program_handle){.lifeline = -1, .group = PROGRAM_CGROUP_NONE};
    if (program_socket_path(h->socket, sizeof(h->socket), spec->rundir,
                            spec->number) < 0)
        return errprintf(err, "%s: path too long", spec->rundir);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return errprintf(err, "socketpair: %s", strerror(errno));
    h->lifeline = pair[0];
    if (spawn_holder(pair[1], spec, err) < 0) {
        e = errno;
    } else {
        close(pair[1]);
        pair[1] = -1;
        if (read_report(h, err) == 0)
            return 0;
        e = errno;
    }
    if (pair[1] >= 0)
        close(pair[1]);
    program_release(h);
    errno = e;
    return -1;
}

void program_release(struct program_handle *h)
{
    if (h->lifeline >= 0)
        close(h->lifeline);
    h->lifeline = -1;
    program_cgroup_close(&h->group);
}

int program_end_without_holder(struct program_handle *h, struct errbuf *err)
{
    if (program_cgroup_empty(&h->group, SF_PROGRAM_KILL_SECONDS * 1000, err) <
        0)
        return -1;
    unlink(h->socket);
    return program_cgroup_remove(&h->group, err);
}
