/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "slurmabi/layout.h"
#include "slurmabi/stepd.h"

/* The daemon's configuration; only slurmd and slurmstepd have it. */
extern const char *const slurmabi_conf __asm__("conf") __attribute__((weak));

static void get(void *dst, const struct slurmabi_stepd *step, uint16_t offset,
                size_t len)
{
    memcpy(dst, (const char *)step + offset, len);
}

static uint32_t get32(const struct slurmabi_stepd *step, uint16_t offset)
{
    uint32_t v;

    get(&v, step, offset, sizeof(v));
    return v;
}

slurm_step_id_t slurmabi_stepd_step_id(const struct slurmabi_stepd *step)
{
    slurm_step_id_t id;

    get(&id, step, slurmabi_layout()->stepd.step_id, sizeof(id));
    return id;
}

uid_t slurmabi_stepd_uid(const struct slurmabi_stepd *step)
{
    return get32(step, slurmabi_layout()->stepd.uid);
}

gid_t slurmabi_stepd_gid(const struct slurmabi_stepd *step)
{
    return get32(step, slurmabi_layout()->stepd.gid);
}

uint32_t slurmabi_stepd_nnodes(const struct slurmabi_stepd *step)
{
    return get32(step, slurmabi_layout()->stepd.nnodes);
}

uint32_t slurmabi_stepd_ntasks(const struct slurmabi_stepd *step)
{
    return get32(step, slurmabi_layout()->stepd.ntasks);
}

uint32_t slurmabi_stepd_nodeid(const struct slurmabi_stepd *step)
{
    return get32(step, slurmabi_layout()->stepd.nodeid);
}

uint32_t slurmabi_stepd_node_tasks(const struct slurmabi_stepd *step)
{
    return get32(step, slurmabi_layout()->stepd.node_tasks);
}

uint32_t slurmabi_stepd_het_job_id(const struct slurmabi_stepd *step)
{
    return get32(step, slurmabi_layout()->stepd.het_job_id);
}

uint32_t slurmabi_stepd_het_job_offset(const struct slurmabi_stepd *step)
{
    return get32(step, slurmabi_layout()->stepd.het_job_offset);
}

uint32_t slurmabi_stepd_het_job_step_cnt(const struct slurmabi_stepd *step)
{
    return get32(step, slurmabi_layout()->stepd.het_job_step_cnt);
}

uint32_t slurmabi_stepd_het_job_task_offset(const struct slurmabi_stepd *step)
{
    return get32(step, slurmabi_layout()->stepd.het_job_task_offset);
}

char **slurmabi_stepd_env(const struct slurmabi_stepd *step)
{
    char **env;

    get(&env, step, slurmabi_layout()->stepd.env, sizeof(env));
    return env;
}

struct switch_jobinfo *
slurmabi_stepd_switch_job(const struct slurmabi_stepd *step)
{
    const struct slurmabi_plugin_data *wrapped;

    get(&wrapped, step, slurmabi_layout()->stepd.switch_job, sizeof(wrapped));
    return wrapped ? wrapped->data : NULL;
}

/* NULL: the records of tasks are not where the layout says. */
static const char *task_record(const struct slurmabi_stepd *step, uint32_t i)
{
    const char *const *tasks;
    int32_t id;

    get(&tasks, step, slurmabi_layout()->stepd.tasks, sizeof(tasks));
    if (!tasks || !tasks[i])
        return NULL;
    memcpy(&id, tasks[i] + slurmabi_layout()->task.id, sizeof(id));
    return id == (int32_t)i ? tasks[i] : NULL;
}

static pid_t pid_of(const char *record)
{
    pid_t pid;

    memcpy(&pid, record + slurmabi_layout()->task.pid, sizeof(pid));
    return pid;
}

/* Slurm writes the status once, in place of -1. */
static int status_of(const char *record)
{
    return __atomic_load_n(
        (const int *)(const void *)(record + slurmabi_layout()->task.status),
        __ATOMIC_RELAXED);
}

pid_t slurmabi_stepd_task_pid(const struct slurmabi_stepd *step, uint32_t i)
{
    const char *record = task_record(step, i);
    pid_t pid = record ? pid_of(record) : 0;

    return pid > 0 && status_of(record) == -1 ? pid : 0;
}

