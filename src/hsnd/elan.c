/* SPDX-License-Identifier: BSD-3-Clause
 * Contexts: who may attach, and frames between them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "elan/capability.h"
#include "elan/program_member.h"
#include "hsnd/hsnd.h"

#define SECOND 1000000000ULL

static uint64_t wall_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

bool hsnd_count(struct hsnd *d, uint64_t *count)
{
    size_t cause = (size_t)(count - (uint64_t *)&d->counts);
    uint64_t now = clock_ns();

    ++*count;
    if (now - d->said[cause] < SECOND && d->said[cause])
        return false;
    d->said[cause] = now;
    return true;
}

/* Count a drop, and say it. */
static void note(struct hsnd *d, uint64_t *count, const char *what,
                 uint32_t node, unsigned context)
{
    if (!hsnd_count(d, count))
        return;
    log_warn("SF-E810 frame of node %u, context %u: %s", node, context, what);
}

static int refused(struct conn *c, uint64_t *count, const char *why, int error)
{
    struct program_peer peer;
    struct program_cgroup none = PROGRAM_CGROUP_NONE;

    if (!hsnd_count(c->d, count))
        return error;
    if (program_peer_find(&peer, c->fd, &none) < 0)
        peer = (struct program_peer){.uid = (uid_t)-1};
    log_warn("SF-E811 attach refused: uid %d, pid %d: %s", (int)peer.uid,
             peer.nchain ? (int)peer.chain[0].pid : 0, why);
    return error;
}

/* Which of the refusals. */
static int refused_by(struct conn *c, int error, bool other_user)
{
    struct hsnd_counts *n = &c->d->counts;

    if (error == ERANGE)
        return refused(c, &n->refused_range, "context out of range", error);
    if (error == EBUSY)
        return refused(c, &n->refused_busy, "context in use", error);
    if (other_user)
        return refused(c, &n->refused_user, "another user's program", error);
    return refused(c, &n->refused_member, "not a member of the program", error);
}

/* Is the process allowed to the context of that capability?  An errno, or 0
 * and the program. */
static int allowed(struct conn *c, const struct elan_capability *cap,
                   uint32_t context, struct client_program **program)
{
    struct hsnd *d = c->d;
    struct hsn_program *known = hsn_program_with(&d->contexts, cap);
    struct program_peer peer;
    int error;

    if (!d->contexts.programs)
        return ENOSYS;
    if (!known)
        return refused(c, &d->counts.refused_capability, "no such capability",
                       EACCES);
    *program = known->owner;
    if (program_peer_find(&peer, c->fd, &(*program)->group) < 0)
        return EPERM;
    error =
        hsn_attach_check(&d->contexts, known, peer.uid, peer.member, context);
    return error ? refused_by(c, error, peer.uid != known->uid) : 0;
}

static int start_sender(struct port *p)
{
    struct hsnd *d = p->d;
    uint64_t epoch = hsn_context_take(&d->contexts, p->number, p, wall_clock());

    p->scratch = malloc(HSN_HEADER_MAX);
    if (p->scratch &&
        hsn_elan_sender_init(&p->sender, &p->program->known->cap.UserKey,
                             d->elan_id, p->number, epoch) == 0)
        return 0;
    return ENOMEM;
}

int elan_attach(struct conn *c, const struct hsn_request *r, struct port **port,
                int fds[2])
{
    struct elan_capability cap;
    struct be_reader more = r->more;
    struct client_program *program = NULL;
    int error = ENOSYS;

    if (elan_capability_get(&more, &cap, NULL) < 0 || !be_reader_done(&more))
        error = refused(c, &c->d->counts.refused_capability,
                        "an invalid capability", EACCES);
    else if (c->d->has_elan)
        error = allowed(c, &cap, r->a, &program);
    explicit_bzero(&cap, sizeof(cap));
    if (error)
        return error;
    *port = port_new(c, PORT_ELAN, (uint16_t)r->a, fds);
    if (!*port)
        return errno;
    (*port)->program = program;
    error = start_sender(*port);
    if (error) {
        port_end(*port);
        *port = NULL;
        return error;
    }
    c->d->counts.attached++;
    log_debug("program %d: pid %d has context %u", program->known->number,
              (int)(*port)->pid, r->a);
    return 0;
}

void elan_detach(struct port *p)
{
    struct hsnd *d = p->d;

    if (d->contexts.user[p->number] != p)
        return;
    hsn_context_give(&d->contexts, p->number);
    d->counts.detached++;
}

