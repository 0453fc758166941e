/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the seeded mixes have in common: rounds that all ranks draw alike, and
 * what each draws for itself.
 */
#ifndef TESTS_MPI_MIX_H
#define TESTS_MPI_MIX_H

#include <stdint.h>
#include <time.h>
#include "check.h"

static uint64_t seed, common, own;
static int round_now, step_now; /* where it is, for a failure's line */

#define MUST(cond)                                                             \
    do {                                                                       \
        if (!(cond)) {                                                         \
            fprintf(stderr, "seed %llu, round %d, step %d\n",                  \
                    (unsigned long long)seed, round_now, step_now);            \
            CHECK(cond);                                                       \
        }                                                                      \
    } while (0)

/* MPI_Init; the first argument is the seed. */
static inline void begin_mix(int argc, char **argv)
{
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    begin(&argc, &argv);
    common = (seed + 1) * 0x9e3779b97f4a7c15ULL | 1;
    own = common ^ (uint64_t)(rank + 1) << 32;
}

static inline int draw(uint64_t *state, int n)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (int)((*state >> 11) % (uint64_t)n);
}

static inline int pick(int n)
{
    return draw(&common, n);
}

/* Seldom so long that our thread serves the connections in our place. */
static inline void rest(void)
{
    struct timespec t = {.tv_nsec = draw(&own, 300000)};
    int kind = draw(&own, 300);

    if (kind == 0)
        t.tv_nsec += 210000000; /* two of its looks */
    if (kind % 10 == 0)
        nanosleep(&t, NULL);
}

#endif
