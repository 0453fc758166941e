/* SPDX-License-Identifier: BSD-3-Clause
 * What a program that is started finds.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/child.h"

/* What `script` says when sh is started with it. */
static void said_by(const char *script, char *said, size_t size)
{
    char *const argv[] = {"sh", "-c", (char *)(uintptr_t)script, NULL};
    char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    posix_spawn_file_actions_t files;
    int line[2], status;
    size_t n = 0;
    ssize_t got;
    pid_t pid;

    assert_int_equal(pipe(line), 0);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, line[1], 1);
    assert_int_equal(child_spawn(&pid, "/bin/sh", &files, argv, env), 0);
    posix_spawn_file_actions_destroy(&files);
    close(line[1]);
    while ((got = read(line[0], said + n, size - 1 - n)) > 0)
        n += (size_t)got;
    said[n] = '\0';
    close(line[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void a_child_has_no_signal_blocked_or_ignored(void **state)
{
    unsigned long long blocked, ignored;
    char said[256];
    sigset_t set, old;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, &old);
    signal(SIGUSR2, SIG_IGN);
    said_by("exec sed -n 's/^Sig[BI][lg][kn]://p' /proc/self/status", said,
            sizeof(said));
    signal(SIGUSR2, SIG_DFL);
    sigprocmask(SIG_SETMASK, &old, NULL);
    assert_int_equal(sscanf(said, "%llx %llx", &blocked, &ignored), 2);
    assert_int_equal(blocked, 0);
    assert_int_equal(ignored & 0x7fffffff, 0); /* of the C library: others */
}

static void a_child_has_a_session_and_an_environment_of_its_own(void **state)
{
    char said[256], *rest;
    long pid;

    said_by("set -- $(cat /proc/$$/stat); echo $1 $6 $HOME", said,
            sizeof(said));
    pid = strtol(said, &rest, 10);
    assert_int_not_equal(pid, 0);
    assert_int_equal(strtol(rest, &rest, 10), pid);
    assert_string_equal(rest, "\n");
}

static void a_program_that_is_missing_is_said_at_once(void **state)
{
    char *const argv[] = {"none", NULL};
    pid_t pid;

    assert_int_equal(child_spawn(&pid, "/nonexistent/none", NULL, argv, argv),
                     ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_has_no_signal_blocked_or_ignored),
        cmocka_unit_test(a_child_has_a_session_and_an_environment_of_its_own),
        cmocka_unit_test(a_program_that_is_missing_is_said_at_once),
    };

    return cmocka_run_group_tests_name("child", tests, NULL, NULL);
}
