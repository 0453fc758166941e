/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Windows that span: how they are made and freed, and the calls that
 * synchronize.
 */
#include "libimpi/win.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/limits.h"
#include "libimpi/coll.h"
#include "libimpi/failed.h"
#include "libimpi/group.h"
#include "libimpi/progress.h"
#include "libimpi/ours.h"
#include "libimpi/win_share.h"
#include "libimpi/win_wire.h"

/* A lock of memory that is mapped here is given back within some instructions,
 * or not soon.  Looks at it before others are served meanwhile; and rounds of
 * service between looks for who has it and is gone. */
#define LOCK_SPINS 1000
#define WATCH_EVERY 4096
/* Flushes that have nothing to wait for, one after the other: who looks for a
 * change in a loop of them lets others' messages come in at this one. */
#define QUICK_MOST 64

static struct win *windows;

int win_raise(const struct win *w, int code)
{
    return failed_note_win(w->handle, code);
}

struct win *win_find(MPI_Win handle)
{
    struct win *w = __atomic_load_n(&windows, __ATOMIC_ACQUIRE);

    while (w && w->handle != handle)
        w = __atomic_load_n(&w->next, __ATOMIC_ACQUIRE);
    return w;
}

struct win *win_of(const struct impi_rma_win *core)
{
    struct win *w = windows;

    while (w && w->core != core)
        w = w->next;
    return w;
}

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

