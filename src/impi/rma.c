/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The engine itself: its windows, the messages that come, and peers that go.
 * What a message means, and what a process does to others' memory, is in the
 * files that rma_impl.h names.
 *
 * Messages of one peer come in the order in which it sent them, so an answer
 * to the last of them (FLUSHED) confirms them all, and an UNLOCK stands behind
 * the operations of its epoch.  What the network moves is confirmed by itself
 * (impi_rma_moved()), and UNLOCK and COMPLETE wait for it.
 *
 * A lock is put off until there is something to do under it (ops.early): it
 * goes with the first operation, and the target keeps what comes from an origin
 * that waits for its turn.  A short operation is held until the next call, for
 * the unlock may go with it.
 */
#include "impi/rma.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "impi/rma_direct.h"
#include "impi/rma_epoch.h"
#include "impi/rma_lock.h"
#include "impi/rma_origin.h"
#include "impi/rma_target.h"

/* ---- life ---- */

struct impi_rma *impi_rma_create(uint32_t rank, uint32_t nprocs,
                                 const struct impi_rma_ops *ops, void *arg)
{
    struct impi_rma *rma = calloc(1, sizeof(*rma));

    if (!rma)
        return NULL;
    rma->ops = ops;
    rma->arg = arg;
    rma->rank = rank;
    rma->nprocs = nprocs;
    rma->lost = calloc(nprocs, sizeof(*rma->lost));
    if (rma->lost && rma_types_create(&rma->types, nprocs) == 0)
        return rma;
    free(rma->lost);
    free(rma);
    return NULL;
}

int rma_longer(void **p, size_t old, size_t size)
{
    uint8_t *more = realloc(*p, size);

    if (!more)
        return -1;
    memset(more + old, 0, size - old);
    *p = more;
    return 0;
}

static int grow_win(struct impi_rma_win *win, uint32_t nprocs)
{
    uint32_t *member = realloc(win->member, nprocs * sizeof(*member));

    if (!member)
        return -1;
    win->member = member;
    for (uint32_t i = win->rma->nprocs; i < nprocs; i++)
        member[i] = win->n;
    return 0;
}

/* Where it fails some tables are longer than need be. */
int impi_rma_grow(struct impi_rma *rma, uint32_t nprocs)
{
    uint32_t old = rma->nprocs;

    if (rma_longer((void **)&rma->lost, old * sizeof(*rma->lost),
                   nprocs * sizeof(*rma->lost)) < 0 ||
        rma_types_grow(&rma->types, old, nprocs) < 0)
        return -1;
    for (struct impi_rma_win *win = rma->wins; win; win = win->next)
        if (grow_win(win, nprocs) < 0)
            return -1;
    rma->nprocs = nprocs;
    return 0;
}

void impi_rma_destroy(struct impi_rma *rma)
{
    if (!rma)
        return;
    while (rma->wins)
        impi_rma_win_free(rma->wins);
    rma_types_free(&rma->types, rma->nprocs);
    free(rma->lost);
    impi_slots_free(&rma->slots);
    free(rma);
}

/* ---- windows ---- */

static struct impi_rma_win *find_win(const struct impi_rma *rma, uint64_t id)
{
    struct impi_rma_win *win = rma->wins;

    while (win && win->id != id)
        win = win->next;
    return win;
}

static void win_destroy(struct impi_rma_win *win)
{
    for (uint32_t i = 0; win->peers && i < win->n; i++) {
        rma_lock_drop_kept(&win->peers[i]);
        free(win->peers[i].held);
    }
    free(win->world);
    free(win->member);
    free(win->peers);
    free(win->memory.pieces);
    free(win->private_words);
    free(win->queue);
    free(win);
}

