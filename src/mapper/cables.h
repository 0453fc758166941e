/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which cables between crossbars lose or break frames?  The leader's mapper
 * looks at each of the map's in turn: a few frames turn round at the crossbar
 * before it, as many at the one behind it.  What more of the second are missing
 * is the cable's: whatever else lies on the way both have crossed.
 *
 * A cable that frames were missed on is looked at by many frames for a while.
 * It is faulty when so many more are missing that chance does not explain it,
 * and more than CABLES_LIMIT of the crossings; and well again when a number of
 * frames went well.
 *
 * A look with many frames from which nothing comes back from behind, and one
 * after it from which something does, are a fall: the cable was gone for a
 * moment.  A cable that falls is not judged by what it loses until it has been
 * calm for a while.  Falls are counted over maps, where the crossbars have ids.
 * Looks come at uneven times: a cable that flaps in step with them would look
 * well.  A cable that is dead is the verifier's to find.
 *
 * Pure: frames are handed out; time is in nanoseconds of any monotonic clock.
 */
#ifndef SF_MAPPER_CABLES_H
#define SF_MAPPER_CABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/graph.h"

#define CABLES_LOOK_NS 100000000ULL  /* between two looks, on average */
#define CABLES_WAIT_NS 1000000000ULL /* a frame is lost then */
#define CABLES_PASS 64 /* looks that a whole pass takes; more when large: */
#define CABLES_MOST 16 /* cables looked at together */
#define CABLES_FEW 4   /* frames to each end of a cable */
#define CABLES_MANY 16
#define CABLES_WARY 100   /* looks with many, after frames were missed */
#define CABLES_LIMIT 1000 /* of a million crossings */
#define CABLES_KEPT 256   /* cables whose falls are kept from map to map */
#define CABLES_ROUTE_MAX 64

struct cables;

struct cables_frame {
    uint64_t tag; /* to be given back */
    uint8_t nroute;
    uint8_t route[CABLES_ROUTE_MAX];
};

/* Without a map: nothing is looked at.  NULL: no memory. */
struct cables *cables_new(uint64_t seed);
void cables_free(struct cables *c);

/* Look at the cables of a map, which is borrowed until cables_stop(); me is a
 * host of it.  False: no memory. */
bool cables_begin(struct cables *c, const struct net *map, uint32_t me,
                  uint64_t now);
/* The map is not looked at any more; how often its cables fell is kept. */
void cables_stop(struct cables *c);
bool cables_began(const struct cables *c);

/* Looks that are due begin, others end.  True: a cable has become faulty or
 * well, or loses twice or half as much as was told. */
bool cables_tick(struct cables *c, uint64_t now);
uint64_t cables_deadline(const struct cables *c);

/* What is to be sent now, one after the other. */
bool cables_next(struct cables *c, struct cables_frame *frame);
/* A frame is back. */
void cables_back(struct cables *c, uint64_t tag);

/* Of the cable at a global port of the map: crossings lost of a million, 0: it
 * is well, or not looked at. */
uint32_t cables_lost(const struct cables *c, uint32_t port);
/* How often it fell and came back, in all. */
uint32_t cables_falls(const struct cables *c, uint32_t port);

#endif