const char *win_waits(void)
{
    static char text[MPI_MAX_OBJECT_NAME + 160];
    char name[MPI_MAX_OBJECT_NAME] = "", whose[32] = "all";
    int n;

    if (!waits_in)
        return "";
    if (waits_for >= 0)
        snprintf(whose, sizeof(whose), "rank %d",
                 waits_in->c->world[waits_for]);
    impi_real.Win_get_name(waits_in->handle, name, &n);
    snprintf(text, sizeof(text),
             "; waits for %s of %s in a window of %d processes%s%s", waits_why,
             whose, waits_in->c->size, name[0] ? ", " : "", name);
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

static void wait_flushed(struct win *w, int target)
{
    struct waiter wait = {.native = false};

    while (!impi_rma_is_flushed(w->core, (uint32_t)target)) {
        wait_begins(w, "a flush", target);
        progress_wait(&wait);
    }
    wait_ends();
}

/* Everything on this target is confirmed. */
static void flush_one(struct win *w, int target)
{
    impi_rma_flush(w->core, (uint32_t)target);
    wait_flushed(w, target);
}

static void flush_touched(struct win *w)
{
    for (int i = 0; i < w->ntouched; i++)
        impi_rma_flush(w->core, (uint32_t)w->touched[i]);
    for (int i = 0; i < w->ntouched; i++) {
        wait_flushed(w, w->touched[i]);
        w->state[w->touched[i]] &= (uint8_t)~WIN_TOUCHED;
    }
    w->ntouched = 0;
}

int win_access(struct win *w, int target)
{
    uint8_t state = w->state[target];

    if (state & (WIN_LOCKED | WIN_NOCHECK | WIN_STARTED))
        return MPI_SUCCESS;
    if (w->lock_all && w->unlocked)
        return MPI_SUCCESS;
    if (w->lock_all) {
        impi_rma_lock(w->core, (uint32_t)target, IMPI_RMA_SHARED);
        w->state[target] |= WIN_LOCKED;
        wait_lock(w, target);
        return MPI_SUCCESS;
    }
    return w->fence ? MPI_SUCCESS : MPI_ERR_RMA_SYNC;
}

/* The way out of a call that synchronizes. */
static int leave(const struct win *w, int rc)
{
    be_unlock();
    return rc == MPI_SUCCESS ? rc : win_raise(w, rc);
}

/* ---- fence ---- */

int impi_Win_fence(int assertion, MPI_Win win)
{
    struct win *w = win_find(win);
    int rc;

    if (!w)
        return ASSISTED(impi_real.Win_fence(assertion, win));
    be_lock();
    if (w->nlocked || w->lock_all || w->nstart >= 0)
        return leave(w, MPI_ERR_RMA_SYNC);
    flush_touched(w);
    rc = win_settle(w);
    wait_begins(w, "the fence", -1);
    be_unlock();
    if (rc == MPI_SUCCESS)
        rc = coll_barrier(w->c);
    else
        coll_barrier(w->c);
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
        return leave(w, rc);
    w->npost = n;
    for (int i = 0; i < n && !(assertion & MPI_MODE_NOCHECK); i++)
        impi_rma_post(w->core, (uint32_t)w->post[i]);
    return leave(w, MPI_SUCCESS);
}

static void wait_post(struct win *w, int target)
{
    struct waiter wait = {.native = false};

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
        return leave(w, rc);
    w->nstart = n;
    for (int i = 0; i < n; i++) {
        w->state[w->start[i]] |= WIN_STARTED;
        if (!(assertion & MPI_MODE_NOCHECK))
            wait_post(w, w->start[i]);
    }
    return leave(w, MPI_SUCCESS);
}

int impi_Win_complete(MPI_Win win)
{
    struct win *w = win_find(win);

    if (!w)
        return ASSISTED(impi_real.Win_complete(win));
    be_lock();
    if (w->nstart < 0)
        return leave(w, MPI_ERR_RMA_SYNC);
    for (int i = 0; i < w->nstart; i++) {
        impi_rma_flush(w->core, (uint32_t)w->start[i]);
        impi_rma_complete(w->core, (uint32_t)w->start[i]);
        w->state[w->start[i]] &= (uint8_t)~WIN_STARTED;
    }
    flush_touched(w);
    free(w->start);
    w->start = NULL;
    w->nstart = -1;
    return leave(w, win_settle(w));
}

static bool all_completed(const struct win *w)
{
    for (int i = 0; i < w->npost; i++) {
        if (!impi_rma_completed(w->core, (uint32_t)w->post[i]))
            return false;
    }
    return true;
}

static void end_exposure(struct win *w)
{
    for (int i = 0; i < w->npost; i++)
        impi_rma_take_complete(w->core, (uint32_t)w->post[i]);
    free(w->post);
    w->post = NULL;
    w->npost = -1;
}

int impi_Win_wait(MPI_Win win)
{
    struct win *w = win_find(win);
    struct waiter wait = {.native = false};

    if (!w)
        return ASSISTED(impi_real.Win_wait(win));
    be_lock();
    if (w->npost < 0)
        return leave(w, MPI_ERR_RMA_SYNC);
    while (!all_completed(w)) {
        wait_begins(w, "the epoch", -1);
        progress_wait(&wait);
    }
    wait_ends();
    end_exposure(w);
    return leave(w, MPI_SUCCESS);
}

int impi_Win_test(MPI_Win win, int *flag)
{
    struct win *w = win_find(win);

    if (!w)
        return impi_real.Win_test(win, flag);
    be_lock();
    if (w->npost < 0)
        return leave(w, MPI_ERR_RMA_SYNC);
    progress_once();
    *flag = all_completed(w);
    if (*flag)
        end_exposure(w);
    return leave(w, MPI_SUCCESS);
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
    w->state[rank] |= WIN_LOCKED;
    impi_rma_lock(w->core, (uint32_t)rank,
                  type == MPI_LOCK_SHARED ? IMPI_RMA_SHARED
                                          : IMPI_RMA_EXCLUSIVE);
    wait_lock(w, rank);
    return MPI_SUCCESS;
}

int impi_Win_lock(int lock_type, int rank, int assertion, MPI_Win win)
{
    struct win *w = win_find(win);

    if (!w)
        return ASSISTED(impi_real.Win_lock(lock_type, rank, assertion, win));
    be_lock();
    return leave(w, lock_one(w, lock_type, rank, assertion));
}

static int unlock_one(struct win *w, int rank)
{
    bool none;
    int rc = check_rank(w, rank, &none);

    if (rc != MPI_SUCCESS || none)
        return rc;
    if (w->lock_all || !(w->state[rank] & (WIN_LOCKED | WIN_NOCHECK)))
        return MPI_ERR_RMA_SYNC;
    if (w->state[rank] & WIN_LOCKED)
        impi_rma_unlock(w->core, (uint32_t)rank);
    w->state[rank] &= (uint8_t) ~(WIN_LOCKED | WIN_NOCHECK);
    w->nlocked--;
    flush_one(w, rank);
    return win_settle(w);
}

int impi_Win_unlock(int rank, MPI_Win win)
{
    struct win *w = win_find(win);

    if (!w)
        return ASSISTED(impi_real.Win_unlock(rank, win));
    be_lock();
    return leave(w, unlock_one(w, rank));
}

int impi_Win_lock_all(int assertion, MPI_Win win)
{
    struct win *w = win_find(win);

    if (!w)
        return ASSISTED(impi_real.Win_lock_all(assertion, win));
    be_lock();
    if (w->lock_all || w->nlocked || w->nstart >= 0)
        return leave(w, MPI_ERR_RMA_SYNC);
    w->lock_all = true;
    w->unlocked = assertion & MPI_MODE_NOCHECK;
    return leave(w, MPI_SUCCESS);
}

int impi_Win_unlock_all(MPI_Win win)
{
    struct win *w = win_find(win);

    if (!w)
        return ASSISTED(impi_real.Win_unlock_all(win));
    be_lock();
    if (!w->lock_all)
        return leave(w, MPI_ERR_RMA_SYNC);
    for (int i = 0; i < w->c->size; i++) {
        if (!(w->state[i] & WIN_LOCKED))
            continue;
        impi_rma_unlock(w->core, (uint32_t)i);
        w->state[i] &= (uint8_t)~WIN_LOCKED;
        win_touch(w, i);
    }
    w->lock_all = false;
    flush_touched(w);
    return leave(w, win_settle(w));
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
    return leave(w, flush_target(w, rank));
}

int impi_Win_flush_local(int rank, MPI_Win win)
{
    struct win *w = win_find(win);

    if (!w)
        return ASSISTED(impi_real.Win_flush_local(rank, win));
    if (is_flushed_at_once(w, rank))
        return MPI_SUCCESS;
    be_lock();
    return leave(w, flush_target(w, rank));
}

static int flush_everything(struct win *w)
{
    if (!w->lock_all && !w->nlocked)
        return MPI_ERR_RMA_SYNC;
    flush_touched(w);
    return win_settle(w);
}

int impi_Win_flush_all(MPI_Win win)
{
    struct win *w = win_find(win);

    if (!w)
        return ASSISTED(impi_real.Win_flush_all(win));
    be_lock();
    return leave(w, flush_everything(w));
}

int impi_Win_flush_local_all(MPI_Win win)
{
    struct win *w = win_find(win);

    if (!w)
        return ASSISTED(impi_real.Win_flush_local_all(win));
    be_lock();
    return leave(w, flush_everything(w));
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
    return leave(w, MPI_SUCCESS);
}

/* ---- making one ---- */

/* Without the agreement of all, or where a process has no channel to those of
 * its own client, there are none. */
static bool may_be_made(const struct impi_comm *c)
{
    return impi_be.world.flags & IMPI_WORLD_RMA && impi_be.relay < 0 &&
           impi_be.native && !c->inter;
}

bool win_may_share(const struct impi_comm *c)
{
    return may_be_made(c) && win_share_agreed();
}

static void win_destroy(struct win *w)
{
    win_share_free(w);
    if (w->core)
        impi_rma_win_free(w->core);
    free(w->units);
    free(w->sizes);
    free(w->state);
    free(w->direct);
    free(w->touched);
    free(w->start);
    free(w->post);
    free(w);
}

static struct win *win_new(MPI_Comm comm)
{
    struct impi_comm *c = impi_span_find(comm);
    struct win *w = calloc(1, sizeof(*w));
    size_t n = (size_t)c->size;

    if (!w)
        return NULL;
    w->comm = comm;
    w->c = c;
    w->nstart = w->npost = -1;
    w->area = SHARE_NO_AREA;
    w->areas = calloc(n, sizeof(*w->areas));
    w->pids = calloc(n, sizeof(*w->pids));
    w->units = calloc(n, sizeof(*w->units));
    w->sizes = calloc(n, sizeof(*w->sizes));
    w->state = calloc(n, sizeof(*w->state));
    w->direct = calloc(n, sizeof(*w->direct));
    w->touched = calloc(n, sizeof(*w->touched));
    for (size_t i = 0; w->areas && i < n; i++)
        w->areas[i] = SHARE_NO_AREA;
    if (w->units && w->sizes && w->state && w->direct && w->touched &&
        w->areas && w->pids)
        w->core = impi_rma_win_create(win_engine(), c->cid,
                                      (const uint32_t *)c->world, (uint32_t)n,
                                      (uint32_t)c->rank);
    if (w->core)
        return w;
    win_destroy(w);
    return NULL;
}

/* What a member tells all others: how it went, and of its memory.  Numbers of
 * errors are each library's own. */
enum { WENT_WELL, WENT_OUT_OF_MEMORY, WENT_APART, WENT_WRONG };
enum {
    SAY_HOW,
    SAY_UNIT,
    SAY_SIZE_HIGH,
    SAY_SIZE_LOW,
    SAY_N, /* and where it is agreed upon */
    SAY_AREA = SAY_N,
    SAY_N_SHARED = SAY_AREA + WIN_SAY_AREA
};

static int how_it_went(int rc)
{
    int class = MPI_SUCCESS;

    if (rc == MPI_SUCCESS)
        return WENT_WELL;
    impi_real.Error_class(rc, &class);
    return class == MPI_ERR_NO_MEM       ? WENT_OUT_OF_MEMORY
           : class == MPI_ERR_RMA_SHARED ? WENT_APART
                                         : WENT_WRONG;
}

static int class_of(int how)
{
    switch (how) {
    case WENT_WELL:
        return MPI_SUCCESS;
    case WENT_OUT_OF_MEMORY:
        return MPI_ERR_NO_MEM;
    case WENT_APART:
        return MPI_ERR_RMA_SHARED;
    default:
        return MPI_ERR_WIN;
    }
}

static void take_sizes(struct win *w, int member, const int *m)
{
    w->units[member] = m[SAY_UNIT];
    w->sizes[member] =
        (uint64_t)(uint32_t)m[SAY_SIZE_HIGH] << 32 | (uint32_t)m[SAY_SIZE_LOW];
}

/* rc: how it went here; returns how it went everywhere. */
static int tell_all(struct win *w, int rc)
{
    uint64_t bytes = (uint64_t)w->size;
    int n = win_share_agreed() ? SAY_N_SHARED : SAY_N, told;
    int own[SAY_N_SHARED] = {how_it_went(rc), w->unit, (int)(bytes >> 32),
                             (int)(uint32_t)bytes};
    int *all = calloc((size_t)w->c->size * (size_t)n, sizeof(*all));

    if (!all)
        be_die(1, "SF-E403: no memory for a window");
    win_share_say(&w->area, w->base, own + SAY_AREA);
    told = coll_allgather_ints(w->c, own, n, all);
    rc = rc == MPI_SUCCESS ? told : rc;
    for (int i = 0; i < w->c->size && told == MPI_SUCCESS; i++) {
        if (rc == MPI_SUCCESS)
            rc = class_of(all[(size_t)i * (size_t)n + SAY_HOW]);
        take_sizes(w, i, all + (size_t)i * (size_t)n);
    }
    for (int i = 0; i < w->c->size && rc == MPI_SUCCESS; i++)
        if (win_share_agreed())
            win_share_reach(w, i, all + (size_t)i * (size_t)n + SAY_AREA);
    free(all);
    return rc;
}

/* All have opened what they can.  Where everybody reaches this process's memory
 * it need not serve them while the program is away. */
static int agree_on_service(struct win *w)
{
    int n = w->c->size, rc;
    int *reach = calloc(2 * (size_t)n, sizeof(*reach));

    if (!reach)
        be_die(1, "SF-E403: no memory for a window");
    for (int i = 0; i < n; i++)
        reach[i] = win_share_reaches(w, i);
    rc = coll_allreduce(w->c, reach, reach + n, n, MPI_INT, MPI_SUM);
    share_area_close(&w->area);
    if (rc == MPI_SUCCESS && reach[n + w->c->rank] == n) {
        be_lock();
        w->served = false;
        impi_be.served--;
        be_unlock();
    }
    free(reach);
    return rc;
}

/* The memory of a window, which the native one has, too, if it can. */
struct memory {
    void *base;
    MPI_Aint size;
    int unit;
    int flavor;
    struct share_area area; /* where base is, or words for it; or none */
};

/* MPICH 4.0.2 ends the program where its own allocation fails, and a memfd of
 * any size can be had. */
static bool has_room(MPI_Aint size)
{
    void *at = size == 0 ? NULL
                         : mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED)
        return false;
    if (at)
        munmap(at, (size_t)size);
    return true;
}

