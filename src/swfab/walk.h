/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The way of a packet, without the packet: only its first bytes are looked at,
 * so that a caller that forwards 8 KB copies them once, from where they are to
 * where they go.
 */
#ifndef SF_SWFAB_WALK_H
#define SF_SWFAB_WALK_H

#include "swfab/swfab.h"

/* As much of a packet as decides its way. */
#define SWFAB_HEAD_MAX (NET_WIRE_ROUTE_MAX + NET_TYPE_SIZE + NET_CRC_SIZE)
#define SWFAB_FLIPS_MAX 4 /* flipped bits of one packet */

struct swfab_walk {
    /* given */
    uint8_t *head; /* copy of the first min(len, SWFAB_HEAD_MAX) bytes; bits
                      that are flipped on the way are flipped here too */
    size_t len;    /* of the whole packet */
    /* found */
    enum swfab_fate fate;
    uint32_t port;   /* as in struct swfab_arrival */
    size_t stripped; /* route bytes gone = crossbars gone through */
    unsigned nturns, nflips;
    uint32_t turn[NET_TAGS_MAX]; /* ports by which it turned round */
    struct {
        uint32_t at; /* byte of the packet as it was sent */
        uint8_t bit;
    } flip[SWFAB_FLIPS_MAX];
};

/* Follow a packet from a host to its end and count it.  swfab_follow() does not
 * count it, for callers that do not know yet whether anybody takes it there. */
enum swfab_fate swfab_walk(struct swfab *fab, uint32_t host,
                           struct swfab_walk *w);
enum swfab_fate swfab_follow(struct swfab *fab, uint32_t host,
                             struct swfab_walk *w);

/* A host that is the end of a cable into another fabric: packets get there
 * with what is left of their route, and come from there.  False: no host. */
bool swfab_set_trunk(struct swfab *fab, uint32_t host);

/* Bytes of a delivered packet as it arrives. */
size_t swfab_walk_size(const struct swfab *fab, const struct swfab_walk *w);

/* Write a delivered packet as it arrives to out[0..swfab_walk_size()).
 * packet: as it was sent (each byte is read once). */
void swfab_walk_write(const struct swfab *fab, const struct swfab_walk *w,
                      uint8_t *out, const uint8_t *packet);

#endif
