/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The RMS_* variables of one process.  All count within the program, which
 * is one component of a step:
 *
 *     RMS_NNODES      nodes of the program
 *     RMS_NPROCS      processes of the program
 *     RMS_NODEID      this node, 0 on, whatever its Elan id
 *     RMS_PROCID      this process, 0 on
 *     RMS_RANK        the same
 *     RMS_JOBID       program number
 *     RMS_RESOURCEID  CLUSTER.JOB, the Slurm job
 *     RMS_MACHINE     CLUSTER, Slurm's ClusterName
 */
#ifndef SF_ELAN_RMS_ENV_H
#define SF_ELAN_RMS_ENV_H

#include <stdint.h>

#include "base/errbuf.h"
#include "elan/layout.h"

#define ELAN_RMS_NVARS 8
#define ELAN_RMS_VALUE_MAX 128

struct elan_rms_var {
    const char *name; /* static */
    char value[ELAN_RMS_VALUE_MAX];
};

struct elan_rms_program {
    const struct elan_layout *layout;
    uint32_t prognum;
    uint32_t job_id;
    const char *cluster; /* ClusterName; cut at 100 bytes; may be NULL */
};

/* Variables of the process in slot `slot` (local task id) of node index
 * `nodeid`.  Returns 0, or -1 with EINVAL and text when there is none. */
int elan_rms_env(struct elan_rms_var vars[ELAN_RMS_NVARS],
                 const struct elan_rms_program *program, uint32_t nodeid,
                 uint32_t slot, struct errbuf *err);

#endif
