/* SPDX-License-Identifier: BSD-3-Clause
 * A real holder, a real cgroup2 group, real processes.  Needs root and a
 * cgroup2 tree; skipped without.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "elan_util.h"

#include "base/be.h"
#include "base/local.h"
#include "elan/capability.h"
#include "elan/program_client.h"
#include "elan/program_holder.h"
#include "elan/program_register.h"
#include "elan/rmscall.h"

#define USER 65534

struct fixture {
    char dir[64];
    struct program_handle h;
    struct elan_capability cap;
    bool usable;
};

static int next_number(void)
{
    static int n;

    return (int)(getpid() & 0x7fff) * 1000 + ++n;
}

/* The one that was built, not one that is installed. */
static const char *built_holder(void)
{
    static char path[4096];
    const char *top = getenv("SF_TOP_BUILDDIR");

    snprintf(path, sizeof(path), "%s/src/elan/elan-holder", top ? top : ".");
    assert_int_equal(access(path, X_OK), 0);
    return path;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct program_spec spec = {
        .number = next_number(), .uid = USER, .holder = built_holder()};
    struct elan_layout l = even_layout(1, 3, 2, false);
    struct elan_capability_spec cs = {
        .layout = &l, .low_context = 50, .ncontexts = 2, .key = {{9, 8, 7, 6}}};
    struct errbuf err = {""};

    *state = f;
    elan_capability_build(&f->cap, &cs, NULL);
    elan_layout_free(&l);
    strcpy(f->dir, "/tmp/sf-holder-XXXXXX");
    if (!mkdtemp(f->dir) || chmod(f->dir, 0755) < 0 || geteuid() != 0)
        return 0;
    spec.rundir = f->dir;
    if (program_start(&f->h, &spec, &err) < 0) {
        print_message("# no program here: %s\n", err.text);
        return 0;
    }
    assert_int_equal(program_call_addcap(f->h.socket, 0, &f->cap), 0);
    f->usable = true;
    return 0;
}

static bool is_empty_dir(const char *path)
{
    DIR *d = opendir(path);
    struct dirent *e;
    int n = 0;

    while (d && (e = readdir(d)))
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n == 0;
}

/* The holder ends by itself; give it time, in small pieces. */
static void wait_until_gone(const char *path)
{
    for (int i = 0; i < 12000 && access(path, F_OK) == 0; i++)
        usleep(5000);
    assert_int_equal(access(path, F_OK), -1);
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    char socket[108];

    if (f->usable) {
        strcpy(socket, f->h.socket);
        program_release(&f->h);
        wait_until_gone(socket);
        assert_true(is_empty_dir(f->dir));
    }
    rmdir(f->dir);
    free(f);
    return 0;
}

#define NEED(f)                                                                \
    if (!(f)->usable)                                                          \
    skip()

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

static void el_09_members_get_the_capability(void **state)
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

static void el_44_same_uid_outside_gets_nothing(void **state)
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

static void el_44_member_of_another_uid_gets_nothing(void **state)
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

static void el_06_escaped_processes_are_members_and_die(void **state)
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

static void el_07_a_signal_reaches_all_and_nobody_else(void **state)
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

static void el_42_lifeline_ends_the_program(void **state)
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

static void el_46_a_context_is_free_when_its_process_has_ended(void **state)
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

static void el_08_figures_count_ended_members(void **state)
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

static void el_07_suspend_and_resume(void **state)
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

static struct program_spec spec_of(struct fixture *f)
{
    return (struct program_spec){.number = next_number(),
                                 .uid = USER,
                                 .ncaps = 1,
                                 .rundir = f->dir,
                                 .holder = built_holder()};
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

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(el_09_members_get_the_capability),
        TEST(el_44_same_uid_outside_gets_nothing),
        TEST(el_46_a_context_is_free_when_its_process_has_ended),
        TEST(el_44_member_of_another_uid_gets_nothing),
        TEST(another_user_is_sent_away),
        TEST(el_06_escaped_processes_are_members_and_die),
        TEST(el_07_a_signal_reaches_all_and_nobody_else),
        TEST(el_42_lifeline_ends_the_program),
        TEST(el_08_figures_count_ended_members),
        TEST(el_07_suspend_and_resume),
        TEST(a_signal_does_not_resume_a_suspended_program),
        TEST(destroy_answers_and_removes),
        TEST(a_live_number_is_not_created_twice),
        TEST(program_comes_with_its_capabilities),
        TEST(a_program_waits_for_a_driver_that_is_late),
        TEST(a_capability_that_is_refused_is_named),
        TEST(a_program_that_nobody_awaits_is_removed),
        TEST(a_missing_holder_is_named),
        TEST(another_program_is_no_holder),
        TEST(holder_checks_what_it_is_told),
        TEST(sweep_spares_the_living),
        TEST(garbage_and_silence_hurt_only_the_client),
        cmocka_unit_test(rundir_that_others_write_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
