/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The way of a packet in the functional mode, and what it looks like at its
 * end.
 */
#include <string.h>

#include "swfab/swfab_priv.h"

enum swfab_fate swfab_leave(const struct swfab *fab, uint32_t host,
                            struct swfab_walk *w)
{
    const struct swfab_node *node = &fab->nodes[host];

    w->stripped = 0;
    w->nturns = w->nflips = 0;
    w->port = node->first;
    if (w->len < NET_TYPE_SIZE + NET_CRC_SIZE || w->len > NET_PACKET_MAX)
        return SWFAB_BAD_SIZE;
    return node->off ? SWFAB_HOST_MUTE : SWFAB_DELIVERED;
}

enum swfab_fate swfab_arrive(const struct swfab_place *at, struct swfab_walk *w)
{
    size_t left = w->len - w->stripped;

    w->port = at->port;
    if (at->at_trunk)
        return SWFAB_DELIVERED;
    if (net_byte_is_route(w->head[w->stripped]))
        return SWFAB_ROUTE_LEFT;
    if (left < NET_TYPE_SIZE + NET_CRC_SIZE || left > NET_BODY_MAX)
        return SWFAB_BAD_SIZE;
    return SWFAB_DELIVERED;
}

/* Go on from `out`, the port to leave by, as long as all is ordinary: a live
 * cable to a crossbar, and there a route byte that leads on.  Returns the port
 * to leave by where it is not. */
static uint32_t glide(struct swfab *fab, uint32_t out, struct swfab_walk *w)
{
    size_t i = w->stripped, end = w->len - 1;
    struct swfab_cell *cell = &fab->cells[out];

    end = end < NET_WIRE_ROUTE_MAX ? end : NET_WIRE_ROUTE_MAX;
    while (!cell->state && i < end) {
        uint8_t byte = w->head[i];
        int delta = net_route_delta(byte);

        if (!net_route_byte_valid(byte) || delta == 0 ||
            (unsigned)(cell->peer_number + delta) >= cell->peer_nports)
            break;
        cell->passed++;
        i++;
        cell = &fab->cells[cell->peer + (uint32_t)delta];
    }
    w->stripped = i;
    return (uint32_t)(cell - fab->cells);
}

static enum swfab_fate follow(struct swfab *fab, uint32_t host,
                              struct swfab_walk *w)
{
    struct swfab_place at;
    uint32_t out = fab->nodes[host].first;
    enum swfab_fate fate = swfab_leave(fab, host, w);

    while (fate == SWFAB_DELIVERED) {
        out = glide(fab, out, w);
        fate = swfab_cross(fab, out, w, &at);
        if (fate == SWFAB_DELIVERED && at.at_host)
            return swfab_arrive(&at, w);
        if (fate == SWFAB_DELIVERED)
            fate = w->stripped + 1 < w->len ? swfab_turn(fab, &at, w, &out)
                                            : SWFAB_NO_ROUTE;
    }
    return fate;
}

enum swfab_fate swfab_follow(struct swfab *fab, uint32_t host,
                             struct swfab_walk *w)
{
    return w->fate = follow(fab, host, w);
}

enum swfab_fate swfab_walk(struct swfab *fab, uint32_t host,
                           struct swfab_walk *w)
{
    w->fate = follow(fab, host, w);
    swfab_count_up(fab, w->port, w->fate);
    return w->fate;
}

static unsigned tags_of(const struct swfab_walk *w)
{
    size_t at = w->stripped; /* of the type: on a trunk behind more route */
    size_t known = w->len < SWFAB_HEAD_MAX ? w->len : SWFAB_HEAD_MAX;

    if (!w->nturns)
        return 0;
    while (at + NET_TYPE_SIZE < known && net_byte_is_route(w->head[at]))
        at++;
    if (at + NET_TYPE_SIZE > known ||
        !net_type_is(w->head + at, NET_TYPE_MAPPING, NET_SUBTYPE_TAGGED))
        return 0;
    return w->nturns;
}

size_t swfab_walk_size(const struct swfab *fab, const struct swfab_walk *w)
{
    return w->len - w->stripped + tags_of(w) * (size_t)NET_TAG_SIZE;
}

static void put_tag(const struct swfab *fab, uint8_t *at, uint32_t port)
{
    const struct swfab_node *node = &fab->nodes[fab->node_of[port]];
    struct net_tag tag = {.id = node->id,
                          .entry = (uint8_t)(port - node->first),
                          .ports = node->nports};

    net_tag_put(at, &tag);
}

/* Append the records; body[0..len) stands before them.  What the trailer was
 * wrong by, it stays wrong by. */
static void add_tags(const struct swfab *fab, const struct swfab_walk *w,
                     uint8_t *body, size_t len, unsigned n)
{
    uint8_t wrong = body[len] ^ net_crc(0, body, len);

    for (unsigned i = 0; i < n; i++)
        put_tag(fab, body + len + i * (size_t)NET_TAG_SIZE, w->turn[i]);
    len += n * (size_t)NET_TAG_SIZE;
    body[len] = wrong ^ net_crc(0, body, len);
}

void swfab_walk_write(const struct swfab *fab, const struct swfab_walk *w,
                      uint8_t *out, const uint8_t *packet)
{
    size_t known = w->len < SWFAB_HEAD_MAX ? w->len : SWFAB_HEAD_MAX;
    size_t last = w->len - w->stripped - 1; /* of the trailer, in out */
    unsigned ntags = tags_of(w);

    memcpy(out, w->head + w->stripped, known - w->stripped);
    if (w->len > known)
        memcpy(out + known - w->stripped, packet + known, w->len - known);
    for (unsigned i = 0; i < w->nflips; i++)
        out[w->flip[i].at - w->stripped] ^= w->flip[i].bit;
    out[last] = net_crc_strip(out[last], w->head, w->stripped, last);
    if (ntags)
        add_tags(fab, w, out, last, ntags);
}

bool swfab_send(struct swfab *fab, uint32_t host, const void *packet,
                size_t len, struct swfab_arrival *out)
{
    uint8_t head[SWFAB_HEAD_MAX];
    struct swfab_walk w = {.head = head, .len = len};

    memcpy(head, packet, len < sizeof(head) ? len : sizeof(head));
    swfab_walk(fab, host, &w);
    *out = (struct swfab_arrival){
        .fate = w.fate,
        .port = w.port,
        .node = fab->node_of[w.port],
        .hops = (unsigned)w.stripped,
    };
    if (w.fate != SWFAB_DELIVERED)
        return false;
    swfab_walk_write(fab, &w, fab->sent, packet);
    out->packet = fab->sent;
    out->len = swfab_walk_size(fab, &w);
    return true;
}
