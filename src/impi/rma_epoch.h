/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the one-sided engine (rma.h): what an origin waits for.  Locks that
 * it wants, flushes, and the ends of epochs.
 */
#ifndef SF_IMPI_RMA_EPOCH_H
#define SF_IMPI_RMA_EPOCH_H

#include "impi/rma_impl.h"

/* Is what this process does to the target's memory done at once, or has it to
 * wait for a lock? */
static inline bool rma_is_in(const struct rma_peer *p)
{
    return !p->lock || p->stage == IN;
}

/* Who answers an operation has let it in. */
static inline void rma_came_in(struct rma_peer *p)
{
    if (p->stage == CARRIED)
        p->stage = IN;
}

/* Answers of a member.  0, or -1 with EPROTO. */
int rma_epoch_take_flushed(struct rma_peer *p, uint64_t id, struct errbuf *err);
int rma_epoch_take_grant(struct rma_peer *p, struct errbuf *err);

/* What the network moves no message follows: those that end an epoch come when
 * all of it is there. */
void rma_epoch_end_moves(struct impi_rma_win *win, uint32_t target);

#endif
