/* SPDX-License-Identifier: BSD-3-Clause
 * A program's processes are found by descent from slurmstepd: those that leave
 * their parents, too, and those that outlive slurmstepd; not its agent.  Real
 * processes; needs no privilege.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/fd_pass.h"
#include "elan/program_descent.h"
#include "elan/program_read.h"

/* A root that has an agent and a task; the task has a child, and one that has
 * left its parents.  They live until they are killed. */
enum who { ROOT, AGENT, AGENTS_CHILD, TASK, CHILD, ORPHAN, N_WHO };

struct fixture {
    struct program_cgroup group, hsnds;
    pid_t pid[N_WHO];
    pid_t stranger;
    int entry;   /* as tasks have it */
    int here[2]; /* "WHO PID" of each process, when it is there */
    int go[2];   /* the root goes on */
};

static void say(struct fixture *f, enum who who)
{
    pid_t word[2] = {(pid_t)who, getpid()};

    if (write(f->here[1], word, sizeof(word)) != sizeof(word))
        _exit(1);
}

static void stay(struct fixture *f, enum who who)
{
    say(f, who);
    for (;;)
        pause();
}

static void born(struct fixture *f, enum who who)
{
    if (fork() == 0)
        stay(f, who);
}

static void wait_for_word(struct fixture *f)
{
    char byte;

    if (read(f->go[0], &byte, 1) != 1)
        _exit(1);
}

/* What the root does after its first task, which has entered. */
static void task(struct fixture *f)
{
    say(f, TASK);
    wait_for_word(f);
    if (write(f->entry, "0", 1) != 1)
        _exit(1);
    wait_for_word(f); /* real ones make a request */
    born(f, CHILD);
    if (fork() == 0) {
        if (fork() == 0)
            stay(f, ORPHAN);
        _exit(0);
    }
    wait_for_word(f);
    _exit(0); /* its children stay */
}

static void root(struct fixture *f)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (fork() == 0) {
        born(f, AGENTS_CHILD);
        stay(f, AGENT);
    }
    if (fork() == 0)
        task(f);
    stay(f, ROOT);
}

static void hear(struct fixture *f, int n)
{
    pid_t word[2];

    while (n-- > 0) {
        assert_int_equal(read(f->here[0], word, sizeof(word)), sizeof(word));
        f->pid[word[0]] = word[1];
    }
}

static bool is_inside(struct fixture *f, enum who who)
{
    return program_cgroup_has(&f->group, f->pid[who]) == 1;
}

static int setup(void **state)
{
    static struct fixture f;
    struct program_process process;
    struct errbuf err;
    pid_t ppid, pid;

    f = (struct fixture){.entry = -1};
    assert_int_equal(pipe(f.here), 0);
    assert_int_equal(pipe(f.go), 0);
    /* The root's pid is wanted before it runs: it waits for its socket. */
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    pid = fork();
    if (pid == 0) {
        char space[CMSG_SPACE(sizeof(int))], byte;
        struct iovec iov = {&byte, 1};
        struct msghdr msg = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = space,
                             .msg_controllen = sizeof(space)};

        if (recvmsg(pair[1], &msg, 0) != 1)
            _exit(1);
        memcpy(&f.entry, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
        root(&f);
    }
    assert_int_equal(program_read_process(pid, &process, &ppid), 0);
    assert_int_equal(program_cgroup_descend(&f.group, &process, &err), 0);
    f.entry = program_cgroup_open_procs(&f.group, &err);
    assert_true(f.entry >= 0);
    assert_int_equal(program_cgroup_reopen(&f.hsnds, f.group.path, false, &err),
                     0);

    assert_int_equal(fd_pass_send(pair[0], "", 1, &f.entry, 1, 0), 1);
    close(pair[0]);
    close(pair[1]);
    hear(&f, 4);
    f.stranger = fork();
    if (f.stranger == 0)
        for (;;)
            pause();
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < N_WHO; i++)
        if (f->pid[i] > 0)
            kill(f->pid[i], SIGKILL);
    kill(f->stranger, SIGKILL);
    while (wait(NULL) > 0)
        ;
    close(f->entry);
    for (int i = 0; i < 2; i++) {
        close(f->here[i]);
        close(f->go[i]);
    }
    program_cgroup_close(&f->group);
    program_cgroup_close(&f->hsnds);
    return 0;
}

