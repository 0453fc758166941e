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
 * An endpoint is a unix connection (who asks is the kernel's word, and the
 * endpoint is gone when the process is) and a pair of shared-memory rings.
 * Handles are not thread safe; two threads take two handles.
 *
 * Everything is an unreliable datagram: what was sent may be lost, but never
 * arrives broken, mixed up, or at somebody else's endpoint.  No call waits for
 * the wire.  A message that was accepted by a send call has been copied: the
 * caller's memory is his again.
 *
 * Errors: calls that return int give 0, or -1 with errno; those that return
 * a handle give NULL with errno.  Common ones:
 *   ENOENT, ECONNREFUSED  no hsnd at that path
 *   ETIMEDOUT             hsnd does not answer (5 s)
 *   EPROTO                what answers there is no hsnd of this version
 *   ECONNRESET            hsnd ended or withdrew the endpoint (its program is
 *                         over); hsn_close() it, open another one
 *   EOPNOTSUPP            not for this kind of endpoint
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

/* Longest packet that the interface takes, between type and CRC. */
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
#define HSN_TYPE_LOOP 0x0702 /* the driver's own, too */

/* Modules of datagrams.  The numbers below HSN_MODULE_FREE are for root and
 * DatagramGroup, those from there on for everybody. */
#define HSN_MODULE_ECHO 0 /* hsnd's own */
#define HSN_MODULE_CLIENT 1
#define HSN_MODULE_SERVER 2
#define HSN_MODULE_ELAN 3 /* hsnd's own */
#define HSN_MODULE_FREE 0x400

struct hsn; /* one endpoint */

/* Where hsnd of rail 0 listens, when path is NULL: HSN_SOCKET of the
 * environment; else hsnd-0 beside the own program's socket; else
 * RUNDIR/hsnd-0. */

/* ---- opening ----------------------------------------------------------- */

/* All of them: ENOENT or ECONNREFUSED: there is no hsnd; ECONNRESET: it has
 * ended, or this user has as many connections and endpoints as one may. */

/* Packets of this type, in both directions.
 * EPERM: not root and not in RawGroup; EBUSY: another process has the type;
 * EINVAL: reserved type. */
struct hsn *hsn_raw_open(const char *path, uint16_t type);

/* Datagrams of this module.  EPERM, EBUSY, EINVAL as above. */
struct hsn *hsn_dgram_open(const char *path, uint16_t module);

/* Attach to a context of the own program.  context -1: cap->MyContext.
 * EPERM    the caller is not a member of the program, or another user
 * EACCES   no program on this node has such a capability (wrong key, or
 *          altered), or not on this rail
 * ERANGE   context outside LowContext..HighContext
 * EBUSY    a living process has the context
 * ENOSYS   hsnd knows no programs (yet): switch/elan is not in use here
 * The caller should wipe his copy of the capability afterwards. */
struct hsn *hsn_attach(const char *path, const ELAN_CAPABILITY *cap,
                       int context);

/* The same under the documents' name, with the default path and MyContext. */
int elan3_attach(struct hsn **ctx, const ELAN_CAPABILITY *cap);

/* Only to ask and to load routes; no messages. */
struct hsn *hsn_open(const char *path);

void hsn_close(struct hsn *h); /* NULL is fine; keeps errno */

/* ---- waiting ----------------------------------------------------------- */

/* Becomes readable when something has arrived after a receive call returned
 * EAGAIN (that call asks for it), or when hsnd has gone.  Do not read it.
 * For use in an event loop: when readable, receive until EAGAIN. */
int hsn_fd(const struct hsn *h);

/* Spin for a moment, then sleep, until something can be received.  1, 0 when
 * timeout_ms (-1: none) passed, -1 with ECONNRESET or EINTR. */
int hsn_wait(struct hsn *h, int timeout_ms);

/* The same until there is room to send a message of any length; after EAGAIN
 * of a send call. */
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
 * EINVAL: a route byte that is none (top bits 10). */
int hsn_raw_send(struct hsn *h, const struct hsn_raw *packet);
/* EAGAIN: nothing there.  The payload stays valid until the next receive. */
int hsn_raw_recv(struct hsn *h, struct hsn_raw *packet);

/* ---- datagrams --------------------------------------------------------- */

/* data (a page) and the module's header travel apart: data is page-aligned
 * where the receiver's driver puts it.  Either may be empty. */
struct hsn_message {
    uint64_t board;   /* dgram: receiver; sender of a received one */
    uint32_t node;    /* elan: Elan id of receiver; sender of a received one */
    uint32_t context; /* elan: context of the same */
    uint16_t module;  /* dgram: there, 0: the own number; received: own */
    const void *data;
    size_t data_len; /* at most HSN_DATA_MAX */
    const void *header;
    size_t header_len; /* at most HSN_HEADER_MAX, elan: HSN_ELAN_HEADER_MAX */
};

