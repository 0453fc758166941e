/* SPDX-License-Identifier: BSD-3-Clause
 * The starter's side of the holder.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "elan/program_client.h"
#include "elan/program_holder.h"
#include "elan/program_holder_priv.h"
#include "elan/program_read.h"

#define LIFELINE 3

/* Show ourselves in ps by our own name, not as the process that forked: the
 * kernel shows what is between two addresses, fields 48 and 49 of stat. */
static void set_name(void)
{
    char *text = program_read_proc(getpid(), "stat", 4096), *p = text;
    unsigned long start, end;

    prctl(PR_SET_NAME, "elan-holder");
    p = p ? strrchr(p, ')') : NULL;
    for (int field = 2; p && field < 48; field++)
        p = strchr(p + 1, ' ');
    if (p && sscanf(p, "%lu %lu", &start, &end) == 2 && start && end > start) {
        memset((char *)start, 0, end - start);
        strncpy((char *)start, "elan-holder", end - start - 1);
    }
    free(text);
}

/* Nothing of the starter stays: signals, descriptors, session, cores (they
 * would hold the key). */
static void become_daemon(int lifeline)
{
    sigset_t none;
    int null;

    for (int s = 1; s < NSIG; s++)
        signal(s, s == SIGPIPE || s == SIGHUP ? SIG_IGN : SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_DUMPABLE, 0);
    prctl(PR_SET_PDEATHSIG, 0);
    dup2(lifeline, LIFELINE);
    null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    syscall(SYS_close_range, LIFELINE + 1, ~0U, 0);
    fcntl(LIFELINE, F_SETFD, FD_CLOEXEC);
    umask(022);
    (void)!chdir("/");
    set_name();
}

/* Fork twice; the grandchild never returns.  0 or -1. */
static int fork_holder(int lifeline, const struct program_spec *spec)
{
    pid_t starter = getpid(), middle = fork();
    int status;

    if (middle < 0)
        return -1;
    if (middle > 0) {
        while (waitpid(middle, &status, 0) < 0 && errno == EINTR)
            ;
        return 0;
    }
    setsid();
    if (fork() == 0) {
        become_daemon(lifeline);
        program_holder_run(LIFELINE, spec, starter);
    }
    _exit(0);
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
    if (fork_holder(pair[1], spec) < 0) {
        e = errno;
        errprintf(err, "fork: %s", strerror(e));
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
