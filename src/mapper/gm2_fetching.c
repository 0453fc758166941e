/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pulling a map from the parent: first what is different in it, if the parent
 * gives that and a map is there that it could begin at; else, or when it does
 * not fit, the whole: a few pieces are asked for at a time, each again until
 * it comes.
 */

#include "mapper/gm2_priv.h"

static bool asked(const struct gm2 *m, uint32_t piece)
{
    for (int i = 0; i < GM2_TALKS; i++)
        if (m->talk[i].purpose == GM2_TALK_PIECE &&
            m->talk[i].argument == piece)
            return true;
    return false;
}

static unsigned in_flight(const struct gm2 *m)
{
    unsigned n = 0;

    for (int i = 0; i < GM2_TALKS; i++)
        n += m->talk[i].purpose == GM2_TALK_PIECE;
    return n;
}

static void ask_piece(struct gm2 *m, uint32_t piece)
{
    const struct gm2_talk talk = {
        .purpose = GM2_TALK_PIECE,
        .reason = GM2_LX_QUERYING_MAP_PIECE,
        .address = m->parent.address,
        .argument = piece,
        .route = m->parent.route,
        .wait = m->config.piece_wait,
        .left = m->config.piece_tries,
    };

    gm2_ask(m, &talk);
}

/* Before the first piece nobody knows how many there are. */
static void fetch_more(struct gm2 *m)
{
    uint32_t piece = gm2_fetch_missing(m->fetch);

    while (piece != UINT32_MAX && in_flight(m) < GM2_WINDOW) {
        if (!asked(m, piece))
            ask_piece(m, piece);
        piece = gm2_fetch_next(m->fetch, piece + 1);
    }
}

/* What a delta could begin at. */
static const struct gm2_map *base(const struct gm2 *m)
{
    return m->map ? m->map : m->supposed;
}

static bool ask_delta(struct gm2 *m)
{
    struct gm2_talk talk = {
        .purpose = GM2_TALK_DELTA,
        .reason = GM2_LX_QUERYING_MAP_DELTA,
        .address = m->parent.address,
        .route = m->parent.route,
        .wait = m->config.piece_wait,
        .left = m->config.piece_tries,
    };

    if (!m->config.map_deltas || !m->offered || !base(m))
        return false;
    talk.argument = base(m)->version.counter;
    return gm2_ask(m, &talk);
}

void gm2_fetch_start(struct gm2 *m)
{
    if (!ask_delta(m))
        gm2_fetch_whole(m);
}

void gm2_fetch_whole(struct gm2 *m)
{
    m->fetch = gm2_fetch_new(&m->want);
    if (m->fetch)
        fetch_more(m);
    else
        gm2_fire(m, GM2_EVENT_FETCH_FAILED);
}

static void use(struct gm2 *m, struct gm2_map *map)
{
    map->version.level = m->want.level;
    if (gm2_use_map(m, map))
        gm2_fire(m, GM2_EVENT_FETCHED);
    else if (m->state == GM2_STATE_FETCHING)
        gm2_fire(m, GM2_EVENT_FETCH_FAILED);
}

static void finish(struct gm2 *m)
{
    struct errbuf err = {""};
    struct gm2_map *map = gm2_fetch_finish(m->fetch, &err);

    if (map && gm2_map_host(map, m->config.address) == NET_NONE) {
        errprintf(&err, "the map of the parent does not have this host");
        gm2_map_free(map);
        map = NULL;
    }
    if (!map) {
        gm2_notice(m, "%s", err.text[0] ? err.text : "no memory for the map");
        gm2_fire(m, GM2_EVENT_FETCH_FAILED);
        return;
    }
    use(m, map);
}

void gm2_take_delta(struct gm2 *m, const struct gm2_message *msg)
{
    struct gm2_talk *talk = gm2_talk_of(m, msg);
    struct errbuf err = {""};
    struct gm2_map *map;

    if (!talk || talk->purpose != GM2_TALK_DELTA ||
        !gm2_version_equal(&msg->version, &m->want)) {
        m->counters.dropped_late++;
        return;
    }
    talk->purpose = GM2_TALK_FREE;
    m->counters.deltas_received++;
    m->counters.pulled += GM2_HEADER_SIZE + msg->rows_len;
    map = gm2_delta_apply(base(m), &m->want, msg->rows, msg->rows_len, &err);
    if (map && gm2_map_host(map, m->config.address) != NET_NONE) {
        use(m, map);
        return;
    }
    gm2_map_free(map);
    gm2_notice(m, "%s: fetching the whole map",
               map ? "the new map does not have this host" : err.text);
    gm2_fetch_whole(m);
}

void gm2_take_piece(struct gm2 *m, const struct gm2_message *msg)
{
    struct gm2_talk *talk = gm2_talk_of(m, msg);

    if (!talk || talk->purpose != GM2_TALK_PIECE || !m->fetch ||
        talk->argument != msg->piece.piece) {
        m->counters.dropped_late++;
        return;
    }
    talk->purpose = GM2_TALK_FREE;
    m->counters.pieces_received++;
    m->counters.pulled += GM2_PIECE_SIZE + msg->rows_len;
    if (gm2_fetch_add(m->fetch, msg) < 0) {
        gm2_fire(m, GM2_EVENT_FETCH_FAILED);
        return;
    }
    if (gm2_fetch_missing(m->fetch) == UINT32_MAX)
        finish(m);
    else
        fetch_more(m);
}
