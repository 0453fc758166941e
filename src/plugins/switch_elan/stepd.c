/* SPDX-License-Identifier: BSD-3-Clause
 *
 * switch/elan in slurmstepd (root) and in the task it forks (the user).  One
 * slurmstepd serves one step, so the step is a static of this file: the hooks
 * are called in one process and have nothing else to carry it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/sitedir.h"
#include "elan/options.h"
#include "elan/rms_env.h"
#include "plugins/switch_elan/hold.h"
#include "plugins/switch_elan/hooks.h"
#include "plugins/switch_elan/node_open.h"
#include "plugins/switch_elan/node_program.h"
#include "plugins/switch_elan/suspend_watch.h"
#include "plugins/switch_elan/sweep.h"
#include "slurmabi/node.h"
#include "slurmabi/stepd.h"

/* How long ending impid may take: it has 9 s before it is killed. */
#define AGENT_WAIT_MS 15000
/* Between two looks of a held step: one RPC to slurmctld each. */
#define HOLD_LOOK_MS 1000

static struct {
    bool open;             /* payload is good */
    uint32_t nodeid;       /* of the step */
    struct errbuf refused; /* else why, with its code */
    struct elan_payload payload;
    struct node_program program;
    struct suspend_watch *watch;
    pthread_mutex_t lock;
    bool descent;       /* the program has no cgroup */
    atomic_bool coming; /* the holder was started and not yet waited for */
} here = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The step gets no program here, and so none of its tasks gets past
 * job_attach, which ends it with this text on its stderr and code 1.  (When a
 * hook before the tasks fails, srun of Slurm 22.05 shows no reason, exits with
 * 0, and a batch script goes on as if all were well.) */
static int refuse(const char *code, const char *what, const char *why)
{
    errprintf(&here.refused, "%s switch/elan: %s%s", code, what, why);
    slurm_error("%s", here.refused.text);
    return SLURM_SUCCESS;
}

int switch_elan_preinit(const struct slurmabi_stepd *step)
{
    struct errbuf err;

    switch_elan_sweep(true);
    if (slurmabi_stepd_check(step, &err) < 0)
        return refuse("SF-E108", "", err.text);
    if (node_open(&here.payload, step, &err) < 0)
        return refuse("SF-E120", "job info refused: ", err.text);
    here.open = true;
    here.nodeid = slurmabi_stepd_nodeid(step);
    return SLURM_SUCCESS;
}

/* The program must be there before a task is, and what a task knows of it is
 * what we know when it is forked. */
static void await_program(void)
{
    struct errbuf err;

    if (!atomic_load(&here.coming)) /* so no forked copy touches the lock */
        return;
    pthread_mutex_lock(&here.lock);
    if (atomic_load(&here.coming) &&
        node_program_ready(&here.program, &err) < 0)
        refuse("SF-E122", "", err.text);
    /* A process that loses its parent becomes our child.  (Not the holder: it
     * was there before.) */
    if (here.descent)
        prctl(PR_SET_CHILD_SUBREAPER, 1);
    atomic_store(&here.coming, false);
    pthread_mutex_unlock(&here.lock);
}

/* Slurm has no hook between the ones that it calls as root, and the first
 * task's: in between it looks at this machine for longer than a holder takes
 * to come up.  So we wait for the holder only when something is forked. */
static void await_program_at_fork(void)
{
    static bool done;

    atomic_store(&here.coming, true);
    if (!done && pthread_atfork(await_program, NULL, NULL) != 0)
        await_program();
    else
        done = true;
}

static bool is_held(void)
{
    const struct elan_hold *hold = &here.payload.hold;

    for (uint32_t i = 0; i < hold->n; i++)
        if (hold->nodes[i] == here.nodeid)
            return true;
    return false;
}

/* Slurmd has its answer and srun waits for the tasks; nobody else waits here.
 * (A step that is cancelled meanwhile ends when its tasks would begin.) */
static int await_fabric(void)
{
    const struct elan_hold *held = &here.payload.hold;
    char extra[SF_SLURM_EXTRA_MAX] = "", why[128];
    struct hold hold;
    bool known;

    if (!is_held())
        return 0;
    slurm_info("switch/elan: step %u.%u waits for this node's fabric, at most "
               "%u s",
               here.payload.job_id, here.payload.step_id, held->seconds);
    hold_begin(&hold, clock_ms(), held->seconds);
    for (;;) {
        known = slurmabi_own_extra(extra, sizeof(extra)) == 0;
        switch (hold_look(&hold, clock_ms(), known,
                          hold_is_down(extra, here.payload.layout.nrails))) {
        case HOLD_GO:
            return 0;
        case HOLD_REFUSE:
            snprintf(why, sizeof(why),
                     "the fabric of this node did not come back within %u s%s",
                     held->seconds,
                     known ? "" : " (slurmctld does not say how it is)");
            refuse("SF-E121", "", why);
            return -1;
        case HOLD_WAIT:
            break;
        }
        poll(NULL, 0, HOLD_LOOK_MS);
    }
}

int switch_elan_begin(void)
{
    struct program_spec spec = {.agent = SF_LIBEXECDIR "/impid",
                                .linger_ms = SF_PROGRAM_LINGER_SECONDS * 1000};
    struct elan_site site;
    struct errbuf err;
    char dir[128];

    if (!here.open)
        return SLURM_SUCCESS; /* refused already */
    if (await_fabric() < 0)
        return SLURM_SUCCESS;
    if (elan_site_parse(&site, slurm_conf.switch_param, &err) < 0)
        return refuse("SF-E101", "", err.text);
    spec.descent = here.descent = site.descent;
    if (switch_elan_rundir(dir, sizeof(dir), &err) < 0)
        return refuse("SF-E129", "", err.text);
    spec.number = (int)here.payload.prognum;
    spec.uid = here.payload.uid;
    spec.rundir = dir;
    if (node_program_begin(&here.program, &node_rms_soft, &spec, &here.payload,
                           &err) < 0)
        return refuse("SF-E122", "", err.text);
    await_program_at_fork();
    return SLURM_SUCCESS;
}

