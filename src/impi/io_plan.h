/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective access to a file in two phases (doc/impi-io.md): the part of the
 * file that all of them touch is cut into domains, one for each aggregator.
 * An aggregator's domain is worked on in windows, one a round: it gets what
 * others write there, or hands out what they read.  Everybody makes the same
 * plan from what everybody says first, its record.
 */
#ifndef SF_IMPI_IO_PLAN_H
#define SF_IMPI_IO_PLAN_H

#include "base/errbuf.h"
#include "impi/io_view.h"

/* Runs that a record itself has room for. */
#define IMPI_IO_RECORD_RUNS 4
#define IMPI_IO_RECORD_SIZE (48 + IMPI_IO_RECORD_RUNS * 32)
/* Bytes of a process up to which they travel with its order. */
#define IMPI_IO_SMALL 4096

/* One process's part in an access. */
struct impi_io_part {
    uint32_t error; /* of its arguments, 0: none; then it has no bytes */
    uint64_t bytes;
    uint64_t nruns;
    int64_t first, end;       /* of its bytes in the file; both 0 without any */
    struct impi_io_list list; /* empty where nruns do not fit in a record */
};

void impi_io_record_encode(const struct impi_io_part *p, uint8_t *out);
/* 0, or -1: malformed, or errno ENOMEM.  The caller frees the list with
 * impi_io_list_free(). */
int impi_io_record_decode(struct impi_io_part *p, const uint8_t *in,
                          struct errbuf *err);
static inline bool impi_io_has_list(const struct impi_io_part *p)
{
    return p->nruns <= IMPI_IO_RECORD_RUNS;
}

/* A list of its own, 32 bytes for each run. */
void impi_io_list_encode(const struct impi_io_list *l, uint8_t *out);
/* As above.  It is that of the record. */
int impi_io_list_decode(struct impi_io_part *p, const uint8_t *in, size_t len,
                        struct errbuf *err);

struct impi_io_plan {
    uint32_t nprocs;
    uint32_t naggs; /* 0: nothing to do together */
    int64_t first, end;
    int64_t step; /* size of a domain */
    int64_t window;
    uint32_t rounds;
};

/* naggs: at most so many; window: bytes. */
void impi_io_plan_make(struct impi_io_plan *plan,
                       const struct impi_io_part *parts, uint32_t nprocs,
                       uint32_t naggs, int64_t window);
/* The rank of aggregator k. */
uint32_t impi_io_plan_rank(const struct impi_io_plan *plan, uint32_t k);
/* Its number, or -1. */
int impi_io_plan_number(const struct impi_io_plan *plan, uint32_t rank);
/* Its window in a round; false: it has none. */
bool impi_io_plan_window(const struct impi_io_plan *plan, uint32_t k,
                         uint32_t round, int64_t *first, int64_t *end);
/* Has it to do with aggregator k at all? */
bool impi_io_plan_meets(const struct impi_io_plan *plan, uint32_t k,
                        const struct impi_io_part *p);

/* The pieces of several rising lists within a window, by their places. */
struct impi_io_merge {
    struct impi_io_cursor *of; /* [n] */
    struct merge_head {
        int64_t at;
        uint64_t len, mem;
        uint32_t who;
    } * heap; /* [n] */
    uint32_t n, left;
    int64_t end;
};
/* lists: [n], each may be empty.  -1: no memory. */
int impi_io_merge_start(struct impi_io_merge *m,
                        const struct impi_io_list *const *lists, uint32_t n,
                        int64_t first, int64_t end);
/* The next piece: whose, where, how long, and where in that list's stream. */
bool impi_io_merge_next(struct impi_io_merge *m, uint32_t *who, int64_t *at,
                        uint64_t *len, uint64_t *mem);
void impi_io_merge_end(struct impi_io_merge *m);

#endif
