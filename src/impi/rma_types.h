/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the one-sided engine (rma.h): datatypes travel once, and operations
 * name them by number, from 1.  Each process keeps so many of each peer, and
 * when there are more the oldest number gets another meaning.
 */
#ifndef SF_IMPI_RMA_TYPES_H
#define SF_IMPI_RMA_TYPES_H

#include <stdint.h>

#include "base/errbuf.h"
#include "base/limits.h"
#include "impi/rma_wire.h"

/* Types of ours that peers have, by number - 1. */
struct rma_own_type {
    struct impi_typemap *type;
    uint8_t *sent; /* a bit per world rank */
};

struct rma_types {
    struct rma_own_type own[SF_IMPI_RMA_TYPES_MAX];
    unsigned next_own;
    struct impi_typemap ***of_peers; /* [nprocs], made at need */
};

/* 0, or -1 with ENOMEM. */
int rma_types_create(struct rma_types *types, uint32_t nprocs);
int rma_types_grow(struct rma_types *types, uint32_t old, uint32_t nprocs);
void rma_types_free(struct rma_types *types, uint32_t nprocs);

/* A copy, to be freed; NULL with ENOMEM. */
struct impi_typemap *rma_type_copy(const struct impi_typemap *type);

/* The number of a type that the peer knows by then: if need be it is sent.  -1
 * with ENOMEM. */
int rma_type_introduce(struct impi_rma *rma, uint32_t peer,
                       const struct impi_typemap *type);
/* Take one that a peer sends.  0, or -1 with errno: EPROTO, ENOMEM. */
int rma_type_take(struct impi_rma *rma, uint32_t peer, const struct rma_head *h,
                  const uint8_t *data, size_t len, struct errbuf *err);
/* The type that an operation of the peer names, and is as long as; *type NULL:
 * bytes in a row.  0, or -1 with EPROTO. */
int rma_type_find(struct impi_rma *rma, uint32_t peer, const struct rma_head *h,
                  const struct impi_typemap **type, struct errbuf *err);

#endif
