/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The words that guard a member's memory in a window (doc/impi-rma.md): the
 * lock of MPI_Win_lock, and the one under which accumulates change elements.
 * They lie in memory that the member shares with the processes of its machine
 * which can map it, or in its own; whoever changes the memory without a
 * message, and the member's engine for those who send one, take the same words.
 *
 * Nobody believes them for anything but waiting: a process that scribbles over
 * them makes others wait, no more.
 */
#ifndef SF_IMPI_RMA_WORDS_H
#define SF_IMPI_RMA_WORDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum impi_rma_lock { IMPI_RMA_UNLOCKED, IMPI_RMA_SHARED, IMPI_RMA_EXCLUSIVE };

/* All zero to begin with.  The lock gives turns: each who wants it takes the
 * next number, and goes in when `read` (a shared one) or `write` has come to
 * it.  So nobody passes anybody, whichever way he came. */
struct impi_rma_words {
    _Atomic uint32_t changer; /* who accumulates: rank + 1; 0: nobody */
    uint8_t apart[60];
    _Atomic uint32_t users;   /* the next number */
    _Atomic uint32_t read;    /* number that may go in shared, */
    _Atomic uint32_t write;   /* and exclusively: as many have left */
    _Atomic uint32_t awaited; /* the member's engine holds a number for another
                                 and sleeps: tell it when a turn has come */
    _Atomic uint8_t holds[];  /* [n] enum impi_rma_lock, by rank: who to look
                                 for when it is not given back */
};

/* Bytes for n members, whole cache lines. */
size_t impi_rma_words_size(uint32_t n);

/* Stand in line: a number. */
uint32_t impi_rma_words_ask(struct impi_rma_words *w);
/* Is it this number's turn?  Then it is in.  *next: the engine may be the next
 * one, tell it. */
bool impi_rma_words_enter(struct impi_rma_words *w, uint32_t number,
                          enum impi_rma_lock mode, uint32_t rank, bool *next);
/* Out again.  True: tell the engine. */
bool impi_rma_words_leave(struct impi_rma_words *w, enum impi_rma_lock mode,
                          uint32_t rank);
/* The engine is about to wait for others, or does so no more.  It looks once
 * more after it has said so. */
void impi_rma_words_await(struct impi_rma_words *w, bool waits);

/* To change elements: false: *who does so now (a rank, or none that is). */
bool impi_rma_words_begin(struct impi_rma_words *w, uint32_t rank,
                          uint32_t *who);
void impi_rma_words_end(struct impi_rma_words *w);

#endif
