/* SPDX-License-Identifier: BSD-3-Clause
 * Launches that wait for contexts are woken by a connection.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "launch.h"
#include "plugins/switch_elan/waiters.h"

static void all_who_wait_are_woken(void **state)
{
    struct launch a = launch_open(), b = launch_open();
    struct waiters *w = waiters_create();

    assert_int_equal(waiters_wake(w), 0);
    waiters_add(w, "127.0.0.1", a.port);
    waiters_add(w, "localhost", b.port);
    assert_false(is_woken(&a, 0));
    assert_int_equal(waiters_wake(w), 2);
    assert_true(is_woken(&a, 20000));
    assert_true(is_woken(&b, 20000));
    assert_int_equal(waiters_wake(w), 0); /* once */
    waiters_destroy(w);
    close(a.fd);
    close(b.fd);
}

static void a_launch_that_is_gone_hinders_nobody(void **state)
{
    struct launch gone = launch_open(), b = launch_open();
    struct waiters *w = waiters_create();

    close(gone.fd);
    waiters_add(w, "127.0.0.1", gone.port);
    waiters_add(w, "no host has this name", 1);
    waiters_add(w, NULL, 1);
    waiters_add(w, "127.0.0.1", 0);
    waiters_add(w, "127.0.0.1", b.port);
    assert_int_equal(waiters_wake(w), 3);
    assert_true(is_woken(&b, 20000));
    waiters_destroy(w);
    waiters_destroy(NULL);
    close(b.fd);
}

/* As a login node that has died: nothing comes back. */
static int deaf_port(int fill[3], uint16_t *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t len = sizeof(at);

    assert_int_equal(bind(fd, (void *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 0), 0);
    assert_int_equal(getsockname(fd, (void *)&at, &len), 0);
    for (int i = 0; i < 3; i++) { /* more than it takes */
        fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(fill[i], (void *)&at, sizeof(at));
    }
    *port = ntohs(at.sin_port);
    return fd;
}

static void launches_on_a_dead_host_hold_up_nobody(void **state)
{
    struct launch b = launch_open();
    struct waiters *w = waiters_create();
    uint16_t port;
    int fill[3], fd = deaf_port(fill, &port);

    for (int i = 0; i < 60; i++)
        waiters_add(w, "127.0.0.1", port);
    waiters_add(w, "127.0.0.1", b.port);
    assert_int_equal(waiters_wake(w), 61);
    assert_true(is_woken(&b, 60000));
    waiters_destroy(w);
    for (int i = 0; i < 3; i++)
        close(fill[i]);
    close(fd);
    close(b.fd);
}

static void beyond_the_limit_the_oldest_is_forgotten(void **state)
{
    struct launch first = launch_open(), last = launch_open();
    struct waiters *w = waiters_create();

    waiters_add(w, "127.0.0.1", first.port);
    for (int i = 0; i < SF_WAITERS_MAX; i++)
        waiters_add(w, "127.0.0.1", last.port);
    assert_int_equal(waiters_wake(w), SF_WAITERS_MAX);
    assert_true(is_woken(&last, 20000));
    waiters_destroy(w);
    assert_false(is_woken(&first, 0));
    close(first.fd);
    close(last.fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_who_wait_are_woken),
        cmocka_unit_test(a_launch_that_is_gone_hinders_nobody),
        cmocka_unit_test(launches_on_a_dead_host_hold_up_nobody),
        cmocka_unit_test(beyond_the_limit_the_oldest_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
