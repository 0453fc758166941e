/* SPDX-License-Identifier: BSD-3-Clause */
#include "health/report_key.h"

#include "base/be.h"

static void tag_of(const struct report_key *key, uint64_t number,
                   uint8_t tag[REPORT_TAG_SIZE], const void *text, size_t len)
{
    uint8_t n[8];

    be_store64(n, number);
    mac_key_sign(&key->mac, tag,
                 (const struct mac_part[]){{n, sizeof(n)}, {text, len}}, 2);
}

void report_key_set(struct report_key *key, const uint8_t secret[SF_REPORT_KEY])
{
    mac_key_set(&key->mac, secret, SF_REPORT_KEY);
    key->count = 0;
}

void report_key_sign(struct report_key *key, uint8_t tag[REPORT_TAG_SIZE],
                     const void *text, size_t len)
{
    tag_of(key, ++key->count, tag, text, len);
}

bool report_key_check(struct report_key *key, const uint8_t *text, size_t len)
{
    uint8_t right[REPORT_TAG_SIZE];

    if (len <= REPORT_TAG_SIZE || key->count >= SF_REPORT_KEY_REPORTS_MAX)
        return false;
    len -= REPORT_TAG_SIZE;
    tag_of(key, key->count + 1, right, text, len);
    if (!mac_equal(right, text + len, sizeof(right)))
        return false;
    key->count++;
    return true;
}
