/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Families of faults, the same for both protocols.  What is done is decided
 * by the world's own random numbers.
 */
#ifndef SF_TESTS_MAPPER_HARM_H
#define SF_TESTS_MAPPER_HARM_H

#include "mapper_world.h"

/* What a fault needs to know of the protocol. */
struct harm_hands {
    void (*put)(struct world *w, uint32_t node); /* a mapper on this host */
    bool (*leads)(const struct world *w, uint32_t node);
    bool (*settled)(struct world *w);
    uint64_t limit; /* to settle in, between two faults */
};

struct harm {
    const char *name;
    void (*strike)(struct world *w, const struct harm_hands *hands);
    double loss; /* of packets, from the start */
    /* What goes wrong, and is settled again, before that; NULL: nothing. */
    void (*before)(struct world *w, const struct harm_hands *hands);
};

#define HARMS 13
extern const struct harm harms[HARMS];

#endif
