/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/rma_origin.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "impi/rma_apply.h"
#include "impi/rma_direct.h"
#include "impi/rma_epoch.h"
#include "impi/rma_lock.h"

/* An operation of ours that waits for the next call. */
struct held {
    struct rma_head h;
    size_t len;
    uint8_t data[];
};

/* ---- answers ---- */

/* The operation of ours that an answer of the peer is for. */
static struct impi_rma_op *find_op(const struct impi_rma_win *win,
                                   uint32_t member, uint64_t id)
{
    struct impi_rma_op *op = impi_slots_find(&win->rma->slots, id);

    return op && op->win == win && op->target == member ? op : NULL;
}

static void end_op(struct impi_rma_op *op, uint32_t error)
{
    impi_slots_remove(&op->win->rma->slots, op->id);
    op->win->peers[op->target].open--;
    rma_came_in(&op->win->peers[op->target]);
    op->error = error;
    op->done = true;
}

int rma_origin_take_result(struct impi_rma_win *win, uint32_t member,
                           const struct rma_head *h, const uint8_t *data,
                           size_t len, struct errbuf *err)
{
    struct impi_rma_op *op = find_op(win, member, h->id);

    if (!op || len != op->len || op->placed != h->placed)
        return rma_broke(err, "an answer fits no operation");
    if (len > 0 && !h->placed)
        memmove(op->result, data, len); /* of its own window perhaps */
    end_op(op, IMPI_RMA_OK);
    return 0;
}

int rma_origin_take_refusal(struct impi_rma_win *win, uint32_t member,
                            const struct rma_head *h, struct errbuf *err)
{
    struct impi_rma_op *op = h->id ? find_op(win, member, h->id) : NULL;

    if ((h->id && !op) || (op && op->placed) || h->op == IMPI_RMA_OK ||
        h->op > IMPI_RMA_ERR_NO_MEM)
        return rma_broke(err, "a refusal fits no operation");
    if (op)
        end_op(op, h->op);
    rma_note_refusal(win, member, h->op, h->disp);
    return 0;
}

void rma_origin_lose(struct impi_rma *rma, uint32_t peer)
{
    struct impi_rma_op *op;
    uint32_t i = 0;

    while ((op = impi_slots_next(&rma->slots, &i)))
        if (op->win->world[op->target] == peer)
            end_op(op, IMPI_RMA_ERR_LOST);
}

void *rma_origin_place(const struct impi_rma_win *win, uint32_t target,
                       const struct rma_head *h, size_t len)
{
    struct impi_rma_op *op = find_op(win, target, h->id);

    if (!op || op->placed || op->len != len)
        return NULL;
    op->placed = true;
    return op->result;
}

/* ---- operations ---- */

static int open_op(struct impi_rma_win *win, uint32_t target, void *result,
                   uint64_t len, struct impi_rma_op *op)
{
    *op = (struct impi_rma_op){.user = op->user,
                               .win = win,
                               .target = target,
                               .result = result,
                               .len = len};
    op->id = impi_slots_add(&win->rma->slots, op);
    if (!op->id)
        return -1;
    win->peers[target].open++;
    return 0;
}

/* An operation on it ends as it begins. */
static void start_lost(struct impi_rma_win *win,
                       const struct impi_rma_args *args, struct impi_rma_op *op)
{
    if (op)
        *op = (struct impi_rma_op){.done = true,
                                   .error = IMPI_RMA_ERR_LOST,
                                   .user = op->user,
                                   .win = win,
                                   .target = args->target};
    rma_note_refusal(win, args->target, IMPI_RMA_ERR_LOST, args->disp);
}

/* What the target may have to keep for it, and for a FLUSH behind it. */
static uint64_t early_size(const struct impi_rma_args *args,
                           const struct rma_head *h)
{
    return rma_lock_size_kept(args->type, rma_data_of(h)) + IMPI_RMA_HEAD;
}

static struct rma_head head_of(const struct impi_rma_win *win,
                               const struct impi_rma_args *args)
{
    return (struct rma_head){.kind = (uint8_t)args->kind,
                             .op = (uint16_t)args->op,
                             .elem = (uint16_t)args->elem,
                             .win = win->id,
                             .disp = args->disp,
                             .count = args->count,
                             .len = args->len};
}

