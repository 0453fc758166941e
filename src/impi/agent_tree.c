/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/agent_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the shape --------------------------------------------------------- */

uint32_t agent_tree_parent(uint32_t agent, uint32_t fanout)
{
    return agent < fanout ? AGENT_TREE_ROOT : agent / fanout - 1;
}

bool agent_tree_is_below(uint32_t agent, uint32_t top, uint32_t fanout)
{
    while (agent != top && agent != AGENT_TREE_ROOT)
        agent = agent_tree_parent(agent, fanout);
    return agent == top;
}

/* The first place below `agent`; may be beyond all agents. */
static uint64_t first_child(uint64_t agent, uint32_t fanout)
{
    return fanout * (agent + 1);
}

uint32_t agent_tree_children(uint32_t agent, uint32_t agents, uint32_t fanout,
                             uint32_t *first)
{
    uint64_t lo = first_child(agent, fanout);

    *first = lo < agents ? (uint32_t)lo : agents;
    return agents - *first < fanout ? agents - *first : fanout;
}

static bool has_any(const uint8_t *set, uint32_t lo, uint32_t end)
{
    while (lo < end) {
        if (lo % 8 == 0 && end - lo >= 8) {
            if (set[lo / 8])
                return true;
            lo += 8;
        } else if (agent_set_has(set, lo++)) {
            return true;
        }
    }
    return false;
}

/* Level by level: those of one are neighbours. */
bool agent_set_reaches(const uint8_t *set, uint32_t top, uint32_t agents,
                       uint32_t fanout)
{
    uint64_t lo = top, end = (uint64_t)top + 1;

    while (lo < agents) {
        if (has_any(set, (uint32_t)lo, end < agents ? (uint32_t)end : agents))
            return true;
        lo = first_child(lo, fanout);
        end = first_child(end - 1, fanout) + fanout;
    }
    return false;
}

/* ---- the root ---------------------------------------------------------- */

#define NO_WAY UINT32_MAX

struct place {
    bool attached; /* to its parent */
    bool listens;
    bool left;       /* listens no more */
    uint32_t spread; /* frames that went by it */
    uint32_t way;    /* of the plan that is made: of this head, or NO_WAY */
    uint32_t seen;   /* the last plan that counted it */
};

struct agent_tree {
    uint32_t agents, fanout;
    uint32_t plans; /* made so far */
    struct place places[];
};

struct agent_tree *agent_tree_create(uint32_t agents, uint32_t fanout)
{
    struct agent_tree *t =
        calloc(1, sizeof(*t) + agents * sizeof(struct place));

    if (!t)
        return NULL;
    t->agents = agents;
    t->fanout = fanout;
    for (uint32_t i = 0; i < agents; i++)
        t->places[i].way = NO_WAY;
    return t;
}

void agent_tree_destroy(struct agent_tree *t)
{
    free(t);
}

static int refuse(struct errbuf *err, const char *why)
{
    errno = EPROTO;
    return errprintf(err, "%s", why);
}

int agent_tree_listens(struct agent_tree *t, uint32_t agent, struct errbuf *err)
{
    struct place *p = &t->places[agent];
    uint32_t first;

    if (agent_tree_children(agent, t->agents, t->fanout, &first) == 0)
        return refuse(err, "LISTENS of an agent without children");
    if (p->listens || p->left)
        return refuse(err, "LISTENS twice");
    p->listens = true;
    return 0;
}

bool agent_tree_passes_on(const struct agent_tree *t, uint32_t agent)
{
    return t->places[agent].listens && !t->places[agent].left;
}

/* The parent may have left since the two met. */
int agent_tree_attached(struct agent_tree *t, uint32_t agent,
                        struct errbuf *err)
{
    uint32_t parent = agent_tree_parent(agent, t->fanout);

    if (parent == AGENT_TREE_ROOT || !t->places[parent].listens)
        return refuse(err, "ATTACHED to a parent that does not listen");
    if (t->places[agent].attached)
        return refuse(err, "ATTACHED twice");
    t->places[agent].attached = true;
    return 0;
}

