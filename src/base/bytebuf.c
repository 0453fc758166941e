/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/bytebuf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"

void bytebuf_init(struct bytebuf *b, size_t max)
{
    *b = (struct bytebuf){.max = max};
}

void bytebuf_free(struct bytebuf *b)
{
    free(b->mem);
    bytebuf_init(b, b->max);
}

static bool enlarge(struct bytebuf *b, size_t need)
{
    size_t size = b->size ? b->size : 256;
    uint8_t *mem;

    while (size < need)
        size *= 2;
    mem = realloc(b->mem, size);
    if (!mem)
        return false;
    b->mem = mem;
    b->size = size;
    return true;
}

uint8_t *bytebuf_room(struct bytebuf *b, size_t len)
{
    size_t have = bytebuf_len(b);

    if (b->bad || len > b->max || have > b->max - len) {
        b->bad = true;
        return NULL;
    }
    if (b->size - b->end < len && b->start >= have && b->start) {
        memmove(b->mem, b->mem + b->start, have);
        b->start = 0;
        b->end = have;
    }
    if ((!b->mem || b->size - b->end < len) && !enlarge(b, b->end + len)) {
        b->bad = true;
        return NULL;
    }
    return b->mem + b->end;
}

void bytebuf_grow(struct bytebuf *b, size_t len)
{
    assert(len <= b->size - b->end);
    b->end += len;
}

void bytebuf_add(struct bytebuf *b, const void *src, size_t len)
{
    uint8_t *dst = bytebuf_room(b, len);

    if (!dst || !len)
        return;
    memcpy(dst, src, len);
    bytebuf_grow(b, len);
}

void bytebuf_add16(struct bytebuf *b, uint16_t v)
{
    const uint8_t raw[2] = {(uint8_t)(v >> 8), (uint8_t)v};

    bytebuf_add(b, raw, sizeof(raw));
}

void bytebuf_add32(struct bytebuf *b, uint32_t v)
{
    uint8_t raw[4];

    be_store32(raw, v);
    bytebuf_add(b, raw, sizeof(raw));
}

void bytebuf_add64(struct bytebuf *b, uint64_t v)
{
    uint8_t raw[8];

    be_store64(raw, v);
    bytebuf_add(b, raw, sizeof(raw));
}

void bytebuf_add_str(struct bytebuf *b, const char *s)
{
    size_t len = strlen(s);

    if (len > UINT16_MAX)
        len = UINT16_MAX;
    bytebuf_add16(b, (uint16_t)len);
    bytebuf_add(b, s, len);
}

void bytebuf_printf(struct bytebuf *b, const char *fmt, ...)
{
    char text[BYTEBUF_PRINTF_MAX + 1];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (n > 0)
        bytebuf_add(b, text,
                    n < BYTEBUF_PRINTF_MAX ? (size_t)n : BYTEBUF_PRINTF_MAX);
}

void bytebuf_consume(struct bytebuf *b, size_t len)
{
    assert(len <= bytebuf_len(b));
    b->start += len;
    if (b->start == b->end)
        b->start = b->end = 0;
}
