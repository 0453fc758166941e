/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The messages of the GM-1 mapping protocol, byte for byte.  All integers are
 * big-endian; offsets count from the first type byte (the route in front and
 * the CRC behind belong to the packet, not to the message).
 *
 * A decoded message borrows its rows (cloud members, configuration entries)
 * from the buffer; gm1_member_at() and gm1_entry_at() read one of them.
 * Pure: no allocation, no I/O.  Source: the GM mapping document, 1.6.
 */
#ifndef SF_MAPPER_GM1_WIRE_H
#define SF_MAPPER_GM1_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GM_TYPE 0x000f /* the registered packet type of mapping */

enum gm1_subtype {
    GM1_SCOUT = 0x0000,
    GM1_CONFIG = 0x0001,
    GM1_REPLY = 0x0002, /* of a host and of a cloud: the option tells */
    GM1_PROBE = 0x0003,
    GM1_VERIFY = 0x0004,
    GM1_CLOUD_QUERY = 0x0007,
    GM1_CLOUD_QUERY_REPLY = 0x0008,
};

enum {
    GM1_COMMAND_NONE = 0,
    GM1_COMMAND_RESET = 1, /* forget gmID, version, mapper, routes */
};

enum {
    GM1_OPTION_NONE = 0,
    GM1_OPTION_CLOUD = 1,
    GM1_OPTION_NO_ROUTES = 2, /* wants one Config without entries */
};

enum {
    GM1_NODE_HOST = 0,
    GM1_NODE_HYBRID = 1,
    GM1_NODE_SWITCH = 2,
};

/* Sizes of the messages, rows not counted. */
#define GM1_SCOUT_SIZE 60
#define GM1_REPLY_SIZE 72
#define GM1_CLOUD_REPLY_SIZE 76
#define GM1_CLOUD_QUERY_SIZE 20
#define GM1_CLOUD_QUERY_REPLY_SIZE 24
#define GM1_CONFIG_SIZE 76
#define GM1_PROBE_SIZE 12 /* Verify has the same size */
#define GM1_MEMBER_SIZE 8
#define GM1_ENTRY_SIZE 80

#define GM1_ROUTE_MAX 32
#define GM1_NAME_SIZE 32    /* NUL included */
#define GM1_MEMBERS_MAX 175 /* in one message: an Ethernet MTU of 1500 */
/* Entries of one Config that we send: the message stays below 4 KB. */
#define GM1_ENTRIES_MAX 50
#define GM1_MESSAGE_MAX (GM1_CONFIG_SIZE + GM1_ENTRIES_MAX * GM1_ENTRY_SIZE)

struct gm1_route {
    uint32_t len;
    uint8_t byte[GM1_ROUTE_MAX];
};

struct gm1_scout {
    struct gm1_route back; /* to the mapper */
    uint64_t mapper;
    uint16_t command;
    uint32_t level;
};

struct gm1_member {
    uint64_t address;
    uint16_t control;
};

struct gm1_reply {
    uint64_t address;
    uint64_t mapper; /* of the last configuration */
    uint16_t gmid;
    uint32_t version;
    char name[GM1_NAME_SIZE];
    uint32_t level;
    uint16_t node_type;
    uint16_t option;
    uint32_t nhosts; /* cloud: members in all */
};

struct gm1_cloud_query {
    uint32_t first;
    uint32_t nhosts;
};

struct gm1_cloud_query_reply {
    uint64_t address;
    uint32_t nhosts; /* rows of this message */
};

struct gm1_config {
    uint32_t serial;
    struct gm1_route back;
    uint64_t address;
    uint64_t mapper;
    uint16_t gmid;
    uint16_t nhosts; /* entries of the whole configuration */
    uint32_t version;
};

struct gm1_entry {
    uint64_t address;
    uint16_t gmid;
    uint16_t node_type;
    struct gm1_route route;
    char name[GM1_NAME_SIZE];
    uint16_t control;
};

struct gm1_message {
    enum gm1_subtype subtype;
    uint32_t port;
    uint32_t phase;
    union {
        struct gm1_scout scout;
        struct gm1_reply reply;
        struct gm1_cloud_query query;
        struct gm1_cloud_query_reply query_reply;
        struct gm1_config config;
    };
    const uint8_t *rows; /* borrowed from the buffer */
    uint32_t nrows;      /* members or entries present in this message */
};

/* Decode one message from its first type byte on; bytes behind it are
 * ignored.  Returns 0, or -1 with errno: ENOMSG another type or an unknown
 * subtype (drop it); EPROTO cut, a route longer than 32, or more rows
 * announced than present. */
int gm1_decode(struct gm1_message *msg, const void *buf, size_t len);

/* Row i of msg; i < msg->nrows.  An entry whose route length is above 32
 * gives -1 with EPROTO. */
void gm1_member_at(const struct gm1_message *msg, uint32_t i,
                   struct gm1_member *member);
int gm1_entry_at(const struct gm1_message *msg, uint32_t i,
                 struct gm1_entry *entry);

/* Encode msg (its rows pointer is not looked at; of a name the first 31
 * characters go out).  `members` and `entries` are the rows, NULL with 0.  A
 * cloud reply of more than 175 members carries the first 175.  Returns the
 * length, or 0 when buf is too small or a length is out of range. */
size_t gm1_encode(void *buf, size_t size, const struct gm1_message *msg);
size_t gm1_encode_members(void *buf, size_t size, const struct gm1_message *msg,
                          const struct gm1_member *members, uint32_t n);
size_t gm1_encode_entries(void *buf, size_t size, const struct gm1_message *msg,
                          const struct gm1_entry *entries, uint32_t n);

/* One line for traces: "scout port 3 phase 1 mapper 00:60:dd:00:00:01". */
int gm1_describe(char *text, size_t size, const struct gm1_message *msg);

#endif
