/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Guessing how to get from an unknown crossbar down to a host (internal to
 * the explorer).  A host's answer to a scout sent blindly through a crossbar
 * tells what crossbars it passed, port by port; so a good guess names an
 * unknown crossbar with one probe, and a bad one costs one probe.
 *
 * Learnt, for crossbars of each rank (crossbars on the way to the nearest
 * host, itself counted) and by whether they are entered from a crossbar of
 * lower, equal or higher rank: which deltas led one rank further down.
 * Nothing here can make a map wrong.
 */
#ifndef SF_MAPPER_GUESS_H
#define SF_MAPPER_GUESS_H

#include "mapper/atlas.h"

#define GUESS_RANKS 6 /* descents of at most that many deltas */
#define GUESS_TRIED 40

enum guess_side { GUESS_BELOW, GUESS_BESIDE, GUESS_ABOVE, GUESS_SIDES };

/* Of one rank and side. */
struct guess_table {
    uint32_t *good; /* by delta: pairs of ports that are so */
    uint32_t entries;
};

struct guess {
    struct guess_table tables[GUESS_SIDES][GUESS_RANKS + 1];
    uint32_t far[GUESS_RANKS + 1][GUESS_RANKS + 1]; /* rank, far's rank */
    int ports;
    void *memory;
};

struct guess_way {
    uint8_t n;
    int16_t delta[GUESS_RANKS];
};

/* What was guessed already for one port. */
struct guess_tried {
    uint8_t n;
    uint8_t by_rank[GUESS_RANKS + 1];
    uint32_t hash[GUESS_TRIED];
};

bool guess_init(struct guess *g, int ports);
void guess_clear(struct guess *g);

/* A slot of a record has a new fact, or the record has a new rank. */
void guess_learn(struct guess *g, struct atlas *a, struct atlas_ref at);

/* The best way not tried yet from behind a slot of a crossbar of rank
 * `rank`, down a crossbar supposed to be of rank `far`.  Its likelihood
 * (0..1); 0: none left. */
double guess_best(const struct guess *g, int rank, int far,
                  const struct guess_tried *tried, struct guess_way *way);
void guess_note(struct guess_tried *tried, const struct guess_way *way);
#endif
