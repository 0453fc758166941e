/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The words that guard a member's memory in a window (doc/impi-rma.md): the
 * lock of MPI_Win_lock, and the one under which accumulates change elements.
 * They lie in memory that the member shares with the processes on its machine
 * that can map it, or in private memory.  Processes that change the member's
 * memory without a message use the same words as the member's engine, which
 * acts for those that send one.
 *
 * The words are trusted for nothing but waiting: a process that scribbles over
 * them makes others wait, no more.
 */
#ifndef SF_IMPI_RMA_WORDS_H
#define SF_IMPI_RMA_WORDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum impi_rma_lock { IMPI_RMA_UNLOCKED, IMPI_RMA_SHARED, IMPI_RMA_EXCLUSIVE };

/* All zero at first.  The lock gives turns: each process that wants it takes
 * the next number, and enters when `read` (for a shared lock) or `write` has
 * reached that number.  So nobody overtakes anybody, whichever way it came. */
struct impi_rma_words {
    _Atomic uint32_t changer; /* who accumulates, as rank + 1; 0: nobody */
    uint8_t apart[60];
    _Atomic uint32_t users;   /* the next number */
    _Atomic uint32_t read;    /* number that may enter shared, */
    _Atomic uint32_t write;   /* and exclusively: as many have left */
    _Atomic uint32_t awaited; /* the member's engine holds a number for another
                                 and sleeps: tell it when a turn comes */
    _Atomic uint8_t holds[];  /* [n] enum impi_rma_lock, by rank, with a number
                                 or in: whom to look for if nobody gets in */
};

/* Size in bytes for n members, in whole cache lines. */
size_t impi_rma_words_size(uint32_t n);

/* Join the queue.  Returns a number. */
uint32_t impi_rma_words_ask(struct impi_rma_words *w, enum impi_rma_lock mode,
                            uint32_t rank);
/* Enter if it is this number's turn; else false.  *next: the engine may be
 * next, tell it. */
bool impi_rma_words_enter(struct impi_rma_words *w, uint32_t number,
                          enum impi_rma_lock mode, bool *next);
/* Leave.  True: tell the engine. */
bool impi_rma_words_leave(struct impi_rma_words *w, enum impi_rma_lock mode,
                          uint32_t rank);
/* The engine announces that it is about to wait for others, or no longer does.
 * After announcing that it waits it must look once more. */
void impi_rma_words_await(struct impi_rma_words *w, bool waits);

/* Start to change elements.  False: *who is doing so now (a rank, or a number
 * that is not one). */
bool impi_rma_words_begin(struct impi_rma_words *w, uint32_t rank,
                          uint32_t *who);
void impi_rma_words_end(struct impi_rma_words *w);

#endif