/* Memory for a window of MPI_Win_allocate, or words for another one. */
static void shared_memory(struct memory *m, const struct impi_comm *c)
{
    bool allocate = m->flavor == MPI_WIN_FLAVOR_ALLOCATE;
    struct win_layout l = {(uint32_t)c->size, 1,
                           allocate ? (uint64_t)m->size : 0};

    m->area = SHARE_NO_AREA;
    if (win_share_wanted() && (!allocate || has_room(m->size)))
        win_share_make(&m->area, &l, allocate ? &m->base : NULL);
}

/* The handle: a window of the library's own, of this process alone. */
static int native_window(struct memory *m, MPI_Info info, MPI_Win *handle)
{
    bool allocate = m->flavor == MPI_WIN_FLAVOR_ALLOCATE && !m->area.at;
    void *none;

    if (allocate && !has_room(m->size))
        return MPI_ERR_NO_MEM;
    if (allocate)
        return impi_real.Win_allocate(m->size, m->unit, info, MPI_COMM_SELF,
                                      &m->base, handle);
    if (!WINDOW_OF_OTHERS_MEMORY)
        return impi_real.Win_allocate(0, m->unit, info, MPI_COMM_SELF, &none,
                                      handle);
    if (m->flavor == MPI_WIN_FLAVOR_DYNAMIC)
        return impi_real.Win_create_dynamic(info, MPI_COMM_SELF, handle);
    return impi_real.Win_create(m->base, m->size, m->unit, info, MPI_COMM_SELF,
                                handle);
}

