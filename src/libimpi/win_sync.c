/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The calls that synchronize windows that span: epochs of fences, of groups,
 * of locks; flushes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "libimpi/coll.h"
#include "libimpi/foreign.h"
#include "libimpi/group.h"
#include "libimpi/ours.h"
#include "libimpi/progress.h"
#include "libimpi/win.h"
#include "libimpi/win_share.h"
#include "libimpi/win_wire.h"

/* A lock of memory that is mapped here is given back within some instructions,
 * or not soon.  Looks at it before others are served meanwhile; and rounds of
 * service between checks whether its holder has died. */
#define LOCK_SPINS 1000
#define WATCH_EVERY 4096
/* A program may flush in a loop until it sees a change: after so many flushes
 * with nothing to wait for, one lets messages of others come in. */
#define QUICK_MOST 64

/* ---- waiting ---- */

/* Under the lock. */
static const struct win *waits_in;
static const char *waits_why;
static int waits_for; /* rank of the window, -1: all of it */

static void wait_begins(const struct win *w, const char *why, int rank)
{
    waits_in = w;
    waits_why = why;
    waits_for = rank;
}

static void wait_ends(void)
{
    waits_in = NULL;
}

const char *win_of_lost(uint32_t rank)
{
    static char text[WIN_TEXT_MAX + 96];
    const struct win *in = waits_in ? waits_in : win_with(rank);
    char window[WIN_TEXT_MAX], whose[32] = "all";

    if (!in)
        return "";
    win_text(in, window);
    if (waits_in && waits_for >= 0)
        snprintf(whose, sizeof(whose), "rank %d", in->c->world[waits_for]);
    if (waits_in)
        snprintf(text, sizeof(text), "; waits for %s of %s in %s", waits_why,
                 whose, window);
    else
        snprintf(text, sizeof(text), "; it was in %s", window);
    return text;
}

void win_touch(struct win *w, int target)
{
    if (w->state[target] & WIN_TOUCHED)
        return;
    w->state[target] |= WIN_TOUCHED;
    w->touched[w->ntouched++] = target;
}

/* Until a lock that was asked for is there. */
static void wait_lock(struct win *w, int target)
{
    bool mapped = impi_rma_win_reached(w->core, (uint32_t)target) != NULL;
    struct waiter wait = {.native = mapped}; /* no bell wakes it */
    unsigned spins = mapped && !impi_be.crowded ? LOCK_SPINS : 0, rounds = 0;

    while (!impi_rma_is_locked(w->core, (uint32_t)target)) {
        if (spins > 0) {
            spins--;
            continue;
        }
        wait_begins(w, "the lock", target);
        progress_wait(&wait);
        if (mapped && ++rounds % WATCH_EVERY == 0)
            win_share_watch(w, target);
    }
    wait_ends();
}

/* Its lock, if it has one, has not been granted yet. */
static bool waits_for_lock(const struct win *w, int target)
{
    return w->state[target] & WIN_LOCKED &&
           !impi_rma_is_locked(w->core, (uint32_t)target);
}

static void wait_flushed(struct win *w, int target, const char *why)
{
    struct waiter wait = {.native = false};

    while (!impi_rma_is_flushed(w->core, (uint32_t)target)) {
        wait_begins(w, why, target);
        progress_wait(&wait);
    }
    wait_ends();
}

/* A process of another world may be lost: nothing waits for it then. */
static int class_if_lost(const struct win *w, int member)
{
    return impi_rma_is_lost(w->core, (uint32_t)member) ? MPI_ERR_OTHER
                                                       : MPI_SUCCESS;
}

/* Everything on this target is confirmed, and a lock of it is there. */
static void flush_one(struct win *w, int target)
{
    impi_rma_flush(w->core, (uint32_t)target);
    if (waits_for_lock(w, target))
        wait_lock(w, target);
    wait_flushed(w, target, "a flush");
}

