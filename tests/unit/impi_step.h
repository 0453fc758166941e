/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The start of 131 072 ranks in one process, with the engines of impi-server
 * and impid: what goes through impi-server, straight to and from each agent and
 * by the agents' tree.  For test_impi_scale and bench/impi_tree.
 */
#ifndef SF_TESTS_IMPI_STEP_H
#define SF_TESTS_IMPI_STEP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impi/agent_merge.h"
#include "impi/agent_tree.h"
#include "impi/rendezvous.h"
#include "impi/world.h"

static inline void must(bool right)
{
    if (!right)
        abort();
}

#define RANKS 131072u
#define CLIENTS 2u
#define RECORD_SIZE 28 /* of a process, see impid_join.c */

/* What impi-server's rendezvous takes and gives. */
struct through {
    uint64_t messages_in, bytes_in, messages_out, bytes_out;
    /* the same by the tree, and of its busiest inner agent */
    uint64_t merged_in, merged_bytes, inner_in, inner_bytes_in;
    uint64_t tree_messages, tree_bytes, inner_messages, inner_bytes;
};

struct step;

struct step_agent {
    struct step *step;
    struct agent_merge *merge;
};

struct step {
    struct impi_world world; /* blocks of ranks per node, of nodes per client */
    struct rendezvous *rendezvous;
    struct agent_tree *tree; /* all have attached */
    struct step_agent *agents;
    struct through through;
};

static inline void step_send(void *arg, bool to_parent, const void *frame,
                             size_t len);

static inline void step_agents(struct step *s)
{
    uint32_t nodes = s->world.nhosts;

    s->agents = calloc(nodes, sizeof(*s->agents));
    must(s->agents != NULL);
    for (uint32_t i = 0; i < nodes; i++) {
        struct step_agent *a = &s->agents[i];

        a->step = s;
        a->merge = agent_merge_create(i, nodes, SF_AGENT_FANOUT, step_send, a);
        must(a->merge != NULL);
        if (i < SF_AGENT_FANOUT)
            continue;
        agent_merge_attached(
            s->agents[agent_tree_parent(i, SF_AGENT_FANOUT)].merge, i);
        must(agent_merge_parent(a->merge, true) == 0);
    }
}

/* As the launcher deals the ranks out: in blocks, or in turns. */
static inline void step_deal(struct impi_world *w, bool turns)
{
    uint32_t nodes = w->nhosts, each = RANKS / nodes;

    for (uint32_t r = 0; r < RANKS; r++) {
        struct impi_proc *p = &w->procs[r];
        uint32_t nth = turns ? r / nodes : r % each;

        p->host = turns ? r % nodes : r / each;
        p->client = w->hosts[p->host].client;
        p->pid = 10000 + nth;
        p->port = (uint16_t)(32768 + r % 28000);
        p->cpus = (uint16_t)each;
        p->hostid[14] = (uint8_t)(p->host >> 8);
        p->hostid[15] = (uint8_t)p->host;
        memcpy(p->addr, p->hostid, sizeof(p->addr));
    }
}

static inline void step_init(struct step *s, uint32_t nodes)
{
    struct impi_world *w = &s->world;

    memset(s, 0, sizeof(*s));
    must(impi_world_alloc(w, nodes, RANKS) == 0);
    w->maxdatalen = IMPI_OWN_MAXDATALEN;
    w->tagub = INT32_MAX;
    w->ackmark = IMPI_OWN_ACKMARK;
    w->hiwater = IMPI_OWN_HIWATER;
    w->flags = IMPI_WORLD_EXTENDED | IMPI_WORLD_FLAT;
    w->nclients = CLIENTS;
    for (uint32_t h = 0; h < nodes; h++)
        w->hosts[h] = (struct impi_host){.client = h * CLIENTS / nodes,
                                         .nprocs = RANKS / nodes};
    step_deal(w, false);
    s->rendezvous = rendezvous_create();
    must(s->rendezvous != NULL);
    s->tree = agent_tree_create(nodes, SF_AGENT_FANOUT);
    must(s->tree != NULL);
    for (uint32_t i = 0; i < nodes; i++) {
        struct errbuf err;
        uint32_t first;

        if (agent_tree_children(i, nodes, SF_AGENT_FANOUT, &first) > 0)
            must(agent_tree_listens(s->tree, i, &err) == 0);
        if (i >= SF_AGENT_FANOUT)
            must(agent_tree_attached(s->tree, i, &err) == 0);
    }
    step_agents(s);
}

