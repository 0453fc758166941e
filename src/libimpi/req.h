/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests of ours: messages to or from other clients, receives of which the
 * native library cannot say the source's rank here, and receives from
 * anybody, which wait in both places.
 *
 * A request lives in the table (its handle is made from the index) or on the
 * stack of a blocking call.  All functions want the lock, but
 * for those that say otherwise.
 */
#ifndef LIBIMPI_REQ_H
#define LIBIMPI_REQ_H

#include "impi/p2p.h"
#include "libimpi/comm.h"
#include "libimpi/data.h"
#include "libimpi/family.h"

struct compound;
struct win_op;

struct req {
    struct impi_request core; /* the engine's; .user is this struct */
    struct data data;
    MPI_Request native;        /* the half in the native library, or null */
    struct coll *coll;         /* a collective call, and nothing else */
    struct win_op *rma;        /* an operation on a window, likewise */
    struct compound *compound; /* of other requests, likewise */
    struct persist *persist;   /* what a persistent one is made of */
    struct impi_comm *comm;    /* for ranks and errors; held while open */
    uint32_t index;            /* in the table */
    bool recv;
    bool alone;   /* a receive that only the native library has, for one call:
                     it knows all of the status but the source's rank here */
    bool in_core; /* the engine has it */
    bool asked;   /* a send that was to be cancelled */
    bool cancelled;
    bool done;   /* what follows is valid */
    bool raised; /* the error handler has had the error already */
    int source;
    int tag;
    int error;
    uint64_t bytes;
    struct req *next; /* free, spare or detached */
};

/* A message: user arguments that were checked. */
struct message {
    void *buf; /* a send does not write to it */
    int count;
    MPI_Datatype type;
    int peer; /* rank in comm; MPI_ANY_SOURCE */
    int tag;
    struct impi_comm *comm;
    uint64_t cid;
    bool straight; /* by the engine, even inside the client */
};

extern struct req_table {
    struct req **at;  /* by index; read without the lock */
    size_t n, size;   /* requests there are, and have room */
    struct req *free; /* each as req_init() leaves it */
} req_table;

/* From the table; NULL: no memory. */
struct req *req_alloc(void);
void req_free(struct req *r);

static inline MPI_Request req_handle(const struct req *r)
{
    return handle_from_index(r->index);
}

static inline struct req *req_of(MPI_Request handle)
{
    struct req **at = __atomic_load_n(&req_table.at, __ATOMIC_ACQUIRE);

    return at[handle_to_index(handle)];
}

void req_init(struct req *r); /* one on the stack */

/* Start a send to another client; a short one is mostly done at once.  On
 * failure an MPI error code, and the request is as before. */
int req_send(struct req *r, const struct message *m, bool sync);
/* The same for one of which conns_put() has written a part. */
int req_send_rest(struct req *r, const struct message *m, size_t part);

/* Start a receive from another client, from a native rank, or from anybody.
 */
int req_recv(struct req *r, const struct message *m);

/* Start the receive of a matched message: `own` in the engine, or *native. */
int req_mrecv(struct req *r, const struct message *m, struct impi_comm *c,
              struct impi_unexpected *own, MPI_Message *native);

/* A persistent one: as it was before it was started; done at once. */
void req_again(struct req *r);
void req_complete(struct req *r, struct impi_comm *c);
/* Not a persistent one that was not started. */
bool req_active(const struct req *r);

/* The request of a collective call; of an operation on a window. */
void req_coll(struct req *r, struct coll *x);
void req_rma(struct req *r, struct impi_comm *c, struct win_op *op);

/* Does it wait for the native library, too? */
bool req_waits_native(const struct req *r);

/* ---- receives that only the native library has ---- */

/* A communicator keeps the requests that such receives have left, its spares,
 * for the program's only thread, which takes no lock for them.  Each holds the
 * communicator and is as it was when it was started. */
static inline struct req *req_take_spare(struct impi_comm *c)
{
    struct req *r = c->spare;

    if (likely(r))
        c->spare = r->next;
    return r;
}

/* The communicator keeps none from now on.  Under the lock. */
void req_drop_spares(struct impi_comm *c);

/* One has ended, or could not be started.  Returns rc. */
int req_end_native(struct req *r, int rc);

/* Start the native half. */
static inline int req_irecv_native(struct req *r, void *buf, int count,
                                   MPI_Datatype type, int peer, int tag,
                                   const struct impi_comm *c)
{
    if (RECV_OF_EMPTY_TYPE_FAILS)
        data_spare_empty(&count, &type);
    return impi_real.Irecv(buf, count, type, peer, tag, c->p2p, &r->native);
}

static inline int req_begin_native(struct req *r, void *buf, int count,
                                   MPI_Datatype type, int peer, int tag,
                                   const struct impi_comm *c,
                                   MPI_Request *request)
{
    int rc = req_irecv_native(r, buf, count, type, peer, tag, c);

    if (unlikely(rc != MPI_SUCCESS))
        return req_end_native(r, rc);
    *request = req_handle(r);
    return rc;
}

/* Start one: from the rank `peer` of the library's communicator.  Errors have
 * been given to an error handler.  Takes the lock itself, where it needs it. */
int req_recv_first(void *buf, int count, MPI_Datatype type, int peer, int tag,
                   struct impi_comm *c, MPI_Request *request);
static inline int req_recv_native(void *buf, int count, MPI_Datatype type,
                                  int peer, int tag, struct impi_comm *c,
                                  MPI_Request *request)
{
    struct req *r = req_take_spare(c);

    if (unlikely(!r))
        return req_recv_first(buf, count, type, peer, tag, c, request);
    return req_begin_native(r, buf, count, type, peer, tag, c, request);
}

/* Wait for it as for a native request: the handle is gone.  As above. */
int req_wait_native(MPI_Request *request, MPI_Status *status, struct req *r);

/* ---- all ---- */

/* Is it done?  Asks the native library where that has a part of it. */
bool req_poll(struct req *r);

/* Done: its result, and the handle is gone, or inactive. */
int req_retire(MPI_Request *request, MPI_Status *status, bool quiet);

/* Done: tell the result.  Returns its MPI error code, which has been given to
 * the error handler unless `quiet`. */
int req_result(struct req *r, MPI_Status *status, bool quiet);

void req_cancel(struct req *r);

/* Nobody will ask for it again. */
void req_detach(struct req *r);
/* Free those that are detached and done. */
void req_reap(void);
bool req_detached_left(void);

/* The engine's question (p2p.h). */
enum impi_claim req_claim(void *arg, struct impi_request *core);

#endif
