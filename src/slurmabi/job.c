/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "slurmabi/job.h"
#include "slurmabi/layout.h"

static void get(const struct slurmabi_job *job, uint16_t offset, void *to,
                size_t size)
{
    memcpy(to, (const char *)job + offset, size);
}

static uint32_t get32(const struct slurmabi_job *job, uint16_t offset)
{
    uint32_t v;

    get(job, offset, &v, sizeof(v));
    return v;
}

bool slurmabi_job_is_good(const struct slurmabi_job *job)
{
    const struct slurmabi_layout *l = slurmabi_layout();

    return l && job && l->job.switch_job &&
           get32(job, l->job.magic_at) == l->job.magic;
}

uint32_t slurmabi_job_id(const struct slurmabi_job *job)
{
    return get32(job, slurmabi_layout()->job.job_id);
}

uid_t slurmabi_job_uid(const struct slurmabi_job *job)
{
    return get32(job, slurmabi_layout()->job.user_id);
}

uint16_t slurmabi_job_restarts(const struct slurmabi_job *job)
{
    uint16_t v;

    get(job, slurmabi_layout()->job.restarts, &v, sizeof(v));
    return v;
}

bool slurmabi_job_has_stepmgr(const struct slurmabi_job *job)
{
#ifdef STEPMGR_ENABLED
    uint64_t flags;

    get(job, slurmabi_layout()->job.flags, &flags, sizeof(flags));
    return flags & STEPMGR_ENABLED;
#else
    return false;
#endif
}

bool slurmabi_job_is_on_nodes(const struct slurmabi_job *job)
{
    uint32_t state = get32(job, slurmabi_layout()->job.state);

    return (state & JOB_STATE_BASE) == JOB_RUNNING ||
           (state & JOB_STATE_BASE) == JOB_SUSPENDED ||
           (state & (JOB_COMPLETING | JOB_STOPPED | JOB_CONFIGURING));
}

const char *slurmabi_job_nodes(const struct slurmabi_job *job)
{
    const char *v;

    get(job, slurmabi_layout()->job.nodes, &v, sizeof(v));
    return v;
}

uint16_t slurmabi_job_cpus(const struct slurmabi_job *job)
{
    const struct slurmabi_layout *l = slurmabi_layout();
    const char *resources;
    const uint16_t *cpus;
    uint16_t most = 0;
    uint32_t n;

    get(job, l->job.resources, &resources, sizeof(resources));
    if (!resources)
        return 0;
    memcpy(&n, resources + l->resources.cpus_len, sizeof(n));
    memcpy(&cpus, resources + l->resources.cpus, sizeof(cpus));
    for (uint32_t i = 0; cpus && i < n; i++)
        if (cpus[i] > most)
            most = cpus[i];
    return most;
}

void **slurmabi_job_switch(struct slurmabi_job *job)
{
    return (void **)((char *)job + slurmabi_layout()->job.switch_job);
}

struct slurmabi_job *slurmabi_job_find(uint32_t job_id)
{
    return find_job_record && slurmabi_in_slurmctld() ? find_job_record(job_id)
                                                      : NULL;
}
