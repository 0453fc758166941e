/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a loop does that found nothing at the rings it looks at: look again, or
 * sleep.  Looking saves waking up, which costs most where a processor had
 * nothing else to do; it is paid for by those who would have been let go on.
 * So it is done only where the last pause was short enough for it, others are
 * let go first between two looks, and who is kept waiting for long twice in a row
 * shares the processor with somebody who does not give way: then sleeping is
 * better, for it gives a right to be woken.
 *
 * No clock here: times are nanoseconds of any steady clock.
 */
#ifndef SF_BASE_LOOK_H
#define SF_BASE_LOOK_H

#include <stdbool.h>
#include <stdint.h>

/* Where nothing else is known: some times what it takes to wake up. */
#define LOOK_MOST_NS 200000u

struct look {
    /* Set by the owner. */
    uint64_t most;  /* that looking may last; 0: never */
    uint64_t kept;  /* a longer rest between two looks is late; 0: 30 us */
    uint64_t least; /* how long it does not look then, at first; 0: 100 ms */
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
