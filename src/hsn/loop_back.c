/* SPDX-License-Identifier: BSD-3-Clause
 * Messages to modules of the same board.
 */
#include "hsn/engine_priv.h"

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
    else
        hsn_deliver(e, m, &d);
}
