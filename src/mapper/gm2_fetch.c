/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pieces of one version, kept as they came and put together at the end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "mapper/gm2_map.h"
#include "mapper/gm_address.h"

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
