/* SPDX-License-Identifier: BSD-3-Clause
 * A holder that waits for the next program: real processes.  Needs root and a
 * cgroup2 tree; skipped without.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "holder_util.h"

#include "base/local.h"
#include "elan/program_spare.h"

#define LONG_MS 600000
#define PATIENCE_MS 60000

static struct program_spec spec_of(struct fixture *f, int linger_ms)
{
    return (struct program_spec){.number = next_number(),
                                 .uid = USER,
                                 .rundir = f->dir,
                                 .holder = built_holder(),
                                 .linger_ms = linger_ms};
}

/* The pid of the holder on the other side of a connection that we made. */
static pid_t peer_of(int fd)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);

    assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len), 0);
    return cred.pid;
}

static pid_t holder_of(const struct program_handle *h)
{
    int fd = local_connect(h->socket, SOCK_SEQPACKET, 0);
    pid_t pid;

    assert_true(fd >= 0);
    pid = peer_of(fd);
    close(fd);
    return pid;
}

static void await_end(int pidfd)
{
    struct pollfd p = {.fd = pidfd, .events = POLLIN};

    assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
    close(pidfd);
}

static int pidfd_of(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    assert_true(fd >= 0);
    return fd;
}

/* How many files of that kind; the last one's path. */
static int look_for(const char *dir, const char *word, char path[108])
{
    DIR *d = opendir(dir);
    struct dirent *e;
    int n = 0;

    while (d && (e = readdir(d)))
        if (strncmp(e->d_name, word, strlen(word)) == 0) {
            snprintf(path, 108, "%s/%.40s", dir, e->d_name);
            n++;
        }
    closedir(d);
    return n;
}

static void await_spare(struct fixture *f, char path[108])
{
    for (int ms = 0; look_for(f->dir, "spare-", path) == 0; ms += 5) {
        assert_true(ms < PATIENCE_MS);
        usleep(5000);
    }
}

