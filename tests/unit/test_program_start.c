/* SPDX-License-Identifier: BSD-3-Clause
 * How a program begins: its holder is started, told what it holds, awaited.
 * Real processes; needs root and a cgroup2 tree; skipped without.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "holder_util.h"

#include "base/be.h"
#include "base/local.h"
#include "elan/program_register.h"

static struct program_spec spec_of(struct fixture *f)
{
    return (struct program_spec){.number = next_number(),
                                 .uid = USER,
                                 .ncaps = 1,
                                 .rundir = f->dir,
                                 .holder = built_holder()};
}

static void a_live_number_is_not_created_twice(void **state)
{
    struct fixture *f = *state;
    struct program_handle h;
    struct errbuf err;
    struct program_spec spec = {
        .uid = USER, .rundir = f->dir, .holder = built_holder()};

    NEED(f);
    spec.number = atoi(strrchr(f->h.socket, '-') + 1);
    assert_int_equal(program_start(&h, &spec, &err), -1);
    assert_int_equal(errno, EEXIST);
}

static void a_missing_holder_is_named(void **state)
{
    struct fixture *f = *state;
    struct program_handle h;
    struct errbuf err = {""};
    struct program_spec spec = {.number = next_number(),
                                .uid = USER,
                                .rundir = f->dir,
                                .holder = "/nonexistent/elan-holder"};

    assert_int_equal(program_start(&h, &spec, &err), -1);
    assert_int_equal(errno, ENOENT);
    assert_non_null(strstr(err.text, "/nonexistent/elan-holder: No such file"));
    assert_int_equal(h.lifeline, -1);
}

/* One that answers nothing, or nonsense, is no holder. */
static void another_program_is_no_holder(void **state)
{
    struct fixture *f = *state;
    struct program_handle h;
    struct errbuf err = {""};
    struct program_spec spec = {.number = next_number(),
                                .uid = USER,
                                .rundir = f->dir,
                                .holder = "/bin/true"};

    assert_int_equal(program_start(&h, &spec, &err), -1);
    assert_int_equal(errno, ECHILD);
    assert_string_equal(err.text, "the holder did not come up");
}

/* As slurmstepd does, which has put on the user's uid when it waits. */
static void program_comes_with_its_capabilities(void **state)
{
    struct fixture *f = *state;
    struct program_spec spec;
    struct program_handle h;
    struct program_stats stats;
    struct errbuf err = {""};
    int rc;

    NEED(f);
    spec = spec_of(f);
    assert_int_equal(program_begin(&h, &spec, &err), 0);
    assert_int_equal(program_give_cap(&h, 0, &f->cap), 0);
    assert_int_equal(seteuid(USER), 0);
    rc = program_await(&h, &err);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(rc, 0);
    assert_int_equal(h.procs >= 0, h.group.own);
    assert_int_equal(program_call_addcap(h.socket, 0, &f->cap), -1);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(program_call_stats(h.socket, PROGRAM_DESTROY, &stats), 0);
    program_release(&h);
    wait_until_gone(h.socket);
}

/* hsnd of a machine that stood still.  0: the holder waited, and the program
 * is registered until it ends. */
static int late_driver(int listener)
{
    static uint8_t message[PROGRAM_REGISTER_MAX];
    struct pollfd come = {.fd = listener, .events = POLLIN}, p;
    uint8_t yes[8];
    int fd;

    poll(&come, 1, -1);
    fd = accept(listener, NULL, NULL);
    p = (struct pollfd){.fd = fd, .events = POLLIN};
    if (recv(fd, message, sizeof(message), 0) <= 0)
        return 1;
    if (poll(&p, 1, 1000) != 0)
        return 2;
    be_store32(yes, PROGRAM_REGISTER_MAGIC);
    be_store32(yes + 4, 0);
    if (send(fd, yes, sizeof(yes), MSG_NOSIGNAL) != sizeof(yes))
        return 3;
    return recv(fd, yes, sizeof(yes), 0) == 0 ? 0 : 4;
}

/* Tasks that attached at once were refused by a hsnd that took longer than a
 * quarter of a second to hear of their program. */
static void a_program_waits_for_a_driver_that_is_late(void **state)
{
    struct fixture *f = *state;
    struct elan_capability cap = {0};
    struct program_spec spec;
    struct program_handle h;
    struct errbuf err = {""};
    char dir[128], path[160];
    int listener, status;
    pid_t driver;

    NEED(f);
    cap = f->cap;
    cap.RailMask = 1 << 3; /* nobody else's */
    snprintf(dir, sizeof(dir), "%s/late", f->dir);
    snprintf(path, sizeof(path), "%s/hsnd-3", dir);
    assert_int_equal(mkdir(dir, 0755), 0);
    listener = local_listen_new(path, SOCK_SEQPACKET);
    assert_true(listener >= 0);
    driver = fork();
    if (driver == 0)
        _exit(late_driver(listener));
    close(listener);
    spec = spec_of(f);
    spec.rundir = dir;
    assert_int_equal(program_begin(&h, &spec, &err), 0);
    assert_int_equal(program_give_cap(&h, 0, &cap), 0);
    assert_int_equal(program_await(&h, &err), 0);
    program_release(&h);
    wait_until_gone(h.socket);
    assert_int_equal(waitpid(driver, &status, 0), driver);
    assert_int_equal(status, 0);
    unlink(path);
    rmdir(dir);
}

