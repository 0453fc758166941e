/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What libhsn.c and its tests share.
 */
#ifndef SF_HSN_LIBHSN_PRIV_H
#define SF_HSN_LIBHSN_PRIV_H

#include <errno.h>

#include "base/be.h"
#include "base/look.h"
#include "base/ring.h"
#include "hsn/libhsn.h"
#include "hsn/port_record.h"
#include "hsn/port_wire.h"

enum hsn_kind { HSN_KIND_NONE, HSN_KIND_RAW, HSN_KIND_DGRAM, HSN_KIND_ELAN };

struct hsn {
    enum hsn_kind kind;
    char path[108];
    int bell; /* the endpoint's connection; -1: none */
    int call; /* for questions; -1: not connected */
    struct ring to, from;
    struct look look; /* of hsn_wait() */
    int limit_ms;     /* of recv() on the bell, as set */
    bool armed;       /* hsnd was asked to ring */
    bool holding;     /* the record of the last receive is still in the ring */
    bool gone;        /* hsnd is */
    unsigned empty;   /* receives in a row that found nothing */
    uint32_t number;  /* module or context, as opened */
    struct hsn_mapped *mapped; /* pages; NULL: none */
    uint32_t page;             /* n: the last message lies in page n - 1 */
    uint8_t buf[SF_HSN_REQUEST_MAX];
};

static inline int hsn_fail(int error)
{
    errno = error;
    return -1;
}

#endif