int agent_tree_leaves(struct agent_tree *t, uint32_t agent, uint32_t *spread,
                      struct errbuf *err)
{
    if (!agent_tree_passes_on(t, agent))
        return refuse(err, "LEAVING of an agent that passes nothing on");
    t->places[agent].left = true;
    *spread = t->places[agent].spread;
    return 0;
}

int agent_tree_left(const struct agent_tree *t, uint32_t agent, uint32_t spread,
                    struct errbuf *err)
{
    const struct place *p = &t->places[agent];

    if (!p->listens || !p->left)
        return refuse(err, "LEAVE of an agent that has not said LEAVING");
    if (spread == p->spread)
        return 0;
    errno = EPROTO;
    return errprintf(err,
                     "it left before %u results came that it was to pass "
                     "on to other nodes",
                     p->spread - spread);
}

void agent_tree_gone(struct agent_tree *t, uint32_t agent)
{
    t->places[agent].attached = false;
    t->places[agent].left = true;
}

/* Who gets it from the root, so that `agent` does. */
static uint32_t head_of(const struct agent_tree *t, uint32_t agent)
{
    while (t->places[agent].attached &&
           agent_tree_passes_on(t, agent_tree_parent(agent, t->fanout)))
        agent = agent_tree_parent(agent, t->fanout);
    return agent;
}

static struct agent_way *way_of(struct agent_tree *t, struct agent_plan *plan,
                                uint32_t head)
{
    if (t->places[head].way == NO_WAY) {
        t->places[head].way = plan->n;
        plan->ways[plan->n++] = (struct agent_way){.agent = head};
    }
    return &plan->ways[t->places[head].way];
}

/* A way of more than its head is by the tree, and has a set. */
static int add(struct agent_tree *t, struct agent_plan *plan, uint32_t agent)
{
    uint32_t head = head_of(t, agent);
    struct agent_way *w = way_of(t, plan, head);

    if (head != agent && !w->set) {
        w->set = calloc(AGENT_SET_SIZE(t->agents), 1);
        if (!w->set)
            return -1;
    }
    if (head != agent)
        agent_set_add(w->set, agent);
    return 0;
}

/* Everybody between it and its head, each once. */
static void count(struct agent_tree *t, uint32_t agent, uint32_t head)
{
    while (t->places[agent].seen != t->plans) {
        t->places[agent].seen = t->plans;
        t->places[agent].spread++;
        if (agent == head)
            return;
        agent = agent_tree_parent(agent, t->fanout);
    }
}

/* When all ways are known: the heads that want it themselves, and who passes
 * it on. */
static void finish(struct agent_tree *t, const struct agent_plan *plan,
                   const uint32_t *agents, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t head = head_of(t, agents[i]);
        const struct agent_way *w = &plan->ways[t->places[head].way];

        if (!w->set)
            continue;
        agent_set_add(w->set, agents[i]);
        count(t, agents[i], head);
    }
}

int agent_tree_plan(struct agent_tree *t, const uint32_t *agents, uint32_t n,
                    struct agent_plan *plan)
{
    int rc = 0;

    plan->n = 0;
    plan->ways = calloc(n ? n : 1, sizeof(*plan->ways));
    if (!plan->ways)
        return -1;
    t->plans++;
    for (uint32_t i = 0; i < n && rc == 0; i++)
        rc = add(t, plan, agents[i]);
    if (rc == 0)
        finish(t, plan, agents, n);
    for (uint32_t i = 0; i < plan->n; i++)
        t->places[plan->ways[i].agent].way = NO_WAY;
    return rc;
}

void agent_plan_free(struct agent_plan *plan)
{
    for (uint32_t i = 0; i < plan->n; i++)
        free(plan->ways[i].set);
    free(plan->ways);
    plan->ways = NULL;
    plan->n = 0;
}