static void a_capability_that_is_refused_is_named(void **state)
{
    struct fixture *f = *state;
    struct program_spec spec;
    struct program_handle h;
    struct errbuf err = {""};

    NEED(f);
    spec = spec_of(f);
    assert_int_equal(program_begin(&h, &spec, &err), 0);
    assert_int_equal(program_give_cap(&h, 3, &f->cap), 0);
    assert_int_equal(program_await(&h, &err), -1);
    assert_int_equal(errno, EINVAL);
    assert_string_equal(err.text, "capability 0: Invalid argument");
    assert_int_equal(h.lifeline, -1);
    wait_until_gone(h.socket);
}

/* The starter failed between: nothing stays. */
static void a_program_that_nobody_awaits_is_removed(void **state)
{
    struct fixture *f = *state;
    struct program_spec spec;
    struct program_handle h;
    struct errbuf err = {""};

    NEED(f);
    spec = spec_of(f);
    assert_int_equal(program_begin(&h, &spec, &err), 0);
    for (int i = 0; i < 12000 && access(h.socket, F_OK) < 0; i++)
        usleep(5000); /* it waits for the capability */
    assert_int_equal(access(h.socket, F_OK), 0);
    program_release(&h);
    wait_until_gone(h.socket);
}

/* Run it with what is not what the starter says; its line back. */
static void run_holder(char *line, size_t size, bool lifeline, const char *dir,
                       const char *number, const char *uid, const char *ncaps,
                       const char *linger)
{
    int pair[2], status;
    ssize_t n = 0;
    pid_t pid;

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    pid = fork();
    if (pid == 0) {
        if (lifeline)
            dup2(pair[1], 3);
        else
            close(3);
        close(2);
        execl(built_holder(), "elan-holder", number, uid, ncaps, linger, dir,
              NULL);
        _exit(99);
    }
    close(pair[1]);
    if (lifeline)
        n = recv(pair[0], line, size - 1, 0);
    line[n > 0 ? n : 0] = '\0';
    close(pair[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 2);
}

static void holder_checks_what_it_is_told(void **state)
{
    struct fixture *f = *state;
    char line[4096];

    run_holder(line, sizeof(line), false, f->dir, "7", "1000", "0", "0");
    run_holder(line, sizeof(line), true, f->dir, "0", "1000", "0", "0");
    assert_non_null(strstr(line, "NUMBER '0': expected 1 to"));
    run_holder(line, sizeof(line), true, f->dir, "7x", "1000", "0", "0");
    assert_non_null(strstr(line, "NUMBER '7x'"));
    run_holder(line, sizeof(line), true, f->dir, "99999999999", "1000", "0",
               "0");
    assert_non_null(strstr(line, "NUMBER '99999999999'"));
    run_holder(line, sizeof(line), true, f->dir, "7", "-1", "0", "0");
    assert_non_null(strstr(line, "UID '-1'"));
    run_holder(line, sizeof(line), true, f->dir, "7", "1000", "9999", "0");
    assert_non_null(strstr(line, "NCAPS '9999': expected 0 to"));
    run_holder(line, sizeof(line), true, f->dir, "7", "1000", "0", "soon");
    assert_non_null(strstr(line, "LINGER_MS 'soon': expected 0 to"));
    run_holder(line, sizeof(line), true, "/tmp", "7", "1000", "0", "0");
    assert_non_null(strstr(line, "/tmp: not a directory that only"));
    run_holder(line, sizeof(line), true, "relative", "7", "1000", "0", "0");
    assert_non_null(strstr(line, "relative: not a directory"));
}

static void rundir_that_others_write_is_refused(void **state)
{
    char dir[] = "/tmp/sf-rundir-XXXXXX", sub[64];
    struct errbuf err;

    assert_non_null(mkdtemp(dir));
    snprintf(sub, sizeof(sub), "%s/n0", dir);
    assert_int_equal(program_make_rundir(sub, &err), 0);
    assert_int_equal(program_make_rundir(sub, &err), 0);
    chmod(sub, 0777);
    assert_int_equal(program_make_rundir(sub, &err), -1);
    rmdir(sub);
    assert_int_equal(symlink("/tmp", sub), 0);
    assert_int_equal(program_make_rundir(sub, &err), -1);
    unlink(sub);
    rmdir(dir);
}

#define TEST(f)                                                                \
    cmocka_unit_test_setup_teardown(f, program_setup, program_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_live_number_is_not_created_twice),
        TEST(program_comes_with_its_capabilities),
        TEST(a_program_waits_for_a_driver_that_is_late),
        TEST(a_capability_that_is_refused_is_named),
        TEST(a_program_that_nobody_awaits_is_removed),
        TEST(a_missing_holder_is_named),
        TEST(another_program_is_no_holder),
        TEST(holder_checks_what_it_is_told),
        cmocka_unit_test(rundir_that_others_write_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
