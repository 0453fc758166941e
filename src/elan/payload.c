/* SPDX-License-Identifier: BSD-3-Clause */
#include "elan/payload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "elan/lease.h"

#define PAYLOAD_MAGIC 0x53464550 /* "SFEP" */
#define PAYLOAD_VERSION 2
#define FIXED_SIZE (4 + 2 + 6 * 4 + 8 + 1)

void elan_payload_free(struct elan_payload *p)
{
    int saved = errno;

    if (p->caps)
        explicit_bzero(p->caps, p->ncaps * sizeof(*p->caps));
    free(p->caps);
    elan_layout_free(&p->layout);
    memset(p, 0, sizeof(*p));
    errno = saved;
}

static size_t encoded_size(const struct elan_payload *p)
{
    size_t size = FIXED_SIZE + elan_layout_size(&p->layout);

    for (uint32_t i = 0; i < p->ncaps; i++)
        size += elan_capability_size(&p->caps[i]);
    return size + (p->hold.n ? 4 + 1 + p->hold.n * 4 : 0);
}

static void put_hold(struct be_writer *w, const struct elan_hold *hold)
{
    be_put32(w, hold->seconds);
    be_put8(w, (uint8_t)hold->n);
    for (uint32_t i = 0; i < hold->n; i++)
        be_put32(w, hold->nodes[i]);
}

static void put(struct be_writer *w, const struct elan_payload *p)
{
    be_put32(w, PAYLOAD_MAGIC);
    be_put16(w, PAYLOAD_VERSION);
    be_put32(w, p->job_id);
    be_put32(w, p->step_id);
    be_put32(w, p->het_comp);
    be_put32(w, p->uid);
    be_put32(w, p->run);
    be_put32(w, p->prognum);
    be_put64(w, p->issued);
    elan_layout_put(w, &p->layout);
    be_put8(w, (uint8_t)p->ncaps);
    for (uint32_t i = 0; i < p->ncaps; i++)
        elan_capability_put(w, &p->caps[i]);
    if (p->hold.n)
        put_hold(w, &p->hold);
}

int elan_payload_encode(const struct elan_payload *p, void **buf, size_t *len,
                        struct errbuf *err)
{
    size_t size = encoded_size(p);
    struct be_writer w;

    *buf = malloc(size);
    if (!*buf)
        return errprintf(err, "out of memory");
    be_writer_init(&w, *buf, size);
    put(&w, p);
    *len = w.len;
    if (w.len <= SF_SEAL_PAYLOAD_MAX)
        return 0;
    errprintf(err, "payload of %zu bytes, limit %d", w.len,
              SF_SEAL_PAYLOAD_MAX);
    explicit_bzero(*buf, size);
    free(*buf);
    *buf = NULL;
    errno = EMSGSIZE;
    return -1;
}

static int get_head(struct be_reader *r, struct elan_payload *p,
                    struct errbuf *err)
{
    uint32_t magic = be_get32(r);
    uint16_t version = be_get16(r);

    errno = EPROTO;
    if (r->bad)
        return errprintf(err, "decode: payload is cut");
    if (magic != PAYLOAD_MAGIC)
        return errprintf(err, "magic: 0x%08x is not a payload of ours", magic);
    if (version != PAYLOAD_VERSION) {
        errno = EPROTONOSUPPORT;
        return errprintf(err, "decode: payload version %u, this is %d", version,
                         PAYLOAD_VERSION);
    }
    p->job_id = be_get32(r);
    p->step_id = be_get32(r);
    p->het_comp = be_get32(r);
    p->uid = be_get32(r);
    p->run = be_get32(r);
    p->prognum = be_get32(r);
    p->issued = be_get64(r);
    if (r->bad || p->prognum == 0 || p->prognum > INT32_MAX)
        return errprintf(err, "decode: payload is cut or has no program");
    return 0;
}

static int get_layout(struct be_reader *r, struct elan_payload *p,
                      struct errbuf *err)
{
    struct errbuf why;

    if (elan_layout_get(r, &p->layout, &why) < 0)
        return errprintf(err, "decode: %.200s", why.text);
    return 0;
}

