/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapper/gm2_wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "mapper/gm1_wire.h"
#include "mapper/gm_address.h"

static void get_sender(struct be_reader *r, struct gm2_message *msg)
{
    msg->sender = gm_get_address(r);
    if (msg->sender == 0) /* a board without an id: nobody's partner */
        r->bad = true;
    msg->host_type = be_get8(r);
    be_get8(r);
    msg->level = be_get32(r);
    msg->version.leader = gm_get_address(r);
    msg->ups = be_get16(r);
    msg->version.level = be_get32(r);
    msg->version.counter = be_get32(r);
}

static void get_scout(struct be_reader *r, struct gm2_message *msg)
{
    struct gm2_scout *scout = &msg->scout;

    get_sender(r, msg);
    scout->argument = be_get32(r);
    scout->back.len = be_get8(r);
    if (scout->back.len > GM2_ROUTE_MAX)
        r->bad = true;
    else
        be_copy_bytes(r, scout->back.byte, scout->back.len);
}

static void get_reply(struct be_reader *r, struct gm2_message *msg)
{
    get_sender(r, msg);
    msg->reply.done = be_get32(r);
    msg->reply.npieces = be_get32(r);
    msg->reply.parent = gm_get_address(r);
    be_get16(r);
}

static void get_piece(struct be_reader *r, struct gm2_message *msg)
{
    struct gm2_piece *piece = &msg->piece;

    get_sender(r, msg);
    piece->piece = be_get32(r);
    piece->npieces = be_get32(r);
    piece->nhosts = be_get32(r);
    piece->nxbars = be_get32(r);
    piece->first = be_get32(r);
    piece->count = be_get16(r);
    piece->kind = be_get8(r);
    be_get8(r);
    msg->rows_len = r->left;
    msg->rows = be_get_bytes(r, r->left);
    if (piece->kind > GM2_ROWS_XBARS || piece->piece >= piece->npieces)
        r->bad = true;
}

static void get_delta(struct be_reader *r, struct gm2_message *msg)
{
    get_sender(r, msg);
    msg->rows_len = r->left;
    msg->rows = be_get_bytes(r, r->left);
}

static int get_body(struct be_reader *r, struct gm2_message *msg)
{
    switch (msg->subtype) {
    case GM2_PROBE:
        return 0;
    case GM2_SCOUT:
        get_scout(r, msg);
        break;
    case GM2_REPLY:
        get_reply(r, msg);
        break;
    case GM2_PIECE:
        get_piece(r, msg);
        break;
    case GM2_DELTA:
        get_delta(r, msg);
        break;
    default:
        errno = ENOMSG;
        return -1;
    }
    if (msg->reason != 0 && msg->reason <= GM2_REASON_MAX)
        return 0;
    errno = ENOMSG;
    return -1;
}

int gm2_decode(struct gm2_message *msg, const void *buf, size_t len)
{
    struct be_reader r;
    uint16_t type;
    uint8_t wire;

    memset(msg, 0, sizeof(*msg));
    be_reader_init(&r, buf, len);
    type = be_get16(&r);
    msg->subtype = be_get16(&r);
    wire = be_get8(&r);
    msg->reason = be_get8(&r);
    msg->flags = be_get16(&r);
    msg->tag = be_get64(&r);
    msg->session = be_get32(&r);
    if (!r.bad && (type != GM_TYPE || wire != GM2_WIRE_VERSION)) {
        errno = ENOMSG;
        return -1;
    }
    if (!r.bad && get_body(&r, msg) < 0)
        return -1;
    if (!r.bad)
        return 0;
    errno = EPROTO;
    return -1;
}

static void put_sender(struct be_writer *w, const struct gm2_message *msg)
{
    gm_put_address(w, msg->sender);
    be_put8(w, msg->host_type);
    be_put8(w, 0);
    be_put32(w, msg->level);
    gm_put_address(w, msg->version.leader);
    be_put16(w, msg->ups);
    be_put32(w, msg->version.level);
    be_put32(w, msg->version.counter);
}

