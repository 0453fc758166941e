/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One-sided communication between the processes of a spanning world
 * (doc/impi-rma.md): windows, operations on them, locks, and the counting
 * behind fences, epochs and flushes.  A target's memory is read and written by
 * its own engine, on behalf of any origin that sends a message, and by the
 * engines of processes that have it mapped (impi_rma_win_reach()).  Accumulates
 * and locks use the target's words (rma_words.h) either way.
 *
 * A pure engine: no descriptors, clock, threads or MPI.  Messages leave through
 * ops.send and arrive through impi_rma_input(), in order from each peer;
 * operations on this process itself take the same path within the call.  Peers
 * are world ranks; targets and origins are ranks in the window.
 */
#ifndef SF_IMPI_RMA_H
#define SF_IMPI_RMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "impi/rma_op.h"
#include "impi/typemap.h"
#include "impi/rma_words.h"

/* Context id of the engine's messages: above all that are given out. */
#define IMPI_RMA_CID UINT64_C(18446744073709551602)
#define IMPI_RMA_HEAD 64 /* bytes before the data */

struct impi_rma;
struct impi_rma_win;

/* Memory as the network addresses it. */
struct impi_rma_place {
    uint64_t address, size, key;
};

struct impi_rma_ops {
    /* All peers take locks with operations (version 10 of the extensions). */
    bool early;
    /* Send a message to a peer (never this process): IMPI_RMA_HEAD bytes of
     * head, then len bytes of data.  Both must have been copied or written when
     * it returns, but for data that last: these stay valid until the peer has
     * them all.  Called from inside the engine; it must not call back. */
    void (*send)(void *arg, uint32_t peer, const uint8_t *head,
                 const void *data, size_t len, bool lasts);
    /* Copy between this process's memory and a member's, at an address in the
     * member, without its help.  Returns 0, or -1 if that is not possible (part
     * may have been copied); a message is then sent instead.  Called only after
     * impi_rma_win_reach_far(). */
    int (*copy)(void *arg, const struct impi_rma_win *win, uint32_t target,
                uint64_t address, void *own, size_t len, bool write);
    /* Can the network put (write) or get contiguous bytes of a peer's memory
     * without the peer's help, and is it worthwhile?  NULL: never. */
    bool (*may_move)(void *arg, uint32_t peer, size_t len, bool write);
    /* Start to do so; impi_rma_moved() is to be called when all bytes have
     * reached their destination.  False: a message is sent instead. */
    bool (*move)(void *arg, uint32_t peer, const struct impi_rma_place *there,
                 void *own, size_t len, bool write, void *token);
    /* Let peers do so with this process's memory of this window.  False if that
     * is not possible.  NULL: never. */
    bool (*expose)(void *arg, const struct impi_rma_win *win,
                   struct impi_rma_place *own);
    /* For the round-th time another member, `who`, is found changing the memory
     * of the target.  It will do so for a few instructions, or until it gets
     * its processor back: let others run.  `who` is not to be trusted; it may
     * be any number.  Called only where words are shared. */
    void (*pause)(void *arg, const struct impi_rma_win *win, uint32_t target,
                  uint32_t who, unsigned round);
};

/* ops: borrowed for the engine's life.  NULL if there is no memory. */
struct impi_rma *impi_rma_create(uint32_t rank, uint32_t nprocs,
                                 const struct impi_rma_ops *ops, void *arg);
/* Frees all its windows, too. */
void impi_rma_destroy(struct impi_rma *rma);

/* More peers have come, behind those that there are: nprocs in all.  0, or -1
 * with ENOMEM. */
int impi_rma_grow(struct impi_rma *rma, uint32_t nprocs);

/* This peer can be reached no more.  What waits for it ends: operations with
 * IMPI_RMA_ERR_LOST, which a window where some were not confirmed also has as a
 * refusal; flushes, locks and epochs as if it had answered.  Its own locks are
 * given back. */
void impi_rma_lose(struct impi_rma *rma, uint32_t peer);
bool impi_rma_is_lost(const struct impi_rma_win *win, uint32_t member);

/* Take a message from `peer`.  0, or -1 with errno: EPROTO, the peer broke the
 * protocol (err says how); ENOMEM, a datatype of the peer's cannot be kept. */
