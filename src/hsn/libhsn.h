/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libhsn: programs and the high-speed network.  Link with -lhsn.
 *
 * hsnd owns the NIC of a node and serves three kinds of endpoints:
 *
 *   raw      packets of one 16-bit type with explicit route bytes; for
 *            mappers.  Root, or a member of hsnd's RawGroup.
 *   dgram    unreliable datagrams of a module, by board address
 *   elan     datagrams between the contexts of one program; needs the
 *            program's capability, and only a member of the program gets in
 *
 * An endpoint is a unix connection, over which the kernel vouches for the
 * caller and which ends with the process, and a pair of shared-memory rings.
 * Handles are not thread safe: use one per thread.
 *
 * Everything is an unreliable datagram: a message may be lost, but it never
 * arrives corrupted, mixed with another one, or at the wrong endpoint.  No call
 * waits for the wire.  When a send call succeeds the message has been copied,
 * and the caller may reuse its memory.
 *
 * Errors: calls that return int return 0, or -1 with errno set; those that
 * return a handle return NULL with errno set.  Common values:
 *   ENOENT, ECONNREFUSED  no hsnd at that path
 *   ETIMEDOUT             hsnd does not answer (5 s)
 *   EPROTO                whatever answers there is not an hsnd of this version
 *   ECONNRESET            hsnd ended or withdrew the endpoint (its program is
 *                         over); hsn_close() it, open another one
 *   EOPNOTSUPP            this kind of endpoint does not support the call
 */
#ifndef HSN_LIBHSN_H
#define HSN_LIBHSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elan/elanvp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Longest packet that the interface accepts, bytes between type and CRC. */
#define HSN_MTU 8192

/* Longest data (a page) and module header of one message: it must fit into
 * two packets, the first of which carries HSN_FRAGMENT bytes of data. */
#define HSN_DATA_MAX 8192
#define HSN_FRAGMENT 4096
#define HSN_TRAILER 40
#define HSN_HEADER_MAX (HSN_MTU - HSN_FRAGMENT - HSN_TRAILER)

#define HSN_ROUTE_MAX 64 /* bytes of one route: probes go there and back */
#define HSN_ROUTES_MAX 8 /* alternatives to one peer */
#define HSN_PEERS_MAX 65536
#define HSN_NODE_MAX 64 /* bytes of a node name, NUL included */

/* Types of raw packets: the first bit is 0.  Mappers speak 0x000f; the
 * datagrams themselves travel as HSN_TYPE, which nobody else can open. */
#define HSN_TYPE_MAPPER 0x000f
#define HSN_TYPE 0x0701
#define HSN_TYPE_LOOP 0x0702 /* reserved for the driver as well */

/* Modules of datagrams.  Numbers below HSN_MODULE_FREE are reserved for root
 * and DatagramGroup; everybody may use the others. */
#define HSN_MODULE_ECHO 0 /* hsnd's own */
#define HSN_MODULE_CLIENT 1
#define HSN_MODULE_SERVER 2
#define HSN_MODULE_ELAN 3 /* hsnd's own */
#define HSN_MODULE_FREE 0x400

struct hsn; /* one endpoint */

/* A path of NULL means the hsnd of rail 0: $HSN_SOCKET if set, otherwise hsnd-0
 * in the directory of this program's own socket, otherwise RUNDIR/hsnd-0. */

/* ---- opening ----------------------------------------------------------- */

/* All of these fail with ENOENT or ECONNREFUSED when no hsnd is running, and
 * with ECONNRESET when it has ended or this user has reached the limit of
 * connections or endpoints. */

/* Packets of this type, in both directions.
 * EPERM: not root and not in RawGroup; EBUSY: another process has the type;
 * EINVAL: reserved type. */
struct hsn *hsn_raw_open(const char *path, uint16_t type);

/* Datagrams of this module.  EPERM, EBUSY, EINVAL as above. */
struct hsn *hsn_dgram_open(const char *path, uint16_t module);

/* Attach to a context of the caller's program.  context -1: cap->MyContext.
 * EPERM    the caller is not a member of the program, or another user
 * EACCES   no program on this node has such a capability (wrong key, or
 *          altered), or not on this rail
 * ERANGE   context outside LowContext..HighContext
 * EBUSY    a running process has the context
 * ENOSYS   hsnd knows no programs (yet): switch/elan is not in use here
 * The caller should wipe its copy of the capability afterwards. */