static void put_scout(struct be_writer *w, const struct gm2_scout *scout)
{
    be_put32(w, scout->argument);
    be_put8(w, scout->back.len);
    if (scout->back.len > GM2_ROUTE_MAX)
        w->bad = true;
    else
        be_put_bytes(w, scout->back.byte, scout->back.len);
}

static void put_piece(struct be_writer *w, const struct gm2_piece *piece)
{
    be_put32(w, piece->piece);
    be_put32(w, piece->npieces);
    be_put32(w, piece->nhosts);
    be_put32(w, piece->nxbars);
    be_put32(w, piece->first);
    be_put16(w, piece->count);
    be_put8(w, (uint8_t)piece->kind);
    be_put8(w, 0);
}

static void put_body(struct be_writer *w, const struct gm2_message *msg)
{
    switch (msg->subtype) {
    case GM2_PROBE:
    case GM2_DELTA:
        break;
    case GM2_SCOUT:
        put_scout(w, &msg->scout);
        break;
    case GM2_REPLY:
        be_put32(w, msg->reply.done);
        be_put32(w, msg->reply.npieces);
        gm_put_address(w, msg->reply.parent);
        be_put16(w, 0);
        break;
    case GM2_PIECE:
        put_piece(w, &msg->piece);
        break;
    }
}

size_t gm2_encode(void *buf, size_t size, const struct gm2_message *msg)
{
    struct be_writer w;

    be_writer_init(&w, buf, size);
    be_put16(&w, GM_TYPE);
    be_put16(&w, (uint16_t)msg->subtype);
    be_put8(&w, GM2_WIRE_VERSION);
    be_put8(&w, (uint8_t)msg->reason);
    be_put16(&w, msg->flags);
    be_put64(&w, msg->tag);
    be_put32(&w, msg->session);
    if (msg->subtype != GM2_PROBE)
        put_sender(&w, msg);
    put_body(&w, msg);
    return w.bad ? 0 : w.len;
}

bool gm2_version_equal(const struct gm2_version *a, const struct gm2_version *b)
{
    return a->leader == b->leader && a->counter == b->counter;
}

const char *gm2_reason_name(enum gm2_reason reason)
{
    static const char *const names[] = {
        [GM2_LX_MAPPING] = "LX_MAPPING",
        [GM2_LX_QUERYING_MAP_VERSION] = "LX_QUERYING_MAP_VERSION",
        [GM2_LX_TREE] = "LX_TREE",
        [GM2_LX_QUERYING_MAP_PIECE] = "LX_QUERYING_MAP_PIECE",
        [GM2_LX_VERIFYING] = "LX_VERIFYING",
        [GM2_LX_PAUSE] = "LX_PAUSE",
        [GM2_LX_QUERYING_MAP_DELTA] = "LX_QUERYING_MAP_DELTA",
    };

    if (reason < GM2_LX_MAPPING || reason > GM2_REASON_MAX)
        return "LX_?";
    return names[reason];
}

int gm2_describe(char *text, size_t size, const struct gm2_message *msg)
{
    static const char *const kinds[] = {"probe", "scout", "reply", "piece",
                                        "delta"};
    unsigned kind = msg->subtype - GM2_PROBE;
    char who[GM_ADDRESS_TEXT], leader[GM_ADDRESS_TEXT];

    if (msg->subtype == GM2_PROBE)
        return snprintf(text, size, "probe tag %llx session %u",
                        (unsigned long long)msg->tag, msg->session);
    gm_address_text(msg->sender, who);
    gm_address_text(msg->version.leader, leader);
    return snprintf(text, size, "%s %s from %s level %u map %s/%u flags %x",
                    kind < 5 ? kinds[kind] : "?", gm2_reason_name(msg->reason),
                    who, msg->level, leader, msg->version.counter, msg->flags);
}