static inline void step_free(struct step *s)
{
    for (uint32_t i = 0; i < s->world.nhosts; i++)
        agent_merge_destroy(s->agents[i].merge);
    free(s->agents);
    rendezvous_destroy(s->rendezvous);
    agent_tree_destroy(s->tree);
    impi_world_free(&s->world);
}

/* Agent 0 has as much below it as any: what it passes on. */
static inline void pass_on(struct step *s, const uint8_t *set, size_t len)
{
    uint32_t nodes = s->world.nhosts, first, n;

    n = agent_tree_children(0, nodes, SF_AGENT_FANOUT, &first);
    for (uint32_t c = first; c < first + n; c++) {
        if (!agent_set_reaches(set, c, nodes, SF_AGENT_FANOUT))
            continue;
        s->through.inner_messages++;
        s->through.inner_bytes += len;
    }
}

static inline void by_tree(struct step *s, const struct rendezvous_result *r)
{
    size_t len = bytebuf_len(&r->frame), head;
    struct agent_plan plan;
    struct bytebuf b;

    bytebuf_init(&b, SF_AGENT_FRAME_MAX);
    must(agent_tree_plan(s->tree, r->agents, r->nagents, &plan) == 0);
    for (uint32_t i = 0; i < plan.n; i++) {
        const uint8_t *set = plan.ways[i].set;

        if (set)
            agent_spread_begin(&b, set, AGENT_SET_SIZE(s->world.nhosts), len);
        must(!b.bad);
        head = bytebuf_len(&b);
        bytebuf_consume(&b, head);
        s->through.tree_messages++;
        s->through.tree_bytes += head + len;
        if (set && plan.ways[i].agent == 0)
            pass_on(s, set, head + len);
    }
    bytebuf_free(&b);
    agent_plan_free(&plan);
}

static inline void root_put(struct step *s, uint32_t agent,
                            const struct agent_put *put, bool gather)
{
    struct rendezvous_result result;
    struct errbuf err = {""};
    int rc = rendezvous_put(s->rendezvous, agent, put, gather, &result, &err);

    must(rc >= 0);
    if (rc == 0)
        return;
    s->through.messages_out += result.nagents;
    s->through.bytes_out += result.nagents * bytebuf_len(&result.frame);
    by_tree(s, &result);
    rendezvous_result_free(&result);
}

static inline void root_merged(struct step *s, uint32_t from,
                               const struct agent_merged *m)
{
    struct agent_put put = {.expected = m->expected};
    struct agent_part part;
    struct be_reader r;

    must(agent_merged_check(m, from, s->world.nhosts, SF_AGENT_FANOUT, NULL) ==
         0);
    strcpy(put.key, m->key);
    agent_parts_init(&r, m);
    while (agent_parts_next(&r, &part)) {
        put.index = part.index;
        put.blob = part.blob;
        root_put(s, part.agent, &put, m->gather);
    }
}

static inline void step_send(void *arg, bool to_parent, const void *frame,
                             size_t len)
{
    const struct step_agent *a = arg;
    struct step *s = a->step;
    uint32_t from = (uint32_t)(a - s->agents), parent;
    struct agent_msg m;

    must(agent_msg_decode(&m, frame, len, NULL) == (ssize_t)len);
    if (!to_parent) {
        s->through.merged_in++;
        s->through.merged_bytes += len;
        root_merged(s, from, &m.merged);
        return;
    }
    parent = agent_tree_parent(from, SF_AGENT_FANOUT);
    s->through.inner_in += parent == 0;
    s->through.inner_bytes_in += parent == 0 ? len : 0;
    must(agent_merge_child(s->agents[parent].merge, from, &m.merged, 0, NULL) ==
         0);
}

