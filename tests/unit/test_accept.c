/* SPDX-License-Identifier: BSD-3-Clause
 * Accepting without descriptors.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/accept.h"

static int local_listener(struct sockaddr_un *at, socklen_t *len)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

    *at = (struct sockaddr_un){.sun_family = AF_UNIX};
    *len = sizeof(*at);
    assert_int_equal(bind(fd, (void *)at, sizeof(sa_family_t)), 0);
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(getsockname(fd, (void *)at, len), 0);
    return fd;
}

static bool readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, 0) == 1;
}

/* The listener would stay readable for ever: who comes is turned away. */
static void accept_without_descriptors_turns_callers_away(void **state)
{
    struct sockaddr_un at;
    socklen_t len;
    struct rlimit old, none;
    int listener = local_listener(&at, &len), spare = 0, fd;
    int call[2] = {socket(AF_UNIX, SOCK_STREAM, 0),
                   socket(AF_UNIX, SOCK_STREAM, 0)};
    char c;

    assert_int_equal(accept_or_shed(listener, &spare), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(connect(call[0], (void *)&at, len), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = (struct rlimit){.rlim_cur = (rlim_t)spare + 1,
                           .rlim_max = old.rlim_max};
    fd = dup(0);
    while (fd >= 0 && fd <= spare) /* no number below the limit is free */
        fd = dup(0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(accept_or_shed(listener, &spare), -1);
    assert_int_equal(errno, EMFILE);
    assert_false(readable(listener));
    assert_true(spare > 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(recv(call[0], &c, 1, 0), 0);
    assert_int_equal(connect(call[1], (void *)&at, len), 0);
    fd = accept_or_shed(listener, &spare);
    assert_true(fd >= 0);
    close(fd);
    close(call[0]);
    close(call[1]);
    close(listener);
    accept_spare_close(&spare);
    assert_int_equal(spare, 0);
}

static void listener_rests_when_descriptors_are_used_up(void **state)
{
    struct accept_rest r = {0};

    assert_false(accept_resting(&r, 100));
    accept_rest_begin(&r, EAGAIN, 100);
    accept_rest_begin(&r, ECONNABORTED, 100);
    assert_false(accept_resting(&r, 100));
    accept_rest_begin(&r, EMFILE, 100);
    assert_true(accept_resting(&r, 100));
    assert_true(accept_resting(&r, 101));
    assert_false(accept_resting(&r, 102));
    accept_rest_begin(&r, ENFILE, 102);
    assert_true(accept_resting(&r, 102));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accept_without_descriptors_turns_callers_away),
        cmocka_unit_test(listener_rests_when_descriptors_are_used_up),
    };

    return cmocka_run_group_tests_name("accept", tests, NULL, NULL);
}
