/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The routes of one board: to each peer up to eight.  Loaded as a whole, by a
 * mapper or from a file; a sender looks a peer up by its address.
 */
#ifndef SF_HSN_ROUTES_H
#define SF_HSN_ROUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "hsn/libhsn.h"

/* What is known of a peer beside its routes; kept when routes are loaded
 * anew. */
struct hsn_peer_state {
    uint64_t sent, received; /* packets */
    uint64_t failed;         /* packets that did not leave */
    uint64_t expired;        /* halves of it that expired */
    uint64_t echo_sent, echo_back;
    uint64_t echo_at; /* when the last one left, 0: none is on its way */
    uint32_t echo_number;
    uint8_t asked, answered;     /* routes of that echo, a bit each */
    bool silent;                 /* no answer came to the last echo */
    bool in_use;                 /* messages went to it since the last one */
    uint64_t rtt_ns, rtt_min_ns; /* last, best; 0: none yet */
    uint64_t reported_sent, reported_back; /* echoes in reports so far */
};

/* What is known of a route; kept when the same is loaded anew. */
struct hsn_route_state {
    uint64_t sent; /* packets */
    uint64_t echo_sent, echo_back;
    bool dead; /* no echo came back, while one did by another route */
};

struct hsn_routed {
    uint64_t address;
    uint32_t host_type;
    bool neighbour;
    uint8_t nroutes;
    uint32_t first;              /* of its routes */
    uint8_t use[HSN_ROUTES_MAX]; /* those that are in use */
    uint8_t nuse;
    struct hsn_peer_state state;
};

struct hsn_routes {
    uint32_t map_version, host_type;
    bool configured;
    struct hsn_routed *peers; /* in the order of loading */
    size_t npeers;
    struct hsn_route_bytes *routes;
    struct hsn_route_state *states; /* of each of them */
    size_t nroutes;
    uint32_t *slots; /* hash: index + 1 of a peer; 0 free */
    uint32_t mask;
};

struct hsn_route_bytes {
    uint8_t len;
    uint8_t byte[HSN_ROUTE_MAX];
};

/* Make a table.  `old` (may be NULL) lends what is known of its peers.  0, or
 * -1 with errno and text: EINVAL a peer twice, an address of more than 48
 * bits, an invalid route byte; E2BIG; ENOMEM.  On failure *r is empty. */
int hsn_routes_make(struct hsn_routes *r, const struct hsn_peer *peers,
                    size_t n, const struct hsn_routes *old, struct errbuf *err);
void hsn_routes_free(struct hsn_routes *r);

struct hsn_routed *hsn_routes_find(const struct hsn_routes *r,
                                   uint64_t address);
/* The route that a flow of messages takes: one of the shortest that live, the
 * same one as long as they do.  Its index in routes and states. */
size_t hsn_routes_pick(const struct hsn_routed *peer, uint32_t flow);
/* Alternative `route` of a peer, counted from 0, is dead or lives: flows go
 * elsewhere, or come back.  When none lives all are used.  True: a change. */
bool hsn_routes_mark(struct hsn_routes *r, struct hsn_routed *peer,
                     unsigned route, bool dead);
/* As they were loaded. */
void hsn_routes_export(const struct hsn_routes *r,
                       const struct hsn_routed *peer, struct hsn_peer *out);

/* Are all bytes route bytes? */
bool hsn_route_valid(const uint8_t *route, size_t len);

/* Read a file of routes: lines `ADDRESS [neighbour] [type=N] ROUTE...`, each
 * route `-` (none: the other end of the cable) or deltas separated by commas,
 * as in `0060dd470001 neighbour 3,-2 4,-2`; `#` begins a comment.  *peers is
 * to be freed.  -1 with EINVAL and text that names file and line, or ENOMEM. */
int hsn_routes_parse(const char *name, const char *text, size_t len,
                     struct hsn_peer **peers, size_t *n, struct errbuf *err);

#endif