/* The frame between contexts has a header of its own before the module's. */
#define HSN_ELAN_HEADER 48
#define HSN_ELAN_HEADER_MAX (HSN_HEADER_MAX - HSN_ELAN_HEADER)

/* One message.  Success says that hsnd will try.
 * EAGAIN: ring full.  EMSGSIZE: data or header too long.  An address that
 * hsnd cannot reach is counted there (no_route), as any loss is. */
int hsn_send(struct hsn *h, const struct hsn_message *m);
/* The next message, in the ring (no copy) until the next receive.  EAGAIN:
 * nothing there. */
int hsn_recv(struct hsn *h, struct hsn_message *m);
/* The same, for who asks again at once: does not ask for a wake-up, so hsnd
 * need not make one. */
int hsn_try_recv(struct hsn *h, struct hsn_message *m);

/* ---- pages ------------------------------------------------------------- */

/* Data of HSN_PAGES_LEAST bytes and more need not be copied: it can travel in
 * pages that hsnd shares with the process.  What is received so is aligned to
 * its page and may be kept as long as one likes; what is sent so is given away.
 *
 * Endpoints of one program (hsn_attach()) share one piece of memory, and pages
 * go from one process of it to another uncopied.  So who sends a page must keep
 * its hands off it, and who does not trust the other processes of its own
 * program asks for no pages.  No other program, and no endpoint of
 * hsn_dgram_open(), shares memory with anybody but hsnd. */
#define HSN_PAGES_LEAST 2048

/* From now on data comes in pages where there are some: an endpoint has 256 at
 * most, half of which it is given at once to send.  Who keeps too many gets
 * data by the ring again.  EOPNOTSUPP: not for this kind of endpoint, or hsnd
 * knows no pages; EBUSY: it has been said; EPERM: not the process that opened
 * it; ENOSPC: this user or this program has as many as one may have. */
int hsn_pages_open(struct hsn *h);
/* Bytes of a page, to which it is aligned: hsnd's PageSize.  0: no pages. */
size_t hsn_page_size(const struct hsn *h);

/* A page to write into.  NULL with errno EAGAIN: all are under way,
 * hsn_wait_send() waits for one; EOPNOTSUPP: hsn_pages_open() was not called;
 * ECONNRESET. */
void *hsn_page_get(struct hsn *h);
/* As hsn_send(), with m->data a whole page that was got or kept, from its
 * beginning; at most hsn_page_size() bytes of it.  On success the page is no
 * longer the caller's.  EINVAL: no page of the caller's. */
int hsn_send_page(struct hsn *h, const struct hsn_message *m);
/* The page that the data of the message just received lies in: it stays after
 * the next receive.  NULL with errno ENOENT: it did not come in a page. */
void *hsn_page_keep(struct hsn *h);
/* Give a page back that was got or kept.  EINVAL: it is none. */
int hsn_page_free(struct hsn *h, void *page);
/* Put len bytes of a page into half 0 or 1 of a cache page, for who keeps two
 * pages of 4 KB in one of 8 KB.  Half 0 without a cache page yet (NULL): the
 * page itself becomes it, nothing is copied.  Else the data is copied and the
 * page given back.  The cache page, or NULL with errno: EINVAL, EAGAIN (no
 * page to be had), and the page is still the caller's. */
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
    uint32_t npeers; /* that there are routes to */
    bool configured; /* the map was said to be complete */
    bool link;       /* the NIC has a link */
    bool simulated;  /* its cable leads to software crossbars, which have said
                      * so; not known of raw Ethernet */
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

/* Replace all routes by these, at once or (on failure) not at all.  A peer
 * with the own address is allowed and ignored.  `configured`: the map is
 * complete ("network fully configured").
 * EPERM: neither root nor RawGroup.  EINVAL: a route byte that is none (top
 * bits 10), an address twice or of more than 48 bits.  E2BIG: too many peers.
 * EAGAIN: somebody else is loading. */
int hsn_load_routes(struct hsn *h, uint32_t map_version, uint32_t host_type,
                    bool configured, const struct hsn_peer *peers, size_t n);

/* Change the routes that this very `h` loaded last, under map version `from`:
 * the peers given take the places of those with their addresses or are added,
 * those with no routes are taken out, all others stay.  As above, and ESTALE:
 * other routes are loaded; load them all. */
int hsn_change_routes(struct hsn *h, uint32_t from, uint32_t map_version,
                      uint32_t host_type, bool configured,
                      const struct hsn_peer *peers, size_t n);

/* The routes to one peer that hsnd has now.  EHOSTUNREACH: none. */
int hsn_peer_routes(struct hsn *h, uint64_t address, struct hsn_peer *peer);

#ifdef __cplusplus
}
#endif

#endif
