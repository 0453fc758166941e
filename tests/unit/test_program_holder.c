/* SPDX-License-Identifier: BSD-3-Clause
 * A program that runs: its members, who may ask what, how it ends.  A real
 * holder, a real cgroup2 group, real processes.  Needs root and a
 * cgroup2 tree; skipped without.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "holder_util.h"

#include "elan/rmscall.h"

typedef int child_f(struct fixture *f);

/* Run code in a child of that uid, inside the program or not; returns its exit
 * code. */
static int in_child_of(struct fixture *f, uid_t uid, bool member, child_f *code)
{
    int fd = program_cgroup_open_procs(&f->h.group, NULL), status;
    pid_t pid = fork();

    if (pid == 0) {
        close(f->h.lifeline); /* exec does it in a task */
        if (setgid(uid) < 0 || setuid(uid) < 0)
            _exit(98);
        if (member && write(fd, "0", 1) != 1)
            _exit(99);
        close(fd);
        setenv("SLURM_FABRIC_PROGRAM", f->h.socket, 1);
        _exit(code(f));
    }
    close(fd);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

/* Of the program's user. */
static int in_child(struct fixture *f, bool member, child_f *code)
{
    return in_child_of(f, USER, member, code);
}

static int member_code(struct fixture *f)
{
    ELAN_CAPABILITY cap;
    int n = 0, id = 0;

    if (rms_ncaps(&n) < 0 || n != 1)
        return 1;
    if (rms_getcap(0, &cap) < 0 || cap.MyContext != -1 ||
        memcmp(&cap.UserKey, &f->cap.UserKey, sizeof(cap.UserKey)) != 0)
        return 2;
    if (rms_setcap(0, 1) < 0 || rms_getcap(0, &cap) < 0 || cap.MyContext != 51)
        return 3;
    if (rms_setcap(0, 2) != -1 || errno != EINVAL)
        return 4;
    if (rms_getcap(1, &cap) != -1 || errno != EINVAL)
        return 5;
    if (rms_getprgid(0, &id) < 0 || id == 0)
        return 6;
    return 0;
}

static void members_get_the_capability(void **state)
{
    struct fixture *f = *state;

    NEED(f);
    assert_int_equal(in_child(f, true, member_code), 0);
    /* the context is free again when its process has ended */
    assert_int_equal(in_child(f, true, member_code), 0);
}

static int stranger_code(struct fixture *f)
{
    ELAN_CAPABILITY cap;
    int n;

    if (rms_ncaps(&n) != -1 || errno != EPERM)
        return 1;
    if (rms_getcap(0, &cap) != -1 || errno != EPERM)
        return 2;
    if (rms_setcap(0, 0) != -1 || errno != EPERM)
        return 3;
    if (program_call_addcap(f->h.socket, 1, &f->cap) != -1 || errno != EPERM)
        return 4;
    if (program_tell(f->h.socket, PROGRAM_DESTROY, 0, 0) != -1 ||
        errno != EPERM)
        return 5;
    if (program_tell(f->h.socket, PROGRAM_STATS, 0, 0) < 0)
        return 6; /* the owner may look */
    return 0;
}

static void same_uid_outside_gets_nothing(void **state)
{
    struct fixture *f = *state;

    NEED(f);
    assert_int_equal(in_child(f, false, stranger_code), 0);
}

static int foreign_member_code(struct fixture *f)
{
    ELAN_CAPABILITY cap;
    int n;

    if (rms_ncaps(&n) != -1 || errno != EPERM)
        return 1;
    if (rms_getcap(0, &cap) != -1 || errno != EPERM)
        return 2;
    return rms_setcap(0, 0) != -1 || errno != EPERM ? 3 : 0;
}

static void member_of_another_uid_gets_nothing(void **state)
{
    struct fixture *f = *state;

    NEED(f);
    assert_int_equal(in_child_of(f, USER - 1, true, foreign_member_code), 0);
}

static int other_uid_code(struct fixture *f)
{
    return program_tell(f->h.socket, PROGRAM_STATS, 0, 0) == -1 &&
                   errno == EPERM
               ? 0
               : 1;
}

static void another_user_is_sent_away(void **state)
{
    struct fixture *f = *state;
    int status;
    pid_t pid;

    NEED(f);
    pid = fork();
    if (pid == 0)
        _exit(setuid(2) < 0 ? 98 : other_uid_code(f));
    waitpid(pid, &status, 0);
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Fork away, setsid, fork again; the grandchild sleeps. */
static int escape_code(struct fixture *f)
{
    int ready[2];
    pid_t middle;
    char c;

    signal(SIGTERM, SIG_IGN);
    if (pipe(ready) < 0)
        return 1;
    middle = fork();
    if (middle == 0) {
        setsid();
        if (fork() == 0) {
            /* whatever goes wrong: hold nothing of the test, end some day */
            for (int fd = 0; fd < 3; fd++)
                close(fd);
            alarm(60);
            (void)!write(ready[1], "x", 1);
            for (;;)
                pause();
        }
        _exit(0);
    }
    /* it is a member, too, until it has ended */
    return read(ready[0], &c, 1) == 1 && waitpid(middle, NULL, 0) == middle ? 0
                                                                            : 2;
}

static void escaped_processes_are_members_and_die(void **state)
{
    struct fixture *f = *state;
    pid_t pids[8];

    NEED(f);
    assert_int_equal(program_tell(f->h.socket, PROGRAM_SIGNAL, SIGTERM, 0), -1);
    assert_int_equal(errno, ESRCH);
    assert_int_equal(in_child(f, true, escape_code), 0);
    assert_int_equal(
        program_cgroup_pids(&f->h.group, pids, 8, NULL, NULL, NULL), 1);
    assert_int_equal(program_tell(f->h.socket, PROGRAM_SIGNAL, SIGTERM, 0), 0);
    assert_int_equal(
        program_cgroup_pids(&f->h.group, pids, 8, NULL, NULL, NULL), 1);
    assert_int_equal(program_tell(f->h.socket, PROGRAM_DESTROY, 0, 0), 0);
    assert_int_equal(
        program_cgroup_pids(&f->h.group, pids, 8, NULL, NULL, NULL), 0);
}

/* Of the same user, and outside. */
static pid_t start_stranger(struct fixture *f)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    close(f->h.lifeline);
    alarm(60);
    if (setgid(USER) == 0 && setuid(USER) == 0)
        for (;;)
            pause();
    _exit(98);
}

static void signals_are_those_of_the_system(void **state)
{
    const int good[] = {0, SIGTERM, SIGRTMAX};
    struct fixture *f = *state;

    NEED(f);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(program_tell(f->h.socket, PROGRAM_SIGNAL, good[i], 0),
                         -1);
        assert_int_equal(errno, ESRCH); /* nobody is there */
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            program_tell(f->h.socket, PROGRAM_SIGNAL, i ? SIGRTMAX + 1 : -1, 0),
            -1);
        assert_int_equal(errno, EINVAL);
    }
}