static int register_memory(struct win *w, const struct memory *m)
{
    w->flavor = m->flavor;
    w->unit = m->unit;
    w->base = m->base;
    w->size = m->size;
    w->dynamic = m->flavor == MPI_WIN_FLAVOR_DYNAMIC;
    win_share_own(w);
    if (w->dynamic) {
        impi_rma_win_dynamic(w->core);
        return MPI_SUCCESS;
    }
    return impi_rma_win_memory(w->core, m->base, (uint64_t)m->size) < 0
               ? MPI_ERR_NO_MEM
               : MPI_SUCCESS;
}

static void publish(struct win *w)
{
    be_lock();
    w->next = windows;
    __atomic_store_n(&windows, w, __ATOMIC_RELEASE);
    impi_be.windows++;
    w->served = true;
    impi_be.served++;
    win_first();
    be_unlock();
}

static void unpublish(struct win *w)
{
    struct win **p = &windows;

    be_lock();
    while (*p != w)
        p = &(*p)->next;
    __atomic_store_n(p, w->next, __ATOMIC_RELEASE);
    impi_be.windows--;
    impi_be.served -= w->served;
    be_unlock();
}

/* rc: how making the native window went.  All members end alike. */
static int make(MPI_Comm comm, MPI_Comm own, MPI_Win handle, int rc,
                const struct memory *m, MPI_Win *newwin)
{
    struct win *w;

    be_lock();
    w = win_new(own);
    be_unlock();
    if (!w)
        be_die(1, "SF-E403: no memory for a window");
    w->handle = handle;
    w->area = m->area;
    if (rc == MPI_SUCCESS)
        rc = register_memory(w, m);
    /* From here on others may come. */
    publish(w);
    rc = tell_all(w, rc);
    if (rc == MPI_SUCCESS && win_share_agreed())
        rc = agree_on_service(w);
    *newwin = handle;
    if (rc == MPI_SUCCESS)
        return rc;
    unpublish(w);
    be_lock();
    win_destroy(w);
    be_unlock();
    impi_Comm_free(&own);
    if (handle != MPI_WIN_NULL)
        impi_real.Win_free(newwin);
    return be_raise(comm, rc);
}

