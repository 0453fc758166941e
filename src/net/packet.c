/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "base/be.h"
#include "net/packet.h"

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
