/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Canonical order, tree numbers and cutting into pieces; putting pieces
 * together is gm2_fetch.c.
 */
#include "mapper/gm2_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mapper/gm_address.h"

/* A host of the found net with its rank, to be sorted. */
struct ranked {
    uint64_t address;
    uint32_t node;
    struct gm2_host host;
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (gm_outranks(x->host.level, x->address, y->host.level, y->address))
        return -1;
    if (gm_outranks(y->host.level, y->address, x->host.level, x->address))
        return 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static struct ranked *rank_hosts(const struct net *found, gm2_host_f *host,
                                 void *arg)
{
    struct ranked *all = calloc(found->nhosts + 1, sizeof(*all));
    uint32_t n = 0;

    if (!all)
        return NULL;
    for (uint32_t i = 0; i < found->nnodes; i++) {
        if (found->nodes[i].kind != NET_HOST)
            continue;
        all[n].node = i;
        all[n].address = found->nodes[i].id;
        host(all[n].address, &all[n].host, arg);
        n++;
    }
    qsort(all, n, sizeof(*all), by_rank);
    return all;
}

/* Nodes in their new order; to[old] = new. */
static bool copy_nodes(struct gm2_map *map, const struct net *found,
                       const struct ranked *all, uint32_t *to)
{
    for (uint32_t i = 0; i < found->nhosts; i++) {
        to[all[i].node] = net_add_host(map->net, "", all[i].address);
        if (to[all[i].node] == NET_NONE)
            return false;
        map->hosts[i] = all[i].host;
    }
    for (uint32_t i = 0; i < found->nnodes; i++) {
        const struct net_node *node = &found->nodes[i];

        if (node->kind != NET_XBAR)
            continue;
        to[i] = net_add_xbar(map->net, "", node->nports, node->id);
        if (to[i] == NET_NONE)
            return false;
        map->net->nodes[to[i]].has_id = node->has_id;
        map->net->nodes[to[i]].plane = node->plane;
    }
    return true;
}

static bool copy_cables(struct gm2_map *map, const struct net *found,
                        const uint32_t *to)
{
    for (uint32_t p = 0; p < found->nports; p++) {
        uint32_t q = found->ports[p].peer;

        if (q == NET_NONE || q < p)
            continue;
        if (!net_connect(map->net, to[found->ports[p].node],
                         net_port_number(found, p), to[found->ports[q].node],
                         net_port_number(found, q)))
            return false;
    }
    return true;
}

/* As many crossbars as fit into one message, 20 at most. */
static uint32_t xbars_per_piece(const struct net *net)
{
    uint32_t widest = 1, n;

    for (uint32_t i = net->nhosts; i < net->nnodes; i++)
        if (net->nodes[i].nports > widest)
            widest = net->nodes[i].nports;
    n = (GM2_MESSAGE_MAX - GM2_PIECE_SIZE) /
        (GM2_XBAR_SIZE + widest * GM2_END_SIZE);
    return n > GM2_PIECE_XBARS ? GM2_PIECE_XBARS : n;
}

static bool fill(struct gm2_map *map, const struct net *found, gm2_host_f *host,
                 void *arg)
{
    struct ranked *all = rank_hosts(found, host, arg);
    uint32_t *to = calloc(found->nnodes + 1, sizeof(*to));
    bool ok = all && to && copy_nodes(map, found, all, to) &&
              copy_cables(map, found, to);

    if (!all || !to)
        errno = ENOMEM;
    free(to);
    free(all);
    return ok;
}

struct gm2_map *gm2_map_new(const struct net *found,
                            const struct gm2_version *version, gm2_host_f *host,
                            void *arg)
{
    struct gm2_map *map = calloc(1, sizeof(*map));

    if (!map)
        return NULL;
    map->version = *version;
    map->net = net_new();
    map->hosts = calloc(found->nhosts + 1, sizeof(*map->hosts));
    if (!map->net || !map->hosts || !fill(map, found, host, arg)) {
        int saved = errno;

        gm2_map_free(map);
        errno = saved;
        return NULL;
    }
    map->per_piece = xbars_per_piece(map->net);
    return map;
}

void gm2_map_free(struct gm2_map *map)
{
    if (!map)
        return;
    net_free(map->net);
    free(map->hosts);
    free(map);
}

struct gm2_map *gm2_map_copy(const struct gm2_map *map)
{
    size_t size = map->net->nhosts * sizeof(*map->hosts);
    struct gm2_map *copy = malloc(sizeof(*copy));

