/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The HSN header, which stands at the very end of a packet, and how a message
 * is cut into packets.  doc/hsn-wire.md has the layout.
 *
 *     whole     <data, module header, HSN header>           (fragment 0, last)
 *     split     <first 4 KB of data, HSN header>                (fragment 0)
 *               <rest of data, module header, HSN header>   (fragment 1, last)
 *
 * Source: "High-Speed Network Driver", Packet Size.  Silent there: widths,
 * version, module, receiver, lengths and checksum are ours.
 */
#ifndef SF_HSN_FRAME_H
#define SF_HSN_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "hsn/libhsn.h"

#define HSN_VERSION 1
#define HSN_BOARD_MAX 0xffffffffffffULL /* a board address has 48 bits */

struct hsn_frame {
    uint64_t host;        /* who sent it */
    uint64_t to;          /* who is meant */
    uint32_t incarnation; /* of the sender: another one each start */
    uint32_t sequence;    /* of the message, unique in the incarnation */
    uint16_t module;
    uint16_t data_len;   /* of the whole message */
    uint16_t header_len; /* of the module's header */
    uint8_t fragment;    /* 0 or 1 */
    bool last;
};

/* Does a message of that size fit into one packet, or two?  1, 2, or 0: it
 * does not fit at all. */
unsigned hsn_fragments(size_t data_len, size_t header_len);

/* Bytes of data and of module header that a packet carries. */
struct hsn_extent {
    size_t data_at, data_len, header_len;
};
struct hsn_extent hsn_extent(const struct hsn_frame *f);

/* Write the HSN header behind what the packet holds before (parts of it in
 * order), sealed with the checksum over all. */
void hsn_frame_put(const struct hsn_frame *f, const struct iovec *parts,
                   size_t nparts, uint8_t trailer[HSN_TRAILER]);

enum hsn_frame_fault {
    HSN_FRAME_OK,
    HSN_FRAME_SHORT,    /* no room for a header */
    HSN_FRAME_VERSION,  /* of another version */
    HSN_FRAME_CHECKSUM, /* broken on the way */
    HSN_FRAME_LIES,     /* fields that do not go together */
};

/* Read a packet that lies in parts, one after the other. */
enum hsn_frame_fault hsn_frame_get(struct hsn_frame *f,
                                   const struct iovec *parts, size_t nparts);

/* Total length of parts. */
size_t hsn_parts_len(const struct iovec *parts, size_t nparts);
/* Copy [at, at + len) of what lies in parts; it must be there. */
void hsn_parts_copy(void *dst, const struct iovec *parts, size_t at,
                    size_t len);

#endif