static void a_signal_reaches_all_and_nobody_else(void **state)
{
    struct fixture *f = *state;
    pid_t pids[8], stranger;
    int status;

    NEED(f);
    stranger = start_stranger(f);
    assert_true(stranger > 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(in_child(f, true, escape_code), 0);
    assert_int_equal(
        program_cgroup_pids(&f->h.group, pids, 8, NULL, NULL, NULL), 3);
    assert_int_equal(program_tell(f->h.socket, PROGRAM_SIGNAL, SIGUSR1, 0), 0);
    for (int i = 0; i < 12000 && program_cgroup_lives(&f->h.group); i++)
        usleep(5000);
    assert_false(program_cgroup_lives(&f->h.group));
    /* Of two signals the lower number would come first. */
    assert_int_equal(kill(stranger, SIGTERM), 0);
    assert_int_equal(waitpid(stranger, &status, 0), stranger);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
}

static void lifeline_ends_the_program(void **state)
{
    struct fixture *f = *state;
    char group[4200], socket[108];

    NEED(f);
    assert_int_equal(in_child(f, true, escape_code), 0);
    strcpy(socket, f->h.socket);
    snprintf(group, sizeof(group), "/proc/self/fd/%d/cgroup.procs",
             f->h.group.dir);
    close(f->h.lifeline);
    f->h.lifeline = -1;
    wait_until_gone(socket);
    assert_int_equal(access(group, F_OK), -1);
}

static int take_code(struct fixture *f)
{
    return rms_setcap(0, 0) < 0 ? errno : 0;
}

/* A process and a child of it, which may say the same again. */
static int take_twice_code(struct fixture *f)
{
    int status;
    pid_t pid;

    if (rms_setcap(0, 0) < 0)
        return 1;
    pid = fork();
    if (pid == 0)
        _exit(rms_setcap(0, 0) < 0 ? 2 : 0);
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return 3;
    return WEXITSTATUS(status);
}

static void a_context_is_free_when_its_process_has_ended(void **state)
{
    struct fixture *f = *state;

    NEED(f);
    for (int i = 0; i < 3; i++)
        assert_int_equal(in_child(f, true, take_code), 0);
    assert_int_equal(in_child(f, true, take_twice_code), 0);
}

static int burn_code(struct fixture *f)
{
    clock_t end = clock() + CLOCKS_PER_SEC / 5;

    while (clock() < end)
        for (volatile int i = 0; i < 100000; i++)
            ;
    return rms_setcap(0, 0) < 0;
}

static void figures_count_ended_members(void **state)
{
    struct fixture *f = *state;
    struct program_stats s;

    NEED(f);
    assert_int_equal(in_child(f, true, burn_code), 0);
    assert_int_equal(program_call_stats(f->h.socket, PROGRAM_STATS, &s), 0);
    assert_true(s.user_us + s.system_us >= 150000);
    assert_int_equal(s.now, 0);
    assert_true(s.seen >= 1);
}

static void suspend_and_resume(void **state)
{
    struct fixture *f = *state;
    char path[64], text[8] = "";
    FILE *file;

    NEED(f);
    assert_int_equal(in_child(f, true, escape_code), 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d/cgroup.freeze",
             f->h.group.dir);
    for (int stop = 1; stop >= 0; stop--) {
        assert_int_equal(program_tell(f->h.socket,
                                      stop ? PROGRAM_SUSPEND : PROGRAM_RESUME,
                                      0, 0),
                         0);
        file = fopen(path, "r");
        assert_non_null(fgets(text, sizeof(text), file));
        fclose(file);
        assert_int_equal(atoi(text), stop);
    }
}

static int read_freeze(const struct fixture *f)
{
    char path[64], text[8] = "";
    FILE *file;

    snprintf(path, sizeof(path), "/proc/self/fd/%d/cgroup.freeze",
             f->h.group.dir);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof(text), file));
    fclose(file);
    return atoi(text);
}

