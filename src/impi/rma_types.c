/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/rma_types.h"

#include <stdlib.h>
#include <string.h>

#include "impi/rma_impl.h"

static size_t bits_of(uint32_t nprocs)
{
    return nprocs / 8 + 1;
}

int rma_types_create(struct rma_types *types, uint32_t nprocs)
{
    types->of_peers = calloc(nprocs, sizeof(*types->of_peers));
    return types->of_peers ? 0 : -1;
}

int rma_types_grow(struct rma_types *types, uint32_t old, uint32_t nprocs)
{
    if (rma_longer((void **)&types->of_peers, old * sizeof(*types->of_peers),
                   nprocs * sizeof(*types->of_peers)) < 0)
        return -1;
    for (unsigned i = 0; i < SF_IMPI_RMA_TYPES_MAX; i++)
        if (types->own[i].type && rma_longer((void **)&types->own[i].sent,
                                             bits_of(old), bits_of(nprocs)) < 0)
            return -1;
    return 0;
}

static void free_all(struct impi_typemap **types)
{
    for (unsigned i = 0; types && i < SF_IMPI_RMA_TYPES_MAX; i++)
        free(types[i]);
    free(types);
}

void rma_types_free(struct rma_types *types, uint32_t nprocs)
{
    for (unsigned i = 0; i < SF_IMPI_RMA_TYPES_MAX; i++) {
        free(types->own[i].type);
        free(types->own[i].sent);
    }
    for (uint32_t i = 0; types->of_peers && i < nprocs; i++)
        free_all(types->of_peers[i]);
    free(types->of_peers);
}

struct impi_typemap *rma_type_copy(const struct impi_typemap *type)
{
    size_t bytes = sizeof(*type) + type->nruns * sizeof(type->runs[0]);
    struct impi_typemap *copy = malloc(bytes);

    return copy ? memcpy(copy, type, bytes) : NULL;
}

static bool same_type(const struct impi_typemap *a,
                      const struct impi_typemap *b)
{
    return a->extent == b->extent && a->nruns == b->nruns &&
           memcmp(a->runs, b->runs, a->nruns * sizeof(a->runs[0])) == 0;
}

/* Its place among the own types; the oldest gives way.  -1: no memory. */
static int place_type(struct impi_rma *rma, const struct impi_typemap *type)
{
    struct rma_own_type *o;

    for (int i = 0; i < SF_IMPI_RMA_TYPES_MAX && rma->types.own[i].type; i++)
        if (same_type(rma->types.own[i].type, type))
            return i;
    o = &rma->types.own[rma->types.next_own];
    free(o->type);
    free(o->sent);
    o->sent = calloc(bits_of(rma->nprocs), 1);
    o->type = o->sent ? rma_type_copy(type) : NULL;
    if (!o->type) {
        free(o->sent);
        o->sent = NULL;
        return -1;
    }
    rma->types.next_own = (rma->types.next_own + 1) % SF_IMPI_RMA_TYPES_MAX;
    return (int)(o - rma->types.own);
}

int rma_type_introduce(struct impi_rma *rma, uint32_t peer,
                       const struct impi_typemap *type)
{
    int i = place_type(rma, type);
    struct rma_head h = {.kind = MSG_TYPE, .type = (uint16_t)(i + 1)};
    uint8_t *wire, bit = (uint8_t)(1u << peer % 8);
    size_t len = impi_typemap_wire(type);

    if (i < 0)
        return -1;
    if (peer == rma->rank || rma->types.own[i].sent[peer / 8] & bit)
        return i + 1;
    wire = malloc(len);
    if (!wire)
        return -1;
    impi_typemap_encode(type, wire);
    rma_tell(rma, peer, &h, wire, len, false);
    free(wire);
    rma->types.own[i].sent[peer / 8] |= bit;
    return i + 1;
}

int rma_type_take(struct impi_rma *rma, uint32_t peer, const struct rma_head *h,
                  const uint8_t *data, size_t len, struct errbuf *err)
{
    struct impi_typemap *type, **slot;

    if (h->type < 1 || h->type > SF_IMPI_RMA_TYPES_MAX)
        return rma_broke(err, "a datatype has an invalid number");
    if (!rma->types.of_peers[peer])
        rma->types.of_peers[peer] = calloc(SF_IMPI_RMA_TYPES_MAX, sizeof(type));
    type =
        rma->types.of_peers[peer] ? impi_typemap_decode(data, len, err) : NULL;
    if (!type)
        return -1;
    slot = &rma->types.of_peers[peer][h->type - 1];
    free(*slot);
    *slot = type;
    return 0;
}

int rma_type_find(struct impi_rma *rma, uint32_t peer, const struct rma_head *h,
                  const struct impi_typemap **type, struct errbuf *err)
{
    uint64_t size;

    *type = NULL;
    if (h->len > SF_IMPI_RMA_DATA_MAX)
        return rma_broke(err, "an operation is too long");
    if (h->type == 0)
        return 0;
    if (peer == rma->rank)
        *type = rma->types.own[h->type - 1].type;
    else if (h->type <= SF_IMPI_RMA_TYPES_MAX && rma->types.of_peers[peer])
        *type = rma->types.of_peers[peer][h->type - 1];
    if (!*type)
        return rma_broke(err,
                         "an operation names a datatype that was not sent");
    if (__builtin_mul_overflow(h->count, (*type)->size, &size) ||
        size != h->len)
        return rma_broke(err, "an operation is not as long as its datatype");
    return 0;
}
