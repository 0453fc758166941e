/* SPDX-License-Identifier: BSD-3-Clause
 *
 * switchmgrd: fabric health to Slurm.  Two processes: this one becomes the
 * updater (updater.h), which has power over Slurm and no network; its child is
 * the collector (collector.h), which has the network and no power.  When one
 * ends the other does.
 */
#define _GNU_SOURCE
#include "config.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <slurm/slurm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/daemon_args.h"
#include "base/log.h"
#include "base/service.h"
#include "base/sitedir.h"
#include "switchmgrd/collector.h"
#include "switchmgrd/record.h"
#include "switchmgrd/updater.h"

static struct updater_orders orders;
static pid_t child;
static int to_child; /* our end of the pair */

/* The updater may be busy with slurmctld: the collector hears of it now, unless
 * too much is on its way there. */
static void on_signal(int number)
{
    int saved = errno;

    if (number != SIGHUP)
        orders.stop = 1;
    else if (updater_order(to_child, SIGHUP) < 0)
        orders.reload = 1;
    errno = saved;
}

static void report_line(const char *text, void *arg)
{
    fprintf(stderr, "switchmgrd: %s\n", text);
}

/* A directory that belongs to the collector's user. */
static int own_directory(const char *path, const char *user, mode_t mode)
{
    struct passwd *pw = user && *user ? getpwnam(user) : NULL;

    if (mkdir(path, mode) < 0 && errno != EEXIST) {
        log_error("SF-E700: %s: %m", path);
        return -1;
    }
    if (pw && geteuid() == 0 && chown(path, pw->pw_uid, pw->pw_gid) < 0) {
        log_error("SF-E700: %s: %m", path);
        return -1;
    }
    return 0;
}

static int make_directories(const struct mgrconf *conf, char *state,
                            size_t size)
{
    const char *base = conf->state_dir ? conf->state_dir : SF_STATEDIR;
    char path[SF_ELAN_PATH_MAX];

    snprintf(path, sizeof(path), "%s/switchmgrd", base);
    snprintf(state, size, "%s/switchmgrd.updater", base);
    if ((mkdir(SITEDIR_RUN(""), 0755) < 0 && errno != EEXIST) ||
        (mkdir(base, 0755) < 0 && errno != EEXIST)) {
        log_error("SF-E700: %s or %s: %m", SITEDIR_RUN(""), base);
        return -1;
    }
    if (own_directory(path, conf->user, 0700) < 0)
        return -1;
    return own_directory(SITEDIR_RUN(MGRCONF_RUN_DIR), conf->user, 0755);
}

/* We may have no right to signal it, and it reads whatever comes. */
static int end_child(int fd)
{
    const struct rec_order rec = {REC_ORDER, SIGTERM};
    int status = 0;

    while (send(fd, &rec, sizeof(rec), MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int run_updater(struct mgrconf *conf, const char *conf_path, int fd,
                       const char *state)
{
    int rc, of_child;

    if (conf->slurm_conf)
        setenv("SLURM_CONF", conf->slurm_conf, 1);
    slurm_init(conf->slurm_conf);
    rc = updater_run(conf, conf_path, fd, state, &orders);
    of_child = end_child(fd); /* first: it takes our end of fd for a fault */
    close(fd);
    return of_child ? of_child : rc;
}

/* fork(); who hears of the child finds us listening to signals: those that
 * come before wait. */
static pid_t fork_heard(int our_end)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    struct sigaction sa = {.sa_handler = on_signal};
    sigset_t ours, before;
    pid_t pid;

    sigemptyset(&ours);
    for (int i = 0; i < 3; i++)
        sigaddset(&ours, numbers[i]);
    sigprocmask(SIG_BLOCK, &ours, &before);
    to_child = our_end;
    pid = fork();
    for (int i = 0; pid > 0 && i < 3; i++)
        sigaction(numbers[i], &sa, NULL);
    if (pid > 0)
        child = pid;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

static int run(struct mgrconf *conf, const char *conf_path)
{
    char state[SF_ELAN_PATH_MAX];
    int pair[2];
    pid_t pid;

    if (make_directories(conf, state, sizeof(state)) < 0)
        return DAEMON_EXIT_CONF;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ||
        (pid = fork_heard(pair[0])) < 0) {
        log_error("SF-E700: %m");
        return 1;
    }
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        close(pair[0]);
        return collector_run(conf, conf_path, pair[1]);
    }
    close(pair[1]);
    return run_updater(conf, conf_path, pair[0], state);
}

int main(int argc, char **argv)
{
    const struct daemon_program program = {
        "switchmgrd", "Judge the fabric's health and tell Slurm.",
        SITEDIR_CONF(MGRCONF_NAME)};
    struct daemon_args args;
    struct mgrconf conf;
    struct errbuf err;
    int status;

    if (!daemon_args_read(&args, &program, argc, argv, &status))
        return status;
    log_open(&(struct log_options){
        "switchmgrd", args.verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO,
        args.syslog});
    if (mgrconf_read(&conf, args.conf, !args.conf_named, report_line, NULL) < 0)
        return DAEMON_EXIT_CONF;
    if (!conf.user)
        conf.user = strdup(SERVICE_USER);
    if (collector_check(&conf, args.conf, &err) < 0) {
        fprintf(stderr, "switchmgrd: %s\n", err.text);
        mgrconf_free(&conf);
        return DAEMON_EXIT_CONF;
    }
    if (args.test) {
        puts("the configuration is good");
        mgrconf_free(&conf);
        return 0;
    }
    return run(&conf, args.conf);
}
