/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auth_info.h"
#include "base/fd_pass.h"
#include "base/sitedir.h"
#include "impid/names.h"
#include "plugins/mpi_impi/agent.h"
#include "plugins/mpi_impi/keeper.h"
#include "plugins/mpi_impi/presence.h"
#include "plugins/mpi_impi/stepdir.h"
#include "slurmabi/stepd.h"

/* For impid to say goodbye: a link that is being made (5 s), a status that it
 * waits for (1.5 s), what it still has to send (2 s). */
#define GRACE_MS 9000
#define LINGER_MS 1000  /* srun is gone: the step will be soon, mostly */
#define GOODBYE_MS 3000 /* for a connection to srun's host */
#define TASK_BYTES 4096 /* of kernel memory, for what one task registers */

/* One step per slurmstepd.  Descriptors: -1, none. */
static struct {
    pid_t owner; /* the slurmstepd that made it */
    const struct slurmabi_stepd *step;
    int conf;     /* what impid is told */
    int tasks[2]; /* where tasks register: impid's end and theirs */
    int presence; /* task 0 connects it */
    int dir_fd;   /* the step's directory */
    int sock_fd;  /* the step's listener; the keeper's from its start on */
    uid_t uid;
    gid_t gid;
    char dir[STEPDIR_PATH_MAX];
    char sock[STEPDIR_PATH_MAX + 8];
    struct errbuf refused; /* why there is none */
} agent = {
    .conf = -1, .tasks = {-1, -1}, .presence = -1, .dir_fd = -1, .sock_fd = -1};

const char *impi_agent_socket(void)
{
    return agent.sock[0] ? agent.sock : NULL;
}

const char *impi_agent_refused(void)
{
    return agent.refused.text;
}

int impi_agent_tasks(void)
{
    return agent.tasks[1];
}

int impi_agent_presence(void)
{
    return agent.presence;
}

