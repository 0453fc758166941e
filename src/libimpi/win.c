/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Windows that span: how they are made and freed, and what they say of
 * themselves.
 */
#include "libimpi/win.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "libimpi/coll.h"
#include "libimpi/failed.h"
#include "libimpi/foreign.h"
#include "libimpi/ours.h"
#include "libimpi/win_fabric.h"
#include "libimpi/win_share.h"
#include "libimpi/win_wire.h"

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

const char *win_text(const struct win *w, char text[WIN_TEXT_MAX])
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int n;

    impi_real.Win_get_name(w->handle, name, &n);
    snprintf(text, WIN_TEXT_MAX, "a window of %d processes%s%s", w->c->size,
             name[0] ? ", " : "", name);
    return text;
}

static bool has(const struct win *w, uint32_t rank)
{
    for (int i = 0; i < w->c->size; i++)
        if (w->c->world[i] == (int)rank)
            return true;
    return false;
}

const struct win *win_with(uint32_t rank)
{
    const struct win *w = __atomic_load_n(&windows, __ATOMIC_ACQUIRE);

    while (w && !has(w, rank))
        w = __atomic_load_n(&w->next, __ATOMIC_ACQUIRE);
    return w;
}

/* ---- making one ---- */

/* Without the agreement of all there are none. */
static bool may_be_made(const struct impi_comm *c)
{
    return impi_be.world.flags & IMPI_WORLD_RMA && impi_be.relay < 0 &&
           impi_be.native && !c->inter &&
           (!c->foreign || foreign_all_can(c, IMPI_SIDE_WINDOWS));
}

/* With processes of another world all goes by messages. */
static bool shares(const struct impi_comm *c)
{
    return win_share_agreed() && !c->foreign;
}

bool win_may_share(const struct impi_comm *c)
{
    return may_be_made(c) && shares(c);
}

static void win_destroy(struct win *w)
{
    win_wire_leave(w->base, (uint64_t)w->size);
    win_fabric_hide(w);
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
    if (!w->core) {
        win_destroy(w);
        return NULL;
    }
    if (c->foreign)
        impi_rma_win_ask_first(w->core);
    return w;
}

/* The memory of a window, which the native one has, too, if it can. */
struct memory {
    void *base;
    MPI_Aint size;
    int unit;
    int flavor;
    struct share_area area;        /* where base is, or words for it; or none */
    char why[SF_IMPI_REFUSAL_MAX]; /* there is no window, or empty */
};

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

static void say_no_memory(struct memory *m, const struct impi_comm *c,
                          int member, uint64_t bytes)
{
    snprintf(m->why, sizeof(m->why),
             "rank %d has no memory for %llu bytes of a window of %d processes",
             c->world[member], (unsigned long long)bytes, c->size);
}

static void say_apart(struct memory *m, const struct impi_comm *c, int member)
{
    snprintf(m->why, sizeof(m->why),
             "rank %d shares no memory in a window of %d processes",
             c->world[member], c->size);
}

/* That one could not; the others know nothing of it. */
static void say_who(struct memory *m, const struct win *w, int member, int how)
{
    if (how == WENT_OUT_OF_MEMORY)
        say_no_memory(m, w->c, member, w->sizes[member]);
    else if (how == WENT_APART)
        say_apart(m, w->c, member);
    else
        snprintf(m->why, sizeof(m->why),
                 "rank %d cannot make a window of %d processes",
                 w->c->world[member], w->c->size);
}