int slurmabi_stepd_task_status(const struct slurmabi_stepd *step, pid_t pid)
{
    uint32_t n = slurmabi_stepd_node_tasks(step);

    for (uint32_t i = 0; i < n; i++) {
        const char *record = task_record(step, i);

        if (!record)
            return -1;
        if (pid_of(record) == pid)
            return status_of(record);
    }
    return -1;
}

int slurmabi_stepd_exit_code(const struct slurmabi_stepd *step)
{
    uint32_t n = slurmabi_stepd_node_tasks(step);
    int highest = 0;

    for (uint32_t i = 0; i < n; i++) {
        const char *record = task_record(step, i);
        int status, code;

        if (!record)
            break;
        status = status_of(record);
        code = status < 0            ? 0
               : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                     : WEXITSTATUS(status);
        highest = code > highest ? code : highest;
    }
    return highest;
}

static int contradiction(struct errbuf *err, const char *member, uint32_t v)
{
    errprintf(err,
              "slurmstepd's record of the step is not laid out as in Slurm "
              "%s: %s = %u",
              SLURMABI_VERSION, member, v);
    errno = EINVAL;
    return -1;
}

int slurmabi_stepd_check(const struct slurmabi_stepd *step, struct errbuf *err)
{
    uint32_t nnodes, ntasks;

    if (!slurmabi_layout()) {
        errprintf(err,
                  "the records of Slurm %s were not measured on such a machine",
                  SLURMABI_VERSION);
        errno = ENOTSUP;
        return -1;
    }
    if (!step)
        return contradiction(err, "record", 0);
    nnodes = slurmabi_stepd_nnodes(step);
    ntasks = slurmabi_stepd_ntasks(step);
    if (slurmabi_stepd_step_id(step).job_id == 0)
        return contradiction(err, "job_id", 0);
    if (nnodes == 0 || nnodes >= NO_VAL)
        return contradiction(err, "nnodes", nnodes);
    if (ntasks == 0 || ntasks >= NO_VAL)
        return contradiction(err, "ntasks", ntasks);
    if (slurmabi_stepd_nodeid(step) >= nnodes)
        return contradiction(err, "nodeid", slurmabi_stepd_nodeid(step));
    if (slurmabi_stepd_node_tasks(step) > ntasks)
        return contradiction(err, "node_tasks",
                             slurmabi_stepd_node_tasks(step));
    return 0;
}

/* Is it this step's? */
static int check_cred(const char *args, const struct slurmabi_stepd *step,
                      struct errbuf *err)
{
    const struct slurmabi_layout *l = slurmabi_layout();
    slurm_step_id_t id;
    uid_t uid;

    memcpy(&id, args + l->cred.step_id, sizeof(id));
    memcpy(&uid, args + l->cred.uid, sizeof(uid));
    if (id.step_id != slurmabi_stepd_step_id(step).step_id)
        return contradiction(err, "step of the credential", id.step_id);
    if (uid != slurmabi_stepd_uid(step))
        return contradiction(err, "uid of the credential", uid);
    return 0;
}

int slurmabi_stepd_job_restarts(const struct slurmabi_stepd *step,
                                uint16_t *restarts, struct errbuf *err)
{
    const struct slurmabi_layout *l = slurmabi_layout();
    const char *msg, *args = NULL;
    struct slurmabi_cred *cred = NULL;
    int rc;

    get(&msg, step, l->stepd.msg, sizeof(msg));
    if (msg)
        memcpy(&cred, msg + l->launch.cred, sizeof(cred));
    if (cred)
        args = slurm_cred_get_args(cred);
    if (!args)
        return contradiction(err, "credential", 0);
    rc = check_cred(args, step, err);
    if (rc == 0)
        memcpy(restarts, args + l->cred.restarts, sizeof(*restarts));
    slurm_cred_unlock_args(cred);
    return rc;
}

const char *slurmabi_node_name(void)
{
    const char *name;

    if (!slurmabi_layout() || !&slurmabi_conf || !slurmabi_conf)
        return NULL;
    memcpy(&name, slurmabi_conf + slurmabi_layout()->conf_node_name,
           sizeof(name));
    return name;
}
