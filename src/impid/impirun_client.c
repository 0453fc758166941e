/* SPDX-License-Identifier: BSD-3-Clause
 * One client of a job on this machine: impid as under Slurm, with an
 * impi-server of its own for what stays inside the client, and the processes.
 * impid joins the client to the others at the IMPI server that was named.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/local.h"
#include "base/netaddr.h"
#include "base/sitedir.h"
#include "impid/impirun.h"
#include "impid/names.h"
#include "impid/task_proc.h"

#define SILENCE_MS 5000 /* of impi-server, behind the end of impid */
#define GOODBYE_MS 2000 /* of impid, behind the last process that we killed */

#define ABORT_CALL "SF-E310: "

struct impirun_tasks {
    uint32_t n;
    pid_t *pid; /* 0: ended */
    uint32_t nleft;
    int worst;  /* exit code: highest, 128 + signal for a signal */
    int exited; /* highest of those that no signal ended */
};

struct client {
    const struct impirun *run;
    char dir[64], sock[96], secret[SERVER_SECRET_SIZE];
    char local[SERVER_ADDRESS_MAX]; /* our own impi-server */
    char foreign[SERVER_ADDRESS_MAX];
    int alive[2]; /* impid sees its end when we end */
    pid_t impid;
    int signals;
    struct server_words control;
    struct impirun_tasks tasks;
    int code;     /* of the first cause, 0: none */
    bool unnamed; /* it names no process of ours */
    int told;     /* the signal that said to end, 0: none */
    bool ended;
};

static int impirun_tasks_start(struct impirun_tasks *t,
                               const struct impirun *run, const char *agent,
                               struct errbuf *err);
static void impirun_tasks_reap(struct impirun_tasks *t);
static void impirun_tasks_kill(struct impirun_tasks *t, int sig);
static void impirun_tasks_free(struct impirun_tasks *t);

/* Of a name's addresses that of IPv4 is taken, which strict peers know, too. */
static const struct addrinfo *best(const struct addrinfo *list)
{
    const struct addrinfo *i = list;

    while (i && i->ai_family != AF_INET)
        i = i->ai_next;
    return i ? i : list;
}

/* HOST:PORT as the user gave it, with an address in place of a name. */
static int resolve(char out[SERVER_ADDRESS_MAX], const char *where,
                   struct errbuf *err)
{
    const char *colon = strrchr(where, ':');
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *info = NULL;
    struct netaddr at;
    char host[256];
    int rc;

    if (netaddr_parse(&at, where) == 0) {
        netaddr_print(out, &at);
        return 0;
    }
    if (strchr(where, ':') != colon)
        return errprintf(err,
                         "%s: an IPv6 address stands in brackets, "
                         "[ADDRESS]:PORT",
                         where);
    snprintf(host, sizeof(host), "%.*s", (int)(colon - where), where);
    rc = getaddrinfo(host, colon + 1, &hints, &info);
    if (rc != 0)
        return errprintf(err, "%s: %s", where, gai_strerror(rc));
    at = netaddr_from_socket(best(info)->ai_addr);
    netaddr_print(out, &at);
    freeaddrinfo(info);
    return 0;
}

static int make_dir(struct client *c, struct errbuf *err)
{
    const char *tmp = getenv("TMPDIR");

    if (!tmp || strlen(tmp) > 32)
        tmp = "/tmp";
    snprintf(c->dir, sizeof(c->dir), "%s/impirun.XXXXXX", tmp);
    if (!mkdtemp(c->dir)) {
        c->dir[0] = '\0';
        return errprintf(err, "%s: %s", tmp, strerror(errno));
    }
    snprintf(c->sock, sizeof(c->sock), "%s/sock", c->dir);
    return 0;
}

static int listen_for_tasks(struct client *c, struct errbuf *err)
{
    int fd = local_listen_new(c->sock, SOCK_STREAM);

    return fd < 0 ? errprintf(err, "%s: %m", c->sock) : fd;
}

static void record(FILE *f, const char *key, const char *value)
{
    if (value)
        fprintf(f, "%s=%s%c", key, value, '\0');
}

