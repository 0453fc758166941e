/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/crowd.h"

#include <stdlib.h>
#include <string.h>

/* Looks before a process sleeps, divided among the processes of the machine: a
 * few of them are through with theirs sooner than a wake-up takes.  And the
 * least of them, in which each of hundreds has some turns of some milliseconds.
 */
#define ROUNDS 32000u
#define ROUNDS_LEAST 4000u

/* How long one look and the switch to the next process take; and how long a
 * round over all processes may take even if they are few: one of them may have
 * news to deal with. */
#define LOOK_NS 20000u
#define TURN_LEAST_NS 1000000u

struct place {
    uint8_t machine[IMPI_HOSTID_SIZE];
    uint32_t rank;
};

static int by_machine(const void *a, const void *b)
{
    return memcmp(((const struct place *)a)->machine,
                  ((const struct place *)b)->machine, IMPI_HOSTID_SIZE);
}

/* Both ways to write an IPv4 address are one. */
static void set_place(struct place *out, const struct impi_world *w,
                      uint32_t rank)
{
    uint8_t ipv4[4];

    out->rank = rank;
    memcpy(out->machine, w->procs[rank].hostid, IMPI_HOSTID_SIZE);
    if (impi_hostid_get_ipv4(ipv4, out->machine))
        impi_hostid_set_ipv4(out->machine, ipv4);
}

/* Those of one machine, n of them. */
static void note(const struct place *all, uint32_t n, uint32_t *count)
{
    for (uint32_t i = 0; i < n; i++)
        count[all[i].rank] = n;
}

int impi_crowd_count(const struct impi_world *w, uint32_t *count)
{
    struct place *all = calloc(w->nprocs, sizeof(*all));
    uint32_t first = 0;

    if (!all)
        return -1;
    for (uint32_t r = 0; r < w->nprocs; r++)
        set_place(&all[r], w, r);
    qsort(all, w->nprocs, sizeof(*all), by_machine);
    for (uint32_t i = 1; i <= w->nprocs; i++) {
        if (i < w->nprocs && by_machine(&all[first], &all[i]) == 0)
            continue;
        note(&all[first], i - first, count);
        first = i;
    }
    free(all);
    return 0;
}

void impi_crowd_wait(struct impi_crowd_wait *out, uint32_t n,
                     uint32_t processors)
{
    uint32_t cpus = processors ? processors : 1;
    uint32_t wakes = IMPI_CROWD_WAKES * cpus;

    out->rounds = ROUNDS / (n ? n : 1);
    if (out->rounds < ROUNDS_LEAST)
        out->rounds = ROUNDS_LEAST;
    out->nap_ms = n > wakes ? (int)((n + wakes - 1) / wakes) : 1;
    out->turn_ns = (uint64_t)n * LOOK_NS / cpus;
    if (out->turn_ns < TURN_LEAST_NS)
        out->turn_ns = TURN_LEAST_NS;
}