/* rc: how it went here; returns how it went everywhere. */
static int tell_all(struct win *w, struct memory *m, int rc)
{
    uint64_t bytes = (uint64_t)m->size;
    int n = shares(w->c) ? SAY_N_SHARED : SAY_N, told;
    int own[SAY_N_SHARED] = {how_it_went(rc), w->unit, (int)(bytes >> 32),
                             (int)(uint32_t)bytes};
    int *all = calloc((size_t)w->c->size * (size_t)n, sizeof(*all));

    if (!all)
        be_die(1, "SF-E403: no memory for a window");
    win_share_say(&w->area, w->base, own + SAY_AREA);
    told = coll_allgather_ints(w->c, own, n, all);
    rc = rc == MPI_SUCCESS ? told : rc;
    for (int i = 0; i < w->c->size && told == MPI_SUCCESS; i++) {
        int how = all[(size_t)i * (size_t)n + SAY_HOW];

        if (rc == MPI_SUCCESS)
            rc = class_of(how);
        take_sizes(w, i, all + (size_t)i * (size_t)n);
        if (how != WENT_WELL && !m->why[0])
            say_who(m, w, i, how);
    }
    for (int i = 0; i < w->c->size && rc == MPI_SUCCESS; i++)
        if (shares(w->c))
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
        be_serve(-1);
        be_unlock();
    }
    free(reach);
    return rc;
}

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
    if (win_share_wanted() && !c->foreign && (!allocate || has_room(m->size)))
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
    be_serve(1);
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
    be_serve(-(int)w->served);
    be_unlock();
}

/* With a communicator of its own, which the window keeps.  rc: how it went so
 * far.  All members end alike. */
static int make(MPI_Comm comm, MPI_Comm own, int rc, struct memory *m,
                MPI_Info info, MPI_Win *newwin)
{
    struct win *w;

    *newwin = MPI_WIN_NULL;
    if (rc == MPI_SUCCESS)
        rc = native_window(m, info, newwin);
    be_lock();
    w = win_new(own);
    be_unlock();
    if (!w)
        be_die(1, "SF-E403: no memory for a window");
    w->handle = *newwin;
    w->area = m->area;
    if (rc == MPI_SUCCESS)
        rc = register_memory(w, m);
    /* From here on others may come. */
    publish(w);
    rc = tell_all(w, m, rc);
    if (rc == MPI_SUCCESS && shares(w->c))
        rc = agree_on_service(w);
    if (rc == MPI_SUCCESS)
        return rc;
    unpublish(w);
    be_lock();
    win_destroy(w);
    be_unlock();
    impi_Comm_free(&own);
    if (*newwin != MPI_WIN_NULL)
        impi_real.Win_free(newwin);
    return failed_note_why(comm, rc, m->why);
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

/* May it be made (`may`, else the call is not supported), and of this? */
static int begin(MPI_Comm comm, int call, bool may, const struct memory *m,
                 MPI_Comm *own)
{
    if (!may)
        return impi_unsupported(comm, call);
    if (m->size < 0 || m->unit <= 0)
        return be_raise(comm, m->size < 0 ? MPI_ERR_SIZE : MPI_ERR_DISP);
    return own_comm(comm, own);
}

int impi_Win_create(void *base, MPI_Aint size, int disp_unit, MPI_Info info,
                    MPI_Comm comm, MPI_Win *newwin)
{
    struct impi_comm *c = impi_span_find(comm);
    struct memory m = {base,          size, disp_unit, MPI_WIN_FLAVOR_CREATE,
                       SHARE_NO_AREA, ""};
    MPI_Comm own;
    int rc;

    if (!c)
        return ASSISTED(
            impi_real.Win_create(base, size, disp_unit, info, comm, newwin));
    rc = begin(comm, CALL_Win_create, may_be_made(c), &m, &own);
    if (rc != MPI_SUCCESS)
        return rc;
    shared_memory(&m, c);
    return make(comm, own, MPI_SUCCESS, &m, info, newwin);
}

int impi_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info,
                      MPI_Comm comm, void *baseptr, MPI_Win *newwin)
{
    struct impi_comm *c = impi_span_find(comm);
    struct memory m = {NULL,          size, disp_unit, MPI_WIN_FLAVOR_ALLOCATE,
                       SHARE_NO_AREA, ""};
    MPI_Comm own;
    int rc;

    if (!c)
        return ASSISTED(impi_real.Win_allocate(size, disp_unit, info, comm,
                                               baseptr, newwin));
    rc = begin(comm, CALL_Win_allocate, may_be_made(c), &m, &own);
    if (rc != MPI_SUCCESS)
        return rc;
    shared_memory(&m, c);
    rc = make(comm, own, MPI_SUCCESS, &m, info, newwin);
    *(void **)baseptr = m.base;
    return rc;
}

