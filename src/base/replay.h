/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Window against replayed datagrams: counters from 1 on, each accepted once;
 * what is older than the newest by REPLAY_WINDOW or more is refused.  Look
 * first, check the datagram's tag, then mark.  All zero to begin with.
 */
#ifndef SF_BASE_REPLAY_H
#define SF_BASE_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#define REPLAY_WINDOW 1024

struct replay {
    uint64_t newest; /* 0: none yet */
    uint64_t seen[REPLAY_WINDOW / 64];
};

static inline bool replay_is_new(const struct replay *r, uint64_t counter)
{
    if (counter == 0)
        return false;
    if (counter > r->newest)
        return true;
    return r->newest - counter < REPLAY_WINDOW &&
           !(r->seen[counter % REPLAY_WINDOW / 64] >> counter % 64 & 1);
}

static inline void replay_mark(struct replay *r, uint64_t counter)
{
    uint64_t gone = counter > r->newest ? counter - r->newest : 0;

    for (uint64_t i = 1; i <= gone && i <= REPLAY_WINDOW; i++) {
        uint64_t c = r->newest + i;

        r->seen[c % REPLAY_WINDOW / 64] &= ~(1ULL << c % 64);
    }
    r->seen[counter % REPLAY_WINDOW / 64] |= 1ULL << counter % 64;
    if (gone)
        r->newest = counter;
}

#endif