/* A communicator of its own, without the attributes of the program's. */
static int own_comm(MPI_Comm comm, MPI_Comm *own)
{
    int rank, rc = impi_Comm_rank(comm, &rank);

    if (rc == MPI_SUCCESS)
        rc = impi_Comm_split(comm, 0, rank, own);
    if (rc == MPI_SUCCESS)
        impi_real.Comm_set_errhandler(*own, MPI_ERRORS_RETURN);
    return rc;
}

int impi_Win_create(void *base, MPI_Aint size, int disp_unit, MPI_Info info,
                    MPI_Comm comm, MPI_Win *newwin)
{
    struct impi_comm *c = impi_span_find(comm);
    struct memory m = {base, size, disp_unit, MPI_WIN_FLAVOR_CREATE,
                       SHARE_NO_AREA};
    MPI_Comm own;
    int rc;

    if (!c)
        return ASSISTED(
            impi_real.Win_create(base, size, disp_unit, info, comm, newwin));
    if (!may_be_made(c))
        return impi_unsupported(comm, CALL_Win_create);
    if (size < 0 || disp_unit <= 0)
        return be_raise(comm, size < 0 ? MPI_ERR_SIZE : MPI_ERR_DISP);
    rc = own_comm(comm, &own);
    if (rc != MPI_SUCCESS)
        return rc;
    *newwin = MPI_WIN_NULL;
    shared_memory(&m, c);
    rc = native_window(&m, info, newwin);
    return make(comm, own, *newwin, rc, &m, newwin);
}

