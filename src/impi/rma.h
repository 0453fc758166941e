/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One-sided communication between the processes of a spanning world
 * (doc/impi-rma.md): windows, the operations on them, locks, and the counting
 * behind fences, epochs and flushes.  A target's memory is read and written by
 * its own engine, for whoever sends a message, and by the engines of those
 * processes that have it mapped (impi_rma_win_reach()).  Accumulates and locks
 * take the target's words (rma_words.h) either way.
 *
 * A pure engine: no descriptors, clock, threads or MPI.  Messages go out by
 * ops.send and come in by impi_rma_input(), in order from each peer; what is
 * for this process itself takes the same way within the call.  Peers are world
 * ranks, targets and origins are ranks of the window.
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

/* Context id of its messages: above all that are given out. */
#define IMPI_RMA_CID UINT64_C(18446744073709551602)
#define IMPI_RMA_HEAD 64 /* bytes before the data */

struct impi_rma;
struct impi_rma_win;

/* Memory as the network knows it. */
struct impi_rma_place {
    uint64_t address, size, key;
};

struct impi_rma_ops {
    /* A message for a peer (never this process): head, IMPI_RMA_HEAD bytes,
     * then len bytes of data.  Both are copied or written before it returns.
     * Called from inside the engine's functions; it must not call back. */
    void (*send)(void *arg, uint32_t peer, const uint8_t *head,
                 const void *data, size_t len);
    /* Copy between memory of this process and that of a member at an address
     * of its own, without its help.  0; -1: it is not to be had (a part may be
     * copied), and a message takes its place.  Only after
     * impi_rma_win_reach_far(). */
    int (*copy)(void *arg, const struct impi_rma_win *win, uint32_t target,
                uint64_t address, void *own, size_t len, bool write);
    /* Could bytes in a row of a peer's memory be put (write) and got by the
     * network, without its help, and is it worth it?  NULL: never. */
    bool (*may_move)(void *arg, uint32_t peer, size_t len, bool write);
    /* Begin to; impi_rma_moved() when all of it is where it goes.  False: a
     * message takes its place. */
    bool (*move)(void *arg, uint32_t peer, const struct impi_rma_place *there,
                 void *own, size_t len, bool write, void *token);
    /* Let peers do so with the own memory of this window.  False: it is not to
     * be had.  NULL: never. */
    bool (*expose)(void *arg, const struct impi_rma_win *win,
                   struct impi_rma_place *own);
    /* For the round-th time the memory of a target is being changed by another
     * member, `who` (any number where somebody lies), for some instructions or
     * until it has its processor back: let others run.  Only where words are
     * shared. */
    void (*pause)(void *arg, const struct impi_rma_win *win, uint32_t target,
                  uint32_t who, unsigned round);
};

/* ops: borrowed for the engine's life.  NULL: no memory. */
struct impi_rma *impi_rma_create(uint32_t rank, uint32_t nprocs,
                                 const struct impi_rma_ops *ops, void *arg);
/* With all its windows. */
void impi_rma_destroy(struct impi_rma *rma);

/* A message of `peer`.  0, or -1 with errno: EPROTO it broke the protocol
 * (err says how), ENOMEM: a datatype of its cannot be kept. */
int impi_rma_input(struct impi_rma *rma, uint32_t peer, const void *msg,
                   size_t len, struct errbuf *err);

/* What ops.move began with that token is over. */
void impi_rma_moved(void *token);

/* ---- windows ---- */

/* id: the same for all members and no other window of theirs.  world[n]: world
 * rank of each member, own: this process's rank.  Registered before any member
 * may use it.  NULL with errno ENOMEM, EEXIST. */
struct impi_rma_win *impi_rma_win_create(struct impi_rma *rma, uint64_t id,
                                         const uint32_t *world, uint32_t n,
                                         uint32_t own);
void impi_rma_win_free(struct impi_rma_win *win);

/* The own memory: base and size, displacements are bytes from base (0 or -1
 * ENOMEM); or (dynamic) pieces that come and go, displacements are addresses,
 * and pieces without a gap between them are as one. */
int impi_rma_win_memory(struct impi_rma_win *win, void *base, uint64_t size);
void impi_rma_win_dynamic(struct impi_rma_win *win);
/* 0, or -1 with errno: ENOMEM; EEXIST it overlaps; ENOENT no such piece. */
int impi_rma_win_attach(struct impi_rma_win *win, void *base, uint64_t size);
int impi_rma_win_detach(struct impi_rma_win *win, const void *base);

