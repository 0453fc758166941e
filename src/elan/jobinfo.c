/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "base/limits.h"
#include "elan/elanvp.h"
#include "elan/jobinfo.h"
#include "elan/runs.h"

#define JOBINFO_MAGIC 0x53464a49 /* "SFJI" */
#define JOBINFO_VERSION 1
#define FIXED_SIZE (4 + 2 + 6 * 4 + 4)

void elan_jobinfo_init(struct elan_jobinfo *info, uint32_t job_id,
                       uint32_t step_id, uint32_t het_comp)
{
    memset(info, 0, sizeof(*info));
    info->job_id = job_id;
    info->step_id = step_id;
    info->het_comp = het_comp;
}

void elan_jobinfo_free(struct elan_jobinfo *info)
{
    int saved = errno;

    free(info->nodes);
    free(info->sealed);
    memset(info, 0, sizeof(*info));
    errno = saved;
}

int elan_jobinfo_copy(struct elan_jobinfo *to, const struct elan_jobinfo *from)
{
    *to = *from;
    to->nodes = NULL;
    to->sealed = NULL;
    if (from->nnodes > 0) {
        to->nodes = malloc(from->nnodes * sizeof(*to->nodes));
        if (!to->nodes)
            goto error;
        memcpy(to->nodes, from->nodes, from->nnodes * sizeof(*to->nodes));
    }
    if (from->sealed && !(to->sealed = strdup(from->sealed)))
        goto error;
    return 0;
error:
    elan_jobinfo_free(to);
    return -1;
}

static void put(struct be_writer *w, const struct elan_jobinfo *info,
                size_t sealed_len)
{
    be_put32(w, JOBINFO_MAGIC);
    be_put16(w, JOBINFO_VERSION);
    be_put32(w, info->job_id);
    be_put32(w, info->step_id);
    be_put32(w, info->het_comp);
    be_put32(w, info->prognum);
    be_put32(w, info->low_context);
    be_put32(w, info->ncontexts);
    elan_runs_put(w, info->nodes, info->nnodes);
    be_put32(w, (uint32_t)sealed_len);
    if (sealed_len > 0)
        be_put_bytes(w, info->sealed, sealed_len);
}

int elan_jobinfo_encode(const struct elan_jobinfo *info, void **buf,
                        size_t *len, struct errbuf *err)
{
    const struct elan_jobinfo nobody = {0};
    struct be_writer w;
    size_t sealed_len, size;

    if (!info)
        info = &nobody;
    *buf = NULL;
    sealed_len = info->sealed ? strlen(info->sealed) : 0;
    size = FIXED_SIZE + elan_runs_size(info->nnodes) + sealed_len;
    if (sealed_len > SF_ELAN_JOBINFO_MAX || size > SF_ELAN_JOBINFO_MAX) {
        errno = EMSGSIZE;
        return errprintf(err, "job info of %zu bytes, limit %d", size,
                         SF_ELAN_JOBINFO_MAX);
    }
    *buf = malloc(size);
    if (!*buf)
        return errprintf(err, "out of memory");
    be_writer_init(&w, *buf, size);
    put(&w, info, sealed_len);
    *len = w.len;
    return 0;
}

static int get_head(struct be_reader *r, struct errbuf *err)
{
    uint32_t magic = be_get32(r);
    uint16_t version = be_get16(r);

    errno = EPROTO;
    if (r->bad || magic != JOBINFO_MAGIC)
        return errprintf(err, "job info: not ours");
    if (version != JOBINFO_VERSION) {
        errno = EPROTONOSUPPORT;
        return errprintf(err, "job info: version %u, this is %d", version,
                         JOBINFO_VERSION);
    }
    return 0;
}

static int get_sealed(struct be_reader *r, struct elan_jobinfo *info)
{
    uint32_t len = be_get32(r);
    const uint8_t *text = be_get_bytes(r, len);

    if (r->bad || memchr(text, 0, len)) {
        errno = EPROTO;
        return -1;
    }
    if (len == 0)
        return 0;
    info->sealed = strndup((const char *)text, len);
    return info->sealed ? 0 : -1;
}

static int get_body(struct be_reader *r, struct elan_jobinfo *info)
{
    size_t nnodes = 0;

    info->job_id = be_get32(r);
    info->step_id = be_get32(r);
    info->het_comp = be_get32(r);
    info->prognum = be_get32(r);
    info->low_context = be_get32(r);
    info->ncontexts = be_get32(r);
    if (elan_runs_get(r, &info->nodes, &nnodes, SF_ELAN_NODES_MAX) < 0)
        return -1;
    info->nnodes = (uint32_t)nnodes;
    if (get_sealed(r, info) < 0)
        return -1;
    errno = EPROTO;
    return be_reader_done(r) ? 0 : -1;
}

static bool nodes_ok(const struct elan_jobinfo *info)
{
    for (uint32_t n = 0; n < info->nnodes; n++)
        if (info->nodes[n] > SF_ELAN_NODE_ID_MAX)
            return false;
    return true;
}

static int check(const struct elan_jobinfo *info, struct errbuf *err)
{
    errno = EPROTO;
    if (info->prognum > INT32_MAX)
        return errprintf(err, "job info: program number %u", info->prognum);
    if (info->prognum == 0 && (info->nnodes > 0 || info->ncontexts > 0 ||
                               info->low_context > 0 || info->sealed))
        return errprintf(err, "job info: contents without a program");
    if (info->prognum == 0)
        return 0;
    if (info->nnodes == 0 || !nodes_ok(info))
        return errprintf(err, "job info: node list");
    if (info->low_context >= ELAN_MAX_CONTEXTS || info->ncontexts == 0 ||
        info->ncontexts > ELAN_MAX_CONTEXTS - info->low_context)
        return errprintf(err, "job info: %u contexts from %u on",
                         info->ncontexts, info->low_context);
    return 0;
}

int elan_jobinfo_decode(struct elan_jobinfo *info, const void *buf, size_t len,
                        struct errbuf *err)
{
    struct be_reader r;

    memset(info, 0, sizeof(*info));
    if (len > SF_ELAN_JOBINFO_MAX) {
        errno = EMSGSIZE;
        return errprintf(err, "job info of %zu bytes, limit %d", len,
                         SF_ELAN_JOBINFO_MAX);
    }
    be_reader_init(&r, buf, len);
    if (get_head(&r, err) < 0)
        return -1;
    if (get_body(&r, info) < 0) {
        errprintf(err, errno == ENOMEM ? "out of memory"
                                       : "job info: malformed or cut");
        goto error;
    }
    if (check(info, err) < 0)
        goto error;
    return 0;
error:
    elan_jobinfo_free(info);
    return -1;
}
