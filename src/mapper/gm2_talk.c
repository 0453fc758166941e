/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exchanges between mappers: a scout is sent again until it is answered or
 * its tries are used up.  Answers to other mappers' scouts.
 */
#include <string.h>

#include "mapper/gm2_priv.h"

static void put_sender(const struct gm2 *m, struct gm2_message *msg)
{
    msg->sender = m->config.address;
    msg->level = m->config.level;
    msg->host_type = m->config.host_type;
    if (m->map)
        msg->version = m->map->version;
    if (m->valid) {
        msg->flags |= GM2_VALID | GM2_CONFIGURED;
        msg->ups = m->ups;
    }
    if (m->complete)
        msg->flags |= GM2_COMPLETE;
    if (m->valid && gm2_past_gives(m))
        msg->flags |= GM2_GIVES_DELTA;
    if (m->state == GM2_STATE_MAPPING)
        msg->flags |= GM2_MAPPING;
}

static void send_bytes(struct gm2 *m, const struct gm2_route *route,
                       const uint8_t *body, size_t len)
{
    if (len == 0)
        return;
    m->counters.sent++;
    m->counters.sent_bytes += len;
    m->ops.send(route->byte, route->len, body, len, m->arg);
}

void gm2_say(struct gm2 *m, struct gm2_message *msg,
             const struct gm2_route *route)
{
    uint8_t body[GM2_PIECE_SIZE + GM2_ROUTE_MAX];

    if (msg->subtype != GM2_PROBE)
        put_sender(m, msg);
    send_bytes(m, route, body, gm2_encode(body, sizeof(body), msg));
}

/* ---- exchanges ----------------------------------------------------------- */

static void send_talk(struct gm2 *m, struct gm2_talk *talk)
{
    struct gm2_message msg = {.subtype = GM2_SCOUT, .reason = talk->reason};

    msg.tag = talk->tag;
    msg.session = m->talk_session;
    msg.scout.argument = talk->argument;
    msg.scout.back.len = talk->route.len;
    net_route_reverse(msg.scout.back.byte, talk->route.byte, talk->route.len);
    talk->left--;
    talk->next = m->now + talk->wait;
    if (talk->purpose == GM2_TALK_PIECE || talk->purpose == GM2_TALK_DELTA) {
        uint8_t body[GM2_SCOUT_SIZE + GM2_ROUTE_MAX];

        put_sender(m, &msg);
        msg.version = m->want;
        send_bytes(m, &talk->route, body, gm2_encode(body, sizeof(body), &msg));
        return;
    }
    gm2_say(m, &msg, &talk->route);
}

bool gm2_ask(struct gm2 *m, const struct gm2_talk *talk)
{
    for (int i = 0; i < GM2_TALKS; i++) {
        struct gm2_talk *slot = &m->talk[i];

        if (slot->purpose != GM2_TALK_FREE)
            continue;
        *slot = *talk;
        slot->tag = ++m->talk_tag;
        send_talk(m, slot);
        return true;
    }
    return false;
}

void gm2_hush(struct gm2 *m, enum gm2_purpose purpose)
{
    for (int i = 0; i < GM2_TALKS; i++)
        if (purpose == GM2_TALK_FREE || m->talk[i].purpose == purpose)
            m->talk[i].purpose = GM2_TALK_FREE;
}

bool gm2_talking(const struct gm2 *m, enum gm2_purpose purpose)
{
    for (int i = 0; i < GM2_TALKS; i++)
        if (m->talk[i].purpose == purpose)
            return true;
    return false;
}

struct gm2_talk *gm2_talk_of(struct gm2 *m, const struct gm2_message *msg)
{
    if (msg->session != m->talk_session)
        return NULL;
    for (int i = 0; i < GM2_TALKS; i++) {
        struct gm2_talk *talk = &m->talk[i];

        if (talk->purpose != GM2_TALK_FREE && talk->tag == msg->tag &&
            talk->address == msg->sender)
            return talk;
    }
    return NULL;
}

