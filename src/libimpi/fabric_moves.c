/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of windows (doc/impi-rma.md) that peers read and write.
 */
#define _GNU_SOURCE
#include "libimpi/fabric_parts.h"

#ifdef WITH_FABRIC
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <stdlib.h>

/* Memory of a window of ours. */
struct fabric_memory {
    SLIST_ENTRY(fabric_memory) link;
    struct fid_mr *mr;
};

/* Bytes between our memory and that of a peer's window. */
struct moving {
    struct work work; /* first */
    TAILQ_ENTRY(moving) link;
    struct fabric_peer *peer; /* NULL if it is gone */
    bool put, given;
    uint64_t address, key;
    uint8_t *own;
    size_t len, at; /* at: bytes that were moved */
    struct fid_mr *mr;
    void *token;
};

static SLIST_HEAD(, fabric_memory) exposed = SLIST_HEAD_INITIALIZER(exposed);
static struct movings moved = TAILQ_HEAD_INITIALIZER(moved); /* complete */
/* Of peers that are gone. */
static struct movings lost_moves = TAILQ_HEAD_INITIALIZER(lost_moves);

struct fabric_memory *fabric_expose(void *memory, size_t len, uint64_t *address,
                                    uint64_t *key)
{
    struct fabric_memory *m;

    if (!fabric.open || fabric.broken.text[0] || !fabric_can_read() || len == 0)
        return NULL;
    m = malloc(sizeof(*m));
    if (!m)
        return NULL;
    if (fabric_register(memory, len, FI_REMOTE_READ | FI_REMOTE_WRITE, &m->mr) <
        0) {
        free(m);
        return NULL;
    }
    *address = fabric.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR
                   ? (uintptr_t)memory
                   : 0;
    *key = fi_mr_key(m->mr);
    SLIST_INSERT_HEAD(&exposed, m, link);
    return m;
}

void fabric_hide(struct fabric_memory *m)
{
    if (!m)
        return;
    SLIST_REMOVE(&exposed, m, fabric_memory, link);
    fi_close(&m->mr->fid);
    free(m);
}

bool fabric_may_move(const struct fabric_peer *p, bool put)
{
    return p->known && p->frames.lends_out > 0 && p->frames.lends_in > 0 &&
           (!put || fabric.delivers) && !fabric_error(p);
}

static size_t move_size(const struct moving *m)
{
    size_t left = m->len - m->at;

    return left < SF_FABRIC_LEND_MAX ? left : SF_FABRIC_LEND_MAX;
}

/* Complete only when the bytes are in the peer's memory. */
static ssize_t give_put(const struct fabric_peer *p, struct moving *m,
                        void *desc)
{
    struct iovec from = {m->own + m->at, move_size(m)};
    struct fi_rma_iov to = {m->address + m->at, from.iov_len, m->key};
    struct fi_msg_rma msg = {.msg_iov = &from,
                             .desc = &desc,
                             .iov_count = 1,
                             .addr = p->addr,
                             .rma_iov = &to,
                             .rma_iov_count = 1,
                             .context = &m->work.context};

    return fi_writemsg(fabric.ep, &msg, FI_COMPLETION | FI_DELIVERY_COMPLETE);
}

static ssize_t give_move(const struct fabric_peer *p, struct moving *m)
{
    void *desc = m->mr ? fi_mr_desc(m->mr) : NULL;

    if (m->put)
        return give_put(p, m, desc);
    return fi_read(fabric.ep, m->own + m->at, move_size(m), desc, p->addr,
                   m->address + m->at, m->key, &m->work.context);
}

void fabric_push_moves(struct fabric_peer *p)
{
    struct moving *m;
    ssize_t rc;

    TAILQ_FOREACH(m, &p->moves, link)
    {
        if (m->given || p->error.text[0])
            continue;
        rc = give_move(p, m);
        if (rc == -FI_EAGAIN)
            return;
        if (rc < 0) {
            fabric_peer_fail(p, m->put ? "putting" : "getting", (int)-rc);
            return;
        }
        m->given = true;
    }
}

static void free_move(struct movings *list, struct moving *m)
{
    TAILQ_REMOVE(list, m, link);
    fabric_close_fid(m->mr ? &m->mr->fid : NULL);
    free(m);
}

bool fabric_move(struct fabric_peer *p, uint64_t address, uint64_t key,
                 void *own, size_t len, bool put, void *token)
{
    struct moving *m = calloc(1, sizeof(*m));

    if (!m ||
        fabric_register_own(own, len, put ? FI_WRITE : FI_READ, &m->mr) < 0) {
        free(m);
        return false;
    }
    m->work.use = USE_MOVE;
    m->peer = p;
    m->put = put;
    m->address = address;
    m->key = key;
    m->own = own;
    m->len = len;
    m->token = token;
    TAILQ_INSERT_TAIL(&p->moves, m, link);
    (*(put ? &fabric.counts.puts : &fabric.counts.gets))++;
    fabric_push_moves(p);
    return true;
}

void *fabric_moved(void)
{
    struct moving *m = TAILQ_FIRST(&moved);
    void *token;

    if (!m)
        return NULL;
    token = m->token;
    free_move(&moved, m);
    return token;
}

void fabric_move_done(struct work *w, int error)
{
    struct moving *m = (struct moving *)w;
    struct fabric_peer *p = m->peer;

    m->given = false;
    if (!p) {
        free_move(&lost_moves, m);
        return;
    }
    if (error) {
        fabric_peer_fail(p, m->put ? "putting" : "getting", error);
        return;
    }
    m->at += move_size(m);
    if (m->at < m->len) {
        fabric_push_moves(p);
        return;
    }
    TAILQ_REMOVE(&p->moves, m, link);
    TAILQ_INSERT_TAIL(&moved, m, link);
}

/* Moves that the provider has already continue. */
void fabric_drop_moves(struct fabric_peer *p)
{
    struct moving *m;

    while ((m = TAILQ_FIRST(&p->moves))) {
        TAILQ_REMOVE(&p->moves, m, link);
        TAILQ_INSERT_TAIL(&lost_moves, m, link);
        m->peer = NULL;
        if (!m->given)
            free_move(&lost_moves, m);
    }
}

bool fabric_any_moved(void)
{
    return !TAILQ_EMPTY(&moved);
}

void fabric_free_moves(void)
{
    struct fabric_memory *e;
    struct moving *m;

    while ((e = SLIST_FIRST(&exposed)))
        fabric_hide(e);
    while ((m = TAILQ_FIRST(&moved)))
        free_move(&moved, m);
    while ((m = TAILQ_FIRST(&lost_moves)))
        free_move(&lost_moves, m);
}

#endif
