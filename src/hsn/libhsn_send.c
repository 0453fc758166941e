/* SPDX-License-Identifier: BSD-3-Clause
 * libhsn: messages into the ring to hsnd.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "hsn/libhsn_priv.h"
#include "hsn/port_record.h"

/* What keeps the handle from sending or receiving such messages. */
static int usable(const struct hsn *h, bool raw)
{
    if (h->bell < 0 || raw != (h->kind == HSN_KIND_RAW))
        return hsn_fail(EOPNOTSUPP);
    return h->gone ? hsn_fail(ECONNRESET) : 0;
}

static void commit(struct hsn *h, size_t len)
{
    ring_commit(&h->to, len);
    if (ring_must_wake(&h->to))
        ring_bell(h->bell);
}

static uint8_t *append(uint8_t *at, const void *src, size_t len)
{
    if (len)
        memcpy(at, src, len);
    return at + len;
}

int hsn_send_record(struct hsn *h, const struct hsn_record *head,
                    const void *data, const void *header)
{
    size_t here = hsn_record_inline(head);
    struct hsn_record *r =
        ring_reserve(&h->to, sizeof(*r) + here + head->header_len);
    uint8_t *at;

    if (!r)
        return hsn_ring_failed(h);
    *r = *head;
    at = append((uint8_t *)(r + 1), data, here);
    append(at, header, head->header_len);
    commit(h, sizeof(*r) + here + head->header_len);
    return 0;
}

int hsn_send_message(struct hsn *h, const struct hsn_message *m, uint32_t page)
{
    size_t most =
        h->kind == HSN_KIND_ELAN ? HSN_ELAN_HEADER_MAX : HSN_HEADER_MAX;
    struct hsn_record r = {.board = m->board,
                           .node = m->node,
                           .context = m->context,
                           .module = m->module,
                           .data_len = (uint16_t)m->data_len,
                           .header_len = (uint16_t)m->header_len,
                           .page = page};

    if (usable(h, false) < 0)
        return -1;
    if (m->data_len > HSN_DATA_MAX || m->header_len > most)
        return hsn_fail(EMSGSIZE);
    return hsn_send_record(h, &r, m->data, m->header);
}

int hsn_send(struct hsn *h, const struct hsn_message *m)
{
    return hsn_send_message(h, m, 0);
}

int hsn_raw_send(struct hsn *h, const struct hsn_raw *p)
{
    struct hsn_record *r;

    if (usable(h, true) < 0)
        return -1;
    if (p->len > HSN_MTU || p->route_len > HSN_ROUTE_MAX)
        return hsn_fail(EMSGSIZE);
    for (size_t i = 0; i < p->route_len; i++)
        if ((p->route[i] & 0xc0) != 0x80)
            return hsn_fail(EINVAL);
    r = ring_reserve(&h->to, sizeof(*r) + p->route_len + p->len);
    if (!r)
        return hsn_ring_failed(h);
    *r = (struct hsn_record){.subtype = p->subtype,
                             .data_len = (uint16_t)p->len,
                             .route_len = (uint16_t)p->route_len};
    append(append((uint8_t *)(r + 1), p->route, p->route_len), p->payload,
           p->len);
    commit(h, sizeof(*r) + p->route_len + p->len);
    return 0;
}

int hsn_wait_send(struct hsn *h, int timeout_ms)
{
    struct pollfd p = {.fd = h->bell, .events = POLLIN};
    int n = 1;

    if (h->bell < 0)
        return hsn_fail(EOPNOTSUPP);
    if (hsn_page_sleep(h) || ring_sleep_full(&h->to, HSN_RECORD_MAX)) {
        n = poll(&p, 1, timeout_ms);
        if (n > 0 && ring_bell_clear(h->bell) < 0)
            h->gone = true;
    }
    ring_awake(&h->to);
    hsn_page_awake(h);
    if (h->gone)
        return hsn_fail(ECONNRESET);
    return n;
}