static void write_records(FILE *f, const struct client *c)
{
    char host[256] = "localhost";

    gethostname(host, sizeof(host) - 1);
    record(f, "server", c->local);
    record(f, "secret", c->secret);
    record(f, "foreign", c->foreign);
    fprintf(f, "client=%u%c", c->run->client, '\0');
    if (c->run->np == 1)
        record(f, "tasks", "0");
    else
        fprintf(f, "tasks=0-%u%c", c->run->np - 1, '\0');
    record(f, "nodes", host);
    record(f, "step", "0.0");
    record(f, "dir", c->dir);
    record(f, "auth_key", getenv(ENV_AUTH_KEY));
    record(f, "auth_none", getenv(ENV_AUTH_NONE));
    record(f, "coll_xsize", getenv(ENV_XSIZE));
    record(f, "coll_maxlinear", getenv(ENV_MAXLINEAR));
    record(f, "ifname", getenv(ENV_IFNAME));
    record(f, "log", getenv(ENV_LOG));
    record(f, "pmix_module", PATH_PMIX);
    record(f, "conf", SITEDIR_CONF(CONF_NAME));
    fprintf(f, "component=0%coffset=0%cntasks=%u%cnodeid=0%cwatch=1%c", '\0',
            '\0', c->run->np, '\0', '\0', '\0');
}

