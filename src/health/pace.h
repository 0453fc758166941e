/* SPDX-License-Identifier: BSD-3-Clause
 *
 * When to report: regularly, and at once when something has changed, but
 * changes that follow each other closely are told together.  Time is an
 * argument, in nanoseconds.
 */
#ifndef SF_HEALTH_PACE_H
#define SF_HEALTH_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct pace {
    uint64_t every; /* between two reports when nothing changes */
    uint64_t least; /* between any two */
    uint64_t last;  /* when the last one was; 0: never */
    bool wanted;    /* something has changed since */
};

/* When the next report is due; now or earlier: at once. */
static inline uint64_t pace_due(const struct pace *p)
{
    if (p->last == 0)
        return 0;
    return p->last + (p->wanted ? p->least : p->every);
}

static inline void pace_done(struct pace *p, uint64_t now)
{
    p->last = now;
    p->wanted = false;
}

#endif
