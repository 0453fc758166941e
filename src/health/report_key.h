/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reports under a connection's own key (doc/health-report.md): HMAC-SHA256,
 * which takes some microseconds for a report, where a MUNGE credential takes a
 * hundred.  The key arrives in a report that MUNGE seals; what follows on that
 * connection is as trustworthy as that report.  The number of the report under
 * its key, from 1, is part of the tag but is not sent: no report can be
 * replayed, left out or exchanged.  Pure.
 */
#ifndef SF_HEALTH_REPORT_KEY_H
#define SF_HEALTH_REPORT_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/mac.h"

#define REPORT_TAG_SIZE MAC_SIZE /* bytes after the text */
/* In the length that precedes what is sent: a report under the key, not a
 * credential. */
#define REPORT_KEYED 0x80000000u
/* Size of a text that is only a number, big-endian: the seq of a report that
 * otherwise repeats the last accepted one of its connection, which had at most
 * SF_REPORT_KEPT_MAX bytes.  No other report is that short. */
#define REPORT_AGAIN_SIZE 8

struct report_key {
    struct mac_key mac;
    uint64_t count; /* reports so far */
};

/* Set a new key, under which there has been no report yet. */
void report_key_set(struct report_key *key,
                    const uint8_t secret[SF_REPORT_KEY]);

/* Make the tag of the key's next report, and count it. */
void report_key_sign(struct report_key *key, uint8_t tag[REPORT_TAG_SIZE],
                     const void *text, size_t len);

/* Is text[0..len), which ends with its tag, the key's next report?  Counts it
 * if so.  False: too short, not the next one, changed in transit, or after
 * SF_REPORT_KEY_REPORTS_MAX reports. */
bool report_key_check(struct report_key *key, const uint8_t *text, size_t len);

#endif
