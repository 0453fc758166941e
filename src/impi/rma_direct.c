/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/rma_direct.h"

#include <stdlib.h>
#include <string.h>

#include "impi/rma_apply.h"
#include "impi/rma_epoch.h"

void impi_rma_win_reach(struct impi_rma_win *win, uint32_t target,
                        struct impi_rma_words *words, void *base, uint64_t size)
{
    struct rma_peer *p = &win->peers[target];

    p->words = words;
    p->base = base;
    p->size = size;
}

void impi_rma_win_reach_far(struct impi_rma_win *win, uint32_t target,
                            uint64_t address, uint64_t size)
{
    struct rma_peer *p = &win->peers[target];

    p->far = true;
    p->address = address;
    p->size = size;
}

void *impi_rma_win_memory_of(const struct impi_rma_win *win, uint32_t target,
                             uint64_t *size)
{
    *size = win->peers[target].size;
    return win->peers[target].base;
}

struct impi_rma_words *impi_rma_win_reached(const struct impi_rma_win *win,
                                            uint32_t target)
{
    return win->peers[target].words;
}

/* ---- memory of others that is mapped here ---- */

/* Moves bytes between the origin's memory and the target's. */
static int change_mapped(struct impi_rma_win *win,
                         const struct impi_rma_args *args,
                         const struct rma_head *h, uint8_t *at)
{
    const struct rma_spot spot = {
        win, args->target, win->peers[args->target].words, args->type, at};

    return rma_apply(&spot, h, args->data, args->result);
}

static uint32_t do_mapped(struct impi_rma_win *win,
                          const struct impi_rma_args *args,
                          const struct rma_head *h)
{
    const struct rma_peer *p = &win->peers[args->target];
    struct rma_piece all = {p->base, p->size};
    uint8_t *at = NULL;

    if (!rma_op_is_good(h))
        return IMPI_RMA_ERR_OP;
    if (h->len > 0 && !rma_piece_holds(&all, args->type, h, h->disp, &at))
        return IMPI_RMA_ERR_RANGE;
    return change_mapped(win, args, h, at) < 0 ? IMPI_RMA_ERR_NO_MEM
                                               : IMPI_RMA_OK;
}

bool impi_rma_at_once(struct impi_rma_win *win,
                      const struct impi_rma_args *args)
{
    const struct rma_peer *p = &win->peers[args->target];
    const uint64_t disp = (uint64_t)args->disp;
    struct rma_head h;
    uint8_t *at;

    if (!p->base || args->type || args->len > p->size ||
        disp > p->size - args->len)
        return false;
    at = p->base + disp;
    if (args->kind == IMPI_RMA_PUT) {
        memmove(at, args->data, args->len);
        return true;
    }
    if (args->kind == IMPI_RMA_GET) {
        memmove(args->result, at, args->len);
        return true;
    }
    h = (struct rma_head){.kind = (uint8_t)args->kind,
                          .op = (uint16_t)args->op,
                          .elem = (uint16_t)args->elem,
                          .len = args->len};
    return rma_op_is_good(&h) && change_mapped(win, args, &h, at) == 0;
}

void rma_direct_mapped(struct impi_rma_win *win,
                       const struct impi_rma_args *args,
                       const struct rma_head *h, struct impi_rma_op *op)
{
    uint32_t error = do_mapped(win, args, h);

    if (error != IMPI_RMA_OK)
        rma_note_refusal(win, args->target, error, args->disp);
    if (op) {
        op->win = win;
        op->target = args->target;
        op->error = error;
        op->done = true;
    }
}

/* ---- memory of others that can be copied ---- */

/* False: by a message, which also finds out what is wrong. */
static bool start_far(struct impi_rma_win *win,
                      const struct impi_rma_args *args, struct impi_rma_op *op)
{
    const struct rma_peer *p = &win->peers[args->target];
    bool write = args->kind == IMPI_RMA_PUT;
    const struct impi_rma *rma = win->rma;
    uint64_t disp = (uint64_t)args->disp;
    void *own = write ? (void *)(uintptr_t)args->data : args->result;

    if (!p->far || args->type || (!write && args->kind != IMPI_RMA_GET) ||
        args->len > p->size || disp > p->size - args->len)
        return false;
    if (args->len > 0 &&
        rma->ops->copy(rma->arg, win, args->target, p->address + disp, own,
                       args->len, write) < 0)
        return false;
    if (op)
        *op = (struct impi_rma_op){
            .done = true, .user = op->user, .win = win, .target = args->target};
    return true;
}

