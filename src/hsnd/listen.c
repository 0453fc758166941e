/* SPDX-License-Identifier: BSD-3-Clause
 * Connections, their requests, and what is answered.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/accept.h"
#include "base/fd_pass.h"
#include "base/local.h"
#include "base/log.h"
#include "hsn/frame.h"
#include "hsnd/hsnd.h"

/* ---- what is answered ---- */

/* Each verb: an errno, or 0 and has put its answer. */
typedef int verb_f(struct conn *c, struct hsn_request *r, struct answer *a);

static int do_board(struct conn *c, struct hsn_request *r, struct answer *a)
{
    struct hsnd *d = c->d;
    const struct hsn_routes *routes = hsn_engine_routes(d->engine);
    const struct hsn_counts *n = hsn_engine_counts(d->engine);
    struct hsn_board_info b = {
        .address = d->board,
        .host_type = routes->host_type,
        .map_version = routes->map_version,
        .npeers = (uint32_t)routes->npeers,
        .configured = routes->configured,
        .link = d->nic->up,
        .simulated = hsn_nic_simulated(d->nic),
        .page_size = (uint32_t)d->conf.page_size,
        .counters = {.sent = n->n[HSN_COUNT_sent],
                     .received = n->n[HSN_COUNT_received],
                     .sent_bytes = n->n[HSN_COUNT_sent_bytes],
                     .received_bytes = n->n[HSN_COUNT_received_bytes],
                     .delivered = n->n[HSN_COUNT_delivered],
                     .lost = hsn_counts_lost(n)},
    };

    (void)r;
    memcpy(b.node, d->node, sizeof(b.node));
    hsn_board_put(&a->w, &b);
    return 0;
}

/* An endpoint is answered with the size of its rings. */
static int opened(struct conn *c, struct port *p, struct answer *a)
{
    if (!p)
        return errno;
    a->port = p;
    be_put64(&a->w, (uint64_t)c->d->conf.ring_kb * 1024);
    return 0;
}

static int do_open_raw(struct conn *c, struct hsn_request *r, struct answer *a)
{
    struct hsnd *d = c->d;
    struct port *p;

    if (r->a > 0x7fff || r->a == HSN_TYPE || r->a == HSN_TYPE_LOOP)
        return EINVAL;
    if (!hsnd_may_raw(c))
        return hsnd_refuse(c, "raw type", r->a, EPERM);
    if (d->raw[r->a])
        return EBUSY;
    p = port_new(c, PORT_RAW, (uint16_t)r->a, a->fds);
    if (p)
        d->raw[r->a] = p;
    return opened(c, p, a);
}

static int do_open_dgram(struct conn *c, struct hsn_request *r,
                         struct answer *a)
{
    struct hsnd *d = c->d;
    struct port *p;

    if (r->a > UINT16_MAX || r->a == HSN_MODULE_ECHO || r->a == HSN_MODULE_ELAN)
        return EINVAL;
    if (r->a < HSN_MODULE_FREE && !hsnd_may_dgram(c))
        return hsnd_refuse(c, "module", r->a, EPERM);
    if (d->dgram[r->a])
        return EBUSY;
    p = port_new(c, PORT_DGRAM, (uint16_t)r->a, a->fds);
    if (p && hsn_engine_open(d->engine, p->number, &port_dgram_ops, p) < 0) {
        port_end(p);
        return ENOMEM;
    }
    if (p)
        d->dgram[r->a] = p;
    return opened(c, p, a);
}

static int do_open_elan(struct conn *c, struct hsn_request *r, struct answer *a)
{
    struct port *p = NULL;
    int error = elan_attach(c, r, &p, a->fds);

    return error ? error : opened(c, p, a);
}

static int do_peer(struct conn *c, struct hsn_request *r, struct answer *a)
{
    const struct hsn_routes *routes = hsn_engine_routes(c->d->engine);
    const struct hsn_routed *peer = hsn_routes_find(routes, be_get64(&r->more));
    struct hsn_peer out;

    if (!be_reader_done(&r->more))
        return EPROTO;
    if (!peer)
        return EHOSTUNREACH;
    hsn_routes_export(routes, peer, &out);
    hsn_peer_put(&a->w, &out);
    return 0;
}

static verb_f *const verbs[HSN_VERBS] = {
    [HSN_BOARD] = do_board,
    [HSN_OPEN_RAW] = do_open_raw,
    [HSN_OPEN_DGRAM] = do_open_dgram,
    [HSN_OPEN_ELAN] = do_open_elan,
    [HSN_ROUTES_BEGIN] = hsnd_routes_begin,
    [HSN_ROUTES_ADD] = hsnd_routes_add,
    [HSN_ROUTES_END] = hsnd_routes_end,
    [HSN_PEER] = do_peer,
    [HSN_ROUTES_CHANGE] = hsnd_routes_begin,
    [HSN_PAGES] = hsnd_pages,
};

static void make_answer(struct conn *c, const void *buf, size_t len,
                        struct answer *a)
{
    struct hsn_request r;
    int error = EPROTO;

    hsn_answer_begin(&a->w, a->buf, sizeof(a->buf), 0);
    if (hsn_request_get(&r, buf, len) == 0)
        error = verbs[r.verb](c, &r, a);
    if (error)
        hsn_answer_begin(&a->w, a->buf, sizeof(a->buf), error);
}

