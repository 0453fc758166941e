/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the one-sided engine (rma.h): operations of others on the own
 * memory.
 */
#ifndef SF_IMPI_RMA_TARGET_H
#define SF_IMPI_RMA_TARGET_H

#include "impi/rma_impl.h"

/* Take an operation of a member: it is done, or kept until the member has its
 * turn.  0, or -1 with errno: EPROTO, ENOMEM. */
int rma_target_take(struct impi_rma_win *win, uint32_t origin,
                    const struct rma_head *h, const uint8_t *data, size_t len,
                    struct errbuf *err);
/* Do one whose turn it is, and answer it. */
void rma_target_do(struct impi_rma_win *win, uint32_t peer,
                   const struct rma_head *h, const struct impi_typemap *type,
                   const uint8_t *data);
/* Where a put's data may be written as they arrive: its turn has come, and it
 * is to memory that stays as long as the window.  Else NULL. */
void *rma_target_place(const struct impi_rma_win *win, uint32_t origin,
                       const struct rma_head *h, size_t len);

#endif
