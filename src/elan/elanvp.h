/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The Elan capability and the numbers that go with it, under the names the
 * Quadrics documents use.  The original header is not available; the names
 * and meanings are the documents', the values and the layout are ours (the
 * device is software, and nothing but our own parts reads the structure).
 *
 * This header stands alone so that libelan can install it.
 */
#ifndef SF_ELAN_ELANVP_H
#define SF_ELAN_ELANVP_H

#include <stdint.h>

/* Contexts of one adapter: 0..4095. */
#define ELAN_MAX_CONTEXTS 4096

/* The part of them that the batch system hands out, both ends included.
 * These are the defaults; a site may choose others (doc/elan.md). */
#define ELAN_RMS_BASE_CONTEXT_NUM 0x400
#define ELAN_RMS_TOP_CONTEXT_NUM 0x7fe

/* Most possible processes of one program: nodes from LowNode to HighNode
 * times contexts of the program's range. */
#define ELAN_MAX_VPS 16384
#define ELAN_BITMAPSIZE (ELAN_MAX_VPS / 32)

/* Type: how the processes are addressed, then flags. */
#define ELAN_CAP_TYPE_BLOCK 1u
#define ELAN_CAP_TYPE_CYCLIC 2u
#define ELAN_CAP_TYPE_MASK 0xfffu
#define ELAN_CAP_TYPE_MULTI_RAIL (1u << 12)
#define ELAN_CAP_TYPE_BROADCASTABLE (1u << 13)
/* Ours: neither order gives every process its place (plane, arbitrary, or
 * nodes not in the order of their Elan ids).  The n-th bit of the bitmap is
 * then not process n; only the program's layout tells where process n is. */
#define ELAN_CAP_TYPE_MAPPED (1u << 15)

#define ELAN_CAP_UNINITIALISED (-1)
#define ELAN_CAP_VERSION_NUMBER 0x00010002

#define ELAN_USERKEY_ENTRIES 4

struct elan_userkey {
    uint32_t Values[ELAN_USERKEY_ENTRIES];
};

struct elan_capability {
    struct elan_userkey UserKey; /* 128-bit secret */
    int32_t Version;             /* ELAN_CAP_VERSION_NUMBER */
    uint32_t Type;               /* ELAN_CAP_TYPE_* */
    int32_t LowContext;          /* first context of the range */
    int32_t HighContext;         /* last context of the range */
    int32_t MyContext;           /* own one; known only after rms_setcap() */
    int32_t LowNode;             /* lowest Elan id of the program */
    int32_t HighNode;            /* highest; there may be holes between */
    int32_t Entries;             /* processes of the program */
    uint32_t RailMask;           /* 1 << rail */
    uint32_t Bitmap[ELAN_BITMAPSIZE]; /* bit n: word n / 32, bit n % 32 */
};

typedef struct elan_capability ELAN_CAPABILITY;

#endif