/* ---- connections ---- */

static void conn_free(struct conn *c, bool keep_fd)
{
    struct conn **at = &c->d->conns;

    hsnd_load_gone(c);
    ev_io_stop(c->d->loop, &c->io);
    if (!keep_fd)
        close(c->fd);
    while (*at && *at != c)
        at = &(*at)->next;
    if (*at)
        *at = c->next;
    c->d->nconns--;
    free(c);
}

/* Send the answer, with descriptors if it has some. */
static int reply(int fd, const struct answer *a)
{
    size_t n = (size_t)((a->fds[0] >= 0) + (a->fds[1] >= 0));

    return fd_pass_send(fd, a->buf, a->w.len, a->fds, n, MSG_DONTWAIT) < 0 ? -1
                                                                           : 0;
}

/* A request.  False: the connection is no longer c's. */
static bool serve(struct conn *c, const uint8_t *buf, size_t len,
                  struct answer *a)
{
    int rc, fd = c->fd;

    a->fds[0] = a->fds[1] = -1;
    a->port = NULL;
    make_answer(c, buf, len, a);
    rc = reply(fd, a);
    for (int i = 0; i < 2; i++)
        if (a->fds[i] >= 0)
            close(a->fds[i]);
    if (a->port && rc == 0) {
        struct port *p = a->port;

        conn_free(c, true);
        port_start(p, fd);
        return false;
    }
    if (a->port)
        port_end(a->port);
    if (rc == 0)
        return true;
    conn_free(c, false);
    return false;
}

static void on_conn(struct ev_loop *loop, ev_io *io, int events)
{
    struct conn *c = io->data;
    uint8_t *buf = c->d->request;
    struct answer *answer = &c->d->answer;
    ssize_t n = recv(c->fd, buf, sizeof(c->d->request), MSG_DONTWAIT);

    (void)loop;
    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n >= 4 && be_load32(buf) == PROGRAM_REGISTER_MAGIC) {
        bool kept = program_register(c, buf, (size_t)n);

        explicit_bzero(buf, (size_t)n);
        conn_free(c, kept);
        return;
    }
    if (n <= 0)
        conn_free(c, false);
    else
        serve(c, buf, (size_t)n, answer);
    if (n > 0)
        explicit_bzero(buf, (size_t)n < 4096 ? (size_t)n : 4096);
}

/* Has the user as many connections and endpoints as one may have?  So nobody
 * keeps others out. */
static bool has_share(const struct hsnd *d, uid_t uid)
{
    size_t n = 0;

    if (uid == 0)
        return false;
    for (const struct conn *c = d->conns; c; c = c->next)
        n += c->uid == uid;
    for (const struct port *p = d->ports; p; p = p->next)
        n += p->uid == uid;
    return n >= d->user_share;
}

/* A connection for the peer, or NULL if it gets none. */
static struct conn *conn_new(struct hsnd *d, int fd)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);
    struct conn *c;

    if (d->nconns >= SF_HSN_PORTS_MAX ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return NULL;
    if (has_share(d, peer.uid)) {
        if (d->counts.refused_share++ == 0)
            log_warn("SF-E813 uid %u has %zu connections and gets no more; "
                     "refused_share counts such",
                     (unsigned)peer.uid, d->user_share);
        return NULL;
    }
    c = calloc(1, sizeof(*c));
    if (c)
        *c = (struct conn){.d = d, .fd = fd, .uid = peer.uid};
    return c;
}

static void on_listen(struct ev_loop *loop, ev_io *io, int events)
{
    struct hsnd *d = io->data;
    struct conn *c;
    int fd = accept_or_shed(d->listener, &d->spare);

    (void)events;
    if (fd < 0)
        return;
    c = conn_new(d, fd);
    if (!c) {
        close(fd);
        return;
    }
    c->next = d->conns;
    d->conns = c;
    d->nconns++;
    ev_io_init(&c->io, on_conn, fd, EV_READ);
    c->io.data = c;
    ev_io_start(loop, &c->io);
}

int hsnd_listen(struct hsnd *d, struct errbuf *err)
{
    const char *path = d->conf.socket;

    /* An endpoint takes two descriptors: half of them for one user. */
    d->user_share = accept_room() / 4;
    if (d->user_share > SF_HSN_USER_MAX)
        d->user_share = SF_HSN_USER_MAX;
    d->listener = local_listen(path, SOCK_SEQPACKET);
    if (d->listener < 0 && errno == EADDRINUSE)
        return errprintf(err, "%s: another hsnd is there", path);
    if (d->listener < 0)
        return errprintf(err, "%s: %s", path, strerror(errno));
    ev_io_init(&d->listen_io, on_listen, d->listener, EV_READ);
    d->listen_io.data = d;
    ev_io_start(d->loop, &d->listen_io);
    return 0;
}

void hsnd_listen_stop(struct hsnd *d)
{
    while (d->conns)
        conn_free(d->conns, false);
    if (d->listener < 0)
        return;
    ev_io_stop(d->loop, &d->listen_io);
    close(d->listener);
    unlink(d->conf.socket);
    d->listener = -1;
}
