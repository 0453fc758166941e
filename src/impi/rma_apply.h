/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the one-sided engine (rma.h): what an operation does to the memory
 * of a target, whoever reads and writes it there.
 */
#ifndef SF_IMPI_RMA_APPLY_H
#define SF_IMPI_RMA_APPLY_H

#include "impi/rma_impl.h"

/* Is there such an operation for elements of such a type and number? */
bool rma_op_is_good(const struct rma_head *h);

static inline bool rma_has_result(uint8_t kind)
{
    return kind == IMPI_RMA_GET || kind == IMPI_RMA_GACC ||
           kind == IMPI_RMA_CAS;
}

/* Must nobody else change elements meanwhile? */
static inline bool rma_is_atomic(uint8_t kind)
{
    return kind != IMPI_RMA_PUT && kind != IMPI_RMA_GET;
}

/* What it goes to. */
struct rma_spot {
    const struct impi_rma_win *win;
    uint32_t target;
    struct impi_rma_words *words;    /* of the target */
    const struct impi_typemap *type; /* NULL: bytes in a row */
    uint8_t *at;
};

/* Do a good one, which stays within the memory.  data: as many as come with it;
 * old, not NULL if it has a result: where what was there goes.  0, or -1 with
 * ENOMEM: the memory has not changed. */
int rma_apply(const struct rma_spot *spot, const struct rma_head *h,
              const void *data, void *old);

#endif
