/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/rma_epoch.h"

#include "impi/rma_origin.h"

int rma_epoch_take_flushed(struct rma_peer *p, uint64_t id, struct errbuf *err)
{
    if (id != p->flushed + 1 || id > p->flushes)
        return rma_broke(err, "a flush is confirmed that was not asked for");
    p->flushed = id;
    if (id > p->before)
        rma_came_in(p);
    return 0;
}

int rma_epoch_take_grant(struct rma_peer *p, struct errbuf *err)
{
    if (p->grants == 0)
        return rma_broke(err, "a lock is granted that was not asked for");
    p->grants--;
    if (p->stage == REQUESTED && p->grants == 0)
        p->stage = IN;
    return 0;
}

/* ---- flushes ---- */

/* The number of a FLUSH or UNLOCK for all that was started. */
static uint64_t next_flush(struct rma_peer *p)
{
    p->flushes++;
    if (p->unflushed)
        p->needed = p->flushes;
    p->unflushed = false;
    return p->flushes;
}

static void end_since(struct rma_peer *p)
{
    if (p->since > 0)
        p->many = p->since > 1;
    p->since = 0;
}

/* By a message of its own, which is answered. */
static void ask(struct impi_rma_win *win, uint32_t target)
{
    struct rma_peer *p = &win->peers[target];

    p->stage = REQUESTED;
    p->grants++;
    rma_tell_member(win, target, MSG_LOCK, p->lock, 0);
}

void impi_rma_flush(struct impi_rma_win *win, uint32_t target)
{
    struct rma_peer *p = &win->peers[target];

    end_since(p);
    if (p->held)
        rma_origin_let_go(win, target, true, false);
    else if (p->lock && p->stage == PUT_OFF)
        ask(win, target);
    if (p->unflushed)
        rma_tell_member(win, target, MSG_FLUSH, 0, next_flush(p));
}

/* The target's engine may be the next one. */
static void tell_turn(struct impi_rma_win *win, uint32_t target, bool next)
{
    if (next)
        rma_tell_member(win, target, MSG_TURN, 0, 0);
}

static void leave(struct impi_rma_win *win, uint32_t target)
{
    struct rma_peer *p = &win->peers[target];
    enum impi_rma_lock mode = p->lock;

    p->leaving = false;
    p->lock = IMPI_RMA_UNLOCKED;
    tell_turn(win, target, impi_rma_words_leave(p->words, mode, win->own));
}

bool impi_rma_is_flushed(struct impi_rma_win *win, uint32_t target)
{
    struct rma_peer *p = &win->peers[target];

    if (p->open > 0 || p->flushed < p->needed)
        return false;
    if (p->leaving)
        leave(win, target);
    return true;
}

bool impi_rma_is_quiet(const struct impi_rma_win *win)
{
    for (uint32_t i = 0; i < win->n; i++) {
        const struct rma_peer *p = &win->peers[i];

        if (p->flushed != p->flushes || p->exposure == ASKED)
            return false;
    }
    return true;
}

/* ---- locks ---- */

bool impi_rma_lock(struct impi_rma_win *win, uint32_t target,
                   enum impi_rma_lock mode, bool brief)
{
    struct rma_peer *p = &win->peers[target];

    p->lock = (uint8_t)mode;
    p->stage = PUT_OFF;
    p->hold = brief;
    p->early = 0;
    if (p->words) {
        p->stage = REQUESTED;
        p->number = impi_rma_words_ask(p->words, mode, win->own);
        return true;
    }
    if (win->rma->ops->early && !win->asks_first && target != win->own)
        return false;
    ask(win, target);
    return true;
}

bool impi_rma_is_locked(struct impi_rma_win *win, uint32_t target)
{
    struct rma_peer *p = &win->peers[target];
    bool next;

    if (p->stage != IN && p->words) {
        if (impi_rma_words_enter(p->words, p->number, p->lock, &next))
            p->stage = IN;
        tell_turn(win, target, next);
    }
    return p->stage == IN || impi_rma_is_lost(win, target);
}

/* Nothing has been done under it; it may be a meeting of processes. */
static void pass_through(struct impi_rma_win *win, uint32_t target,
                         uint8_t mode)
{
    struct rma_peer *p = &win->peers[target];
    struct rma_head h = {
        .kind = MSG_LOCK, .op = mode, .win = win->id, .leave = 1};

    p->unflushed = true;
    h.id = next_flush(p);
    rma_tell(win->rma, win->world[target], &h, NULL, 0, false);
}

static void send_unlock(struct impi_rma_win *win, uint32_t target)
{
    rma_tell_member(win, target, MSG_UNLOCK, 0,
                    next_flush(&win->peers[target]));
}

/* By messages an UNLOCK stands behind all operations, and nobody waits for its
 * answer if each has its own; the words are left when those that went by
 * messages are confirmed. */
void impi_rma_unlock(struct impi_rma_win *win, uint32_t target)
{
    struct rma_peer *p = &win->peers[target];
    bool left = false;
    uint8_t mode = p->lock;

    if (p->words) {
        p->leaving = true;
        impi_rma_flush(win, target);
        return;
    }
    end_since(p);
    if (impi_rma_is_lost(win, target)) {
        p->lock = IMPI_RMA_UNLOCKED;
        return;
    }
    if (p->held)
        left = rma_origin_let_go(win, target, true, true);
    p->lock = IMPI_RMA_UNLOCKED;
    if (left)
        return;
    if (p->stage == PUT_OFF)
        pass_through(win, target, mode);
    else if (p->moves > 0)
        p->unlock_waits = true;
    else
        send_unlock(win, target);
}

/* ---- post, start, complete, wait ---- */

void impi_rma_post(struct impi_rma_win *win, uint32_t origin)
{
    rma_tell_member(win, origin, MSG_POST, 0, 0);
}

bool impi_rma_take_post(struct impi_rma_win *win, uint32_t target)
{
    struct rma_peer *p = &win->peers[target];

    if (p->posts == 0)
        return impi_rma_is_lost(win, target);
    p->posts--;
    return true;
}

void impi_rma_complete(struct impi_rma_win *win, uint32_t target)
{
    if (win->peers[target].moves > 0)
        win->peers[target].complete_waits = true;
    else
        rma_tell_member(win, target, MSG_COMPLETE, 0, 0);
}

void rma_epoch_end_moves(struct impi_rma_win *win, uint32_t target)
{
    struct rma_peer *p = &win->peers[target];

    if (p->unlock_waits)
        send_unlock(win, target);
    if (p->complete_waits)
        rma_tell_member(win, target, MSG_COMPLETE, 0, 0);
    p->unlock_waits = p->complete_waits = false;
}

bool impi_rma_completed(const struct impi_rma_win *win, uint32_t origin)
{
    return win->peers[origin].completes > 0 || impi_rma_is_lost(win, origin);
}

void impi_rma_take_complete(struct impi_rma_win *win, uint32_t origin)
{
    if (win->peers[origin].completes > 0)
        win->peers[origin].completes--;
}
