/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/packet.h"

#include <errno.h>
#include <string.h>

#include "base/be.h"

/* ---- the CRC-8 --------------------------------------------------------- */

/* The CRC-8 of packets. Its polynomial is (x + 1) times a primitive one of
 * degree 7, so x^127 = 1: the CRC of a long packet is that of its blocks of
 * 127 bytes, counted from the end, laid over each other by XOR; and what 16
 * bytes (x^128) do to what stands before them is what one bit does. */

enum { PERIOD = 127, LANES = 16 };

/* CRC of one byte; it is linear, so eight of the 256 say all. */
#define BIT(n, i, crc) (((n) >> (i)) & 1 ? (crc) : 0)
#define ONE(n)                                                                 \
    (BIT(n, 0, 0x07) ^ BIT(n, 1, 0x0e) ^ BIT(n, 2, 0x1c) ^ BIT(n, 3, 0x38) ^   \
     BIT(n, 4, 0x70) ^ BIT(n, 5, 0xe0) ^ BIT(n, 6, 0xc7) ^ BIT(n, 7, 0x89))
#define FOUR(n) ONE(n), ONE((n) + 1), ONE((n) + 2), ONE((n) + 3)
#define SIXTEEN(n) FOUR(n), FOUR((n) + 4), FOUR((n) + 8), FOUR((n) + 12)
#define SIXTYFOUR(n)                                                           \
    SIXTEEN(n), SIXTEEN((n) + 16), SIXTEEN((n) + 32), SIXTEEN((n) + 48)

static const uint8_t crc_of_byte[256] = {SIXTYFOUR(0), SIXTYFOUR(64),
                                         SIXTYFOUR(128), SIXTYFOUR(192)};

/* x^(8k) for k = 0..126: what k zero bytes behind a byte do to its CRC. */
static const uint8_t shift_by[PERIOD] = {
    0x01, 0x07, 0x15, 0x6b, 0x16, 0x62, 0x29, 0xdf, 0x13, 0x79, 0x68, 0x1f,
    0x5d, 0x94, 0xe5, 0xb5, 0x02, 0x0e, 0x2a, 0xd6, 0x2c, 0xc4, 0x52, 0xb9,
    0x26, 0xf2, 0xd0, 0x3e, 0xba, 0x2f, 0xcd, 0x6d, 0x04, 0x1c, 0x54, 0xab,
    0x58, 0x8f, 0xa4, 0x75, 0x4c, 0xe3, 0xa7, 0x7c, 0x73, 0x5e, 0x9d, 0xda,
    0x08, 0x38, 0xa8, 0x51, 0xb0, 0x19, 0x4f, 0xea, 0x98, 0xc1, 0x49, 0xf8,
    0xe6, 0xbc, 0x3d, 0xb3, 0x10, 0x70, 0x57, 0xa2, 0x67, 0x32, 0x9e, 0xd3,
    0x37, 0x85, 0x92, 0xf7, 0xcb, 0x7f, 0x7a, 0x61, 0x20, 0xe0, 0xae, 0x43,
    0xce, 0x64, 0x3b, 0xa1, 0x6e, 0x0d, 0x23, 0xe9, 0x91, 0xfe, 0xf4, 0xc2,
    0x40, 0xc7, 0x5b, 0x86, 0x9b, 0xc8, 0x76, 0x45, 0xdc, 0x1a, 0x46, 0xd5,
    0x25, 0xfb, 0xef, 0x83, 0x80, 0x89, 0xb6, 0x0b, 0x31, 0x97, 0xec, 0x8a,
    0xbf, 0x34, 0x8c, 0xad, 0x4a, 0xf1, 0xd9,
};

static uint8_t crc_bytes(uint8_t crc, const uint8_t *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        crc = crc_of_byte[crc ^ p[i]];
    return crc;
}

