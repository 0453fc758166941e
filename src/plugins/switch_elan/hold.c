/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "plugins/switch_elan/hold.h"

#define MARK "fabric=" /* of our word in Extra (health/plan.h) */

/* "rail0=down": a part of our word. */
static void read_part(struct health_table_node *node, const char *part, int len)
{
    int64_t since;
    unsigned rail;
    int n = 0;

    if (sscanf(part, "rail%1u=down%n", &rail, &n) == 1 && n == len &&
        rail < SF_ELAN_RAILS_MAX)
        node->refuse |= (uint8_t)(1u << rail);
    else if (sscanf(part, "since=%15" SCNd64, &since) == 1 && since > 0)
        node->since = since * 1000;
    else if (strncmp(part, "why=", 4) == 0)
        snprintf(node->why, sizeof(node->why), "%.*s", len - 4, part + 4);
}

/* "fabric=down:rail0=down:rail1=up:since=...", up to a blank. */
bool hold_read_extra(struct health_table_node *node, const char *extra)
{
    const char *word = extra;
    size_t len;

    node->state = HEALTH_HEALTHY;
    node->since = 0;
    node->count = 0;
    node->rails = node->refuse = 0;
    node->why[0] = '\0';
    while (word && strncmp(word, MARK, strlen(MARK)) != 0)
        word = (word = strchr(word, ' ')) ? word + 1 : NULL;
    if (!word)
        return false;
    for (word += strcspn(word, ": "); *word == ':'; word += len) {
        len = strcspn(++word, ": ");
        read_part(node, word, (int)len);
    }
    node->rails = node->refuse;
    if (node->refuse)
        node->state = HEALTH_DOWN;
    return true;
}

bool hold_is_down(const char *extra, uint32_t rails)
{
    struct health_table_node node;

    return hold_read_extra(&node, extra) &&
           (node.refuse & ((1u << rails) - 1)) != 0;
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
