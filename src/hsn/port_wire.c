/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "hsn/port_wire.h"

#define REQUEST_MAGIC 0x48534e52 /* "HSNR" */
#define ANSWER_MAGIC 0x48534e41  /* "HSNA" */

void hsn_request_begin(struct be_writer *w, void *buf, size_t size,
                       enum hsn_verb verb, uint32_t a, uint32_t b)
{
    be_writer_init(w, buf, size);
    be_put32(w, REQUEST_MAGIC);
    be_put16(w, HSN_PORT_VERSION);
    be_put16(w, (uint16_t)verb);
    be_put32(w, a);
    be_put32(w, b);
}

void hsn_answer_begin(struct be_writer *w, void *buf, size_t size, int error)
{
    be_writer_init(w, buf, size);
    be_put32(w, ANSWER_MAGIC);
    be_put32(w, (uint32_t)error);
}

int hsn_request_get(struct hsn_request *req, const void *buf, size_t len)
{
    struct be_reader *r = &req->more;
    uint32_t magic;
    uint16_t version, verb;

    be_reader_init(r, buf, len);
    magic = be_get32(r);
    version = be_get16(r);
    verb = be_get16(r);
    req->a = be_get32(r);
    req->b = be_get32(r);
    if (r->bad || magic != REQUEST_MAGIC || version != HSN_PORT_VERSION ||
        verb >= HSN_VERBS)
        return -1;
    req->verb = (enum hsn_verb)verb;
    return 0;
}

int hsn_answer_open(struct be_reader *r, const void *buf, size_t len)
{
    uint32_t magic, error;

    be_reader_init(r, buf, len);
    magic = be_get32(r);
    error = be_get32(r);
    if (r->bad || magic != ANSWER_MAGIC || error > 4095)
        return EPROTO;
    return (int)error;
}

void hsn_peer_put(struct be_writer *w, const struct hsn_peer *p)
{
    be_put64(w, p->address);
    be_put32(w, p->host_type);
    be_put8(w, p->neighbour);
    be_put8(w, p->nroutes);
    for (int i = 0; i < p->nroutes; i++) {
        be_put8(w, p->route[i].len);
        be_put_bytes(w, p->route[i].byte, p->route[i].len);
    }
}

int hsn_peer_get(struct be_reader *r, struct hsn_peer *p)
{
    memset(p, 0, sizeof(*p));
    p->address = be_get64(r);
    p->host_type = be_get32(r);
    p->neighbour = be_get8(r) != 0;
    p->nroutes = be_get8(r);
    if (r->bad || p->nroutes > HSN_ROUTES_MAX)
        return -1;
    for (int i = 0; i < p->nroutes; i++) {
        uint8_t len = be_get8(r);

        if (len > HSN_ROUTE_MAX)
            return -1;
        p->route[i].len = len;
        be_copy_bytes(r, p->route[i].byte, len);
    }
    return r->bad ? -1 : 0;
}

void hsn_board_put(struct be_writer *w, const struct hsn_board_info *b)
{
    be_put64(w, b->address);
    be_put_str(w, b->node);
    be_put32(w, b->host_type);
    be_put32(w, b->map_version);
    be_put32(w, b->npeers);
    be_put32(w, b->page_size);
    be_put8(w, b->configured);
    be_put8(w, (uint8_t)(b->link | b->simulated << 1));
    be_put64(w, b->counters.sent);
    be_put64(w, b->counters.received);
    be_put64(w, b->counters.sent_bytes);
    be_put64(w, b->counters.received_bytes);
    be_put64(w, b->counters.delivered);
    be_put64(w, b->counters.lost);
}

int hsn_board_get(struct be_reader *r, struct hsn_board_info *b)
{
    uint8_t flags;

    memset(b, 0, sizeof(*b));
    b->address = be_get64(r);
    be_get_str(r, b->node, sizeof(b->node));
    b->host_type = be_get32(r);
    b->map_version = be_get32(r);
    b->npeers = be_get32(r);
    b->page_size = be_get32(r);
    b->configured = be_get8(r) != 0;
    flags = be_get8(r);
    b->link = flags & 1;
    b->simulated = flags >> 1 & 1;
    b->counters.sent = be_get64(r);
    b->counters.received = be_get64(r);
    b->counters.sent_bytes = be_get64(r);
    b->counters.received_bytes = be_get64(r);
    b->counters.delivered = be_get64(r);
    b->counters.lost = be_get64(r);
    return be_reader_done(r) ? 0 : -1;
}
