/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/io_plan.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/be.h"
#include "base/limits.h"

#define HEAD 48
#define RUN 32
/* Domains begin at multiples of it, and are no smaller. */
#define GRAIN (INT64_C(64) * 1024)

/* ---- records ---- */

static void put_run(const struct impi_run *r, uint8_t *out)
{
    be_store64(out, (uint64_t)r->disp);
    be_store64(out + 8, r->len);
    be_store64(out + 16, r->repeat);
    be_store64(out + 24, (uint64_t)r->stride);
}

static struct impi_run get_run(const uint8_t *in)
{
    return (struct impi_run){(int64_t)be_load64(in), be_load64(in + 8),
                             be_load64(in + 16), (int64_t)be_load64(in + 24)};
}

void impi_io_list_encode(const struct impi_io_list *l, uint8_t *out)
{
    for (size_t i = 0; i < l->n; i++)
        put_run(&l->run[i], out + i * RUN);
}

void impi_io_record_encode(const struct impi_io_part *p, uint8_t *out)
{
    for (size_t i = 0; i < IMPI_IO_RECORD_SIZE; i += 8)
        be_store64(out + i, 0);
    be_store64(out, p->error);
    be_store64(out + 16, p->bytes);
    be_store64(out + 24, p->nruns);
    be_store64(out + 32, (uint64_t)p->first);
    be_store64(out + 40, (uint64_t)p->end);
    assert(p->nruns == p->list.n);
    if (impi_io_has_list(p))
        impi_io_list_encode(&p->list, out + HEAD);
}

static int bad(struct errbuf *err, const char *what)
{
    errprintf(err, "its part of a collective access to a file %s", what);
    errno = EPROTO;
    return -1;
}

/* A run that lies behind `at`, and rises.  *at: its end. */
static bool goes_on(const struct impi_run *r, int64_t *at)
{
    int64_t last = 0;

    if (r->disp < *at || r->disp >= IMPI_IO_FAR || r->len == 0 ||
        r->len >= (uint64_t)IMPI_IO_FAR || r->repeat == 0 ||
        r->repeat >= (uint64_t)IMPI_IO_FAR)
        return false;
    if (r->repeat > 1 &&
        (r->stride < (int64_t)r->len || r->stride >= IMPI_IO_FAR ||
         __builtin_mul_overflow((int64_t)r->repeat - 1, r->stride, &last) ||
         last >= IMPI_IO_FAR))
        return false;
    *at = r->disp + last + (int64_t)r->len;
    return *at < IMPI_IO_FAR;
}

int impi_io_list_decode(struct impi_io_part *p, const uint8_t *in, size_t len,
                        struct errbuf *err)
{
    int64_t at = 0;

    if (len != p->nruns * RUN)
        return bad(err, "is not as long as its runs");
    for (uint64_t i = 0; i < p->nruns; i++) {
        struct impi_run r = get_run(in + i * RUN);

        if (!goes_on(&r, &at))
            return bad(err, "has a run that does not rise");
        if (i == 0 && r.disp != p->first)
            return bad(err, "begins elsewhere");
        if (impi_io_list_add(&p->list, r) < 0)
            return -1;
    }
    if (at != p->end || p->list.bytes != p->bytes)
        return bad(err, "does not have the bytes that it says");
    return 0;
}

int impi_io_record_decode(struct impi_io_part *p, const uint8_t *in,
                          struct errbuf *err)
{
    uint64_t error = be_load64(in);

    *p = (struct impi_io_part){.error = (uint32_t)error,
                               .bytes = be_load64(in + 16),
                               .nruns = be_load64(in + 24),
                               .first = (int64_t)be_load64(in + 32),
                               .end = (int64_t)be_load64(in + 40)};
    if (error > INT32_MAX || p->nruns > SF_IMPI_IO_RUNS_MAX)
        return bad(err, "has too many runs, or an unknown error");
    if (p->first < 0 || p->end < p->first || p->end >= IMPI_IO_FAR ||
        (p->bytes == 0) != (p->first == p->end) ||
        (p->nruns == 0) != (p->bytes == 0))
        return bad(err, "is nowhere in a file");
    if (!impi_io_has_list(p) || p->nruns == 0)
        return 0;
    return impi_io_list_decode(p, in + HEAD, p->nruns * RUN, err);
}

/* ---- the plan ---- */

/* Parts that lie behind each other, in whatever order of ranks, are each
 * process's own business. */
static bool interleave(const struct impi_io_part *parts, uint32_t n)
{
    int64_t up = 0, down = IMPI_IO_FAR;
    bool rises = true, falls = true;

    for (uint32_t i = 0; i < n; i++) {
        const struct impi_io_part *p = &parts[i];

        if (p->bytes == 0)
            continue;
        rises &= p->first >= up;
        falls &= p->end <= down;
        up = p->end;
        down = p->first;
    }
    return !rises && !falls;
}