/* The first that is due; giving one up may change all the others. */
static struct gm2_talk *due(struct gm2 *m)
{
    for (int i = 0; i < GM2_TALKS; i++)
        if (m->talk[i].purpose != GM2_TALK_FREE && m->talk[i].next <= m->now)
            return &m->talk[i];
    return NULL;
}

void gm2_talk_tick(struct gm2 *m)
{
    struct gm2_talk *talk, gone;

    while ((talk = due(m)) != NULL) {
        if (talk->left > 0) {
            send_talk(m, talk);
            continue;
        }
        gone = *talk;
        talk->purpose = GM2_TALK_FREE;
        gm2_unanswered(m, &gone);
    }
}

uint64_t gm2_talk_deadline(const struct gm2 *m)
{
    uint64_t t = GM2_NEVER;

    for (int i = 0; i < GM2_TALKS; i++)
        if (m->talk[i].purpose != GM2_TALK_FREE && m->talk[i].next < t)
            t = m->talk[i].next;
    return t;
}

void gm2_ping(struct gm2 *m)
{
    const struct gm2_talk talk = {
        .purpose = GM2_TALK_PING,
        .reason = GM2_LX_QUERYING_MAP_VERSION,
        .address = m->parent.address,
        .route = m->parent.route,
        .wait = m->config.scout_wait,
        .left = m->config.parent_tries,
    };

    m->timer = m->now + m->config.ping_interval;
    if (!gm2_talking(m, GM2_TALK_PING))
        gm2_ask(m, &talk);
}

/* ---- answers ------------------------------------------------------------- */

static bool answer_piece(struct gm2 *m, const struct gm2_message *scout)
{
    struct gm2_message msg = {
        .reason = scout->reason, .tag = scout->tag, .session = scout->session};
    uint8_t body[GM2_MESSAGE_MAX];
    size_t len;

    if (!m->valid || !gm2_version_equal(&scout->version, &m->map->version))
        return false;
    put_sender(m, &msg);
    len = gm2_map_encode_piece(m->map, scout->scout.argument, &msg, body,
                               sizeof(body));
    if (len == 0)
        return false;
    m->counters.pieces_sent++;
    send_bytes(m, &scout->scout.back, body, len);
    return true;
}

static bool answer_delta(struct gm2 *m, const struct gm2_message *scout)
{
    struct gm2_message msg = {.subtype = GM2_DELTA,
                              .reason = scout->reason,
                              .tag = scout->tag,
                              .session = scout->session};
    const struct bytebuf *delta;
    uint8_t body[GM2_MESSAGE_MAX];
    size_t len;

    if (!m->valid || !gm2_version_equal(&scout->version, &m->map->version))
        return false;
    delta = gm2_past_delta(m, scout->scout.argument);
    if (!delta)
        return false;
    put_sender(m, &msg);
    len = gm2_encode(body, sizeof(body), &msg);
    memcpy(body + len, bytebuf_data(delta), bytebuf_len(delta));
    m->counters.deltas_sent++;
    send_bytes(m, &scout->scout.back, body, len + bytebuf_len(delta));
    return true;
}

void gm2_answer_scout(struct gm2 *m, const struct gm2_message *scout)
{
    struct gm2_message msg = {.subtype = GM2_REPLY, .reason = scout->reason};

    if (scout->reason == GM2_LX_QUERYING_MAP_PIECE) {
        if (answer_piece(m, scout))
            return;
        msg.flags |= GM2_NO_PIECE;
    }
    if (scout->reason == GM2_LX_QUERYING_MAP_DELTA) {
        if (answer_delta(m, scout))
            return;
        msg.flags |= GM2_NO_PIECE;
    }
    msg.tag = scout->tag;
    msg.session = scout->session;
    msg.reply.done = m->done;
    msg.reply.parent = m->parent.address;
    if (m->valid)
        msg.reply.npieces = gm2_map_pieces(m->map);
    gm2_say(m, &msg, &scout->scout.back);
}