/* ---- memory of others that the network reads and writes ---- */

/* One that is under way. */
struct move {
    struct impi_rma_win *win;
    uint32_t target;
    struct impi_rma_op *op; /* NULL: it ends with a flush */
};

void rma_direct_take_expose(struct impi_rma_win *win, uint32_t member)
{
    const struct impi_rma *rma = win->rma;
    struct impi_rma_place own = {0};
    bool yes = rma->ops->expose && rma->ops->expose(rma->arg, win, &own);
    struct rma_head h = {.kind = MSG_EXPOSED,
                         .op = yes,
                         .win = win->id,
                         .id = own.key,
                         .disp = (int64_t)own.address,
                         .count = own.size};

    rma_tell(win->rma, win->world[member], &h, NULL, 0, false);
}

int rma_direct_take_exposed(struct rma_peer *p, const struct rma_head *h,
                            struct errbuf *err)
{
    if (p->exposure != ASKED || h->op > 1)
        return rma_broke(err, "memory is told of that was not asked for");
    p->exposure = h->op ? EXPOSED : NOT_EXPOSED;
    p->place = (struct impi_rma_place){(uint64_t)h->disp, h->count, h->id};
    return 0;
}

/* Its memory is there to be moved; asked for the first time, it will be. */
static bool is_exposed(struct impi_rma_win *win, uint32_t target)
{
    struct rma_peer *p = &win->peers[target];

    if (p->exposure == NOT_ASKED) {
        p->exposure = ASKED;
        rma_tell_member(win, target, MSG_EXPOSE, 0, 0);
    }
    return p->exposure == EXPOSED;
}

/* A put or get of bytes in a row. */
static bool is_plain(const struct impi_rma_args *args)
{
    return !args->type && args->len > 0 && !rma_is_atomic((uint8_t)args->kind);
}

/* And neither end needs a copy. */
static bool is_plain_move(const struct impi_rma_args *args)
{
    return is_plain(args) && (args->kind == IMPI_RMA_GET || args->lasts);
}

static bool begin_move(const struct impi_rma_win *win, struct move *m,
                       const struct impi_rma_args *args)
{
    const struct rma_peer *p = &win->peers[args->target];
    const struct impi_rma *rma = win->rma;
    bool write = args->kind == IMPI_RMA_PUT;
    struct impi_rma_place there = p->place;
    void *own = write ? (void *)(uintptr_t)args->data : args->result;

    there.address += (uint64_t)args->disp;
    there.size = args->len;
    return rma->ops->move(rma->arg, win->world[args->target], &there, own,
                          args->len, write, m);
}

/* False: by a message, which also finds out what is wrong. */
static bool start_move(struct impi_rma_win *win,
                       const struct impi_rma_args *args, struct impi_rma_op *op)
{
    struct rma_peer *p = &win->peers[args->target];
    const struct impi_rma *rma = win->rma;
    uint64_t disp = (uint64_t)args->disp;
    struct move *m;

    if (!rma->ops->may_move || !is_plain_move(args) ||
        !rma->ops->may_move(rma->arg, win->world[args->target], args->len,
                            args->kind == IMPI_RMA_PUT) ||
        !is_exposed(win, args->target) || args->len > p->place.size ||
        disp > p->place.size - args->len)
        return false;
    m = malloc(sizeof(*m));
    if (!m)
        return false;
    *m = (struct move){win, args->target, op};
    if (!begin_move(win, m, args)) {
        free(m);
        return false;
    }
    p->moves++;
    p->open++;
    if (op)
        *op = (struct impi_rma_op){
            .user = op->user, .win = win, .target = args->target};
    return true;
}

void impi_rma_moved(void *token)
{
    struct move *m = token;
    struct rma_peer *p = &m->win->peers[m->target];

    if (m->op)
        m->op->done = true;
    p->open--;
    p->moves--;
    if (p->moves == 0)
        rma_epoch_end_moves(m->win, m->target);
    free(m);
}

/* ---- either of these two ---- */

bool rma_direct_may(const struct impi_rma_win *win,
                    const struct impi_rma_args *args)
{
    const struct impi_rma *rma = win->rma;

    return win->peers[args->target].far ||
           (rma->ops->may_move && is_plain(args) &&
            rma->ops->may_move(rma->arg, win->world[args->target], args->len,
                               args->kind == IMPI_RMA_PUT));
}

bool rma_direct_start(struct impi_rma_win *win,
                      const struct impi_rma_args *args, struct impi_rma_op *op)
{
    return start_far(win, args, op) || start_move(win, args, op);
}