static void a_signal_does_not_resume_a_suspended_program(void **state)
{
    struct fixture *f = *state;

    NEED(f);
    assert_int_equal(in_child(f, true, escape_code), 0);
    assert_int_equal(program_tell(f->h.socket, PROGRAM_SIGNAL, SIGCONT, 0), 0);
    assert_int_equal(read_freeze(f), 0);
    assert_int_equal(program_tell(f->h.socket, PROGRAM_SUSPEND, 0, 0), 0);
    assert_int_equal(program_tell(f->h.socket, PROGRAM_SIGNAL, SIGCONT, 0), 0);
    assert_int_equal(read_freeze(f), 1);
}

static void destroy_answers_and_removes(void **state)
{
    struct fixture *f = *state;
    struct program_stats s;
    char path[64];

    NEED(f);
    assert_int_equal(in_child(f, true, escape_code), 0);
    assert_int_equal(program_call_stats(f->h.socket, PROGRAM_DESTROY, &s), 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d/cgroup.procs",
             f->h.group.dir);
    assert_int_equal(access(path, F_OK), -1);
}

static void sweep_spares_the_living(void **state)
{
    struct fixture *f = *state;
    char stale[108];
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    int fd;

    NEED(f);
    snprintf(stale, sizeof(stale), "%s/prg-1", f->dir);
    strcpy(un.sun_path, stale);
    fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
    close(fd);
    program_sweep_if_any(f->dir);
    assert_int_equal(access(stale, F_OK), -1);
    program_sweep(f->dir);
    assert_int_equal(program_tell(f->h.socket, PROGRAM_STATS, 0, 0), 0);
}

static void garbage_and_silence_hurt_only_the_client(void **state)
{
    struct fixture *f = *state;
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    int fds[SF_PROGRAM_CLIENTS_MAX + 10];
    char buf[64];

    NEED(f);
    strcpy(un.sun_path, f->h.socket);
    for (uint32_t i = 0; i < N_OF(fds); i++) {
        fds[i] = socket(AF_UNIX, SOCK_SEQPACKET, 0);
        assert_int_equal(connect(fds[i], (struct sockaddr *)&un, sizeof(un)),
                         0);
    }
    assert_int_equal(program_tell(f->h.socket, PROGRAM_STATS, 0, 0), 0);
    assert_int_equal(send(fds[N_OF(fds) - 1], "garbage", 7, 0), 7);
    assert_true(recv(fds[N_OF(fds) - 1], buf, sizeof(buf), 0) >= 8);
    assert_int_equal(buf[7], EPROTO);
    for (uint32_t i = 0; i < N_OF(fds); i++)
        close(fds[i]);
}

#define TEST(f)                                                                \
    cmocka_unit_test_setup_teardown(f, program_setup, program_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(members_get_the_capability),
        TEST(same_uid_outside_gets_nothing),
        TEST(a_context_is_free_when_its_process_has_ended),
        TEST(member_of_another_uid_gets_nothing),
        TEST(another_user_is_sent_away),
        TEST(escaped_processes_are_members_and_die),
        TEST(signals_are_those_of_the_system),
        TEST(a_signal_reaches_all_and_nobody_else),
        TEST(lifeline_ends_the_program),
        TEST(figures_count_ended_members),
        TEST(suspend_and_resume),
        TEST(a_signal_does_not_resume_a_suspended_program),
        TEST(destroy_answers_and_removes),
        TEST(sweep_spares_the_living),
        TEST(garbage_and_silence_hurt_only_the_client),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
