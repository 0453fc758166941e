/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decoding and encoding GM-1 messages.
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

/* ---- gm1 encode -------------------------------------------------------- */

/* Encoding GM-1 messages; decoding is gm1_wire.c. */

static void put_route_bytes(struct be_writer *w, const struct gm1_route *route)
{
    uint8_t byte[GM1_ROUTE_MAX] = {0};

    if (route->len > GM1_ROUTE_MAX)
        w->bad = true;
    else
        memcpy(byte, route->byte, route->len);
    be_put_bytes(w, byte, sizeof(byte));
}

static void put_name(struct be_writer *w, const char *name)
{
    char field[GM1_NAME_SIZE] = {0};

    memcpy(field, name, strnlen(name, GM1_NAME_SIZE - 1));
    be_put_bytes(w, field, sizeof(field));
}

static void put_scout(struct be_writer *w, const struct gm1_scout *scout)
{
    be_put32(w, scout->back.len);
    put_route_bytes(w, &scout->back);
    gm_put_address(w, scout->mapper);
    be_put16(w, scout->command);
    be_put32(w, scout->level);
}

static void put_reply(struct be_writer *w, const struct gm1_reply *reply)
{
    gm_put_address(w, reply->address);
    gm_put_address(w, reply->mapper);
    be_put16(w, reply->gmid);
    be_put16(w, 0);
    be_put32(w, reply->version);
    put_name(w, reply->name);
    be_put32(w, reply->level);
    be_put16(w, reply->node_type);
    be_put16(w, reply->option);
    if (reply->option == GM1_OPTION_CLOUD)
        be_put32(w, reply->nhosts);
}

static void put_config(struct be_writer *w, const struct gm1_config *config,
                       uint32_t nentries)
{
    be_put32(w, config->serial);
    be_put32(w, config->back.len);
    put_route_bytes(w, &config->back);
    gm_put_address(w, config->address);
    gm_put_address(w, config->mapper);
    be_put16(w, config->gmid);
    be_put16(w, config->nhosts);
    be_put32(w, config->version);
    be_put32(w, nentries);
}

static void put_message(struct be_writer *w, const struct gm1_message *msg,
                        uint32_t nrows)
{
    be_put16(w, GM_TYPE);
    be_put16(w, (uint16_t)msg->subtype);
    be_put32(w, msg->port);
    be_put32(w, msg->phase);
    switch (msg->subtype) {
    case GM1_SCOUT:
        put_scout(w, &msg->scout);
        break;
    case GM1_REPLY:
        put_reply(w, &msg->reply);
        break;
    case GM1_CONFIG:
        put_config(w, &msg->config, nrows);
        break;
    case GM1_CLOUD_QUERY:
        be_put32(w, msg->query.first);
        be_put32(w, msg->query.nhosts);
        break;
    case GM1_CLOUD_QUERY_REPLY:
        gm_put_address(w, msg->query_reply.address);
        be_put16(w, 0);
        be_put32(w, nrows);
        break;
    case GM1_PROBE:
    case GM1_VERIFY:
        break;
    }
}

size_t gm1_encode(void *buf, size_t size, const struct gm1_message *msg)
{
    struct be_writer w;

    be_writer_init(&w, buf, size);
    put_message(&w, msg, 0);
    return w.bad ? 0 : w.len;
}

size_t gm1_encode_members(void *buf, size_t size, const struct gm1_message *msg,
                          const struct gm1_member *members, uint32_t n)
{
    struct be_writer w;

    if (n > GM1_MEMBERS_MAX)
        n = GM1_MEMBERS_MAX;
    be_writer_init(&w, buf, size);
    put_message(&w, msg, n);
    for (uint32_t i = 0; i < n; i++) {
        gm_put_address(&w, members[i].address);
        be_put16(&w, members[i].control);
    }
    return w.bad ? 0 : w.len;
}

static void put_entry(struct be_writer *w, const struct gm1_entry *entry)
{
    gm_put_address(w, entry->address);
    be_put16(w, entry->gmid);
    be_put16(w, entry->node_type);
    be_put16(w, (uint16_t)entry->route.len);
    put_route_bytes(w, &entry->route);
    put_name(w, entry->name);
    be_put16(w, entry->control);
    be_put16(w, 0);
}

size_t gm1_encode_entries(void *buf, size_t size, const struct gm1_message *msg,
                          const struct gm1_entry *entries, uint32_t n)
{
    struct be_writer w;

    be_writer_init(&w, buf, size);
    put_message(&w, msg, n);
    for (uint32_t i = 0; i < n; i++)
        put_entry(&w, &entries[i]);
    return w.bad ? 0 : w.len;
}
