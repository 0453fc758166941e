/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/seal.h"
#include "elan/lease.h"
#include "plugins/switch_elan/jobinfo.h"
#include "plugins/switch_elan/node_open.h"
#include "plugins/switch_elan/site.h"

/* What this node knows by itself about the step. */
static int know(struct elan_check *check, const struct slurmabi_stepd *step,
                struct errbuf *err)
{
    slurm_step_id_t id = slurmabi_stepd_step_id(step);
    const char *name = slurmabi_node_name();
    struct site site;
    uint32_t ids[SF_ELAN_RAILS_MAX];
    uint16_t run;
    int rc;

    *check = (struct elan_check){
        .slurm_uid = slurm_conf.slurm_user_id,
        .job_id = id.job_id,
        .step_id = id.step_id,
        .het_comp = id.step_het_comp,
        .uid = slurmabi_stepd_uid(step),
        .nodeid = slurmabi_stepd_nodeid(step),
        .now = (uint64_t)time(NULL),
    };
    if (!name)
        return errprintf(err, "the name of this node is not known");
    if (slurmabi_stepd_job_restarts(step, &run, err) < 0 ||
        site_read(&site, err) < 0)
        return -1;
    check->run = run;
    check->max_age = site.options.max_age;
    rc = elanhosts_ids(site.hosts, name, 1, ids, err);
    check->node_id = ids[0];
    site_free(&site);
    return rc;
}

/* The bytes that munged has sealed, free() them; NULL with text. */
static void *open_seal(size_t *len, struct seal_info *info, const char *sealed,
                       const char *what, struct errbuf *err)
{
    char path[512];
    struct errbuf why;
    void *bytes;

    if (seal_open_secret(&bytes, len, info, sealed,
                         switch_elan_munge_socket(path, sizeof(path)),
                         &why) == 0)
        return bytes;
    errprintf(err, "%s: %s", what, why.text);
    return NULL;
}

/* What slurmctld leased to the job, by its seal.  It is as old as the job. */
static int open_lease(struct elan_lease *lease, const char *sealed,
                      uid_t slurm_uid, struct errbuf *err)
{
    struct seal_info info;
    size_t len;
    void *bytes = open_seal(&len, &info, sealed, "lease", err);
    int rc;

    if (!bytes)
        return -1;
    if (info.uid == slurm_uid)
        rc = elan_lease_decode(lease, bytes, len, err);
    else
        rc = errprintf(err, "lease: sealed by uid %u, not by SlurmUser %u",
                       (unsigned)info.uid, (unsigned)slurm_uid);
    free(bytes);
    return rc;
}

static int open_step(struct elan_payload *payload, const char *sealed,
                     struct elan_check *check, struct errbuf *err)
{
    struct seal_info info;
    size_t len;
    void *bytes = open_seal(&len, &info, sealed, "decode", err);
    int rc;

    if (!bytes)
        return -1;
    check->encoder_uid = info.uid;
    check->expired = info.expired;
    rc = elan_payload_open(payload, bytes, len, check, err);
    explicit_bzero(bytes, len);
    free(bytes);
    return rc;
}

/* Slurmctld's seal, or a stepmgr's and slurmctld's lease behind it. */
static int open_sealed(struct elan_payload *payload, const char *sealed,
                       struct elan_check *check, struct errbuf *err)
{
    const char *behind = strchr(sealed, ' ');
    struct elan_lease lease = {0};
    char *step;
    int rc = 0;

    if (!behind)
        return open_step(payload, sealed, check, err);
    step = strndup(sealed, (size_t)(behind - sealed));
    if (!step)
        return errprintf(err, "decode: out of memory");
    rc = open_lease(&lease, behind + 1, check->slurm_uid, err);
    if (rc == 0) {
        check->lease = &lease;
        rc = open_step(payload, step, check, err);
        check->lease = NULL;
    }
    elan_lease_free(&lease);
    free(step);
    return rc;
}

/* The program must have room for every task that is about to be started. */
static int check_tasks(const struct elan_payload *payload,
                       const struct elan_check *check,
                       const struct slurmabi_stepd *step, struct errbuf *err)
{
    uint32_t room = elan_layout_tasks(&payload->layout, check->nodeid);
    uint32_t tasks = slurmabi_stepd_node_tasks(step);

    if (tasks == room)
        return 0;
    return errprintf(err, "tasks: made for %u tasks on this node, not %u", room,
                     tasks);
}

int node_open(struct elan_payload *payload, const struct slurmabi_stepd *step,
              struct errbuf *err)
{
    const struct switch_jobinfo *j = slurmabi_stepd_switch_job(step);
    struct elan_check check;

    if (!j || j->magic != SWITCH_ELAN_MAGIC)
        return errprintf(err, "decode: the step has no job info");
    if (!j->info.sealed)
        return errprintf(err, "decode: the job info has no sealed part");
    if (know(&check, step, err) < 0 ||
        open_sealed(payload, j->info.sealed, &check, err) < 0)
        return -1;
    if (check_tasks(payload, &check, step, err) == 0)
        return 0;
    elan_payload_free(payload);
    return -1;
}
