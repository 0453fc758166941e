/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who leaves moves `write` and then looks at `awaited`; the engine sets
 * `awaited` and then looks at `write`.  Both in one order for all, so at least
 * one of them sees the other.
 */
#include "impi/rma_words.h"

#define LINE 64

_Static_assert(offsetof(struct impi_rma_words, users) == LINE,
               "one line for the lock, another for changes");

size_t impi_rma_words_size(uint32_t n)
{
    return (sizeof(struct impi_rma_words) + (size_t)n + LINE - 1) / LINE * LINE;
}

/* `holds` is written while the line is ours: when the turn comes another one
 * may be waiting for it. */
uint32_t impi_rma_words_ask(struct impi_rma_words *w, enum impi_rma_lock mode,
                            uint32_t rank)
{
    uint32_t number = atomic_fetch_add(&w->users, 1);

    atomic_store_explicit(&w->holds[rank], (uint8_t)mode, memory_order_relaxed);
    return number;
}

bool impi_rma_words_enter(struct impi_rma_words *w, uint32_t number,
                          enum impi_rma_lock mode, bool *next)
{
    bool shared = mode == IMPI_RMA_SHARED;

    *next = false;
    if (atomic_load_explicit(shared ? &w->read : &w->write,
                             memory_order_acquire) != number)
        return false;
    if (shared) {
        atomic_store(&w->read, number + 1); /* nobody else moves it now */
        *next = atomic_load(&w->awaited);
    }
    return true;
}

bool impi_rma_words_leave(struct impi_rma_words *w, enum impi_rma_lock mode,
                          uint32_t rank)
{
    atomic_store_explicit(&w->holds[rank], IMPI_RMA_UNLOCKED,
                          memory_order_relaxed);
    if (mode == IMPI_RMA_EXCLUSIVE) {
        uint32_t next =
            atomic_load_explicit(&w->write, memory_order_relaxed) + 1;

        /* Alone in there, so nobody else moves it; but the next may read, and
         * leave, at once. */
        atomic_store_explicit(&w->read, next, memory_order_release);
    }
    atomic_fetch_add(&w->write, 1);
    return atomic_load(&w->awaited);
}

void impi_rma_words_await(struct impi_rma_words *w, bool waits)
{
    atomic_store(&w->awaited, waits);
}

bool impi_rma_words_begin(struct impi_rma_words *w, uint32_t rank,
                          uint32_t *who)
{
    uint32_t nobody = 0;

    if (atomic_compare_exchange_strong_explicit(&w->changer, &nobody, rank + 1,
                                                memory_order_acquire,
                                                memory_order_relaxed))
        return true;
    *who = nobody - 1;
    return false;
}

void impi_rma_words_end(struct impi_rma_words *w)
{
    atomic_store_explicit(&w->changer, 0, memory_order_release);
}
