/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The way of a mapper's reports to switchmgrd: numbered, in parts, sealed by
 * munged beside the loop.  For mappers of every kind of fabric.
 */
#ifndef SF_MAPPERD_MAP_SENDER_H
#define SF_MAPPERD_MAP_SENDER_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clerk.h"
#include "health/report.h"
#include "health/sender.h"
#include "mapperd/settings.h"

/* Zero to begin with: reports go nowhere. */
struct map_sender {
    struct clerk *clerk; /* asks munged; NULL: nobody is reported to */
    struct sender *sender;
    uint64_t instance; /* of this mapper's life */
    uint64_t seq;
    uint64_t mishaps; /* of the sender, when they were last looked at */
};

/* To whom Health names; it names nobody: 0, and nothing is sent.  -1 with
 * text: no memory, thread or randomness, or no such address. */
int map_sender_open(struct map_sender *m, struct ev_loop *loop,
                    const struct settings *settings, struct errbuf *err);
/* False: munged has not answered, the sender may still be in use. */
bool map_sender_close(struct map_sender *m);

/* Is anybody reported to? */
bool map_sender_is_open(const struct map_sender *m);

/* The caller's instance and number are put in.  What cannot be sent is told in
 * the log. */
void map_sender_put(struct map_sender *m, struct report *report);
/* The same with n records, borrowed, in as many parts as they need; records
 * NULL: no memory for them. */
void map_sender_put_parts(struct map_sender *m, struct report *report,
                          struct report_record *records, size_t n);

/* Has switchmgrd been away or refused something since this was last asked, or
 * was a report lost before it was sent?  Then it may not have the map, which a
 * heartbeat alone does not bring. */
bool map_sender_lost_any(struct map_sender *m);

#endif
