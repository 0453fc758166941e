/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests: their table, how they start and end, and what they leave behind.
 */
#include "libimpi/req.h"

#include <stdlib.h>
#include <string.h>

#include "impi/fast.h"
#include "libimpi/coll_run.h"
#include "libimpi/compound.h"
#include "libimpi/failed.h"
#include "libimpi/foreign.h"
#include "libimpi/conns.h"
#include "libimpi/partitioned.h"
#include "libimpi/persist.h"
#include "libimpi/state.h"
#include "libimpi/status.h"
#include "libimpi/win.h"

/* An open request holds its communicator. */
static inline void req_hold_comm(struct req *r, struct impi_comm *c)
{
    r->comm = c;
    comm_hold(c);
}

static inline void req_drop_comm(struct req *r)
{
    if (r->comm)
        comm_release(r->comm);
    r->comm = NULL;
}

/* ---- req table --------------------------------------------------------- */

/* The table of requests, which are made many at a time and never move. */

#define REQ_CHUNK 256

struct req_table req_table;

void req_init(struct req *r)
{
    memset(&r->native, 0, sizeof(*r) - offsetof(struct req, native));
    r->native = MPI_REQUEST_NULL;
    r->data.staging = NULL;
    r->data.held = false;
    r->data.map = NULL;
    r->core.user = r;
}

/* As req_init() leaves it, in its place in the table. */
static void req_renew(struct req *r)
{
    uint32_t index = r->index;

    req_init(r);
    r->index = index;
}

/* Room for a chunk more.  A table that is replaced stays allocated, since a
 * reader may still be in it. */
static bool grow_table(void)
{
    size_t size = req_table.size ? 2 * req_table.size : 4 * REQ_CHUNK;
    struct req **at;

    if (req_table.n < req_table.size)
        return true;
    if (req_table.n + REQ_CHUNK > HANDLE_INDEX_MAX ||
        !(at = malloc(size * sizeof(struct req *))))
        return false;
    if (req_table.n > 0)
        memcpy(at, req_table.at, req_table.n * sizeof(struct req *));
    __atomic_store_n(&req_table.at, at, __ATOMIC_RELEASE);
    req_table.size = size;
    return true;
}

static bool add_chunk(void)
{
    struct req *c;

    if (!grow_table() || !(c = calloc(REQ_CHUNK, sizeof(*c))))
        return false;
    for (uint32_t i = REQ_CHUNK; i > 0; i--) {
        req_init(&c[i - 1]);
        c[i - 1].index = (uint32_t)req_table.n + i - 1;
        c[i - 1].next = req_table.free;
        req_table.free = &c[i - 1];
        req_table.at[req_table.n + i - 1] = &c[i - 1];
    }
    req_table.n += REQ_CHUNK;
    return true;
}

struct req *req_alloc(void)
{
    struct req *r;

    if (!req_table.free && !add_chunk())
        return NULL;
    r = req_table.free;
    req_table.free = r->next;
    r->next = NULL;
    return r;
}

void req_free(struct req *r)
{
    data_drop(&r->data);
    persist_free(r->persist);
    compound_free(r->compound);
    req_renew(r);
    r->next = req_table.free;
    req_table.free = r;
}

void req_again(struct req *r)
{
    struct persist *p = r->persist;

    compound_free(r->compound);
    req_renew(r);
    r->persist = p;
}

bool req_active(const struct req *r)
{
    return !r->persist || r->persist->active;
}

/* ---- req start --------------------------------------------------------- */

/* How a request begins: in the engine, in the native library, or in both. */

static int32_t core_tag(int tag)
{
    return tag == MPI_ANY_TAG ? IMPI_ANY_TAG : tag;
}

static int prepare_send(struct req *r, const struct message *m,
                        struct impi_send *args)
{
    struct impi_buffer buf;
    int rc = data_send_by(&r->data, m->buf, m->count, m->type, &buf);

    if (rc != MPI_SUCCESS)
        return rc;
    *args = (struct impi_send){.buf = buf,
                               .peer = (uint32_t)m->comm->world[m->peer],
                               .rank = m->comm->rank - m->comm->first,
                               .tag = m->tag,
                               .cid = m->cid,
                               .count = (uint64_t)m->count};
    req_hold_comm(r, m->comm);
    r->in_core = true;
    return MPI_SUCCESS;
}

/* The engine gets it, and ends what of it is written already. */
static void queue_send(struct req *r, const struct impi_send *args, size_t part)
{
    impi_p2p_isend(impi_be.p2p, &r->core, args);
    if (part > 0)
        conns_put_part(args->peer, part);
}

int req_send_rest(struct req *r, const struct message *m, size_t part)
{
    struct impi_send args;
    int rc = prepare_send(r, m, &args);

    if (rc == MPI_SUCCESS)
        queue_send(r, &args, part);
    return rc;
}

