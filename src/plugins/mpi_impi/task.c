/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd_pass.h"
#include "impi/task_wire.h"
#include "impid/names.h"
#include "impid/task_proc.h"
#include "plugins/mpi_impi/agent.h"
#include "plugins/mpi_impi/presence.h"
#include "plugins/mpi_impi/task.h"

/* A record and our pidfd, for whoever will be impid; the kernel keeps both.
 * By the pidfd it knows us however late it comes, and whoever has our pid
 * then. */
static int register_task(uint32_t rank, uint32_t local)
{
    struct task_register r = {rank, local};
    int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    uint8_t frame[64];
    ssize_t len = task_register_encode(frame, sizeof(frame), &r);
    ssize_t n = fd_pass_send(impi_agent_tasks(), frame, (size_t)len, &pidfd,
                             pidfd >= 0, MSG_DONTWAIT);

    if (n < 0 && errno == ETOOMANYREFS) /* too many wait as it is */
        n = fd_pass_send(impi_agent_tasks(), frame, (size_t)len, NULL, 0,
                         MSG_DONTWAIT);
    if (n < 0)
        slurm_error("mpi/impi: SF-E301: task %u: impid: %m", rank);
    if (pidfd >= 0)
        close(pidfd);
    return n < 0 ? -1 : 0;
}

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
        if (impi_agent_refused()[0])
            slurm_error("mpi/impi: %s", impi_agent_refused());
        if (task->ltaskid == 0)
            impi_presence_goodbye(*env, task->gtaskid);
        return -1;
    }
    if (register_task(task->gtaskid, (uint32_t)task->ltaskid) < 0)
        return -1;
    if (task->ltaskid == 0)
        impi_presence_connect(impi_agent_presence(), *env, task->gtaskid);
    drop_foreign(*env);
    slurm_unsetenvp(*env, ENV_SECRET);
    slurm_unsetenvp(*env, ENV_TASKS);
    slurm_unsetenvp(*env, ENV_NODES);
    slurm_unsetenvp(*env, ENV_PRESENCE);
    slurm_setenvpf(env, ENV_AGENT, "%s", path);
    yield_when_crowded(task, env);
    preload_front(env);
    return 0;
}
