/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective operations on communicators that span clients (IMPI chapter 4)
 * as lists of steps for one process.  Local steps are done by the client's
 * own library; global ones are exactly those that the standard writes, no
 * other message goes between clients.  All messages travel in the collective
 * context of the communicator, ranks are ranks in it.
 *
 * The caller executes the steps in order, each complete before the next
 * begins (a send: its buffer may be reused).
 */
#ifndef SF_IMPI_SCHEDULE_H
#define SF_IMPI_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "impi/groups.h"

enum impi_step_kind {
    /* A message to or from `rank`, with `tag`, of or into `buf`.  `local`: that
     * process is of the own client (use the native library). */
    IMPI_STEP_SEND,
    IMPI_STEP_RECV,
    /* acc = buf op acc: MPI_Reduce_local(buf, acc). */
    IMPI_STEP_COMBINE,
    /* acc = own. */
    IMPI_STEP_COPY,
    /* Among the processes of the own client, all of which have this step.
     * FANIN: `rank` goes on when all have come.  FANOUT: the others go on when
     * `rank` has come.  REDUCE: own of all, into acc of `rank`.  BCAST: buf of
     * `rank` to buf of all. */
    IMPI_STEP_LOCAL_FANIN,
    IMPI_STEP_LOCAL_FANOUT,
    IMPI_STEP_LOCAL_REDUCE,
    IMPI_STEP_LOCAL_BCAST
};

enum impi_step_buf {
    IMPI_BUF_NONE, /* empty message */
    IMPI_BUF_DATA, /* the buffer of a broadcast */
    IMPI_BUF_OWN,  /* this process's contribution to a reduction */
    IMPI_BUF_ACC,  /* partial result; the result in the end */
    IMPI_BUF_TMP   /* a partial result received */
};

struct impi_step {
    uint8_t kind; /* enum impi_step_kind */
    uint8_t buf;  /* enum impi_step_buf */
    bool local;
    int32_t tag;
    uint32_t rank;
};

struct impi_schedule {
    struct impi_step *steps;
    size_t count;
    size_t size;
};

struct impi_coll_rules {
    uint32_t maxlinear; /* negotiated COLL_MAXLINEAR */
    /* Linear for fewer than maxlinear masters, not up to so many: the
     * standard says both, real implementations do the latter. */
    bool linear_below;
};

/* Each replaces the steps in *s (zeroed or from an earlier call) by those of
 * process `rank`.  Return 0, or -1 with errno ENOMEM. */
int impi_schedule_barrier(struct impi_schedule *s, const struct impi_group *g,
                          const struct impi_coll_rules *rules, uint32_t rank);
/* buf is IMPI_BUF_DATA. */
int impi_schedule_bcast(struct impi_schedule *s, const struct impi_group *g,
                        const struct impi_coll_rules *rules, uint32_t rank,
                        uint32_t root);
/* The result is in the root's acc.  An operation that does not commute is
 * folded strictly in rank order. */
int impi_schedule_reduce(struct impi_schedule *s, const struct impi_group *g,
                         const struct impi_coll_rules *rules, uint32_t rank,
                         uint32_t root, bool commutes);
/* The result is in everybody's acc, bit for bit the same. */
int impi_schedule_allreduce(struct impi_schedule *s, const struct impi_group *g,
                            const struct impi_coll_rules *rules, uint32_t rank,
                            bool commutes);
void impi_schedule_free(struct impi_schedule *s);

/* True when a collective goes linear. */
bool impi_coll_is_linear(const struct impi_group *g,
                         const struct impi_coll_rules *rules);

#endif