int req_send(struct req *r, const struct message *m, bool sync)
{
    struct impi_send args;
    size_t part = 0;
    int rc = prepare_send(r, m, &args);

    if (rc != MPI_SUCCESS)
        return rc;
    args.sync = sync;
    if (!sync && args.buf.len <= CONNS_FAST_MAX &&
        conns_put(&args, &part) == CONNS_PUT_ALL)
        impi_fast_request(impi_be.p2p, &r->core, &args);
    else
        queue_send(r, &args, part);
    return MPI_SUCCESS;
}

static int post_native(struct req *r, const struct message *m, int peer)
{
    int rc =
        req_irecv_native(r, m->buf, m->count, m->type, peer, m->tag, m->comm);

    r->raised = rc != MPI_SUCCESS;
    r->alone = !r->raised && !r->in_core && !r->persist;
    return rc;
}

/* ---- with the native library alone ---- */

static inline void keep_spare(struct req *r, struct impi_comm *c)
{
    r->next = c->spare;
    c->spare = r;
}

int req_end_native(struct req *r, int rc)
{
    if (r->comm->spares) {
        keep_spare(r, r->comm);
        return rc;
    }
    be_lock();
    req_drop_comm(r);
    req_free(r);
    be_unlock_same();
    return rc;
}

void req_drop_spares(struct impi_comm *c)
{
    struct req *r;

    c->spares = false;
    while ((r = req_take_spare(c))) {
        req_drop_comm(r);
        req_free(r);
    }
}

int req_recv_first(void *buf, int count, MPI_Datatype type, int peer, int tag,
                   struct impi_comm *c, MPI_Request *request)
{
    struct req *r;

    be_lock();
    r = req_alloc();
    if (r) {
        req_hold_comm(r, c);
        r->recv = r->alone = true;
    }
    be_unlock_same();
    if (!r)
        return be_raise(c->comm, MPI_ERR_NO_MEM);
    return req_begin_native(r, buf, count, type, peer, tag, c, request);
}

/* ---- in the engine, or in both ---- */

static int post_core(struct req *r, const struct message *m)
{
    bool any = m->peer == MPI_ANY_SOURCE;
    struct impi_recv args = {
        .peer = any ? IMPI_ANY_PEER : (uint32_t)m->comm->world[m->peer],
        .rank = any ? IMPI_ANY_SOURCE : m->peer - m->comm->peer,
        .tag = core_tag(m->tag),
        .cid = m->cid,
        .shared = any && !m->comm->strangers};
    int rc = data_recv_by(&r->data, m->buf, m->count, m->type, &args.buf);

    if (rc != MPI_SUCCESS)
        return rc;
    r->in_core = true;
    impi_p2p_irecv(impi_be.p2p, &r->core, &args);
    if (!foreign_await(m->comm, m->peer) && any)
        impi_p2p_fail_any(impi_be.p2p, m->cid);
    return MPI_SUCCESS;
}

static bool waits_in_core(const struct req *r)
{
    return r->in_core && !r->core.done && r->core.state == IMPI_REQ_POSTED;
}

/* A message of the library that a probe told of, before any from elsewhere:
 * MPI does not promise it to a receive from MPI_ANY_SOURCE, but each library
 * alone gives the same message twice, and programs count on it. */
static bool take_probed(struct req *r, const struct message *m, int *rc)
{
    MPI_Message message;
    MPI_Status st;
    int flag = 0;

    if (m->peer != MPI_ANY_SOURCE || impi_be.probed != m->comm)
        return false;
    impi_be.probed = NULL;
    *rc = impi_real.Improbe(MPI_ANY_SOURCE, m->tag, m->comm->p2p, &flag,
                            &message, &st);
    if (*rc == MPI_SUCCESS && flag)
        *rc = impi_real.Imrecv(m->buf, m->count, m->type, &message, &r->native);
    r->raised = *rc != MPI_SUCCESS;
    r->alone = flag && !r->raised && !r->persist;
    return flag || r->raised;
}

static int start_recv(struct req *r, const struct message *m)
{
    int rc;

    if (m->peer != MPI_ANY_SOURCE && m->comm->native[m->peer] >= 0 &&
        !m->straight)
        return post_native(r, m, m->comm->native[m->peer]);
    if (take_probed(r, m, &rc))
        return rc;
    rc = post_core(r, m);
    if (rc != MPI_SUCCESS || m->peer != MPI_ANY_SOURCE || m->comm->strangers ||
        !waits_in_core(r))
        return rc;
    rc = post_native(r, m, MPI_ANY_SOURCE);
    if (rc == MPI_SUCCESS)
        return rc;
    impi_p2p_cancel_recv(impi_be.p2p, &r->core, true);
    r->in_core = false;
    data_drop(&r->data);
    return rc;
}

