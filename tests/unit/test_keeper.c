/* SPDX-License-Identifier: BSD-3-Clause
 * When slurmstepd starts impid, when it stops it, what it tells it of tasks.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/quiet_thread.h"
#include "impi/status_wire.h"
#include "plugins/mpi_impi/keeper.h"

/* Slurm's record in the place of slurmabi's: 400 is never reaped. */
int slurmabi_stepd_task_status(const struct slurmabi_stepd *step, pid_t pid)
{
    static int looks;

    if (pid == 400)
        return -1;
    return looks++ < 3 ? -1 : SIGKILL; /* it takes Slurm a while */
}

static char said[256]; /* the last error */

void slurm_error(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(said, sizeof(said), fmt, ap);
    va_end(ap);
}

static bool no_pidfd; /* as without a descriptor for it */

long syscall(long number, ...)
{
    pid_t pid;
    va_list ap;
    int a;

    va_start(ap, number);
    if (number == SYS_pidfd_open) {
        pid = va_arg(ap, pid_t);
        va_end(ap);
        errno = EMFILE;
        return no_pidfd ? -1 : pidfd_open(pid, 0);
    }
    a = va_arg(ap, int);
    pid = va_arg(ap, int);
    va_end(ap);
    return number == SYS_pidfd_send_signal
               ? pidfd_send_signal(a, (int)pid, NULL, 0)
               : -1;
}

static bool no_thread; /* as of a full process table */

int quiet_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
    return no_thread ? EAGAIN : pthread_create(thread, NULL, run, arg);
}

static int reply_for(int fd, pid_t pid)
{
    struct impi_status_request q = {pid};
    struct impi_status_reply r;

    assert_int_equal(send(fd, &q, sizeof(q), 0), sizeof(q));
    assert_int_equal(recv(fd, &r, sizeof(r), 0), sizeof(r));
    assert_int_equal(r.pid, pid);
    return r.status;
}

/* In the place of impid: what the keeper starts. */
struct stand_in {
    int fd; /* its end of the socket */
    bool deaf, refused;
    bool beside;  /* no child of slurmstepd's */
    bool patient; /* when the line ends */
    int grace;    /* ms from SIGTERM to SIGKILL; 0: as it is deaf or not */
    int absent;   /* times that this was told */
    pid_t pid;
    int started[2]; /* a pipe: a byte for each start */
};

