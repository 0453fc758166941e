/* SPDX-License-Identifier: BSD-3-Clause
 *
 * When to report: regularly, and at once when something has changed, except
 * that changes in quick succession are reported together.  A recent regular
 * report does not delay a change, and a recent change does not delay an urgent
 * one: urgent ones wait only for each other.  Time is an argument, in
 * nanoseconds.
 */
#ifndef SF_HEALTH_PACE_H
#define SF_HEALTH_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct pace {
    uint64_t every; /* between two reports if nothing changes */
    uint64_t least; /* between two reports of changes */
    uint64_t last;  /* time of the last report; 0: never */
    uint64_t told;  /* time of the last one with a change; 0: never */
    uint64_t urged; /* time of the last urgent one; 0: never */
    bool wanted;    /* something has changed since */
    bool urgent;    /* ... and must not wait for other changes */
};

/* When the next report is due: at once if that is now or earlier. */
static inline uint64_t pace_due(const struct pace *p)
{
    if (p->urgent)
        return p->urged ? p->urged + p->least : 0;
    if (p->last == 0 || (p->wanted && p->told == 0))
        return 0;
    return p->wanted ? p->told + p->least : p->last + p->every;
}

static inline void pace_done(struct pace *p, uint64_t now)
{
    p->last = now;
    if (p->wanted)
        p->told = now;
    if (p->urgent)
        p->urged = now;
    p->wanted = p->urgent = false;
}

#endif