static void shut(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void shut_all(void)
{
    shut(&agent.conf);
    shut(&agent.tasks[0]);
    shut(&agent.tasks[1]);
    shut(&agent.presence);
}

void impi_agent_cleanup(void)
{
    if (agent.owner == 0 || agent.owner != getpid())
        return;
    impi_keeper_end();
    unsetenv(ENV_IMPID_STOP);
    if (agent.presence >= 0) { /* goodbye: we were not killed */
        uint8_t code = (uint8_t)slurmabi_stepd_exit_code(agent.step);

        send(agent.presence, &code, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    shut_all();
    stepdir_remove(agent.dir, agent.uid, agent.gid, agent.dir_fd);
    agent.dir_fd = -1;
    agent.owner = 0;
}

/* NO_VAL: not heterogeneous. */
static uint32_t or_zero(uint32_t value)
{
    return value == NO_VAL ? 0 : value;
}

/* ---- what impid is told --------------------------------------------------*/

static void record(FILE *f, const char *key, const char *value)
{
    if (value)
        fprintf(f, "%s=%s%c", key, value, '\0');
}

static void record_number(FILE *f, const char *key, uint32_t value)
{
    fprintf(f, "%s=%u%c", key, value, '\0');
}

/* "socket=PATH" of AuthInfo, which is Slurm's own configuration. */
static void record_munge(FILE *f)
{
    char path[SF_SITEDIR_PATH_MAX];

    record(f, "munge",
           auth_info_munge_socket(slurm_conf.authinfo, path, sizeof(path)));
}

/* switch/elan's job_fini will stop impid, where there is one. */
static bool stopped_by_switch(void)
{
    const char *type = slurm_conf.switch_type;

    return SLURMABI_HAS_JOB_FINI && type && strcmp(type, "switch/elan") == 0;
}

static void record_all(FILE *f, const struct slurmabi_stepd *step, char **env)
{
    record(f, "server", slurm_getenvp(env, ENV_SERVER));
    record(f, "secret", slurm_getenvp(env, ENV_SECRET));
    record(f, "tasks", slurm_getenvp(env, ENV_TASKS));
    record(f, "nodes", slurm_getenvp(env, ENV_NODES));
    record(f, "step", slurm_getenvp(env, ENV_STEP));
    record(f, "clients", slurm_getenvp(env, ENV_CLIENTS));
    record(f, "direct", slurm_getenvp(env, ENV_DIRECT));
    record(f, "ifname", slurm_getenvp(env, ENV_IFNAME));
    record(f, "reorder", slurm_getenvp(env, ENV_REORDER));
    record(f, "auth_key", slurm_getenvp(env, ENV_AUTH_KEY));
    record(f, "auth_none", slurm_getenvp(env, ENV_AUTH_NONE));
    record(f, "foreign", slurm_getenvp(env, ENV_JOIN));
    record(f, "client", slurm_getenvp(env, ENV_CLIENT));
    record(f, "coll_xsize", slurm_getenvp(env, ENV_XSIZE));
    record(f, "coll_maxlinear", slurm_getenvp(env, ENV_MAXLINEAR));
    record(f, "log", slurm_getenvp(env, ENV_LOG));
    record(f, "dir", agent.dir);
    record(f, "pmix_module", PATH_PMIX);
    record(f, "conf", SITEDIR_CONF(CONF_NAME));
    record_munge(f);
    record_number(f, "component", or_zero(slurmabi_stepd_het_job_offset(step)));
    record_number(f, "offset",
                  or_zero(slurmabi_stepd_het_job_task_offset(step)));
    record_number(f, "ntasks", slurmabi_stepd_ntasks(step));
    record_number(f, "nodeid", slurmabi_stepd_nodeid(step));
    record_number(f, "watch", !stopped_by_switch());
}

/* In memory: never blocks, is nobody else's, and is gone with the reader. */
static int make_records(const struct slurmabi_stepd *step, char **env)
{
    int fd = memfd_create("impid", MFD_CLOEXEC);
    FILE *f = fd >= 0 ? fdopen(dup(fd), "w") : NULL;

    if (!f) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    record_all(f, step, env);
    if (fclose(f) == 0 && lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    close(fd);
    return -1;
}

/* ---- the child -----------------------------------------------------------*/

static void clean_signals(void)
{
    sigset_t none;

    for (int sig = 1; sig < NSIG; sig++)
        signal(sig, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Close what is not among the n descriptors of keep, which makes room: the
 * parent may have none left. */
static void close_others(const int *keep, int n)
{
    for (int fd = -1, next; fd < INT_MAX; fd = next) {
        next = INT_MAX;
        for (int i = 0; i < n; i++)
            if (keep[i] > fd && keep[i] < next)
                next = keep[i];
        if (next > fd + 1)
            close_range((unsigned)fd + 1,
                        next < INT_MAX ? (unsigned)next - 1 : ~0U, 0);
    }
}

/* 3 to 6, as impid.c knows them; nothing else of slurmstepd's. */
static int clean_descriptors(int alive)
{
    int from[] = {agent.conf, agent.sock_fd, alive, agent.tasks[0]};
    int null;

    close_others(from, 4);
    for (int i = 0; i < 4; i++) /* out of the way of what they become */
        if ((from[i] = fcntl(from[i], F_DUPFD, 10)) < 0)
            return -1;
    null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++)
        if (dup2(null, i) < 0)
            return -1;
    for (int i = 0; i < 4; i++)
        if (dup2(from[i], 3 + i) < 0)
            return -1;
    return close_range(7, ~0U, 0);
}

static void reset_oom(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    if (write(fd, "0", 1) < 0) {
        /* it keeps slurmstepd's: no harm */
    }
    close(fd);
}

static int become_user(void)
{
    return setgroups(1, &agent.gid) < 0 || setgid(agent.gid) < 0 ||
                   setuid(agent.uid) < 0
               ? -1
               : 0;
}

static void become_impid(int alive, pid_t parent)
{
    char *const argv[] = {"impid", NULL};
    char *const env[] = {"PATH=/usr/bin:/bin", "LANG=C", NULL};

    clean_signals();
    if (clean_descriptors(alive) < 0)
        _exit(126);
    reset_oom();
    setsid();
    if (become_user() < 0 || chdir("/") < 0)
        _exit(126);
    umask(077);
    if (parent) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* after the change of ids */
        if (getppid() != parent)
            _exit(126);
    }
    execve(PATH_IMPID, argv, env);
    _exit(127);
}

/* ---- start ---------------------------------------------------------------*/

/* With switch/elan: a child inside the step's container, so that it never
 * outlives the step; job_fini has it stopped and reaped before the container
 * is killed. */
static pid_t spawn_inside(int alive)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid == 0)
        become_impid(alive, parent);
    if (pid > 0 && proctrack_g_add)
        proctrack_g_add((struct slurmabi_stepd *)agent.step, pid);
    return pid;
}

/* From the one between: by this the keeper ends what is not its child. */
static void send_pidfd(int to, pid_t pid)
{
    int pidfd;

    close_others(&to, 1); /* slurmstepd may have none left */
    pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd >= 0)
        fd_pass_send(to, "", 1, &pidfd, 1, MSG_DONTWAIT);
}

/* -1: it was not sent. */
static int take_pidfd(int from)
{
    char byte;
    int pidfd;

    fd_pass_receive(from, &byte, 1, &pidfd, 1, NULL, MSG_DONTWAIT);
    return pidfd;
}

/* Without: nobody stops it in time, and in the container it would be killed
 * before it can say goodbye, or hold up the step's end.  So it stands beside
 * the step and leaves with the last task; with slurmstepd at the latest, which
 * ends it by *pidfd.  Returns 0 or -1.  (Slurm, which waits for any child, may
 * reap the one between.) */
static pid_t spawn_beside(int alive, int *pidfd)
{
    int way[2] = {-1, -1}, status = 0;
    pid_t pid;

    socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, way);
    pid = fork();
    if (pid == 0) {
        pid = fork();
        if (pid == 0)
            become_impid(alive, 0);
        if (pid > 0 && way[1] >= 0)
            send_pidfd(way[1], pid);
        _exit(pid < 0);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (way[0] >= 0)
        *pidfd = take_pidfd(way[0]);
    shut(&way[0]);
    shut(&way[1]);
    return pid > 0 && status == 0 ? 0 : -1;
}

/* In the keeper's thread, or before there is one. */
static int spawn(void *arg, int *status, pid_t *pid, int *pidfd)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    *pid = stopped_by_switch() ? spawn_inside(pair[0])
                               : spawn_beside(pair[0], pidfd);
    close(pair[0]);
    if (*pid < 0) {
        slurm_error("mpi/impi: SF-E302: impid: %m");
        close(pair[1]);
        return -1;
    }
    *status = pair[1];
    slurm_debug("mpi/impi: impid started");
    return 0;
}

