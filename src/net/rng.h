/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random numbers for what must be repeatable: the same seed gives the same
 * nets, faults and routes on every machine (splitmix64).  Not for secrets.
 */
#ifndef SF_NET_RNG_H
#define SF_NET_RNG_H

#include <stdint.h>

struct net_rng {
    uint64_t state; /* any seed, 0 too */
};

static inline uint64_t net_rng_next(struct net_rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15ULL;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}

/* 0 .. n-1; n is not 0. */
static inline uint32_t net_rng_below(struct net_rng *rng, uint32_t n)
{
    return (uint32_t)(((net_rng_next(rng) >> 32) * n) >> 32);
}

/* True with probability p (0 .. 1). */
static inline int net_rng_chance(struct net_rng *rng, double p)
{
    return (double)(net_rng_next(rng) >> 11) * 0x1p-53 < p;
}

#endif
