/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the one-sided engine (rma.h): memory of others without messages. It
 * is mapped here, or can be copied (impi_rma_ops.copy), or the network reads
 * and writes it (impi_rma_ops.move).
 */
#ifndef SF_IMPI_RMA_DIRECT_H
#define SF_IMPI_RMA_DIRECT_H

#include "impi/rma_impl.h"

/* Do an operation on memory that is mapped here. */
void rma_direct_mapped(struct impi_rma_win *win,
                       const struct impi_rma_args *args,
                       const struct rma_head *h, struct impi_rma_op *op);
/* May the operation go one of the other two ways? */
bool rma_direct_may(const struct impi_rma_win *win,
                    const struct impi_rma_args *args);
/* Start it that way.  False: by a message, which also finds out what is
 * wrong. */
bool rma_direct_start(struct impi_rma_win *win,
                      const struct impi_rma_args *args, struct impi_rma_op *op);

/* EXPOSE: a member wants to know how the network reaches the own memory; and
 * EXPOSED: the answer.  0, or -1 with EPROTO. */
void rma_direct_take_expose(struct impi_rma_win *win, uint32_t member);
int rma_direct_take_exposed(struct rma_peer *p, const struct rma_head *h,
                            struct errbuf *err);

#endif
