/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs by seed: a small fabric of mappers settles, one family of faults
 * strikes, it settles again.  How long that takes and how many packets are
 * printed as distributions; a run that fails prints the command that replays
 * it.
 *
 *     PROGRAM                       the seeds of `make check`
 *     PROGRAM FAMILY SEED           that one, and what every mapper does
 *     PROGRAM --seeds FIRST COUNT   these seeds of all families
 *
 * SF_SIM_SEEDS is the number of seeds per family of `make check`.
 */
#ifndef SF_TESTS_MAPPER_SEEDS_H
#define SF_TESTS_MAPPER_SEEDS_H

#include "mapper_harm.h"

struct seeds {
    const char *program;
    /* Mappers on all hosts. */
    void (*start)(struct world *w);
    /* Is what nobody waits for right as well?  False: *why says what not. */
    bool (*sound)(struct world *w, struct errbuf *why);
    void (*explain)(struct world *w);
    struct harm_hands hands;
    uint64_t start_limit, heal_limit;
};

/* All seeds of `make check` of this family; false: some failed. */
bool seeds_run_family(const struct seeds *s, const struct harm *harm);
/* In how many ways do two draws of n kinds come together in these seeds? */
unsigned seeds_combinations(uint64_t seeds, enum world_draw a, uint32_t na,
                            enum world_draw b, uint32_t nb);
#define SEEDS_NETS 10 /* that DRAW_NET chooses from */
/* One seed, for what it once brought to light, with what it drew then. */
bool seeds_run_one(const struct seeds *s, const char *family, uint64_t seed);
/* With arguments: what they say, and the exit status.  -1: without. */
int seeds_main(const struct seeds *s, int argc, char **argv);

#endif
