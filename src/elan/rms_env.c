/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>

#include "elan/rms_env.h"

static void set(struct elan_rms_var *var, const char *name, uint32_t value)
{
    var->name = name;
    snprintf(var->value, sizeof(var->value), "%u", value);
}

int elan_rms_env(struct elan_rms_var vars[ELAN_RMS_NVARS],
                 const struct elan_rms_program *program, uint32_t nodeid,
                 uint32_t slot, struct errbuf *err)
{
    const struct elan_layout *l = program->layout;
    const char *cluster = program->cluster ? program->cluster : "";

    errno = EINVAL;
    if (nodeid >= l->nnodes)
        return errprintf(err, "node %u of a program of %u nodes", nodeid,
                         l->nnodes);
    if (slot >= elan_layout_tasks(l, nodeid))
        return errprintf(err, "local task %u of %u on node %u", slot,
                         elan_layout_tasks(l, nodeid), nodeid);
    set(&vars[0], "RMS_NNODES", l->nnodes);
    set(&vars[1], "RMS_NPROCS", l->nprocs);
    set(&vars[2], "RMS_NODEID", nodeid);
    set(&vars[3], "RMS_PROCID", elan_layout_proc(l, nodeid, slot));
    set(&vars[4], "RMS_RANK", elan_layout_proc(l, nodeid, slot));
    set(&vars[5], "RMS_JOBID", program->prognum);
    vars[6].name = "RMS_RESOURCEID";
    snprintf(vars[6].value, sizeof(vars[6].value), "%.100s.%u", cluster,
             program->job_id);
    vars[7].name = "RMS_MACHINE";
    snprintf(vars[7].value, sizeof(vars[7].value), "%.100s", cluster);
    return 0;
}
