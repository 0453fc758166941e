/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between the parts of libhsn: libhsn.c has the handles, libhsn_call.c asks
 * hsnd, libhsn_send.c and libhsn_recv.c move messages.
 */
#ifndef SF_HSN_LIBHSN_PRIV_H
#define SF_HSN_LIBHSN_PRIV_H

#include <errno.h>

#include "base/be.h"
#include "base/look.h"
#include "base/ring.h"
#include "hsn/libhsn.h"
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
    uint8_t buf[SF_HSN_REQUEST_MAX];
};

/* Say h->buf[0..w->len) to hsnd; fds (may be NULL) are the two that came with
 * the answer, or -1.  0 with *answer at what follows; -1 with errno. */
int hsn_call(struct hsn *h, int fd, const struct be_writer *w,
             struct be_reader *answer, int fds[2]);
/* The connection for questions, made when it is not there. */
int hsn_call_fd(struct hsn *h);

/* The rings after an error: broken is as good as gone.  -1, with errno. */
int hsn_ring_failed(struct hsn *h);

static inline int hsn_fail(int error)
{
    errno = error;
    return -1;
}

#endif
