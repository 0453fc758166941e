/* SPDX-License-Identifier: BSD-3-Clause */
#include <endian.h>
#include <string.h>

#include "base/be.h"

void be_reader_init(struct be_reader *r, const void *buf, size_t len)
{
    *r = (struct be_reader){.pos = buf, .left = len};
}

const uint8_t *be_get_bytes(struct be_reader *r, size_t len)
{
    const uint8_t *p = r->pos;

    if (r->bad || len > r->left) {
        r->bad = true;
        return NULL;
    }
    r->left -= len;
    if (len > 0)
        r->pos += len;
    return p;
}

void be_copy_bytes(struct be_reader *r, void *dst, size_t len)
{
    const uint8_t *p = be_get_bytes(r, len);

    if (len == 0)
        return;
    if (p)
        memcpy(dst, p, len);
    else
        memset(dst, 0, len);
}

uint8_t be_get8(struct be_reader *r)
{
    const uint8_t *p = be_get_bytes(r, 1);

    return p ? p[0] : 0;
}

uint16_t be_get16(struct be_reader *r)
{
    uint16_t v;

    be_copy_bytes(r, &v, sizeof(v));
    return be16toh(v);
}

uint32_t be_get32(struct be_reader *r)
{
    uint32_t v;

    be_copy_bytes(r, &v, sizeof(v));
    return be32toh(v);
}

uint64_t be_get64(struct be_reader *r)
{
    uint64_t v;

    be_copy_bytes(r, &v, sizeof(v));
    return be64toh(v);
}

void be_get_str(struct be_reader *r, char *dst, size_t size)
{
    size_t len = be_get16(r);
    const uint8_t *p = be_get_bytes(r, len);

    dst[0] = '\0';
    if (!p)
        return;
    if (len >= size || memchr(p, '\0', len)) {
        r->bad = true;
        return;
    }
    memcpy(dst, p, len);
    dst[len] = '\0';
}

char *be_dup_str(struct be_reader *r)
{
    size_t len = be_get16(r);
    const uint8_t *p = be_get_bytes(r, len);

    if (p && memchr(p, '\0', len))
        r->bad = true;
    return r->bad ? NULL : strndup((const char *)p, len);
}

bool be_reader_done(const struct be_reader *r)
{
    return !r->bad && r->left == 0;
}

void be_writer_init(struct be_writer *w, void *buf, size_t size)
{
    *w = (struct be_writer){.start = buf, .size = size};
}

/* Room for len more bytes, or NULL and bad. */
static uint8_t *put_room(struct be_writer *w, size_t len)
{
    uint8_t *p;

    if (w->bad || len > w->size - w->len) {
        w->bad = true;
        return NULL;
    }
    p = w->start + w->len;
    w->len += len;
    return p;
}

void be_put_bytes(struct be_writer *w, const void *src, size_t len)
{
    uint8_t *p = put_room(w, len);

    if (p && len > 0)
        memcpy(p, src, len);
}

void be_put8(struct be_writer *w, uint8_t v)
{
    be_put_bytes(w, &v, sizeof(v));
}

void be_put16(struct be_writer *w, uint16_t v)
{
    v = htobe16(v);
    be_put_bytes(w, &v, sizeof(v));
}

void be_put32(struct be_writer *w, uint32_t v)
{
    v = htobe32(v);
    be_put_bytes(w, &v, sizeof(v));
}

void be_put64(struct be_writer *w, uint64_t v)
{
    v = htobe64(v);
    be_put_bytes(w, &v, sizeof(v));
}

void be_put_str(struct be_writer *w, const char *s)
{
    size_t len = strlen(s);

    if (len > UINT16_MAX) {
        w->bad = true;
        return;
    }
    be_put16(w, (uint16_t)len);
    be_put_bytes(w, s, len);
}

uint32_t be_load32(const void *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return be32toh(v);
}

uint64_t be_load64(const void *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof(v));
    return be64toh(v);
}

void be_store32(void *p, uint32_t v)
{
    v = htobe32(v);
    memcpy(p, &v, sizeof(v));
}

void be_store64(void *p, uint64_t v)
{
    v = htobe64(v);
    memcpy(p, &v, sizeof(v));
}
