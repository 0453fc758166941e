/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A whole map as GM-2 mappers hold and hand on: a net in canonical order with
 * the level and type of every host, under a version.
 *
 * Canonical order: hosts first, by rank (level, then board id, highest first,
 * so that host 0 is the leader where the leader may map), then crossbars.
 * Host i has the number i + 1 in the binary tree: n is the parent of 2n and
 * 2n + 1.
 *
 * Pieces: the map is cut into pieces of GM2_PIECE_HOSTS hosts, then of up to
 * GM2_PIECE_XBARS crossbars; gm2_fetch collects pieces of one version and
 * never mixes two.  Pure.
 */
#ifndef SF_MAPPER_GM2_MAP_H
#define SF_MAPPER_GM2_MAP_H

#include "base/errbuf.h"
#include "mapper/gm2_wire.h"
#include "net/graph.h"

/* What is known of a host beside its cable. */
struct gm2_host {
    uint32_t level;
    uint8_t type; /* of its transport: GM, XM, MX as the site numbers them */
};

struct gm2_map {
    struct gm2_version version;
    struct net *net;        /* canonical; owned */
    struct gm2_host *hosts; /* net->nhosts of them */
    uint32_t per_piece;     /* crossbars in one piece */
};

/* Gives level and type of the host with this board id. */
typedef void gm2_host_f(uint64_t address, struct gm2_host *host, void *arg);

/* Put a found net into canonical order.  Crossbars that no host can reach are
 * kept.  NULL: ENOMEM or EOVERFLOW. */
struct gm2_map *gm2_map_new(const struct net *found,
                            const struct gm2_version *version, gm2_host_f *host,
                            void *arg);
void gm2_map_free(struct gm2_map *map);
struct gm2_map *gm2_map_copy(const struct gm2_map *map); /* NULL: no memory */

/* Index of a host, or NET_NONE. */
uint32_t gm2_map_host(const struct gm2_map *map, uint64_t address);

/* Numbers in the tree count from 1; 0 means there is none. */
uint32_t gm2_tree_parent(uint32_t n);
uint32_t gm2_tree_child(uint32_t n, unsigned which, uint32_t nhosts);

uint32_t gm2_map_pieces(const struct gm2_map *map);

/* Write piece `which` into buf behind the header of *msg (whose piece member
 * is filled in; the rest is the caller's).  Returns the length of the message
 * or 0 when there is no such piece or it does not fit. */
size_t gm2_map_encode_piece(const struct gm2_map *map, uint32_t which,
                            struct gm2_message *msg, void *buf, size_t size);

/* ---- collecting ---------------------------------------------------------- */
struct gm2_fetch;

/* Pieces of another version are refused. */
struct gm2_fetch *gm2_fetch_new(const struct gm2_version *version);
void gm2_fetch_free(struct gm2_fetch *fetch);

/* Returns 1 taken, 0 had it already; -1 with errno: ESTALE another version,
 * EPROTO does not fit what came before or is beyond a limit, ENOMEM. */
int gm2_fetch_add(struct gm2_fetch *fetch, const struct gm2_message *msg);

/* The first piece that is missing; UINT32_MAX when all are there. */
uint32_t gm2_fetch_missing(const struct gm2_fetch *fetch);
/* The first missing one at or behind `from`; UINT32_MAX when none. */
uint32_t gm2_fetch_next(const struct gm2_fetch *fetch, uint32_t from);

/* The map, once nothing is missing.  NULL with errno EPROTO (and the text)
 * when the pieces do not make a map, or ENOMEM. */
struct gm2_map *gm2_fetch_finish(const struct gm2_fetch *fetch,
                                 struct errbuf *err);

#endif
