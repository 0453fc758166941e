/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The messages of the GM-2 mappers, as doc/gm2-wire.md lays them out (the
 * mapper's own document gives no layout).  Big-endian; a message begins with
 * its type.  Their subtypes differ from GM-1's, so that either protocol drops
 * the other's messages as unknown.
 *
 * A decoded piece borrows its rows from the buffer.  Pure.
 */
#ifndef SF_MAPPER_GM2_WIRE_H
#define SF_MAPPER_GM2_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GM2_WIRE_VERSION 1

enum gm2_subtype {
    GM2_PROBE = 0x0100, /* through crossbars back to its sender */
    GM2_SCOUT = 0x0101, /* from mapper to mapper; the reason says what for */
    GM2_REPLY = 0x0102, /* to a scout */
    GM2_PIECE = 0x0103, /* of a map, to a scout that asked for it */
    GM2_DELTA = 0x0104, /* from one map to the next, the same (gm2_delta.h) */
};

/* Why a scout was sent.  LX_QUERYING_MAP_VERSION and LX_TREE are the
 * document's; the others are named in the same manner. */
enum gm2_reason {
    GM2_LX_MAPPING = 1,
    GM2_LX_QUERYING_MAP_VERSION = 2,
    GM2_LX_TREE = 3,
    GM2_LX_QUERYING_MAP_PIECE = 4,
    GM2_LX_VERIFYING = 5,
    GM2_LX_PAUSE = 6,
    GM2_LX_QUERYING_MAP_DELTA = 7,
};
#define GM2_REASON_MAX GM2_LX_QUERYING_MAP_DELTA

enum {
    GM2_VALID = 0x0001,       /* the sender's map is valid */
    GM2_MAPPING = 0x0002,     /* it explores */
    GM2_CONFIGURED = 0x0004,  /* it has loaded the routes of its map */
    GM2_NO_PIECE = 0x0008,    /* reply: the piece asked for is not there */
    GM2_COMPLETE = 0x0010,    /* every mapper of the map has it */
    GM2_GIVES_DELTA = 0x0020, /* from maps before the sender's */
};

#define GM2_PROBE_SIZE 20
#define GM2_HEADER_SIZE 48 /* of the other kinds */
#define GM2_SCOUT_SIZE 53  /* and the route */
#define GM2_REPLY_SIZE 64
#define GM2_PIECE_SIZE 72 /* and the rows */
#define GM2_HOST_SIZE 16
#define GM2_XBAR_SIZE 12 /* and its ports */
#define GM2_END_SIZE 5
#define GM2_ROUTE_MAX 64
#define GM2_MESSAGE_MAX 4096
/* "About 70 host or 20 xbar definitions": fewer crossbars where these have so
 * many ports that the message would exceed GM2_MESSAGE_MAX. */
#define GM2_PIECE_HOSTS 70
#define GM2_PIECE_XBARS 20

/* Which map: counter 0 means no valid map. */
struct gm2_version {
    uint64_t leader;
    uint32_t level; /* of the leader */
    uint32_t counter;
};

struct gm2_route {
    uint8_t len;
    uint8_t byte[GM2_ROUTE_MAX];
};

struct gm2_scout {
    /* LX_TREE: number in the tree; ..PIECE: which one; ..DELTA: counter of
     * the map it would begin at */
    uint32_t argument;
    struct gm2_route back;
};

struct gm2_reply {
    uint32_t done;    /* mappers at and below the sender with this version */
    uint32_t npieces; /* of the map it can give; 0 none */
    uint64_t parent;  /* 0 none */
};

enum gm2_rows {
    GM2_ROWS_HOSTS = 0,
    GM2_ROWS_XBARS = 1,
};

struct gm2_piece {
    uint32_t piece, npieces;
    uint32_t nhosts, nxbars; /* of the whole map */
    uint32_t first;
    uint16_t count;
    enum gm2_rows kind;
};

struct gm2_message {
    enum gm2_subtype subtype;
    enum gm2_reason reason; /* of a probe: whatever its sender put there */
    uint16_t flags;
    uint64_t tag;     /* copied into the answer */
    uint32_t session; /* copied into the answer */
    /* not in probes: */
    uint64_t sender;
    uint32_t level;
    uint8_t host_type;
    struct gm2_version version;
    uint16_t ups; /* of the routes in use, net_routes_ups(); 0 none */
    union {
        struct gm2_scout scout;
        struct gm2_reply reply;
        struct gm2_piece piece;
    };
    const uint8_t *rows; /* borrowed: what stands behind a piece's header, or
                          * a delta's */
    size_t rows_len;
};

/* Returns 0, or -1 with errno: ENOMSG not a GM-2 message, another wire
 * version or an unknown reason (drop); EPROTO cut or out of range. */
int gm2_decode(struct gm2_message *msg, const void *buf, size_t len);

/* Encode; of a piece or delta the header only, rows are appended by the map's
 * owner (gm2_map.h).  Returns the length, or 0 when it does not fit. */
size_t gm2_encode(void *buf, size_t size, const struct gm2_message *msg);

bool gm2_version_equal(const struct gm2_version *a,
                       const struct gm2_version *b);

/* The document's names: "LX_TREE"; "LX_?" for an unknown one. */
const char *gm2_reason_name(enum gm2_reason reason);

/* One line for traces. */
int gm2_describe(char *text, size_t size, const struct gm2_message *msg);

#endif
