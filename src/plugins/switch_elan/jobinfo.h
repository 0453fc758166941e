/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Slurm's opaque switch_jobinfo_t, which is ours to define.
 */
#ifndef SF_SWITCH_ELAN_JOBINFO_H
#define SF_SWITCH_ELAN_JOBINFO_H

#include "elan/jobinfo.h"
#include "slurmabi/slurm_sym.h"

#define SWITCH_ELAN_MAGIC 0x454c414e /* "ELAN" */

struct switch_jobinfo {
    uint32_t magic;
    struct elan_jobinfo info;
};

/* The socket of munged that slurm.conf names, in buf; NULL: the default. */
const char *switch_elan_munge_socket(char *buf, size_t size);

#endif
