/* SPDX-License-Identifier: BSD-3-Clause
 * Windows; a rank's memory in one is `count` elements of `type`, zeroed.
 *
 *   window win comm type count allocate=1   and endwindow win
 *   fence win
 *   post, startwin win first last   these ranks | complete, waitwin win
 *   lock win to exclusive=1 | unlock win to | lockall, unlockall win
 *   flush win to
 *   put win to at count seed
 *   get win from at count seed        looked at by
 *   gotten win                        behind what synchronizes
 *   add win to at value               one element, MPI_Accumulate, MPI_SUM
 *   fetchadd win to at value was      MPI_Fetch_and_op and a flush; was:
 * expected swap win to at value compare was  MPI_Compare_and_swap, likewise
 *   holds win at count seed           this rank's own memory, or value=V of
 * each
 */
#include <stdlib.h>
#include <string.h>

#include "conform.h"

#define MAX_WINDOWS 4
#define MAX_GETS 64

static struct window {
    MPI_Win win;
    MPI_Comm comm;
    const struct kind *kind;
    char *memory;
    int count, allocated;
} windows[MAX_WINDOWS];

/* What was got and not looked at yet; puts keep their memory until then. */
static struct get {
    struct window *w;
    void *buffer;
    int count, seed, check;
} gets[MAX_GETS];
static int ngets;

static struct window *window_of(const struct instruction *l)
{
    int n = number(l, "win", 0);

    if (n < 0 || n >= MAX_WINDOWS)
        bad_script(l, "win");
    return &windows[n];
}

static void do_window(const struct instruction *l)
{
    struct window *w = window_of(l);
    MPI_Aint bytes;

    w->kind = kind_of(l);
    w->count = number(l, "count", 1);
    w->comm = comm_of(l);
    w->allocated = number(l, "allocate", 0);
    bytes = (MPI_Aint)w->count * w->kind->size;
    if (w->allocated) {
        check_code(l, MPI_Win_allocate(bytes, w->kind->size, MPI_INFO_NULL,
                                       w->comm, &w->memory, &w->win));
        memset(w->memory, 0, (size_t)bytes);
    } else {
        w->memory = data_alloc(w->kind, w->count);
        check_code(l, MPI_Win_create(w->memory, bytes, w->kind->size,
                                     MPI_INFO_NULL, w->comm, &w->win));
    }
    MPI_Win_set_errhandler(w->win, MPI_ERRORS_RETURN);
    MPI_Barrier(w->comm);
}

static void do_gotten(const struct instruction *l)
{
    const struct window *w = window_of(l);
    int left = 0;

    for (int i = 0; i < ngets; i++) {
        struct get g = gets[i];

        if (g.w != w) {
            gets[left++] = g;
            continue;
        }
        if (g.check)
            data_check(l, w->kind, g.buffer, g.count, g.seed);
        free(g.buffer);
    }
    ngets = left;
}

static void do_endwindow(const struct instruction *l)
{
    struct window *w = window_of(l);

    do_gotten(l);
    check_code(l, MPI_Win_free(&w->win));
    if (!w->allocated)
        free(w->memory);
}

/* ---- synchronization ---- */

static void do_fence(const struct instruction *l)
{
    check_code(l, MPI_Win_fence(0, window_of(l)->win));
}

static MPI_Group group_of(const struct instruction *l)
{
    int range[1][3] = {{number(l, "first", 0), number(l, "last", 0), 1}};
    MPI_Group all, some;

    MPI_Comm_group(window_of(l)->comm, &all);
    MPI_Group_range_incl(all, 1, range, &some);
    MPI_Group_free(&all);
    return some;
}

static void do_post(const struct instruction *l)
{
    MPI_Group g = group_of(l);

    check_code(l, MPI_Win_post(g, 0, window_of(l)->win));
    MPI_Group_free(&g);
}

static void do_startwin(const struct instruction *l)
{
    MPI_Group g = group_of(l);

    check_code(l, MPI_Win_start(g, 0, window_of(l)->win));
    MPI_Group_free(&g);
}

static void do_complete(const struct instruction *l)
{
    check_code(l, MPI_Win_complete(window_of(l)->win));
}

static void do_waitwin(const struct instruction *l)
{
    check_code(l, MPI_Win_wait(window_of(l)->win));
}

static void do_lock(const struct instruction *l)
{
    check_code(l, MPI_Win_lock(number(l, "exclusive", 0) ? MPI_LOCK_EXCLUSIVE
                                                         : MPI_LOCK_SHARED,
                               number(l, "to", 0), 0, window_of(l)->win));
}

static void do_unlock(const struct instruction *l)
{
    check_code(l, MPI_Win_unlock(number(l, "to", 0), window_of(l)->win));
}

static void do_lockall(const struct instruction *l)
{
    check_code(l, MPI_Win_lock_all(0, window_of(l)->win));
}

