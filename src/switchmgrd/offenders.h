/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who sends bad reports, and how many: each costs a round trip to munged, so a
 * source may send SF_SWITCHMGR_BAD_BURST at once and SF_SWITCHMGR_BAD_RATE per
 * second, and must wait then.  A source is an address, or a user of this
 * machine.  Zero to begin with.  No clock: `now` is in ms.
 */
#ifndef SF_SWITCHMGRD_OFFENDERS_H
#define SF_SWITCHMGRD_OFFENDERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct offender;

struct offenders {
    struct offender *by_source;                /* uthash */
    TAILQ_HEAD(offender_list, offender) order; /* the latest last */
    unsigned n;
};

void offenders_init(struct offenders *o);
void offenders_free(struct offenders *o);

/* May it be listened to? */
bool offenders_may_send(const struct offenders *o, uint64_t source,
                        int64_t now);

/* It sent a bad one.  True: that was its last for now.  Beyond
 * SF_SWITCHMGR_OFFENDERS_MAX the one that was good longest is forgotten. */
bool offenders_count(struct offenders *o, uint64_t source, int64_t now);

#endif
