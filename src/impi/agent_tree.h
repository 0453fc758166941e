/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tree over which the agents of a large step contribute to a rendezvous
 * (agent_merge.h) and its results reach them (doc/rendezvous.md, "The tree").
 * Its root is impi-server, its places follow from the agents' numbers: 0 to
 * fanout-1 are the root's children, and those of agent i are fanout * (i + 1)
 * and the fanout - 1 after it.
 *
 * The shape, which both sides know, and the root's side: who has attached to
 * its parent, and which way a result goes to whom.  A pure engine.
 */
#ifndef SF_IMPI_AGENT_TREE_H
#define SF_IMPI_AGENT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

/* ---- the shape; fanout >= 1 ---- */

#define AGENT_TREE_ROOT UINT32_MAX

/* The agent above, or AGENT_TREE_ROOT. */
uint32_t agent_tree_parent(uint32_t agent, uint32_t fanout);
/* `agent` is `top`, or in a level below it. */
bool agent_tree_is_below(uint32_t agent, uint32_t top, uint32_t fanout);
/* How many children it has of `agents`, and the first of them. */
uint32_t agent_tree_children(uint32_t agent, uint32_t agents, uint32_t fanout,
                             uint32_t *first);

/* A set of agents: bit i%8 of byte i/8. */
#define AGENT_SET_SIZE(agents) (((size_t)(agents) + 7) / 8)
static inline bool agent_set_has(const uint8_t *set, uint32_t agent)
{
    return set[agent / 8] >> agent % 8 & 1;
}
static inline void agent_set_add(uint8_t *set, uint32_t agent)
{
    set[agent / 8] |= (uint8_t)(1u << agent % 8);
}
static inline void agent_set_remove(uint8_t *set, uint32_t agent)
{
    set[agent / 8] &= (uint8_t) ~(1u << agent % 8);
}
/* Anybody in it at `top` or below. */
bool agent_set_reaches(const uint8_t *set, uint32_t top, uint32_t agents,
                       uint32_t fanout);

/* ---- the root ---- */

struct agent_tree;

/* agents >= 1.  NULL: ENOMEM. */
struct agent_tree *agent_tree_create(uint32_t agents, uint32_t fanout);
void agent_tree_destroy(struct agent_tree *t);

/* It has children, and takes their connections. */
int agent_tree_listens(struct agent_tree *t, uint32_t agent,
                       struct errbuf *err);
/* It does now. */
bool agent_tree_passes_on(const struct agent_tree *t, uint32_t agent);
/* It is connected with its parent. */
int agent_tree_attached(struct agent_tree *t, uint32_t agent,
                        struct errbuf *err);
/* It wants to leave: nothing goes by it any more.  *spread: how many frames
 * have, modulo 2^32, which it must have had before it goes. */
int agent_tree_leaves(struct agent_tree *t, uint32_t agent, uint32_t *spread,
                      struct errbuf *err);
/* It does not wait any longer, after agent_tree_leaves(), and has had `spread`.
 * -1 EPROTO: some were for others, and are lost. */
int agent_tree_left(const struct agent_tree *t, uint32_t agent, uint32_t spread,
                    struct errbuf *err);
/* Its connection is closed. */
void agent_tree_gone(struct agent_tree *t, uint32_t agent);

/* A result for some agents: what goes to whom from the root. */
struct agent_way {
    uint32_t agent; /* who gets it from the root */
    uint8_t *set;   /* for all of these; NULL: for itself alone */
};
struct agent_plan {
    struct agent_way *ways; /* by the agent */
    uint32_t n;
};

/* agents: each once.  Every frame that goes by an agent is counted for it.
 * 0, or -1 ENOMEM.  agent_plan_free() afterwards, in both cases. */
int agent_tree_plan(struct agent_tree *t, const uint32_t *agents, uint32_t n,
                    struct agent_plan *plan);
void agent_plan_free(struct agent_plan *plan);

#endif
