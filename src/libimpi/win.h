/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Windows on communicators that span (doc/impi-rma.md).  The program's handle
 * is a native window on MPI_COMM_SELF over the same memory: attributes, names,
 * info, error handlers and Fortran's handle are the library's own.  What
 * reaches other processes goes through the engine (impi/rma.h).
 */
#ifndef LIBIMPI_WIN_H
#define LIBIMPI_WIN_H

#include "impi/rma.h"
#include "libimpi/comm.h"
#include "libimpi/data.h"
#include "libimpi/share.h"
#include "libimpi/state.h"

struct win_op;

/* Bits of a target's state. */
enum {
    WIN_LOCKED = 1,  /* by MPI_Win_lock, or so far under MPI_Win_lock_all */
    WIN_NOCHECK = 2, /* likewise, without a lock */
    WIN_STARTED = 4, /* in MPI_Win_start's group */
    WIN_TOUCHED = 8, /* something may not be confirmed */
};

struct win {
    MPI_Win handle;
    MPI_Comm comm; /* its own: fences, groups, ranks */
    struct impi_comm *c;
    struct impi_rma_win *core;
    bool dynamic;
    int flavor, unit; /* of the own memory, for attributes */
    void *base;
    MPI_Aint size;
    int *units;      /* [size] displacement unit of each member */
    uint64_t *sizes; /* [size] bytes of its memory */
    uint8_t *state;  /* [size] */
    bool *direct;    /* [size] its memory is mapped here */
    unsigned quick;  /* calls in a row that looked at no connection */
    int *touched;    /* [size] targets with WIN_TOUCHED */
    int ntouched;
    int nlocked;              /* targets with a lock by MPI_Win_lock */
    bool lock_all, unlocked;  /* under MPI_Win_lock_all; with NOCHECK */
    bool fence;               /* a fence has begun an epoch */
    int *start, nstart;       /* targets; -1: no epoch */
    int *post, npost;         /* origins; -1: no epoch */
    struct win_op *ops;       /* not ended */
    struct share_area area;   /* the own (win_share.h), */
    struct share_area *areas; /* [size] and those of others that are open; */
    uint32_t *pids;           /* [size] their processes */
    struct fabric_memory *exposed; /* the own memory, or NULL (win_fabric.h) */
    struct impi_rma_place place;   /* then: where */
    bool served; /* others need this process's help: counted in impi_be */
    struct win *next;
};

/* Of a handle; NULL: a native window. */
struct win *win_find(MPI_Win handle);
/* May members of this communicator make windows that share memory? */
bool win_may_share(const struct impi_comm *c);

/* Of the engine's; NULL: not there yet. */
struct win *win_of(const struct impi_rma_win *core);
static inline bool impi_win_spans(MPI_Win win)
{
    return win_find(win) != NULL;
}

/* Does an operation on the target end when its call returns, and may it begin
 * without a wait? */
static inline bool win_is_open(const struct win *w, int target)
{
    const uint8_t any = WIN_LOCKED | WIN_NOCHECK | WIN_STARTED;

    return (unsigned)target < (unsigned)w->c->size && w->direct[target] &&
           (w->state[target] & any || (w->lock_all ? w->unlocked : w->fence));
}

/* Is it one that windows that span tell of themselves? */
bool win_attr_ours(int keyval);

/* "a window of 4 processes, its name". */
#define WIN_TEXT_MAX (MPI_MAX_OBJECT_NAME + 64)
const char *win_text(const struct win *w, char text[WIN_TEXT_MAX]);
/* One that this process and that rank are members of, or NULL. */
const struct win *win_with(uint32_t rank);
/* What this process waits for when it has lost that one, or which window they
 * share: text to put behind, or "". */
const char *win_of_lost(uint32_t rank);

/* Note an error for the window's handler.  Returns the code. */
int win_raise(const struct win *w, int code);
/* The way out of a call, which gives the lock back. */
static inline int win_leave(const struct win *w, int rc)
{
    be_unlock();
    return rc == MPI_SUCCESS ? rc : win_raise(w, rc);
}

/* Move messages of one-sided communication between the engines.  Under the
 * lock.  True when something moved. */
bool win_progress(void);

/* The program leaves the library: from now on a thread of ours serves
 * others.  Under the lock. */
void win_left(void);

/* Something of the target may have to be confirmed. */
void win_touch(struct win *w, int target);
/* All members have come here.  With those of other worlds, who may be lost,
 * each tells each: else one of a native collective call would never hear of it.
 * MPI error class.  Without the lock. */
int win_barrier(struct win *w);
/* And no target has an answer left to give: before the window goes. */
void win_quiet(struct win *w);
/* May such an operation begin?  Waits for a lock where it must be there first.
 * MPI error class.  Under the lock. */
int win_access(struct win *w, const struct impi_rma_args *args);

/* ---- operations (win_ops.c) ---- */

/* Take results of what is done, except where there is a request.  MPI error
 * class of the first that failed.  Under the lock. */
int win_settle(struct win *w);
/* Of a request (MPI_Rput and its like). */
bool win_op_done(const struct win_op *op);
int win_op_end(struct win_op *op);

/* How many messages of ours wait to be written; waits until they are few. */
void win_throttle(void);

/* ---- datatypes (win_types.c) ---- */

/* *type NULL: elements in a row.  free() it.  MPI error class. */
int win_type_make(struct impi_typemap **type, MPI_Datatype from);
/* The element that a type is made of, 0: not one, or of several kinds. */
uint32_t win_type_elem(MPI_Datatype type);
/* That of a predefined type that was asked for; 0 says nothing.  Without the
 * lock. */
uint32_t win_type_known(MPI_Datatype type);
/* 0: not a predefined operation. */
uint32_t win_opcode(MPI_Op op);

#endif
