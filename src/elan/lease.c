/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "elan/elanvp.h"
#include "elan/lease.h"
#include "elan/prognum.h"

#define LEASE_MAGIC 0x5346454c /* "SFEL" */
#define LEASE_VERSION 1
#define FIXED_SIZE (4 + 2 + 6 * 4)

void elan_lease_free(struct elan_lease *lease)
{
    elan_layout_free(&lease->nodes);
    memset(lease, 0, sizeof(*lease));
}

int elan_lease_encode(const struct elan_lease *lease, void **buf, size_t *len,
                      struct errbuf *err)
{
    size_t size = FIXED_SIZE + elan_layout_size(&lease->nodes);
    struct be_writer w;

    *buf = NULL;
    if (size > SF_SEAL_PAYLOAD_MAX) {
        errno = EMSGSIZE;
        return errprintf(err, "lease of %zu bytes, limit %d", size,
                         SF_SEAL_PAYLOAD_MAX);
    }
    *buf = malloc(size);
    if (!*buf)
        return errprintf(err, "out of memory");
    be_writer_init(&w, *buf, size);
    be_put32(&w, LEASE_MAGIC);
    be_put16(&w, LEASE_VERSION);
    be_put32(&w, lease->job_id);
    be_put32(&w, lease->uid);
    be_put32(&w, lease->run);
    be_put32(&w, lease->prognum);
    be_put32(&w, lease->low_context);
    be_put32(&w, lease->ncontexts);
    elan_layout_put(&w, &lease->nodes);
    *len = w.len;
    return 0;
}

static int get_fixed(struct be_reader *r, struct elan_lease *lease,
                     struct errbuf *err)
{
    uint32_t magic = be_get32(r);
    uint16_t version = be_get16(r);

    errno = EPROTO;
    if (r->bad || magic != LEASE_MAGIC)
        return errprintf(err, "lease: it is none");
    if (version != LEASE_VERSION) {
        errno = EPROTONOSUPPORT;
        return errprintf(err, "lease: version %u, this is %d", version,
                         LEASE_VERSION);
    }
    lease->job_id = be_get32(r);
    lease->uid = be_get32(r);
    lease->run = be_get32(r);
    lease->prognum = be_get32(r);
    lease->low_context = be_get32(r);
    lease->ncontexts = be_get32(r);
    if (r->bad || lease->prognum == 0 ||
        lease->prognum > ELAN_PROGNUM_MAX - ELAN_PROGNUM_BLOCK + 1 ||
        lease->prognum % ELAN_PROGNUM_BLOCK != 0 || lease->ncontexts == 0 ||
        lease->ncontexts > ELAN_MAX_CONTEXTS ||
        lease->low_context > ELAN_MAX_CONTEXTS - lease->ncontexts)
        return errprintf(err, "lease: it is cut or of no contexts or numbers");
    return 0;
}

static int get(struct be_reader *r, struct elan_lease *lease,
               struct errbuf *err)
{
    struct errbuf why;

    if (get_fixed(r, lease, err) < 0)
        return -1;
    if (elan_layout_get(r, &lease->nodes, &why) < 0)
        return errprintf(err, "lease: %.200s", why.text);
    errno = EPROTO;
    return be_reader_done(r) ? 0 : errprintf(err, "lease: bytes after it");
}

int elan_lease_decode(struct elan_lease *lease, const void *buf, size_t len,
                      struct errbuf *err)
{
    struct be_reader r;
    int saved;

    memset(lease, 0, sizeof(*lease));
    be_reader_init(&r, buf, len);
    if (get(&r, lease, err) == 0)
        return 0;
    saved = errno;
    elan_lease_free(lease);
    errno = saved;
    return -1;
}

static int check_job(const struct elan_lease *l, const struct elan_payload *p,
                     struct errbuf *err)
{
    if (l->job_id != p->job_id)
        return errprintf(err, "lease: of job %u, not of job %u", l->job_id,
                         p->job_id);
    if (l->uid != p->uid)
        return errprintf(err, "lease: of a job of uid %u, not of uid %u",
                         l->uid, p->uid);
    if (l->run != p->run)
        return errprintf(err, "lease: of run %u of the job, not of run %u",
                         l->run, p->run);
    return 0;
}

static int check_number(const struct elan_lease *l,
                        const struct elan_payload *p, struct errbuf *err)
{
    if (elan_prognum_block(p->prognum) == l->prognum)
        return 0;
    return errprintf(err, "lease: program %u is not in %u to %u", p->prognum,
                     l->prognum, l->prognum + ELAN_PROGNUM_BLOCK - 1);
}

/* All capabilities of a payload have the same. */
static int check_contexts(const struct elan_lease *l,
                          const struct elan_payload *p, struct errbuf *err)
{
    int64_t low = p->caps[0].LowContext, high = p->caps[0].HighContext;

    if (low >= l->low_context && high < l->low_context + l->ncontexts)
        return 0;
    return errprintf(err, "lease: contexts %d to %d are not in %u to %u",
                     (int)low, (int)high, l->low_context,
                     l->low_context + l->ncontexts - 1);
}

static int compare(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Is node n of the payload one of the job's, with the same id on each rail?
 * `by_id`: the job's nodes, as index pairs (id on rail 0, index). */
static int check_node(const struct elan_lease *l, const struct elan_payload *p,
                      uint32_t n, const uint32_t (*by_id)[2],
                      struct errbuf *err)
{
    uint32_t key[2] = {elan_layout_id(&p->layout, 0, n), 0};
    const uint32_t(*at)[2] =
        bsearch(key, by_id, l->nodes.nnodes, sizeof(*by_id), compare);

    if (!at)
        return errprintf(err, "lease: Elan id %u is no node of the job",
                         key[0]);
    for (uint32_t rail = 1; rail < p->layout.nrails; rail++)
        if (rail >= l->nodes.nrails ||
            elan_layout_id(&l->nodes, rail, (*at)[1]) !=
                elan_layout_id(&p->layout, rail, n))
            return errprintf(err,
                             "lease: node %u has another Elan id on rail "
                             "%u",
                             key[0], rail);
    return 0;
}

static int check_nodes(const struct elan_lease *l, const struct elan_payload *p,
                       struct errbuf *err)
{
    uint32_t(*by_id)[2] = calloc(l->nodes.nnodes, sizeof(*by_id));
    int rc = 0;

    if (!by_id)
        return errprintf(err, "lease: out of memory");
    for (uint32_t n = 0; n < l->nodes.nnodes; n++) {
        by_id[n][0] = elan_layout_id(&l->nodes, 0, n);
        by_id[n][1] = n;
    }
    qsort(by_id, l->nodes.nnodes, sizeof(*by_id), compare);
    for (uint32_t n = 0; rc == 0 && n < p->layout.nnodes; n++)
        rc = check_node(l, p, n, (const uint32_t(*)[2])by_id, err);
    free(by_id);
    return rc;
}

int elan_lease_check(const struct elan_lease *lease,
                     const struct elan_payload *payload, struct errbuf *err)
{
    if (check_job(lease, payload, err) < 0 ||
        check_number(lease, payload, err) < 0 ||
        check_contexts(lease, payload, err) < 0)
        return -1;
    return check_nodes(lease, payload, err);
}
