/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/rma_target.h"

#include <stdlib.h>

#include "impi/rma_apply.h"
#include "impi/rma_lock.h"

static void refuse(struct impi_rma *rma, uint32_t peer,
                   const struct rma_head *h, uint16_t error)
{
    struct rma_head answer = {.kind = MSG_REFUSED,
                              .op = error,
                              .win = h->win,
                              .id = h->id,
                              .disp = h->disp};

    rma_tell(rma, peer, &answer, NULL, 0, false);
}

/* Nothing is changed; the origin hears of it. */
static void no_memory(struct impi_rma *rma, uint32_t peer,
                      const struct rma_head *h)
{
    refuse(rma, peer, h, IMPI_RMA_ERR_NO_MEM);
}

static void answer(struct impi_rma *rma, uint32_t peer,
                   const struct rma_head *h, const void *data, size_t len)
{
    struct rma_head answer = {.kind = MSG_RESULT, .win = h->win, .id = h->id};

    rma_tell(rma, peer, &answer, data, len, false);
}

void rma_target_do(struct impi_rma_win *win, uint32_t peer,
                   const struct rma_head *h, const struct impi_typemap *type,
                   const uint8_t *data)
{
    struct rma_spot spot = {win, win->own, win->words, type, NULL};
    uint8_t *old = NULL;
    int rc;

    if (!rma_op_is_good(h)) {
        refuse(win->rma, peer, h, IMPI_RMA_ERR_OP);
        return;
    }
    if (!rma_memory_find(&win->memory, type, h, &spot.at)) {
        refuse(win->rma, peer, h, IMPI_RMA_ERR_RANGE);
        return;
    }
    /* Not as data that last: an unlock or a complete may follow at once, and
     * who comes next changes what was got. */
    if (h->kind == IMPI_RMA_GET && !type) {
        if (h->id)
            answer(win->rma, peer, h, spot.at, h->len);
        return;
    }
    if (rma_has_result(h->kind)) {
        old = malloc(h->len + 1);
        if (!old) {
            no_memory(win->rma, peer, h);
            return;
        }
    }
    rc = rma_apply(&spot, h, data, old);
    if (rc < 0)
        no_memory(win->rma, peer, h);
    else if (h->id)
        answer(win->rma, peer, h, old, old ? h->len : 0);
    free(old);
}

int rma_target_take(struct impi_rma_win *win, uint32_t origin,
                    const struct rma_head *h, const uint8_t *data, size_t len,
                    struct errbuf *err)
{
    struct rma_peer *p = &win->peers[origin];
    uint32_t peer = win->world[origin];
    const struct impi_typemap *type;

    if (rma_type_find(win->rma, peer, h, &type, err) < 0)
        return -1;
    if (len != rma_data_of(h))
        return rma_broke(err, "an operation has not the data that it tells of");
    if (h->lock && rma_lock_join(win, origin, h->lock, true, err) < 0)
        return -1;
    if (h->lock)
        rma_lock_grant(win);
    if (p->waits)
        return rma_lock_keep(p, h, type, data, len, err);
    rma_target_do(win, peer, h, type, data);
    if (h->leave) {
        rma_lock_give_back(win, origin);
        rma_lock_grant(win);
    }
    return 0;
}

void *rma_target_place(const struct impi_rma_win *win, uint32_t origin,
                       const struct rma_head *h, size_t len)
{
    uint8_t *at;

    if (win->memory.dynamic || h->type || h->lock || win->peers[origin].waits ||
        h->len != len || !rma_memory_find(&win->memory, NULL, h, &at))
        return NULL;
    return at;
}
