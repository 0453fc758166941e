/* SPDX-License-Identifier: BSD-3-Clause
 * Memory of other processes: what is found and proved, what is not, and how a
 * process in a container gets at it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/identity.h"
#include "base/memory.h"

static const uint8_t token[MEMORY_TOKEN_SIZE] = "the token of this test";
static const uint8_t other[MEMORY_TOKEN_SIZE] = "the token of that test";
static struct errbuf err;

static int make_ring(void)
{
    int fd = ring_create(65536, &err);
    struct ring r;

    assert_true(fd >= 0);
    assert_int_equal(ring_attach(&r, fd, RING_PRODUCER, 1024, &err), 0);
    ring_label(&r, token);
    ring_detach(&r);
    return fd;
}

static int make_area(void)
{
    int fd = memfd_create(MEMORY_AREA_NAME, MFD_CLOEXEC);

    assert_int_equal(write(fd, token, sizeof(token)), sizeof(token));
    return fd;
}

static void memory_is_found_and_proved_by_its_token(void **state)
{
    uint32_t pid = (uint32_t)getpid();
    int ring = make_ring(), area = make_area();
    int a = memory_open(pid, (uint32_t)ring, MEMORY_RING);
    int b = memory_open(pid, (uint32_t)area, MEMORY_AREA);

    (void)state;
    assert_true(a >= 0 && b >= 0);
    assert_true(memory_has(a, MEMORY_RING, token));
    assert_true(memory_has(b, MEMORY_AREA, token));
    assert_false(memory_has(a, MEMORY_RING, other));
    assert_false(memory_has(b, MEMORY_AREA, other));
    assert_int_equal(fcntl(a, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    close(a);
    close(b);
    close(ring);
    close(area);
}

/* What is sent by it does not change it. */
static void a_ring_keeps_its_label(void **state)
{
    int fd = make_ring();
    struct ring r;

    (void)state;
    assert_int_equal(ring_attach(&r, fd, RING_PRODUCER, 1024, &err), 0);
    for (int i = 0; i < 1000; i++) {
        void *at = ring_reserve(&r, 1024);

        if (!at)
            break;
        memset(at, 0xff, 1024);
        ring_commit(&r, 1024);
    }
    assert_true(memory_has(fd, MEMORY_RING, token));
    ring_detach(&r);
    close(fd);
}

static void nothing_else_is_opened(void **state)
{
    uint32_t pid = (uint32_t)getpid();
    int ring = make_ring(), area = make_area();
    int file = open("/dev/null", O_RDWR), wrong = memfd_create("x", 0);

    (void)state;
    assert_int_equal(memory_open(pid, (uint32_t)ring, MEMORY_AREA), -1);
    assert_int_equal(memory_open(pid, (uint32_t)area, MEMORY_RING), -1);
    assert_int_equal(memory_open(pid, (uint32_t)file, MEMORY_RING), -1);
    assert_int_equal(memory_open(pid, (uint32_t)wrong, MEMORY_AREA), -1);
    assert_int_equal(memory_open(pid, UINT32_MAX, MEMORY_AREA), -1);
    assert_int_equal(memory_open(0, (uint32_t)area, MEMORY_AREA), -1);
    assert_int_equal(memory_open(INT32_MAX, (uint32_t)area, MEMORY_AREA), -1);
    close(ring);
    close(area);
    close(file);
    /* shorter than a token */
    assert_false(memory_has(wrong, MEMORY_AREA, token));
    close(wrong);
}

/* ---- containers ---- */

/* A process in a user namespace of its own, or in none; it waits for its end.
 */
static pid_t child(bool apart)
{
    int ready[2];
    char c = 0;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        c = !apart || unshare(CLONE_NEWUSER) == 0;
        if (write(ready[1], &c, 1) == 1)
            for (;;)
                pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    close(ready[1]);
    if (c)
        return pid;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return 0;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void who_is_beside_us_needs_no_view(void **state)
{
    struct memory_view v = memory_view_of(getpid(), (uint32_t)getpid(),
                                          identity_of("/proc/self/ns/user"));

    (void)state;
    assert_int_equal(v.pid, 0);
    assert_true(v.machine == 0);
    v = memory_view_of(0, 7, 1); /* not visible from here */
    assert_int_equal(v.pid, 0);
    assert_true(v.machine == 0);
}

/* Whose maker we are: its memory, for who may not open it. */
static void memory_in_a_container_of_ours_can_be_opened(void **state)
{
    int area = make_area(), fd;
    pid_t pid = child(true);
    struct memory_view v;

    (void)state;
    if (pid == 0)
        skip();
    fd = memory_open((uint32_t)pid, (uint32_t)area, MEMORY_AREA);
    assert_true(fd >= 0);
    assert_true(memory_has(fd, MEMORY_AREA, token));
    close(fd);
    v = memory_view_of(pid, (uint32_t)pid, 1);
    assert_int_equal(v.pid, 0);
    assert_true(v.machine == memory_machine());
    /* it has another number for itself */
    v = memory_view_of(pid, 1, identity_of("/proc/self/ns/user"));
    assert_int_equal(v.pid, pid);
    assert_true(v.machine == memory_machine());
    end(pid);
    v = memory_view_of(pid, 1, 1); /* gone */
    assert_true(v.machine == 0);
    close(area);
}

/* 0 if a process in a namespace of its own can open it. */
static int open_from_a_container(pid_t pid, int fd)
{
    int status;
    pid_t opener = fork();

    if (opener == 0) {
        if (unshare(CLONE_NEWUSER) < 0)
            _exit(2);
        _exit(memory_open((uint32_t)pid, (uint32_t)fd, MEMORY_AREA) < 0);
    }
    assert_int_equal(waitpid(opener, &status, 0), opener);
    return WEXITSTATUS(status);
}

static void memory_in_another_container_cannot(void **state)
{
    int area = make_area();
    pid_t apart = child(true), beside = child(false);

    (void)state;
    if (apart == 0)
        skip();
    assert_int_equal(open_from_a_container(apart, area), 1);
    assert_int_equal(open_from_a_container(beside, area), 1);
    end(apart);
    end(beside);
    close(area);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_found_and_proved_by_its_token),
        cmocka_unit_test(a_ring_keeps_its_label),
        cmocka_unit_test(nothing_else_is_opened),
        cmocka_unit_test(who_is_beside_us_needs_no_view),
        cmocka_unit_test(memory_in_a_container_of_ours_can_be_opened),
        cmocka_unit_test(memory_in_another_container_cannot),
    };

    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
