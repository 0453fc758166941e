/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "base/be.h"
#include "base/crc32c.h"
#include "hsn/frame.h"

#define FLAG_LAST 1
#define CHECKED (HSN_TRAILER - 4) /* bytes of the header under the checksum */

unsigned hsn_fragments(size_t data_len, size_t header_len)
{
    if (data_len > HSN_DATA_MAX || header_len > HSN_HEADER_MAX)
        return 0;
    return data_len + header_len + HSN_TRAILER <= HSN_MTU ? 1 : 2;
}

struct hsn_extent hsn_extent(const struct hsn_frame *f)
{
    if (f->fragment == 1)
        return (struct hsn_extent){HSN_FRAGMENT, f->data_len - HSN_FRAGMENT,
                                   f->header_len};
    if (!f->last)
        return (struct hsn_extent){0, HSN_FRAGMENT, 0};
    return (struct hsn_extent){0, f->data_len, f->header_len};
}

size_t hsn_parts_len(const struct iovec *parts, size_t nparts)
{
    size_t len = 0;

    for (size_t i = 0; i < nparts; i++)
        len += parts[i].iov_len;
    return len;
}

void hsn_parts_copy(void *dst, const struct iovec *parts, size_t at, size_t len)
{
    uint8_t *to = dst;
    size_t n;

    for (; len > 0; parts++) {
        if (at >= parts->iov_len) {
            at -= parts->iov_len;
            continue;
        }
        n = parts->iov_len - at < len ? parts->iov_len - at : len;
        memcpy(to, (const uint8_t *)parts->iov_base + at, n);
        to += n;
        len -= n;
        at = 0;
    }
}

/* Checksum of the first len bytes of what lies in parts. */
static uint32_t checksum(const struct iovec *parts, size_t nparts, size_t len)
{
    uint32_t crc = 0;

    for (size_t i = 0; i < nparts && len > 0; i++) {
        size_t n = parts[i].iov_len < len ? parts[i].iov_len : len;

        crc = crc32c(crc, parts[i].iov_base, n);
        len -= n;
    }
    return crc;
}

void hsn_frame_put(const struct hsn_frame *f, const struct iovec *parts,
                   size_t nparts, uint8_t trailer[HSN_TRAILER])
{
    struct be_writer w;

    be_writer_init(&w, trailer, HSN_TRAILER);
    be_put64(&w, f->host);
    be_put64(&w, f->to);
    be_put32(&w, f->incarnation);
    be_put32(&w, f->sequence);
    be_put16(&w, f->module);
    be_put16(&w, f->data_len);
    be_put16(&w, f->header_len);
    be_put8(&w, f->fragment);
    be_put8(&w, f->last ? FLAG_LAST : 0);
    be_put32(&w, (uint32_t)HSN_VERSION << 24);
    be_put32(&w, crc32c(checksum(parts, nparts, SIZE_MAX), trailer, CHECKED));
}

/* Do the fields go together, and with the length of the packet? */
static bool consistent(const struct hsn_frame *f, size_t len)
{
    unsigned n = hsn_fragments(f->data_len, f->header_len);
    struct hsn_extent e;

    if (n == 0 || f->fragment >= n || f->last != (f->fragment == n - 1) ||
        f->host > HSN_BOARD_MAX || f->to > HSN_BOARD_MAX)
        return false;
    e = hsn_extent(f);
    return len == e.data_len + e.header_len + HSN_TRAILER;
}

enum hsn_frame_fault hsn_frame_get(struct hsn_frame *f,
                                   const struct iovec *parts, size_t nparts)
{
    size_t len = hsn_parts_len(parts, nparts);
    uint8_t trailer[HSN_TRAILER], flags;
    struct be_reader r;
    uint32_t version;

    if (len < HSN_TRAILER)
        return HSN_FRAME_SHORT;
    hsn_parts_copy(trailer, parts, len - HSN_TRAILER, HSN_TRAILER);
    be_reader_init(&r, trailer, HSN_TRAILER);
    f->host = be_get64(&r);
    f->to = be_get64(&r);
    f->incarnation = be_get32(&r);
    f->sequence = be_get32(&r);
    f->module = be_get16(&r);
    f->data_len = be_get16(&r);
    f->header_len = be_get16(&r);
    f->fragment = be_get8(&r);
    flags = be_get8(&r);
    f->last = flags & FLAG_LAST;
    version = be_get32(&r);
    if (version >> 24 != HSN_VERSION)
        return HSN_FRAME_VERSION;
    if (be_get32(&r) != checksum(parts, nparts, len - 4))
        return HSN_FRAME_CHECKSUM;
    if ((flags & ~FLAG_LAST) || (version & 0xffffff) || !consistent(f, len))
        return HSN_FRAME_LIES;
    return HSN_FRAME_OK;
}