/* Bytes of all members, and of those before this one.  MPI error class, for all
 * alike. */
static int sum_sizes(struct impi_comm *c, struct memory *m, uint64_t *before,
                     uint64_t *sum)
{
    int own[] = {win_share_wanted(), (int)(m->size >> 32),
                 (int)(uint32_t)m->size};
    int *all = calloc(3 * (size_t)c->size, sizeof(*all)), rc;

    if (!all)
        be_die(1, "SF-E403: no memory for a window");
    rc = coll_allgather_ints(c, own, 3, all);
    *sum = 0;
    for (int i = 0; i < c->size && rc == MPI_SUCCESS; i++) {
        const int *said = all + 3 * (size_t)i;
        uint64_t bytes = (uint64_t)(uint32_t)said[1] << 32 | (uint32_t)said[2];

        if (i == c->rank)
            *before = *sum;
        if (!said[0]) {
            rc = MPI_ERR_RMA_SHARED;
            say_apart(m, c, i);
        } else if (__builtin_add_overflow(*sum, bytes, sum) ||
                   *sum > PTRDIFF_MAX / 2) {
            rc = MPI_ERR_NO_MEM;
            say_no_memory(m, c, i, bytes);
        }
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

    rc = sum_sizes(c, m, &before, &l.bytes);
    if (rc != MPI_SUCCESS)
        return rc;
    if (c->rank == 0 && has_room((MPI_Aint)l.bytes))
        win_share_make(&m->area, &l, &at);
    win_share_say(&m->area, NULL, said);
    rc = coll_bcast(c, said, WIN_SAY_AREA, MPI_INT, 0);
    if (rc == MPI_SUCCESS && said[0] == 0) {
        rc = MPI_ERR_NO_MEM;
        say_no_memory(m, c, 0, l.bytes);
    }
    if (rc != MPI_SUCCESS)
        return rc;
    if (c->rank != 0 && !win_share_open(&m->area, &l, c->world[0], said, &at))
        return MPI_ERR_RMA_SHARED;
    m->base = (uint8_t *)at + before;
    return MPI_SUCCESS;
}

int impi_Win_allocate_shared(MPI_Aint size, int disp_unit, MPI_Info info,
                             MPI_Comm comm, void *baseptr, MPI_Win *newwin)
{
    struct impi_comm *c = impi_span_find(comm);
    struct memory m = {NULL,          size, disp_unit, MPI_WIN_FLAVOR_SHARED,
                       SHARE_NO_AREA, ""};
    MPI_Comm own;
    int rc;

    if (!c)
        return ASSISTED(impi_real.Win_allocate_shared(size, disp_unit, info,
                                                      comm, baseptr, newwin));
    if (c->foreign) /* MPI_Comm_split_type never puts them together */
        return be_raise(comm, MPI_ERR_RMA_SHARED);
    rc = begin(comm, CALL_Win_allocate_shared, win_may_share(c), &m, &own);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = one_area(impi_span_find(own), &m);
    rc = make(comm, own, rc, &m, info, newwin);
    *(void **)baseptr = m.base;
    return rc;
}

int impi_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *newwin)
{
    struct impi_comm *c = impi_span_find(comm);
    struct memory m = {.unit = 1, .flavor = MPI_WIN_FLAVOR_DYNAMIC};
    MPI_Comm own;
    int rc;

    if (!c)
        return ASSISTED(impi_real.Win_create_dynamic(info, comm, newwin));
    rc = begin(comm, CALL_Win_create_dynamic, may_be_made(c), &m, &own);
    if (rc != MPI_SUCCESS)
        return rc;
    shared_memory(&m, c);
    return make(comm, own, MPI_SUCCESS, &m, info, newwin);
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
    return win_leave(w, rc);
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
    return win_leave(w, rc);
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
    win_quiet(w);
    rc = win_settle(w);
    be_unlock();
    win_barrier(w);
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