/* The variables of one task. */
static int put_env(char ***env, uint32_t nodeid, uint32_t slot,
                   struct errbuf *err)
{
    struct elan_rms_var vars[ELAN_RMS_NVARS];
    struct elan_rms_program program = {
        .layout = &here.payload.layout,
        .prognum = here.payload.prognum,
        .job_id = here.payload.job_id,
        .cluster = slurm_conf.cluster_name,
    };

    if (elan_rms_env(vars, &program, nodeid, slot, err) < 0)
        return -1;
    for (int i = 0; i < ELAN_RMS_NVARS; i++)
        slurm_setenvpf(env, vars[i].name, "%s", vars[i].value);
    slurm_setenvpf(env, "SLURM_FABRIC_PROGRAM", "%s",
                   here.program.handle.socket);
    /* Where hsnd of this node is, not that of the node of srun. */
    if (secure_getenv("SLURM_FABRIC_RUNDIR"))
        slurm_setenvpf(env, "SLURM_FABRIC_RUNDIR", "%s", SITEDIR_RUN(""));
    return 0;
}

int switch_elan_attach(char ***env, uint32_t nodeid, uint32_t procid)
{
    struct errbuf err;

    if (!here.open || !here.program.live) {
        slurm_error("%s", here.refused.text[0] ? here.refused.text
                                               : "SF-E124 switch/elan: the "
                                                 "step has no program");
        return SLURM_ERROR;
    }
    if (node_program_enter(&here.program, (int)procid, &err) < 0 ||
        put_env(env, nodeid, procid, &err) < 0) {
        slurm_error("SF-E124 switch/elan: %s", err.text);
        return SLURM_ERROR;
    }
    return SLURM_SUCCESS;
}

/* mpi/impi leaves in our environment by which descriptor its agent is ended. */
static void stop_agent(void)
{
    const char *text = getenv("SLURM_FABRIC_IMPID_STOP");

    if (!text)
        return;
    if (node_stop_agent(atoi(text), AGENT_WAIT_MS) < 0)
        slurm_error("SF-E130 switch/elan: impid did not end when told, and was "
                    "killed: cut off from srun's host, or stopped?");
    unsetenv("SLURM_FABRIC_IMPID_STOP");
}

static void log_stats(const struct program_stats *s)
{
    slurm_info("switch/elan: program %u of %u.%u: cpu %.3f s, system %.3f s "
               "of it, memory %llu kB%s, %u processes seen",
               here.payload.prognum, here.payload.job_id, here.payload.step_id,
               (double)(s->user_us + s->system_us) / 1e6,
               (double)s->system_us / 1e6,
               (unsigned long long)s->memory_peak / 1024,
               s->exact ? "" : " (sampled)", s->seen);
}

static void end_program(void)
{
    struct program_stats stats;
    struct errbuf err;

    await_program();
    if (!here.program.live)
        return;
    if (node_program_end(&here.program, &stats, &err) < 0)
        slurm_error("SF-E127 switch/elan: program %u: %s", here.payload.prognum,
                    err.text);
    else
        log_stats(&stats);
}

void switch_elan_tasks_gone(void)
{
    stop_agent();
    end_program();
}

void switch_elan_end(void)
{
    suspend_watch_end(here.watch);
    here.watch = NULL;
    end_program();
    if (here.open)
        elan_payload_free(&here.payload);
    here.open = false;
}

bool switch_elan_suspend(bool stop)
{
    struct errbuf err;

    await_program();
    if (node_program_suspend(&here.program, stop, &err) == 0)
        return true;
    slurm_error("SF-E128 switch/elan: program %u: %s", here.payload.prognum,
                err.text);
    return false;
}

/* We are its parent.  What slurmstepd wants to hear of it stays there. */
static bool stands(pid_t pid)
{
    siginfo_t info = {.si_pid = 0};

    return waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid;
}

static bool tasks_stand(const void *arg)
{
    const struct slurmabi_stepd *step = arg;
    uint32_t n = slurmabi_stepd_node_tasks(step);
    bool any = false;

    for (uint32_t i = 0; i < n; i++) {
        pid_t pid = slurmabi_stepd_task_pid(step, i);

        if (pid != 0 && !stands(pid))
            return false;
        any |= pid != 0;
    }
    return any;
}

/* With proctrack/cgroup nothing escapes what Slurm itself freezes. */
void switch_elan_watch_suspension(const struct slurmabi_stepd *step,
                                  bool (*is_suspended)(void))
{
    const struct suspend_watch_calls calls = {.is_suspended = is_suspended,
                                              .tasks_stand = tasks_stand,
                                              .suspend = switch_elan_suspend,
                                              .arg = step};

    if (!is_suspended || !here.open || here.watch ||
        (slurm_conf.proctrack_type &&
         strcmp(slurm_conf.proctrack_type, "proctrack/cgroup") == 0))
        return;
    here.watch = suspend_watch_begin(&calls);
    if (!here.watch)
        slurm_error("SF-E128 switch/elan: program %u: no thread: what left its "
                    "tasks' session runs on when the step is suspended",
                    here.payload.prognum);
}
