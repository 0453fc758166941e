/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Frames between the contexts of a program: the header that stands in front
 * of the module header of module HSN_MODULE_ELAN, and its tag.  hsnd makes and
 * checks them: a process can neither choose the context that it sends from nor
 * skip the check.  doc/hsn-wire.md has the layout.
 *
 * The tag is AES-128-GMAC (base/fastmac.h) under a key that is derived from the
 * program's UserKey, the sender's node and context, and the epoch: the time of
 * the attachment.  So no key signs two frames with one counter, and frames of
 * an earlier attachment, or of an earlier program (another UserKey), mean
 * nothing to a receiver.  Within an epoch each counter is taken once.
 *
 * Why GMAC: SipHash and BLAKE2s of the same OpenSSL take 7 and 27 times as long
 * for 8 KB (bench/run hsn-ring has the cost per frame).
 */
#ifndef SF_HSN_ELAN_FRAME_H
#define SF_HSN_ELAN_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "elan/elanvp.h"
#include "hsn/libhsn.h"

#define HSN_ELAN_TAG 16

struct hsn_elan_head {
    uint16_t from_context, to_context;
    uint32_t from_node, to_node; /* Elan ids */
    uint64_t epoch, counter;
    uint8_t tag[HSN_ELAN_TAG];
};

/* An attached context as a sender. */
struct fastmac;
struct hsn_elan_sender {
    uint32_t node;
    uint16_t context;
    uint64_t epoch, counter;
    struct fastmac *mac;
};

/* 0, or -1 with ENOMEM. */
int hsn_elan_sender_init(struct hsn_elan_sender *s,
                         const struct elan_userkey *key, uint32_t node,
                         uint16_t context, uint64_t epoch);
void hsn_elan_sender_clear(struct hsn_elan_sender *s);

/* The header for a message: out[HSN_ELAN_HEADER].  0, or -1 with ENOMEM. */
int hsn_elan_seal(struct hsn_elan_sender *s, uint32_t to_node,
                  uint16_t to_context, const struct iovec *data,
                  const struct iovec *header, uint8_t *out);

/* Read a header; -1: malformed. */
int hsn_elan_head_get(struct hsn_elan_head *h, const void *buf, size_t len);

/* What a node remembers of the senders of one program. */
struct hsn_elan_sources;
struct hsn_elan_sources *hsn_elan_sources_new(const struct elan_capability *c);
void hsn_elan_sources_free(struct hsn_elan_sources *s);

enum hsn_elan_fault {
    HSN_ELAN_OK,
    HSN_ELAN_STRANGER, /* sender's node or context is not the program's */
    HSN_ELAN_TAG_WRONG,
    HSN_ELAN_REPLAYED, /* counter taken, or epoch over */
    HSN_ELAN_NO_MEMORY,
};

/* May this frame of the program be delivered?  raw: the header's bytes;
 * data[0..ndata), header: what follows.  Success uses the counter up. */
enum hsn_elan_fault hsn_elan_check(struct hsn_elan_sources *s,
                                   const struct hsn_elan_head *h,
                                   const uint8_t *raw, const struct iovec *data,
                                   size_t ndata, const struct iovec *header);

#endif
