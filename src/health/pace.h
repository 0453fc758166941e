/* SPDX-License-Identifier: BSD-3-Clause
 *
 * When to report: regularly, and at once when something has changed, but
 * changes that follow each other closely are told together.  A regular report
 * just before holds no change back, and no change one that is urgent: those
 * wait for each other only.  Time is an argument, in nanoseconds.
 */
#ifndef SF_HEALTH_PACE_H
#define SF_HEALTH_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct pace {
    uint64_t every; /* between two reports when nothing changes */
    uint64_t least; /* between two that tell changes */
    uint64_t last;  /* when the last one was; 0: never */
    uint64_t told;  /* when the last one that told a change was; 0: never */
    uint64_t urged; /* when the last urgent one was; 0: never */
    bool wanted;    /* something has changed since */
    bool urgent;    /* ... that must not wait for other changes */
};

/* When the next report is due; now or earlier: at once. */
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
