/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Message sizes and repetitions of the ping-pong programs: the same for each,
 * so that their figures can be put side by side.
 */
#ifndef SF_BENCH_SIZES_H
#define SF_BENCH_SIZES_H

#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#define BATCHES 9
#define WARMUPS 9
#define MAX_BYTES (16 * 1024 * 1024)

static const struct {
    size_t bytes;
    int rounds; /* per batch */
} sizes[] = {
    {1, 1000},         {1024, 1000},      {16 * 1024, 500},
    {32 * 1024, 400},  {64 * 1024, 300},  {128 * 1024, 200},
    {256 * 1024, 100}, {1024 * 1024, 30}, {4 * 1024 * 1024, 10},
    {MAX_BYTES, 5},
};
#define NSIZES ((int)(sizeof(sizes) / sizeof(sizes[0])))

static inline int total_rounds(int s)
{
    return sizes[s].rounds * (BATCHES + WARMUPS);
}

static inline double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static inline int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static inline double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof(*v), compare_double);
    return v[n / 2];
}

#endif
