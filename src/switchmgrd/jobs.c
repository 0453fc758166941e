/* SPDX-License-Identifier: BSD-3-Clause
 * See jobs.h.
 */
#include "switchmgrd/jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct job {
    uint32_t id;
    char name[REC_JOB_NAME_MAX];
    char *nodes; /* as far as they were told, with a NUL */
    uint32_t len;
    bool whole;
    UT_hash_handle hh;
};

struct jobs {
    struct job *by_id;
};

struct jobs *jobs_new(void)
{
    return calloc(1, sizeof(struct jobs));
}

static void forget(struct jobs *jobs, struct job *job)
{
    HASH_DEL(jobs->by_id, job);
    free(job->nodes);
    free(job);
}

void jobs_free(struct jobs *jobs)
{
    struct job *job, *next;

    if (!jobs)
        return;
    HASH_ITER(hh, jobs->by_id, job, next)
    forget(jobs, job);
    free(jobs);
}

/* NULL: no room. */
static struct job *make(struct jobs *jobs, uint32_t id)
{
    struct job *job = HASH_COUNT(jobs->by_id) < SF_SWITCHMGR_JOBS_MAX
                          ? calloc(1, sizeof(*job))
                          : NULL;

    if (job) {
        job->id = id;
        HASH_ADD(hh, jobs->by_id, id, sizeof(job->id), job);
    }
    return job;
}

static bool append(struct job *job, const struct rec_job *rec)
{
    char *more;

    if (rec->at != job->len || rec->len > sizeof(rec->nodes) ||
        rec->len > SF_JOB_NODES_MAX - job->len)
        return false;
    more = realloc(job->nodes, job->len + rec->len + 1);
    if (!more)
        return false;
    memcpy(more + job->len, rec->nodes, rec->len);
    job->nodes = more;
    job->len += rec->len;
    job->nodes[job->len] = '\0';
    job->whole = rec->flags & REC_JOB_LAST;
    return true;
}

bool jobs_take(struct jobs *jobs, const struct rec_job *rec)
{
    struct job *job;

    HASH_FIND(hh, jobs->by_id, &rec->id, sizeof(rec->id), job);
    if (rec->flags & REC_JOB_GONE) {
        if (job)
            forget(jobs, job);
        return true;
    }
    if (!job && !(job = make(jobs, rec->id)))
        return false;
    if (rec->at == 0) {
        snprintf(job->name, sizeof(job->name), "%.*s",
                 (int)sizeof(rec->name) - 1, rec->name);
        job->len = 0;
    }
    if (append(job, rec))
        return true;
    forget(jobs, job);
    return false;
}

const char *jobs_nodes(const struct jobs *jobs, const char *name)
{
    char id[16];

    for (const struct job *j = jobs->by_id; j; j = j->hh.next) {
        snprintf(id, sizeof(id), "%u", j->id);
        if (j->whole && (strcmp(j->name, name) == 0 || strcmp(id, name) == 0))
            return j->nodes;
    }
    return NULL;
}
