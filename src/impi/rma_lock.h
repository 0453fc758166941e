/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the one-sided engine (rma.h): the lock of the own memory, for those
 * who ask for it by messages.  They wait in a queue, in one line with those who
 * use the words (rma_words.h), and what comes from one before its turn does is
 * kept until then.
 */
#ifndef SF_IMPI_RMA_LOCK_H
#define SF_IMPI_RMA_LOCK_H

#include "impi/rma_impl.h"

/* Messages of a member: LOCK, UNLOCK and FLUSH.  0, or -1 with errno: EPROTO,
 * ENOMEM. */
int rma_lock_take(struct impi_rma_win *win, uint32_t origin,
                  const struct rma_head *h, struct errbuf *err);
int rma_lock_take_unlock(struct impi_rma_win *win, uint32_t origin,
                         const struct rma_head *h, struct errbuf *err);
int rma_lock_take_flush(struct impi_rma_win *win, uint32_t origin,
                        const struct rma_head *h, struct errbuf *err);

/* A member wants the lock.  silent: it does not wait for it by itself.  0, or
 * -1 with EPROTO. */
int rma_lock_join(struct impi_rma_win *win, uint32_t origin, uint16_t mode,
                  bool silent, struct errbuf *err);
/* Let in those at the head of the queue whose turn has come. */
void rma_lock_grant(struct impi_rma_win *win);
/* A member has the lock no more. */
void rma_lock_give_back(struct impi_rma_win *win, uint32_t origin);
/* A member is lost: what it has or waits for goes to others. */
void rma_lock_lose(struct impi_rma_win *win, uint32_t member);

/* Keep a message of a member that waits.  It has been looked at, and is done
 * when its turn has come.  0, or -1 with errno: EPROTO, it is more than may be;
 * ENOMEM. */
int rma_lock_keep(struct rma_peer *p, const struct rma_head *h,
                  const struct impi_typemap *type, const uint8_t *data,
                  size_t len, struct errbuf *err);
/* What such a message counts for, in bytes. */
uint64_t rma_lock_size_kept(const struct impi_typemap *type, size_t len);
/* Drop all that was kept of it. */
void rma_lock_drop_kept(struct rma_peer *p);

#endif
