/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "swfabd/door.h"

#define PLACES 4 /* where an address may stand, one beside the other */

static void fill(struct door_bucket *b, double burst, uint64_t now)
{
    b->level = burst;
    b->at = now;
}

static bool take(struct door_bucket *b, double rate, double burst, uint64_t now)
{
    b->level += (double)(now - b->at) / 1e9 * rate;
    b->at = now;
    if (b->level > burst)
        b->level = burst;
    if (b->level < 1)
        return false;
    b->level -= 1;
    return true;
}

static bool take_full(struct door_bucket *b, uint64_t now)
{
    return take(b, SF_SWFABD_HELLO_RATE, SF_SWFABD_HELLO_BURST, now);
}

int door_open(struct door *door, size_t expected, uint64_t secret, uint64_t now)
{
    size_t size = SF_SWFABD_SOURCES_MIN;

    while (size < 4 * expected)
        size *= 2;
    door->source = calloc(size + PLACES, sizeof(*door->source));
    if (!door->source)
        return -1;
    door->mask = size - 1;
    door->secret = secret;
    fill(&door->local, SF_SWFABD_HELLO_BURST, now);
    fill(&door->proved, SF_SWFABD_HELLO_BURST, now);
    fill(&door->strangers, SF_SWFABD_HELLO_BURST, now);
    return 0;
}

void door_close(struct door *door)
{
    free(door->source);
    memset(door, 0, sizeof(*door));
}

/* The address's place; else one that may be had: free, or of the stranger who
 * was not heard of for longest.  NULL: all have proved themselves. */
static struct door_source *place_of(struct door *door, uint64_t who)
{
    uint64_t h = (who ^ door->secret) * 0x9e3779b97f4a7c15ULL;
    struct door_source *at, *best = NULL;

    h = (h ^ h >> 32) * 0xd6e8feb86659fd93ULL;
    at = &door->source[(h >> 32) & door->mask];
    for (unsigned i = 0; i < PLACES; i++, at++) {
        if (at->who == who)
            return at;
        if (!at->proved && (!best || at->bucket.at < best->bucket.at))
            best = at;
    }
    return best;
}

bool door_admits_local(struct door *door, uint64_t now)
{
    return take_full(&door->local, now);
}

bool door_admits(struct door *door, uint64_t who, uint64_t now)
{
    struct door_source *s = place_of(door, who);

    if (s && s->who != who) {
        *s = (struct door_source){.who = who};
        fill(&s->bucket, SF_SWFABD_SOURCE_BURST, now);
    }
    if (s && s->proved)
        return take_full(&door->proved, now);
    if (s &&
        !take(&s->bucket, SF_SWFABD_SOURCE_RATE, SF_SWFABD_SOURCE_BURST, now))
        return false;
    return take_full(&door->strangers, now);
}

void door_prove(struct door *door, uint64_t who)
{
    struct door_source *s = place_of(door, who);

    if (!s)
        return;
    s->who = who;
    s->proved = true;
}
