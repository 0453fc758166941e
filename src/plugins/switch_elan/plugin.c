/* SPDX-License-Identifier: BSD-3-Clause
 *
 * switch/elan: what every process that loads the plugin needs, and the hooks
 * that have nothing to do.  The controller's hooks are in ctld.c, those of
 * slurmstepd and its tasks in stepd.c.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugins/switch_elan/jobinfo.h"
#include "plugins/switch_elan/sweep.h"

const char plugin_name[] = "Elan capabilities and program descriptions";
const char plugin_type[] = "switch/elan";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;
const uint32_t plugin_id = 0x454c; /* "EL"; Slurm's own begin at 100 */

int init(void);
int fini(void);

int init(void)
{
    if (slurm_running_in_slurmd() && geteuid() == 0)
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
    const char *at =
        slurm_conf.authinfo ? strstr(slurm_conf.authinfo, "socket=") : NULL;
    size_t len;

    if (!at)
        return NULL;
    at += strlen("socket=");
    len = strcspn(at, ",");
    if (len == 0 || len >= size)
        return NULL;
    memcpy(buf, at, len);
    buf[len] = '\0';
    return buf;
}

int switch_p_alloc_jobinfo(struct switch_jobinfo **out, uint32_t job_id,
                           uint32_t step_id)
{
    struct switch_jobinfo *j = slurmabi_calloc(1, sizeof(*j));

    *out = j;
    if (!j)
        return SLURM_ERROR;
    j->magic = SWITCH_ELAN_MAGIC;
    elan_jobinfo_init(&j->info, job_id, step_id, NO_VAL);
    return SLURM_SUCCESS;
}

void switch_p_free_jobinfo(struct switch_jobinfo *j)
{
    if (!j || j->magic != SWITCH_ELAN_MAGIC)
        return;
    elan_jobinfo_free(&j->info);
    j->magic = 0;
    slurmabi_free(j);
}

int switch_p_duplicate_jobinfo(struct switch_jobinfo *src,
                               struct switch_jobinfo **dst)
{
    struct switch_jobinfo *j;

    *dst = NULL;
    if (!src)
        return SLURM_SUCCESS;
    if (switch_p_alloc_jobinfo(&j, 0, 0) != SLURM_SUCCESS)
        return SLURM_ERROR;
    if (elan_jobinfo_copy(&j->info, &src->info) < 0) {
        switch_p_free_jobinfo(j);
        return SLURM_ERROR;
    }
    *dst = j;
    return SLURM_SUCCESS;
}

int switch_p_pack_jobinfo(struct switch_jobinfo *j, struct slurmabi_buf *buf,
                          uint16_t protocol)
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
    if (!slurm_running_in_slurmctld()) {
        slurm_error("SF-E110 switch/elan: job info: %s", err.text);
        return SLURM_ERROR;
    }
    slurm_error("SF-E114 switch/elan: job info of a step in the state: %s; the "
                "step goes on, other steps may be given its contexts before "
                "it ends",
                err.text);
    return SLURM_SUCCESS;
}

int switch_p_unpack_jobinfo(struct switch_jobinfo **out,
                            struct slurmabi_buf *buf, uint16_t protocol)
{
    struct switch_jobinfo *j;
    char *bytes = NULL;
    uint32_t len = 0;
    int rc;

    if (switch_p_alloc_jobinfo(&j, 0, 0) != SLURM_SUCCESS)
        return SLURM_ERROR;
    /* Nothing of ours is called earlier on a node. */
    if (slurm_running_in_slurmd() && geteuid() == 0)
        switch_elan_announce();
    rc = slurm_unpackmem_xmalloc(&bytes, &len, buf);
    if (rc == SLURM_SUCCESS)
        rc = decode(&j->info, bytes, len);
    slurmabi_free(bytes);
    *out = j;
    if (rc != SLURM_SUCCESS) {
        switch_p_free_jobinfo(j);
        *out = NULL;
    }
    return rc;
}

int switch_p_get_jobinfo(struct switch_jobinfo *j, int key, void *data)
{
    errno = EINVAL;
    return SLURM_ERROR;
}

/* ---- suspending a whole job: nothing of ours travels with it ------------ */

int switch_p_job_suspend_test(struct switch_jobinfo *j)
{
    return SLURM_SUCCESS;
}

void switch_p_job_suspend_info_get(struct switch_jobinfo *j, void *out)
{
    if (out)
        *(void **)out = NULL;
}

void switch_p_job_suspend_info_pack(void *info, struct slurmabi_buf *buf,
                                    uint16_t protocol)
{
}

int switch_p_job_suspend_info_unpack(void **info, struct slurmabi_buf *buf,
                                     uint16_t protocol)
{
    if (info)
        *info = NULL;
    return SLURM_SUCCESS;
}

void switch_p_job_suspend_info_free(void *info)
{
}

int switch_p_job_suspend(void *info, int max_wait)
{
    return SLURM_SUCCESS;
}

int switch_p_job_resume(void *info, int max_wait)
{
    return SLURM_SUCCESS;
}