static void do_unlockall(const struct instruction *l)
{
    check_code(l, MPI_Win_unlock_all(window_of(l)->win));
}

static void do_flush(const struct instruction *l)
{
    check_code(l, MPI_Win_flush(number(l, "to", 0), window_of(l)->win));
}

/* ---- operations ---- */

static void *keep(const struct instruction *l, struct window *w, int check)
{
    struct get *g = &gets[ngets];

    if (ngets == MAX_GETS)
        bad_script(l, "too many operations before gotten");
    g->w = w;
    g->count = number(l, "count", 1);
    g->seed = number(l, "seed", 0);
    g->check = check;
    g->buffer = data_alloc(w->kind, g->count);
    ngets++;
    return g->buffer;
}

static void do_put(const struct instruction *l)
{
    struct window *w = window_of(l);
    int count = number(l, "count", 1);
    void *buffer = keep(l, w, 0);

    data_fill(w->kind, buffer, count, number(l, "seed", 0));
    check_code(l, MPI_Put(buffer, count, w->kind->type, number(l, "to", 0),
                          number(l, "at", 0), count, w->kind->type, w->win));
}

static void do_get(const struct instruction *l)
{
    struct window *w = window_of(l);
    int count = number(l, "count", 1);

    check_code(l, MPI_Get(keep(l, w, 1), count, w->kind->type,
                          number(l, "from", 0), number(l, "at", 0), count,
                          w->kind->type, w->win));
}

static void do_add(const struct instruction *l)
{
    struct window *w = window_of(l);
    void *one = keep(l, w, 0);

    w->kind->set(one, 0, number(l, "value", 1));
    check_code(l, MPI_Accumulate(one, 1, w->kind->type, number(l, "to", 0),
                                 number(l, "at", 0), 1, w->kind->type, MPI_SUM,
                                 w->win));
}

static void expect(const struct instruction *l, const struct kind *k,
                   const void *got)
{
    int was = number(l, "was", ANY);

    if (was != ANY && k->get(got, 0) != was)
        fail(l, "%ld was there, expected %d", k->get(got, 0), was);
}

static void do_fetchadd(const struct instruction *l)
{
    struct window *w = window_of(l);
    double one[4] = {0}, was[4] = {0};

    w->kind->set(one, 0, number(l, "value", 1));
    check_code(l, MPI_Fetch_and_op(one, was, w->kind->type, number(l, "to", 0),
                                   number(l, "at", 0), MPI_SUM, w->win));
    check_code(l, MPI_Win_flush(number(l, "to", 0), w->win));
    expect(l, w->kind, was);
}

static void do_swap(const struct instruction *l)
{
    struct window *w = window_of(l);
    double one[4] = {0}, compare[4] = {0}, was[4] = {0};

    w->kind->set(one, 0, number(l, "value", 1));
    w->kind->set(compare, 0, number(l, "compare", 0));
    check_code(l, MPI_Compare_and_swap(one, compare, was, w->kind->type,
                                       number(l, "to", 0), number(l, "at", 0),
                                       w->win));
    check_code(l, MPI_Win_flush(number(l, "to", 0), w->win));
    expect(l, w->kind, was);
}

static void do_holds(const struct instruction *l)
{
    const struct window *w = window_of(l);
    const char *at =
        w->memory + (size_t)number(l, "at", 0) * (size_t)w->kind->size;
    int value = number(l, "value", ANY), locked = number(l, "locked", 0), own;

    MPI_Comm_rank(w->comm, &own);
    if (locked)
        check_code(l, MPI_Win_lock(MPI_LOCK_SHARED, own, 0, w->win));
    if (value == ANY)
        data_check(l, w->kind, at, number(l, "count", 1), number(l, "seed", 0));
    else if (w->kind->get(at, 0) != value)
        fail(l, "%ld is there, expected %d", w->kind->get(at, 0), value);
    if (locked)
        check_code(l, MPI_Win_unlock(own, w->win));
}

int run_win(const struct instruction *l)
{
    static const struct {
        const char *op;
        void (*run)(const struct instruction *l);
    } table[] = {{"window", do_window},
                 {"endwindow", do_endwindow},
                 {"fence", do_fence},
                 {"post", do_post},
                 {"startwin", do_startwin},
                 {"complete", do_complete},
                 {"waitwin", do_waitwin},
                 {"lock", do_lock},
                 {"unlock", do_unlock},
                 {"lockall", do_lockall},
                 {"unlockall", do_unlockall},
                 {"flush", do_flush},
                 {"put", do_put},
                 {"get", do_get},
                 {"gotten", do_gotten},
                 {"add", do_add},
                 {"fetchadd", do_fetchadd},
                 {"swap", do_swap},
                 {"holds", do_holds}};

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strcmp(table[i].op, l->op) == 0) {
            table[i].run(l);
            return 1;
        }
    return 0;
}
