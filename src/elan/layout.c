/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "elan/elanvp.h"
#include "elan/layout.h"

struct id_index {
    uint32_t id;
    uint32_t node;
};

static int by_id(const void *a, const void *b)
{
    const struct id_index *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static struct id_index *sorted_ids(const struct elan_layout *l, uint32_t rail)
{
    struct id_index *pairs = calloc(l->nnodes, sizeof(*pairs));

    if (!pairs)
        return NULL;
    for (uint32_t n = 0; n < l->nnodes; n++)
        pairs[n] = (struct id_index){elan_layout_id(l, rail, n), n};
    qsort(pairs, l->nnodes, sizeof(*pairs), by_id);
    return pairs;
}

uint32_t *elan_layout_by_id(const struct elan_layout *l, uint32_t rail)
{
    struct id_index *pairs = sorted_ids(l, rail);
    uint32_t *nodes;

    if (!pairs)
        return NULL;
    nodes = malloc(l->nnodes * sizeof(*nodes));
    for (uint32_t n = 0; nodes && n < l->nnodes; n++)
        nodes[n] = pairs[n].node;
    free(pairs);
    return nodes;
}

static int check_ids(const struct elan_layout *l, uint32_t rail,
                     struct errbuf *err)
{
    struct id_index *pairs = sorted_ids(l, rail);
    int rc = 0;

    if (!pairs)
        return errprintf(err, "out of memory");
    if (pairs[l->nnodes - 1].id > SF_ELAN_NODE_ID_MAX) {
        rc = errprintf(err, "Elan id %u is above %d", pairs[l->nnodes - 1].id,
                       SF_ELAN_NODE_ID_MAX);
        errno = EINVAL;
    }
    for (uint32_t n = 1; rc == 0 && n < l->nnodes; n++) {
        if (pairs[n].id == pairs[n - 1].id) {
            rc = errprintf(err,
                           "two nodes of the step have Elan id %u on "
                           "rail %u",
                           pairs[n].id, rail);
            errno = EINVAL;
        }
    }
    free(pairs);
    return rc;
}

static int check_counts(const struct elan_layout_spec *s, struct errbuf *err)
{
    uint64_t nprocs = 0;

    errno = EINVAL;
    if (s->nnodes == 0)
        return errprintf(err, "a step without nodes");
    if (s->nrails == 0)
        return errprintf(err, "a step without rails");
    errno = E2BIG;
    if (s->nnodes > SF_ELAN_NODES_MAX)
        return errprintf(err, "%u nodes, limit %d", s->nnodes,
                         SF_ELAN_NODES_MAX);
    if (s->nrails > SF_ELAN_RAILS_MAX)
        return errprintf(err, "%u rails, limit %d", s->nrails,
                         SF_ELAN_RAILS_MAX);
    for (uint32_t n = 0; n < s->nnodes; n++)
        nprocs += s->tasks[n];
    if (nprocs > ELAN_MAX_VPS)
        return errprintf(err, "%llu processes, a capability holds %d",
                         (unsigned long long)nprocs, ELAN_MAX_VPS);
    errno = EINVAL;
    if (nprocs == 0)
        return errprintf(err, "a step without processes");
    return 0;
}

/* Process numbers node by node, 0 on. */
static void fill_block(struct elan_layout *l)
{
    for (uint32_t p = 0; p < l->nprocs; p++)
        l->procs[p] = p;
}

/* Slot 0 of every node, then slot 1 of those that have one, ... */
static void fill_cyclic(struct elan_layout *l)
{
    uint32_t p = 0;

    for (uint32_t s = 0; s < l->max_tasks; s++)
        for (uint32_t n = 0; n < l->nnodes; n++)
            if (s < elan_layout_tasks(l, n))
                l->procs[l->first[n] + s] = p++;
}

static void fill_order(struct elan_layout *l, bool cyclic)
{
    if (cyclic)
        fill_cyclic(l);
    else
        fill_block(l);
}

static int check_procs(const struct elan_layout *l, struct errbuf *err)
{
    uint8_t *seen = calloc(l->nprocs, 1);
    int rc = 0;

    if (!seen)
        return errprintf(err, "out of memory");
    for (uint32_t i = 0; i < l->nprocs && rc == 0; i++) {
        uint32_t p = l->procs[i];

        if (p >= l->nprocs || seen[p]++) {
            rc = errprintf(err, "task %u %s in a step of %u tasks", p,
                           p >= l->nprocs ? "does not exist" : "is twice",
                           l->nprocs);
            errno = EINVAL;
        }
    }
    free(seen);
    return rc;
}

static int allocate(struct elan_layout *l, const struct elan_layout_spec *s)
{
    size_t nids = (size_t)s->nrails * s->nnodes;

    l->nnodes = s->nnodes;
    l->nrails = s->nrails;
    l->cyclic = s->cyclic;
    l->ids = malloc(nids * sizeof(*l->ids));
    l->first = calloc((size_t)s->nnodes + 1, sizeof(*l->first));
    if (!l->ids || !l->first)
        return -1;
    memcpy(l->ids, s->ids, nids * sizeof(*l->ids));
    for (uint32_t n = 0; n < s->nnodes; n++) {
        l->first[n + 1] = l->first[n] + s->tasks[n];
        if (s->tasks[n] > l->max_tasks)
            l->max_tasks = s->tasks[n];
    }
    l->nprocs = l->first[s->nnodes];
    l->procs = malloc(l->nprocs * sizeof(*l->procs));
    return l->procs ? 0 : -1;
}

static int fill_procs(struct elan_layout *l, const struct elan_layout_spec *s,
                      struct errbuf *err)
{
    if (!s->tids) {
        fill_order(l, s->cyclic);
        return 0;
    }
    for (uint32_t n = 0; n < l->nnodes; n++)
        if (s->tasks[n] > 0)
            memcpy(l->procs + l->first[n], s->tids[n],
                   s->tasks[n] * sizeof(*l->procs));
    return check_procs(l, err);
}

int elan_layout_make(struct elan_layout *l, const struct elan_layout_spec *spec,
                     struct errbuf *err)
{
    memset(l, 0, sizeof(*l));
    if (check_counts(spec, err) < 0)
        return -1;
    if (allocate(l, spec) < 0) {
        errprintf(err, "out of memory");
        goto error;
    }
    for (uint32_t rail = 0; rail < l->nrails; rail++)
        if (check_ids(l, rail, err) < 0)
            goto error;
    if (fill_procs(l, spec, err) < 0)
        goto error;
    return 0;
error:
    elan_layout_free(l);
    return -1;
}

void elan_layout_free(struct elan_layout *l)
{
    int saved = errno;

    free(l->ids);
    free(l->first);
    free(l->procs);
    memset(l, 0, sizeof(*l));
    errno = saved;
}

uint32_t elan_layout_id(const struct elan_layout *l, uint32_t rail,
                        uint32_t node)
{
    return l->ids[(size_t)rail * l->nnodes + node];
}

uint32_t elan_layout_tasks(const struct elan_layout *l, uint32_t node)
{
    return l->first[node + 1] - l->first[node];
}

uint32_t elan_layout_proc(const struct elan_layout *l, uint32_t node,
                          uint32_t slot)
{
    return l->procs[l->first[node] + slot];
}

int32_t elan_layout_find(const struct elan_layout *l, uint32_t id)
{
    for (uint32_t n = 0; n < l->nnodes; n++)
        if (l->ids[n] == id)
            return (int32_t)n;
    return -1;
}
