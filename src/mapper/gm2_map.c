/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Canonical order, tree numbers, cutting into pieces and putting them together.
 */
#include "mapper/gm2_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
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

/* ---- gm2 fetch --------------------------------------------------------- */

/* Pieces of one version, kept as they came and put together at the end. */

struct raw {
    uint8_t *rows; /* NULL: missing */
    size_t len;
    struct gm2_piece head;
};

struct gm2_fetch {
    struct gm2_version version;
    uint32_t npieces; /* 0 before the first piece */
    uint32_t nhosts, nxbars;
    uint32_t have;
    struct raw *raw;
};

struct gm2_fetch *gm2_fetch_new(const struct gm2_version *version)
{
    struct gm2_fetch *fetch = calloc(1, sizeof(*fetch));

    if (fetch)
        fetch->version = *version;
    return fetch;
}

void gm2_fetch_free(struct gm2_fetch *fetch)
{
    if (!fetch)
        return;
    for (uint32_t i = 0; i < fetch->npieces; i++)
        free(fetch->raw[i].rows);
    free(fetch->raw);
    free(fetch);
}

static int refuse(int code)
{
    errno = code;
    return -1;
}

/* The first piece says how much there is to come. */
static int begin(struct gm2_fetch *fetch, const struct gm2_piece *piece)
{
    if (piece->npieces > SF_GM_PIECES_MAX || piece->nhosts > SF_GM_HOSTS_MAX ||
        piece->nxbars > SF_GM_XBARS_MAX)
        return refuse(EPROTO);
    fetch->raw = calloc(piece->npieces, sizeof(*fetch->raw));
    if (!fetch->raw)
        return -1;
    fetch->npieces = piece->npieces;
    fetch->nhosts = piece->nhosts;
    fetch->nxbars = piece->nxbars;
    return 0;
}

int gm2_fetch_add(struct gm2_fetch *fetch, const struct gm2_message *msg)
{
    const struct gm2_piece *piece = &msg->piece;
    struct raw *raw;

    if (!gm2_version_equal(&msg->version, &fetch->version))
        return refuse(ESTALE);
    if (msg->rows_len > GM2_MESSAGE_MAX)
        return refuse(EPROTO);
    if (!fetch->raw && begin(fetch, piece) < 0)
        return -1;
    if (piece->npieces != fetch->npieces || piece->nhosts != fetch->nhosts ||
        piece->nxbars != fetch->nxbars)
        return refuse(EPROTO);
    raw = &fetch->raw[piece->piece];
    if (raw->rows)
        return 0;
    raw->rows = malloc(msg->rows_len + 1);
    if (!raw->rows)
        return -1;
    memcpy(raw->rows, msg->rows, msg->rows_len);
    raw->len = msg->rows_len;
    raw->head = *piece;
    fetch->have++;
    return 1;
}

uint32_t gm2_fetch_next(const struct gm2_fetch *fetch, uint32_t from)
{
    for (uint32_t i = from; i < fetch->npieces; i++)
        if (!fetch->raw[i].rows)
            return i;
    return UINT32_MAX;
}

uint32_t gm2_fetch_missing(const struct gm2_fetch *fetch)
{
    return fetch->npieces == 0 ? 0 : gm2_fetch_next(fetch, 0);
}

/* ---- putting together ---------------------------------------------------- */

/* Far ends as written, to be compared with the cables made of them. */
struct ends {
    uint32_t *peer;
    uint8_t *port;
    uint32_t n, size;
    uint32_t twins; /* hosts with the board id of one before them */
};

static bool push_end(struct ends *ends, struct be_reader *r)
{
    if (ends->n == ends->size) {
        uint32_t size = ends->size ? 2 * ends->size : 1024;
        uint32_t *peer = realloc(ends->peer, size * sizeof(*peer));
        uint8_t *port;

        if (!peer)
            return false;
        ends->peer = peer;
        port = realloc(ends->port, size);
        if (!port)
            return false;
        ends->port = port;
        ends->size = size;
    }
    ends->peer[ends->n] = be_get32(r);
    ends->port[ends->n] = be_get8(r);
    ends->n++;
    return true;
}

static bool read_host(struct gm2_map *map, struct ends *ends,
                      struct be_reader *r)
{
    uint64_t address = gm_get_address(r);
    uint8_t type = be_get8(r);
    uint32_t node;

