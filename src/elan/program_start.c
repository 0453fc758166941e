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
#include "base/fd_pass.h"
#include "base/limits.h"
#include "elan/program_client.h"
#include "elan/program_holder.h"
#include "elan/program_holder_priv.h"
#include "elan/program_spare.h"

#define HOLDER SF_LIBEXECDIR "/elan-holder"
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

static void shut(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* What a holder is told. */
struct words {
    char number[16], uid[16], ncaps[16], linger[16];
    char *argv[PROGRAM_WORDS_MAX + 1];
};

static void say(struct words *w, const struct program_spec *spec)
{
    *w = (struct words){.argv = {"elan-holder", w->number, w->uid, w->ncaps,
                                 w->linger, (char *)spec->rundir,
                                 (char *)spec->agent,
                                 spec->descent ? PROGRAM_WORD_DESCENT : NULL}};
    snprintf(w->number, sizeof(w->number), "%d", spec->number);
    snprintf(w->uid, sizeof(w->uid), "%u", (unsigned)spec->uid);
    snprintf(w->ncaps, sizeof(w->ncaps), "%d", spec->ncaps);
    snprintf(w->linger, sizeof(w->linger), "%d", spec->linger_ms);
}

static const char *path_of(const struct program_spec *spec)
{
    return spec->holder ? spec->holder : HOLDER;
}

/* 0, or -1 with errno and text. */
static int spawn_holder(struct program_handle *h, struct words *w,
                        const struct program_spec *spec, struct errbuf *err)
{
    int pair[2], rc;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return errprintf(err, "socketpair: %s", strerror(errno));
    h->lifeline = pair[0];
    rc = spawn(&h->spawned, pair[1], path_of(spec), w->argv);
    close(pair[1]);
    if (rc == 0)
        return 0;
    h->spawned = 0;
    program_release(h);
    errno = rc;
    return errprintf(err, "%s: %s", path_of(spec), strerror(rc));
}

/* One that waits for it.  false: there is none, or it has just gone. */
static bool take_spare(struct program_handle *h, const struct words *w,
                       const struct program_spec *spec)
{
    char text[PROGRAM_SPEC_MAX];
    size_t len = 0;

    for (char *const *word = w->argv; *word; word++) {
        size_t n = strlen(*word) + 1;

        if (len + n > sizeof(text))
            return false;
        memcpy(text + len, *word, n);
        len += n;
    }
    h->lifeline = program_spare_take(spec->rundir, path_of(spec));
    if (h->lifeline >= 0 && send(h->lifeline, text, len, MSG_NOSIGNAL) < 0)
        shut(&h->lifeline);
    return h->lifeline >= 0;
}

int program_begin(struct program_handle *h, const struct program_spec *spec,
                  struct errbuf *err)
{
    struct words w;

    *h = PROGRAM_HANDLE_NONE;
    if (program_socket_path(h->socket, sizeof(h->socket), spec->rundir,
                            spec->number) < 0)
        return errprintf(err, "%s: path too long", spec->rundir);
    say(&w, spec);
    if (spec->linger_ms > 0 && take_spare(h, &w, spec))
        return 0;
    return spawn_holder(h, &w, spec, err);
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
    struct pollfd p = {.fd = lifeline, .events = POLLIN};
    ssize_t n = -1;

    for (int i = 0; i < PROGRAM_REPORT_FDS; i++)
        fds[i] = -1;
    if (poll(&p, 1, REPORT_MS) == 1)
        n = fd_pass_receive(lifeline, text, PROGRAM_REPORT_MAX - 1, fds,
                            PROGRAM_REPORT_FDS, NULL, 0);
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
        return errprintf(err, "the holder gave an unexpected answer");
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
    if (program_cgroup_remove(&h->group, err) < 0)
        return -1;
    unlink(h->socket);
    return 0;
}
