/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packets of the source-routed fabric, as bytes (doc/swfab.md):
 *
 *     route bytes   none or more, each with the top bit set
 *     type          16-bit type, 16-bit subtype; the top bit is clear
 *     payload
 *     CRC-8         one byte
 *
 * A crossbar strips the first route byte and leaves by the port that lies
 * `delta` ports beside the one the packet came in by.  Pure functions; they
 * borrow what they are given.  Sizes are bytes, numbers big-endian.
 */
#ifndef SF_NET_PACKET_H
#define SF_NET_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest route that a host keeps (the route fields of GM-1 hold 32), and
 * the longest one before a packet: there and back, once. */
#define NET_ROUTE_MAX 32
#define NET_WIRE_ROUTE_MAX 64

#define NET_TYPE_SIZE 4 /* type and subtype */
#define NET_CRC_SIZE 1
/* After the type: 8 KB, as much as an interface takes, and 256 bytes for
 * headers of a sender of 8 KB. */
#define NET_PAYLOAD_MAX (8192 + 256)
/* Type, payload, CRC: the longest packet that arrives at a host. */
#define NET_BODY_MAX (NET_TYPE_SIZE + NET_PAYLOAD_MAX + NET_CRC_SIZE)
/* The longest packet that leaves one. */
#define NET_PACKET_MAX (NET_WIRE_ROUTE_MAX + NET_BODY_MAX)

/* Crossbars have at most 32 ports, hence: */
#define NET_DELTA_MIN (-31)
#define NET_DELTA_MAX 31

enum net_type {
    NET_TYPE_MAPPING = 0x000f, /* mappers; subtypes are the mapper's */
    NET_TYPE_HSN = 0x0701,     /* frames of src/hsn */
};

/* Subtype of NET_TYPE_MAPPING that a crossbar with an id marks: when such a
 * packet turns round there (delta 0), the crossbar appends a record in front
 * of the CRC. */
#define NET_SUBTYPE_TAGGED 0x00f0
#define NET_TAG_SIZE 12
/* Records of one packet; what turns round more often gets no more. */
#define NET_TAGS_MAX 4

struct net_tag {
    uint64_t id;   /* of the crossbar */
    uint8_t entry; /* port the packet came in by, counted from 0 */
    uint8_t ports; /* that the crossbar has */
};

static inline uint8_t net_route_byte(int delta)
{
    return (uint8_t)(0x80 | (delta & 0x3f));
}

static inline bool net_byte_is_route(uint8_t byte)
{
    return byte & 0x80;
}

/* Bit 6 is kept free: a crossbar discards a route byte that has it set. */
static inline bool net_route_byte_valid(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

static inline int net_route_delta(uint8_t byte)
{
    return (int)((byte & 0x3f) ^ 0x20) - 0x20;
}

/* The way back: dst[0..n) becomes src[0..n) in the other order, each delta
 * negated.  dst and src may be the same. */
void net_route_reverse(uint8_t *dst, const uint8_t *src, size_t n);

/* The probe that goes along src[0..n), turns round behind its last hop and
 * comes back: src, 0, reversed src; 2n + 1 bytes.  Returns their number, 0
 * when it is more than NET_WIRE_ROUTE_MAX or size. */
size_t net_route_loop(uint8_t *dst, size_t size, const uint8_t *src, size_t n);

/* CRC-8 (x^8 + x^2 + x + 1, from 0) of p[0..len); `crc` is that of what stood
 * before.  An intact packet's CRC over all its bytes, trailer included, is 0.
 * It finds every odd number of wrong bits, every burst of up to 8, and two
 * wrong bits unless their distance is a multiple of 127 bits. */
uint8_t net_crc(uint8_t crc, const void *p, size_t len);

/* The trailer of a packet from which the leading bytes gone[0..n) were
 * stripped, when `left` bytes (trailer not counted) stay: what was right stays
 * right, and what was wrong stays wrong by the same difference. */
uint8_t net_crc_strip(uint8_t trailer, const uint8_t *gone, size_t n,
                      size_t left);

/* A packet, taken apart; borrows from the buffer. */
struct net_packet {
    const uint8_t *route; /* nroute bytes, 0 when it arrived at a host */
    size_t nroute;
    uint16_t type, subtype;
    const uint8_t *payload;
    size_t len; /* of payload */
    bool crc_ok;
};

/* Put a packet together in buf[0..size).  Returns its length, or 0 with
 * errno: EMSGSIZE (longer than buf, route or payload longer than the limits
 * above), EINVAL (a route byte without its top bit, a type with it). */
size_t net_packet_make(uint8_t *buf, size_t size, const struct net_packet *p);

/* Take buf[0..len) apart.  A wrong CRC is no error: see crc_ok.  0, or -1
 * with errno EMSGSIZE: no type and CRC in it, or longer than the limits. */
int net_packet_parse(struct net_packet *p, const uint8_t *buf, size_t len);

/* Bytes of type + subtype, at an address of any alignment. */
void net_type_put(uint8_t *at, uint16_t type, uint16_t subtype);
bool net_type_is(const uint8_t *at, uint16_t type, uint16_t subtype);

/* One record of a tagged probe. */
void net_tag_put(uint8_t at[NET_TAG_SIZE], const struct net_tag *tag);
/* The records at the end of payload[0..len), nearest to the CRC last; *body
 * is the length of what stands before them.  `n` records are expected;
 * false when they are not there or not well formed. */
bool net_tags_get(struct net_tag *tags, size_t n, const uint8_t *payload,
                  size_t len, size_t *body);

#endif
