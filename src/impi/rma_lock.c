/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/rma_lock.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "impi/rma_target.h"

/* A message of an origin that waits for its turn. */
struct kept {
    struct kept *next;
    struct rma_head h;
    struct impi_typemap *type; /* a copy, for it may change; or NULL */
    size_t len;
    uint8_t data[];
};

static void kept_free(struct kept *k)
{
    free(k->type);
    free(k);
}

static struct kept *take_kept(struct rma_peer *p)
{
    struct kept *k = p->kept;

    if (k)
        p->kept = k->next;
    return k;
}

void rma_lock_drop_kept(struct rma_peer *p)
{
    struct kept *k;

    while ((k = take_kept(p)))
        kept_free(k);
}

void rma_lock_give_back(struct impi_rma_win *win, uint32_t origin)
{
    struct rma_peer *p = &win->peers[origin];

    impi_rma_words_leave(win->words, p->holds, origin);
    p->holds = IMPI_RMA_UNLOCKED;
}

/* What came before its turn did. */
static void do_kept(struct impi_rma_win *win, uint32_t origin)
{
    struct rma_peer *p = &win->peers[origin];
    struct kept *k;

    while ((k = take_kept(p))) {
        if (k->h.kind == MSG_FLUSH || k->h.kind == MSG_UNLOCK)
            rma_tell_member(win, origin, MSG_FLUSHED, 0, k->h.id);
        else
            rma_target_do(win, win->world[origin], &k->h, k->type, k->data);
        if (k->h.kind == MSG_UNLOCK || k->h.leave)
            rma_lock_give_back(win, origin);
        kept_free(k);
    }
    p->kept_bytes = 0;
    p->kept_all = false;
}

/* Its turn has come, and it is in: let it know. */
static bool grant(struct impi_rma_win *win, uint32_t origin)
{
    struct rma_peer *p = &win->peers[origin];
    bool next; /* we look at the next one ourselves */

    if (!impi_rma_words_enter(win->words, p->turn, p->waits, &next))
        return false;
    p->holds = p->waits;
    p->waits = IMPI_RMA_UNLOCKED;
    win->queue_head = (win->queue_head + 1) % win->n;
    win->queue_len--;
    if (impi_rma_is_lost(win, origin)) {
        rma_lock_give_back(win, origin);
        return true;
    }
    if (!p->silent)
        rma_tell_member(win, origin, MSG_GRANTED, 0, 0);
    do_kept(win, origin);
    return true;
}

/* Those at the head of the queue whose turn has come.  Who leaves tells us only
 * when we have said that we wait for it; then look once more. */
void rma_lock_grant(struct impi_rma_win *win)
{
    bool waits = false;

    while (win->queue_len > 0) {
        if (grant(win, win->queue[win->queue_head]))
            continue;
        if (waits)
            return;
        waits = true;
        impi_rma_words_await(win->words, true);
    }
    impi_rma_words_await(win->words, false);
}

int rma_lock_join(struct impi_rma_win *win, uint32_t origin, uint16_t mode,
                  bool silent, struct errbuf *err)
{
    struct rma_peer *p = &win->peers[origin];

    if (mode != IMPI_RMA_SHARED && mode != IMPI_RMA_EXCLUSIVE)
        return rma_broke(err, "a lock is neither shared nor exclusive");
    if (p->holds || p->waits)
        return rma_broke(err, "a lock is asked for twice");
    p->waits = (uint8_t)mode;
    p->silent = silent;
    p->turn = impi_rma_words_ask(win->words, p->waits, origin);
    win->queue[(win->queue_head + win->queue_len++) % win->n] = origin;
    return 0;
}

void rma_lock_lose(struct impi_rma_win *win, uint32_t member)
{
    struct rma_peer *p = &win->peers[member];

    rma_lock_drop_kept(p);
    if (p->holds)
        rma_lock_give_back(win, member);
    rma_lock_grant(win);
}

uint64_t rma_lock_size_kept(const struct impi_typemap *type, size_t len)
{
    return IMPI_RMA_HEAD + len + (type ? impi_typemap_wire(type) : 0);
}

/* No more than its origin may send, and what ends it. */
static int check_kept(const struct rma_peer *p, uint64_t size,
                      struct errbuf *err)
{
    if (p->kept_all)
        return rma_broke(err, "an operation stands behind the unlock");
    if (size > SF_IMPI_RMA_EARLY_MAX + IMPI_RMA_HEAD - p->kept_bytes)
        return rma_broke(err, "too much comes before its lock");
    return 0;
}

int rma_lock_keep(struct rma_peer *p, const struct rma_head *h,
                  const struct impi_typemap *type, const uint8_t *data,
                  size_t len, struct errbuf *err)
{
    uint64_t size = rma_lock_size_kept(type, len);
    struct kept *k;

    if (check_kept(p, size, err) < 0)
        return -1;
    k = malloc(sizeof(*k) + len);
    if (!k)
        return -1;
    k->next = NULL;
    k->h = *h;
    k->h.placed = false;
    k->len = len;
    k->type = type ? rma_type_copy(type) : NULL;
    if (type && !k->type) {
        free(k);
        return -1;
    }
    if (len > 0)
        memcpy(k->data, data, len);
    if (!p->kept)
        p->kept_end = &p->kept;
    *p->kept_end = k;
    p->kept_end = &k->next;
    p->kept_bytes += size;
    p->kept_all = h->kind == MSG_UNLOCK || h->leave;
    return 0;
}

static int unlock_by(struct impi_rma_win *win, uint32_t origin, uint64_t id,
                     struct errbuf *err)
{
    if (!win->peers[origin].holds)
        return rma_broke(err, "a lock is given back that is not held");
    rma_lock_give_back(win, origin);
    rma_tell_member(win, origin, MSG_FLUSHED, 0, id);
    rma_lock_grant(win);
    return 0;
}

int rma_lock_take_flush(struct impi_rma_win *win, uint32_t origin,
                        const struct rma_head *h, struct errbuf *err)
{
    struct rma_peer *p = &win->peers[origin];

    if (p->waits)
        return rma_lock_keep(p, h, NULL, NULL, 0, err);
    rma_tell_member(win, origin, MSG_FLUSHED, 0, h->id);
    return 0;
}

int rma_lock_take_unlock(struct impi_rma_win *win, uint32_t origin,
                         const struct rma_head *h, struct errbuf *err)
{
    struct rma_peer *p = &win->peers[origin];

    if (p->waits)
        return rma_lock_keep(p, h, NULL, NULL, 0, err);
    return unlock_by(win, origin, h->id, err);
}

int rma_lock_take(struct impi_rma_win *win, uint32_t origin,
                  const struct rma_head *h, struct errbuf *err)
{
    struct rma_head unlock = {.kind = MSG_UNLOCK, .id = h->id};

    if (rma_lock_join(win, origin, h->op, h->leave, err) < 0 ||
        (h->leave &&
         rma_lock_keep(&win->peers[origin], &unlock, NULL, NULL, 0, err) < 0))
        return -1;
    rma_lock_grant(win);
    return 0;
}
