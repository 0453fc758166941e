/* SPDX-License-Identifier: BSD-3-Clause */
#include "libimpi/fast.h"

#include "libimpi/buffer.h"
#include "libimpi/coll_run.h"
#include "libimpi/conns.h"
#include "libimpi/p2p_calls.h"
#include "libimpi/status.h"

static struct buffer_page out_page = {BUFFER_NO_PAGE};
static struct buffer_page in_page = {BUFFER_NO_PAGE};

/* Does the rank mean somebody in another client? */
static inline bool is_abroad(const struct impi_comm *c, int peer)
{
    return (unsigned)peer < (unsigned)c->peers && c->native[c->peer + peer] < 0;
}

/* On the way out: a round, if anything is under way or the last round was long
 * ago. */
static void leave(void)
{
    if (likely(conns_skip_round() && !impi_p2p_busy(impi_be.p2p) &&
               !coll_any())) {
        if (unlikely(impi_be.served > 0))
            be_unlock();
        else
            be_unlock_same();
        return;
    }
    buffer_page_forget(&out_page);
    buffer_page_forget(&in_page);
    progress_once();
    be_unlock();
}

/* ---- out ---- */

/* The connection took only a part. */
static void send_rest(struct message *m, size_t part)
{
    uint32_t peer = (uint32_t)m->comm->world[m->peer];

    if (send_copy_rest(m, part) != MPI_SUCCESS)
        be_die(1, "SF-E403: no memory for a message to rank %u", peer);
}

bool fast_send(struct impi_comm *c, const void *buf, int count,
               MPI_Datatype type, int dest, int tag)
{
    struct impi_send args;
    enum conns_put put;
    size_t part;

    if (!is_abroad(c, dest) || (unsigned)tag > (unsigned)impi_be.tagub ||
        !data_is_plain(count, type, &args.buf.len) ||
        args.buf.len > CONNS_FAST_MAX ||
        !buffer_is_ours(&out_page, buf, args.buf.len))
        return false;
    args.peer = (uint32_t)c->world[c->peer + dest];
    args.rank = c->rank - c->first;
    args.tag = tag;
    args.cid = c->cid;
    args.sync = false;
    args.count = (uint64_t)count;
    args.buf.base = (void *)(uintptr_t)buf;
    be_lock();
    put = conns_put(&args, &part);
    if (unlikely(put == CONNS_PUT_PART))
        send_rest(&(struct message){.buf = args.buf.base,
                                    .count = count,
                                    .type = type,
                                    .peer = c->peer + dest,
                                    .tag = tag,
                                    .comm = c,
                                    .cid = c->cid},
                  part);
    leave();
    return put != CONNS_PUT_NONE;
}

bool fast_step_send(struct message *m)
{
    const struct impi_comm *c = m->comm;
    struct impi_send args = {.peer = (uint32_t)c->world[m->peer],
                             .rank = c->rank - c->first,
                             .tag = m->tag,
                             .cid = m->cid,
                             .count = (uint64_t)m->count,
                             .buf.base = m->buf};
    enum conns_put put;
    size_t part;

    if (!data_is_plain(m->count, m->type, &args.buf.len) ||
        args.buf.len > CONNS_FAST_MAX)
        return false;
    put = conns_put(&args, &part);
    if (unlikely(put == CONNS_PUT_PART))
        send_rest(m, part);
    return put != CONNS_PUT_NONE;
}

/* ---- in ---- */

/* Nobody else wants the processor or the lock, nor has the library messages for
 * this receive. */
static bool may_wait(const struct impi_comm *c, int source)
{
    return !impi_be.crowded && !impi_be.threads &&
           (source != MPI_ANY_SOURCE || c->native_size == 1);
}

bool fast_recv(struct impi_comm *c, void *buf, int count, MPI_Datatype type,
               int source, int tag, MPI_Status *status)
{
    struct impi_recv want;
    struct impi_status st;
    bool any = source == MPI_ANY_SOURCE, done;

    if (!(any || is_abroad(c, source)) ||
        !((unsigned)tag <= (unsigned)impi_be.tagub || tag == MPI_ANY_TAG) ||
        !data_is_plain(count, type, &want.buf.len) ||
        !buffer_is_ours(&in_page, buf, want.buf.len))
        return false;
    want.peer = any ? IMPI_ANY_PEER : (uint32_t)c->world[c->peer + source];
    want.rank = source;
    want.tag = tag == MPI_ANY_TAG ? IMPI_ANY_TAG : tag;
    want.cid = c->cid;
    want.buf.base = buf;
    be_lock();
    done = !(any && impi_be.probed == c) &&
           conns_take(&want, may_wait(c, source), &st);
    if (!done) { /* what comes now would find no receive to be read to */
        be_unlock();
        return false;
    }
    leave();
    status_from_core(status, &st);
    return true;
}

bool fast_step_recv(const struct message *m)
{
    struct impi_recv want = {.peer = (uint32_t)m->comm->world[m->peer],
                             .rank = m->peer,
                             .tag = m->tag,
                             .cid = m->cid,
                             .buf.base = m->buf};
    struct impi_status st;

    return data_is_plain(m->count, m->type, &want.buf.len) &&
           want.buf.len <= CONNS_FAST_MAX &&
           conns_take(&want, may_wait(m->comm, m->peer), &st);
}
