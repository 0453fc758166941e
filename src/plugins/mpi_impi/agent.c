/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "impid/names.h"
#include "plugins/mpi_impi/agent.h"
#include "plugins/mpi_impi/status.h"
#include "plugins/mpi_impi/stepdir.h"
#include "slurmabi/stepd.h"

#define STEPDIR_PARENT SF_RUNSTATEDIR "/impi"

/* One step per slurmstepd. */
static struct {
    pid_t owner; /* the slurmstepd that made it */
    uid_t uid;
    gid_t gid;
    char dir[STEPDIR_PATH_MAX];
    char sock[STEPDIR_PATH_MAX + 8];
} agent;

const char *impi_agent_socket(void)
{
    return agent.sock[0] ? agent.sock : NULL;
}

void impi_agent_cleanup(void)
{
    if (agent.owner == 0 || agent.owner != getpid())
        return;
    impi_status_stop();
    stepdir_remove(agent.dir, agent.uid, agent.gid);
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
    const char *p = slurm_conf.authinfo;

    p = p ? strstr(p, "socket=") : NULL;
    if (p)
        fprintf(f, "munge=%.*s%c", (int)strcspn(p + 7, ","), p + 7, '\0');
}

/* switch/elan's job_fini will stop impid. */
static bool stopped_by_switch(void)
{
    const char *type = slurm_conf.switch_type;

    return type && strcmp(type, "switch/elan") == 0;
}

static void record_all(FILE *f, const struct slurmabi_stepd *step, char **env)
{
    record(f, "server", slurm_getenvp(env, ENV_SERVER));
    record(f, "secret", slurm_getenvp(env, ENV_SECRET));
    record(f, "tasks", slurm_getenvp(env, ENV_TASKS));
    record(f, "nodes", slurm_getenvp(env, ENV_NODES));
    record(f, "step", slurm_getenvp(env, ENV_STEP));
    record(f, "clients", slurm_getenvp(env, ENV_CLIENTS));
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
    record(f, "conf", PATH_CONF);
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

static void clean_descriptors(int conf, int sock, int alive)
{
    int null = open("/dev/null", O_RDWR);

    /* Out of the way of what they become. */
    conf = fcntl(conf, F_DUPFD, 10);
    sock = fcntl(sock, F_DUPFD, 10);
    alive = fcntl(alive, F_DUPFD, 10);
    dup2(null, 0);
    dup2(null, 1);
    dup2(null, 2);
    dup2(conf, 3);
    dup2(sock, 4);
    dup2(alive, 5);
    close_range(6, ~0U, 0);
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

struct descriptors {
    int conf, sock, alive;
};

static void become_impid(const struct descriptors *d, pid_t parent)
{
    char *const argv[] = {"impid", NULL};
    char *const env[] = {"PATH=/usr/bin:/bin", "LANG=C", NULL};

    clean_signals();
    clean_descriptors(d->conf, d->sock, d->alive);
    reset_oom();
    setsid();
    if (setgroups(1, &agent.gid) < 0 || setgid(agent.gid) < 0 ||
        setuid(agent.uid) < 0 || chdir("/") < 0)
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
 * outlives the step; job_fini stops and reaps it before the container is
 * killed. */
static int spawn_inside(const struct slurmabi_stepd *step,
                        const struct descriptors *d)
{
    pid_t parent = getpid();
    char text[16];
    pid_t pid = fork();

    if (pid == 0)
        become_impid(d, parent);
    if (pid < 0)
        return -1;
    if (proctrack_g_add)
        proctrack_g_add((struct slurmabi_stepd *)step, pid);
    snprintf(text, sizeof(text), "%d", (int)pid);
    setenv(ENV_IMPID_PID, text, 1);
    slurm_debug("mpi/impi: impid is process %d", (int)pid);
    return 0;
}

/* Without: nobody stops it in time, and in the container it would be killed
 * before it can say goodbye, or hold up the step's end.  So it stands beside
 * the step, leaves with the last task, and with slurmstepd at the latest,
 * whose end of the socket closes then. */
static int spawn_beside(const struct descriptors *d)
{
    pid_t pid = fork();
    int status = -1;

    if (pid == 0) {
        pid = fork();
        if (pid == 0)
            become_impid(d, 0);
        _exit(pid < 0);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status == 0 ? 0 : -1;
}

static int spawn(const struct slurmabi_stepd *step, struct descriptors *d)
{
    int pair[2], rc;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    d->alive = pair[0];
    rc = stopped_by_switch() ? spawn_inside(step, d) : spawn_beside(d);
    close(pair[0]);
    impi_status_serve(step, pair[1]);
    return rc;
}

static int open_stepdir(const struct slurmabi_stepd *step, struct errbuf *err)
{
    slurm_step_id_t id = slurmabi_stepd_step_id(step);
    char name[64];
    int fd;

    agent.uid = slurmabi_stepd_uid(step);
    agent.gid = slurmabi_stepd_gid(step);
    stepdir_sweep(STEPDIR_PARENT);
    snprintf(name, sizeof(name), "%u.%u.%u-%d", id.job_id, id.step_id,
             or_zero(slurmabi_stepd_het_job_offset(step)), (int)getpid());
    fd = stepdir_make(agent.dir, STEPDIR_PARENT, name, agent.uid, agent.gid,
                      err);
    if (fd < 0)
        return -1;
    agent.owner = getpid();
    snprintf(agent.sock, sizeof(agent.sock), "%s/sock", agent.dir);
    return fd;
}

static int check_start(const struct slurmabi_stepd *step, char **env,
                       struct errbuf *err)
{
    if (slurmabi_stepd_check(step, err) < 0)
        return -1;
    if (!slurm_getenvp(env, ENV_SERVER) || !slurm_getenvp(env, ENV_SECRET))
        return errprintf(err, "srun did not start an impi-server (is its "
                              "mpi/impi plugin the same as here?)");
    if (access(PATH_IMPID, X_OK) < 0)
        return errprintf(err, "%s: %s", PATH_IMPID, strerror(errno));
    return 0;
}

int impi_agent_start(const struct slurmabi_stepd *step, char **env)
{
    struct descriptors d = {-1, -1, -1};
    struct errbuf err = {""};
    int rc = -1;

    if (check_start(step, env, &err) == 0)
        d.sock = open_stepdir(step, &err);
    if (d.sock >= 0) {
        d.conf = make_records(step, env);
        rc = d.conf < 0 ? -1 : spawn(step, &d);
        if (rc < 0)
            errprintf(&err, "impid: %s", strerror(errno));
    }
    if (rc < 0)
        slurm_error("mpi/impi: SF-E302: %s", err.text);
    if (d.conf >= 0)
        close(d.conf);
    if (d.sock >= 0)
        close(d.sock);
    return rc;
}
