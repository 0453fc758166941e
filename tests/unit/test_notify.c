/* SPDX-License-Identifier: BSD-3-Clause
 * What the service manager is told.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/notify.h"

/* A manager that listens at `name` ('@': an abstract one). */
static int manager_open(const char *name)
{
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    socklen_t len = offsetof(struct sockaddr_un, sun_path) + strlen(name);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    memcpy(sa.sun_path, name, strlen(name));
    if (name[0] == '@')
        sa.sun_path[0] = '\0';
    assert_int_equal(bind(fd, (struct sockaddr *)&sa, len), 0);
    setenv("NOTIFY_SOCKET", name, 1);
    return fd;
}

static void manager_hears(int fd, const char *text)
{
    char buf[64];
    ssize_t n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

    assert_int_equal(n, strlen(text));
    assert_memory_equal(buf, text, strlen(text));
}

static void without_a_manager_nothing_is_said(void **state)
{
    unsetenv("NOTIFY_SOCKET");
    assert_int_equal(notify_manager(NOTIFY_READY), 0);
    setenv("NOTIFY_SOCKET", "", 1);
    assert_int_equal(notify_manager(NOTIFY_READY), 0);
}

static void a_manager_at_a_path_hears_it(void **state)
{
    char dir[] = "/tmp/test_notify-XXXXXX", path[64];
    int fd;

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/notify", dir);
    fd = manager_open(path);
    assert_int_equal(notify_manager(NOTIFY_READY), 1);
    assert_int_equal(notify_manager(NOTIFY_STOPPING), 1);
    manager_hears(fd, "READY=1");
    manager_hears(fd, "STOPPING=1");
    close(fd);
    assert_int_equal(notify_manager(NOTIFY_READY), -1);
    assert_int_equal(errno, ECONNREFUSED);
    unlink(path);
    rmdir(dir);
}

static void a_manager_with_an_abstract_name_hears_it(void **state)
{
    char name[64];
    int fd;

    snprintf(name, sizeof(name), "@test_notify-%ld", (long)getpid());
    fd = manager_open(name);
    assert_int_equal(notify_manager(NOTIFY_READY), 1);
    manager_hears(fd, "READY=1");
    close(fd);
}

/* A manager that does not read must not stop the daemon. */
static void a_manager_that_sleeps_blocks_nobody(void **state)
{
    char name[64];
    int fd, rc = 1;

    snprintf(name, sizeof(name), "@test_notify2-%ld", (long)getpid());
    fd = manager_open(name);
    for (int i = 0; i < 100000 && rc == 1; i++)
        rc = notify_manager(NOTIFY_READY);
    assert_int_equal(rc, -1);
    assert_int_equal(errno, EAGAIN);
    close(fd);
}

static void a_name_that_is_none_is_an_error(void **state)
{
    char longer[200];

    memset(longer, '/', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    setenv("NOTIFY_SOCKET", longer, 1);
    assert_int_equal(notify_manager(NOTIFY_READY), -1);
    assert_int_equal(errno, EINVAL);
    setenv("NOTIFY_SOCKET", "vsock:2:1234", 1);
    assert_int_equal(notify_manager(NOTIFY_READY), -1);
    assert_int_equal(errno, EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_manager_nothing_is_said),
        cmocka_unit_test(a_manager_at_a_path_hears_it),
        cmocka_unit_test(a_manager_with_an_abstract_name_hears_it),
        cmocka_unit_test(a_manager_that_sleeps_blocks_nobody),
        cmocka_unit_test(a_name_that_is_none_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
