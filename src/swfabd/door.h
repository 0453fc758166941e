/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whose HELLO is looked at.  A HELLO costs a look by munged, and anybody can
 * send one: so many per second and no more are looked at, of the unix socket
 * (root and the service user), of addresses that have proved themselves (a
 * link came up) or stand in the parts file, and of strangers each by
 * themselves.  So a flood by a stranger keeps out none of the others; and one
 * address alone not all strangers.
 */
#ifndef SF_SWFABD_DOOR_H
#define SF_SWFABD_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct door_bucket {
    double level;
    uint64_t at;
};

struct door_source {
    uint64_t who; /* 0: nobody */
    bool proved;
    struct door_bucket bucket;
};

/* Zero, then door_open(). */
struct door {
    struct door_bucket local, proved, strangers;
    struct door_source *source; /* by a hash of the address */
    size_t mask;
    uint64_t secret;
};

/* For `expected` addresses that may prove themselves.  -1: no memory. */
int door_open(struct door *door, size_t expected, uint64_t secret,
              uint64_t now);
void door_close(struct door *door);

/* May a HELLO be looked at now?  `who` is the sender's address, not 0. */
bool door_admits_local(struct door *door, uint64_t now);
bool door_admits(struct door *door, uint64_t who, uint64_t now);

/* A link came up with the sender there, or the site's files name it. */
void door_prove(struct door *door, uint64_t who);

#endif
