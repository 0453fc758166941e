/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "impi/task_wire.h"
#include "plugins/mpi_impi/agent.h"
#include "impid/names.h"
#include "plugins/mpi_impi/task.h"

/* The listening socket is older than any task, so connect never waits; the
 * kernel keeps what was sent until impid reads it. */
static int register_task(const char *path, uint32_t rank, uint32_t local)
{
    struct task_register r = {rank, local};
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    uint8_t frame[64];
    ssize_t len = task_register_encode(frame, sizeof(frame), &r);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int rc = -1;

    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
    if (fd >= 0 && connect(fd, (const void *)&addr, sizeof(addr)) == 0 &&
        send(fd, frame, (size_t)len, MSG_NOSIGNAL) == len)
        rc = 0;
    if (rc < 0)
        slurm_error("mpi/impi: SF-E301: task %u: impid: %m", rank);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* What another launcher around us left behind. */
static void drop_foreign(char **env)
{
    static const char *const prefix[] = {"PMI_", "PMIX_", "PMI2_"};
    char name[256];

    for (size_t i = 0; env && env[i];) {
        size_t len = strcspn(env[i], "=");
        bool foreign = false;

        for (size_t k = 0; k < sizeof(prefix) / sizeof(prefix[0]); k++)
            foreign =
                foreign || strncmp(env[i], prefix[k], strlen(prefix[k])) == 0;
        if (!foreign || len >= sizeof(name)) {
            i++;
            continue;
        }
        memcpy(name, env[i], len);
        name[len] = '\0';
        slurm_unsetenvp(env, name);
    }
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
    if (register_task(path, task->gtaskid, (uint32_t)task->ltaskid) < 0)
        return -1;
    drop_foreign(*env);
    slurm_unsetenvp(*env, ENV_SECRET);
    slurm_unsetenvp(*env, ENV_TASKS);
    slurm_unsetenvp(*env, ENV_NODES);
    slurm_setenvpf(env, ENV_AGENT, "%s", path);
    yield_when_crowded(task, env);
    preload_front(env);
    return 0;
}
