/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The unix socket.  A host that connects has a few seconds to say HELLO.  Then
 * it has its seat: its packets go by the socket itself, or by two rings whose
 * bell the socket is.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/accept.h"
#include "base/fd_pass.h"
#include "base/local.h"
#include "base/log.h"
#include "swfabd/greet.h"

/* A connection without a seat yet. */
struct comer {
    struct swfabd *d;
    int fd;
    uid_t uid;
    ev_io io;
    ev_timer patience;
    struct greeting *greeting; /* munged is being asked */
};

/* Anybody can provoke refusals; the log must not grow with each. */
void swfabd_log_refusal(struct swfabd *d, const char *why)
{
    uint64_t now = clock_ns();

    d->refused++;
    if (d->refused > 1 && now - d->refusal_logged_ns < 1000000000)
        return;
    log_warn("SF-E602 link refused (%llu so far): %s",
             (unsigned long long)d->refused, why);
    d->refusal_logged_ns = now;
}

/* ---- seats at the socket itself ---- */

static void on_packet(struct ev_loop *loop, ev_io *w, int revents)
{
    struct swfabd_seat *seat = w->data;
    uint8_t buf[NET_PACKET_MAX + 1];

    for (int i = 0; i < SWFABD_BATCH; i++) {
        ssize_t n = recv(seat->fd, buf, sizeof(buf), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (n <= 0) {
            swfabd_seat_clear(seat, "it is gone");
            break;
        }
        swfabd_forward(seat, buf, (size_t)n);
        if (seat->carrier != SOFTLINK_SEQPACKET)
            break;
    }
    swfabd_rings_ring(seat->d);
    swfabd_wire_flush(seat->d);
}

static void sit_at_socket(struct swfabd_seat *seat)
{
    ev_io_init(&seat->io, on_packet, seat->fd, EV_READ);
    seat->io.data = seat;
    ev_io_start(seat->d->loop, &seat->io);
}

/* ---- the way to a seat ---- */

static void comer_free(struct comer *c)
{
    ev_io_stop(c->d->loop, &c->io);
    ev_timer_stop(c->d->loop, &c->patience);
    if (c->greeting)
        c->greeting->comer = NULL;
    if (c->fd >= 0)
        close(c->fd);
    c->d->ncomers--;
    free(c);
}

static void refuse(struct comer *c, uint64_t session, const char *why)
{
    uint8_t buf[256];
    size_t len = softlink_make_refusal(buf, sizeof(buf), session, why);

    swfabd_log_refusal(c->d, why);
    (void)!send(c->fd, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Two rings and their fds: [0] from the host, [1] to it. */
static int make_rings(struct swfabd_seat *seat, int fd[2], struct errbuf *err)
{
    size_t size = (size_t)seat->d->conf.ring_size;

    fd[0] = ring_create(size, err);
    fd[1] = ring_create(size, err);
    if (fd[0] >= 0 && fd[1] >= 0 &&
        ring_attach(&seat->from, fd[0], RING_CONSUMER, NET_PACKET_MAX, err) ==
            0 &&
        ring_attach(&seat->to, fd[1], RING_PRODUCER, NET_PACKET_MAX, err) == 0)
        return 0;
    ring_detach(&seat->from);
    ring_detach(&seat->to);
    for (int i = 0; i < 2; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    return -1;
}

/* 0, or -1 with text and nobody in the seat. */
static int take_seat(struct comer *c, struct greeting *g, struct errbuf *err)
{
    struct swfabd_seat *seat = g->seat;
    bool rings = g->hello.carrier == SOFTLINK_RING;
    uint8_t buf[SOFTLINK_CONTROL_MAX];
    size_t len = softlink_output(g->link, buf, sizeof(buf));
    int fd[2], rc;

    swfabd_wire_goodbye(seat);
    swfabd_seat_clear(seat, "another takes its place");
    if (rings && make_rings(seat, fd, err) < 0)
        return -1;
    rc = fd_pass_send(c->fd, buf, len, fd, rings ? 2 : 0, MSG_DONTWAIT) < 0 ? -1
                                                                            : 0;
    if (rc < 0)
        errprintf(err, "cannot answer: %s", strerror(errno));
    for (int i = 0; rings && i < 2; i++)
        close(fd[i]);
    if (rc < 0) {
        ring_detach(&seat->from);
        ring_detach(&seat->to);
        return -1;
    }
    seat->carrier = g->hello.carrier;
    seat->since_ns = clock_ns();
    seat->fd = c->fd;
    c->fd = -1;
    return 0;
}

static void sit_down(struct swfabd_seat *seat, const struct comer *c)
{
    log_paced(&c->d->comings, clock_ns(), log_info,
              "%s attached by a process of uid %u, %s", swfabd_seat_name(seat),
              (unsigned)c->uid,
              seat->carrier == SOFTLINK_RING ? "rings" : "packets");
    if (seat->carrier == SOFTLINK_RING)
        swfabd_rings_add(seat);
    else
        sit_at_socket(seat);
}

/* Does this HELLO give its sender a seat? */
static struct swfabd_seat *admit(struct greeting *g)
{
    struct comer *c = g->comer;

    if (!c) {
        errprintf(&g->err, "it is gone");
        return NULL;
    }
    if (g->hello.uid != c->uid) {
        errprintf(&g->err, "credential of uid %u", (unsigned)g->hello.uid);
        return NULL;
    }
    if (g->hello.carrier == SOFTLINK_DATAGRAMS) {
        errprintf(&g->err, "datagrams do not go over a unix socket");
        return NULL;
    }
    return swfabd_seat_for(g->d, &g->hello, &g->err);
}

static void answer(struct greeting *g)
{
    struct comer *c = g->comer;

    if (!c)
        return;
    c->greeting = NULL;
    if (g->seat && take_seat(c, g, &g->err) == 0)
        sit_down(g->seat, c);
    else
        refuse(c, g->session, g->err.text);
    comer_free(c);
}

static int greet(struct comer *c, const uint8_t *buf, size_t len,
                 uint64_t session, struct errbuf *err)
{
    struct greeting *g;

    if (!door_admits_local(&c->d->door, clock_ns()))
        return errprintf(err, "too many attach at once, try again");
    g = swfabd_greet_new(c->d, buf, len, err);
    if (!g)
        return -1;
    g->admit = admit;
    g->answer = answer;
    g->comer = c;
    g->session = session;
    c->greeting = g;
    ev_io_stop(c->d->loop, &c->io);
    if (swfabd_greet(g, err) == 0)
        return 0;
    c->greeting = NULL;
    return -1;
}

static void on_hello(struct ev_loop *loop, ev_io *w, int revents)
{
    struct comer *c = w->data;
    uint8_t buf[SOFTLINK_CONTROL_MAX];
    uint64_t session = 0;
    struct errbuf err = {""};
    ssize_t n = recv(c->fd, buf, sizeof(buf), MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0) {
        softlink_look(buf, (size_t)n, &session);
        if (greet(c, buf, (size_t)n, session, &err) == 0)
            return;
        refuse(c, session, err.text);
    }
    comer_free(c);
}

static void on_patience(struct ev_loop *loop, ev_timer *w, int revents)
{
    comer_free(w->data);
}

/* ---- listening ---- */

static void welcome_comer(struct swfabd *d, int fd, uid_t uid)
{
    struct comer *c = calloc(1, sizeof(*c));

    if (!c) {
        close(fd);
        return;
    }
    c->d = d;
    c->fd = fd;
    c->uid = uid;
    d->ncomers++;
    ev_io_init(&c->io, on_hello, fd, EV_READ);
    c->io.data = c;
    ev_io_start(d->loop, &c->io);
    ev_timer_init(&c->patience, on_patience, SF_SWFABD_COMER_SECONDS, 0);
    ev_set_priority(&c->patience, EV_MINPRI); /* after what a long turn kept */
    c->patience.data = c;
    ev_timer_start(d->loop, &c->patience);
}

static void on_connect(struct ev_loop *loop, ev_io *w, int revents)
{
    struct swfabd *d = w->data;
    struct ucred peer;
    socklen_t len = sizeof(peer);
    int fd = accept_or_shed(d->listen_fd, &d->spare);

    if (fd < 0)
        return;
    if (d->ncomers < SF_SWFABD_COMERS_MAX &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
        (peer.uid == 0 || peer.uid == d->ops.service))
        welcome_comer(d, fd, peer.uid);
    else
        close(fd);
}

int swfabd_attach_open(struct swfabd *d, struct errbuf *err)
{
    const char *path = d->conf.socket;

    d->listen_fd = -1;
    if (!path[0])
        return 0;
    d->listen_fd = local_listen(path, SOCK_SEQPACKET);
    if (d->listen_fd < 0 && errno == EADDRINUSE)
        return errprintf(err, "Socket=%s: another swfabd listens there", path);
    if (d->listen_fd < 0)
        return errprintf(err, "Socket=%s: %s", path, strerror(errno));
    ev_io_init(&d->listen_io, on_connect, d->listen_fd, EV_READ);
    d->listen_io.data = d;
    ev_io_start(d->loop, &d->listen_io);
    return 0;
}

void swfabd_attach_close(struct swfabd *d)
{
    if (d->listen_fd < 0)
        return;
    ev_io_stop(d->loop, &d->listen_io);
    close(d->listen_fd);
    unlink(d->conf.socket);
    d->listen_fd = -1;
}
