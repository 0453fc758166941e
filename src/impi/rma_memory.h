/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the one-sided engine (rma.h): which memory of a process a window
 * has, and whether an operation stays within it.
 */
#ifndef SF_IMPI_RMA_MEMORY_H
#define SF_IMPI_RMA_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "impi/rma_wire.h"

/* In the order of their addresses, without overlap. */
struct rma_piece {
    uint8_t *base;
    uint64_t size;
};

struct rma_memory {
    bool dynamic; /* displacements are addresses */
    struct rma_piece *pieces;
    size_t npieces;
};

/* As impi_rma_win_attach() and impi_rma_win_detach(). */
int rma_memory_attach(struct rma_memory *memory, void *base, uint64_t size);
int rma_memory_detach(struct rma_memory *memory, const void *base);

/* Is all of an operation's target, at disp in the piece, inside of it?  *at:
 * where it is. */
bool rma_piece_holds(const struct rma_piece *p, const struct impi_typemap *type,
                     const struct rma_head *h, int64_t disp, uint8_t **at);
/* Is all of it in the memory, at the operation's own displacement?  *at: where
 * it is, NULL if nothing is wanted. */
bool rma_memory_find(const struct rma_memory *memory,
                     const struct impi_typemap *type, const struct rma_head *h,
                     uint8_t **at);

#endif
