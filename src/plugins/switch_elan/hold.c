/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "plugins/switch_elan/hold.h"

#define MARK "fabric=" /* of our word in Extra (health/plan.h) */

/* "fabric=down:rail0=down:rail1=up:since=...", up to a blank. */
bool hold_is_down(const char *extra, uint32_t rails)
{
    char want[32];
    const char *word, *end;

    for (word = extra; word && *word; word = *end ? end + 1 : end) {
        end = word + strcspn(word, " ");
        if (strncmp(word, MARK, strlen(MARK)) != 0)
            continue;
        for (uint32_t r = 0; r < rails && r < SF_ELAN_RAILS_MAX; r++) {
            int n = snprintf(want, sizeof(want), ":rail%u=down", r);
            const char *at = strstr(word, want);

            if (at && at < end && (at[n] == ':' || at + n == end))
                return true;
        }
    }
    return false;
}

void hold_begin(struct hold *hold, int64_t now, uint32_t seconds)
{
    *hold = (struct hold){.began = now, .until = now + seconds * INT64_C(1000)};
}

enum hold_verdict hold_look(struct hold *hold, int64_t now, bool known,
                            bool down)
{
    if (known && !down &&
        (hold->seen_down || now - hold->began >= HOLD_SETTLE_MS))
        return HOLD_GO;
    hold->seen_down |= known && down;
    return now >= hold->until ? HOLD_REFUSE : HOLD_WAIT;
}
