/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keyed hash (HMAC-SHA256) and random bytes (getrandom).
 */
#ifndef SF_BASE_MAC_H
#define SF_BASE_MAC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAC_SIZE 32 /* bytes of one HMAC-SHA256 */

/* One piece of the text that is hashed. */
struct mac_part {
    const void *data;
    size_t len;
};

/* HMAC-SHA256 under key over the parts in order.  The caller frames parts of
 * variable length itself (a length in front), so that no two texts collide.
 * Returns 0. */
int mac_sign(uint8_t out[MAC_SIZE], const void *key, size_t key_len,
             const struct mac_part *parts, size_t nparts);

/* A key that is used often: what only depends on the key is worked out once,
 * half of the work of a short text.  As secret as the key itself. */
struct mac_key {
    uint32_t inner[MAC_SIZE / 4], outer[MAC_SIZE / 4];
};

/* The key is not needed afterwards. */
void mac_key_set(struct mac_key *k, const void *key, size_t key_len);
/* As mac_sign(). */
void mac_key_sign(const struct mac_key *k, uint8_t out[MAC_SIZE],
                  const struct mac_part *parts, size_t nparts);

/* Compare in a time that does not depend on where they differ. */
bool mac_equal(const void *a, const void *b, size_t len);

/* Fill buf from getrandom(2).  Returns 0, or -1 with errno. */
int mac_random(void *buf, size_t len);

#endif