/* All that has been touched is confirmed.  Under the lock. */
static void win_flush_touched(struct win *w)
{
    for (int i = 0; i < w->ntouched; i++)
        impi_rma_flush(w->core, (uint32_t)w->touched[i]);
    for (int i = 0; i < w->ntouched; i++) {
        if (waits_for_lock(w, w->touched[i]))
            wait_lock(w, w->touched[i]);
        wait_flushed(w, w->touched[i], "a flush");
        w->state[w->touched[i]] &= (uint8_t)~WIN_TOUCHED;
    }
    w->ntouched = 0;
}

void win_quiet(struct win *w)
{
    struct waiter wait = {.native = false};

    win_flush_touched(w);
    while (!impi_rma_is_quiet(w->core)) {
        wait_begins(w, "its end", -1);
        progress_wait(&wait);
    }
    wait_ends();
}

/* Where it is put off, a flush asks for it. */
static void lock_target(struct win *w, int target, enum impi_rma_lock mode,
                        bool brief)
{
    w->state[target] |= WIN_LOCKED;
    if (impi_rma_lock(w->core, (uint32_t)target, mode, brief))
        wait_lock(w, target);
    else
        win_touch(w, target);
}

int win_access(struct win *w, const struct impi_rma_args *args)
{
    int target = (int)args->target;
    uint8_t state = w->state[target];

    if (state & (WIN_NOCHECK | WIN_STARTED) || (w->lock_all && w->unlocked))
        return MPI_SUCCESS;
    if (!(state & WIN_LOCKED) && !w->lock_all)
        return w->fence ? MPI_SUCCESS : MPI_ERR_RMA_SYNC;
    if (!(state & WIN_LOCKED))
        lock_target(w, target, IMPI_RMA_SHARED, false);
    if (impi_rma_needs_lock(w->core, args)) {
        impi_rma_flush(w->core, args->target);
        wait_lock(w, target);
        return class_if_lost(w, target);
    }
    return MPI_SUCCESS;
}

/* ---- fence ---- */

static bool all_are_here(const struct win *w)
{
    for (int i = 0; i < w->c->size; i++) {
        if (!impi_rma_completed(w->core, (uint32_t)i))
            return false;
    }
    return true;
}

/* By the messages that end epochs, of which none is open. */
static int tell_each(struct win *w)
{
    struct waiter wait = {.native = false};
    int rc = MPI_SUCCESS;

    be_lock();
    for (int i = 0; i < w->c->size; i++) {
        impi_rma_complete(w->core, (uint32_t)i);
        foreign_await(w->c, i);
    }
    while (!all_are_here(w))
        progress_wait(&wait);
    for (int i = 0; i < w->c->size; i++) {
        impi_rma_take_complete(w->core, (uint32_t)i);
        if (rc == MPI_SUCCESS)
            rc = class_if_lost(w, i);
    }
    be_unlock();
    return rc;
}

int win_barrier(struct win *w)
{
    return w->c->foreign ? tell_each(w) : coll_barrier(w->c);
}

int impi_Win_fence(int assertion, MPI_Win win)
{
    struct win *w = win_find(win);
    int rc;

    if (!w)
        return ASSISTED(impi_real.Win_fence(assertion, win));
    be_lock();
    if (w->nlocked || w->lock_all || w->nstart >= 0)
        return win_leave(w, MPI_ERR_RMA_SYNC);
    win_flush_touched(w);
    rc = win_settle(w);
    wait_begins(w, "the fence", -1);
    be_unlock();
    if (rc == MPI_SUCCESS)
        rc = win_barrier(w);
    else
        win_barrier(w);
    wait_ends();
    w->fence = !(assertion & MPI_MODE_NOSUCCEED);
    return rc == MPI_SUCCESS ? rc : win_raise(w, rc);
}

/* ---- post, start, complete, wait ---- */

