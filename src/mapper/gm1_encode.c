/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Encoding GM-1 messages; decoding is gm1_wire.c.
 */
#include <string.h>

#include "mapper/gm1_wire.h"
#include "mapper/gm_address.h"

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
