/* SPDX-License-Identifier: BSD-3-Clause
 * What the kinds of interfaces share.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mac.h"
#include "base/seal.h"
#include "hsn/nic_priv.h"

size_t hsn_nic_reap(struct hsn_nic_done *d, struct hsn_sent *sent, size_t max)
{
    size_t n = d->n < max ? d->n : max;

    for (size_t i = 0; i < n; i++)
        sent[i] = (struct hsn_sent){d->slot[d->n - n + i], 0};
    d->n -= n;
    return n;
}

size_t hsn_nic_packet_len(const struct hsn_tx *tx)
{
    return tx->route_len + NET_TYPE_SIZE + tx->part[0].iov_len +
           tx->part[1].iov_len + NET_CRC_SIZE;
}

/* The CRC is that of the parts where they come from: they are in the cache,
 * while what was just written to a ring is on its way there. */
void hsn_nic_packet_put(uint8_t *at, const struct hsn_tx *tx)
{
    uint8_t *start = at, crc;

    if (tx->route_len)
        memcpy(at, tx->route, tx->route_len);
    at += tx->route_len;
    net_type_put(at, tx->type, tx->subtype);
    at += NET_TYPE_SIZE;
    crc = net_crc(0, start, (size_t)(at - start));
    for (int i = 0; i < 2; i++) {
        if (tx->part[i].iov_len == 0)
            continue;
        crc = net_crc(crc, tx->part[i].iov_base, tx->part[i].iov_len);
        memcpy(at, tx->part[i].iov_base, tx->part[i].iov_len);
        at += tx->part[i].iov_len;
    }
    *at = crc;
}

bool hsn_nic_packet_get(struct hsn_nic *nic, struct hsn_rx *rx,
                        const uint8_t *buf, size_t len)
{
    struct net_packet p;

    if (net_packet_parse(&p, buf, len) < 0 || !p.crc_ok || p.len > 8448) {
        nic->counters.dropped_bad++;
        return false;
    }
    if (p.nroute) {
        nic->counters.dropped_route++;
        return false;
    }
    rx->type = p.type;
    rx->subtype = p.subtype;
    rx->len = p.len;
    rx->borrowed = p.payload;
    return true;
}

static int seal(void *arg, char **cred, const void *payload, size_t len,
                uid_t reader, struct errbuf *err)
{
    const struct hsn_nic_options *o = arg;

    return seal_make(cred, payload, len, reader, 0, o->munge, err);
}

static int open_seal(void *arg, void **payload, size_t *len,
                     struct softlink_origin *origin, const char *cred,
                     struct errbuf *err)
{
    const struct hsn_nic_options *o = arg;
    struct seal_info info;

    if (seal_open(payload, len, &info, cred, o->munge, err) < 0)
        return -1;
    *origin = (struct softlink_origin){
        .uid = info.uid, .replayed = info.replayed, .expired = info.expired};
    return 0;
}

static int randomness(void *arg, void *buf, size_t len)
{
    (void)arg;
    return mac_random(buf, len);
}

struct softlink_ops hsn_nic_credentials(const struct hsn_nic_options *o)
{
    return (struct softlink_ops){
        .seal = seal,
        .open = open_seal,
        .random = randomness,
        .arg = (void *)(uintptr_t)o,
        .service = o->service,
        .reader = o->service,
    };
}

static int copy(const char **to)
{
    if (*to)
        *to = strdup(*to);
    return 0;
}

int hsn_nic_options_copy(struct hsn_nic_options *to,
                         const struct hsn_nic_options *o)
{
    *to = *o;
    copy(&to->kind);
    copy(&to->fabric);
    copy(&to->name);
    copy(&to->interface);
    copy(&to->mac);
    copy(&to->munge);
    if (!o->kind == !to->kind && !o->fabric == !to->fabric &&
        !o->name == !to->name && !o->interface == !to->interface &&
        !o->mac == !to->mac && !o->munge == !to->munge)
        return 0;
    hsn_nic_options_free(to);
    errno = ENOMEM;
    return -1;
}

void hsn_nic_options_free(struct hsn_nic_options *o)
{
    free((char *)(uintptr_t)o->kind);
    free((char *)(uintptr_t)o->fabric);
    free((char *)(uintptr_t)o->name);
    free((char *)(uintptr_t)o->interface);
    free((char *)(uintptr_t)o->mac);
    free((char *)(uintptr_t)o->munge);
}

void hsn_nic_link(struct hsn_nic *nic, const struct hsn_nic_options *o, bool up,
                  const char *why)
{
    struct errbuf text;

    if (nic->up == up)
        return;
    nic->up = up;
    nic->counters.flaps += !up;
    errprintf(&text, "link %s: %s", up ? "up" : "down", why);
    if (o->say)
        o->say(o->arg, !up, text.text);
}