    if (r->bad || (net_find_host(map->net, address) != NET_NONE &&
                   ++ends->twins > SF_GM_TWINS_MAX))
        return refuse(EPROTO) == 0;
    node = net_add_host(map->net, "", address);
    if (node == NET_NONE || !push_end(ends, r))
        return false;
    map->hosts[node].type = type;
    map->hosts[node].level = be_get32(r);
    return true;
}

static bool read_xbar(struct gm2_map *map, struct ends *ends,
                      struct be_reader *r)
{
    uint64_t id = be_get64(r);
    uint8_t nports = be_get8(r), has_id = be_get8(r), plane = be_get8(r);
    uint32_t node;

    be_get8(r);
    if (r->bad || nports == 0)
        return refuse(EPROTO) == 0;
    node = net_add_xbar(map->net, "", nports, id);
    if (node == NET_NONE)
        return false;
    map->net->nodes[node].has_id = has_id != 0;
    map->net->nodes[node].plane = plane;
    for (unsigned p = 0; p < nports; p++)
        if (!push_end(ends, r))
            return false;
    return true;
}

static bool read_piece(struct gm2_map *map, struct ends *ends,
                       const struct raw *raw)
{
    bool hosts = raw->head.kind == GM2_ROWS_HOSTS;
    uint32_t next = hosts ? map->net->nhosts : map->net->nxbars;
    struct be_reader r;

    be_reader_init(&r, raw->rows, raw->len);
    if (raw->head.first != next || (hosts && map->net->nxbars != 0))
        return refuse(EPROTO) == 0;
    for (unsigned i = 0; i < raw->head.count; i++)
        if (!(hosts ? read_host : read_xbar)(map, ends, &r))
            return false;
    return be_reader_done(&r) || refuse(EPROTO) == 0;
}

static bool read_rows(const struct gm2_fetch *fetch, struct gm2_map *map,
                      struct ends *ends)
{
    for (uint32_t i = 0; i < fetch->npieces; i++) {
        const struct gm2_piece *head = &fetch->raw[i].head;

        if (head->kind == GM2_ROWS_HOSTS &&
            map->net->nhosts + (uint64_t)head->count > fetch->nhosts)
            return refuse(EPROTO) == 0;
        if (!read_piece(map, ends, &fetch->raw[i]))
            return false;
    }
    if (map->net->nhosts == fetch->nhosts && map->net->nxbars == fetch->nxbars)
        return true;
    return refuse(EPROTO) == 0;
}

/* Every cable is written at both of its ends, and both must agree. */
static bool connect_ends(struct gm2_map *map, const struct ends *ends)
{
    struct net *net = map->net;

    for (uint32_t p = 0; p < ends->n; p++) {
        uint32_t peer = ends->peer[p], q;

        if (peer == NET_NONE)
            continue;
        if (peer >= net->nnodes || ends->port[p] >= net->nodes[peer].nports)
            return refuse(EPROTO) == 0;
        q = net->nodes[peer].first + ends->port[p];
        if (ends->peer[q] != net->ports[p].node ||
            ends->port[q] != net_port_number(net, p) || p == q)
            return refuse(EPROTO) == 0;
        if (q > p && !net_connect(net, net->ports[p].node,
                                  net_port_number(net, p), peer, ends->port[p]))
            return false;
    }
    return true;
}

static uint32_t largest_xbar_piece(const struct gm2_fetch *fetch)
{
    uint32_t n = 1;

    for (uint32_t i = 0; i < fetch->npieces; i++)
        if (fetch->raw[i].head.kind == GM2_ROWS_XBARS &&
            fetch->raw[i].head.count > n)
            n = fetch->raw[i].head.count;
    return n;
}

struct gm2_map *gm2_fetch_finish(const struct gm2_fetch *fetch,
                                 struct errbuf *err)
{
    struct gm2_map *map = calloc(1, sizeof(*map));
    struct ends ends = {0};
    bool ok = false;

    if (!map)
        return NULL;
    map->version = fetch->version;
    map->per_piece = largest_xbar_piece(fetch);
    map->net = net_new();
    map->hosts = calloc(fetch->nhosts + 1, sizeof(*map->hosts));
    if (map->net && map->hosts)
        ok = read_rows(fetch, map, &ends) && connect_ends(map, &ends);
    free(ends.peer);
    free(ends.port);
    if (ok)
        return map;
    errprintf(err, "the pieces of the map do not fit together");
    gm2_map_free(map);
    return NULL;
}
