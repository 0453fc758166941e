/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decoding GM-1 messages; encoding is gm1_encode.c.
 */
#include "mapper/gm1_wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "mapper/gm_address.h"

static void get_route(struct be_reader *r, struct gm1_route *route)
{
    route->len = be_get32(r);
    be_copy_bytes(r, route->byte, GM1_ROUTE_MAX);
    if (route->len > GM1_ROUTE_MAX)
        r->bad = true;
}

/* A name that fills all 32 bytes is cut: nobody reads past the field. */
static void get_name(struct be_reader *r, char *name)
{
    be_copy_bytes(r, name, GM1_NAME_SIZE);
    name[GM1_NAME_SIZE - 1] = '\0';
}

static void get_scout(struct be_reader *r, struct gm1_message *msg)
{
    struct gm1_scout *scout = &msg->scout;

    get_route(r, &scout->back);
    scout->mapper = gm_get_address(r);
    scout->command = be_get16(r);
    scout->level = be_get32(r);
}

/* The rows present, never more than were announced. */
static void get_present_rows(struct be_reader *r, struct gm1_message *msg,
                             uint32_t announced, size_t row)
{
    size_t n = r->bad ? 0 : r->left / row;

    if (n > announced)
        n = announced;
    if (n > GM1_MEMBERS_MAX)
        n = GM1_MEMBERS_MAX;
    msg->nrows = (uint32_t)n;
    msg->rows = be_get_bytes(r, n * row);
}

static void get_reply(struct be_reader *r, struct gm1_message *msg)
{
    struct gm1_reply *reply = &msg->reply;

    reply->address = gm_get_address(r);
    reply->mapper = gm_get_address(r);
    reply->gmid = be_get16(r);
    be_get16(r);
    reply->version = be_get32(r);
    get_name(r, reply->name);
    reply->level = be_get32(r);
    reply->node_type = be_get16(r);
    reply->option = be_get16(r);
    if (reply->option != GM1_OPTION_CLOUD)
        return;
    reply->nhosts = be_get32(r);
    get_present_rows(r, msg, reply->nhosts, GM1_MEMBER_SIZE);
}

static void get_cloud_query(struct be_reader *r, struct gm1_message *msg)
{
    msg->query.first = be_get32(r);
    msg->query.nhosts = be_get32(r);
}

/* All announced rows must be there. */
static void get_counted_rows(struct be_reader *r, struct gm1_message *msg,
                             uint32_t n, size_t row)
{
    if (n > r->left / row) {
        r->bad = true;
        return;
    }
    msg->nrows = n;
    msg->rows = be_get_bytes(r, n * row);
}

static void get_cloud_query_reply(struct be_reader *r, struct gm1_message *msg)
{
    msg->query_reply.address = gm_get_address(r);
    be_get16(r);
    msg->query_reply.nhosts = be_get32(r);
    if (msg->query_reply.nhosts > GM1_MEMBERS_MAX)
        r->bad = true;
    get_counted_rows(r, msg, msg->query_reply.nhosts, GM1_MEMBER_SIZE);
}

static void get_config(struct be_reader *r, struct gm1_message *msg)
{
    struct gm1_config *config = &msg->config;
    uint32_t nentries;

    config->serial = be_get32(r);
    get_route(r, &config->back);
    config->address = gm_get_address(r);
    config->mapper = gm_get_address(r);
    config->gmid = be_get16(r);
    config->nhosts = be_get16(r);
    config->version = be_get32(r);
    nentries = be_get32(r);
    get_counted_rows(r, msg, nentries, GM1_ENTRY_SIZE);
}

static int get_body(struct be_reader *r, struct gm1_message *msg)
{
    switch (msg->subtype) {
    case GM1_SCOUT:
        get_scout(r, msg);
        break;
    case GM1_REPLY:
        get_reply(r, msg);
        break;
    case GM1_CONFIG:
        get_config(r, msg);
        break;
    case GM1_CLOUD_QUERY:
        get_cloud_query(r, msg);
        break;
    case GM1_CLOUD_QUERY_REPLY:
        get_cloud_query_reply(r, msg);
        break;
    case GM1_PROBE:
    case GM1_VERIFY:
        break;
    default:
        errno = ENOMSG;
        return -1;
    }
    return 0;
}

int gm1_decode(struct gm1_message *msg, const void *buf, size_t len)
{
    struct be_reader r;
    uint16_t type;

    memset(msg, 0, sizeof(*msg));
    be_reader_init(&r, buf, len);
    type = be_get16(&r);
    msg->subtype = be_get16(&r);
    if (!r.bad && type != GM_TYPE) {
        errno = ENOMSG;
        return -1;
    }
    if (!r.bad && msg->subtype > GM1_CLOUD_QUERY_REPLY) {
        errno = ENOMSG;
        return -1;
    }
    msg->port = be_get32(&r);
    msg->phase = be_get32(&r);
    if (!r.bad && get_body(&r, msg) < 0)
        return -1;
    if (!r.bad)
        return 0;
    errno = EPROTO;
    return -1;
}

void gm1_member_at(const struct gm1_message *msg, uint32_t i,
                   struct gm1_member *member)
{
    struct be_reader r;

    be_reader_init(&r, msg->rows + (size_t)i * GM1_MEMBER_SIZE,
                   GM1_MEMBER_SIZE);
    member->address = gm_get_address(&r);
    member->control = be_get16(&r);
}

int gm1_entry_at(const struct gm1_message *msg, uint32_t i,
                 struct gm1_entry *entry)
{
    struct be_reader r;

    be_reader_init(&r, msg->rows + (size_t)i * GM1_ENTRY_SIZE, GM1_ENTRY_SIZE);
    entry->address = gm_get_address(&r);
    entry->gmid = be_get16(&r);
    entry->node_type = be_get16(&r);
    entry->route.len = be_get16(&r);
    be_copy_bytes(&r, entry->route.byte, GM1_ROUTE_MAX);
    get_name(&r, entry->name);
    entry->control = be_get16(&r);
    if (entry->route.len <= GM1_ROUTE_MAX)
        return 0;
    errno = EPROTO;
    return -1;
}

static const char *name_of(enum gm1_subtype subtype)
{
    switch (subtype) {
    case GM1_SCOUT:
        return "scout";
    case GM1_CONFIG:
        return "config";
    case GM1_REPLY:
        return "reply";
    case GM1_PROBE:
        return "probe";
    case GM1_VERIFY:
        return "verify";
    case GM1_CLOUD_QUERY:
        return "cloud-query";
    case GM1_CLOUD_QUERY_REPLY:
        return "cloud-query-reply";
    }
    return "unknown";
}

int gm1_describe(char *text, size_t size, const struct gm1_message *msg)
{
    char who[GM_ADDRESS_TEXT] = "";
    const char *sep = "";

    if (msg->subtype == GM1_SCOUT)
        gm_address_text(msg->scout.mapper, who);
    else if (msg->subtype == GM1_REPLY)
        gm_address_text(msg->reply.address, who);
    else if (msg->subtype == GM1_CONFIG)
        gm_address_text(msg->config.address, who);
    if (who[0])
        sep = " of ";
    return snprintf(text, size, "%s%s%s port %u phase %u rows %u",
                    name_of(msg->subtype), sep, who, msg->port, msg->phase,
                    msg->nrows);
}