int impi_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info,
                      MPI_Comm comm, void *baseptr, MPI_Win *newwin)
{
    struct impi_comm *c = impi_span_find(comm);
    struct memory m = {NULL, size, disp_unit, MPI_WIN_FLAVOR_ALLOCATE,
                       SHARE_NO_AREA};
    MPI_Comm own;
    int rc;

    if (!c)
        return ASSISTED(impi_real.Win_allocate(size, disp_unit, info, comm,
                                               baseptr, newwin));
    if (!may_be_made(c))
        return impi_unsupported(comm, CALL_Win_allocate);
    if (size < 0 || disp_unit <= 0)
        return be_raise(comm, size < 0 ? MPI_ERR_SIZE : MPI_ERR_DISP);
    rc = own_comm(comm, &own);
    if (rc != MPI_SUCCESS)
        return rc;
    *newwin = MPI_WIN_NULL;
    shared_memory(&m, c);
    rc = native_window(&m, info, newwin);
    *(void **)baseptr = m.base;
    return make(comm, own, *newwin, rc, &m, newwin);
}

/* Bytes of all members, and of those before this one.  MPI error class, for all
 * alike. */
static int sum_sizes(struct impi_comm *c, MPI_Aint size, uint64_t *before,
                     uint64_t *sum)
{
    int own[] = {win_share_wanted(), (int)(size >> 32), (int)(uint32_t)size};
    int *all = calloc(3 * (size_t)c->size, sizeof(*all)), rc;

    if (!all)
        be_die(1, "SF-E403: no memory for a window");
    rc = coll_allgather_ints(c, own, 3, all);
    *sum = 0;
    for (int i = 0; i < c->size && rc == MPI_SUCCESS; i++) {
        const int *m = all + 3 * (size_t)i;
        uint64_t bytes = (uint64_t)(uint32_t)m[1] << 32 | (uint32_t)m[2];

        if (i == c->rank)
            *before = *sum;
        if (!m[0])
            rc = MPI_ERR_RMA_SHARED;
        else if (__builtin_add_overflow(*sum, bytes, sum) ||
                 *sum > PTRDIFF_MAX / 2)
            rc = MPI_ERR_NO_MEM;
    }
    free(all);
    return rc;
}

