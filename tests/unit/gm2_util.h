/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GM-2 mappers on small fabrics: what the files of test_gm2 share.
 */
#ifndef SF_TESTS_GM2_UTIL_H
#define SF_TESTS_GM2_UTIL_H

#include "suite.h"

#include "../sim/mapper_world.h"
#include "net/build.h"

/* Somebody higher, who is only heard. */
#define PARENT 0x0060ddffffffULL

extern const struct suite gm2_election, gm2_maps, gm2_verifying, gm2_spoken,
    gm2_ways, gm2_stored, gm2_delta, gm2_tries, gm2_offers, gm2_doubt,
    gm2_pulled;

static inline struct gm2_status status(struct world *w, uint32_t node)
{
    struct gm2_status s;

    gm2_status(w->hosts[node].gm2, &s);
    return s;
}

static inline uint32_t host(struct world *w, unsigned i)
{
    uint32_t node = net_find_host(w->net, NET_BUILD_HOST_ID + i);

    assert_int_not_equal(node, NET_NONE);
    return node;
}

static inline struct world *settled(const char *net)
{
    struct world *w = world_new(net, 1);

    world_gm2_all(w, NULL, NULL);
    assert_true(world_until(w, 20 * SECOND, world_gm2_settled));
    return w;
}

static inline bool everybody_is_valid(struct world *w)
{
    for (uint32_t i = 0; i < w->net->nnodes; i++)
        if (w->hosts[i].gm2 && !status(w, i).valid)
            return false;
    return true;
}

static inline void sleep_first(struct gm2_config *c, uint32_t node, void *arg)
{
    if (c->address != NET_BUILD_HOST_ID + 5)
        c->start_delay = 30 * SECOND;
}

#endif
