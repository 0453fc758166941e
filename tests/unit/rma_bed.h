/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One-sided communication among several engines in one process.  Messages of
 * a pair stay in order; which pair goes on is chosen by a seed.
 */
#ifndef SF_TESTS_RMA_BED_H
#define SF_TESTS_RMA_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "impi/rma.h"

#define N 4
#define CELLS 16

struct msg {
    struct msg *next;
    size_t len;
    uint8_t bytes[];
};

struct rma_bed {
    struct impi_rma *rma[N];
    struct impi_rma_win *win[N];
    int64_t mem[N][CELLS];
    struct msg *from[N + 1][N]; /* [to][from], oldest first */
    uint64_t random;
    int sent;
    const void *data;     /* of the last message, */
    bool lasts;           /* and what was said of them */
    int copies, may_copy; /* so many of them work */
    bool may_move, hidden, refuses;
    struct moving {
        struct impi_rma_place there;
        void *own, *token;
        bool write;
    } moving[8]; /* by the network, the oldest first */
    size_t nmoving;
    _Alignas(64) uint8_t words[N][256];
};
extern struct rma_bed w;
/* What the engines are given; early is set by begin.. */
extern struct impi_rma_ops rma_bed_ops;

uint32_t draw(uint32_t n);

/* N engines with a window, number 8, of mem[N]. */
void begin(uint64_t seed);
/* Some have the memory of others mapped, or only its words. */
void begin_mapped(uint64_t seed);
/* All of the newest release, where operations bring their locks along. */
void begin_early(uint64_t seed);
void begin_early_mapped(uint64_t seed);
/* All messages have arrived; the engines go. */
void end(void);

struct impi_rma_words *words(uint32_t target);

/* One message, or false: there is none. */
bool step(void);
void run(void);
/* The oldest from one to another, to be freed. */
struct msg *next_msg(uint32_t to, uint32_t from);
void drop_messages(void);

struct impi_rma_args at(enum impi_rma_kind kind, uint32_t target, int cell,
                        int cells);
/* To be flushed. */
void put(uint32_t own, uint32_t target, int cell, int64_t v);
void get(uint32_t own, uint32_t target, int cell, int64_t *v,
         struct impi_rma_op *o, bool now);
/* Both done when they return. */
int64_t fetch(uint32_t own, uint32_t target, int cell, uint32_t op, int64_t v);
void flush(uint32_t own, uint32_t target);
/* A lock whose first operation may be held; it returns as impi_rma_lock(). */
bool lock(uint32_t own, uint32_t target, enum impi_rma_lock mode);
void unlock(uint32_t own, uint32_t target);
/* Its target refuses it with this error. */
void refused(uint32_t own, const struct impi_rma_args *a, uint32_t error);

/* Three of eight bytes, to be freed. */
struct impi_typemap *every_second(int64_t extent);

/* A header as rma_wire.c lays it out. */
void forge(uint8_t *m, uint8_t kind, uint16_t op, uint32_t type, uint64_t id,
           uint64_t count, uint64_t len);
/* Process 0 finds out that such a message of process 1 is none. */
void breaks(const uint8_t *m, size_t len);

#endif