struct impi_rma_win *impi_rma_win_create(struct impi_rma *rma, uint64_t id,
                                         const uint32_t *world, uint32_t n,
                                         uint32_t own)
{
    struct impi_rma_win *win;

    if (find_win(rma, id)) {
        errno = EEXIST;
        return NULL;
    }
    win = calloc(1, sizeof(*win));
    if (!win)
        return NULL;
    win->rma = rma;
    win->id = id;
    win->n = n;
    win->own = own;
    win->world = malloc(n * sizeof(*win->world));
    win->member = malloc(rma->nprocs * sizeof(*win->member));
    win->peers = calloc(n, sizeof(*win->peers));
    win->queue = malloc(n * sizeof(*win->queue));
    win->words = win->private_words = calloc(1, impi_rma_words_size(n));
    if (!win->world || !win->member || !win->peers || !win->queue ||
        !win->words) {
        win_destroy(win);
        errno = ENOMEM;
        return NULL;
    }
    for (uint32_t i = 0; i < rma->nprocs; i++)
        win->member[i] = n;
    for (uint32_t i = 0; i < n; i++) {
        win->world[i] = world[i];
        win->member[world[i]] = i;
    }
    win->next = rma->wins;
    rma->wins = win;
    return win;
}

void impi_rma_win_free(struct impi_rma_win *win)
{
    struct impi_rma_win **p = &win->rma->wins;

    while (*p != win)
        p = &(*p)->next;
    *p = win->next;
    win_destroy(win);
}

void impi_rma_win_ask_first(struct impi_rma_win *win)
{
    win->asks_first = true;
}

void impi_rma_win_words(struct impi_rma_win *win, struct impi_rma_words *words)
{
    win->words = words;
}

void impi_rma_win_dynamic(struct impi_rma_win *win)
{
    win->memory.dynamic = true;
}

int impi_rma_win_attach(struct impi_rma_win *win, void *base, uint64_t size)
{
    return rma_memory_attach(&win->memory, base, size);
}

int impi_rma_win_memory(struct impi_rma_win *win, void *base, uint64_t size)
{
    return impi_rma_win_attach(win, base, size);
}

int impi_rma_win_detach(struct impi_rma_win *win, const void *base)
{
    return rma_memory_detach(&win->memory, base);
}

void rma_note_refusal(struct impi_rma_win *win, uint32_t target, uint32_t error,
                      int64_t disp)
{
    if (!win->refused)
        win->refusal = (struct impi_rma_refusal){target, error, (uint64_t)disp};
    win->refused = true;
}

bool impi_rma_win_refused(struct impi_rma_win *win,
                          struct impi_rma_refusal *refusal)
{
    bool refused = win->refused;

    *refusal = win->refusal;
    win->refused = false;
    return refused;
}

/* ---- the end of a peer ---- */

bool impi_rma_is_lost(const struct impi_rma_win *win, uint32_t member)
{
    return win->rma->lost[win->world[member]];
}

/* As if it had answered all, and had nothing of ours. */
static void lose_member(struct impi_rma_win *win, uint32_t member)
{
    struct rma_peer *p = &win->peers[member];

    if (p->open > 0 || p->held || p->unflushed || p->flushed < p->needed)
        rma_note_refusal(win, member, IMPI_RMA_ERR_LOST, 0);
    free(p->held);
    p->held = NULL;
    p->unflushed = false;
    p->since = 0;
    p->needed = p->flushed = p->flushes;
    if (p->exposure == ASKED)
        p->exposure = NOT_EXPOSED;
    rma_lock_lose(win, member);
}

void impi_rma_lose(struct impi_rma *rma, uint32_t peer)
{
    if (rma->lost[peer])
        return;
    rma->lost[peer] = true;
    for (struct impi_rma_win *win = rma->wins; win; win = win->next)
        if (win->member[peer] < win->n)
            lose_member(win, win->member[peer]);
    rma_origin_lose(rma, peer);
}

/* ---- messages ---- */

int rma_broke(struct errbuf *err, const char *what)
{
    errprintf(err, "%s", what);
    errno = EPROTO;
    return -1;
}

static int handle_in(struct impi_rma_win *win, uint32_t member,
                     const struct rma_head *h, const uint8_t *data, size_t len,
                     struct errbuf *err)
{
    struct rma_peer *p = &win->peers[member];

