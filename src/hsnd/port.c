/* SPDX-License-Identifier: BSD-3-Clause
 * Endpoints: their rings, delivery, their end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/local.h"
#include "hsnd/hsnd.h"

/* The process that connected. */
static int peer_of(struct port *p, int fd)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
        return -1;
    p->uid = cred.uid;
    p->pid = cred.pid;
    p->pidfd = local_peer_pidfd(fd, cred.pid);
    return p->pidfd < 0 ? -1 : 0;
}

/* Both or none. */
static int make_rings(struct port *p, int fds[2])
{
    size_t size = (size_t)p->d->conf.ring_kb * 1024;
    int e;

    fds[0] = ring_create(size, NULL);
    fds[1] = fds[0] < 0 ? -1 : ring_create(size, NULL);
    if (fds[0] >= 0 && fds[1] >= 0 &&
        ring_attach(&p->from, fds[0], RING_CONSUMER, HSN_RECORD_MAX, NULL) ==
            0 &&
        ring_attach(&p->to, fds[1], RING_PRODUCER, HSN_RECORD_MAX, NULL) == 0)
        return 0;
    e = errno;
    for (int i = 0; i < 2; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
        fds[i] = -1; /* of half an endpoint nobody gets anything */
    }
    errno = e;
    return -1;
}

static void port_free(struct port *p)
{
    pages_leave(p);
    ring_detach(&p->from);
    ring_detach(&p->to);
    hsn_elan_sender_clear(&p->sender);
    free(p->scratch);
    free(p);
}

struct port *port_new(struct conn *c, enum port_kind kind, uint16_t number,
                      int fds[2])
{
    struct hsnd *d = c->d;
    struct port *p = NULL;
    int e = E2BIG;

    if (d->nports < SF_HSN_PORTS_MAX)
        p = calloc(1, sizeof(*p));
    if (!p) {
        errno = d->nports < SF_HSN_PORTS_MAX ? ENOMEM : e;
        return NULL;
    }
    *p = (struct port){
        .d = d, .kind = kind, .number = number, .bell = -1, .pidfd = -1};
    if (peer_of(p, c->fd) < 0 || make_rings(p, fds) < 0) {
        e = errno;
        if (p->pidfd >= 0)
            close(p->pidfd);
        port_free(p);
        errno = e;
        return NULL;
    }
    p->next = d->ports;
    if (p->next)
        p->next->prev = p;
    d->ports = p;
    d->nports++;
    return p;
}

static void activate(struct port *p)
{
    if (p->active || p->dead)
        return;
    ring_awake(&p->from);
    p->active = true;
    p->at = p->d->nactive;
    p->d->act[p->d->nactive++] = p;
}

void port_deactivate(struct port *p)
{
    struct port *last;

    if (!p->active)
        return;
    p->active = false;
    last = p->d->act[--p->d->nactive];
    p->d->act[p->at] = last;
    last->at = p->at;
}

/* The process rang, or hung up. */
static void on_bell(struct ev_loop *loop, ev_io *io, int events)
{
    struct port *p = io->data;

    (void)loop;
    (void)events;
    if (ring_bell_take(p->bell) < 0)
        port_end(p);
    else
        activate(p);
}

/* The process has ended; somebody else may hold its socket. */
static void on_death(struct ev_loop *loop, ev_io *io, int events)
{
    (void)loop;
    (void)events;
    port_end(io->data);
}

void port_start(struct port *p, int fd)
{
    p->bell = fd;
    ev_io_init(&p->bell_io, on_bell, fd, EV_READ);
    ev_io_init(&p->pid_io, on_death, p->pidfd, EV_READ);
    p->bell_io.data = p->pid_io.data = p;
    ev_io_start(p->d->loop, &p->bell_io);
    ev_io_start(p->d->loop, &p->pid_io);
    activate(p);
}

/* Nobody finds it any more. */
static void forget(struct port *p)
{
    struct hsnd *d = p->d;

    switch (p->kind) {
    case PORT_RAW:
        if (d->raw[p->number] == p)
            d->raw[p->number] = NULL;
        break;
    case PORT_DGRAM:
        if (d->dgram[p->number] == p) {
            d->dgram[p->number] = NULL;
            hsn_engine_close(d->engine, p->number);
        }
        break;
    case PORT_ELAN:
        elan_detach(p);
        break;
    }
}