static void go_on(struct fixture *f)
{
    assert_int_equal(write(f->go[1], "", 1), 1);
}

static void enter(struct fixture *f)
{
    go_on(f);
    while (!is_inside(f, TASK))
        poll(NULL, 0, 1);
    go_on(f);
    hear(f, 2); /* child and orphan */
    while (program_cgroup_pids(&f->group, NULL, 0, NULL, NULL, NULL) != 3)
        poll(NULL, 0, 1); /* the one between has not ended */
}

static void nobody_is_inside_before_a_task_enters(void **state)
{
    struct fixture *f = *state;

    assert_false(program_cgroup_lives(&f->group));
    assert_false(is_inside(f, TASK));
    assert_false(is_inside(f, AGENT));
}

static void who_leaves_its_parents_stays_inside(void **state)
{
    struct fixture *f = *state;

    enter(f);
    assert_true(is_inside(f, TASK));
    assert_true(is_inside(f, CHILD));
    assert_true(is_inside(f, ORPHAN));
    assert_false(is_inside(f, ROOT));
    assert_int_equal(program_cgroup_has(&f->group, f->stranger), 0);
    assert_int_equal(program_cgroup_has(&f->group, getpid()), 0);
}

static void the_agent_and_its_children_are_outside(void **state)
{
    struct fixture *f = *state;

    enter(f);
    assert_false(is_inside(f, AGENT));
    assert_false(is_inside(f, AGENTS_CHILD));
}

static bool ended(pid_t pid)
{
    struct program_process process;
    pid_t ppid;
    char *text = program_read_proc(pid, "stat", 4096);
    bool zombie = text && strstr(text, ") Z ");

    free(text);
    return zombie || program_read_process(pid, &process, &ppid) < 0;
}

static void the_children_of_an_ended_task_are_killed(void **state)
{
    struct fixture *f = *state;
    struct errbuf err = {""};

    enter(f);
    go_on(f);
    while (!ended(f->pid[TASK]))
        poll(NULL, 0, 1);
    assert_true(is_inside(f, CHILD));
    assert_int_equal(program_cgroup_empty(&f->group, 60000, &err), 0);
    assert_true(ended(f->pid[CHILD]));
    assert_true(ended(f->pid[ORPHAN]));
    assert_false(ended(f->pid[ROOT]));
    assert_false(ended(f->pid[AGENT]));
    assert_false(ended(f->stranger));
}

static void who_was_seen_outlives_the_root_inside(void **state)
{
    struct fixture *f = *state;
    struct errbuf err = {""};

    enter(f);
    kill(f->pid[ROOT], SIGKILL);
    while (!ended(f->pid[ROOT]))
        poll(NULL, 0, 1);
    waitpid(f->pid[ROOT], NULL, 0);
    assert_true(is_inside(f, ORPHAN));
    assert_int_equal(program_cgroup_empty(&f->group, 60000, &err), 0);
    assert_true(ended(f->pid[ORPHAN]));
    assert_false(ended(f->pid[AGENT]));
}

static void who_knows_the_root_alone_takes_all_below_it(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(f->hsnds.dev, f->group.dev);
    assert_int_equal(f->hsnds.ino, f->group.ino);
    enter(f);
    assert_int_equal(program_cgroup_has(&f->hsnds, f->pid[ORPHAN]), 1);
    assert_int_equal(program_cgroup_has(&f->hsnds, f->pid[AGENT]), 1);
    assert_int_equal(program_cgroup_has(&f->hsnds, f->pid[ROOT]), 0);
    assert_int_equal(program_cgroup_has(&f->hsnds, f->stranger), 0);
}

static void a_path_that_is_none_is_no_descent(void **state)
{
    static const char *const bad[] = {
        "descent:0:5", "descent:1:", "descent:x:1", "descent:1:2x"};
    struct program_cgroup g;
    struct errbuf err;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int rc = program_cgroup_take(&g, -1, -1, bad[i], false, &err);

        assert_int_equal(rc, -1);
    }
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(nobody_is_inside_before_a_task_enters),
        T(who_leaves_its_parents_stays_inside),
        T(the_agent_and_its_children_are_outside),
        T(the_children_of_an_ended_task_are_killed),
        T(who_was_seen_outlives_the_root_inside),
        T(who_knows_the_root_alone_takes_all_below_it),
        cmocka_unit_test(a_path_that_is_none_is_no_descent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
