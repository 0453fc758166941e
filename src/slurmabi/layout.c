/* SPDX-License-Identifier: BSD-3-Clause */
#include <stddef.h>

#include <slurm/slurm_version.h>

#include "slurmabi/layout.h"

static const struct slurmabi_layout layouts[] = {
    {
        .first = 0x160500, /* 22.05.0 */
        .last = 0x1605ff,
        .stepd = {.step_id = 112,
                  .nnodes = 132,
                  .ntasks = 136,
                  .nodeid = 140,
                  .node_tasks = 144,
                  .het_job_id = 148,
                  .het_job_offset = 176,
                  .het_job_step_cnt = 180,
                  .het_job_task_offset = 184,
                  .env = 256,
                  .switch_job = 344,
                  .uid = 352,
                  .gid = 392,
                  .tasks = 456,
                  .msg = 680,
                  .size = 768},
        .launch = {.cred = 528, .size = 648},
        .cred = {.step_id = 0, .uid = 12, .restarts = 256, .size = 360},
        .task = {.id = 44, .pid = 52, .status = 132, .size = 152},
        .step = {.magic = 0xcafecafe,
                 .host = 104,
                 .job_ptr = 112,
                 .network = 152,
                 .port = 168,
                 .step_id = 256,
                 .size = 392},
        .job = {.magic = 0xf0b7392c,
                .het_job_id = 328,
                .het_job_offset = 344,
                .job_id = 360,
                .restarts = 706,
                .user_id = 992,
                .size = 1048},
        .conf_node_name = 168,
    },
};

const struct slurmabi_layout *slurmabi_layout_find(uint32_t version)
{
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
        if (version >= layouts[i].first && version <= layouts[i].last)
            return &layouts[i];
    return NULL;
}

const struct slurmabi_layout *slurmabi_layout(void)
{
    return sizeof(void *) == 8 ? slurmabi_layout_find(SLURM_VERSION_NUMBER)
                               : NULL;
}
