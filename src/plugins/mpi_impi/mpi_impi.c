/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mpi/impi: `srun --mpi=impi`.  Slurm's hooks and what every Slurm process
 * that loads this needs; the work is in client.c (srun), agent.c and
 * stepdir.c (slurmstepd) and task.c (the task before exec).
 */
#include <stddef.h>

#include "plugins/mpi_impi/agent.h"
#include "plugins/mpi_impi/client.h"
#include "plugins/mpi_impi/task.h"
#include "slurmabi/slurm_sym.h"

extern const char plugin_name[];
extern const char plugin_type[];
extern const uint32_t plugin_id;
extern const uint32_t plugin_version;
int init(void);
int fini(void);

const char plugin_name[] = "one MPI job over several MPI libraries (IMPI)";
const char plugin_type[] = "mpi/impi";
const uint32_t plugin_id = 0x696d7069; /* "impi" */
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

int init(void)
{
    return SLURM_SUCCESS;
}

int fini(void)
{
    impi_agent_cleanup();
    return SLURM_SUCCESS;
}

/* impi.conf is our own file: Slurm's mpi.conf knows nothing of us. */
void *mpi_p_conf_get(void)
{
    return NULL;
}

void *mpi_p_conf_get_printable(void)
{
    return NULL;
}

void mpi_p_conf_options(void **options, int *count)
{
}

void mpi_p_conf_set(void *table)
{
}

void *mpi_p_client_prelaunch(const struct slurmabi_mpi_client *client,
                             char ***env)
{
    return impi_client_launch(client, env);
}

int mpi_p_client_fini(void *state)
{
    return impi_client_end(state);
}

int mpi_p_slurmstepd_prefork(const struct slurmabi_stepd *step, char ***env)
{
    impi_agent_start(step, *env);
    return SLURM_SUCCESS;
}

int mpi_p_slurmstepd_task(const struct slurmabi_mpi_task *task, char ***env)
{
    return impi_task_prepare(task, env) == 0 ? SLURM_SUCCESS : SLURM_ERROR;
}