int impi_rma_input(struct impi_rma *rma, uint32_t peer, const void *msg,
                   size_t len, struct errbuf *err);

/* A message has begun to arrive: where its data, len bytes, are to be written
 * as they come, or NULL: to memory of the caller's own.  If it is not NULL the
 * message must be given to impi_rma_input_placed() when it is whole, after all
 * earlier ones of the peer; and until then the memory must stay: that of an
 * operation does until it is done, the own window's is the caller's care. */
void *impi_rma_place(struct impi_rma *rma, uint32_t peer,
                     const uint8_t head[IMPI_RMA_HEAD], size_t len);
/* As impi_rma_input(), of a head and data there. */
int impi_rma_input_placed(struct impi_rma *rma, uint32_t peer,
                          const uint8_t head[IMPI_RMA_HEAD], const void *data,
                          size_t len, struct errbuf *err);

/* The transfer that ops.move started with this token is complete. */
void impi_rma_moved(void *token);

/* ---- windows ---- */

/* id: the same in all members, and used by no other window of theirs. world[n]:
 * world rank of each member; own: this process's rank.  All members must have
 * created the window before any of them uses it.  NULL with errno ENOMEM or
 * EEXIST. */
struct impi_rma_win *impi_rma_win_create(struct impi_rma *rma, uint64_t id,
                                         const uint32_t *world, uint32_t n,
                                         uint32_t own);
void impi_rma_win_free(struct impi_rma_win *win);
/* Locks in this window are asked for before what is done under them, whatever
 * ops->early says: members of another world may know nothing else. */
void impi_rma_win_ask_first(struct impi_rma_win *win);

/* Set this process's memory.  Either base and size, where displacements are
 * bytes from base (returns 0, or -1 with ENOMEM); or dynamic: pieces that come
 * and go, where displacements are addresses.  Adjacent pieces count as one. */
int impi_rma_win_memory(struct impi_rma_win *win, void *base, uint64_t size);
void impi_rma_win_dynamic(struct impi_rma_win *win);
/* 0, or -1 with errno: ENOMEM; EEXIST, it overlaps another; ENOENT, there is no
 * such piece. */
int impi_rma_win_attach(struct impi_rma_win *win, void *base, uint64_t size);
int impi_rma_win_detach(struct impi_rma_win *win, const void *base);

/* Set the words that guard this process's memory, of impi_rma_words_size(n)
 * bytes; others may have mapped them.  Without this call the window has private
 * ones.  Call it before the window is used. */
void impi_rma_win_words(struct impi_rma_win *win, struct impi_rma_words *words);
/* A target's words, and with base not NULL its memory, are mapped here: locks,
 * and with base also operations, need no messages.  Call it before that target
 * is used. */
void impi_rma_win_reach(struct impi_rma_win *win, uint32_t target,
                        struct impi_rma_words *words, void *base,
                        uint64_t size);
/* Contiguous bytes of a target's memory can be put and got by ops.copy;
 * anything else takes messages.  address: where the memory begins in the
 * target. */
void impi_rma_win_reach_far(struct impi_rma_win *win, uint32_t target,
                            uint64_t address, uint64_t size);
/* Where the target's memory is mapped, and its size; NULL if it is not mapped.
 */
void *impi_rma_win_memory_of(const struct impi_rma_win *win, uint32_t target,
                             uint64_t *size);
/* The target's words, if they are mapped; else NULL. */
struct impi_rma_words *impi_rma_win_reached(const struct impi_rma_win *win,
                                            uint32_t target);

/* An operation that a target refused.  impi_rma_win_refused() is true once for
 * what was refused since it was last asked. */
struct impi_rma_refusal {
    uint32_t target;
    uint32_t error; /* enum impi_rma_error */
    uint64_t disp;
};
bool impi_rma_win_refused(struct impi_rma_win *win,
                          struct impi_rma_refusal *refusal);

/* ---- operations ---- */

enum impi_rma_error {
    IMPI_RMA_OK = 0,
    IMPI_RMA_ERR_RANGE = 1,  /* beyond the memory of the target */
    IMPI_RMA_ERR_OP = 2,     /* no such operation for such elements */
    IMPI_RMA_ERR_NO_MEM = 3, /* the target cannot hold what it takes */
    IMPI_RMA_ERR_LOST = 4,   /* the target is lost; never on the wire */
};

