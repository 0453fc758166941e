/* SPDX-License-Identifier: BSD-3-Clause
 * Places that packets arrive in, and how what lies in them comes to a module.
 */
#include <string.h>

#include "hsn/engine_priv.h"

size_t hsn_rx_parts(const struct hsn_rx *rx, struct iovec parts[2])
{
    size_t first = rx->buf[0].iov_len;

    if (rx->borrowed) {
        parts[0] = (struct iovec){(void *)(uintptr_t)rx->borrowed, rx->len};
        return 1;
    }
    parts[0] = rx->buf[0];
    if (rx->len <= first || rx->nbuf < 2) {
        parts[0].iov_len = rx->len < first ? rx->len : first;
        return 1;
    }
    parts[1] = (struct iovec){rx->buf[1].iov_base, rx->len - first};
    return 2;
}

void hsn_rx_own(struct hsn_engine *e, struct hsn_rx *rx, size_t data_len)
{
    const uint8_t *from = rx->borrowed;
    size_t left = rx->len;

    if (!from)
        return;
    for (size_t k = 0; k < rx->nbuf && left > 0; k++) {
        size_t n = left < rx->buf[k].iov_len ? left : rx->buf[k].iov_len;

        memcpy(rx->buf[k].iov_base, from, n);
        from += n;
        left -= n;
    }
    HSN_ADD(&e->counts, copied_data, data_len);
    rx->borrowed = NULL;
}

bool hsn_rx_take_pages(struct hsn_engine *e, struct hsn_rx *rx, size_t n,
                       void *page[2])
{
    void *fresh[2] = {NULL, NULL};

    for (size_t k = 0; k < n; k++) {
        fresh[k] = hsn_pages_get(&e->pages);
        if (!fresh[k]) {
            HSN_ADD(&e->counts, no_memory, 1);
            hsn_pages_put(&e->pages, fresh[0]);
            return false;
        }
    }
    page[0] = page[1] = NULL;
    for (size_t k = 0; k < n; k++) {
        page[k] = rx->buf[k].iov_base;
        rx->buf[k].iov_base = fresh[k];
    }
    return true;
}

struct iovec hsn_rx_header(struct hsn_engine *e, const struct iovec *parts,
                           size_t at, size_t len)
{
    size_t first = parts[0].iov_len;
    uint8_t *second;

    if (at + len <= first)
        return (struct iovec){(uint8_t *)parts[0].iov_base + at, len};
    second = parts[1].iov_base;
    if (at >= first)
        return (struct iovec){second + (at - first), len};
    memmove(second + (first - at), second, len - (first - at));
    memcpy(second, (uint8_t *)parts[0].iov_base + at, first - at);
    HSN_ADD(&e->counts, copied_header, len);
    return (struct iovec){second, len};
}

void hsn_deliver(struct hsn_engine *e, struct hsn_module *m,
                 const struct hsn_delivery *d)
{
    HSN_ADD(&e->counts, delivered, 1);
    m->ops.deliver(m->arg, d);
}

size_t hsn_rx_pages_for(const struct hsn_rx *rx, size_t len)
{
    return rx->nbuf == 2 && len > rx->buf[0].iov_len ? 2 : 1;
}
