/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The driver: unreliable datagrams between modules, over one interface.
 *
 *   pending queue   messages given by modules, not yet given to the interface
 *   send queue      packets given to the interface: BUSY until it is done
 *   receive queue   places of page-size buffers, always kept filled
 *   fragment queue  halves of messages (fragq.h)
 *
 * Pure: time (nanoseconds, any origin, never going back) is an argument, the
 * interface is a table of functions (nic.h), memory comes from the caller
 * (pages.h).  One thread.  Callbacks may send; they may not destroy the engine
 * nor close their module.
 *
 * A message that hsn_engine_send() accepted is completed exactly once: when it
 * was handed to the wire (not: when it arrived), or with an error when it could
 * not be, at the latest at hsn_engine_stop().  Its memory is the driver's until
 * then.
 *
 * Source: "High-Speed Network Driver", HSN Operation.
 */
#ifndef SF_HSN_ENGINE_H
#define SF_HSN_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hsn/count.h"
#include "hsn/frame.h"
#include "hsn/nic.h"
#include "hsn/pages.h"
#include "hsn/routes.h"

struct hsn_engine;

struct hsn_engine_options {
    uint64_t board;       /* own address */
    uint32_t incarnation; /* random, another one each start */
    uint32_t sequence;    /* of the first message */
    size_t page_size;     /* 4096 or 8192 */
    unsigned rx_slots;    /* places of the receive queue; 0: 64 */
    unsigned batch;       /* packets processed per wake-up; 0: 32 */
    unsigned pending_max; /* messages; 0: 256 */
    unsigned send_slots;  /* 0: 64 */
    unsigned halves_max;  /* fragment queue; 0: 256 */
    uint64_t fragment_ns; /* life of a half; 0: one second */
    uint64_t send_ns;     /* longest wait for the interface; 0: one second */
    struct hsn_memory memory;
};

/* A message as it is delivered: it lies where it came in, and is valid during
 * the call only.  Nothing of it is copied but halves that had to wait. */
struct hsn_delivery {
    uint64_t from;
    uint16_t module;
    struct iovec data[2];
    size_t ndata;
    struct iovec header;
};

struct hsn_module_ops {
    void (*deliver)(void *arg, const struct hsn_delivery *d);
    /* error: 0 handed to the wire; ENETUNREACH no route, ETIMEDOUT the
     * interface took it too late, ECANCELED stopped, or the interface's. */
    void (*complete)(void *arg, uint64_t cookie, int error);
};

/* Raw packets, of all types but HSN_TYPE. */
struct hsn_raw_ops {
    /* True: somebody has that type open. */
    bool (*deliver)(void *arg, uint16_t type, uint16_t subtype,
                    const struct iovec *parts, size_t nparts);
    void (*complete)(void *arg, uint64_t cookie, int error);
};

/* NULL with errno ENOMEM or EINVAL (page size). */
struct hsn_engine *hsn_engine_new(const struct hsn_engine_options *o,
                                  const struct hsn_nic_ops *ops, void *nic);
/* Complete all that is not complete yet, give back all buffers. */
void hsn_engine_stop(struct hsn_engine *e);
void hsn_engine_free(struct hsn_engine *e); /* stops it; NULL is fine */

/* A module; -1 with errno EBUSY: the number is taken, ENOMEM. */
int hsn_engine_open(struct hsn_engine *e, uint16_t module,
                    const struct hsn_module_ops *ops, void *arg);
/* Its messages are completed with ECANCELED; later ones are not delivered. */
void hsn_engine_close(struct hsn_engine *e, uint16_t module);
void hsn_engine_raw(struct hsn_engine *e, const struct hsn_raw_ops *ops,
                    void *arg);

struct hsn_send {
    uint64_t board;
    uint16_t to; /* module there; 0: the one with our own number */
    struct iovec data, header; /* of the caller, until completion */
    uint64_t cookie;
    uint32_t flow; /* messages of one take one route; 0: both modules say */
    uint8_t by;    /* n: the nth alternative route; 0: by the flow */
};
/* Queue a message of an open module and start sending.  0; or -1 with errno
 * (it is not accepted, there will be no completion): EAGAIN the pending queue
 * is full, EMSGSIZE more than two packets, ENETUNREACH no route, ESHUTDOWN
 * stopped, ENOENT no such module.  Never waits. */
int hsn_engine_send(struct hsn_engine *e, uint16_t module,
                    const struct hsn_send *s, uint64_t now);

struct hsn_send_raw {
    const uint8_t *route; /* copied */
    size_t route_len;
    uint16_t type, subtype;
    struct iovec payload;
    uint64_t cookie;
};
/* EAGAIN, EMSGSIZE, EINVAL (route), ESHUTDOWN as above. */
int hsn_engine_send_raw(struct hsn_engine *e, const struct hsn_send_raw *s,
                        uint64_t now);

/* The interrupt handler: process the first few packets that have arrived, let
 * halves expire, complete what is sent, send what is pending.  Returns how
 * many packets it processed; when that is the batch, there may be more. */
unsigned hsn_engine_wake(struct hsn_engine *e, uint64_t now);
/* While held, sends do not flush the interface, so that many in a row cost one
 * flush.  Releasing sends and flushes. */
void hsn_engine_hold(struct hsn_engine *e, bool hold, uint64_t now);
/* When hsn_engine_wake() is due although nothing arrives; UINT64_MAX: never. */
uint64_t hsn_engine_deadline(const struct hsn_engine *e);

/* Take over a table of routes (made with hsn_routes_make(.., old) from
 * hsn_engine_routes()); the old one is freed. */
void hsn_engine_set_routes(struct hsn_engine *e, struct hsn_routes *take);
const struct hsn_routes *hsn_engine_routes(const struct hsn_engine *e);
/* To change what is known of peers and routes. */
struct hsn_routes *hsn_engine_routes_of(struct hsn_engine *e);

struct hsn_levels {
    unsigned pending, busy, rx_filled, rx_slots, halves;
    uint64_t pages_allocated, pages_freed;
};
void hsn_engine_levels(const struct hsn_engine *e, struct hsn_levels *l);
struct hsn_counts *hsn_engine_counts(struct hsn_engine *e);

#endif