/* The product of two polynomials, modulo ours. */
static uint8_t crc_multiply(uint8_t a, uint8_t b)
{
    uint8_t product = 0;

    for (; b; b >>= 1) {
        product ^= b & 1 ? a : 0;
        a = (uint8_t)(a << 1) ^ (a & 0x80 ? 0x07 : 0);
    }
    return product;
}

/* The CRC of what `crc` stands for with n zero bytes behind. */
static uint8_t crc_shift(uint8_t crc, size_t n)
{
    return crc_multiply(crc, shift_by[n % PERIOD]);
}

/* One residue for each of 16 bytes that stand side by side. */
typedef uint8_t lanes __attribute__((vector_size(LANES)));
typedef int8_t signed_lanes __attribute__((vector_size(LANES)));

static lanes lanes_load(const uint8_t *p)
{
    lanes v;

    memcpy(&v, p, sizeof(v));
    return v;
}

/* Each lane times x. */
static lanes lanes_shift(lanes v)
{
    lanes seven = (lanes)((signed_lanes)v < 0) & 7;

    return (v + v) ^ seven;
}

/* The CRC, from 0, of rows of 16 bytes behind what `v` stands for. */
static uint8_t crc_rows(lanes v, const uint8_t *p, size_t rows)
{
    uint8_t sum[LANES];

    for (; rows > 0; rows--, p += LANES)
        v = lanes_shift(v) ^ lanes_load(p);
    memcpy(sum, &v, sizeof(sum));
    return crc_bytes(0, sum, LANES);
}

/* Lay n blocks of 127 bytes over folded[1..127].  All but the last read one
 * byte of the next one, which is left out in the end. */
static void crc_fold(uint8_t folded[PERIOD + 1], const uint8_t *p, size_t n)
{
    lanes a = {0}, b = a, c = a, d = a, e = a, f = a, g = a, h = a;
    uint8_t sum[PERIOD + 1];

    for (; n > 1; n--, p += PERIOD) {
        a ^= lanes_load(p);
        b ^= lanes_load(p + LANES);
        c ^= lanes_load(p + 2 * LANES);
        d ^= lanes_load(p + 3 * LANES);
        e ^= lanes_load(p + 4 * LANES);
        f ^= lanes_load(p + 5 * LANES);
        g ^= lanes_load(p + 6 * LANES);
        h ^= lanes_load(p + 7 * LANES);
    }
    memcpy(sum, (const lanes[]){a, b, c, d, e, f, g, h}, sizeof(sum));
    for (size_t i = 0; i < PERIOD; i++)
        folded[i + 1] ^= sum[i] ^ p[i];
}

static uint8_t crc_long(const uint8_t *p, size_t len)
{
    uint8_t folded[PERIOD + 1] = {0};
    size_t first = len % PERIOD;

    memcpy(folded + PERIOD + 1 - first, p, first);
    crc_fold(folded, p + first, len / PERIOD);
    return crc_rows((lanes){0}, folded, (PERIOD + 1) / LANES);
}

uint8_t net_crc(uint8_t crc, const void *data, size_t len)
{
    const uint8_t *p = data;
    uint8_t head[LANES] = {0};
    size_t first = len % LANES, rows = len / LANES;

    if (len < 2 * LANES)
        return crc_bytes(crc, p, len);
    crc = crc ? crc_shift(crc, len) : 0;
    if (len > 3 * PERIOD)
        return crc ^ crc_long(p, len);
    memcpy(head + LANES - first, p, first);
    return crc ^ crc_rows(lanes_load(head), p + first, rows);
}

uint8_t net_crc_strip(uint8_t trailer, const uint8_t *gone, size_t n,
                      size_t left)
{
    return trailer ^ crc_shift(crc_bytes(0, gone, n), left);
}

void net_route_reverse(uint8_t *dst, const uint8_t *src, size_t n)
{
    for (size_t i = 0; i < (n + 1) / 2; i++) {
        uint8_t first = net_route_byte(-net_route_delta(src[i]));
        uint8_t last = net_route_byte(-net_route_delta(src[n - 1 - i]));

        dst[i] = last;
        dst[n - 1 - i] = first;
    }
}