/* One area for all, made by the first, in which the members' memory lies one
 * behind the other. */
static int one_area(struct impi_comm *c, struct memory *m)
{
    struct win_layout l = {(uint32_t)c->size, (uint32_t)c->size, 0};
    int said[WIN_SAY_AREA], rc;
    uint64_t before = 0;
    void *at;

    rc = sum_sizes(c, m->size, &before, &l.bytes);
    if (rc != MPI_SUCCESS)
        return rc;
    if (c->rank == 0 && has_room((MPI_Aint)l.bytes))
        win_share_make(&m->area, &l, &at);
    win_share_say(&m->area, NULL, said);
    rc = coll_bcast(c, said, WIN_SAY_AREA, MPI_INT, 0);
    if (rc != MPI_SUCCESS || said[0] == 0)
        return rc == MPI_SUCCESS ? MPI_ERR_NO_MEM : rc;
    if (c->rank != 0 && !win_share_open(&m->area, &l, said, &at))
        return MPI_ERR_RMA_SHARED;
    m->base = (uint8_t *)at + before;
    return MPI_SUCCESS;
}

int impi_Win_allocate_shared(MPI_Aint size, int disp_unit, MPI_Info info,
                             MPI_Comm comm, void *baseptr, MPI_Win *newwin)
{
    struct impi_comm *c = impi_span_find(comm);
    struct memory m = {NULL, size, disp_unit, MPI_WIN_FLAVOR_SHARED,
                       SHARE_NO_AREA};
    MPI_Comm own;
    int rc;

    if (!c)
        return ASSISTED(impi_real.Win_allocate_shared(size, disp_unit, info,
                                                      comm, baseptr, newwin));
    if (!win_may_share(c))
        return impi_unsupported(comm, CALL_Win_allocate_shared);
    if (size < 0 || disp_unit <= 0)
        return be_raise(comm, size < 0 ? MPI_ERR_SIZE : MPI_ERR_DISP);
    rc = own_comm(comm, &own);
    if (rc != MPI_SUCCESS)
        return rc;
    *newwin = MPI_WIN_NULL;
    rc = one_area(impi_span_find(own), &m);
    if (rc == MPI_SUCCESS)
        rc = native_window(&m, info, newwin);
    *(void **)baseptr = m.base;
    return make(comm, own, *newwin, rc, &m, newwin);
}

int impi_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *newwin)
{
    struct impi_comm *c = impi_span_find(comm);
    struct memory m = {.unit = 1, .flavor = MPI_WIN_FLAVOR_DYNAMIC};
    MPI_Comm own;
    int rc;

    if (!c)
        return ASSISTED(impi_real.Win_create_dynamic(info, comm, newwin));
    if (!may_be_made(c))
        return impi_unsupported(comm, CALL_Win_create_dynamic);
    rc = own_comm(comm, &own);
    if (rc != MPI_SUCCESS)
        return rc;
    *newwin = MPI_WIN_NULL;
    shared_memory(&m, c);
    rc = native_window(&m, info, newwin);
    return make(comm, own, *newwin, rc, &m, newwin);
}

int impi_Win_attach(MPI_Win win, void *base, MPI_Aint size)
{
    struct win *w = win_find(win);
    int rc = MPI_SUCCESS;

    if (!w)
        return impi_real.Win_attach(win, base, size);
    be_lock();
    if (!w->dynamic)
        rc = MPI_ERR_RMA_FLAVOR;
    else if (size < 0)
        rc = MPI_ERR_SIZE;
    else if (impi_rma_win_attach(w->core, base, (uint64_t)size) < 0)
        rc = MPI_ERR_RMA_ATTACH;
    return leave(w, rc);
}