struct hsn *hsn_attach(const char *path, const ELAN_CAPABILITY *cap,
                       int context);

/* The same under the name that the Elan documents use, with the default path
 * and MyContext. */
int elan3_attach(struct hsn **ctx, const ELAN_CAPABILITY *cap);

/* For queries and for loading routes only; no messages. */
struct hsn *hsn_open(const char *path);

void hsn_close(struct hsn *h); /* NULL is fine; keeps errno */

/* ---- waiting ----------------------------------------------------------- */

/* Becomes readable when something has arrived after a receive call returned
 * EAGAIN (that call asks for it), or when hsnd has gone.  Do not read it.
 * For use in an event loop: when readable, receive until EAGAIN. */
int hsn_fd(const struct hsn *h);

/* Spin for a moment, then sleep, until something can be received.  Returns 1, 0
 * after timeout_ms (-1: no limit), or -1 with ECONNRESET or EINTR. */
int hsn_wait(struct hsn *h, int timeout_ms);

/* The same until there is room for a message of any length.  Call it after a
 * send call returned EAGAIN. */
int hsn_wait_send(struct hsn *h, int timeout_ms);

/* ---- raw packets ------------------------------------------------------- */

struct hsn_raw {
    const uint8_t *route; /* to send: bytes as on the wire, top bit set */
    size_t route_len;     /* 0: to whatever is at the other end of the cable */
    uint16_t type;        /* received packets; ignored when sending */
    uint16_t subtype;
    const void *payload; /* received: in the ring until the next receive */
    size_t len;          /* at most HSN_MTU */
};

/* EAGAIN: ring full, try later.  EMSGSIZE: len or route_len too long.
 * EINVAL: an invalid route byte (top bits 10). */
int hsn_raw_send(struct hsn *h, const struct hsn_raw *packet);
/* EAGAIN: nothing has arrived.  The payload stays valid until the next receive.
 */
int hsn_raw_recv(struct hsn *h, struct hsn_raw *packet);

/* ---- datagrams --------------------------------------------------------- */

/* data (a page) and the module's header travel apart: data is page-aligned
 * where the receiver's driver puts it.  Either may be empty. */
struct hsn_message {
    uint64_t board;   /* dgram: receiver; sender of a received one */
    uint32_t node;    /* elan: Elan id of receiver; sender of a received one */
    uint32_t context; /* elan: context of the same */
    uint16_t module;  /* dgram: the receiver's, 0: this endpoint's number */
    const void *data;
    size_t data_len; /* at most HSN_DATA_MAX */
    const void *header;
    size_t header_len; /* at most HSN_HEADER_MAX, elan: HSN_ELAN_HEADER_MAX */
};

/* A frame between contexts carries its own header before the module's. */
#define HSN_ELAN_HEADER 48
#define HSN_ELAN_HEADER_MAX (HSN_HEADER_MAX - HSN_ELAN_HEADER)

/* Send one message.  Success means that hsnd will try to deliver it.
 * EAGAIN: ring full.  EMSGSIZE: data or header too long.  hsnd counts messages
 * to addresses that it cannot reach (no_route) like every other loss. */
int hsn_send(struct hsn *h, const struct hsn_message *m);
/* Receive the next message.  It stays in the ring, uncopied, until the next
 * receive call.  EAGAIN: nothing has arrived. */
int hsn_recv(struct hsn *h, struct hsn_message *m);
/* The same for a caller that polls: it does not request a wake-up, so hsnd need
 * not make one. */
int hsn_try_recv(struct hsn *h, struct hsn_message *m);

/* ---- pages ------------------------------------------------------------- */

/* Data of HSN_PAGES_LEAST bytes or more need not be copied: it can travel in
 * pages that hsnd shares with the process.  Data received in a page is aligned
 * to the page and may be kept for any length of time; a page that is sent is
 * given away.
 *
 * Endpoints of one program (hsn_attach()) share one memory segment, and pages
 * pass between the program's processes without a copy.  A sender must therefore
 * not touch a page after sending it, and a process that does not trust the
 * other processes of its program must not use pages.  Other programs, and
 * endpoints of hsn_dgram_open(), share memory with hsnd only. */
#define HSN_PAGES_LEAST 2048

