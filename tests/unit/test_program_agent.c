/* SPDX-License-Identifier: BSD-3-Clause
 * Which process is the step's agent (impid), and no member of the program: of
 * that file and of that parent.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "elan/program_member.h"

static void the_agent_is_of_that_file_and_parent(void **state)
{
    struct program_agent ours, other, none, strange;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        for (;;)
            pause();
    }
    program_agent_init(&ours, getpid(), "/proc/self/exe");
    program_agent_init(&other, getpid(), "/bin/true");
    program_agent_init(&none, getpid(), NULL);
    program_agent_init(&strange, getppid(), "/proc/self/exe");
    assert_true(program_agent_is(child, &ours));
    assert_false(program_agent_is(child, &other));
    assert_false(program_agent_is(child, &none));
    assert_false(program_agent_is(child, &strange));
    assert_false(program_agent_is(getpid(), &ours));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(program_agent_is(child, &ours));
}

static void without_the_file_there_is_no_agent(void **state)
{
    struct program_agent gone;

    program_agent_init(&gone, getppid(), "/nowhere/impid");
    assert_false(program_agent_is(getpid(), &gone));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_agent_is_of_that_file_and_parent),
        cmocka_unit_test(without_the_file_there_is_no_agent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
