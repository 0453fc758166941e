/* SPDX-License-Identifier: BSD-3-Clause
 * The starter's side of the holder.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/limits.h"
#include "elan/program_client.h"
#include "elan/program_holder.h"
#include "elan/program_holder_priv.h"

#define HOLDER SF_LIBEXECDIR "/elan-holder"
#define ARGS_MAX 6
#define REPORT_MS 30000 /* until the holder has set up */

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

/* None of our environment is seen.  An errno or 0. */
static int spawn(pid_t *pid, int lifeline, const char *path, char *const *argv)
{
    char *const env[] = {NULL};
    posix_spawn_file_actions_t fa;
    int rc = posix_spawn_file_actions_init(&fa);

    if (rc != 0)
        return rc;
    rc = hand_over(&fa, lifeline);
    if (rc == 0)
        rc = child_spawn(pid, path, &fa, argv, env);
    posix_spawn_file_actions_destroy(&fa);
    return rc;
}

/* 0, or -1 with errno and text. */
static int spawn_holder(struct program_handle *h, int lifeline,
                        const struct program_spec *spec, struct errbuf *err)
{
    const char *path = spec->holder ? spec->holder : HOLDER;
    char number[16], uid[16], ncaps[16];
    char *argv[ARGS_MAX + 1] = {
        "elan-holder",      number, uid, ncaps, (char *)spec->rundir,
        (char *)spec->agent};
    int rc;

    snprintf(number, sizeof(number), "%d", spec->number);
    snprintf(uid, sizeof(uid), "%u", (unsigned)spec->uid);
    snprintf(ncaps, sizeof(ncaps), "%d", spec->ncaps);
    rc = spawn(&h->spawned, lifeline, path, argv);
    if (rc == 0)
        return 0;
    h->spawned = 0;
    errno = rc;
    return errprintf(err, "%s: %s", path, strerror(rc));
}

int program_begin(struct program_handle *h, const struct program_spec *spec,
                  struct errbuf *err)
{
    int pair[2], rc, e;

    *h = PROGRAM_HANDLE_NONE;
    if (program_socket_path(h->socket, sizeof(h->socket), spec->rundir,
                            spec->number) < 0)
        return errprintf(err, "%s: path too long", spec->rundir);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return errprintf(err, "socketpair: %s", strerror(errno));
    h->lifeline = pair[0];
    rc = spawn_holder(h, pair[1], spec, err);
    e = errno;
    close(pair[1]);
    if (rc == 0)
        return 0;
    program_release(h);
    errno = e;
    return -1;
}

int program_give_cap(const struct program_handle *h, int index,
                     const struct elan_capability *cap)
{
    struct program_request request = {.verb = PROGRAM_ADDCAP,
                                      .a = index,
                                      .cap = (struct elan_capability *)cap};
    uint8_t frame[PROGRAM_REQUEST_MAX];
    size_t len = program_request_put(frame, &request);
    ssize_t n = send(h->lifeline, frame, len, MSG_NOSIGNAL | MSG_DONTWAIT);

    explicit_bzero(frame, sizeof(frame));
    return n < 0 ? -1 : 0;
}

/* What we started forks and ends at once. */
static void reap(struct program_handle *h)
{
    while (h->spawned > 0 && waitpid(h->spawned, NULL, 0) < 0 && errno == EINTR)
        ;
    h->spawned = 0;
}

/* The holder's line, and the descriptors with it: -1 where there are none. */
static ssize_t receive_report(int lifeline, char text[PROGRAM_REPORT_MAX],
                              int fds[PROGRAM_REPORT_FDS])
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(PROGRAM_REPORT_FDS * sizeof(int))];
    } control;
    struct iovec iov = {text, PROGRAM_REPORT_MAX - 1};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof(control)};
    struct pollfd p = {.fd = lifeline, .events = POLLIN};
    struct cmsghdr *c;
    ssize_t n = -1;

    for (int i = 0; i < PROGRAM_REPORT_FDS; i++)
        fds[i] = -1;
    if (poll(&p, 1, REPORT_MS) == 1)
        n = recvmsg(lifeline, &msg, MSG_CMSG_CLOEXEC);
    c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
    if (n <= 0)
        errno = n < 0 ? ETIMEDOUT : ECHILD;
    return n;
}

/* Wait for the holder's line. */
static int read_report(struct program_handle *h, struct errbuf *err)
{
    char text[PROGRAM_REPORT_MAX];
    int fds[PROGRAM_REPORT_FDS];
    int error, own, at = 0;
    ssize_t n = receive_report(h->lifeline, text, fds);

    if (n <= 0)
        return errprintf(err, "the holder did not come up");
    h->procs = fds[2];
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
    return program_cgroup_take(&h->group, fds[0], fds[1], text + at, own != 0,
                               err);
}

int program_await(struct program_handle *h, struct errbuf *err)
{
    int e;

    reap(h);
    if (read_report(h, err) == 0)
        return 0;
    e = errno;
    program_release(h);
    errno = e;
    return -1;
}

int program_start(struct program_handle *h, const struct program_spec *spec,
                  struct errbuf *err)
{
    return program_begin(h, spec, err) < 0 ? -1 : program_await(h, err);
}

static void shut(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void program_release(struct program_handle *h)
{
    shut(&h->lifeline);
    shut(&h->procs);
    reap(h);
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
