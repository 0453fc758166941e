/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the bytes of a datatype lie: runs of equal blocks at a fixed distance,
 * in the order of the type map.  Bytes are moved by it without asking the MPI
 * library.  Of a window's operations (doc/impi-rma.md) the origin makes it, and
 * it travels once to the target.
 */
#ifndef SF_IMPI_TYPEMAP_H
#define SF_IMPI_TYPEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/errbuf.h"

struct impi_run {
    int64_t disp;    /* of the first block */
    uint64_t len;    /* bytes of a block, not 0 */
    uint64_t repeat; /* blocks, not 0 */
    int64_t stride;  /* from one to the next */
};

struct impi_typemap {
    int64_t extent;  /* from one of the type to the next */
    uint64_t size;   /* bytes of data in one */
    uint64_t blocks; /* in one */
    int64_t lb, ub;  /* first byte of one, and the one behind its last */
    uint32_t nruns;
    struct impi_run runs[];
};

/* free() it.  NULL with errno: EINVAL a length or an address beyond what a
 * process can have, ENOMEM. */
struct impi_typemap *
impi_typemap_make(int64_t extent, const struct impi_run *runs, uint32_t nruns);

/* Do `count` of them, the first at `disp`, lie within [0, size)? */
bool impi_typemap_fits(const struct impi_typemap *type, uint64_t count,
                       int64_t disp, uint64_t size);

/* count of them at `at`: their bytes without gaps, and back. */
void impi_typemap_gather(const struct impi_typemap *type, uint64_t count,
                         const uint8_t *at, uint8_t *packed);
void impi_typemap_scatter(const struct impi_typemap *type, uint64_t count,
                          uint8_t *at, const uint8_t *packed);

/* A place among the bytes of elements that begin at `at`, one after the other;
 * the map outlives it and has bytes. */
struct impi_typemap_cursor {
    const struct impi_typemap *map;
    uintptr_t at;   /* the element */
    uint32_t run;   /* of the element */
    uint64_t block; /* of the run */
    uint64_t done;  /* bytes of the block that are passed */
};

void impi_typemap_begin(struct impi_typemap_cursor *c,
                        const struct impi_typemap *map, void *at);
/* The next n bytes without gaps to `packed`, and back; the caller knows that
 * there are so many. */
void impi_typemap_take(struct impi_typemap_cursor *c, void *packed, size_t n);
void impi_typemap_put(struct impi_typemap_cursor *c, const void *packed,
                      size_t n);

/* Where the next n bytes lie: fills at[0..max), returns how many; of fewer
 * bytes if that is not enough.  impi_typemap_pass(): n of them are moved. */
int impi_typemap_places(const struct impi_typemap_cursor *c, struct iovec *at,
                        int max, size_t n);
void impi_typemap_pass(struct impi_typemap_cursor *c, size_t n);

/* On the wire of a window's operations. */
size_t impi_typemap_wire(const struct impi_typemap *type);
void impi_typemap_encode(const struct impi_typemap *type, uint8_t *out);
/* NULL with errno: EPROTO cut short, too long or nonsense; ENOMEM. */
struct impi_typemap *impi_typemap_decode(const uint8_t *in, size_t len,
                                         struct errbuf *err);

#endif
