/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/rma_wire.h"

#include <string.h>

#include "base/be.h"

void rma_head_encode(const struct rma_head *h, uint8_t out[IMPI_RMA_HEAD])
{
    memset(out, 0, IMPI_RMA_HEAD);
    out[0] = h->version;
    out[1] = h->kind;
    out[2] = h->lock;
    out[3] = h->leave;
    be_store32(out + 4, (uint32_t)h->op << 16 | h->elem);
    be_store32(out + 8, h->type);
    be_store64(out + 16, h->win);
    be_store64(out + 24, h->id);
    be_store64(out + 32, (uint64_t)h->disp);
    be_store64(out + 40, h->count);
    be_store64(out + 48, h->len);
}

void rma_head_decode(struct rma_head *h, const uint8_t in[IMPI_RMA_HEAD])
{
    uint32_t op = be_load32(in + 4);

    h->version = in[0];
    h->placed = false;
    h->kind = in[1];
    h->lock = in[2];
    h->leave = in[3];
    h->op = (uint16_t)(op >> 16);
    h->elem = (uint16_t)op;
    h->type = (uint16_t)be_load32(in + 8);
    h->win = be_load64(in + 16);
    h->id = be_load64(in + 24);
    h->disp = (int64_t)be_load64(in + 32);
    h->count = be_load64(in + 40);
    h->len = be_load64(in + 48);
}

uint64_t rma_data_of(const struct rma_head *h)
{
    switch (h->kind) {
    case IMPI_RMA_GET:
        return 0;
    case IMPI_RMA_GACC:
        return h->op == IMPI_RMA_NO_OP ? 0 : h->len;
    case IMPI_RMA_CAS:
        return 2 * h->len;
    default:
        return h->len;
    }
}
