/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "impid/impirun.h"
#include "impid/names.h"
#include "impid/task_proc.h"

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

int impirun_tasks_start(struct impirun_tasks *t, const struct impirun *run,
                        const char *agent, struct errbuf *err)
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

void impirun_tasks_reap(struct impirun_tasks *t)
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

void impirun_tasks_kill(struct impirun_tasks *t, int sig)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (t->pid[i] > 0)
            kill(t->pid[i], sig);
}

void impirun_tasks_free(struct impirun_tasks *t)
{
    free(t->pid);
    t->pid = NULL;
    t->n = 0;
}