/* first: the agent that contributes index 0; those after it contribute the
 * rest */
static inline void put(struct step *s, const char *key, uint32_t first,
                       uint32_t index, uint32_t expected, const void *blob,
                       size_t len, bool gather)
{
    struct agent_msg m = {.type = gather ? AGENT_GATHER : AGENT_PUT};
    uint8_t *set = calloc(AGENT_SET_SIZE(s->world.nhosts), 1);
    struct bytebuf frame;

    must(set != NULL);
    for (uint32_t i = first; i < first + expected; i++)
        agent_set_add(set, i);
    snprintf(m.put.key, sizeof(m.put.key), "%s", key);
    m.put.index = index;
    m.put.expected = expected;
    m.put.blob = (struct agent_blob){blob, (uint32_t)len};
    bytebuf_init(&frame, SF_AGENT_FRAME_MAX);
    must(agent_msg_encode(&frame, &m) == 0);
    s->through.messages_in++;
    s->through.bytes_in += bytebuf_len(&frame);
    bytebuf_free(&frame);
    must(agent_merge_put(s->agents[first + index].merge, &m.put, gather, set,
                         0) == 0);
    free(set);
}

/* node name, component, one run of tasks */
static inline void families(struct step *s)
{
    const uint8_t blob[2 + 8 + 4 + 12] = {0};

    for (uint32_t n = 0; n < s->world.nhosts; n++)
        put(s, "family.0", 0, n, s->world.nhosts, blob, sizeof(blob), false);
}

static inline void client_joins(struct step *s, uint32_t client)
{
    uint32_t nhosts = s->world.nhosts / CLIENTS;
    size_t len = 2 + RANKS / s->world.nhosts * RECORD_SIZE, worldlen;
    uint8_t *records = calloc(1, len), *world;
    char key[32];

    must(records != NULL);
    must(impi_world_encode(&s->world, &world, &worldlen) == 0);
    snprintf(key, sizeof(key), "join.0.%u", client);
    for (uint32_t h = 0; h < nhosts; h++)
        put(s, key, client * nhosts, h, nhosts, records, len, true);
    snprintf(key, sizeof(key), "world.0.%u", client);
    put(s, key, client * nhosts, 0, nhosts, world, worldlen, false);
    for (uint32_t h = 1; h < nhosts; h++)
        put(s, key, client * nhosts, h, nhosts, NULL, 0, false);
    free(records);
    free(world);
}

/* All that the start takes of impi-server. */
static inline void step_start(struct step *s, uint32_t nodes)
{
    step_init(s, nodes);
    families(s);
    for (uint32_t c = 0; c < CLIENTS; c++)
        client_joins(s, c);
    must(rendezvous_open(s->rendezvous) == 0);
}

/* Then a fence of each client with so many bytes of each rank, as PMIx and
 * PMI-1 have it; through counts this alone. */
static inline void step_fence(struct step *s, uint32_t bytes)
{
    uint32_t nhosts = s->world.nhosts / CLIENTS;
    size_t len = (size_t)RANKS / s->world.nhosts * bytes;
    uint8_t *blob = calloc(1, len);
    char key[32];

    must(blob != NULL);
    memset(&s->through, 0, sizeof(s->through));
    for (uint32_t c = 0; c < CLIENTS; c++) {
        snprintf(key, sizeof(key), "fence.0.%u", c);
        for (uint32_t h = 0; h < nhosts; h++)
            put(s, key, c * nhosts, h, nhosts, blob, len, false);
    }
    must(rendezvous_open(s->rendezvous) == 0);
    free(blob);
}

#endif
