/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The fast half of a coupled pair: the temperature of a ring of air that the
 * wind carries along, in ten small steps for each one of the ocean.  It gets
 * the surface's temperature and gives heat.  See coupled.h.
 */
#include "coupled.h"

#define SMALL_STEPS 10

static void start_field(double *t)
{
    for (int i = 0; i < cells; i++)
        t[1 + i] = 10 + (first + i) % 12 * 0.5;
}

static void step_field(double *t, double *next, const double *sst)
{
    fill_halo(t, cells);
    for (int i = 1; i <= cells; i++)
        next[i] = t[i] + 0.3 * (t[i - 1] - t[i]) + 0.02 * (sst[i - 1] - t[i]);
    memcpy(t + 1, next + 1, (size_t)cells * sizeof(*t));
}

int main(int argc, char **argv)
{
    double *t, *next, *sst, *heat;

    begin(ATMOSPHERE, &argc, &argv);
    t = calloc((size_t)cells + 2, sizeof(*t));
    next = calloc((size_t)cells + 2, sizeof(*next));
    sst = calloc((size_t)cells, sizeof(*sst));
    heat = calloc((size_t)cells, sizeof(*heat));
    start_field(t);
    for (int step = 1; step <= STEPS; step++) {
        exchange(heat, sst);
        for (int i = 0; i < SMALL_STEPS; i++)
            step_field(t, next, sst);
        for (int i = 0; i < cells; i++)
            heat[i] = t[1 + i] - sst[i];
        if (step % 5 == 0)
            write_field("atmosphere", step, t + 1, 1);
    }
    free(t);
    free(next);
    free(sst);
    free(heat);
    end();
    return 0;
}
