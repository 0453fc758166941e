/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/rma_apply.h"

#include <stdlib.h>
#include <string.h>

bool rma_op_is_good(const struct rma_head *h)
{
    size_t size = impi_rma_elem_size(h->elem);

    switch (h->kind) {
    case IMPI_RMA_ACC:
    case IMPI_RMA_GACC:
        return impi_rma_op_fits(h->op, h->elem) &&
               (h->len == size || h->len % size == 0);
    case IMPI_RMA_CAS:
        return size > 0 && h->len == size && h->type == 0;
    default:
        return true;
    }
}

static void load(const struct impi_typemap *type, const struct rma_head *h,
                 const uint8_t *at, uint8_t *out)
{
    if (h->len == 0)
        return;
    if (type)
        impi_typemap_gather(type, h->count, at, out);
    else if (h->len == sizeof(uint64_t))
        memcpy(out, at, sizeof(uint64_t)); /* the compiler's own */
    else
        memmove(out, at, h->len); /* a window of its own perhaps */
}

static void store(const struct impi_typemap *type, const struct rma_head *h,
                  uint8_t *at, const uint8_t *in)
{
    if (h->len == 0 || h->placed)
        return;
    if (type)
        impi_typemap_scatter(type, h->count, at, in);
    else
        memmove(at, in, h->len);
}

/* Of one element, as most are, without a division. */
static size_t elems_of(const struct rma_head *h)
{
    size_t size = impi_rma_elem_size(h->elem);

    return h->len == size ? 1 : h->len / size;
}

static int accumulate(const struct impi_typemap *type, const struct rma_head *h,
                      uint8_t *at, const uint8_t *in)
{
    size_t n = elems_of(h);
    uint8_t *packed;

    if (h->op == IMPI_RMA_NO_OP || n == 0)
        return 0;
    if (!type) {
        impi_rma_op_apply(h->op, h->elem, at, in, n);
        return 0;
    }
    packed = malloc(h->len);
    if (!packed)
        return -1;
    load(type, h, at, packed);
    impi_rma_op_apply(h->op, h->elem, packed, in, n);
    store(type, h, at, packed);
    free(packed);
    return 0;
}

static void swap_if_equal(const struct rma_head *h, uint8_t *at,
                          const uint8_t *in)
{
    if (h->len > 0 && memcmp(at, in + h->len, h->len) == 0)
        memcpy(at, in, h->len);
}

/* Be the only one who changes elements of the target's memory. */
static void begin_change(const struct rma_spot *spot)
{
    const struct impi_rma_win *win = spot->win;
    const struct impi_rma *rma = win->rma;
    uint32_t who;

    for (unsigned i = 0; !impi_rma_words_begin(spot->words, win->own, &who);
         i++)
        if (rma->ops->pause)
            rma->ops->pause(rma->arg, win, spot->target, who, i);
}

int rma_apply(const struct rma_spot *spot, const struct rma_head *h,
              const void *data, void *old)
{
    int rc = 0;

    if (h->kind == IMPI_RMA_PUT) {
        store(spot->type, h, spot->at, data);
        return 0;
    }
    if (h->kind == IMPI_RMA_GET) {
        load(spot->type, h, spot->at, old);
        return 0;
    }
    begin_change(spot);
    if (rma_has_result(h->kind))
        load(spot->type, h, spot->at, old);
    if (h->kind == IMPI_RMA_CAS)
        swap_if_equal(h, spot->at, data);
    else
        rc = accumulate(spot->type, h, spot->at, data);
    impi_rma_words_end(spot->words);
    return rc;
}
