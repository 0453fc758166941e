/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the bytes of a target's datatype lie (doc/impi-rma.md): runs of equal
 * blocks at a fixed distance, in the order of the type map.  The origin makes
 * it once, it travels once, and the target moves bytes by it without asking
 * its MPI library.
 */
#ifndef SF_IMPI_RMA_TYPE_H
#define SF_IMPI_RMA_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

struct impi_rma_run {
    int64_t disp;    /* of the first block */
    uint64_t len;    /* bytes of a block, not 0 */
    uint64_t repeat; /* blocks, not 0 */
    int64_t stride;  /* from one to the next */
};

struct impi_rma_type {
    int64_t extent; /* from one of the type to the next */
    uint64_t size;  /* bytes of data in one */
    int64_t lb, ub; /* first byte of one, and the one behind its last */
    uint32_t nruns;
    struct impi_rma_run runs[];
};

/* free() it.  NULL with errno: EINVAL a length or an address beyond what a
 * process can have, ENOMEM. */
struct impi_rma_type *impi_rma_type_make(int64_t extent,
                                         const struct impi_rma_run *runs,
                                         uint32_t nruns);

/* Do `count` of them, the first at `disp`, lie within [0, size)? */
bool impi_rma_type_fits(const struct impi_rma_type *type, uint64_t count,
                        int64_t disp, uint64_t size);

/* count of them at `at`: their bytes without gaps, and back. */
void impi_rma_type_gather(const struct impi_rma_type *type, uint64_t count,
                          const uint8_t *at, uint8_t *packed);
void impi_rma_type_scatter(const struct impi_rma_type *type, uint64_t count,
                           uint8_t *at, const uint8_t *packed);

/* On the wire. */
size_t impi_rma_type_wire(const struct impi_rma_type *type);
void impi_rma_type_encode(const struct impi_rma_type *type, uint8_t *out);
/* NULL with errno: EPROTO cut short, too long or nonsense; ENOMEM. */
struct impi_rma_type *impi_rma_type_decode(const uint8_t *in, size_t len,
                                           struct errbuf *err);

#endif