    if (!copy)
        return NULL;
    *copy = *map;
    copy->net = net_copy(map->net);
    copy->hosts = malloc(size + 1);
    if (!copy->net || !copy->hosts) {
        gm2_map_free(copy);
        return NULL;
    }
    memcpy(copy->hosts, map->hosts, size);
    return copy;
}

uint32_t gm2_map_host(const struct gm2_map *map, uint64_t address)
{
    return net_find_host(map->net, address);
}

uint32_t gm2_tree_parent(uint32_t n)
{
    return n / 2;
}

uint32_t gm2_tree_child(uint32_t n, unsigned which, uint32_t nhosts)
{
    uint64_t child = 2 * (uint64_t)n + which;

    return n != 0 && child <= nhosts ? (uint32_t)child : 0;
}

static uint32_t host_pieces(const struct gm2_map *map)
{
    return (map->net->nhosts + GM2_PIECE_HOSTS - 1) / GM2_PIECE_HOSTS;
}

uint32_t gm2_map_pieces(const struct gm2_map *map)
{
    return host_pieces(map) +
           (map->net->nxbars + map->per_piece - 1) / map->per_piece;
}

/* The far end of a port: node and its port. */
static void put_end(struct be_writer *w, const struct net *net, uint32_t node,
                    unsigned port)
{
    uint32_t peer = net_peer_node(net, node, port);

    be_put32(w, peer);
    be_put8(w, peer == NET_NONE ? 0 : (uint8_t)net_peer_port(net, node, port));
}

static void put_host(struct be_writer *w, const struct gm2_map *map, uint32_t i)
{
    gm_put_address(w, map->net->nodes[i].id);
    be_put8(w, map->hosts[i].type);
    put_end(w, map->net, i, 0);
    be_put32(w, map->hosts[i].level);
}

static void put_xbar(struct be_writer *w, const struct gm2_map *map, uint32_t i)
{
    const struct net_node *node = &map->net->nodes[map->net->nhosts + i];

    be_put64(w, node->id);
    be_put8(w, node->nports);
    be_put8(w, node->has_id);
    be_put8(w, node->plane);
    be_put8(w, 0);
    for (unsigned p = 0; p < node->nports; p++)
        put_end(w, map->net, map->net->nhosts + i, p);
}

static bool place_piece(const struct gm2_map *map, uint32_t which,
                        struct gm2_piece *piece)
{
    uint32_t hosts = host_pieces(map), all, per;

    piece->piece = which;
    piece->npieces = gm2_map_pieces(map);
    piece->nhosts = map->net->nhosts;
    piece->nxbars = map->net->nxbars;
    if (which >= piece->npieces)
        return false;
    piece->kind = which < hosts ? GM2_ROWS_HOSTS : GM2_ROWS_XBARS;
    per = which < hosts ? GM2_PIECE_HOSTS : map->per_piece;
    all = which < hosts ? map->net->nhosts : map->net->nxbars;
    piece->first = (which < hosts ? which : which - hosts) * per;
    piece->count =
        (uint16_t)(all - piece->first < per ? all - piece->first : per);
    return true;
}

size_t gm2_map_encode_piece(const struct gm2_map *map, uint32_t which,
                            struct gm2_message *msg, void *buf, size_t size)
{
    struct be_writer w;
    size_t header;

    msg->subtype = GM2_PIECE;
    msg->version = map->version;
    if (!place_piece(map, which, &msg->piece))
        return 0;
    header = gm2_encode(buf, size, msg);
    if (header == 0)
        return 0;
    be_writer_init(&w, (uint8_t *)buf + header, size - header);
    for (uint32_t i = 0; i < msg->piece.count; i++) {
        if (msg->piece.kind == GM2_ROWS_HOSTS)
            put_host(&w, map, msg->piece.first + i);
        else
            put_xbar(&w, map, msg->piece.first + i);
    }
    return w.bad ? 0 : header + w.len;
}