static void kill_spare(const char *path)
{
    pid_t pid = atoi(strrchr(path, '-') + 1);
    int fd = pidfd_of(pid);

    assert_true(pid > 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    await_end(fd);
}

static void end_spare(const char *path)
{
    kill_spare(path);
    unlink(path);
}

static void destroy(struct program_handle *h)
{
    struct program_stats stats;

    assert_int_equal(program_call_stats(h->socket, PROGRAM_DESTROY, &stats), 0);
    program_release(h);
}

/* Start one and let its holder wait linger_ms afterwards; anew: by a holder of
 * its own. */
static void start(struct fixture *f, struct program_handle *h, int linger_ms,
                  bool anew)
{
    struct program_spec spec = spec_of(f, linger_ms);

    assert_int_equal(program_begin(h, &spec, NULL), 0);
    assert_int_equal(h->spawned > 0, anew);
    assert_int_equal(program_await(h, NULL), 0);
}

/* A holder that waits; its pid. */
static pid_t leave_spare(struct fixture *f, char path[108])
{
    struct program_handle h;
    pid_t pid;

    start(f, &h, LONG_MS, true);
    pid = holder_of(&h);
    destroy(&h);
    await_spare(f, path);
    assert_int_equal(atoi(strrchr(path, '-') + 1), pid);
    return pid;
}

/* What begins anew finds no holder; that programs can be is seen. */
static int setup(void **state)
{
    struct fixture *f;

    program_setup(state);
    f = *state;
    if (f->usable)
        destroy(&f->h);
    return 0;
}

/* Holders that end, or wait a moment for the next, take their files along. */
static int teardown(void **state)
{
    struct fixture *f = *state;
    int rc;

    for (int ms = 0; (rc = rmdir(f->dir)) < 0 && ms < PATIENCE_MS; ms += 5)
        usleep(5000);
    free(f);
    return rc;
}

static void holder_serves_one_program_after_the_other(void **state)
{
    struct fixture *f = *state;
    struct program_handle h;
    struct program_stats stats;
    char path[108];
    pid_t first;

    NEED(f);
    first = leave_spare(f, path);
    for (int i = 0; i < 3; i++) {
        start(f, &h, LONG_MS, false);
        assert_int_equal(holder_of(&h), first);
        assert_int_equal(look_for(f->dir, "spare-", path), 0);
        assert_int_equal(program_call_stats(h.socket, PROGRAM_STATS, &stats),
                         0);
        assert_int_equal(stats.seen, 0);
        destroy(&h);
        await_spare(f, path);
    }
    end_spare(path);
}

/* Its capabilities went with the program, and its number is free. */
static void nothing_of_a_program_is_left_for_the_next(void **state)
{
    struct fixture *f = *state;
    struct program_spec spec;
    struct program_handle h;
    char path[108];

    NEED(f);
    spec = spec_of(f, LONG_MS);
    assert_int_equal(program_start(&h, &spec, NULL), 0);
    assert_int_equal(program_call_addcap(h.socket, 0, &f->cap), 0);
    destroy(&h);
    await_spare(f, path);
    assert_int_equal(program_start(&h, &spec, NULL), 0);
    assert_int_equal(program_call_addcap(h.socket, 0, &f->cap), 0);
    assert_int_equal(program_call_addcap(h.socket, 0, &f->cap), -1);
    assert_int_equal(errno, EEXIST);
    destroy(&h);
    await_spare(f, path);
    end_spare(path);
}

static void one_spare_is_taken_by_one(void **state)
{
    struct fixture *f = *state;
    struct program_spec a, b;
    struct program_handle one, two;
    char path[108];
    int fd;

    NEED(f);
    leave_spare(f, path);
    a = spec_of(f, LONG_MS);
    b = spec_of(f, 1);
    assert_int_equal(program_begin(&one, &a, NULL), 0);
    assert_int_equal(program_begin(&two, &b, NULL), 0);
    assert_int_equal(one.spawned, 0);
    assert_true(two.spawned > 0);
    assert_int_equal(program_await(&one, NULL), 0);
    assert_int_equal(program_await(&two, NULL), 0);
    fd = pidfd_of(holder_of(&two));
    destroy(&two);
    await_end(fd);
    destroy(&one);
    await_spare(f, path);
    end_spare(path);
}

static void killed_spare_is_not_missed(void **state)
{
    struct fixture *f = *state;
    struct program_handle h;
    char path[108];
    int fd;

    NEED(f);
    leave_spare(f, path);
    kill_spare(path);
    start(f, &h, 1, true);
    fd = pidfd_of(holder_of(&h));
    destroy(&h);
    await_end(fd);
}

/* Neither renamed nor of another file: who starts something else gets that. */
static void spare_of_another_executable_is_left(void **state)
{
    struct fixture *f = *state;
    char path[108];

    NEED(f);
    leave_spare(f, path);
    assert_int_equal(program_spare_take(f->dir, "/bin/true"), -1);
    assert_int_equal(program_spare_take(f->dir, "/nonexistent"), -1);
    assert_int_equal(access(path, F_OK), 0);
    end_spare(path);
}

static void spare_ends_when_nobody_comes(void **state)
{
    struct fixture *f = *state;
    struct program_handle h;
    char path[108];
    int fd;

    NEED(f);
    start(f, &h, 1, true);
    fd = pidfd_of(holder_of(&h));
    destroy(&h);
    await_end(fd);
    assert_int_equal(look_for(f->dir, "spare-", path), 0);
}

/* Only after an end in order: else it might be confused. */
static void holder_that_lost_its_starter_does_not_wait(void **state)
{
    struct fixture *f = *state;
    struct program_handle h;
    char path[108];
    int fd;

    NEED(f);
    start(f, &h, LONG_MS, true);
    fd = pidfd_of(holder_of(&h));
    program_release(&h);
    await_end(fd);
    assert_int_equal(look_for(f->dir, "spare-", path), 0);
}

static void another_user_gets_no_spare(void **state)
{
    struct fixture *f = *state;
    char path[108];
    int status;
    pid_t pid;

    NEED(f);
    leave_spare(f, path);
    pid = fork();
    if (pid == 0) {
        if (setgid(USER) < 0 || setuid(USER) < 0)
            _exit(9);
        if (local_connect(path, SOCK_SEQPACKET, 0) >= 0 || errno != EACCES)
            _exit(1);
        _exit(program_spare_take(f->dir, built_holder()) >= 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(access(path, F_OK), 0);
    end_spare(path);
}

/* Were it not for the rights of its socket: who is not of our uid is hung up on
 * while the process that waited lives on. */
static void stranger_is_hung_up_on(void **state)
{
    struct fixture *f = *state;
    struct program_kept kept = PROGRAM_KEPT_NONE;
    pid_t waits, stranger;
    int hold[2], status;
    char path[108], c;

    NEED(f);
    assert_int_equal(pipe(hold), 0);
    waits = fork();
    if (waits == 0) {
        int fd = program_spare_wait(f->dir, LONG_MS, &kept);

        close(hold[1]);
        _exit(read(hold[0], &c, 1) != 0 || fd >= 0);
    }
    await_spare(f, path);
    assert_int_equal(chmod(path, 0777), 0);
    stranger = fork();
    if (stranger == 0) {
        struct pollfd p = {.events = POLLIN};

        if (setgid(USER) < 0 || setuid(USER) < 0)
            _exit(9);
        p.fd = local_connect(path, SOCK_SEQPACKET, 0);
        _exit(p.fd < 0 || poll(&p, 1, PATIENCE_MS) != 1 ||
              recv(p.fd, &c, 1, 0) != 0);
    }
    assert_int_equal(waitpid(stranger, &status, 0), stranger);
    assert_int_equal(status, 0);
    close(hold[1]);
    assert_int_equal(waitpid(waits, &status, 0), waits);
    assert_int_equal(status, 0);
    close(hold[0]);
    unlink(path);
}

/* Who takes it and says nonsense hurts nobody but this spare. */
static void nonsense_is_refused(void **state)
{
    struct fixture *f = *state;
    static const char *const words[] = {"", "x", "ela"};
    char path[108], line[256];

    NEED(f);
    for (size_t i = 0; i < N_OF(words); i++) {
        pid_t pid = leave_spare(f, path);
        int pidfd = pidfd_of(pid);
        int fd = program_spare_take(f->dir, built_holder());

        assert_true(fd >= 0);
        assert_int_equal(peer_of(fd), pid);
        assert_int_equal(send(fd, words[i], i + 1, 0), i + 1);
        assert_true(recv(fd, line, sizeof(line), 0) > 0);
        assert_int_equal(atoi(line), EINVAL);
        await_end(pidfd);
        close(fd);
    }
}

/* In a child: waits with a way that is a pipe; ends when it is taken. */
static pid_t wait_with_pipe(struct fixture *f, int *out)
{
    int pipes[2];
    pid_t pid;

    assert_int_equal(pipe(pipes), 0);
    pid = fork();
    if (pid == 0) {
        struct program_kept kept = {-1, pipes[1], -1};
        int fd;

        close(pipes[0]);
        fd = program_spare_wait(f->dir, LONG_MS, &kept);
        _exit(fd < 0);
    }
    close(pipes[1]);
    *out = pipes[0];
    return pid;
}

/* The first of them waits for a grace period, in which the step comes up. */
static void announced_step_is_made_ready_for(void **state)
{
    struct fixture *f = *state;
    struct pollfd p = {.events = POLLIN};
    char path[108], c;
    int status, fd;
    pid_t pid;

    pid = wait_with_pipe(f, &p.fd);
    await_spare(f, path);
    do /* it may have its name and not yet listen to news */
        program_spare_tell(f->dir);
    while (poll(&p, 1, 5) == 0);
    assert_int_equal(read(p.fd, &c, 1), 1);
    assert_int_equal(c, '0');
    assert_int_equal(access(path, F_OK), 0); /* it waits as before */
    fd = program_spare_take(f->dir, "/proc/self/exe");
    assert_true(fd >= 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(fd);
    close(p.fd);
}

static time_t touched_at(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return st.st_mtime;
}

/* A socket of nobody would hear it for a holder that waits. */
static void socket_that_was_left_is_told_nothing(void **state)
{
    static const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    struct fixture *f = *state;
    char left[108], waits[108];
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    snprintf(left, sizeof(left), "%s/spare-1-%d", f->dir, (int)pid);
    snprintf(waits, sizeof(waits), "%s/spare-2-%d", f->dir, (int)getpid());
    close(open(left, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(utimensat(AT_FDCWD, left, long_ago, 0), 0);
    program_spare_tell(f->dir);
    assert_int_equal(touched_at(left), 1);
    close(open(waits, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(utimensat(AT_FDCWD, waits, long_ago, 0), 0);
    program_spare_tell(f->dir);
    assert_int_equal(touched_at(left), 1);
    assert_true(touched_at(waits) > 1);
    unlink(left);
    unlink(waits);
}

/* Its own taking and its end are none, and what was told before is over. */
static void step_that_nobody_announced_is_not_made_ready_for(void **state)
{
    struct fixture *f = *state;
    int out, fd, status;
    char path[108], c;
    pid_t pid = wait_with_pipe(f, &out);

    await_spare(f, path);
    fd = program_spare_take(f->dir, "/proc/self/exe");
    assert_true(fd >= 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(read(out, &c, 1), 0);
    program_spare_tell(f->dir); /* there is none */
    program_spare_tell("/nonexistent");
    close(fd);
    close(out);
}

static void what_killed_ones_leave_is_known(void **state)
{
    char name[64];
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    snprintf(name, sizeof(name), "spare-0123456789abcdef-%d", (int)pid);
    assert_true(program_spare_is_left(name));
    snprintf(name, sizeof(name), "taken-%d", (int)pid);
    assert_true(program_spare_is_left(name));
    snprintf(name, sizeof(name), "other-%d", (int)pid);
    assert_false(program_spare_is_left(name));
    snprintf(name, sizeof(name), "taken-%d", (int)getpid());
    assert_false(program_spare_is_left(name));
    assert_false(program_spare_is_left("spare-"));
    assert_false(program_spare_is_left("spare-1-0"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(holder_serves_one_program_after_the_other),
        CASE(nothing_of_a_program_is_left_for_the_next),
        CASE(one_spare_is_taken_by_one),
        CASE(killed_spare_is_not_missed),
        CASE(spare_of_another_executable_is_left),
        CASE(spare_ends_when_nobody_comes),
        CASE(holder_that_lost_its_starter_does_not_wait),
        CASE(another_user_gets_no_spare),
        CASE(stranger_is_hung_up_on),
        CASE(nonsense_is_refused),
        CASE(announced_step_is_made_ready_for),
        CASE(socket_that_was_left_is_told_nothing),
        CASE(step_that_nobody_announced_is_not_made_ready_for),
        cmocka_unit_test(what_killed_ones_leave_is_known),
    };

    return cmocka_run_group_tests_name("program_spare", tests, NULL, NULL);
}