/* A group's members as ranks of the window.  MPI error class. */
static int ranks_of(const struct win *w, MPI_Group group, int **ranks, int *n)
{
    struct members m = {0};
    int rc = members_of(group, &m);

    *ranks = NULL;
    if (rc != MPI_SUCCESS)
        return rc;
    *n = m.n;
    *ranks = malloc(((size_t)m.n + 1) * sizeof(**ranks));
    if (!*ranks)
        rc = MPI_ERR_NO_MEM;
    for (int i = 0; i < m.n && rc == MPI_SUCCESS; i++) {
        int r = 0;

        while (r < w->c->size && w->c->world[r] != m.world[i])
            r++;
        (*ranks)[i] = r;
        if (r == w->c->size)
            rc = MPI_ERR_GROUP;
    }
    free(m.world);
    if (rc != MPI_SUCCESS) {
        free(*ranks);
        *ranks = NULL;
    }
    return rc;
}

int impi_Win_post(MPI_Group group, int assertion, MPI_Win win)
{
    struct win *w = win_find(win);
    int rc = MPI_SUCCESS, n;

    if (!w && impi_group_ours(group))
        return impi_unsupported(MPI_COMM_SELF, CALL_Win_post);
    if (!w)
        return impi_real.Win_post(group, assertion, win);
    be_lock();
    rc = w->npost >= 0 ? MPI_ERR_RMA_SYNC : ranks_of(w, group, &w->post, &n);
    if (rc != MPI_SUCCESS)
        return win_leave(w, rc);
    w->npost = n;
    for (int i = 0; i < n && !(assertion & MPI_MODE_NOCHECK); i++)
        impi_rma_post(w->core, (uint32_t)w->post[i]);
    return win_leave(w, MPI_SUCCESS);
}

static void wait_post(struct win *w, int target)
{
    struct waiter wait = {.native = false};

    foreign_await(w->c, target);
    while (!impi_rma_take_post(w->core, (uint32_t)target)) {
        wait_begins(w, "the post", target);
        progress_wait(&wait);
    }
    wait_ends();
}

int impi_Win_start(MPI_Group group, int assertion, MPI_Win win)
{
    struct win *w = win_find(win);
    int rc, n;

    if (!w && impi_group_ours(group))
        return impi_unsupported(MPI_COMM_SELF, CALL_Win_start);
    if (!w)
        return ASSISTED(impi_real.Win_start(group, assertion, win));
    be_lock();
    rc = w->nstart >= 0 || w->nlocked || w->lock_all
             ? MPI_ERR_RMA_SYNC
             : ranks_of(w, group, &w->start, &n);
    if (rc != MPI_SUCCESS)
        return win_leave(w, rc);
    w->nstart = n;
    for (int i = 0; i < n; i++) {
        w->state[w->start[i]] |= WIN_STARTED;
        if (!(assertion & MPI_MODE_NOCHECK))
            wait_post(w, w->start[i]);
    }
    return win_leave(w, MPI_SUCCESS);
}

int impi_Win_complete(MPI_Win win)
{
    struct win *w = win_find(win);

    if (!w)
        return ASSISTED(impi_real.Win_complete(win));
    be_lock();
    if (w->nstart < 0)
        return win_leave(w, MPI_ERR_RMA_SYNC);
    for (int i = 0; i < w->nstart; i++) {
        impi_rma_flush(w->core, (uint32_t)w->start[i]);
        impi_rma_complete(w->core, (uint32_t)w->start[i]);
        w->state[w->start[i]] &= (uint8_t)~WIN_STARTED;
    }
    win_flush_touched(w);
    free(w->start);
    w->start = NULL;
    w->nstart = -1;
    return win_leave(w, win_settle(w));
}

static bool all_completed(const struct win *w)
{
    for (int i = 0; i < w->npost; i++) {
        if (!impi_rma_completed(w->core, (uint32_t)w->post[i]))
            return false;
    }
    return true;
}

/* MPI error class. */
static int end_exposure(struct win *w)
{
    int rc = MPI_SUCCESS;

    for (int i = 0; i < w->npost; i++) {
        impi_rma_take_complete(w->core, (uint32_t)w->post[i]);
        if (rc == MPI_SUCCESS)
            rc = class_if_lost(w, w->post[i]);
    }
    free(w->post);
    w->post = NULL;
    w->npost = -1;
    return rc;
}

