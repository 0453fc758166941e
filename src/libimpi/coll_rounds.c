/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Alltoall of short blocks.  data has n blocks in their form on the wire, by
 * distance (impi/schedule.h): first those for the processes so far ahead, in
 * the end those from the processes so far behind.
 */
#include "libimpi/coll_rounds.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "libimpi/coll.h"
#include "libimpi/data.h"

#define ROUNDS_MOST 32 /* bits of a rank */

struct rounds {
    size_t len;  /* of a block */
    uint32_t n;  /* processes */
    uint32_t at; /* bit of the round under way; 0: before the first */
    char *data;
    char *bundle_out, *bundle_in;
    void *out[ROUNDS_MOST], *in[ROUNDS_MOST];
    int counts[ROUNDS_MOST]; /* bytes that go in each round */
    struct blocks user_in;
};

static void rounds_free(struct rounds *r)
{
    free(r->data);
    free(r);
}

static void bundle(struct rounds *r)
{
    char *to = r->bundle_out;

    for (uint32_t d = 0; d < r->n; d++) {
        if (d & r->at) {
            memcpy(to, r->data + d * r->len, r->len);
            to += r->len;
        }
    }
}

static void unbundle(struct rounds *r)
{
    const char *from = r->bundle_in;

    for (uint32_t d = 0; d < r->n; d++) {
        if (d & r->at) {
            memcpy(r->data + d * r->len, from, r->len);
            from += r->len;
        }
    }
}

/* Between two rounds. */
static int next_round(struct coll *x)
{
    struct rounds *r = x->arg;

    if (r->at > 0)
        unbundle(r);
    r->at = r->at > 0 ? r->at << 1 : 1;
    if (r->at < r->n)
        bundle(r);
    return MPI_SUCCESS;
}

static int finish(struct coll *x, int rc)
{
    struct rounds *r = x->arg;
    uint32_t me = (uint32_t)x->c->rank;

    for (uint32_t d = 0; d < r->n && rc == MPI_SUCCESS; d++)
        rc = block_take(r->data + d * r->len, r->len, &r->user_in,
                        (int)impi_rounds_behind(r->n, me, d));
    rounds_free(r);
    return rc;
}

static int allocate(struct rounds *r)
{
    size_t half = (r->n / 2 + 1) * r->len;

    r->data = calloc(1, r->n * r->len + 2 * half);
    if (!r->data)
        return MPI_ERR_NO_MEM;
    r->bundle_out = r->data + r->n * r->len;
    r->bundle_in = r->bundle_out + half;
    return MPI_SUCCESS;
}

static void name_bundles(struct coll *x, struct rounds *r)
{
    for (uint32_t k = 0, bit = 1; bit < r->n; k++, bit <<= 1) {
        r->out[k] = r->bundle_out;
        r->in[k] = r->bundle_in;
        for (uint32_t d = 0; d < r->n; d++)
            r->counts[k] += d & bit ? (int)r->len : 0;
    }
    x->out = (struct blocks){
        .at = r->out, .counts = r->counts, .type = MPI_BYTE, .extent = 1};
    x->in = x->out;
    x->in.at = r->in;
}

static int make(struct coll *x, struct rounds *r, const struct blocks *out)
{
    uint32_t me = (uint32_t)x->c->rank;
    int rc = allocate(r);

    for (uint32_t d = 0; d < r->n && rc == MPI_SUCCESS; d++)
        rc = block_put(r->data + d * r->len, r->len, out,
                       (int)impi_rounds_ahead(r->n, me, d));
    if (rc != MPI_SUCCESS)
        return rc;
    name_bundles(x, r);
    return coll_made(impi_schedule_rounds(&x->steps, x->c->units, me, x->tag));
}

int rounds_make(struct coll *x, const struct blocks *out,
                const struct blocks *in, size_t len)
{
    struct rounds *r = calloc(1, sizeof(*r));
    int rc;

    if (!r)
        return MPI_ERR_NO_MEM;
    r->len = len;
    r->n = (uint32_t)x->c->size;
    r->user_in = *in;
    rc = make(x, r, out);
    if (rc != MPI_SUCCESS) {
        rounds_free(r);
        return rc;
    }
    x->arg = r;
    x->local = next_round;
    x->finish = finish;
    return MPI_SUCCESS;
}

bool rounds_are_better(const struct impi_comm *c, const struct blocks *in,
                       size_t *len)
{
    struct type_info info;
    uint64_t n;

    if (c->units != &c->flat || c->inter || c->size < SF_IMPI_ROUNDS_LEAST ||
        type_look_up(&info, in->type) != MPI_SUCCESS)
        return false;
    n = info.wire * (uint64_t)in->count;
    *len = n;
    return n > 0 && n <= SF_IMPI_ROUNDS_BLOCK_MAX;
}
