/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mpi/impi: `srun --mpi=impi`.  Slurm's hooks and what every Slurm process
 * that loads this needs; the work is in client.c (srun), agent.c and
 * stepdir.c (slurmstepd) and task.c (the task before exec).
 */
#define _GNU_SOURCE /* program_invocation_short_name */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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

/* srun loads this before it asks for nodes, and of an error says that there is
 * no such MPI type. */
static void check_srun(void)
{
    struct errbuf err;

    if (strcmp(program_invocation_short_name, "srun") != 0 ||
        impi_client_check(&err) == 0)
        return;
    slurm_error("mpi/impi: SF-E304: %s", err.text);
    exit(1);
}

int init(void)
{
    check_srun();
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
