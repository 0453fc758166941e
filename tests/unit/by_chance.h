/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Events that come by chance, by a seed.
 */
#ifndef SF_TESTS_BY_CHANCE_H
#define SF_TESTS_BY_CHANCE_H

#include <math.h>
#include <stdint.h>

/* Above 0, at most 1. */
static inline double by_chance_part(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return ((double)(*seed >> 33) + 1) / 2147483648.0;
}

/* As many as come where `mean`, fewer than 500, are expected (Knuth). */
static inline uint64_t by_chance_count(uint64_t *seed, double mean)
{
    double p = by_chance_part(seed), least = exp(-mean);
    uint64_t n = 0;

    for (; p > least; n++)
        p *= by_chance_part(seed);
    return n;
}

#endif