/* From now on data arrives in pages while pages are free: an endpoint has at
 * most 256, half of which it gets at once for sending.  An endpoint that keeps
 * too many, or lets 64 or more messages wait, receives data through the ring
 * again, which hsnd counts (page_short).  EOPNOTSUPP: this kind of
 * endpoint, or this hsnd, has no pages; EBUSY: already called; EPERM: called by
 * another process than the one that opened the endpoint; ENOSPC: this user or
 * this program has reached its limit. */
int hsn_pages_open(struct hsn *h);
/* Size and alignment of a page in bytes: hsnd's PageSize.  0: no pages. */
size_t hsn_page_size(const struct hsn *h);

/* A page to write to.  NULL with errno EAGAIN: all are in use, and
 * hsn_wait_send() waits for one; EOPNOTSUPP: hsn_pages_open() was not called;
 * ECONNRESET. */
void *hsn_page_get(struct hsn *h);
/* Like hsn_send(); m->data is the beginning of a page from hsn_page_get() or
 * hsn_page_keep(), and data_len is at most hsn_page_size().  On success the
 * page no longer belongs to the caller.  EINVAL: not a page of the caller's. */
int hsn_send_page(struct hsn *h, const struct hsn_message *m);
/* Keep the page that holds the data of the message just received beyond the
 * next receive.  NULL with errno ENOENT: the data did not come in a page. */
void *hsn_page_keep(struct hsn *h);
/* Return a page from hsn_page_get() or hsn_page_keep().  EINVAL: it is not a
 * page of the caller's. */
int hsn_page_free(struct hsn *h, void *page);
/* Put len bytes of a page into half 0 or 1 of a cache page, for callers that
 * keep two pages of 4 KB in one of 8 KB.  For half 0 without a cache page
 * (NULL) the page itself becomes the cache page and nothing is copied;
 * otherwise the data is copied and the page returned.  Returns the cache page,
 * or NULL with errno EINVAL or EAGAIN (no free page); the page then still
 * belongs to the caller. */
void *hsn_page_place(struct hsn *h, void *cache, unsigned half, void *page,
                     size_t len);

/* ---- the board --------------------------------------------------------- */

struct hsn_counters {
    uint64_t sent, received;             /* packets on the wire */
    uint64_t sent_bytes, received_bytes; /* between type and CRC */
    uint64_t delivered;                  /* messages to endpoints */
    uint64_t lost; /* everything that was dropped here, for any cause */
};

struct hsn_board_info {
    uint64_t address; /* 48 bits */
    char node[HSN_NODE_MAX];
    uint32_t host_type; /* as loaded with the routes; 0 before */
    uint32_t map_version;
    uint32_t npeers; /* with routes */
    bool configured; /* the map is complete, according to the mapper */
    bool link;       /* the NIC has a link */
    bool simulated;  /* the cable leads to software crossbars, which said so;
                      * unknown for raw Ethernet */
    uint32_t page_size;
    struct hsn_counters counters;
};

int hsn_board(struct hsn *h, struct hsn_board_info *info);

struct hsn_route {
    uint8_t len;
    uint8_t byte[HSN_ROUTE_MAX];
};

struct hsn_peer {
    uint64_t address;
    uint32_t host_type;
    bool neighbour; /* hsnd sends it an echo from time to time */
    uint8_t nroutes;
    struct hsn_route route[HSN_ROUTES_MAX];
};

/* Replace all routes atomically; on failure the old ones stay.  A peer with
 * this board's own address is allowed and ignored.  `configured`: the map is
 * complete ("network fully configured").
 * EPERM: neither root nor RawGroup.  EINVAL: an invalid route byte (top bits
 * 10), or an address that occurs twice or has more than 48 bits.  E2BIG: too
 * many peers.  EAGAIN: another process is loading routes. */
int hsn_load_routes(struct hsn *h, uint32_t map_version, uint32_t host_type,
                    bool configured, const struct hsn_peer *peers, size_t n);

/* Change the routes that this handle loaded last, under map version `from`: a
 * given peer replaces the one with its address or is added, a peer without
 * routes is removed, all others stay.  Errors as above, and ESTALE: other
 * routes are loaded now; load all of them again. */
int hsn_change_routes(struct hsn *h, uint32_t from, uint32_t map_version,
                      uint32_t host_type, bool configured,
                      const struct hsn_peer *peers, size_t n);

/* The routes to one peer that hsnd uses now.  EHOSTUNREACH: none. */
int hsn_peer_routes(struct hsn *h, uint64_t address, struct hsn_peer *peer);

#ifdef __cplusplus
}
#endif

#endif