/* The words that guard the own memory, of impi_rma_words_size(n) bytes; others
 * may have mapped them.  Without: private ones.  Before anybody uses it. */
void impi_rma_win_words(struct impi_rma_win *win, struct impi_rma_words *words);
/* A target's words, and (base not NULL) its memory, are mapped here: locks, and
 * operations, go without messages.  Before any use of that target. */
void impi_rma_win_reach(struct impi_rma_win *win, uint32_t target,
                        struct impi_rma_words *words, void *base,
                        uint64_t size);
/* Bytes in a row of a target's memory, which begins at this address of its own,
 * can be put and got by ops.copy; all else takes messages. */
void impi_rma_win_reach_far(struct impi_rma_win *win, uint32_t target,
                            uint64_t address, uint64_t size);
/* Where its memory is mapped, and how much it is; NULL: it is not. */
void *impi_rma_win_memory_of(const struct impi_rma_win *win, uint32_t target,
                             uint64_t *size);
/* Its words, if they are. */
struct impi_rma_words *impi_rma_win_reached(const struct impi_rma_win *win,
                                            uint32_t target);

/* What a target refused since the last time this was asked: true once. */
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
};

enum impi_rma_kind {
    IMPI_RMA_PUT = 1,
    IMPI_RMA_GET = 2,
    IMPI_RMA_ACC = 3,  /* accumulate */
    IMPI_RMA_GACC = 4, /* and what was there before */
    IMPI_RMA_CAS = 5,  /* compare and swap one element */
};

/* One that has an answer; the caller's memory until done. */
struct impi_rma_op {
    bool done;
    uint32_t error; /* enum impi_rma_error */
    void *user;     /* never touched by the engine */
    /* The engine's own. */
    struct impi_rma_win *win;
    uint32_t target;
    uint64_t id;
    void *result;
    uint64_t len;
};

struct impi_rma_args {
    enum impi_rma_kind kind;
    uint32_t target;
    int64_t disp;                    /* bytes */
    const struct impi_typemap *type; /* NULL: len bytes in a row */
    uint64_t count;                  /* of the type */
    uint64_t len;      /* bytes of data, at most SF_IMPI_RMA_DATA_MAX */
    uint32_t op, elem; /* of accumulates; elem of CAS */
    const void *data;  /* all but GET; GACC with NO_OP: not used.  CAS: what
                          to put, then what to compare with */
    bool lasts;        /* they stay there until the operation is confirmed */
    void *result;      /* GET, GACC, CAS: where len bytes go */
};

/* Start it.  op NULL: only for PUT and ACC, which then end with a flush; with
 * one they are answered at once.  0, or -1 ENOMEM. */
int impi_rma_start(struct impi_rma_win *win, const struct impi_rma_args *args,
                   struct impi_rma_op *op);

/* The same without a handle, where the target's memory is mapped, the data lie
 * in a row and fit: done.  False: it is not so, and nothing has happened.
 * Changes nothing of the engine, so any thread may call it at any time. */
bool impi_rma_at_once(struct impi_rma_win *win,
                      const struct impi_rma_args *args);

/* Ask a target to confirm all that was started so far, if anything is not
 * confirmed yet; it is done when impi_rma_is_flushed(). */
void impi_rma_flush(struct impi_rma_win *win, uint32_t target);
bool impi_rma_is_flushed(struct impi_rma_win *win, uint32_t target);

/* ---- locks ---- */

/* Ask for a lock; it is there when impi_rma_is_locked(). */
void impi_rma_lock(struct impi_rma_win *win, uint32_t target,
                   enum impi_rma_lock mode);
bool impi_rma_is_locked(struct impi_rma_win *win, uint32_t target);
/* Give it back behind all operations; those are done when
 * impi_rma_is_flushed(). The target may hear of it later. */
void impi_rma_unlock(struct impi_rma_win *win, uint32_t target);
/* Has every target answered all?  Before the window is freed anywhere. */
bool impi_rma_is_quiet(const struct impi_rma_win *win);

/* ---- post, start, complete, wait ---- */

/* Tell an origin that it may access this process's memory; has this target
 * told us?  (Each is asked for once per epoch.) */
void impi_rma_post(struct impi_rma_win *win, uint32_t origin);
bool impi_rma_take_post(struct impi_rma_win *win, uint32_t target);
/* Tell a target that all operations on it are out; has this origin?  Seen
 * does not take it. */
void impi_rma_complete(struct impi_rma_win *win, uint32_t target);
bool impi_rma_completed(const struct impi_rma_win *win, uint32_t origin);
void impi_rma_take_complete(struct impi_rma_win *win, uint32_t origin);

#endif
