/* SPDX-License-Identifier: BSD-3-Clause
 * Messages to modules of the same board.
 */
#include <string.h>

#include "hsn/engine_priv.h"

/* The sender's memory is read, so that a page is made where one is due. */
static void loop_back_pages(struct hsn_engine *e, struct hsn_module *m,
                            struct hsn_delivery *d)
{
    size_t data = d->data[0].iov_len, header = d->header.iov_len;
    bool two = data + header > e->pages.size;

    if (data > e->pages.size) {
        HSN_ADD(&e->counts, page_size, 1);
        return;
    }
    d->page[0] = hsn_pages_get(&e->pages);
    d->page[1] = two ? hsn_pages_get(&e->pages) : NULL;
    if (!d->page[0] || (two && !d->page[1])) {
        HSN_ADD(&e->counts, no_memory, 1);
        hsn_pages_put(&e->pages, d->page[0]);
        hsn_pages_put(&e->pages, d->page[1]);
        return;
    }
    if (data)
        memcpy(d->page[0], d->data[0].iov_base, data);
    d->data[0].iov_base = d->page[0];
    HSN_ADD(&e->counts, copied_data, data);
    if (header) {
        void *to = two ? d->page[1] : (uint8_t *)d->page[0] + data;

        d->header.iov_base = memcpy(to, d->header.iov_base, header);
    }
    hsn_deliver(e, m, d);
}

void hsn_loop_back(struct hsn_engine *e, uint16_t module,
                   const struct iovec *data, const struct iovec *header)
{
    struct hsn_module *m = hsn_module_find(e, module);
    struct hsn_delivery d = {.from = e->o.board,
                             .module = module,
                             .data[0] = *data,
                             .ndata = data->iov_len ? 1 : 0,
                             .header = *header};

    if (!m)
        HSN_ADD(&e->counts, no_module, 1);
    else if (m->ops.copies)
        hsn_deliver(e, m, &d);
    else
        loop_back_pages(e, m, &d);
}
