/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages to hosts that are sent again until a reply comes: reset, Config,
 * Cloud Query, and a dormant mapper's question.
 */
#include "mapper/gm1_priv.h"

static bool is_own(const struct gm1 *g, const struct gm1_heard *host)
{
    return host && host->address == g->config.host.address;
}

/* To the own host side: its reply is there when the call returns. */
static void send_local(struct gm1 *g, const void *body, size_t len)
{
    g->local = true;
    g->own_reply = (struct gm1_message){.subtype = GM1_PROBE};
    hostside_input(g->host, body, len);
    g->local = false;
}

static void reverse(struct gm1_route *back, const struct gm1_route *route)
{
    back->len = route->len;
    net_route_reverse(back->byte, route->byte, route->len);
}

static size_t scout_bytes(struct gm1 *g, const struct gm1_talk *talk,
                          const struct gm1_route *route, void *body,
                          size_t size)
{
    struct gm1_message msg = {
        .subtype = GM1_SCOUT, .port = talk->port, .phase = g->talk_phase};

    reverse(&msg.scout.back, route);
    msg.scout.mapper = g->config.host.address;
    msg.scout.level = g->config.host.level;
    if (talk->purpose == GM1_TALK_RESET) {
        msg.scout.command = GM1_COMMAND_RESET;
        g->counters.resets++;
    }
    g->counters.scouts++;
    return gm1_encode(body, size, &msg);
}

static size_t query_bytes(struct gm1 *g, const struct gm1_talk *talk,
                          void *body, size_t size)
{
    struct gm1_message msg = {
        .subtype = GM1_CLOUD_QUERY, .port = talk->port, .phase = g->talk_phase};
    uint32_t rest = talk->host->reply.nhosts - talk->first;

    msg.query.first = talk->first;
    msg.query.nhosts = rest < GM1_MEMBERS_MAX ? rest : GM1_MEMBERS_MAX;
    g->counters.queries++;
    return gm1_encode(body, size, &msg);
}

static void send_talk(struct gm1 *g, struct gm1_talk *talk)
{
    const struct gm1_route *route =
        talk->host ? &talk->host->route : &g->to_higher;
    uint8_t body[GM1_MESSAGE_MAX];
    size_t len;

    talk->left--;
    talk->next = g->now + g->config.limits.scout_wait;
    if (talk->purpose == GM1_TALK_QUERY)
        len = query_bytes(g, talk, body, sizeof(body));
    else if (talk->purpose == GM1_TALK_CONFIG)
        len = gm1_config_bytes(g, talk, body, sizeof(body));
    else
        len = scout_bytes(g, talk, route, body, sizeof(body));
    if (len == 0)
        return;
    if (is_own(g, talk->host))
        send_local(g, body, len);
    else
        g->ops.send(route->byte, route->len, body, len, g->arg);
}

bool gm1_ask(struct gm1 *g, enum gm1_purpose purpose, struct gm1_heard *host,
             uint32_t first)
{
    for (int i = 0; i < GM1_TALKS; i++) {
        struct gm1_talk *talk = &g->talk[i];

        if (talk->purpose != GM1_TALK_FREE)
            continue;
        *talk = (struct gm1_talk){.purpose = purpose,
                                  .host = host,
                                  .port = ++g->talk_port,
                                  .first = first,
                                  .left = g->config.limits.tries,
                                  .next = g->now};
        if (!is_own(g, host))
            send_talk(g, talk);
        return true;
    }
    return false;
}

void gm1_hush(struct gm1 *g)
{
    for (int i = 0; i < GM1_TALKS; i++)
        g->talk[i].purpose = GM1_TALK_FREE;
}

unsigned gm1_talking(const struct gm1 *g, const struct gm1_heard *host)
{
    unsigned n = 0;

    for (int i = 0; i < GM1_TALKS; i++)
        n += g->talk[i].purpose != GM1_TALK_FREE &&
             (!host || g->talk[i].host == host);
    return n;
}

struct gm1_talk *gm1_talk_of(struct gm1 *g, const struct gm1_message *msg)
{
    if (msg->phase != g->talk_phase)
        return NULL;
    for (int i = 0; i < GM1_TALKS; i++)
        if (g->talk[i].purpose != GM1_TALK_FREE && g->talk[i].port == msg->port)
            return &g->talk[i];
    return NULL;
}

static struct gm1_talk *due(struct gm1 *g)
{
    for (int i = 0; i < GM1_TALKS; i++)
        if (g->talk[i].purpose != GM1_TALK_FREE && g->talk[i].next <= g->now)
            return &g->talk[i];
    return NULL;
}

/* The own host side answers at once or not at all. */
static bool take_local(struct gm1 *g, struct gm1_talk *talk)
{
    struct gm1_message reply;
    struct gm1_talk was;

    if (!is_own(g, talk->host))
        return false;
    send_talk(g, talk);
    was = *talk;
    reply = g->own_reply;
    talk->purpose = GM1_TALK_FREE;
    if (reply.subtype == GM1_REPLY)
        gm1_talk_answered(g, &was, &reply);
    else
        gm1_talk_given_up(g, &was);
    return true;
}

void gm1_talk_tick(struct gm1 *g)
{
    struct gm1_talk *talk, gone;

    while ((talk = due(g)) != NULL) {
        if (take_local(g, talk))
            continue;
        if (talk->left > 0) {
            send_talk(g, talk);
            continue;
        }
        gone = *talk;
        talk->purpose = GM1_TALK_FREE;
        gm1_talk_given_up(g, &gone);
    }
}

uint64_t gm1_talk_deadline(const struct gm1 *g)
{
    uint64_t t = GM1_NEVER;

    for (int i = 0; i < GM1_TALKS; i++)
        if (g->talk[i].purpose != GM1_TALK_FREE && g->talk[i].next < t)
            t = g->talk[i].next;
    return t;
}
