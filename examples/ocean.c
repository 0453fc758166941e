/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The slow half of a coupled pair: the temperature of a ring of water, with
 * three points for each cell of the surface.  It gives the atmosphere its
 * surface temperature and gets the heat that comes down.  See coupled.h.
 */
#include "coupled.h"

#define EACH 3

static void start_field(double *t)
{
    for (int i = 0; i < EACH * cells; i++) {
        int x = EACH * first + i;

        t[1 + i] = 15 + x % 48 * 0.25 - (x / 48 % 2) * 7.5;
    }
}

static void surface(const double *t, double *sst)
{
    for (int i = 0; i < cells; i++)
        sst[i] = (t[1 + EACH * i] + t[2 + EACH * i] + t[3 + EACH * i]) / EACH;
}

static void step_field(double *t, double *next, const double *heat)
{
    int n = EACH * cells;

    fill_halo(t, n);
    for (int i = 1; i <= n; i++)
        next[i] = t[i] + 0.2 * (t[i - 1] - 2 * t[i] + t[i + 1]) +
                  0.01 * heat[(i - 1) / EACH];
    memcpy(t + 1, next + 1, (size_t)n * sizeof(*t));
}

int main(int argc, char **argv)
{
    double *t, *next, *sst, *heat;

    begin(OCEAN, &argc, &argv);
    t = calloc((size_t)(EACH * cells + 2), sizeof(*t));
    next = calloc((size_t)(EACH * cells + 2), sizeof(*next));
    sst = calloc((size_t)cells, sizeof(*sst));
    heat = calloc((size_t)cells, sizeof(*heat));
    start_field(t);
    for (int step = 1; step <= STEPS; step++) {
        surface(t, sst);
        exchange(sst, heat);
        step_field(t, next, heat);
        if (step % 5 == 0)
            write_field("ocean", step, t + 1, EACH);
    }
    free(t);
    free(next);
    free(sst);
    free(heat);
    end();
    return 0;
}
