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

/* Say h->buf[0..w->len) to hsnd; fds (may be NULL) are the two that came with
 * the answer, or -1.  0 with *answer at what follows; -1 with errno. */
int hsn_call(struct hsn *h, int fd, const struct be_writer *w,
             struct be_reader *answer, int fds[2]);
/* The connection for questions, made when it is not there. */
int hsn_call_fd(struct hsn *h);

/* libhsn_page.c */
void hsn_mapped_free(struct hsn *h);
/* The data of a message that came in a page; NULL: that is none. */
const void *hsn_page_arrived(struct hsn *h, uint32_t page, size_t data_len);
/* The message of h->page is not looked at any more. */
void hsn_page_let_go(struct hsn *h);
/* About to sleep because no page is left: false, there is one by now, or pages
 * are not what is waited for. */
bool hsn_page_sleep(struct hsn *h);
void hsn_page_awake(struct hsn *h);

/* libhsn_send.c */
/* A record with that head, data (unless it is in a page) and header. */
int hsn_send_record(struct hsn *h, const struct hsn_record *head,
                    const void *data, const void *header);
/* As hsn_send(); page n: the data is in page n - 1. */
int hsn_send_message(struct hsn *h, const struct hsn_message *m, uint32_t page);

/* The rings after an error: broken is as good as gone.  -1, with errno. */
int hsn_ring_failed(struct hsn *h);

static inline int hsn_fail(int error)
{
    errno = error;
    return -1;
}

#endif
