/* SPDX-License-Identifier: BSD-3-Clause
 *
 * switch/elan: what every process that loads the plugin needs, and the info of
 * a step that Slurm carries for us.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auth_info.h"
#include "plugins/switch_elan/hooks.h"
#include "plugins/switch_elan/sweep.h"

const char plugin_name[] = "Elan capabilities and program descriptions";
const char plugin_type[] = "switch/elan";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;
const uint32_t plugin_id = 0x454c; /* "EL"; Slurm's own begin at 100 */

int init(void);
int fini(void);

int init(void)
{
    if (slurmabi_in_slurmd() && geteuid() == 0)
        switch_elan_sweep(false);
    return SLURM_SUCCESS;
}

int fini(void)
{
    switch_elan_ctld_fini();
    return SLURM_SUCCESS;
}

const char *switch_elan_munge_socket(char *buf, size_t size)
{
    return auth_info_munge_socket(slurm_conf.authinfo, buf, size);
}

struct switch_jobinfo *switch_elan_info_create(uint32_t job_id,
                                               uint32_t step_id)
{
    struct switch_jobinfo *j = slurmabi_calloc(1, sizeof(*j));

    if (!j)
        return NULL;
    j->magic = SWITCH_ELAN_MAGIC;
    elan_jobinfo_init(&j->info, job_id, step_id, NO_VAL);
    return j;
}

void switch_elan_info_destroy(struct switch_jobinfo *j)
{
    if (!j || j->magic != SWITCH_ELAN_MAGIC)
        return;
    elan_jobinfo_free(&j->info);
    j->magic = 0;
    slurmabi_free(j);
}

struct switch_jobinfo *switch_elan_info_copy(const struct switch_jobinfo *src)
{
    struct switch_jobinfo *j = switch_elan_info_create(0, 0);

    if (j && elan_jobinfo_copy(&j->info, &src->info) < 0) {
        switch_elan_info_destroy(j);
        return NULL;
    }
    return j;
}

int switch_elan_info_pack(const struct switch_jobinfo *j,
                          struct slurmabi_buf *buf)
{
    struct errbuf err;
    void *bytes;
    size_t len;

    if (elan_jobinfo_encode(j ? &j->info : NULL, &bytes, &len, &err) < 0) {
        slurm_error("SF-E109 switch/elan: packing job info: %s", err.text);
        /* Slurm does not look at the result: the reader must find something. */
        slurm_packmem("", 0, buf);
        return SLURM_ERROR;
    }
    slurm_packmem(bytes, (uint32_t)len, buf);
    free(bytes);
    return SLURM_SUCCESS;
}

/* slurmctld reads job infos from its state file, and ends for good when one of
 * them fails.  So there one that it cannot read (of a newer version, before a
 * step back) is one that was never built: the job goes on, its contexts are
 * not in the books. */
static int decode(struct elan_jobinfo *info, const void *bytes, uint32_t len)
{
    struct errbuf err;

    if (elan_jobinfo_decode(info, bytes, len, &err) == 0)
        return SLURM_SUCCESS;
    if (!slurmabi_in_slurmctld()) {
        slurm_error("SF-E110 switch/elan: job info: %s", err.text);
        return SLURM_ERROR;
    }
    slurm_error("SF-E114 switch/elan: job info of a step in the state: %s; the "
                "step goes on, other steps may be given its contexts before "
                "it ends",
                err.text);
    return SLURM_SUCCESS;
}

struct switch_jobinfo *switch_elan_info_unpack(struct slurmabi_buf *buf)
{
    struct switch_jobinfo *j = switch_elan_info_create(0, 0);
    char *bytes = NULL;
    uint32_t len = 0;
    int rc;

    if (!j)
        return NULL;
    rc = slurm_unpackmem_xmalloc(&bytes, &len, buf);
    if (rc == SLURM_SUCCESS)
        rc = decode(&j->info, bytes, len);
    slurmabi_free(bytes);
    if (rc != SLURM_SUCCESS) {
        switch_elan_info_destroy(j);
        return NULL;
    }
    return j;
}