/* Does the capability describe the layout beside it? */
static bool cap_matches(const struct elan_payload *p, uint32_t rail)
{
    const struct elan_capability *cap = &p->caps[rail];

    if (cap->RailMask != 1u << rail ||
        cap->Entries != (int32_t)p->layout.nprocs)
        return false;
    for (uint32_t n = 0; n < p->layout.nnodes; n++)
        for (uint32_t s = 0; s < elan_layout_tasks(&p->layout, n); s++)
            if (!elan_capability_has(cap, elan_layout_id(&p->layout, rail, n),
                                     s))
                return false;
    return cap->LowContext == p->caps[0].LowContext &&
           cap->HighContext == p->caps[0].HighContext;
}

static int get_caps(struct be_reader *r, struct elan_payload *p,
                    struct errbuf *err)
{
    uint32_t ncaps = be_get8(r);
    struct errbuf why;

    errno = EPROTO;
    if (r->bad || ncaps != p->layout.nrails)
        return errprintf(err, "decode: %u capabilities for %u rails", ncaps,
                         p->layout.nrails);
    p->caps = calloc(ncaps, sizeof(*p->caps));
    if (!p->caps)
        return errprintf(err, "decode: out of memory");
    p->ncaps = ncaps;
    for (uint32_t i = 0; i < ncaps; i++) {
        if (elan_capability_get(r, &p->caps[i], &why) < 0)
            return errprintf(err, "decode: %.200s", why.text);
        if (!cap_matches(p, i)) {
            errno = EPROTO;
            return errprintf(err, "decode: capability %u is of another layout",
                             i);
        }
    }
    return 0;
}

/* It ends the payload; only payloads of held steps have it. */
static int get_hold(struct be_reader *r, struct elan_payload *p,
                    struct errbuf *err)
{
    struct elan_hold *hold = &p->hold;
    uint32_t n;

    if (be_reader_done(r))
        return 0;
    errno = EPROTO;
    hold->seconds = be_get32(r);
    n = be_get8(r);
    if (r->bad || n == 0)
        return errprintf(err, "decode: bytes after the payload");
    if (n > ELAN_HOLD_NODES_MAX || hold->seconds > ELAN_HOLD_SECONDS_MAX)
        return errprintf(err, "decode: %u nodes are held for %u seconds", n,
                         hold->seconds);
    for (uint32_t i = 0; i < n; i++) {
        hold->nodes[i] = be_get32(r);
        if (hold->nodes[i] >= p->layout.nnodes ||
            (i && hold->nodes[i] <= hold->nodes[i - 1]))
            return errprintf(err, "decode: node %u is held, of %u",
                             hold->nodes[i], p->layout.nnodes);
    }
    hold->n = n;
    if (!be_reader_done(r))
        return errprintf(err, "decode: bytes after the payload");
    return 0;
}

int elan_payload_decode(struct elan_payload *p, const void *buf, size_t len,
                        struct errbuf *err)
{
    struct be_reader r;

    memset(p, 0, sizeof(*p));
    if (len > SF_SEAL_PAYLOAD_MAX) {
        errno = EPROTO;
        return errprintf(err, "decode: payload of %zu bytes, limit %d", len,
                         SF_SEAL_PAYLOAD_MAX);
    }
    be_reader_init(&r, buf, len);
    if (get_head(&r, p, err) == 0 && get_layout(&r, p, err) == 0 &&
        get_caps(&r, p, err) == 0 && get_hold(&r, p, err) == 0)
        return 0;
    elan_payload_free(p);
    return -1;
}

/* ---- payload check ----------------------------------------------------- */

/* Is this payload meant for this step on this node? A ladder of small checks;
 * each one names itself in its text. */

typedef int check_f(const struct elan_payload *p, const struct elan_check *c,
                    struct errbuf *err);

