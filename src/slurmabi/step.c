/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "slurmabi/layout.h"
#include "slurmabi/step.h"

static uint32_t get32(const void *record, uint16_t offset)
{
    uint32_t v;

    memcpy(&v, (const char *)record + offset, sizeof(v));
    return v;
}

static const void *get_pointer(const void *record, uint16_t offset)
{
    const void *v;

    memcpy(&v, (const char *)record + offset, sizeof(v));
    return v;
}

bool slurmabi_step_info_is_lost(uint32_t version)
{
    return version >= SLURM_VERSION_NUM(24, 11, 0) &&
           version <= SLURM_VERSION_NUM(24, 11, 4);
}

static const void *job_of(const struct slurmabi_step *step)
{
    return get_pointer(step, slurmabi_layout()->step.job_ptr);
}

struct slurmabi_job *slurmabi_step_job(const struct slurmabi_step *step)
{
    return (struct slurmabi_job *)(uintptr_t)job_of(step);
}

slurm_step_id_t slurmabi_step_step_id(const struct slurmabi_step *step)
{
    slurm_step_id_t id;

    memcpy(&id, (const char *)step + slurmabi_layout()->step.step_id,
           sizeof(id));
    return id;
}

const char *slurmabi_step_network(const struct slurmabi_step *step)
{
    return get_pointer(step, slurmabi_layout()->step.network);
}

const char *slurmabi_step_host(const struct slurmabi_step *step)
{
    return get_pointer(step, slurmabi_layout()->step.host);
}

uint16_t slurmabi_step_port(const struct slurmabi_step *step)
{
    uint16_t v;

    memcpy(&v, (const char *)step + slurmabi_layout()->step.port, sizeof(v));
    return v;
}

int slurmabi_step_tell_user(const struct slurmabi_step *step, char *text)
{
    if (!srun_user_message)
        return -1;
    return srun_user_message((void *)(uintptr_t)job_of(step), text) == 0 ? 0
                                                                         : -1;
}

const slurm_step_layout_t *
slurmabi_step_layout(const struct slurmabi_step *step)
{
    return get_pointer(step, slurmabi_layout()->step.layout);
}

uid_t slurmabi_step_uid(const struct slurmabi_step *step)
{
    return get32(job_of(step), slurmabi_layout()->job.user_id);
}

uint16_t slurmabi_step_job_restarts(const struct slurmabi_step *step)
{
    uint16_t v;

    memcpy(&v, (const char *)job_of(step) + slurmabi_layout()->job.restarts,
           sizeof(v));
    return v;
}

uint32_t slurmabi_step_het_job_id(const struct slurmabi_step *step)
{
    return get32(job_of(step), slurmabi_layout()->job.het_job_id);
}

uint32_t slurmabi_step_het_job_offset(const struct slurmabi_step *step)
{
    return get32(job_of(step), slurmabi_layout()->job.het_job_offset);
}

static int contradiction(struct errbuf *err, const char *member)
{
    errprintf(err,
              "slurmctld's record of the step is not laid out as in Slurm "
              "%s: %s",
              SLURMABI_VERSION, member);
    errno = EINVAL;
    return -1;
}

int slurmabi_step_identify(const struct slurmabi_step *step,
                           slurm_step_id_t *id, struct errbuf *err)
{
    const struct slurmabi_layout *layout = slurmabi_layout();

    if (!layout) {
        errprintf(err,
                  "the records of Slurm %s were not measured on such a machine",
                  SLURMABI_VERSION);
        errno = ENOTSUP;
        return -1;
    }
    if (!step || get32(step, layout->step.magic_at) != layout->step.magic)
        return contradiction(err, "magic of the step");
    *id = slurmabi_step_step_id(step);
    if (!job_of(step) ||
        get32(job_of(step), layout->job.magic_at) != layout->job.magic)
        return contradiction(err, "magic of the job");
    if (get32(job_of(step), layout->job.job_id) != id->job_id)
        return contradiction(err, "job_id");
    return 0;
}

int slurmabi_step_check(const struct slurmabi_step *step, uint32_t job_id,
                        uint32_t step_id, struct errbuf *err)
{
    slurm_step_id_t id;

    if (slurmabi_step_identify(step, &id, err) < 0)
        return -1;
    if (id.job_id != job_id || id.step_id != step_id)
        return contradiction(err, "step_id");
    return 0;
}