int impi_Win_wait(MPI_Win win)
{
    struct win *w = win_find(win);
    struct waiter wait = {.native = false};

    if (!w)
        return ASSISTED(impi_real.Win_wait(win));
    be_lock();
    if (w->npost < 0)
        return win_leave(w, MPI_ERR_RMA_SYNC);
    for (int i = 0; i < w->npost; i++)
        foreign_await(w->c, w->post[i]);
    while (!all_completed(w)) {
        wait_begins(w, "the epoch", -1);
        progress_wait(&wait);
    }
    wait_ends();
    return win_leave(w, end_exposure(w));
}

int impi_Win_test(MPI_Win win, int *flag)
{
    struct win *w = win_find(win);
    int rc = MPI_SUCCESS;

    if (!w)
        return impi_real.Win_test(win, flag);
    be_lock();
    if (w->npost < 0)
        return win_leave(w, MPI_ERR_RMA_SYNC);
    progress_once();
    *flag = all_completed(w);
    if (*flag)
        rc = end_exposure(w);
    return win_leave(w, rc);
}

/* ---- lock, unlock ---- */

/* What is wrong with a rank and the epoch it needs; *none: MPI_PROC_NULL. */
static int check_rank(const struct win *w, int rank, bool *none)
{
    *none = rank == MPI_PROC_NULL;
    if (!*none && (rank < 0 || rank >= w->c->size))
        return MPI_ERR_RANK;
    return MPI_SUCCESS;
}

static int lock_one(struct win *w, int type, int rank, int assertion)
{
    bool none;
    int rc = check_rank(w, rank, &none);

    if (type != MPI_LOCK_SHARED && type != MPI_LOCK_EXCLUSIVE)
        return MPI_ERR_LOCKTYPE;
    if (rc != MPI_SUCCESS || none)
        return rc;
    if (w->lock_all || w->nstart >= 0 ||
        w->state[rank] & (WIN_LOCKED | WIN_NOCHECK))
        return MPI_ERR_RMA_SYNC;
    w->nlocked++;
    if (assertion & MPI_MODE_NOCHECK) {
        w->state[rank] |= WIN_NOCHECK;
        return MPI_SUCCESS;
    }
    lock_target(w, rank,
                type == MPI_LOCK_SHARED ? IMPI_RMA_SHARED : IMPI_RMA_EXCLUSIVE,
                true);
    rc = class_if_lost(w, rank);
    if (rc != MPI_SUCCESS) {
        impi_rma_unlock(w->core, (uint32_t)rank);
        w->state[rank] &= (uint8_t)~WIN_LOCKED;
        w->nlocked--;
    }
    return rc;
}

int impi_Win_lock(int lock_type, int rank, int assertion, MPI_Win win)
{
    struct win *w = win_find(win);

    if (!w)
        return ASSISTED(impi_real.Win_lock(lock_type, rank, assertion, win));
    be_lock();
    return win_leave(w, lock_one(w, lock_type, rank, assertion));
}

static int unlock_one(struct win *w, int rank)
{
    const char *why = "a flush";
    bool none;
    int rc = check_rank(w, rank, &none);

    if (rc != MPI_SUCCESS || none)
        return rc;
    if (w->lock_all || !(w->state[rank] & (WIN_LOCKED | WIN_NOCHECK)))
        return MPI_ERR_RMA_SYNC;
    if (waits_for_lock(w, rank))
        why = "the lock";
    if (w->state[rank] & WIN_LOCKED)
        impi_rma_unlock(w->core, (uint32_t)rank);
    else
        impi_rma_flush(w->core, (uint32_t)rank);
    w->state[rank] &= (uint8_t) ~(WIN_LOCKED | WIN_NOCHECK);
    w->nlocked--;
    wait_flushed(w, rank, why);
    return win_settle(w);
}

int impi_Win_unlock(int rank, MPI_Win win)
{
    struct win *w = win_find(win);

    if (!w)
        return ASSISTED(impi_real.Win_unlock(rank, win));
    be_lock();
    return win_leave(w, unlock_one(w, rank));
}

