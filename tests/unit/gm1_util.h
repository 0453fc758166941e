/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GM-1 mappers on small fabrics: what the files of test_gm1 share.
 */
#ifndef SF_TESTS_GM1_UTIL_H
#define SF_TESTS_GM1_UTIL_H

#include "suite.h"

#include "../sim/mapper_world.h"
#include "net/build.h"

extern const struct suite gm1_mapping, gm1_many, gm1_hosts, gm1_answers,
    gm1_ways;

static inline uint32_t host(struct world *w, unsigned i)
{
    uint32_t node = net_find_host(w->net, NET_BUILD_HOST_ID + i);

    assert_int_not_equal(node, NET_NONE);
    return node;
}

static inline struct gm1_status status(struct world *w, unsigned i)
{
    struct gm1_status s;

    gm1_status(w->hosts[host(w, i)].gm1, &s);
    return s;
}

static inline const struct hostside *side(struct world *w, unsigned i)
{
    struct world_host *h = &w->hosts[host(w, i)];

    return h->gm1 ? gm1_host_side(h->gm1) : h->side;
}

static inline struct hostside_state state_of(struct world *w, unsigned i)
{
    struct hostside_state s;

    hostside_state(side(w, i), &s);
    return s;
}

/* Learnt timers: the fixed ones take seconds of virtual time. */
static inline void learnt(struct gm1_options *c, uint32_t node, void *arg)
{
    c->limits.fixed_timers = false;
}

/* A mapper on the last host, bare host sides on the others. */
static inline struct world *one_mapper(const char *net, world_gm1_f *tune)
{
    struct world *w = world_new(net, 1);

    for (unsigned i = 0; i + 1 < w->net->nhosts; i++)
        world_host(w, host(w, i), NULL);
    world_gm1(w, host(w, w->net->nhosts - 1), tune, NULL);
    return w;
}

/* Host i gets a Config without rows from somewhere, by its own ears. */
static inline void configure(struct world *w, unsigned i, uint64_t mapper,
                             uint16_t gmid, uint32_t version)
{
    const struct gm1_message msg = {.subtype = GM1_CONFIG,
                                    .config = {.back = {1, {0x81}},
                                               .address = NET_BUILD_HOST_ID + i,
                                               .mapper = mapper,
                                               .gmid = gmid,
                                               .version = version}};
    uint8_t body[GM1_CONFIG_SIZE];

    gm1_encode(body, sizeof(body), &msg);
    if (w->hosts[host(w, i)].gm1)
        world_hear(w, host(w, i), body, sizeof(body));
    else
        hostside_input(w->hosts[host(w, i)].side, body, sizeof(body));
    assert_int_equal(state_of(w, i).version, version);
}

static inline void run_to(struct world *w, unsigned i, enum gm1_state to)
{
    while (status(w, i).state != to && world_now(w) < 5 * SECOND)
        world_run(w, world_now(w) + 500);
    assert_int_equal(status(w, i).state, to);
}

static inline bool all_configured(struct world *w)
{
    uint32_t version = state_of(w, 0).version;

    for (unsigned i = 0; i < w->net->nhosts; i++) {
        struct hostside_state s;

        if (!side(w, i))
            continue;
        s = state_of(w, i);
        if (s.version == 0 || !s.complete || s.version != version)
            return false;
    }
    return true;
}

static inline void fast(struct gm1_options *c, uint32_t node, void *arg)
{
    learnt(c, node, arg);
    c->active_sleep = 3 * SECOND;
    c->dormant_wake = 2 * SECOND;
}

static inline void level_1(struct gm1_options *c, uint32_t node, void *arg)
{
    fast(c, node, arg);
    c->host.level = 1;
}

static inline unsigned active(struct world *w)
{
    unsigned n = 0;

    for (unsigned i = 0; i < w->net->nhosts; i++)
        if (w->hosts[host(w, i)].gm1)
            n += status(w, i).state != GM1_STATE_DORMANT;
    return n;
}

static inline void fill_cloud(struct gm1_member *cloud, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        cloud[i] = (struct gm1_member){0x020000000000 + i, (uint16_t)i};
}

static inline struct world *cloud_world(uint32_t n)
{
    const struct hostside_config gateway = {.gateway = true};
    struct world *w = world_new("line:2:2", 1);
    struct gm1_member cloud[500];

    fill_cloud(cloud, n);
    for (unsigned i = 0; i < 3; i++)
        world_host(w, host(w, i), i == 1 ? &gateway : NULL);
    hostside_set_members(w->hosts[host(w, 1)].side, cloud, n);
    return w;
}

#endif
