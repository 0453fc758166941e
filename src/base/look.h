/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decides what a loop does when the rings it looks at are empty: look again, or
 * sleep.  Looking again saves a wake-up, which is dearest on a processor that
 * has nothing else to do, but takes time that other threads could have used.
 * So a loop looks again only if the last pause was short enough for that to
 * pay, and yields the processor between two looks.  If it gets the processor
 * back late twice in a row, it shares it with a thread that does not yield;
 * then sleeping is better, because a sleeper that is woken has its turn.
 *
 * No clock here: times are nanoseconds of any steady clock.
 */
#ifndef SF_BASE_LOOK_H
#define SF_BASE_LOOK_H

#include <stdbool.h>
#include <stdint.h>

/* Where nothing else is known: several times what a wake-up takes. */
#define LOOK_MOST_NS 200000u

struct look {
    /* Set by the owner. */
    uint64_t most;  /* that looking may last; 0: never */
    uint64_t kept;  /* a longer rest between two looks is late; 0: 30 us */
    uint64_t least; /* how long it sleeps at once then; 0: 100 ms */
    /* private, all zero to begin with */
    uint64_t idle;    /* since when nothing is found; 0: something was */
    uint64_t rested;  /* when look_idle() said to look again; 0: did not */
    uint64_t crowded; /* until then it does not pay */
    uint64_t pause;   /* how long that lasts next time */
    bool late;        /* the rest before was */
    bool pays;        /* the last time that nothing was found was short */
};

/* Something was found at this look. */
void look_found(struct look *l, uint64_t now);

/* Nothing was.  True: look again, after look_rest(); false: sleep. */
bool look_idle(struct look *l, uint64_t now);

/* Between two looks: let others go on, if there are some. */
void look_rest(void);

#endif