void impi_io_plan_make(struct impi_io_plan *plan,
                       const struct impi_io_part *parts, uint32_t nprocs,
                       uint32_t naggs, int64_t window)
{
    int64_t span;

    *plan = (struct impi_io_plan){.nprocs = nprocs, .window = window};
    if (!interleave(parts, nprocs))
        return;
    plan->first = IMPI_IO_FAR;
    for (uint32_t i = 0; i < nprocs; i++) {
        if (parts[i].bytes == 0)
            continue;
        if (parts[i].first < plan->first)
            plan->first = parts[i].first;
        if (parts[i].end > plan->end)
            plan->end = parts[i].end;
    }
    plan->first -= plan->first % GRAIN;
    span = plan->end - plan->first;
    naggs = naggs < nprocs ? naggs : nprocs;
    plan->step = (span + naggs - 1) / naggs;
    plan->step += (GRAIN - plan->step % GRAIN) % GRAIN;
    plan->naggs = (uint32_t)((span + plan->step - 1) / plan->step);
    plan->rounds = (uint32_t)((plan->step + window - 1) / window);
}

uint32_t impi_io_plan_rank(const struct impi_io_plan *plan, uint32_t k)
{
    return (uint32_t)((uint64_t)k * plan->nprocs / plan->naggs);
}

int impi_io_plan_number(const struct impi_io_plan *plan, uint32_t rank)
{
    for (uint32_t k = 0; k < plan->naggs; k++)
        if (impi_io_plan_rank(plan, k) == rank)
            return (int)k;
    return -1;
}

bool impi_io_plan_window(const struct impi_io_plan *plan, uint32_t k,
                         uint32_t round, int64_t *first, int64_t *end)
{
    int64_t domain = plan->first + (int64_t)k * plan->step;
    int64_t limit = domain + plan->step;

    if (limit > plan->end)
        limit = plan->end;
    *first = domain + (int64_t)round * plan->window;
    *end = *first + plan->window;
    if (*end > limit)
        *end = limit;
    return *first < *end;
}

bool impi_io_plan_meets(const struct impi_io_plan *plan, uint32_t k,
                        const struct impi_io_part *p)
{
    int64_t first = plan->first + (int64_t)k * plan->step;

    return p->bytes > 0 && p->first < first + plan->step && p->end > first;
}

/* ---- merging ---- */

static void sift(struct impi_io_merge *m, uint32_t i)
{
    struct merge_head top = m->heap[i];

    for (;;) {
        uint32_t child = 2 * i + 1;

        if (child >= m->left)
            break;
        if (child + 1 < m->left && m->heap[child + 1].at < m->heap[child].at)
            child++;
        if (m->heap[child].at >= top.at)
            break;
        m->heap[i] = m->heap[child];
        i = child;
    }
    m->heap[i] = top;
}

/* The next piece of that list; false: it has none. */
static bool refill(struct impi_io_merge *m, struct merge_head *h)
{
    struct impi_io_cursor *c = &m->of[h->who];

    h->mem = c->mem;
    return impi_io_next(c, m->end, &h->at, &h->len);
}

int impi_io_merge_start(struct impi_io_merge *m,
                        const struct impi_io_list *const *lists, uint32_t n,
                        int64_t first, int64_t end)
{
    *m = (struct impi_io_merge){.n = n, .end = end};
    m->of = calloc((size_t)n + 1, sizeof(*m->of));
    m->heap = calloc((size_t)n + 1, sizeof(*m->heap));
    if (!m->of || !m->heap) {
        impi_io_merge_end(m);
        return -1;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct merge_head *h = &m->heap[m->left];

        impi_io_start_at(&m->of[i], lists[i], first);
        h->who = i;
        m->left += refill(m, h);
    }
    for (uint32_t i = m->left / 2; i > 0; i--)
        sift(m, i - 1);
    return 0;
}

bool impi_io_merge_next(struct impi_io_merge *m, uint32_t *who, int64_t *at,
                        uint64_t *len, uint64_t *mem)
{
    struct merge_head *h = m->heap;

    if (m->left == 0)
        return false;
    *who = h->who;
    *at = h->at;
    *len = h->len;
    *mem = h->mem;
    if (!refill(m, h))
        *h = m->heap[--m->left];
    sift(m, 0);
    return true;
}

void impi_io_merge_end(struct impi_io_merge *m)
{
    free(m->of);
    free(m->heap);
    m->of = NULL;
    m->heap = NULL;
}
