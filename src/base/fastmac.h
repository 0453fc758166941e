/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keyed tag for streams of datagrams: AES-128-GMAC by OpenSSL with a counter
 * as nonce, about a third of a microsecond for a short one and a sixth of the
 * time of HMAC-SHA256 (base/mac.h) for 8 KB.
 *
 * A counter must never be used twice with one key for signing: two tags with
 * the same nonce give the key away.  So: one key per direction and session,
 * counters that only grow.  Not thread-safe; one per thread.
 */
#ifndef SF_BASE_FASTMAC_H
#define SF_BASE_FASTMAC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mac.h"

#define FASTMAC_KEY 16
#define FASTMAC_TAG 16

struct fastmac;

/* The key is copied.  NULL with errno ENOMEM. */
struct fastmac *fastmac_new(const uint8_t key[FASTMAC_KEY]);
void fastmac_free(struct fastmac *mac);

/* The tag over the parts in order, as one text: parts of variable length are
 * framed by the caller.  0, or -1 with errno ENOMEM. */
int fastmac_sign(struct fastmac *mac, uint8_t tag[FASTMAC_TAG],
                 uint64_t counter, const struct mac_part *parts, size_t nparts);

/* Is this the tag?  In a time that does not depend on where they differ. */
bool fastmac_check(struct fastmac *mac, const uint8_t tag[FASTMAC_TAG],
                   uint64_t counter, const struct mac_part *parts,
                   size_t nparts);

#endif
