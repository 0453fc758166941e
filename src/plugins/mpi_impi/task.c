/* SPDX-License-Identifier: BSD-3-Clause */
#include <unistd.h>

#include "impid/names.h"
#include "impid/task_proc.h"
#include "plugins/mpi_impi/agent.h"
#include "plugins/mpi_impi/task.h"

/* What another launcher around us left behind. */
static void drop_foreign(char **env)
{
    char name[256];

    while (task_proc_foreign(env, name, sizeof(name)))
        slurm_unsetenvp(env, name);
}

static void preload_front(char ***env)
{
    const char *old = slurm_getenvp(*env, "LD_PRELOAD");

    if (old && old[0])
        slurm_setenvpf(env, "LD_PRELOAD", "%s:%s", PATH_FRONT, old);
    else
        slurm_setenvpf(env, "LD_PRELOAD", "%s", PATH_FRONT);
}

/* Ranks that spin against each other for a processor: Open MPI must be told
 * (it is 1.5 times faster then), unless the user has an opinion. */
static void yield_when_crowded(const struct slurmabi_mpi_task *task,
                               char ***env)
{
    static const char name[] = "OMPI_MCA_mpi_yield_when_idle";

    if ((long)task->ltasks > sysconf(_SC_NPROCESSORS_ONLN) &&
        !slurm_getenvp(*env, name))
        slurm_setenvpf(env, name, "1");
}

int impi_task_prepare(const struct slurmabi_mpi_task *task, char ***env)
{
    const char *path = impi_agent_socket();

    if (!path) {
        slurm_error("mpi/impi: SF-E301: no impid for this step");
        return -1;
    }
    if (task_proc_register(path, task->gtaskid, (uint32_t)task->ltaskid) < 0) {
        slurm_error("mpi/impi: SF-E301: task %u: impid: %m", task->gtaskid);
        return -1;
    }
    drop_foreign(*env);
    slurm_unsetenvp(*env, ENV_SECRET);
    slurm_unsetenvp(*env, ENV_TASKS);
    slurm_unsetenvp(*env, ENV_NODES);
    slurm_setenvpf(env, ENV_AGENT, "%s", path);
    yield_when_crowded(task, env);
    preload_front(env);
    return 0;
}