int req_recv(struct req *r, const struct message *m)
{
    int rc;

    r->recv = true;
    req_hold_comm(r, m->comm);
    rc = start_recv(r, m);
    if (rc != MPI_SUCCESS)
        req_drop_comm(r);
    return rc;
}

int req_mrecv(struct req *r, const struct message *m, struct impi_comm *c,
              struct impi_unexpected *own, MPI_Message *native)
{
    struct impi_buffer buf = {0};
    int rc;

    r->recv = true;
    if (own) {
        rc = data_recv_by(&r->data, m->buf, m->count, m->type, &buf);
        if (rc != MPI_SUCCESS)
            return rc;
        r->in_core = true;
        impi_p2p_imrecv(impi_be.p2p, &r->core, own, &buf);
    } else {
        rc = impi_real.Imrecv(m->buf, m->count, m->type, native, &r->native);
        if (rc != MPI_SUCCESS)
            return rc;
        r->alone = true;
    }
    req_hold_comm(r, c);
    return MPI_SUCCESS;
}

void req_complete(struct req *r, struct impi_comm *c)
{
    req_hold_comm(r, c);
    r->source = MPI_ANY_SOURCE;
    r->tag = MPI_ANY_TAG;
    r->done = true;
}

void req_coll(struct req *r, struct coll *x)
{
    req_hold_comm(r, x->c);
    r->coll = x;
}

void req_rma(struct req *r, struct impi_comm *c, struct win_op *op)
{
    req_hold_comm(r, c);
    r->rma = op;
}

void req_compound(struct req *r, struct impi_comm *comm, struct compound *c)
{
    req_hold_comm(r, comm);
    r->compound = c;
    r->source = MPI_ANY_SOURCE;
    r->tag = MPI_ANY_TAG;
}

/* ---- req end ----------------------------------------------------------- */

/* How a request ends: by the engine, by the native library, or cancelled. */

/* The native half has the message. */
static void take_native(struct req *r, int rc, MPI_Status *st)
{
    MPI_Count bytes = 0;
    int flag = 0;

    status_translate(st, r->comm);
    impi_real.Test_cancelled(st, &flag);
    if (impi_real.Get_elements_x(st, MPI_BYTE, &bytes) != MPI_SUCCESS ||
        bytes < 0)
        bytes = 0;
    r->native = MPI_REQUEST_NULL;
    r->alone = false;
    r->source = st->MPI_SOURCE;
    r->tag = st->MPI_TAG;
    r->cancelled = flag;
    r->bytes = (uint64_t)bytes;
    r->error = rc;
    r->raised = rc != MPI_SUCCESS;
    r->done = true;
    data_drop(&r->data);
}

enum impi_claim req_claim(void *arg, struct impi_request *core)
{
    struct req *r = core->user;
    MPI_Status st;
    int rc, cancelled = 0;

    if (r->native == MPI_REQUEST_NULL)
        return IMPI_CLAIM_OURS;
    if (impi_be.mute) {
        impi_be.unsettled = true;
        return IMPI_CLAIM_LATER;
    }
    impi_real.Cancel(&r->native);
    rc = impi_real.Wait(&r->native, &st);
    impi_real.Test_cancelled(&st, &cancelled);
    if (cancelled) {
        r->native = MPI_REQUEST_NULL;
        return IMPI_CLAIM_OURS;
    }
    r->in_core = false;
    take_native(r, rc, &st);
    return IMPI_CLAIM_NATIVE;
}

static int error_of(const struct impi_status *st)
{
    switch (st->error) {
    case IMPI_OK:
        return MPI_SUCCESS;
    case IMPI_ERR_TRUNCATE:
        return MPI_ERR_TRUNCATE;
    default:
        return MPI_ERR_OTHER;
    }
}

/* A partitioned one has another tag on its way. */
static int take_tag(const struct req *r)
{
    return r->persist->parts ? r->persist->m.tag : r->core.status.tag;
}

static void take_core(struct req *r)
{
    const struct impi_status *st = &r->core.status;
    int rc;

    r->in_core = false;
    r->done = true;
    r->error = error_of(st);
    r->cancelled = st->cancelled;
    if (!r->recv || st->cancelled) {
        r->source = MPI_ANY_SOURCE;
        r->tag = MPI_ANY_TAG;
        data_drop(&r->data);
        return;
    }
    r->source = st->source;
    r->tag = r->persist ? take_tag(r) : st->tag;
    rc = data_received(&r->data, st->bytes, &r->bytes);
    if (r->error == MPI_SUCCESS)
        r->error = rc;
}

