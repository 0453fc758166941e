/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "impid/impi_server.h"

static int do_job(struct agent *a, const struct agent_msg *msg,
                  struct errbuf *err)
{
    struct server *s = a->server;

    if (a->state != AGENT_SILENT)
        return errprintf(err, "JOB twice");
    if (msg->job.agent != a->index)
        return errprintf(err, "JOB of agent %u on the channel of agent %u",
                         msg->job.agent, a->index);
    if (msg->job.agents != s->start.agents)
        return errprintf(err, "it counts %u agents, srun %u", msg->job.agents,
                         s->start.agents);
    memcpy(a->node, msg->job.node, sizeof(a->node));
    a->state = AGENT_UP;
    if (s->kill)
        server_agent_send_chunk(a, s->kill);
    return 0;
}

static void spread(struct server *s, const struct rendezvous_result *result)
{
    struct chunk *c =
        chunk_new(bytebuf_data(&result->frame), bytebuf_len(&result->frame));

    for (uint32_t i = 0; c && i < result->nagents; i++)
        if (s->by_index[result->agents[i]])
            server_agent_send_chunk(s->by_index[result->agents[i]], c);
    if (!c)
        server_abort(s, &(struct server_cause){
                            .code = 1,
                            .rank = -1,
                            .client = -1,
                            .node = "-",
                            .text = "SF-E223: impi-server: out of memory"});
    chunk_release(c);
}

static int do_put(struct agent *a, const struct agent_msg *msg,
                  struct errbuf *err)
{
    struct rendezvous_result result;
    int rc = rendezvous_put(a->server->rendezvous, a->index, &msg->put, &result,
                            err);

    if (rc == 1) {
        spread(a->server, &result);
        rendezvous_result_free(&result);
    }
    return rc < 0 ? -1 : 0;
}

static int do_world(struct agent *a, const struct agent_msg *msg,
                    struct errbuf *err)
{
    struct agent_msg reply = {.type = AGENT_WORLD_AT};
    struct errbuf why;
    struct world *w = server_world_get(a->server, msg->world.generation,
                                       msg->world.nclients, &why);

    if (w) {
        reply.world_at.generation = w->generation;
        reply.world_at.port = w->port;
    } else {
        reply.type = AGENT_ERROR;
        memcpy(reply.text, why.text, sizeof(reply.text));
    }
    server_agent_send(a, &reply);
    return 0;
}

static int do_abort(struct agent *a, const struct agent_msg *msg,
                    struct errbuf *err)
{
    server_abort(a->server, &(struct server_cause){.code = msg->abort.code,
                                                   .rank = msg->abort.rank,
                                                   .client = msg->abort.client,
                                                   .node = a->node,
                                                   .lost = msg->abort.lost,
                                                   .text = msg->abort.text});
    return 0;
}

static int exit_code(int32_t status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : 0;
}

static int do_exit(struct agent *a, const struct agent_msg *msg,
                   struct errbuf *err)
{
    struct server *s = a->server;

    for (uint32_t i = 0; i < msg->exit.count && !s->aborted; i++) {
        int32_t rank, status;

        agent_exit_at(&msg->exit, i, &rank, &status);
        if (exit_code(status) > s->code)
            s->code = exit_code(status);
    }
    return 0;
}

static int do_note(struct agent *a, const struct agent_msg *msg,
                   struct errbuf *err)
{
    server_note(a->server, msg->text);
    return 0;
}

static int do_holds(struct agent *a, const struct agent_msg *msg,
                    struct errbuf *err)
{
    snprintf(a->holds, sizeof(a->holds), "%.*s", SF_AGENT_HOLDS_MAX - 1,
             msg->text);
    return 0;
}

static int do_bye(struct agent *a, const struct agent_msg *msg,
                  struct errbuf *err)
{
    struct server *s = a->server;

    a->state = AGENT_BYE_SAID;
    server_agent_drop(a);
    server_presence_bye(s, a->index, a->node);
    server_bye(s);
    return 0;
}

static int (*const handlers[])(struct agent *a, const struct agent_msg *msg,
                               struct errbuf *err) = {
    [AGENT_JOB] = do_job,     [AGENT_PUT] = do_put,
    [AGENT_WORLD] = do_world, [AGENT_ABORT] = do_abort,
    [AGENT_EXIT] = do_exit,   [AGENT_NOTE] = do_note,
    [AGENT_BYE] = do_bye,     [AGENT_HOLDS] = do_holds,
};
#define N_HANDLERS (sizeof(handlers) / sizeof(handlers[0]))

int server_frame(struct agent *a, const struct agent_msg *msg,
                 struct errbuf *err)
{
    if (a->state == AGENT_SILENT && msg->type != AGENT_JOB)
        return errprintf(err, "frame %d before JOB", (int)msg->type);
    if (msg->type >= N_HANDLERS || !handlers[msg->type])
        return errprintf(err, "frame %d is the server's to send",
                         (int)msg->type);
    return handlers[msg->type](a, msg, err);
}
