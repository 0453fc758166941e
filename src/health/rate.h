/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Is a rate of errors too high?  From two counters that only rise: what went
 * wrong, of how much.  They may begin anew (a restart, a wrap, somebody who
 * cleared them): then what lies between the two values does not count.
 *
 * Counted are windows of time, each as long as it takes to see enough.  The
 * rate is high as soon as one has enough errors and they are a large enough
 * part of it; it is so no more after several windows in a row with at most
 * half of that.  In between all stays as it is.
 *
 * Pure; times are milliseconds.
 */
#ifndef SF_HEALTH_RATE_H
#define SF_HEALTH_RATE_H

#include <stdbool.h>
#include <stdint.h>

#define RATE_WHOLE 1000000u /* parts of a rate */

struct rate_conf {
    uint32_t limit;   /* errors in RATE_WHOLE; 0: never too high */
    uint32_t least;   /* errors; fewer do not count */
    uint32_t traffic; /* that a window needs to say anything */
    int64_t window;   /* length at least, ms */
    uint32_t clean;   /* windows until it is well again */
};

struct rate {
    bool seen;         /* bad and all are valid */
    uint64_t bad, all; /* as last told */
    int64_t began;     /* the window */
    uint64_t in_bad, in_all;
    uint32_t clean; /* windows in a row */
    bool high;
    uint32_t rate; /* high: as it was told, in RATE_WHOLE */
};

/* The counters are so now.  anew: they began again from 0.  Returns whether
 * `high` or `rate` has changed: the latter only when it has doubled or
 * halved. */
bool rate_take(struct rate *r, const struct rate_conf *conf, uint64_t bad,
               uint64_t all, bool anew, int64_t now);

#endif