enum impi_rma_kind {
    IMPI_RMA_PUT = 1,
    IMPI_RMA_GET = 2,
    IMPI_RMA_ACC = 3,  /* accumulate */
    IMPI_RMA_GACC = 4, /* and what was there before */
    IMPI_RMA_CAS = 5,  /* compare and swap one element */
};

/* An operation that is answered.  The caller's memory, to be kept until done.
 */
struct impi_rma_op {
    bool done;
    uint32_t error; /* enum impi_rma_error */
    void *user;     /* never touched by the engine */
    /* Private to the engine. */
    struct impi_rma_win *win;
    uint32_t target;
    uint64_t id;
    void *result;
    uint64_t len;
    bool placed; /* its result is arriving there */
};

struct impi_rma_args {
    enum impi_rma_kind kind;
    uint32_t target;
    int64_t disp;                    /* bytes */
    const struct impi_typemap *type; /* NULL: len contiguous bytes */
    uint64_t count;                  /* of the type */
    uint64_t len;      /* bytes of data, at most SF_IMPI_RMA_DATA_MAX */
    uint32_t op, elem; /* of accumulates; elem of CAS */
    const void *data;  /* of all but GET; unused by GACC with NO_OP.  CAS: what
                          to put, then what to compare with */
    bool lasts;        /* data stay valid until the operation is confirmed */
    bool now;          /* it is waited for by itself: not held */
    void *result;      /* GET, GACC, CAS: where len bytes go */
};

/* Start an operation.  op may be NULL only for PUT and ACC, which are then
 * completed by a flush; with an op they are answered at once.  0, or -1 with
 * ENOMEM. */
int impi_rma_start(struct impi_rma_win *win, const struct impi_rma_args *args,
                   struct impi_rma_op *op);

/* The same without a handle, done when it returns, where the target's memory is
 * mapped and the data are contiguous and fit.  Else it returns false and has
 * done nothing.  It does not change the engine, so any thread may call it at
 * any time. */
bool impi_rma_at_once(struct impi_rma_win *win,
                      const struct impi_rma_args *args);

/* Ask a target to confirm all operations started so far, if any are still
 * unconfirmed.  Complete when impi_rma_is_flushed(). */
void impi_rma_flush(struct impi_rma_win *win, uint32_t target);
bool impi_rma_is_flushed(struct impi_rma_win *win, uint32_t target);

/* ---- locks ---- */

/* Want a lock.  True: it has been asked for, to be waited for.  False: it is
 * put off, goes with the first operation, and need not be waited for (but see
 * impi_rma_needs_lock()); impi_rma_flush() asks for it where there is none, and
 * impi_rma_unlock() takes it and gives it back.  brief: a short operation may
 * wait for the call behind it.  It is held when impi_rma_is_locked(). */
bool impi_rma_lock(struct impi_rma_win *win, uint32_t target,
                   enum impi_rma_lock mode, bool brief);
/* May such an operation start only when the lock is there?  Ask for it then by
 * impi_rma_flush(). */
bool impi_rma_needs_lock(const struct impi_rma_win *win,
                         const struct impi_rma_args *args);
bool impi_rma_is_locked(struct impi_rma_win *win, uint32_t target);
/* Give the lock back after all operations, which are complete when
 * impi_rma_is_flushed().  The target may learn of the unlock later. */
void impi_rma_unlock(struct impi_rma_win *win, uint32_t target);
/* Has every target answered everything?  Must be so before any member frees the
 * window. */
bool impi_rma_is_quiet(const struct impi_rma_win *win);

/* ---- post, start, complete, wait ---- */

/* Tell an origin that it may access this process's memory; or ask whether this
 * target has told us so.  (Each is asked once per epoch.) */
void impi_rma_post(struct impi_rma_win *win, uint32_t origin);
bool impi_rma_take_post(struct impi_rma_win *win, uint32_t target);
/* Tell a target that all operations on it have been sent; or ask whether this
 * origin has told us so.  impi_rma_completed() only looks;
 * impi_rma_take_complete() consumes it. */
void impi_rma_complete(struct impi_rma_win *win, uint32_t target);
bool impi_rma_completed(const struct impi_rma_win *win, uint32_t origin);
void impi_rma_take_complete(struct impi_rma_win *win, uint32_t origin);

#endif
