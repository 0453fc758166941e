/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tree of a large step's agents, at its root: agents hear where their
 * parents listen, and results go by whoever has attached (impi/agent_tree.h).
 * In a step of no more agents than the fan-out there is none.
 */
#include <stdlib.h>

#include "impid/impi_server.h"

int server_tree_start(struct server *s, struct errbuf *err)
{
    if (s->start.agents <= s->start.fanout)
        return 0;
    s->tree = agent_tree_create(s->start.agents, s->start.fanout);
    s->listens = calloc(s->start.agents, sizeof(*s->listens));
    return s->tree && s->listens ? 0 : errprintf(err, "out of memory");
}

void server_tree_stop(struct server *s)
{
    agent_tree_destroy(s->tree);
    free(s->listens);
}

void server_tree_gone(struct server *s, uint32_t agent)
{
    if (s->tree)
        agent_tree_gone(s->tree, agent);
}

static void tell_parent(struct server *s, uint32_t agent, uint32_t parent)
{
    struct agent_msg m = {.type = AGENT_PARENT, .at = s->listens[parent]};

    m.at.agent = parent;
    server_agent_tell(s, agent, &m);
}

void server_tree_came(struct server *s, uint32_t agent)
{
    struct agent_msg m = {.type = AGENT_TREE, .number = s->start.fanout};
    uint32_t parent = agent_tree_parent(agent, s->start.fanout);

    if (!s->tree)
        return;
    server_agent_tell(s, agent, &m);
    if (parent != AGENT_TREE_ROOT && agent_tree_passes_on(s->tree, parent))
        tell_parent(s, agent, parent);
}

static int no_tree(struct errbuf *err)
{
    return errprintf(err, "a frame of the tree, but the step has no tree");
}

int server_tree_listens(struct agent *a, const struct agent_msg *msg,
                        struct errbuf *err)
{
    struct server *s = a->server;
    uint32_t first, n;

    if (!s->tree)
        return no_tree(err);
    if (agent_tree_listens(s->tree, a->index, err) < 0)
        return -1;
    s->listens[a->index] = msg->at;
    n = agent_tree_children(a->index, s->start.agents, s->start.fanout, &first);
    for (uint32_t i = first; i < first + n; i++)
        if (s->by_index[i] && s->by_index[i]->state == AGENT_UP)
            tell_parent(s, i, a->index);
    return 0;
}

int server_tree_attached(struct agent *a, const struct agent_msg *msg,
                         struct errbuf *err)
{
    struct server *s = a->server;

    return s->tree ? agent_tree_attached(s->tree, a->index, err) : no_tree(err);
}

int server_tree_leaving(struct agent *a, const struct agent_msg *msg,
                        struct errbuf *err)
{
    struct agent_msg m = {.type = AGENT_LEAVE};
    struct server *s = a->server;

    if (!s->tree)
        return no_tree(err);
    if (agent_tree_leaves(s->tree, a->index, &m.number, err) < 0)
        return -1;
    server_agent_tell(s, a->index, &m);
    return 0;
}

int server_tree_left(struct agent *a, const struct agent_msg *msg,
                     struct errbuf *err)
{
    struct server *s = a->server;

    return s->tree ? agent_tree_left(s->tree, a->index, msg->number, err)
                   : no_tree(err);
}

/* ---- results ---- */

static void send_one(struct server *s, uint32_t agent, struct chunk *c)
{
    if (s->by_index[agent])
        server_agent_send_chunk(s->by_index[agent], c);
}

/* The frame is in memory once for all ways: what differs goes before it. */
static int send_way(struct server *s, const struct agent_way *w,
                    struct chunk *frame, size_t len)
{
    struct chunk *head = NULL;
    struct bytebuf b;

    bytebuf_init(&b, SF_AGENT_FRAME_MAX);
    if (w->set && agent_spread_begin(&b, w->set,
                                     AGENT_SET_SIZE(s->start.agents), len) == 0)
        head = chunk_new(bytebuf_data(&b), bytebuf_len(&b));
    bytebuf_free(&b);
    if (w->set && !head)
        return -1;
    if (head)
        send_one(s, w->agent, head);
    chunk_release(head);
    send_one(s, w->agent, frame);
    return 0;
}

static int send_by_tree(struct server *s,
                        const struct rendezvous_result *result,
                        struct chunk *frame)
{
    struct agent_plan plan;
    int rc = agent_tree_plan(s->tree, result->agents, result->nagents, &plan);

    for (uint32_t i = 0; i < plan.n && rc == 0; i++)
        rc = send_way(s, &plan.ways[i], frame, bytebuf_len(&result->frame));
    agent_plan_free(&plan);
    return rc;
}

void server_spread(struct server *s, const struct rendezvous_result *result)
{
    struct chunk *c =
        chunk_new(bytebuf_data(&result->frame), bytebuf_len(&result->frame));
    int rc = c ? 0 : -1;

    if (c && s->tree)
        rc = send_by_tree(s, result, c);
    for (uint32_t i = 0; c && !s->tree && i < result->nagents; i++)
        send_one(s, result->agents[i], c);
    if (rc < 0)
        server_abort(s, &(struct server_cause){
                            .code = 1,
                            .rank = -1,
                            .client = -1,
                            .node = "-",
                            .text = "SF-E223: impi-server: out of memory"});
    chunk_release(c);
}