bool impi_rma_needs_lock(const struct impi_rma_win *win,
                         const struct impi_rma_args *args)
{
    const struct rma_peer *p = &win->peers[args->target];
    struct rma_head h = head_of(win, args);

    if (rma_is_in(p) || p->base)
        return false;
    if (rma_direct_may(win, args))
        return true;
    return p->early + early_size(args, &h) > SF_IMPI_RMA_EARLY_MAX;
}

/* The lock goes with this operation. */
static void carry(struct rma_peer *p, struct rma_head *h)
{
    h->lock = p->lock;
    p->stage = CARRIED;
    p->before = p->flushes;
}

/* A handle for an operation that needs none: `first` of the target, if it is
 * free. */
static struct impi_rma_op *spare(struct rma_peer *p)
{
    return p->first.id && !p->first.done ? NULL : &p->first;
}

bool rma_origin_let_go(struct impi_rma_win *win, uint32_t target, bool last,
                       bool leave)
{
    struct rma_peer *p = &win->peers[target];
    struct held *m = p->held;
    struct impi_rma_op *handle = m->h.id || !last ? NULL : spare(p);
    bool left;

    p->held = NULL;
    if (handle && open_op(win, target, NULL, 0, handle) == 0)
        m->h.id = handle->id;
    if (!m->h.id)
        p->unflushed = true;
    left = leave && m->h.id;
    carry(p, &m->h);
    m->h.leave = left;
    rma_tell(win->rma, win->world[target], &m->h, m->data, m->len, false);
    free(m);
    return left;
}

/* False: it goes out at once. */
static bool hold(struct impi_rma_win *win, const struct impi_rma_args *args,
                 const struct rma_head *h)
{
    struct rma_peer *p = &win->peers[args->target];
    size_t len = rma_data_of(h);
    struct held *m;

    if (!p->lock || p->stage != PUT_OFF || !p->hold || args->type ||
        args->len > SF_IMPI_RMA_HELD_MAX)
        return false;
    m = malloc(sizeof(*m) + len);
    if (!m)
        return false;
    m->h = *h;
    m->len = len;
    if (len > 0)
        memcpy(m->data, args->data, len);
    p->held = m;
    return true;
}

/* An operation without a handle: where there was one alone before each flush it
 * is answered by itself, and no FLUSH follows.  The handle for that, if any. */
static struct impi_rma_op *alone(struct rma_peer *p)
{
    return p->since == 1 && !p->many ? spare(p) : NULL;
}

/* By a message, which may also ask for the lock. */
static int send_op(struct impi_rma_win *win, const struct impi_rma_args *args,
                   struct rma_head *h, struct impi_rma_op *op)
{
    struct rma_peer *p = &win->peers[args->target];
    struct impi_rma_op *handle = op;
    uint64_t len = rma_has_result(h->kind) ? args->len : 0;

    p->early += early_size(args, h);
    if (!op)
        p->since++;
    if (op && open_op(win, args->target, args->result, len, op) < 0)
        return -1;
    if (op)
        h->id = op->id;
    if (p->held)
        rma_origin_let_go(win, args->target, false, false);
    if (!args->now && hold(win, args, h))
        return 0;
    if (!op)
        handle = alone(p);
    if (handle != op && open_op(win, args->target, NULL, 0, handle) == 0)
        h->id = handle->id;
    if (!h->id)
        p->unflushed = true;
    if (p->lock && p->stage == PUT_OFF)
        carry(p, h);
    rma_tell(win->rma, win->world[args->target], h, args->data, rma_data_of(h),
             args->lasts);
    return 0;
}

int impi_rma_start(struct impi_rma_win *win, const struct impi_rma_args *args,
                   struct impi_rma_op *op)
{
    const struct rma_peer *p = &win->peers[args->target];
    struct rma_head h = head_of(win, args);
    int type;

    if (impi_rma_is_lost(win, args->target)) {
        start_lost(win, args, op);
        return 0;
    }
    if (p->base) {
        rma_direct_mapped(win, args, &h, op);
        return 0;
    }
    if (rma_is_in(p) && rma_direct_start(win, args, op))
        return 0;
    type = args->type ? rma_type_introduce(win->rma, win->world[args->target],
                                           args->type)
                      : 0;
    if (type < 0)
        return -1;
    h.type = (uint16_t)type;
    return send_op(win, args, &h, op);
}