static pid_t make_child(bool deaf, int end)
{
    int ready[2];
    char c;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        sigset_t none;

        close(end);         /* only the test hangs up */
        sigemptyset(&none); /* the keeper's thread has all blocked */
        sigprocmask(SIG_SETMASK, &none, NULL);
        signal(SIGTERM, deaf ? SIG_IGN : SIG_DFL);
        (void)!write(ready[1], "x", 1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static int start_stand_in(void *arg, int *status, pid_t *pid, int *pidfd)
{
    struct stand_in *s = arg;
    int pair[2];

    assert_int_equal(write(s->started[1], "x", 1), 1);
    if (s->refused)
        return -1;
    assert_int_equal(
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    s->fd = pair[0];
    *status = pair[1];
    *pid = s->pid = make_child(s->deaf, s->fd);
    if (s->beside) {
        *pid = 0;
        *pidfd = pidfd_open(s->pid, 0);
    }
    return 0;
}

static void note_absence(void *arg)
{
    ((struct stand_in *)arg)->absent++;
}

static int grace_of(const struct stand_in *s)
{
    if (s->grace)
        return s->grace;
    return s->deaf ? 20 : 20000;
}

/* The keeper without its thread, which the first fork starts. */
static int begin(struct stand_in *s, int listener, int presence, bool now)
{
    struct impi_keeper_options o = {.start = start_stand_in,
                                    .absent = note_absence,
                                    .arg = s,
                                    .now = now,
                                    .grace_ms = grace_of(s),
                                    .linger_ms = s->patient ? 60000 : 20,
                                    .listener = listener,
                                    .presence = presence};
    int stop;

    s->fd = -1;
    assert_int_equal(pipe(s->started), 0);
    stop = impi_keeper_begin(&o);
    assert_true(stop >= 0);
    return stop;
}

static void fork_task(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int keep(struct stand_in *s, int listener, int presence, bool now)
{
    int stop = begin(s, listener, presence, now);

    fork_task();
    return stop;
}

static void await_start(struct stand_in *s)
{
    char c;

    assert_int_equal(read(s->started[0], &c, 1), 1);
}

static char ask_to_end(int stop)
{
    char c = 0;

    assert_int_equal(send(stop, "", 1, 0), 1);
    assert_int_equal(recv(stop, &c, 1, 0), 1);
    return c;
}

static void done(struct stand_in *s)
{
    impi_keeper_end();
    if (s->fd >= 0)
        close(s->fd);
    close(s->started[0]);
    close(s->started[1]);
}

static void stepd_tells_how_a_task_ended(void **state)
{
    struct stand_in s = {0};
    int stop = keep(&s, -1, -1, true);

    assert_int_equal(send(s.fd, "junk that is longer", 19, 0), 19);
    assert_int_equal(reply_for(s.fd, 300), SIGKILL);
    assert_int_equal(reply_for(s.fd, 400), -1);
    assert_int_equal(ask_to_end(stop), IMPI_KEEPER_GONE);
    assert_int_equal(waitpid(s.pid, NULL, 0), -1); /* reaped already */
    done(&s);
}

static void stepd_that_ends_waits_for_no_task(void **state)
{
    struct impi_status_request q = {400};
    struct stand_in s = {0};

    keep(&s, -1, -1, true);
    assert_int_equal(send(s.fd, &q, sizeof(q), 0), sizeof(q));
    impi_keeper_end();
    assert_int_equal(waitpid(s.pid, NULL, 0), -1);
    done(&s);
}

/* A step without MPI has no impid, and ends at once. */
static void impid_that_nobody_needs_is_not_started(void **state)
{
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), stop;
    struct sockaddr_un at = {.sun_family = AF_UNIX}; /* any name */
    struct stand_in s = {0};
    struct pollfd p = {.events = POLLIN};

    assert_int_equal(bind(listener, (void *)&at, sizeof(sa_family_t)), 0);
    assert_int_equal(listen(listener, 4), 0);
    stop = keep(&s, listener, -1, false);
    assert_int_equal(ask_to_end(stop), IMPI_KEEPER_GONE);
    p.fd = s.started[0];
    assert_int_equal(poll(&p, 1, 0), 0);
    assert_int_equal(fcntl(listener, F_GETFD), -1); /* who comes is refused */
    done(&s);
}

static int local_listener(struct sockaddr_un *at)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    socklen_t len = sizeof(*at);

    *at = (struct sockaddr_un){.sun_family = AF_UNIX};
    assert_int_equal(bind(fd, (void *)at, sizeof(sa_family_t)), 0);
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(getsockname(fd, (void *)at, &len), 0);
    return fd;
}

static int call(const struct sockaddr_un *at)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    size_t len = 2;

    while (len < sizeof(*at) && (len == 2 || ((const char *)at)[len]))
        len++;
    assert_int_equal(connect(fd, (const void *)at, (socklen_t)len), 0);
    return fd;
}

static void first_call_of_mpi_starts_impid(void **state)
{
    struct sockaddr_un at;
    struct stand_in s = {.deaf = true};
    int listener = local_listener(&at), stop = keep(&s, listener, -1, false);
    int fd = call(&at);

    await_start(&s);
    assert_int_equal(ask_to_end(stop), IMPI_KEEPER_KILLED);
    assert_int_equal(waitpid(s.pid, NULL, 0), -1);
    assert_int_equal(ask_to_end(stop), IMPI_KEEPER_GONE); /* again: nothing */
    close(fd);
    done(&s);
}

static void impid_that_is_no_child_is_ended_too(void **state)
{
    struct stand_in s = {.beside = true};
    int status;

    keep(&s, -1, -1, true);
    impi_keeper_end();
    assert_int_equal(waitpid(s.pid, &status, 0), s.pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    done(&s);
    s = (struct stand_in){.beside = true, .deaf = true};
    assert_int_equal(ask_to_end(keep(&s, -1, -1, true)), IMPI_KEEPER_KILLED);
    assert_int_equal(waitpid(s.pid, &status, 0), s.pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    done(&s);
}

static void *pester(void *arg)
{
    const struct impi_status_request q = {400};
    const struct stand_in *s = arg;

    while (send(s->fd, &q, sizeof(q), MSG_NOSIGNAL) == sizeof(q))
        ;
    return NULL;
}

/* It belongs to the user, who may make it ask for ever. */
static void impid_that_asks_on_is_killed_in_time(void **state)
{
    struct timeval limit = {.tv_sec = 60};
    struct stand_in s = {.deaf = true};
    int stop = keep(&s, -1, -1, true);
    pthread_t thread;

    setsockopt(stop, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    assert_int_equal(pthread_create(&thread, NULL, pester, &s), 0);
    assert_int_equal(ask_to_end(stop), IMPI_KEEPER_KILLED);
    impi_keeper_end();
    pthread_join(thread, NULL);
    done(&s);
}

/* With no descriptor left for a pidfd. */
static void impid_that_only_hangs_up_is_killed(void **state)
{
    struct stand_in s = {.deaf = true, .grace = 60000};
    struct timeval limit = {.tv_sec = 60};
    int stop;
    char c;

    no_pidfd = true;
    stop = keep(&s, -1, -1, true);
    no_pidfd = false;
    setsockopt(stop, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    assert_int_equal(send(stop, "", 1, 0), 1);
    close(s.fd);
    s.fd = -1;
    assert_int_equal(recv(stop, &c, 1, 0), 1);
    assert_int_equal(c, IMPI_KEEPER_KILLED);
    assert_int_equal(waitpid(s.pid, NULL, 0), -1);
    done(&s);
}

static void thread_that_cannot_start_is_told(void **state)
{
    struct sockaddr_un at;
    struct stand_in s = {0};
    int listener = local_listener(&at);

    said[0] = '\0';
    begin(&s, listener, -1, false);
    no_thread = true;
    fork_task();
    no_thread = false;
    assert_non_null(strstr(said, "SF-E302"));
    assert_int_equal(fcntl(listener, F_GETFD), -1); /* who comes is refused */
    done(&s);
}

static void impid_that_does_not_start_leaves_nobody_waiting(void **state)
{
    struct sockaddr_un at;
    struct stand_in s = {.refused = true};
    int listener = local_listener(&at), stop = keep(&s, listener, -1, false);
    int fd = call(&at);
    char c;

    assert_true(recv(fd, &c, 1, 0) <= 0);
    assert_int_equal(ask_to_end(stop), IMPI_KEEPER_GONE);
    close(fd);
    done(&s);
}

static int count_threads(void)
{
    DIR *d = opendir("/proc/self/task");
    struct dirent *e;
    int n = 0;

    assert_non_null(d);
    while ((e = readdir(d)))
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

/* Each thread has to follow slurmstepd's changes of its ids before that. */
static void thread_starts_with_the_first_task(void **state)
{
    struct sockaddr_un at;
    struct stand_in s = {0};
    int stop = begin(&s, local_listener(&at), -1, false);
    int before = count_threads();
    struct pollfd p = {s.started[0], POLLIN, 0};

    fork_task();
    assert_int_equal(count_threads(), before + 1);
    fork_task();
    assert_int_equal(count_threads(), before + 1);
    assert_int_equal(ask_to_end(stop), IMPI_KEEPER_GONE);
    assert_int_equal(poll(&p, 1, 0), 0);
    done(&s);
    fork_task(); /* the step is over */
    assert_int_equal(count_threads(), before);
}

static void step_that_forks_no_task_waits_for_nobody(void **state)
{
    struct sockaddr_un at;
    struct stand_in s = {0};
    int stop = begin(&s, local_listener(&at), -1, false);

    assert_int_equal(ask_to_end(stop), IMPI_KEEPER_GONE);
    done(&s);
}

/* A line to a listener: *far is the other side. */
static int connect_line(int *far)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    int line = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t len = sizeof(at);

    assert_int_equal(bind(listener, (void *)&at, sizeof(at)), 0);
    assert_int_equal(getsockname(listener, (void *)&at, &len), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(connect(line, (void *)&at, sizeof(at)), 0);
    *far = accept(listener, NULL, NULL);
    assert_true(*far >= 0);
    close(listener);
    return line;
}

/* srun hears of the end of all tasks, and goes, before slurmstepd is done. */
static void srun_that_ends_first_starts_no_impid(void **state)
{
    struct sockaddr_un at;
    struct stand_in s = {.patient = true};
    int far, line = connect_line(&far);
    int stop = keep(&s, local_listener(&at), line, false);
    struct pollfd p = {s.started[0], POLLIN, 0};

    close(far);
    assert_int_equal(poll(&p, 1, 50), 0);
    assert_int_equal(ask_to_end(stop), IMPI_KEEPER_GONE);
    assert_int_equal(poll(&p, 1, 0), 0);
    done(&s);
    close(line);
}

/* As when slurmstepd refuses the tasks before they come to it. */
static void line_that_no_task_connected_is_told(void **state)
{
    int line = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), stop;
    struct sockaddr_un at;
    struct stand_in s = {0};

    stop = keep(&s, local_listener(&at), line, false);
    assert_int_equal(ask_to_end(stop), IMPI_KEEPER_GONE);
    assert_int_equal(s.absent, 1);
    done(&s);
    assert_int_equal(s.absent, 1);
    close(line);
}

/* Another node calls MPI, srun ends, or it cannot be reached. */
static void what_comes_on_the_line_starts_impid(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};

    for (int i = 0; i < 3; i++) {
        int line = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), far = -1;
        int listener = socket(AF_INET, SOCK_STREAM, 0), waiting;
        struct stand_in s = {0};
        struct sockaddr_un local;
        socklen_t len = sizeof(at);

        at.sin_port = 0;
        assert_int_equal(bind(listener, (void *)&at, sizeof(at)), 0);
        assert_int_equal(getsockname(listener, (void *)&at, &len), 0);
        if (i < 2)
            assert_int_equal(listen(listener, 1), 0);
        waiting = local_listener(&local);
        keep(&s, waiting, line, false);
        connect(line, (void *)&at, sizeof(at));
        if (i < 2) {
            far = accept(listener, NULL, NULL);
            assert_true(far >= 0);
        }
        if (i == 0)
            assert_int_equal(send(far, "", 1, 0), 1);
        else if (i == 1)
            close(far);
        await_start(&s);
        done(&s);
        close(line);
        close(listener);
        if (i == 0)
            close(far);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stepd_tells_how_a_task_ended),
        cmocka_unit_test(stepd_that_ends_waits_for_no_task),
        cmocka_unit_test(impid_that_nobody_needs_is_not_started),
        cmocka_unit_test(first_call_of_mpi_starts_impid),
        cmocka_unit_test(impid_that_is_no_child_is_ended_too),
        cmocka_unit_test(impid_that_asks_on_is_killed_in_time),
        cmocka_unit_test(impid_that_only_hangs_up_is_killed),
        cmocka_unit_test(thread_that_cannot_start_is_told),
        cmocka_unit_test(impid_that_does_not_start_leaves_nobody_waiting),
        cmocka_unit_test(what_comes_on_the_line_starts_impid),
        cmocka_unit_test(thread_starts_with_the_first_task),
        cmocka_unit_test(step_that_forks_no_task_waits_for_nobody),
        cmocka_unit_test(srun_that_ends_first_starts_no_impid),
        cmocka_unit_test(line_that_no_task_connected_is_told),
    };

    return cmocka_run_group_tests_name("keeper", tests, NULL, NULL);
}
