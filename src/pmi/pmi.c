/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What PMI-1 and PMI-2 have in common: processes, barriers.
 */
#include "pmi/pmi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "pmi/pmi_wire.h"

int pmi_refuse(struct errbuf *err, int code, uint32_t local, const char *text)
{
    errprintf(err, "PMI process %u: %s", local, text);
    errno = code;
    return -1;
}

void pmi_abort(struct pmi *p, uint32_t local, int code)
{
    p->proc[local].aborted = true;
    p->ops->abort(p->arg, local, code);
}

int pmi_input(struct pmi *p, uint32_t local, const void *data, size_t len,
              struct errbuf *err)
{
    struct pmi_proc *proc = &p->proc[local];
    const char *bytes = data;

    while (len > 0 && !proc->aborted) {
        ssize_t n = proc->wire->input(p, local, bytes, len, err);

        if (n < 0)
            return -1;
        bytes += n;
        len -= (size_t)n;
    }
    return 0;
}

/* ---- barriers ---- */

int pmi_enter(struct pmi *p, uint32_t local, struct errbuf *err)
{
    struct pmi_proc *proc = &p->proc[local];

    if (proc->in_barrier)
        return pmi_refuse(err, EPROTO, local, "in the barrier twice");
    if (p->leaving) {
        proc->wire->let_out(p, local, false);
        return 0;
    }
    proc->in_barrier = true;
    if (++p->in_barrier < p->config.nlocal)
        return 0;
    p->exchanging = true;
    p->ops->barrier(p->arg, p->kvs.fresh, p->kvs.fresh_len);
    return 0;
}

static void let_all_out(struct pmi *p, bool complete)
{
    p->exchanging = false;
    p->in_barrier = 0;
    for (uint32_t i = 0; i < p->config.nlocal; i++) {
        if (!p->proc[i].in_barrier)
            continue;
        p->proc[i].in_barrier = false;
        p->proc[i].wire->let_out(p, i, complete);
    }
}

static int merge_all(struct pmi *p, const struct pmi_blob *blobs, size_t nblobs,
                     struct errbuf *err)
{
    for (size_t i = 0; i < nblobs; i++)
        if (pmi_kvs_merge(&p->kvs, blobs[i].data, blobs[i].len) < 0)
            return errprintf(err, "PMI barrier: blob %zu: %s", i,
                             strerror(errno));
    return 0;
}

int pmi_barrier_done(struct pmi *p, const struct pmi_blob *blobs, size_t nblobs,
                     struct errbuf *err)
{
    if (p->leaving)
        return 0;
    if (!p->exchanging) {
        errno = EINVAL;
        return errprintf(err, "PMI barrier: none is open");
    }
    if (merge_all(p, blobs, nblobs, err) < 0)
        return -1;
    pmi_kvs_taken(&p->kvs);
    let_all_out(p, true);
    return 0;
}

void pmi_leave(struct pmi *p)
{
    p->leaving = true;
    let_all_out(p, false);
}

bool pmi_initialized(const struct pmi *p, uint32_t local)
{
    return p->proc[local].initialized;
}

bool pmi_waits(const struct pmi *p, uint32_t local)
{
    return p->proc[local].in_barrier || p->proc[local].two.nwaits > 0;
}

bool pmi_finalized(const struct pmi *p, uint32_t local)
{
    return p->proc[local].finalized;
}

/* ---- start and end ---- */

void pmi_destroy(struct pmi *p)
{
    int saved = errno;

    if (!p)
        return;
    for (uint32_t i = 0; i < p->config.nlocal; i++)
        pmi2_end(&p->proc[i]);
    pmi_kvs_clear(&p->kvs);
    pmi_kvs_clear(&p->attributes);
    free((char *)p->config.kvsname);
    free((char *)p->config.mapping);
    free((uint32_t *)p->config.ranks);
    free(p);
    errno = saved;
}

static uint32_t *copy_ranks(const struct pmi_config *config)
{
    uint32_t *ranks = calloc(config->nlocal + 1, sizeof(*ranks));

    for (uint32_t i = 0; ranks && i < config->nlocal; i++)
        ranks[i] = config->ranks ? config->ranks[i] : i;
    return ranks;
}

struct pmi *pmi_create(const struct pmi_config *config,
                       const struct pmi_ops *ops, void *arg)
{
    struct pmi *p;

    if (config->nlocal > SF_PMI_LOCAL_MAX ||
        strlen(config->kvsname) >= SF_PMI_KVSNAME_MAX) {
        errno = EINVAL;
        return NULL;
    }
    p = calloc(1, sizeof(*p) + config->nlocal * sizeof(p->proc[0]));
    if (!p)
        return NULL;
    p->ops = ops;
    p->arg = arg;
    p->config = *config;
    p->config.kvsname = strdup(config->kvsname);
    p->config.mapping = strdup(config->mapping);
    p->config.ranks = copy_ranks(config);
    for (uint32_t i = 0; i < config->nlocal; i++)
        p->proc[i].wire = &pmi1_wire;
    /* A mapping longer than a value is left out: MPICH then asks each
     * process for its host name. */
    if (!p->config.kvsname || !p->config.mapping || !p->config.ranks ||
        (strlen(config->mapping) <= SF_PMI_VALUE_MAX &&
         pmi_kvs_set(&p->kvs, "PMI_process_mapping", config->mapping) < 0)) {
        pmi_destroy(p);
        return NULL;
    }
    return p;
}