/* To a context of the same node: no frame, no tag; both ends are ours. */
static int deliver_here(struct port *from, const struct hsn_record *r,
                        const struct iovec *data, const struct iovec *header)
{
    struct hsnd *d = from->d;
    struct port *to =
        r->context < ELAN_MAX_CONTEXTS ? d->contexts.user[r->context] : NULL;
    struct hsn_record out = {.board = d->board,
                             .node = d->elan_id,
                             .context = from->number,
                             .module = HSN_MODULE_ELAN};

    if (to && to->program == from->program)
        port_deliver(to, &out, data, 1, header);
    else
        d->counts.elan_no_context++;
    port_complete(from, 0, 0);
    return 0;
}

static int fail(uint64_t *count, int error)
{
    ++*count;
    errno = error;
    return -1;
}

int elan_send(struct port *p, const struct hsn_record *r,
              const struct iovec *data, const struct iovec *header)
{
    struct hsnd *d = p->d;
    struct hsn_send s = {.data = *data, .cookie = (uintptr_t)p};
    struct iovec copy = {p->scratch + HSN_ELAN_HEADER, header->iov_len};

    if (r->header_len > HSN_ELAN_HEADER_MAX || r->context > UINT16_MAX)
        return fail(&d->counts.port_malformed, EMSGSIZE);
    if (r->node == d->elan_id)
        return deliver_here(p, r, data, header);
    s.board = hsnd_board_of(d, r->node);
    if (s.board == 0)
        return fail(&d->counts.elan_unknown_node, ENETUNREACH);
    if (header->iov_len)
        memcpy(copy.iov_base, header->iov_base, header->iov_len);
    if (hsn_elan_seal(&p->sender, r->node, (uint16_t)r->context, data, &copy,
                      p->scratch) < 0)
        return -1;
    s.header = (struct iovec){p->scratch, HSN_ELAN_HEADER + header->iov_len};
    s.flow = (uint32_t)p->number << 16 | r->context | 1u << 31;
    d->counts.elan_sent++;
    return hsn_engine_send(d->engine, HSN_MODULE_ELAN, &s, d->now);
}

/* Drop a frame. */
static void dropped(struct hsnd *d, enum hsn_elan_fault fault,
                    const struct hsn_elan_head *h)
{
    if (fault == HSN_ELAN_STRANGER)
        note(d, &d->counts.elan_stranger, "not of that program", h->from_node,
             h->from_context);
    else if (fault == HSN_ELAN_REPLAYED)
        note(d, &d->counts.elan_replay, "replayed", h->from_node,
             h->from_context);
    else
        note(d, &d->counts.elan_tag, "tag is wrong", h->from_node,
             h->from_context);
}

static void receive(void *arg, const struct hsn_delivery *m)
{
    struct hsnd *d = arg;
    const uint8_t *raw = m->header.iov_base;
    struct hsn_elan_head h;
    struct iovec header;
    struct hsn_record r;
    struct port *to;
    enum hsn_elan_fault fault;

    if (hsn_elan_head_get(&h, raw, m->header.iov_len) < 0 || !d->has_elan ||
        h.to_node != d->elan_id || h.to_context >= ELAN_MAX_CONTEXTS) {
        note(d, &d->counts.elan_malformed, "malformed", 0, 0);
        return;
    }
    if (hsnd_board_of(d, h.from_node) != m->from) {
        note(d, &d->counts.elan_spoofed, "sent by another board", h.from_node,
             h.from_context);
        return;
    }
    to = d->contexts.user[h.to_context];
    if (!to) {
        d->counts.elan_no_context++;
        return;
    }
    header = (struct iovec){(uint8_t *)m->header.iov_base + HSN_ELAN_HEADER,
                            m->header.iov_len - HSN_ELAN_HEADER};
    fault = hsn_elan_check(to->program->known->sources, &h, raw, m->data,
                           m->ndata, &header);
    if (fault != HSN_ELAN_OK) {
        dropped(d, fault, &h);
        return;
    }
    r = (struct hsn_record){.board = m->from,
                            .node = h.from_node,
                            .context = h.from_context,
                            .module = HSN_MODULE_ELAN};
    d->counts.elan_received++;
    port_deliver(to, &r, m->data, m->ndata, &header);
}

int elan_open(struct hsnd *d)
{
    static const struct hsn_module_ops ops = {receive, port_complete};

    return hsn_engine_open(d->engine, HSN_MODULE_ELAN, &ops, d);
}
