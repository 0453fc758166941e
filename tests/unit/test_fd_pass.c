/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd_pass.h"
#include "base/limits.h"
#include "many_fds.h"

struct pair {
    int from, to;
    unsigned open; /* descriptors of this process with these two */
};

static int setup(void **state)
{
    static struct pair p;
    int fds[2];

    assert_return_code(
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), errno);
    p = (struct pair){fds[0], fds[1], count_fds()};
    *state = &p;
    return 0;
}

static int teardown(void **state)
{
    struct pair *p = *state;

    close(p->from);
    close(p->to);
    return 0;
}

/* Send n times the same descriptor. */
static void send_many(const struct pair *p, const char *text, size_t len,
                      size_t n)
{
    int fds[MANY_FDS];

    for (size_t i = 0; i < n; i++)
        fds[i] = p->from;
    assert_int_equal(send_many_fds(p->from, text, len, fds, n), len);
}

static bool is_same_file(int a, int b)
{
    struct stat sa, sb;

    assert_return_code(fstat(a, &sa), errno);
    assert_return_code(fstat(b, &sb), errno);
    return sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

static void descriptors_come_in_order_and_close_on_exec(void **state)
{
    const struct pair *p = *state;
    const int sent[3] = {p->from, p->to, p->from};
    char text[8];
    int got[3];

    assert_int_equal(fd_pass_send(p->from, "abc", 3, sent, 3, 0), 3);
    assert_int_equal(
        fd_pass_receive(p->to, text, sizeof(text), got, 3, NULL, 0), 3);
    assert_memory_equal(text, "abc", 3);
    for (int i = 0; i < 3; i++) {
        assert_true(is_same_file(got[i], sent[i]));
        assert_true(fcntl(got[i], F_GETFD) & FD_CLOEXEC);
        close(got[i]);
    }
}

static void where_none_came_it_is_minus_one(void **state)
{
    const struct pair *p = *state;
    int got[2];
    char byte;

    assert_int_equal(fd_pass_send(p->from, "x", 1, NULL, 0, 0), 1);
    assert_int_equal(fd_pass_receive(p->to, &byte, 1, got, 2, NULL, 0), 1);
    assert_int_equal(got[0], -1);
    assert_int_equal(got[1], -1);
    assert_int_equal(fd_pass_send(p->from, "y", 1, &p->to, 1, 0), 1);
    assert_int_equal(fd_pass_receive(p->to, &byte, 1, got, 2, NULL, 0), 1);
    assert_true(got[0] >= 0);
    assert_int_equal(got[1], -1);
    close(got[0]);
}

static void more_than_wanted_are_closed(void **state)
{
    const struct pair *p = *state;

    for (size_t wanted = 0; wanted <= SF_FD_PASS_MAX; wanted++) {
        for (size_t n = wanted + 1; n <= MANY_FDS; n++) {
            int got[SF_FD_PASS_MAX];
            char byte;

            send_many(p, "x", 1, n);
            assert_int_equal(
                fd_pass_receive(p->to, &byte, 1, got, wanted, NULL, 0), 1);
            assert_int_equal(count_fds(), p->open + wanted);
            for (size_t i = 0; i < wanted; i++)
                close(got[i]);
        }
    }
}

/* The kernel gives as many as there is room for. */
static void a_full_table_of_descriptors_loses_only_descriptors(void **state)
{
    const struct pair *p = *state;
    int got[3], next = dup(p->to);
    struct rlimit before, full;
    char byte;

    close(next);
    assert_return_code(getrlimit(RLIMIT_NOFILE, &before), errno);
    full = (struct rlimit){(rlim_t)next + 1, before.rlim_max};
    assert_int_equal(fd_pass_send(p->from, "x", 1, (int[]){0, 0, 0}, 3, 0), 1);
    assert_return_code(setrlimit(RLIMIT_NOFILE, &full), errno);
    assert_int_equal(fd_pass_receive(p->to, &byte, 1, got, 3, NULL, 0), 1);
    assert_return_code(setrlimit(RLIMIT_NOFILE, &before), errno);
    assert_int_equal(got[0], next);
    assert_int_equal(got[1], -1);
    assert_int_equal(got[2], -1);
    close(next);
    assert_int_equal(count_fds(), p->open);
}

static void an_empty_message_brings_none(void **state)
{
    const struct pair *p = *state;
    int got[2];
    char byte;

    send_many(p, "", 0, 2);
    assert_int_equal(fd_pass_receive(p->to, &byte, 1, got, 2, NULL, 0), 0);
    assert_int_equal(got[0], -1);
    assert_int_equal(got[1], -1);
    assert_int_equal(count_fds(), p->open);
}

static void the_sender_is_told_beside_its_descriptors(void **state)
{
    const struct pair *p = *state;
    struct ucred sender;
    int got, on = 1;
    char byte;

    assert_int_equal(fd_pass_send(p->from, "x", 1, &p->to, 1, 0), 1);
    assert_int_equal(fd_pass_receive(p->to, &byte, 1, &got, 1, &sender, 0), 1);
    assert_int_equal(sender.pid, 0);
    close(got);
    assert_return_code(
        setsockopt(p->to, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), errno);
    send_many(p, "x", 1, MANY_FDS);
    assert_int_equal(fd_pass_receive(p->to, &byte, 1, &got, 1, &sender, 0), 1);
    assert_int_equal(sender.pid, getpid());
    assert_int_equal(count_fds(), p->open + 1);
    close(got);
}

static void errors_are_those_of_the_kernel(void **state)
{
    struct pair *p = *state;
    int got = 0;
    char byte;

    assert_int_equal(
        fd_pass_receive(p->to, &byte, 1, &got, 1, NULL, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(got, -1);
    close(p->to);
    p->to = -1;
    assert_int_equal(fd_pass_send(p->from, "x", 1, NULL, 0, 0), -1);
    assert_int_equal(errno, EPIPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            descriptors_come_in_order_and_close_on_exec, setup, teardown),
        cmocka_unit_test_setup_teardown(where_none_came_it_is_minus_one, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(more_than_wanted_are_closed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            a_full_table_of_descriptors_loses_only_descriptors, setup,
            teardown),
        cmocka_unit_test_setup_teardown(an_empty_message_brings_none, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            the_sender_is_told_beside_its_descriptors, setup, teardown),
        cmocka_unit_test_setup_teardown(errors_are_those_of_the_kernel, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
