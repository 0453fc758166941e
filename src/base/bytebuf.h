/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A queue of bytes: appended at the end, consumed at the front, never longer
 * than its limit.  Overflow and lack of memory are sticky (`bad`): after the
 * first one nothing is added any more, so a writer of many pieces looks once.
 * The owner calls bytebuf_free().
 */
#ifndef SF_BASE_BYTEBUF_H
#define SF_BASE_BYTEBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BYTEBUF_PRINTF_MAX 1023 /* longer is cut */

struct bytebuf {
    uint8_t *mem;
    size_t start, end; /* content is mem[start..end) */
    size_t size;       /* of mem */
    size_t max;        /* longest content */
    bool bad;
};

void bytebuf_init(struct bytebuf *b, size_t max);
/* Frees the memory and leaves an empty, usable queue with the same limit. */
void bytebuf_free(struct bytebuf *b);

static inline size_t bytebuf_len(const struct bytebuf *b)
{
    return b->end - b->start;
}

/* First byte of the content; valid until the next call that adds. */
static inline const uint8_t *bytebuf_data(const struct bytebuf *b)
{
    return b->mem ? b->mem + b->start : b->mem;
}

void bytebuf_add(struct bytebuf *b, const void *src, size_t len);
void bytebuf_add16(struct bytebuf *b, uint16_t v);
void bytebuf_add32(struct bytebuf *b, uint32_t v);
void bytebuf_add64(struct bytebuf *b, uint64_t v);
/* 16-bit length, then the bytes of s; cut at 65535. */
void bytebuf_add_str(struct bytebuf *b, const char *s);

/* As printf(), at most BYTEBUF_PRINTF_MAX bytes of it. */
void bytebuf_printf(struct bytebuf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Room for len bytes at the end, for read(2); NULL: bad.  What was filled is
 * made content by bytebuf_grow(). */
uint8_t *bytebuf_room(struct bytebuf *b, size_t len);
void bytebuf_grow(struct bytebuf *b, size_t len);

/* Drop len bytes at the front; len <= bytebuf_len(). */
void bytebuf_consume(struct bytebuf *b, size_t len);

#endif
