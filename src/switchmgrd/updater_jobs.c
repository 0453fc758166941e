/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The nodes of Slurm's running jobs, for the page: from libslurm to the
 * collector.  Nothing is told where slurm.conf has PrivateData=jobs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/log.h"
#include "slurmabi/slurm_sym.h"
#include "switchmgrd/steady_clock.h"
#include "switchmgrd/updater.h"

#define LOOK_MS 10000 /* how often at most */

static bool wanted(const struct updater *u)
{
    return u->conf->page_jobs && u->conf->metrics_listen &&
           *u->conf->metrics_listen;
}

/* Does slurm.conf keep jobs from other users?  What was said last when it does
 * not answer. */
static bool is_private(struct updater *u)
{
    slurm_conf_t *conf = NULL;

    if (slurm_load_ctl_conf((time_t)u->jobs.conf_update, &conf) ==
        SLURM_SUCCESS) {
        u->jobs.conf_update = conf->last_update;
        u->jobs.is_private = conf->private_data & PRIVATE_DATA_JOBS;
        slurmabi_free_conf(conf);
    }
    return u->jobs.is_private;
}

static void put_name(const slurm_job_info_t *in, char *name, size_t size)
{
    if (in->array_task_id != NO_VAL)
        snprintf(name, size, "%u_%u", in->array_job_id, in->array_task_id);
    else if (in->het_job_id && in->het_job_id != NO_VAL)
        snprintf(name, size, "%u+%u", in->het_job_id, in->het_job_offset);
    else
        snprintf(name, size, "%u", in->job_id);
}

static void take_job(struct updater *u, const slurm_job_info_t *in)
{
    const uint32_t state = in->job_state & JOB_STATE_BASE;
    struct upd_job *j;

    if ((state != JOB_RUNNING && state != JOB_SUSPENDED) || !in->nodes ||
        !*in->nodes || strlen(in->nodes) > SF_JOB_NODES_MAX)
        return;
    HASH_FIND(hh, u->jobs.by_id, &in->job_id, sizeof(in->job_id), j);
    if (!j && HASH_COUNT(u->jobs.by_id) < SF_SWITCHMGR_JOBS_MAX &&
        (j = calloc(1, sizeof(*j)))) {
        j->id = in->job_id;
        HASH_ADD(hh, u->jobs.by_id, id, sizeof(j->id), j);
    }
    if (!j)
        return;
    j->seen = true;
    if (j->nodes && strcmp(j->nodes, in->nodes) == 0)
        return;
    free(j->nodes);
    j->nodes = strdup(in->nodes);
    put_name(in, j->name, sizeof(j->name));
    j->told = !j->nodes;
}

/* Those that are not there any more are told of, and then forgotten. */
static void end_unseen(struct updater *u)
{
    for (struct upd_job *j = u->jobs.by_id; j; j = j->hh.next) {
        if (!j->seen && j->nodes) {
            free(j->nodes);
            j->nodes = NULL;
            j->told = false;
        }
    }
}

void upd_jobs_look(struct updater *u)
{
    job_info_msg_t *msg = NULL;
    int64_t now = steady_now();

    if (now < u->jobs.next || (wanted(u) && !u->status.reachable))
        return;
    u->jobs.next = now + LOOK_MS;
    for (struct upd_job *j = u->jobs.by_id; j; j = j->hh.next)
        j->seen = false;
    if (!wanted(u) || is_private(u)) {
        u->jobs.last_update = 0;
    } else if (slurm_load_jobs((time_t)u->jobs.last_update, &msg, SHOW_ALL) !=
               SLURM_SUCCESS) {
        if (errno != SLURM_NO_CHANGE_IN_DATA)
            log_debug("slurm_load_jobs: %s", slurm_strerror(errno));
        return;
    } else {
        for (uint32_t i = 0; i < msg->record_count; i++)
            take_job(u, &msg->job_array[i]);
        u->jobs.last_update = msg->last_update;
        slurm_free_job_info_msg(msg);
        malloc_trim(0);
    }
    end_unseen(u);
}

/* False: the socket takes no more now. */
static bool send_job(struct updater *u, const struct upd_job *j)
{
    struct rec_job rec = {.type = REC_JOB, .id = j->id};
    size_t len = j->nodes ? strlen(j->nodes) : 0;

    memcpy(rec.name, j->name, sizeof(rec.name));
    if (!j->nodes)
        rec.flags = REC_JOB_GONE;
    do {
        rec.len =
            (uint32_t)(len - rec.at < sizeof(rec.nodes) ? len - rec.at
                                                        : sizeof(rec.nodes));
        if (rec.len)
            memcpy(rec.nodes, j->nodes + rec.at, rec.len);
        if (j->nodes && rec.at + rec.len == len)
            rec.flags = REC_JOB_LAST;
        if (!upd_send(u, &rec, sizeof(rec)))
            return false;
        rec.at += rec.len;
    } while (rec.at < len);
    return true;
}

void upd_jobs_tell(struct updater *u)
{
    struct upd_job *j, *next;

    u->jobs.untold = false;
    HASH_ITER(hh, u->jobs.by_id, j, next)
    {
        if (!j->told && !send_job(u, j)) {
            u->jobs.untold = true; /* from its beginning, the next time */
            return;
        }
        j->told = true;
        if (j->nodes)
            continue;
        HASH_DEL(u->jobs.by_id, j);
        free(j);
    }
}