/* With the user's ids, as a task does it. */
static void say_goodbye(void)
{
    const struct slurmabi_stepd *step = agent.step;

    if (become_user() == 0)
        impi_presence_goodbye_node(
            slurmabi_stepd_env(step),
            or_zero(slurmabi_stepd_het_job_task_offset(step)),
            slurmabi_stepd_ntasks(step), slurmabi_stepd_nodeid(step));
    _exit(0);
}

/* The child is the user's, who may stop it. */
static void tell_of_absence(void *arg)
{
    struct pollfd p = {.events = POLLIN};
    pid_t pid = fork();

    if (pid == 0)
        say_goodbye();
    if (pid < 0)
        return;
    p.fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (p.fd >= 0) {
        poll(&p, 1, GOODBYE_MS);
        syscall(SYS_pidfd_send_signal, p.fd, SIGKILL, NULL, 0);
        close(p.fd);
    } else {
        kill(pid, SIGKILL);
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* Tasks say who they are by a record that nobody may read for long. */
static int open_tasks(uint32_t ntasks, struct errbuf *err)
{
    int room = (int)(ntasks < 65536 ? ntasks : 65536) * TASK_BYTES, one = 1;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, agent.tasks) < 0)
        return errprintf(err, "socketpair: %s", strerror(errno));
    fcntl(agent.tasks[0], F_SETFL, O_NONBLOCK);
    setsockopt(agent.tasks[0], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one));
    setsockopt(agent.tasks[1], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
    return 0;
}