static int make_records(const struct client *c)
{
    int fd = memfd_create("impid", MFD_CLOEXEC);
    FILE *f = fd >= 0 ? fdopen(dup(fd), "w") : NULL;

    if (f) {
        write_records(f, c);
        if (fclose(f) == 0 && lseek(fd, 0, SEEK_SET) == 0)
            return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Descriptors as slurmstepd gives them; see impid.c. */
static int spawn_impid(struct client *c, int conf, int sock, struct errbuf *err)
{
    char *const argv[] = {"impid", NULL};
    char *const env[] = {"PATH=/usr/bin:/bin", "LANG=C", NULL};
    posix_spawn_file_actions_t fa;
    int rc;

    posix_spawn_file_actions_init(&fa);
    /* Out of the way of what they become. */
    conf = fcntl(conf, F_DUPFD_CLOEXEC, 10);
    sock = fcntl(sock, F_DUPFD_CLOEXEC, 10);
    posix_spawn_file_actions_adddup2(&fa, conf, 3);
    posix_spawn_file_actions_adddup2(&fa, sock, 4);
    posix_spawn_file_actions_adddup2(&fa, c->alive[0], 5);
    posix_spawn_file_actions_addclosefrom_np(&fa, 6);
    rc = child_spawn(&c->impid, PATH_IMPID, &fa, argv, env);
    posix_spawn_file_actions_destroy(&fa);
    close(conf);
    close(sock);
    if (rc == 0)
        return 0;
    c->impid = 0;
    return errprintf(err, "%s: %s", PATH_IMPID, strerror(rc));
}

static int start_impid(struct client *c, struct errbuf *err)
{
    int sock = listen_for_tasks(c, err), conf, pair[2], rc;

    if (sock < 0)
        return -1;
    conf = make_records(c);
    if (conf < 0 || pipe2(pair, O_CLOEXEC) < 0) {
        close(sock);
        return errprintf(err, "%s", strerror(errno));
    }
    c->alive[0] = fcntl(pair[0], F_DUPFD_CLOEXEC, 10);
    c->alive[1] = pair[1];
    close(pair[0]);
    rc = spawn_impid(c, conf, sock, err);
    close(conf);
    close(sock);
    close(c->alive[0]);
    c->alive[0] = -1;
    return rc;
}

static int start_server(struct client *c, struct errbuf *err)
{
    struct server_options o = {.path = PATH_SERVER,
                               .secret = c->secret,
                               .agents = 1,
                               .tasks = c->run->np,
                               .bind = "127.0.0.1",
                               .advertise = "127.0.0.1",
                               .munge = "",
                               .log = getenv(ENV_LOG)};

    if (server_secret(c->secret) < 0)
        return errprintf(err, "%s", strerror(errno));
    server_words_init(&c->control, server_start(&o, c->local, err));
    return c->control.fd < 0 ? -1 : 0;
}

static int watch_signals(struct client *c, struct errbuf *err)
{
    c->signals = impirun_signals();
    return c->signals < 0 ? errprintf(err, "signalfd: %s", strerror(errno)) : 0;
}

/* Here, because impid has no way to say it yet. */
static int check_ifname(struct errbuf *err)
{
    const char *name = getenv(ENV_IFNAME);
    struct in6_addr ip;

    return name && *name ? netaddr_of_interface(&ip, name, err) : 0;
}

static int start(struct client *c, struct errbuf *err)
{
    return check_ifname(err) < 0 ||
                   resolve(c->foreign, c->run->where, err) < 0 ||
                   watch_signals(c, err) < 0 || make_dir(c, err) < 0 ||
                   start_server(c, err) < 0 || start_impid(c, err) < 0 ||
                   impirun_tasks_start(&c->tasks, c->run, c->sock, err) < 0
               ? -1
               : 0;
}

/* ---- while it runs ---- */

static void on_signal(struct client *c)
{
    struct signalfd_siginfo info;

    while (read(c->signals, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        c->told = c->told ? c->told : (int)info.ssi_signo;
        impirun_tasks_kill(&c->tasks, SIGKILL);
    }
    impirun_tasks_reap(&c->tasks);
    if (c->impid > 0 && waitpid(c->impid, NULL, WNOHANG) == c->impid)
        c->impid = 0;
}

/* An MPI_Abort of ours that was on its way when we were told to end is why we
 * were; all else is what the end of our processes makes of it. */
static bool is_cause(const struct client *c, const struct server_line *line)
{
    return !c->told || strncmp(line->text, ABORT_CALL, strlen(ABORT_CALL)) == 0;
}

static void on_abort(struct client *c, const struct server_line *line)
{
    if (c->code || !is_cause(c, line))
        return;
    if (line->rank >= 0)
        fprintf(stderr, "impirun: client %u, process %d: %s\n", c->run->client,
                line->rank, line->text);
    else
        fprintf(stderr, "impirun: client %u: %s\n", c->run->client, line->text);
    c->code = line->code & 0xff ? line->code & 0xff : IMPIRUN_FAILED;
    c->unnamed = line->rank < 0;
    impirun_tasks_kill(&c->tasks, SIGKILL);
}

static void on_control(struct client *c)
{
    bool alive = server_words_read(&c->control);
    struct server_line line;

    while (server_words_next(&c->control, &line)) {
        if (line.kind == SERVER_LINE_ABORT)
            on_abort(c, &line);
        else if (line.kind == SERVER_LINE_NOTE)
            fprintf(stderr, "impirun: %s\n", line.text);
        else if (line.kind == SERVER_LINE_END)
            c->ended = true;
    }
    if (alive)
        return;
    if (!c->ended)
        on_abort(c, &(struct server_line){.rank = -1,
                                          .code = IMPIRUN_FAILED,
                                          .text = "SF-E303: lost impi-server"});
    c->ended = true;
}

/* Nobody else will say so: to impi-server it may still be on its way. */
static void on_silence(struct client *c)
{
    on_abort(c,
             &(struct server_line){
                 .rank = -1,
                 .code = IMPIRUN_FAILED,
                 .text = "SF-E221: impid ended before impi-server knew of "
                         "it: its log (syslog, or SLURM_IMPI_LOG) says why"});
    c->ended = true;
}

/* How long to wait for END or for the reason of its absence; -1: no limit. */
static int patience(const struct client *c)
{
    if (!c->ended && c->impid == 0)
        return SILENCE_MS;
    /* For a process that we killed before it registered impid would wait. */
    return (c->told || c->code) && c->tasks.nleft == 0 ? GOODBYE_MS : -1;
}

/* Until the processes have ended and impid has said goodbye. */
static void wait_for_end(struct client *c)
{
    struct pollfd p[2] = {{.fd = c->signals, .events = POLLIN},
                          {.fd = c->control.fd, .events = POLLIN}};

    while (c->tasks.nleft > 0 || !c->ended) {
        int n = poll(p, c->ended ? 1 : 2, patience(c));

        if (n < 0 && errno != EINTR)
            break;
        if (n == 0 && c->impid == 0)
            on_silence(c);
        else if (n == 0)
            c->ended = true;
        on_signal(c);
        if (!c->ended)
            on_control(c);
    }
}

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *at)
{
    return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

/* It ends when its pipe to us does; if it hangs it is ended. */
static void end_impid(struct client *c)
{
    struct pollfd p = {.fd = c->signals, .events = POLLIN};
    struct signalfd_siginfo info;

    if (c->alive[1] >= 0)
        close(c->alive[1]);
    while (c->impid > 0 && waitpid(c->impid, NULL, WNOHANG) == 0) {
        if (poll(&p, 1, SILENCE_MS) == 0)
            kill(c->impid, SIGKILL);
        while (read(c->signals, &info, sizeof(info)) == sizeof(info))
            ;
    }
    c->impid = 0;
}

static void clean_up(struct client *c)
{
    impirun_tasks_kill(&c->tasks, SIGKILL);
    server_words_close(&c->control);
    end_impid(c);
    if (c->dir[0]) /* PMIx leaves files in it */
        nftw(c->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    impirun_tasks_free(&c->tasks);
    explicit_bzero(c->secret, sizeof(c->secret));
}

/* What a process said that went by itself tells more than a cause that names
 * none; that cause may be known before the process has quite ended. */
static int code_of(const struct client *c)
{
    if (c->code)
        return c->unnamed && c->tasks.exited ? c->tasks.exited : c->code;
    return c->told ? 128 + c->told : c->tasks.worst;
}

int impirun_client(const struct impirun *run)
{
    struct client c = {
        .run = run, .alive = {-1, -1}, .signals = -1, .control = {.fd = -1}};
    struct errbuf err = {""};

    if (start(&c, &err) < 0) {
        fprintf(stderr, "impirun: client %u: %s\n", run->client, err.text);
        c.code = IMPIRUN_FAILED;
    } else {
        wait_for_end(&c);
    }
    clean_up(&c);
    return code_of(&c);
}

/* ---- tasks ------------------------------------------------------------- */

static void set_environment(const char *agent, uint32_t rank, uint32_t n)
{
    const char *old = getenv("LD_PRELOAD");
    char text[4096], number[16], name[256];

    while (task_proc_foreign(environ, name, sizeof(name)))
        unsetenv(name);
    snprintf(number, sizeof(number), "%u", rank);
    setenv("SLURM_PROCID", number, 1); /* what back ends read */
    setenv(ENV_AGENT, agent, 1);
    /* Else Open MPI outside a resource manager takes itself for alone. */
    setenv("OMPI_MCA_ess", "pmi", 0);
    setenv("OMPI_MCA_schizo", "^orte", 0);
    if ((long)n > sysconf(_SC_NPROCESSORS_ONLN))
        setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    snprintf(text, sizeof(text), "%s%s%s", PATH_FRONT, old && *old ? ":" : "",
             old ? old : "");
    setenv("LD_PRELOAD", text, 1);
}

static void become_task(const struct impirun *run, const char *agent,
                        uint32_t rank)
{
    sigset_t none;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    if (task_proc_register(agent, rank, rank) < 0) {
        fprintf(stderr, "impirun: SF-E301: process %u: impid: %s\n", rank,
                strerror(errno));
        _exit(IMPIRUN_FAILED);
    }
    set_environment(agent, rank, run->np);
    execvp(run->command[0], run->command);
    fprintf(stderr, "impirun: %s: %s\n", run->command[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

int impirun_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int impirun_tasks_start(struct impirun_tasks *t,
                               const struct impirun *run, const char *agent,
                               struct errbuf *err)
{
    t->pid = calloc(run->np, sizeof(*t->pid));
    if (!t->pid)
        return errprintf(err, "%s", strerror(errno));
    for (t->n = 0; t->n < run->np; t->n++) {
        t->pid[t->n] = fork();
        if (t->pid[t->n] == 0)
            become_task(run, agent, t->n);
        if (t->pid[t->n] < 0)
            return errprintf(err, "process %u: %s", t->n, strerror(errno));
        t->nleft++;
    }
    return 0;
}

int impirun_exit_code(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Reap what ended. */
static void impirun_tasks_reap(struct impirun_tasks *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        int status;

        if (t->pid[i] <= 0 || waitpid(t->pid[i], &status, WNOHANG) <= 0)
            continue;
        t->pid[i] = 0;
        t->nleft--;
        if (impirun_exit_code(status) > t->worst)
            t->worst = impirun_exit_code(status);
        if (WIFEXITED(status) && WEXITSTATUS(status) > t->exited)
            t->exited = WEXITSTATUS(status);
    }
}

static void impirun_tasks_kill(struct impirun_tasks *t, int sig)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (t->pid[i] > 0)
            kill(t->pid[i], sig);
}

static void impirun_tasks_free(struct impirun_tasks *t)
{
    free(t->pid);
    t->pid = NULL;
    t->n = 0;
}