    switch (h->kind) {
    case MSG_RESULT:
        return rma_origin_take_result(win, member, h, data, len, err);
    case MSG_REFUSED:
        return rma_origin_take_refusal(win, member, h, err);
    case MSG_FLUSH:
        return rma_lock_take_flush(win, member, h, err);
    case MSG_FLUSHED:
        return rma_epoch_take_flushed(p, h->id, err);
    case MSG_LOCK:
        return rma_lock_take(win, member, h, err);
    case MSG_GRANTED:
        return rma_epoch_take_grant(p, err);
    case MSG_UNLOCK:
        return rma_lock_take_unlock(win, member, h, err);
    case MSG_POST:
        p->posts++;
        return 0;
    case MSG_COMPLETE:
        p->completes++;
        return 0;
    case MSG_TURN:
        rma_lock_grant(win);
        return 0;
    case MSG_EXPOSE:
        rma_direct_take_expose(win, member);
        return 0;
    case MSG_EXPOSED:
        return rma_direct_take_exposed(p, h, err);
    default:
        return rma_target_take(win, member, h, data, len, err);
    }
}

/* Is what it says of a lock what such a message may say? */
static bool lock_is_good(const struct impi_rma *rma, const struct rma_head *h)
{
    if (!h->lock && !h->leave)
        return true;
    if (!rma->ops->early || h->leave > 1)
        return false;
    return h->kind == MSG_LOCK
               ? !h->lock
               : h->kind < MSG_RESULT && h->lock && (!h->leave || h->id);
}

static int handle(struct impi_rma *rma, uint32_t peer, const struct rma_head *h,
                  const uint8_t *data, size_t len, struct errbuf *err)
{
    struct impi_rma_win *win;

    if (h->version != RMA_VERSION || h->kind == 0 || h->kind >= MSG_KINDS ||
        !lock_is_good(rma, h))
        return rma_broke(err,
                         "a message of one-sided communication is malformed");
    if (h->kind == MSG_TYPE)
        return rma_type_take(rma, peer, h, data, len, err);
    win = find_win(rma, h->win);
    if (!win || win->member[peer] == win->n)
        return rma_broke(err,
                         "a message is for a window that it has no part in");
    return handle_in(win, win->member[peer], h, data, len, err);
}

void rma_tell(struct impi_rma *rma, uint32_t peer, struct rma_head *h,
              const void *data, size_t len, bool lasts)
{
    uint8_t out[IMPI_RMA_HEAD];

    h->version = RMA_VERSION;
    if (peer == rma->rank) {
        handle(rma, peer, h, data, len, NULL);
        return;
    }
    rma_head_encode(h, out);
    rma->ops->send(rma->arg, peer, out, data, len, lasts);
}

void rma_tell_member(struct impi_rma_win *win, uint32_t member, uint8_t kind,
                     uint16_t op, uint64_t id)
{
    struct rma_head h = {.kind = kind, .op = op, .win = win->id, .id = id};

    rma_tell(win->rma, win->world[member], &h, NULL, 0, false);
}

int impi_rma_input(struct impi_rma *rma, uint32_t peer, const void *msg,
                   size_t len, struct errbuf *err)
{
    struct rma_head h;

    if (len < IMPI_RMA_HEAD || peer >= rma->nprocs || peer == rma->rank)
        return rma_broke(err,
                         "a message of one-sided communication is cut short");
    rma_head_decode(&h, msg);
    return handle(rma, peer, &h, (const uint8_t *)msg + IMPI_RMA_HEAD,
                  len - IMPI_RMA_HEAD, err);
}

int impi_rma_input_placed(struct impi_rma *rma, uint32_t peer,
                          const uint8_t head[IMPI_RMA_HEAD], const void *data,
                          size_t len, struct errbuf *err)
{
    struct rma_head h;

    rma_head_decode(&h, head);
    h.placed = true;
    return handle(rma, peer, &h, data, len, err);
}

void *impi_rma_place(struct impi_rma *rma, uint32_t peer,
                     const uint8_t head[IMPI_RMA_HEAD], size_t len)
{
    const struct impi_rma_win *win;
    struct rma_head h;

    if (len < SF_IMPI_RMA_PLACE_MIN || peer >= rma->nprocs || peer == rma->rank)
        return NULL;
    rma_head_decode(&h, head);
    win = h.version == RMA_VERSION ? find_win(rma, h.win) : NULL;
    if (!win || win->member[peer] == win->n)
        return NULL;
    if (h.kind == IMPI_RMA_PUT)
        return rma_target_place(win, win->member[peer], &h, len);
    return h.kind == MSG_RESULT
               ? rma_origin_place(win, win->member[peer], &h, len)
               : NULL;
}