/* impid starts with the first call of MPI; where srun has no way to tell of
 * one on another node, now. */
static void keep(char **env)
{
    const char *presence = slurm_getenvp(env, ENV_PRESENCE);
    struct impi_keeper_options o = {.step = agent.step,
                                    .start = spawn,
                                    .absent = tell_of_absence,
                                    .now = !presence,
                                    .grace_ms = GRACE_MS,
                                    .linger_ms = LINGER_MS,
                                    .listener = agent.sock_fd};
    char text[16];
    int stop;

    /* of this variable root sees no more than the version */
    agent.presence = o.presence = impi_presence_socket(presence);
    stop = impi_keeper_begin(&o);
    if (stop < 0 || !stopped_by_switch())
        return;
    snprintf(text, sizeof(text), "%d", stop);
    setenv(ENV_IMPID_STOP, text, 1);
}

static int open_stepdir(const struct slurmabi_stepd *step, struct errbuf *err)
{
    slurm_step_id_t id = slurmabi_stepd_step_id(step);
    struct sitedir sitedir;
    const char *parent = sitedir_run(&sitedir, "impi");
    char name[64];
    int fd;

    agent.uid = slurmabi_stepd_uid(step);
    agent.gid = slurmabi_stepd_gid(step);
    stepdir_sweep(parent, agent.uid);
    snprintf(name, sizeof(name), "%u.%u.%u-%d", id.job_id, id.step_id,
             or_zero(slurmabi_stepd_het_job_offset(step)), (int)getpid());
    fd = stepdir_make(agent.dir, parent, name, agent.uid, agent.gid,
                      &agent.dir_fd, err);
    if (fd < 0)
        return -1;
    agent.owner = getpid();
    snprintf(agent.sock, sizeof(agent.sock), "%s/sock", agent.dir);
    return fd;
}

static int check_start(const struct slurmabi_stepd *step, char **env,
                       struct errbuf *err)
{
    if (slurm_getenvp(env, ENV_REFUSED)) /* srun has said why */
        return -1;
    if (slurmabi_stepd_check(step, err) < 0)
        return -1;
    if (!slurm_getenvp(env, ENV_SERVER) || !slurm_getenvp(env, ENV_SECRET))
        return errprintf(err, "srun did not start an impi-server (is its "
                              "mpi/impi plugin the same as here?)");
    if (access(PATH_IMPID, X_OK) < 0)
        return errprintf(err, "%s: %s", PATH_IMPID, strerror(errno));
    /* The loader would leave it out, and each rank would be one of its own. */
    if (access(PATH_FRONT, R_OK) < 0)
        return errprintf(err, "%s: %s: install slurm-fabric on this node",
                         PATH_FRONT, strerror(errno));
    return 0;
}

void impi_agent_start(const struct slurmabi_stepd *step, char **env)
{
    const char *node = slurmabi_node_name();
    struct errbuf err = {""};

    agent.step = step;
    if (check_start(step, env, &err) < 0)
        goto error;
    agent.sock_fd = open_stepdir(step, &err);
    if (agent.sock_fd < 0 ||
        open_tasks(slurmabi_stepd_node_tasks(step), &err) < 0)
        goto error;
    agent.conf = make_records(step, env); /* it names the step's directory */
    if (agent.conf < 0) {
        errprintf(&err, "impid: %s", strerror(errno));
        goto error;
    }
    keep(env);
    return;
error:
    shut(&agent.sock_fd);
    shut_all();
    agent.sock[0] = '\0';
    if (!err.text[0])
        return;
    errprintf(&agent.refused, "SF-E302: node %.64s: %.400s", node ? node : "?",
              err.text);
    slurm_error("mpi/impi: %s", agent.refused.text);
}
