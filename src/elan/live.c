/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A full table is an error of ours to report, not a reason to exit. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "elan/live.h"

struct elan_live_program {
    uint32_t prognum; /* key */
    struct elan_jobinfo info;
    UT_hash_handle hh;
    uint32_t nodes[];
};

int elan_live_add(struct elan_live *live, const struct elan_jobinfo *info)
{
    size_t size = info->nnodes * sizeof(uint32_t);
    struct elan_live_program *p = calloc(1, sizeof(*p) + size);

    if (!p)
        return -1;
    p->prognum = info->prognum;
    memcpy(p->nodes, info->nodes, size);
    p->info = *info;
    p->info.nodes = p->nodes;
    p->info.sealed = NULL;
    HASH_ADD(hh, live->by_number, prognum, sizeof(p->prognum), p);
    if (p->hh.tbl)
        return 0;
    free(p);
    errno = ENOMEM;
    return -1;
}

struct elan_live_program *elan_live_find(const struct elan_live *live,
                                         uint32_t prognum)
{
    struct elan_live_program *p;

    HASH_FIND(hh, live->by_number, &prognum, sizeof(prognum), p);
    return p;
}

struct elan_live_program *elan_live_any(const struct elan_live *live)
{
    return live->by_number;
}

void elan_live_remove(struct elan_live *live, struct elan_live_program *p)
{
    HASH_DEL(live->by_number, p);
    free(p);
}

uint32_t elan_live_count(const struct elan_live *live)
{
    return HASH_COUNT(live->by_number);
}

void elan_live_each(struct elan_live *live,
                    void (*f)(struct elan_live_program *p, void *arg),
                    void *arg)
{
    struct elan_live_program *p, *next;

    HASH_ITER(hh, live->by_number, p, next)
    f(p, arg);
}

const struct elan_jobinfo *elan_live_info(const struct elan_live_program *p)
{
    return &p->info;
}

bool elan_live_same_step(const struct elan_live_program *p,
                         const struct elan_jobinfo *info)
{
    return p->info.job_id == info->job_id && p->info.step_id == info->step_id &&
           p->info.het_comp == info->het_comp;
}