void port_end(struct port *p)
{
    if (p->dead)
        return;
    forget(p);
    p->dead = p->d->sweep = true;
    port_deactivate(p);
    if (p->bell >= 0) {
        ev_io_stop(p->d->loop, &p->bell_io);
        ev_io_stop(p->d->loop, &p->pid_io);
        close(p->bell);
    }
    if (p->pidfd >= 0)
        close(p->pidfd);
    p->bell = p->pidfd = -1;
}

void port_sweep(struct hsnd *d)
{
    struct port *next;

    d->sweep = false;
    for (struct port *p = d->ports; p; p = next) {
        next = p->next;
        d->sweep |= p->dead && p->underway;
        if (!p->dead || p->underway || p->dirty)
            continue;
        *(p->prev ? &p->prev->next : &d->ports) = next;
        if (next)
            next->prev = p->prev;
        d->nports--;
        port_free(p);
    }
}

static uint8_t *append(uint8_t *at, const struct iovec *part)
{
    if (part->iov_len)
        memcpy(at, part->iov_base, part->iov_len);
    return at + part->iov_len;
}

void port_deliver(struct port *p, const struct hsn_record *r,
                  const struct iovec *data, size_t ndata,
                  const struct iovec *header)
{
    size_t data_len = hsn_parts_len(data, ndata);
    size_t header_len = header ? header->iov_len : 0;
    size_t len = sizeof(*r) + data_len + header_len;
    struct hsn_record *out;
    bool wanted = pages_wanted(p, data_len);
    uint32_t page;
    uint8_t *at;

    if (p->dead)
        return;
    out = ring_reserve(&p->to, len);
    if (!out) {
        p->counts.full++;
        p->d->counts.port_full++;
        return;
    }
    page = wanted ? pages_deliver(p, data, ndata) : 0;
    *out = *r;
    out->page = page;
    out->data_len = (uint16_t)data_len;
    out->header_len = (uint16_t)header_len;
    out->route_len = 0;
    at = (uint8_t *)(out + 1);
    for (size_t i = 0; i < ndata && !page; i++)
        at = append(at, &data[i]);
    if (header)
        append(at, header);
    ring_commit(&p->to, len - (page ? data_len : 0));
    p->counts.received++;
    if (!page)
        p->d->counts.port_copied += data_len;
    if (wanted && !page)
        p->d->counts.page_short += data_len;
    if (!p->dirty) {
        p->dirty = true;
        p->next_dirty = p->d->dirty;
        p->d->dirty = p;
    }
}

void port_ring_bells(struct hsnd *d)
{
    struct port *p;

    while ((p = d->dirty)) {
        d->dirty = p->next_dirty;
        p->dirty = false;
        if (p->dead || !ring_must_wake(&p->to))
            continue;
        d->counts.bells++;
        ring_bell(p->bell);
    }
}

static void dgram_deliver(void *arg, const struct hsn_delivery *m)
{
    struct hsn_record r = {.board = m->from, .module = m->module};

    port_deliver(arg, &r, m->data, m->ndata, &m->header);
}

/* The oldest record of the process is done. */
void port_complete(void *arg, uint64_t cookie, int error)
{
    struct port *p = cookie ? (struct port *)(uintptr_t)cookie : arg;

    (void)error;
    p->underway = false;
    if (p->dead)
        return;
    pages_done(p);
    ring_consume(&p->from);
    p->counts.sent++;
}

const struct hsn_module_ops port_dgram_ops = {dgram_deliver, port_complete};

static bool raw_deliver(void *arg, uint16_t type, uint16_t subtype,
                        const struct iovec *parts, size_t nparts)
{
    struct hsnd *d = arg;
    struct hsn_record r = {.type = type, .subtype = subtype};

    if (type == HSN_TYPE_LOOP) {
        loop_receive(d, parts, nparts);
        return true;
    }
    if (type > 0x7fff || !d->raw[type])
        return false;
    port_deliver(d->raw[type], &r, parts, nparts, NULL);
    return true;
}

static void raw_complete(void *arg, uint64_t cookie, int error)
{
    if (!loop_complete(arg, cookie, error))
        port_complete(arg, cookie, error);
}

const struct hsn_raw_ops port_raw_ops = {raw_deliver, raw_complete};