static int check_encoder(const struct elan_payload *p,
                         const struct elan_check *c, struct errbuf *err)
{
    if (c->encoder_uid == c->slurm_uid || (c->encoder_uid == 0 && c->lease))
        return 0;
    if (c->encoder_uid == 0)
        return errprintf(err, "encoder uid: sealed by root, and slurmctld has "
                              "leased nothing to the job");
    return errprintf(err, "encoder uid: sealed by uid %u, not by SlurmUser %u",
                     (unsigned)c->encoder_uid, (unsigned)c->slurm_uid);
}

static int check_job(const struct elan_payload *p, const struct elan_check *c,
                     struct errbuf *err)
{
    if (p->job_id == c->job_id)
        return 0;
    return errprintf(err, "job: made for job %u, this is job %u", p->job_id,
                     c->job_id);
}

static int check_step(const struct elan_payload *p, const struct elan_check *c,
                      struct errbuf *err)
{
    if (p->step_id == c->step_id)
        return 0;
    return errprintf(err, "step: made for step %u, this is step %u", p->step_id,
                     c->step_id);
}

static int check_component(const struct elan_payload *p,
                           const struct elan_check *c, struct errbuf *err)
{
    if (p->het_comp == c->het_comp)
        return 0;
    return errprintf(err, "component: made for component %d, this is %d",
                     (int)p->het_comp, (int)c->het_comp);
}

static int check_uid(const struct elan_payload *p, const struct elan_check *c,
                     struct errbuf *err)
{
    if (p->uid == c->uid)
        return 0;
    return errprintf(err, "uid: made for uid %u, the job's is %u", p->uid,
                     c->uid);
}

/* A requeued job has the same job and step ids again, and a job info of its
 * earlier run passes all other checks while it is young. */
static int check_run(const struct elan_payload *p, const struct elan_check *c,
                     struct errbuf *err)
{
    if (p->run == c->run)
        return 0;
    return errprintf(err, "run: made for run %u of the job, this is run %u",
                     p->run, c->run);
}

static int check_node(const struct elan_payload *p, const struct elan_check *c,
                      struct errbuf *err)
{
    if (elan_layout_find(&p->layout, c->node_id) < 0)
        return errprintf(err, "node set: Elan id %u is not in it", c->node_id);
    if (c->nodeid >= p->layout.nnodes ||
        elan_layout_id(&p->layout, 0, c->nodeid) != c->node_id)
        return errprintf(err, "node set: Elan id %u is not node %u of it",
                         c->node_id, c->nodeid);
    return 0;
}

static int check_age(const struct elan_payload *p, const struct elan_check *c,
                     struct errbuf *err)
{
    if (p->issued > c->now && p->issued - c->now > ELAN_PAYLOAD_CLOCK_SKEW)
        return errprintf(err, "age: made %llu s in the future",
                         (unsigned long long)(p->issued - c->now));
    if (c->now > p->issued && c->now - p->issued > c->max_age)
        return errprintf(err, "age: %llu s old, limit %llu s",
                         (unsigned long long)(c->now - p->issued),
                         (unsigned long long)c->max_age);
    if (c->expired)
        return errprintf(err, "age: the seal's time to live is over");
    return 0;
}

static int check_lease(const struct elan_payload *p, const struct elan_check *c,
                       struct errbuf *err)
{
    return c->lease ? elan_lease_check(c->lease, p, err) : 0;
}

int elan_payload_check(const struct elan_payload *p,
                       const struct elan_check *check, struct errbuf *err)
{
    static check_f *const ladder[] = {
        check_encoder, check_job,  check_step, check_component, check_uid,
        check_run,     check_node, check_age,  check_lease,
    };

    for (size_t i = 0; i < sizeof(ladder) / sizeof(ladder[0]); i++) {
        if (ladder[i](p, check, err) < 0) {
            errno = EPERM;
            return -1;
        }
    }
    return 0;
}

int elan_payload_open(struct elan_payload *p, const void *buf, size_t len,
                      const struct elan_check *check, struct errbuf *err)
{
    if (elan_payload_decode(p, buf, len, err) < 0)
        return -1;
    if (elan_payload_check(p, check, err) == 0)
        return 0;
    elan_payload_free(p);
    return -1;
}
