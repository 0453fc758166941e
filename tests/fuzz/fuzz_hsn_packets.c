/* SPDX-License-Identifier: BSD-3-Clause
 * Packets from the wire, whole and in halves: records of u8 flags, u16 length,
 * then that many bytes, which become one packet.  With flag 1 the HSN header
 * is completed with a right checksum, so that what lies behind is reached.
 */
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "fuzz.h"
#include "base/crc32c.h"
#include "hsn/engine.h"

struct wire {
    struct be_reader r;
    uint8_t packet[HSN_MTU];
    struct hsn_engine *e;
};

static int no_send(void *nic, const struct hsn_tx *tx)
{
    (void)nic;
    (void)tx;
    return 0;
}

static void nothing(void *nic)
{
    (void)nic;
}

static size_t no_reap(void *nic, struct hsn_sent *sent, size_t max)
{
    (void)nic;
    (void)sent;
    (void)max;
    return 0;
}

static void no_cancel(void *nic, uint32_t slot)
{
    (void)nic;
    (void)slot;
}

static size_t next_packet(void *nic, struct hsn_rx *rx, size_t n)
{
    struct wire *w = nic;
    unsigned flags = be_get8(&w->r);
    size_t len = be_get16(&w->r) % (HSN_MTU + 1), at = 0;

    if (w->r.bad || n == 0)
        return 0;
    if (len > w->r.left)
        len = w->r.left;
    memcpy(w->packet, be_get_bytes(&w->r, len), len);
    if ((flags & 1) && len >= HSN_TRAILER) {
        memset(w->packet + len - 8, 0, 8);
        w->packet[len - 8] = HSN_VERSION;
        be_store32(w->packet + len - 4, crc32c(0, w->packet, len - 4));
    }
    rx->type = flags & 2 ? HSN_TYPE_MAPPER : HSN_TYPE;
    rx->subtype = 0;
    rx->len = len;
    rx->borrowed = flags & 4 ? w->packet : NULL;
    for (size_t k = 0; k < rx->nbuf && at < len; k++) {
        size_t m =
            len - at < rx->buf[k].iov_len ? len - at : rx->buf[k].iov_len;

        memcpy(rx->buf[k].iov_base, w->packet + at, m);
        at += m;
    }
    return 1;
}

/* Every byte that is delivered is read. */
static void deliver(void *arg, const struct hsn_delivery *d)
{
    uint32_t sum = 0;

    (void)arg;
    for (size_t i = 0; i < d->ndata; i++)
        sum = crc32c(sum, d->data[i].iov_base, d->data[i].iov_len);
    sum = crc32c(sum, d->header.iov_base, d->header.iov_len);
    if (sum == 0x12345678)
        abort(); /* so that it is not optimised away */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct hsn_nic_ops ops = {no_send,   nothing,     no_reap,
                                           no_cancel, next_packet, nothing};
    static struct wire w;
    struct hsn_engine_options o = {.board = 2,
                                   .rx_slots = 4,
                                   .batch = 1,
                                   .halves_max = 4,
                                   .page_size = size % 2 ? 4096 : 8192};
    static const struct hsn_module_ops module = {deliver, NULL};
    uint64_t now = 0;

    be_reader_init(&w.r, data, size);
    w.e = hsn_engine_new(&o, &ops, &w);
    if (!w.e)
        return 0;
    hsn_engine_open(w.e, HSN_MODULE_CLIENT, &module, &w);
    hsn_engine_open(w.e, HSN_MODULE_SERVER, &module, &w);
    while (hsn_engine_wake(w.e, now))
        now += 300000000;
    hsn_engine_free(w.e);
    return 0;
}