int impi_Win_detach(MPI_Win win, const void *base)
{
    struct win *w = win_find(win);
    int rc = MPI_SUCCESS;

    if (!w)
        return impi_real.Win_detach(win, base);
    be_lock();
    if (!w->dynamic)
        rc = MPI_ERR_RMA_FLAVOR;
    else if (impi_rma_win_detach(w->core, base) < 0)
        rc = MPI_ERR_BASE;
    return leave(w, rc);
}

/* ---- the end of one ---- */

int impi_Win_free(MPI_Win *win)
{
    struct win *w = win_find(*win);
    MPI_Comm comm;
    int rc;

    if (!w)
        return ASSISTED(impi_real.Win_free(win));
    if (w->nlocked || w->lock_all || w->nstart >= 0 || w->npost >= 0)
        return win_raise(w, MPI_ERR_RMA_SYNC);
    be_lock();
    flush_touched(w);
    rc = win_settle(w);
    be_unlock();
    coll_barrier(w->c);
    unpublish(w);
    comm = w->comm;
    be_lock();
    win_destroy(w);
    be_unlock();
    impi_Comm_free(&comm);
    return impi_real.Win_free(win) == MPI_SUCCESS ? rc : MPI_ERR_WIN;
}

bool win_attr_ours(int keyval)
{
    return keyval == MPI_WIN_BASE || keyval == MPI_WIN_SIZE ||
           keyval == MPI_WIN_DISP_UNIT || keyval == MPI_WIN_CREATE_FLAVOR ||
           keyval == MPI_WIN_MODEL;
}

/* The library's handle may tell of other memory. */
int impi_Win_get_attr(MPI_Win win, int keyval, void *value, int *flag)
{
    static int unified = MPI_WIN_UNIFIED;
    struct win *w = win_find(win);

    if (!w)
        return impi_real.Win_get_attr(win, keyval, value, flag);
    switch (keyval) {
    case MPI_WIN_BASE:
        *(void **)value = w->base;
        break;
    case MPI_WIN_SIZE:
        *(MPI_Aint **)value = &w->size;
        break;
    case MPI_WIN_DISP_UNIT:
        *(int **)value = &w->unit;
        break;
    case MPI_WIN_CREATE_FLAVOR:
        *(int **)value = &w->flavor;
        break;
    case MPI_WIN_MODEL:
        *(int **)value = &unified;
        break;
    default:
        return impi_real.Win_get_attr(win, keyval, value, flag);
    }
    *flag = 1;
    return MPI_SUCCESS;
}

int impi_Win_get_group(MPI_Win win, MPI_Group *newgroup)
{
    struct win *w = win_find(win);

    if (!w)
        return impi_real.Win_get_group(win, newgroup);
    return impi_Comm_group(w->comm, newgroup);
}

int impi_Win_shared_query(MPI_Win win, int rank, MPI_Aint *size, int *disp_unit,
                          void *baseptr)
{
    struct win *w = win_find(win);
    uint64_t len = 0;

    if (!w)
        return impi_real.Win_shared_query(win, rank, size, disp_unit, baseptr);
    if (w->flavor != MPI_WIN_FLAVOR_SHARED)
        return win_raise(w, MPI_ERR_RMA_FLAVOR);
    for (int i = 0; i < w->c->size && rank == MPI_PROC_NULL; i++)
        if (w->sizes[i] > 0)
            rank = i;
    if (rank == MPI_PROC_NULL)
        rank = 0; /* nobody has any */
    if (rank < 0 || rank >= w->c->size)
        return win_raise(w, MPI_ERR_RANK);
    *(void **)baseptr = impi_rma_win_memory_of(w->core, (uint32_t)rank, &len);
    *size = (MPI_Aint)len;
    *disp_unit = w->units[rank];
    return MPI_SUCCESS;
}
