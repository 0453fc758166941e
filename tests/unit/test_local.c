/* SPDX-License-Identifier: BSD-3-Clause
 * Local sockets.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/local.h"

/* What the kernel answers when it is asked for the other end's pidfd; 0: what
 * it really does. */
static int pidfd_error;

int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *len);

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
    if (pidfd_error) {
        errno = pidfd_error;
        return -1;
    }
    return __real_getsockopt(fd, level, name, value, len);
}

/* A path left behind is taken, that of somebody who listens is not. */
static void a_local_path_belongs_to_who_listens(void **state)
{
    char dir[] = "/tmp/localXXXXXX", path[64], long_path[200];
    int first, second, call;

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/s", dir);
    assert_int_equal(local_connect(path, SOCK_STREAM, 0), -1);
    assert_int_equal(errno, ENOENT);
    first = local_listen(path, SOCK_STREAM);
    assert_true(first >= 0);
    assert_int_equal(local_listen(path, SOCK_STREAM), -1);
    assert_int_equal(errno, EADDRINUSE);
    call = local_connect(path, SOCK_STREAM, 60);
    assert_true(call >= 0);
    close(call);
    close(first);
    assert_int_equal(local_connect(path, SOCK_STREAM, 0), -1);
    assert_int_equal(errno, ECONNREFUSED);
    second = local_listen(path, SOCK_STREAM);
    assert_true(second >= 0);
    close(second);
    memset(long_path, 'x', sizeof(long_path) - 1);
    long_path[sizeof(long_path) - 1] = '\0';
    assert_int_equal(local_connect(long_path, SOCK_STREAM, 0), -1);
    assert_int_equal(errno, ENAMETOOLONG);
    assert_int_equal(local_listen(long_path, SOCK_STREAM), -1);
    assert_int_equal(errno, ENAMETOOLONG);
    unlink(path);
    rmdir(dir);
}

/* One listener after the other, in a process that then stops and keeps them. */
static void listen_often(const char *path)
{
    for (int i = 0; i < 200; i++) {
        unlink(path);
        if (local_listen(path, SOCK_STREAM) < 0)
            _exit(1);
    }
    raise(SIGSTOP);
    _exit(1);
}

/* A path that is there, but not yet heard, refused who came too early. */
static void who_finds_a_local_path_is_heard(void **state)
{
    char dir[] = "/tmp/localXXXXXX", path[64];
    int first, call, status;
    pid_t pid;

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/s", dir);
    first = local_listen(path, SOCK_STREAM);
    pid = fork();
    if (pid == 0)
        listen_often(path);
    do {
        call = local_connect(path, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (call < 0) /* not there, or its queue is full */
            assert_true(errno == ENOENT || errno == EAGAIN);
        else
            close(call);
    } while (waitpid(pid, &status, WNOHANG | WUNTRACED) == 0);
    assert_true(WIFSTOPPED(status));
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(first);
    unlink(path);
    assert_int_equal(rmdir(dir), 0);
}

/* Its pid, used again, would be anybody's: here it is ours. */
static void who_has_ended_is_not_taken_for_another(void **state)
{
    char dir[] = "/tmp/localXXXXXX", path[64];
    int listener, fd, status, pidfd;
    struct pollfd p;
    pid_t pid;

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/s", dir);
    listener = local_listen(path, SOCK_SEQPACKET);
    assert_true(listener >= 0);
    pid = fork();
    if (pid == 0)
        _exit(local_connect(path, SOCK_SEQPACKET, 0) < 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    fd = accept(listener, NULL, NULL);
    assert_true(fd >= 0);
    pidfd = local_peer_pidfd(fd, getpid());
    if (pidfd >= 0) { /* since Linux 6.16: of the one that has ended */
        p = (struct pollfd){.fd = pidfd, .events = POLLIN};
        assert_int_equal(poll(&p, 1, 0), 1);
        close(pidfd);
    }
    close(fd);
    close(listener);
    unlink(path);
    assert_int_equal(rmdir(dir), 0);
}

/* Only a kernel that cannot say whose the other end is leaves it to the number;
 * one that says it has ended is believed, though somebody has the number. */
static void a_number_is_asked_for_only_where_the_kernel_cannot_say(void **state)
{
    static const struct {
        int error;
        bool opened;
    } cases[] = {{ENOPROTOOPT, true},
                 {EOPNOTSUPP, true},
                 {ESRCH, false},
                 {ENODATA, false},
                 {EINVAL, false}};
    int ends[2], pidfd;

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pidfd_error = cases[i].error;
        pidfd = local_peer_pidfd(ends[0], getpid());
        pidfd_error = 0;
        assert_int_equal(pidfd >= 0, cases[i].opened);
        if (pidfd >= 0)
            close(pidfd);
    }
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_number_is_asked_for_only_where_the_kernel_cannot_say),
        cmocka_unit_test(a_local_path_belongs_to_who_listens),
        cmocka_unit_test(who_finds_a_local_path_is_heard),
        cmocka_unit_test(who_has_ended_is_not_taken_for_another),
    };

    return cmocka_run_group_tests_name("local", tests, NULL, NULL);
}
