/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bytes <-> struct elan_layout.  The form is in doc/jobinfo-wire.md.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/limits.h"
#include "elan/elanvp.h"
#include "elan/layout.h"
#include "elan/runs.h"

enum wire_order {
    WIRE_BLOCK = 1,
    WIRE_CYCLIC = 2,
    WIRE_EXPLICIT = 3,
};

struct lists {
    uint32_t *ids, *tasks, *procs;
    size_t nids, ntasks, nprocs;
};

static bool is_block(const struct elan_layout *l)
{
    for (uint32_t p = 0; p < l->nprocs; p++)
        if (l->procs[p] != p)
            return false;
    return true;
}

static bool is_cyclic(const struct elan_layout *l)
{
    uint32_t p = 0;

    for (uint32_t s = 0; s < l->max_tasks; s++)
        for (uint32_t n = 0; n < l->nnodes; n++)
            if (s < elan_layout_tasks(l, n) && elan_layout_proc(l, n, s) != p++)
                return false;
    return true;
}

static enum wire_order wire_order(const struct elan_layout *l)
{
    if (is_block(l))
        return WIRE_BLOCK;
    return is_cyclic(l) ? WIRE_CYCLIC : WIRE_EXPLICIT;
}

size_t elan_layout_size(const struct elan_layout *l)
{
    return 3 + elan_runs_size((size_t)l->nrails * l->nnodes) +
           elan_runs_size(l->nnodes) + elan_runs_size(l->nprocs);
}

static void put_tasks(struct be_writer *w, const struct elan_layout *l)
{
    uint32_t run[2] = {0, 0};
    uint8_t *count_at = w->start + w->len;
    uint32_t nruns = 0;

    /* Runs of equal counts, written directly: no list of them exists. */
    be_put32(w, 0);
    for (uint32_t n = 0; n < l->nnodes; n += run[1], nruns++) {
        run[0] = elan_layout_tasks(l, n);
        run[1] = 1;
        while (n + run[1] < l->nnodes &&
               elan_layout_tasks(l, n + run[1]) == run[0])
            run[1]++;
        be_put32(w, run[0]);
        be_put32(w, run[1]);
        be_put32(w, 0);
    }
    if (!w->bad)
        be_store32(count_at, nruns);
}

void elan_layout_put(struct be_writer *w, const struct elan_layout *l)
{
    enum wire_order order = wire_order(l);

    be_put8(w, order);
    be_put8(w, l->cyclic);
    be_put8(w, l->nrails);
    elan_runs_put(w, l->ids, (size_t)l->nrails * l->nnodes);
    put_tasks(w, l);
    if (order == WIRE_EXPLICIT)
        elan_runs_put(w, l->procs, l->nprocs);
}

static int get_lists(struct be_reader *r, struct lists *in, uint32_t nrails,
                     bool explicit_procs)
{
    if (elan_runs_get(r, &in->ids, &in->nids,
                      (size_t)nrails * SF_ELAN_NODES_MAX) < 0)
        return -1;
    if (elan_runs_get(r, &in->tasks, &in->ntasks, SF_ELAN_NODES_MAX) < 0)
        return -1;
    if (explicit_procs &&
        elan_runs_get(r, &in->procs, &in->nprocs, ELAN_MAX_VPS) < 0)
        return -1;
    return 0;
}

/* The lists must agree with each other before pointers into them are made. */
static int check_lists(const struct lists *in, uint32_t nrails,
                       enum wire_order order)
{
    uint64_t sum = 0;

    if (in->nids != in->ntasks * nrails)
        return -1;
    for (size_t n = 0; n < in->ntasks; n++) {
        if (in->tasks[n] > ELAN_MAX_VPS)
            return -1;
        sum += in->tasks[n];
    }
    return order == WIRE_EXPLICIT && sum != in->nprocs ? -1 : 0;
}

static int make(struct elan_layout *l, const struct lists *in, uint32_t nrails,
                enum wire_order order, struct errbuf *err)
{
    uint16_t *tasks = malloc((in->ntasks + 1) * sizeof(*tasks));
    uint32_t **tids = calloc(in->ntasks + 1, sizeof(*tids));
    uint32_t *next = in->procs;
    int rc = -1;

    if (tasks && tids) {
        struct elan_layout_spec spec = {
            .nnodes = (uint32_t)in->ntasks,
            .nrails = nrails,
            .ids = in->ids,
            .tasks = tasks,
            .tids = order == WIRE_EXPLICIT ? tids : NULL,
            .cyclic = order == WIRE_CYCLIC,
        };

        for (size_t n = 0; n < in->ntasks; n++) {
            tasks[n] = (uint16_t)in->tasks[n];
            tids[n] = next;
            if (next)
                next += in->tasks[n];
        }
        rc = elan_layout_make(l, &spec, err);
    } else {
        errprintf(err, "out of memory");
    }
    free(tasks);
    free(tids);
    return rc;
}

static int malformed(struct errbuf *err)
{
    if (errno == ENOMEM)
        return errprintf(err, "out of memory");
    errno = EPROTO;
    return errprintf(err, "malformed layout");
}

int elan_layout_get(struct be_reader *r, struct elan_layout *l,
                    struct errbuf *err)
{
    enum wire_order order = be_get8(r);
    uint8_t cyclic = be_get8(r);
    uint8_t nrails = be_get8(r);
    struct lists in = {0};
    int rc = -1;

    *l = (struct elan_layout){0};
    errno = EPROTO;
    if (r->bad || order < WIRE_BLOCK || order > WIRE_EXPLICIT || cyclic > 1 ||
        nrails < 1 || nrails > SF_ELAN_RAILS_MAX)
        malformed(err);
    else if (get_lists(r, &in, nrails, order == WIRE_EXPLICIT) < 0 ||
             check_lists(&in, nrails, order) < 0)
        malformed(err);
    else
        rc = make(l, &in, nrails, order, err);
    if (rc == 0)
        l->cyclic = cyclic;
    free(in.ids);
    free(in.tasks);
    free(in.procs);
    return rc;
}