size_t net_route_loop(uint8_t *dst, size_t size, const uint8_t *src, size_t n)
{
    size_t len = 2 * n + 1;

    if (len > NET_WIRE_ROUTE_MAX || len > size)
        return 0;
    if (n)
        memmove(dst, src, n);
    dst[n] = net_route_byte(0);
    net_route_reverse(dst + n + 1, dst, n);
    return len;
}

void net_type_put(uint8_t *at, uint16_t type, uint16_t subtype)
{
    be_store32(at, (uint32_t)type << 16 | subtype);
}

bool net_type_is(const uint8_t *at, uint16_t type, uint16_t subtype)
{
    return be_load32(at) == ((uint32_t)type << 16 | subtype);
}

static bool route_is_well_formed(const uint8_t *route, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!net_byte_is_route(route[i]))
            return false;
    return true;
}

size_t net_packet_make(uint8_t *buf, size_t size, const struct net_packet *p)
{
    size_t len = p->nroute + NET_TYPE_SIZE + p->len + NET_CRC_SIZE;

    if (p->nroute > NET_WIRE_ROUTE_MAX || p->len > NET_PAYLOAD_MAX ||
        len > size) {
        errno = EMSGSIZE;
        return 0;
    }
    if (!route_is_well_formed(p->route, p->nroute) || p->type & 0x8000) {
        errno = EINVAL;
        return 0;
    }
    if (p->nroute)
        memcpy(buf, p->route, p->nroute);
    net_type_put(buf + p->nroute, p->type, p->subtype);
    if (p->len)
        memcpy(buf + p->nroute + NET_TYPE_SIZE, p->payload, p->len);
    buf[len - 1] = net_crc(0, buf, len - 1);
    return len;
}

int net_packet_parse(struct net_packet *p, const uint8_t *buf, size_t len)
{
    size_t n = 0;
    uint32_t type;

    while (n < len && n <= NET_WIRE_ROUTE_MAX && net_byte_is_route(buf[n]))
        n++;
    if (n > NET_WIRE_ROUTE_MAX || len < n + NET_TYPE_SIZE + NET_CRC_SIZE ||
        len > n + NET_BODY_MAX) {
        errno = EMSGSIZE;
        return -1;
    }
    type = be_load32(buf + n);
    *p = (struct net_packet){
        .route = buf,
        .nroute = n,
        .type = (uint16_t)(type >> 16),
        .subtype = (uint16_t)type,
        .payload = buf + n + NET_TYPE_SIZE,
        .len = len - n - NET_TYPE_SIZE - NET_CRC_SIZE,
        .crc_ok = net_crc(0, buf, len) == 0,
    };
    return 0;
}

void net_tag_put(uint8_t at[NET_TAG_SIZE], const struct net_tag *tag)
{
    struct be_writer w;

    be_writer_init(&w, at, NET_TAG_SIZE);
    be_put64(&w, tag->id);
    be_put8(&w, tag->entry);
    be_put8(&w, tag->ports);
    be_put16(&w, 0);
}

/* False when this is no record that a crossbar makes. */
static bool tag_get(struct net_tag *tag, const uint8_t *at)
{
    struct be_reader r;

    be_reader_init(&r, at, NET_TAG_SIZE);
    tag->id = be_get64(&r);
    tag->entry = be_get8(&r);
    tag->ports = be_get8(&r);
    return be_get16(&r) == 0 && tag->entry < tag->ports &&
           tag->ports <= NET_DELTA_MAX + 1;
}

bool net_tags_get(struct net_tag *tags, size_t n, const uint8_t *payload,
                  size_t len, size_t *body)
{
    if (n > NET_TAGS_MAX || len < n * NET_TAG_SIZE)
        return false;
    *body = len - n * NET_TAG_SIZE;
    for (size_t i = 0; i < n; i++)
        if (!tag_get(&tags[i], payload + *body + i * NET_TAG_SIZE))
            return false;
    return true;
}
