/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between the parts of the engine: engine.c (life, modules, tables), send.c
 * and receive.c.
 */
#ifndef SF_HSN_ENGINE_PRIV_H
#define SF_HSN_ENGINE_PRIV_H

#include "hsn/engine.h"
#include "hsn/fragq.h"

#define HSN_NO_MESSAGE UINT32_MAX

struct hsn_module {
    struct hsn_module_ops ops;
    void *arg;
    uint16_t number;
    bool open;
};

/* A message between hsn_engine_send() and its completion. */
struct hsn_pending {
    uint64_t board;
    struct iovec data, header;
    uint64_t cookie;
    uint64_t deadline;
    uint32_t sequence, flow;
    int error;
    uint16_t module, to, type, subtype;
    uint8_t nfragments, next; /* packets in all; next one to go */
    uint8_t busy;             /* packets at the interface */
    uint8_t by;               /* route + 1 that it must take; 0: any */
    bool raw, gone;           /* gone: no packet of it leaves any more */
    uint8_t route_len;
    uint8_t route[HSN_ROUTE_MAX]; /* raw only */
    uint32_t chain;               /* next pending, or next free */
};

enum hsn_slot_state { HSN_SLOT_FREE, HSN_SLOT_BUSY };

/* A packet at the interface.  The second gather part, headers, lies here. */
struct hsn_slot {
    enum hsn_slot_state state;
    uint32_t message;
    uint32_t next_free;
    uint64_t deadline;
    uint8_t headers[HSN_HEADER_MAX + HSN_TRAILER];
};

struct hsn_engine {
    struct hsn_engine_options o;
    const struct hsn_nic_ops *ops;
    void *nic;
    struct hsn_module *modules;
    size_t nmodules;
    struct hsn_raw_ops raw;
    void *raw_arg;
    struct hsn_routes routes;
    struct hsn_counts counts;
    struct hsn_pages pages;
    uint32_t sequence;

    struct hsn_pending *messages; /* o.pending_max + o.send_slots */
    uint32_t free_message, first, last;
    unsigned npending;
    struct hsn_slot *slots;
    uint32_t free_slot;
    unsigned nbusy;
    bool output; /* hsn_output() is running */
    bool hold;   /* no flush now */
    bool stopped;

    struct hsn_rx *rx;
    struct hsn_fragq fragq;
    /* A lent half: it stays where it is as long as it is lent, for its partner
     * mostly is next. */
    struct hsn_rx *lent; /* NULL: none */
    struct hsn_frame lent_frame;
};

struct hsn_module *hsn_module_find(struct hsn_engine *e, uint16_t number);

/* send.c */
int hsn_send_init(struct hsn_engine *e);
void hsn_send_free(struct hsn_engine *e);
void hsn_output(struct hsn_engine *e, uint64_t now);
/* Complete, with an error, all of a module (or all: -1). */
void hsn_send_cancel(struct hsn_engine *e, int module);

/* rx.c */
/* Where the packet lies; returns how many parts. */
size_t hsn_rx_parts(const struct hsn_rx *rx, struct iovec parts[2]);
/* A packet that the interface lent comes into our own buffers. */
void hsn_rx_own(struct hsn_engine *e, struct hsn_rx *rx, size_t data_len);
/* How many buffers of a place hold bytes [0, len). */
size_t hsn_rx_pages_for(const struct hsn_rx *rx, size_t len);
/* Take the first n pages out of a place and replace them; false (nothing
 * happened) for lack of memory. */
bool hsn_rx_take_pages(struct hsn_engine *e, struct hsn_rx *rx, size_t n,
                       void *page[2]);
/* The module header in one piece: where two buffers share it, it moves to the
 * beginning of the second. */
struct iovec hsn_rx_header(struct hsn_engine *e, const struct iovec *parts,
                           size_t at, size_t len);
void hsn_deliver(struct hsn_engine *e, struct hsn_module *m,
                 const struct hsn_delivery *d);

/* halves.c */
void hsn_halves_free(struct hsn_engine *e);
void hsn_halves_receive(struct hsn_engine *e, struct hsn_module *m,
                        const struct hsn_frame *f, struct hsn_rx *rx,
                        uint64_t now);
/* The lent half will be lent no longer: wait for its partner elsewhere. */
void hsn_halves_keep_lent(struct hsn_engine *e, uint64_t now);
void hsn_halves_expire(struct hsn_engine *e, uint64_t now);

/* loop_back.c */
/* A message to a module of the same board. */
void hsn_loop_back(struct hsn_engine *e, uint16_t module,
                   const struct iovec *data, const struct iovec *header);

/* receive.c */
int hsn_receive_init(struct hsn_engine *e);
void hsn_receive_free(struct hsn_engine *e);
unsigned hsn_receive(struct hsn_engine *e, uint64_t now);

#endif