int impi_Win_lock_all(int assertion, MPI_Win win)
{
    struct win *w = win_find(win);

    if (!w)
        return ASSISTED(impi_real.Win_lock_all(assertion, win));
    be_lock();
    if (w->lock_all || w->nlocked || w->nstart >= 0)
        return win_leave(w, MPI_ERR_RMA_SYNC);
    w->lock_all = true;
    w->unlocked = assertion & MPI_MODE_NOCHECK;
    return win_leave(w, MPI_SUCCESS);
}

int impi_Win_unlock_all(MPI_Win win)
{
    struct win *w = win_find(win);

    if (!w)
        return ASSISTED(impi_real.Win_unlock_all(win));
    be_lock();
    if (!w->lock_all)
        return win_leave(w, MPI_ERR_RMA_SYNC);
    for (int i = 0; i < w->c->size; i++) {
        if (!(w->state[i] & WIN_LOCKED))
            continue;
        impi_rma_unlock(w->core, (uint32_t)i);
        w->state[i] &= (uint8_t)~WIN_LOCKED;
        win_touch(w, i);
    }
    w->lock_all = false;
    win_flush_touched(w);
    return win_leave(w, win_settle(w));
}

/* ---- flush, sync ---- */

static int flush_target(struct win *w, int rank)
{
    bool none;
    int rc = check_rank(w, rank, &none);

    if (rc != MPI_SUCCESS || none)
        return rc;
    if (!w->lock_all && !(w->state[rank] & (WIN_LOCKED | WIN_NOCHECK)))
        return MPI_ERR_RMA_SYNC;
    flush_one(w, rank);
    if (w->direct[rank])
        progress_once();
    return win_settle(w);
}

/* Nothing of this process is under way to a target whose memory is mapped. */
static bool is_flushed_at_once(struct win *w, int rank)
{
    unsigned quick = __atomic_load_n(&w->quick, __ATOMIC_RELAXED) + 1;

    __atomic_store_n(&w->quick, quick, __ATOMIC_RELAXED);
    if (!win_is_open(w, rank) || w->ops || w->state[rank] & WIN_TOUCHED ||
        !(w->lock_all || w->nlocked) || quick % QUICK_MOST == 0)
        return false;
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
    return true;
}

int impi_Win_flush(int rank, MPI_Win win)
{
    struct win *w = win_find(win);

    if (!w)
        return ASSISTED(impi_real.Win_flush(rank, win));
    if (is_flushed_at_once(w, rank))
        return MPI_SUCCESS;
    be_lock();
    return win_leave(w, flush_target(w, rank));
}

int impi_Win_flush_local(int rank, MPI_Win win)
{
    struct win *w = win_find(win);

    if (!w)
        return ASSISTED(impi_real.Win_flush_local(rank, win));
    if (is_flushed_at_once(w, rank))
        return MPI_SUCCESS;
    be_lock();
    return win_leave(w, flush_target(w, rank));
}

static int flush_everything(struct win *w)
{
    if (!w->lock_all && !w->nlocked)
        return MPI_ERR_RMA_SYNC;
    win_flush_touched(w);
    return win_settle(w);
}

int impi_Win_flush_all(MPI_Win win)
{
    struct win *w = win_find(win);

    if (!w)
        return ASSISTED(impi_real.Win_flush_all(win));
    be_lock();
    return win_leave(w, flush_everything(w));
}

int impi_Win_flush_local_all(MPI_Win win)
{
    struct win *w = win_find(win);

    if (!w)
        return ASSISTED(impi_real.Win_flush_local_all(win));
    be_lock();
    return win_leave(w, flush_everything(w));
}

/* The memory model is unified: what others have stored is there.  Who looks
 * for it in a loop lets it come in. */
int impi_Win_sync(MPI_Win win)
{
    struct win *w = win_find(win);

    if (!w)
        return impi_real.Win_sync(win);
    be_lock();
    progress_once();
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return win_leave(w, MPI_SUCCESS);
}
