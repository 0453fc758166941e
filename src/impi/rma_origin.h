/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the one-sided engine (rma.h): operations on memory of others, and
 * the answers to them.
 */
#ifndef SF_IMPI_RMA_ORIGIN_H
#define SF_IMPI_RMA_ORIGIN_H

#include "impi/rma_impl.h"

/* Answers of a member.  0, or -1 with EPROTO. */
int rma_origin_take_result(struct impi_rma_win *win, uint32_t member,
                           const struct rma_head *h, const uint8_t *data,
                           size_t len, struct errbuf *err);
int rma_origin_take_refusal(struct impi_rma_win *win, uint32_t member,
                            const struct rma_head *h, struct errbuf *err);
/* Where a result's data may be written as they arrive, or NULL.  Nothing else
 * ends that operation then. */
void *rma_origin_place(const struct impi_rma_win *win, uint32_t target,
                       const struct rma_head *h, size_t len);

/* An operation that is held (struct held) goes out; the last before a flush
 * gets an answer.  True: and the lock goes back with it. */
bool rma_origin_let_go(struct impi_rma_win *win, uint32_t target, bool last,
                       bool leave);
/* All operations on the peer's memory end. */
void rma_origin_lose(struct impi_rma *rma, uint32_t peer);

#endif
