/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <uthash.h>

#include "base/limits.h"
#include "switchmgrd/offenders.h"

#define COST (1000 / SF_SWITCHMGR_BAD_RATE) /* ms that one bad report costs */
#define CREDIT ((int64_t)COST * SF_SWITCHMGR_BAD_BURST)
/* Many connections at once may go beyond it, but no wait is longer for that. */
#define DEBT_MAX (CREDIT + CREDIT / 4)

struct offender {
    uint64_t source;
    int64_t paid; /* when all that it sent will have been paid for, by time */
    TAILQ_ENTRY(offender) link;
    UT_hash_handle hh;
};

void offenders_init(struct offenders *o)
{
    *o = (struct offenders){0};
    TAILQ_INIT(&o->order);
}

static void forget(struct offenders *o, struct offender *one)
{
    HASH_DEL(o->by_source, one);
    TAILQ_REMOVE(&o->order, one, link);
    o->n--;
    free(one);
}

void offenders_free(struct offenders *o)
{
    while (!TAILQ_EMPTY(&o->order))
        forget(o, TAILQ_FIRST(&o->order));
}

static struct offender *find(const struct offenders *o, uint64_t source)
{
    struct offender *one;

    HASH_FIND(hh, o->by_source, &source, sizeof(source), one);
    return one;
}

static bool may_send(const struct offender *one, int64_t now)
{
    return one->paid - now + COST <= CREDIT;
}

bool offenders_may_send(const struct offenders *o, uint64_t source, int64_t now)
{
    const struct offender *one = find(o, source);

    return !one || may_send(one, now);
}

static struct offender *enter(struct offenders *o, uint64_t source)
{
    struct offender *one = calloc(1, sizeof(*one));

    if (!one)
        return NULL;
    if (o->n >= SF_SWITCHMGR_OFFENDERS_MAX)
        forget(o, TAILQ_FIRST(&o->order));
    one->source = source;
    HASH_ADD(hh, o->by_source, source, sizeof(one->source), one);
    TAILQ_INSERT_TAIL(&o->order, one, link);
    o->n++;
    return one;
}

bool offenders_count(struct offenders *o, uint64_t source, int64_t now)
{
    struct offender *one = find(o, source);
    bool could;

    if (!one && !(one = enter(o, source)))
        return false;
    TAILQ_REMOVE(&o->order, one, link);
    TAILQ_INSERT_TAIL(&o->order, one, link);
    could = may_send(one, now);
    one->paid = (one->paid > now ? one->paid : now) + COST;
    if (one->paid - now > DEBT_MAX)
        one->paid = now + DEBT_MAX;
    return could && !may_send(one, now);
}
