/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A real hsnd in a directory of its own, for tests of its clients.
 */
#ifndef HSND_UTIL_H
#define HSND_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "hsn/libhsn.h"

/* Descriptors that the next hsnd may have; 0: as many as we. */
static rlim_t hsnd_files __attribute__((unused));

/* What it says, and where; NULL: errors, with ours. */
static const char *hsnd_log __attribute__((unused));

struct hsnd_process {
    char dir[64], socket[96], control[96], conf[96];
    pid_t pid;
};

static inline void hsnd_start(struct hsnd_process *h)
{
    const char *build = getenv("SF_TOP_BUILDDIR");
    char exe[512];
    struct hsn *probe;

    snprintf(exe, sizeof(exe), "%s/src/hsnd/hsnd", build ? build : ".");
    h->pid = fork();
    if (h->pid == 0) {
        const struct rlimit few = {hsnd_files, hsnd_files};

        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves none */
        if (hsnd_log && !freopen(hsnd_log, "w", stderr))
            _exit(126);
        if (hsnd_files && setrlimit(RLIMIT_NOFILE, &few) < 0)
            _exit(126);
        execl(exe, "hsnd", "-f", h->conf, getenv("HSND_VERBOSE") ? "-v" : NULL,
              (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 6000; i++) {
        probe = hsn_open(h->socket);
        if (probe) {
            hsn_close(probe);
            return;
        }
        assert_int_equal(waitpid(h->pid, NULL, WNOHANG), 0);
        poll(NULL, 0, 10);
    }
    fail_msg("hsnd does not come up");
}

/* more: further lines of hsn.conf. */
static inline struct hsnd_process *hsnd_new(const char *more)
{
    struct hsnd_process *h = calloc(1, sizeof(*h));
    FILE *f;

    strcpy(h->dir, "/tmp/hsnd.XXXXXX");
    assert_non_null(mkdtemp(h->dir));
    chmod(h->dir, 0755);
    snprintf(h->socket, sizeof(h->socket), "%s/hsnd-0", h->dir);
    snprintf(h->control, sizeof(h->control), "%s/ctl", h->dir);
    snprintf(h->conf, sizeof(h->conf), "%s/hsn.conf", h->dir);
    f = fopen(h->conf, "w");
    assert_non_null(f);
    fprintf(f,
            "Socket=%s\nControlSocket=%s\nNodeName=n1\nLogLevel=%s\n"
            "Board=0200000000a1\n%s",
            h->socket, h->control, hsnd_log ? "info" : "error", more);
    fclose(f);
    hsnd_start(h);
    return h;
}

static inline void hsnd_stop(struct hsnd_process *h, int signo, int expected)
{
    int status;

    kill(h->pid, signo);
    assert_int_equal(waitpid(h->pid, &status, 0), h->pid);
    assert_int_equal(status, expected);
}

static inline void hsnd_free(struct hsnd_process *h)
{
    char command[128];

    hsnd_stop(h, SIGTERM, 0);
    assert_int_not_equal(access(h->socket, F_OK), 0);
    snprintf(command, sizeof(command), "rm -rf '%s'", h->dir);
    assert_int_equal(system(command), 0);
    free(h);
}

/* The next message, waited for. */
static inline void receive(struct hsn *h, struct hsn_message *m)
{
    int rc;

    while ((rc = hsn_recv(h, m)) < 0 && errno == EAGAIN)
        assert_true(hsn_wait(h, 60000) == 1 || errno == EINTR);
    assert_int_equal(rc, 0);
}

/* A child of that uid says what *f returns, as its exit code. */
static inline int as_user(uid_t uid, int (*f)(void *arg), void *arg)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        if (setgid(uid) < 0 || setuid(uid) < 0)
            _exit(200);
        _exit(f(arg));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#endif
