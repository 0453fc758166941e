/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Work that a change calls for and that looks at all nodes, such as writing the
 * health table: the more nodes there are the longer it takes, and the more
 * changes come while all of them start.  It rests for some time that is a
 * multiple of what it took, so that reports are heard besides; a change after a
 * quiet time never waits.  Times are those of steady_now(), milliseconds.
 */
#ifndef SF_SWITCHMGRD_THROTTLE_H
#define SF_SWITCHMGRD_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

/* Times as long as it took: a fifth of the time at most. */
#define THROTTLE_REST 4

struct throttle {
    int64_t until; /* it rests */
};

/* How long it has to wait from now on, `least` or more. */
static inline int64_t throttle_wait(const struct throttle *p, int64_t now,
                                    int64_t least)
{
    return p->until - now > least ? p->until - now : least;
}

/* Is it time again for what is due every so often, also without a change? */
static inline bool throttle_may(const struct throttle *p, int64_t now)
{
    return p->until <= now;
}

/* It was done, from then until now. */
static inline void throttle_done(struct throttle *p, int64_t began, int64_t now)
{
    p->until = now + THROTTLE_REST * (now - began);
}

#endif
