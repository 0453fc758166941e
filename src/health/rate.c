/* SPDX-License-Identifier: BSD-3-Clause */
#include "health/rate.h"

#define MOST (UINT64_MAX / 2)

/* So many of `all` are the rate; no product that could overflow. */
static uint64_t part_of(uint64_t all, uint32_t rate)
{
    return all / RATE_WHOLE * rate + all % RATE_WHOLE * rate / RATE_WHOLE;
}

static uint32_t rate_of(uint64_t bad, uint64_t all)
{
    if (bad >= all)
        return RATE_WHOLE;
    if (all < MOST / RATE_WHOLE)
        return (uint32_t)(bad * RATE_WHOLE / all);
    return (uint32_t)(bad / (all / RATE_WHOLE));
}

static void begin(struct rate *r, int64_t now)
{
    r->began = now;
    r->in_bad = r->in_all = 0;
}

static void count(struct rate *r, uint64_t bad, uint64_t all, int64_t now)
{
    if (bad > MOST - r->in_bad || all > MOST - r->in_all)
        begin(r, now);
    r->in_bad += bad;
    r->in_all += all;
}

static bool too_many(const struct rate *r, const struct rate_conf *c)
{
    return c->limit && r->in_all >= c->traffic && r->in_bad >= c->least &&
           r->in_bad >= part_of(r->in_all, c->limit);
}

/* A window with too many errors. */
static bool note_high(struct rate *r, int64_t now)
{
    uint32_t rate = rate_of(r->in_bad, r->in_all);
    bool told = !r->high || rate / 2 >= r->rate || rate <= r->rate / 2;

    r->high = true;
    r->clean = 0;
    if (told)
        r->rate = rate;
    begin(r, now);
    return told;
}

/* One without, that is over. */
static bool end_window(struct rate *r, const struct rate_conf *c, int64_t now)
{
    bool clean = r->in_bad <= part_of(r->in_all, c->limit) / 2;

    begin(r, now);
    r->clean = clean ? r->clean + 1 : 0;
    if (!r->high || (c->limit && r->clean < c->clean))
        return false;
    r->high = false;
    return true;
}

bool rate_take(struct rate *r, const struct rate_conf *c, uint64_t bad,
               uint64_t all, bool anew, int64_t now)
{
    if (!r->seen)
        begin(r, now);
    if (r->seen && !anew && bad >= r->bad && all >= r->all)
        count(r, bad - r->bad, all - r->all, now);
    r->seen = true;
    r->bad = bad;
    r->all = all;
    if (too_many(r, c))
        return note_high(r, now);
    if (now - r->began < c->window || r->in_all < c->traffic)
        return false;
    return end_window(r, c, now);
}