/* Of both posts only the native one stays. */
static void leave_core(struct req *r)
{
    if (!r->in_core)
        return;
    impi_p2p_cancel_recv(impi_be.p2p, &r->core, true);
    r->in_core = false;
}

static void poll_native(struct req *r)
{
    MPI_Status st;
    int flag = 0, rc = impi_real.Test(&r->native, &flag, &st);

    if (rc == MPI_SUCCESS && !flag)
        return;
    leave_core(r);
    take_native(r, rc, &st);
}

static void take_coll(struct req *r)
{
    bool of_file = r->coll->of_file;
    MPI_File file = r->coll->file;

    r->bytes = r->coll->bytes;
    r->error = coll_end(r->coll);
    r->raised = of_file && r->error != MPI_SUCCESS;
    if (r->raised)
        failed_note_file(file, r->error);
    r->coll = NULL;
    r->source = MPI_ANY_SOURCE;
    r->tag = MPI_ANY_TAG;
    r->done = true;
}

static void take_rma(struct req *r)
{
    r->error = win_op_end(r->rma);
    r->raised = r->error != MPI_SUCCESS;
    r->rma = NULL;
    r->source = MPI_ANY_SOURCE;
    r->tag = MPI_ANY_TAG;
    r->done = true;
}

bool req_waits_native(const struct req *r)
{
    if (r->coll)
        return coll_waits_native(r->coll);
    if (r->compound)
        return compound_waits_native(r->compound);
    return r->native != MPI_REQUEST_NULL;
}

bool req_poll(struct req *r)
{
    if (r->done)
        return true;
    if (r->coll) {
        if (r->coll->done)
            take_coll(r);
        return r->done;
    }
    if (unlikely(r->persist && r->persist->parts))
        partitions_poll(r);
    if (r->in_core && r->core.done)
        take_core(r);
    else if (r->native != MPI_REQUEST_NULL)
        poll_native(r);
    else if (unlikely(r->compound != NULL))
        r->done = compound_poll(r->compound, r);
    else if (unlikely(r->rma != NULL) && win_op_done(r->rma))
        take_rma(r);
    return r->done;
}

int req_result(struct req *r, MPI_Status *status, bool quiet)
{
    status_set(status, r->source, r->tag, r->bytes, r->cancelled);
    if (!r->raised && !quiet)
        be_raise(r->comm->comm, r->error);
    r->raised = true;
    req_drop_comm(r);
    return r->error;
}

int req_retire(MPI_Request *request, MPI_Status *status, bool quiet)
{
    struct req *r = req_of(*request);
    int rc = req_result(r, status, quiet);

    if (r->persist) {
        r->persist->active = false;
    } else {
        req_free(r);
        *request = MPI_REQUEST_NULL;
    }
    return rc;
}

/* The rare end.  It takes and returns rc, so that its caller need not save that
 * in a register. */
static __attribute__((noinline)) int end_native_slow(struct req *r,
                                                     MPI_Status *status, int rc)
{
    status_translate(status, r->comm);
    return req_end_native(r, rc);
}

int req_wait_native(MPI_Request *request, MPI_Status *status, struct req *r)
{
    int rc = impi_real.Wait(&r->native, status);
    struct impi_comm *c = r->comm;

    *request = MPI_REQUEST_NULL;
    if (unlikely(status != MPI_STATUS_IGNORE || !c->spares))
        return end_native_slow(r, status, rc);
    keep_spare(r, c);
    return rc;
}

/* The receiver may have to be asked: then the request is open again. */
static void cancel_send(struct req *r)
{
    if (r->asked)
        return;
    r->asked = true;
    impi_p2p_cancel_send(impi_be.p2p, &r->core);
    r->in_core = true;
    r->done = false;
}

void req_cancel(struct req *r)
{
    if (r->coll || r->rma || r->compound || (r->persist && r->persist->parts))
        return; /* cannot be */
    if (!r->recv)
        cancel_send(r);
    if (!r->recv || r->done)
        return;
    if (r->native != MPI_REQUEST_NULL) {
        leave_core(r);
        impi_real.Cancel(&r->native);
    } else if (r->in_core) {
        impi_p2p_cancel_recv(impi_be.p2p, &r->core, false);
    }
}

/* ---- req detached ------------------------------------------------------ */

/* Requests that nobody waits for any more. */

static struct req *detached;

void req_detach(struct req *r)
{
    r->next = detached;
    detached = r;
}

void req_reap(void)
{
    struct req **p = &detached;

    while (*p) {
        struct req *r = *p;

        if (req_active(r) && !req_poll(r)) {
            p = &r->next;
            continue;
        }
        *p = r->next;
        req_drop_comm(r);
        req_free(r);
    }
}

bool req_detached_left(void)
{
    for (struct req *r = detached; r; r = r->next) {
        if (!r->recv)
            return true;
    }
    return false;
}
