/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The relay of one client on this node.  The engine (impi/relay.h) decides,
 * this moves: packets of processes to hosts, of hosts to processes.
 */
#define _GNU_SOURCE
#include "impid/impid_relay.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/accept.h"
#include "base/be.h"
#include "base/guests.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mac.h"
#include "base/repeat.h"
#include "base/tcp_peer.h"
#include "impi/chan_open.h"
#include "impi/hostaddr.h"
#include "impi/relay.h"
#include "impid/impid_opening.h"
#include "impid/out_queue.h"

struct impid_port {
    struct impid_relay *relay;
    bool is_host;
    uint32_t index; /* host rank, or number of the process on this host */
    int fd;         /* -1: not (yet, any more) connected */
    ev_io read, write;
    struct bytebuf in;
    struct out_queue out;
};

struct attempt; /* a connection that is being made */

/* Own processes are not read while more than this waits for one host, until all
 * is below the second mark.  Hosts are always read, so that what waits goes out
 * whichever side sends too much. */
#define RELAY_PAUSE (4u * 1024 * 1024)
#define RELAY_RESUME (1u * 1024 * 1024)

struct impid_relay {
    struct impid_client *client;
    bool proved; /* all hosts are ours: they prove the job's secret */
    bool paused; /* own processes are not read */
    struct impi_world world;
    struct impi_relay *engine; /* NULL before the world is joined */
    uint32_t host;             /* own host rank */
    int listener;
    int spare;     /* base/accept.h */
    uint16_t port; /* it listens there */
    ev_io accept;
    ev_prepare flush;          /* FINIs that fell due */
    struct attempt **attempts; /* [world.nhosts] */
    struct guests guests;      /* struct impid_guest */
    size_t guests_max;
    int netlink;              /* base/tcp_peer.h */
    struct repeat strangers;  /* what is told of them */
    struct impid_port *hosts; /* [world.nhosts]; only others' are used */
    struct impid_port *procs; /* [own processes] */
    bool told_hosts, told_procs;
    bool failed;
};

/* ---- one connection that carries packets ------------------------------- */

#define READ_SIZE (256 * 1024)
#define ROUND_READS 4 /* then others have their turn */

static int relay_packet(struct impid_port *p, const struct impi_packet *pk,
                        const uint8_t *data, size_t len);
static void relay_gone(struct impid_port *p, int error);
static __attribute__((format(printf, 2, 3))) void
relay_fail(struct impid_relay *r, const char *fmt, ...);
static void relay_balance(struct impid_port *p);

static struct ev_loop *loop_of(const struct impid_relay *r)
{
    return r->client->round->impid->loop;
}

static void port_init(struct impid_port *p, struct impid_relay *r, bool is_host,
                      uint32_t index)
{
    p->relay = r;
    p->is_host = is_host;
    p->index = index;
    p->fd = -1;
    bytebuf_init(&p->in, IMPI_PACKET_SIZE + r->world.maxdatalen + READ_SIZE);
    out_init(&p->out, SF_IMPI_RELAY_QUEUE_MAX);
}

static void port_close(struct impid_port *p)
{
    if (!p->relay)
        return;
    if (p->fd >= 0) {
        ev_io_stop(loop_of(p->relay), &p->read);
        ev_io_stop(loop_of(p->relay), &p->write);
        close(p->fd);
        p->fd = -1;
    }
    bytebuf_free(&p->in);
    out_free(&p->out);
}

/* Hand on what is complete.  0; -1 when the port was closed meanwhile. */
static int take_packets(struct impid_port *p)
{
    while (bytebuf_len(&p->in) >= IMPI_PACKET_SIZE) {
        struct impi_packet pk;
        size_t len;

        impi_packet_decode(&pk, bytebuf_data(&p->in));
        len = IMPI_PACKET_SIZE;
        if (impi_packet_payload(&pk) > p->relay->world.maxdatalen)
            len = 0; /* refused by its header alone */
        else
            len += impi_packet_payload(&pk);
        if (bytebuf_len(&p->in) < len)
            return 0;
        if (relay_packet(p, &pk, bytebuf_data(&p->in), len) < 0)
            return -1;
        bytebuf_consume(&p->in, len);
    }
    return 0;
}

/* Read what comes, or not for a while. */
static void port_pause(struct impid_port *p, bool pause)
{
    if (p->fd < 0)
        return;
    if (pause)
        ev_io_stop(loop_of(p->relay), &p->read);
    else
        ev_io_start(loop_of(p->relay), &p->read);
}

static void on_readable(struct ev_loop *loop, ev_io *io, int revents)
{
    struct impid_port *p = io->data;

    for (int i = 0; i < ROUND_READS && ev_is_active(io); i++) {
        uint8_t *room = bytebuf_room(&p->in, READ_SIZE);
        ssize_t n = room ? recv(p->fd, room, READ_SIZE, 0) : 0;

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            relay_gone(p, room ? (n < 0 ? errno : 0) : ENOMEM);
            return;
        }
        bytebuf_grow(&p->in, (size_t)n);
        if (take_packets(p) < 0)
            return;
    }
}

/* When the connection is broken the reading side says why. */
static void flush(struct impid_port *p)
{
    if (p->fd >= 0) {
        if (out_flush(&p->out, p->fd) < 0 || p->out.bytes == 0)
            ev_io_stop(loop_of(p->relay), &p->write);
        else
            ev_io_start(loop_of(p->relay), &p->write);
    }
    if (p->is_host)
        relay_balance(p);
}

static void on_writable(struct ev_loop *loop, ev_io *io, int revents)
{
    flush(io->data);
}

/* Take over a connected, nonblocking socket. */
static void port_open(struct impid_port *p, int fd)
{
    p->fd = fd;
    ev_io_init(&p->read, on_readable, fd, EV_READ);
    ev_io_init(&p->write, on_writable, fd, EV_WRITE);
    p->read.data = p->write.data = p;
    ev_io_start(loop_of(p->relay), &p->read);
    flush(p);
}

/* Queue one packet and write what goes; before the port is open it waits. */
static int port_send(struct impid_port *p, const void *data, size_t len,
                     bool urgent)
{
    struct chunk *c = chunk_new(data, len);
    int rc = c ? 0 : -1;

    if (c)
        rc = urgent ? out_add_urgent(&p->out, c) : out_add(&p->out, c);
    chunk_release(c);
    if (rc == 0)
        flush(p);
    return rc;
}

/* ---- who connects to whom (section 2.3.8) ------------------------------ */

/* Connections between IMPI hosts (section 2.3.8): of two hosts the one with
 * the higher host rank connects, from the address that it has declared, and
 * says its rank in four bytes; nothing is answered. The one with the lower
 * rank takes whoever says the rank of a host that is due, and drops the rest
 * without a word: the standard has no more than that. Where all hosts are
 * ours, the opening of impi/chan_open.h stands in place of the four bytes:
 * both sides prove the job's secret. */

#define RANK_SIZE 4

struct impid_guest {
    struct guest guest; /* first: tcp_peer_choose() gives it */
    struct impid_relay *relay;
    int fd;
    ev_io io;
    uint8_t said[RANK_SIZE];
    size_t len;
    struct impi_chan_open open; /* or this */
};

/* A connection under way to a host, or a pause before it. */
struct attempt {
    struct impid_relay *relay;
    uint32_t host;
    int fd;
    ev_io io;
    ev_timer again;
    ev_tstamp since;
    unsigned tries; /* that were closed during opening */
    bool opening;
    struct impi_chan_open open;
};

static void no_delay(int fd)
{
    int one = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    netaddr_keep_alive(fd, SF_SILENCE);
}

/* ---- those who come ---- */

static void guest_remove(struct impid_guest *g)
{
    guests_leave(&g->relay->guests, &g->guest);
    impi_chan_open_wipe(&g->open);
    ev_io_stop(loop_of(g->relay), &g->io);
    free(g);
}

static void guest_drop(struct impid_guest *g)
{
    close(g->fd);
    guest_remove(g);
}

/* As many as they are, they do not fill the log. */
static void tell_of_stranger(struct impid_relay *r, const char *what)
{
    uint64_t n = repeat_count(&r->strangers, what);

    if (n > 0)
        log_warn("%s: dropped%s", what, n > 1 ? ", as others before" : "");
}

/* One that is to call us, and has not. */
static bool is_due(const struct impid_relay *r, uint32_t host)
{
    return r->engine && impi_relay_wants(r->engine, host) &&
           !impi_relay_connects(r->engine, host) && r->hosts[host].fd < 0;
}

static void guest_seat(struct impid_guest *g, uint32_t host)
{
    struct impid_relay *r = g->relay;

    if (!is_due(r, host)) {
        tell_of_stranger(r, "a stranger said that it was a host");
        guest_drop(g);
        return;
    }
    port_open(&r->hosts[host], g->fd);
    guest_remove(g);
}

static uint32_t check_guest(void *arg, const struct impi_chan_id *id)
{
    const struct impid_relay *r = arg;

    if (id->role != IMPI_CHAN_HOST_HOST)
        return IMPI_CHAN_REFUSE_ROLE;
    if (id->generation != r->client->round->generation)
        return IMPI_CHAN_REFUSE_GENERATION;
    if (id->to != r->host)
        return IMPI_CHAN_REFUSE_TO;
    return is_due(r, id->from) ? IMPI_CHAN_ACCEPT : IMPI_CHAN_REFUSE_FROM;
}

static void on_proof(struct ev_loop *loop, ev_io *io, int revents)
{
    struct impid_guest *g = io->data;
    struct errbuf err;
    int rc;

    g->guest.spoke = true;
    rc = impid_opening_run(g->fd, &g->open, &err);
    if (rc > 0) {
        guest_seat(g, g->open.id.from);
    } else if (rc < 0) {
        tell_of_stranger(g->relay, "a stranger cannot prove who it is");
        guest_drop(g);
    }
}

/* Only now do we know whom it may call. */
static void guest_greet(struct impid_guest *g)
{
    uint8_t nonce[IMPI_CHAN_NONCE_SIZE];

    if (mac_random(nonce, sizeof(nonce)) < 0) {
        guest_drop(g);
        return;
    }
    impi_chan_open_accept(&g->open, g->relay->world.secret, nonce, check_guest,
                          g->relay);
    ev_io_init(&g->io, on_proof, g->fd, EV_READ);
    g->io.data = g;
    ev_io_start(loop_of(g->relay), &g->io);
}

static void on_guest(struct ev_loop *loop, ev_io *io, int revents)
{
    struct impid_guest *g = io->data;
    ssize_t n = recv(g->fd, g->said + g->len, RANK_SIZE - g->len, 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        guest_drop(g);
        return;
    }
    g->guest.spoke = true;
    g->len += (size_t)n;
    if (g->len < RANK_SIZE)
        return;
    if (g->relay->engine)
        guest_seat(g, be_load32(g->said));
    else
        ev_io_stop(loop, io); /* seated when we know the world, too */
}

static uint64_t any_number(void)
{
    uint64_t random = 0;

    mac_random(&random, sizeof(random));
    return random;
}

static void guest_enter(struct impid_relay *r, int fd)
{
    struct impid_guest *g = calloc(1, sizeof(*g));

    if (!g || guests_enter(&r->guests, &g->guest, fd) < 0) {
        close(fd);
        free(g);
        return;
    }
    no_delay(fd);
    g->relay = r;
    g->fd = fd;
    ev_io_init(&g->io, on_guest, fd, EV_READ);
    g->io.data = g;
    if (r->proved && r->engine)
        guest_greet(g);
    else if (!r->proved)
        ev_io_start(loop_of(r), &g->io);
}

static void on_accept(struct ev_loop *loop, ev_io *io, int revents)
{
    struct impid_relay *r = io->data;
    int fd = accept_or_shed(r->listener, &r->spare);

    if (fd < 0)
        return;
    guest_enter(r, fd);
    if (r->guests.n > r->guests_max)
        guest_drop(
            (struct impid_guest *)tcp_peer_choose(&r->guests, &r->netlink));
}

static int dance_listen(struct impid_relay *r, struct errbuf *err)
{
    const struct impid *a = r->client->round->impid;
    struct netaddr at = impi_hostaddr(a->host_addr, 0);

    r->guests_max = SF_GUESTS_EXTRA + r->client->round->clients.nhosts;
    r->listener = netaddr_listen(&at.ip, a->conf.site.port_lo,
                                 a->conf.site.port_hi, &r->port);
    if (r->listener < 0)
        return errprintf(err, "cannot listen for other IMPI hosts: %s",
                         strerror(errno));
    ev_io_init(&r->accept, on_accept, r->listener, EV_READ);
    r->accept.data = r;
    ev_io_start(a->loop, &r->accept);
    return 0;
}

/* ---- those we go to ---- */

static void unreachable(struct impid_relay *r, uint32_t host, const char *why)
{
    const struct impi_host *h = &r->world.hosts[host];
    struct netaddr own = impi_hostaddr(r->world.hosts[r->host].addr, 0);
    struct netaddr to = impi_hostaddr(h->addr, h->port);
    char a[NETADDR_IP_MAX], b[NETADDR_TEXT_MAX];

    netaddr_print_ip(a, &own.ip);
    netaddr_print(b, &to);
    relay_fail(r,
               "host %u at %s cannot reach host %u (client %u) at "
               "%s: %s",
               r->host, a, host, h->client, b, why);
}

static int say_rank(struct attempt *t, struct errbuf *err)
{
    uint8_t rank[RANK_SIZE];

    be_store32(rank, t->relay->host);
    /* The first bytes on a new connection always fit. */
    if (send(t->fd, rank, sizeof(rank), MSG_NOSIGNAL) != sizeof(rank))
        return errprintf(err, "%s", strerror(errno));
    return 1;
}

static int begin_opening(struct attempt *t, struct errbuf *err)
{
    const struct impid_relay *r = t->relay;
    struct impi_chan_id id = {.role = IMPI_CHAN_HOST_HOST,
                              .generation = r->client->round->generation,
                              .from = r->host,
                              .to = t->host};
    uint8_t nonce[IMPI_CHAN_NONCE_SIZE];

    if (mac_random(nonce, sizeof(nonce)) < 0)
        return errprintf(err, "%s", strerror(errno));
    impi_chan_open_connect(&t->open, &id, r->world.secret, nonce);
    t->opening = true;
    ev_io_stop(loop_of(r), &t->io);
    ev_io_set(&t->io, t->fd, EV_READ);
    ev_io_start(loop_of(r), &t->io);
    return impid_opening_run(t->fd, &t->open, err);
}

/* 1 it is a connection between hosts, 0 not yet, -1 failed. */
static int attempt_go_on(struct attempt *t, struct errbuf *err)
{
    socklen_t len = sizeof(int);
    int error = 0;

    if (t->opening)
        return impid_opening_run(t->fd, &t->open, err);
    if (getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        error = errno;
    if (error)
        return impid_opening_closed(err, error);
    return t->relay->proved ? begin_opening(t, err) : say_rank(t, err);
}

static void attempt_end(struct attempt *t)
{
    ev_io_stop(loop_of(t->relay), &t->io);
    ev_timer_stop(loop_of(t->relay), &t->again);
    impi_chan_open_wipe(&t->open);
    t->relay->attempts[t->host] = NULL;
    if (t->fd >= 0)
        close(t->fd);
    free(t);
}

static void attempt_failed(struct attempt *t, const char *why)
{
    struct impid_relay *r = t->relay;
    uint32_t host = t->host;

    attempt_end(t);
    unreachable(r, host, why);
}

/* The other host had too many guests, or is gone, which the next try shows. */
static void attempt_closed(struct attempt *t, const char *why)
{
    struct ev_loop *loop = loop_of(t->relay);

    if (ev_now(loop) - t->since > SF_RETRY_SECONDS) {
        attempt_failed(t, why);
        return;
    }
    ev_io_stop(loop, &t->io);
    close(t->fd);
    t->fd = -1;
    t->opening = false;
    impi_chan_open_wipe(&t->open);
    ev_timer_set(&t->again, guests_pause(++t->tries, any_number()) / 1000., 0.);
    ev_timer_start(loop, &t->again);
    log_debug("host %u %s: again", t->host, why);
}

static void on_attempt(struct ev_loop *loop, ev_io *io, int revents)
{
    struct attempt *t = io->data;
    struct errbuf err = {""};
    int rc = attempt_go_on(t, &err);

    if (rc == -2) {
        attempt_closed(t, err.text);
    } else if (rc < 0) {
        attempt_failed(t, err.text);
    } else if (rc > 0) {
        ev_io_stop(loop, io); /* before the port has the descriptor */
        port_open(&t->relay->hosts[t->host], t->fd);
        t->fd = -1;
        attempt_end(t);
    }
}

/* An address that others refuse to be called from is no reason to give up: the
 * rank says who we are.  To a host of the other version of IP we go from
 * whatever address we have there. */
static void bind_declared(const struct impid_relay *r, int fd,
                          const struct netaddr *to)
{
    struct netaddr own = impi_hostaddr(r->world.hosts[r->host].addr, 0);
    int one = 1;

    if (netaddr_is_ipv4(&own.ip) != netaddr_is_ipv4(&to->ip))
        return;
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
    if (netaddr_bind(fd, &own) < 0)
        log_warn("cannot bind to the declared address: %s", strerror(errno));
}

/* Begin, or begin again. */
static void attempt_start(struct attempt *t)
{
    struct impid_relay *r = t->relay;
    const struct impi_host *h = &r->world.hosts[t->host];
    struct netaddr to = impi_hostaddr(h->addr, h->port);

    t->fd = netaddr_open(&to.ip);
    if (t->fd < 0) {
        attempt_failed(t, errno == EAFNOSUPPORT ? "no IPv6 here"
                                                : strerror(errno));
        return;
    }
    no_delay(t->fd);
    bind_declared(r, t->fd, &to);
    ev_io_set(&t->io, t->fd, EV_WRITE);
    if (netaddr_connect(t->fd, &to) == 0 || errno == EINPROGRESS)
        ev_io_start(loop_of(r), &t->io);
    else
        attempt_failed(t, strerror(errno));
}

static void on_again(struct ev_loop *loop, ev_timer *w, int revents)
{
    attempt_start(w->data);
}

static int go_to(struct impid_relay *r, uint32_t host)
{
    struct attempt *t = calloc(1, sizeof(*t));

    if (!t)
        return -1;
    t->relay = r;
    t->host = host;
    t->fd = -1;
    t->since = ev_now(loop_of(r));
    ev_io_init(&t->io, on_attempt, -1, EV_WRITE);
    ev_timer_init(&t->again, on_again, 0., 0.);
    t->io.data = t->again.data = t;
    r->attempts[host] = t;
    attempt_start(t);
    return 0;
}

static int dance_start(struct impid_relay *r, struct errbuf *err)
{
    r->attempts = calloc(r->world.nhosts, sizeof(struct attempt *));
    if (!r->attempts)
        return errprintf(err, "%s", strerror(errno));
    for (uint32_t h = 0; h < r->world.nhosts; h++)
        if (impi_relay_connects(r->engine, h) && go_to(r, h) < 0)
            return errprintf(err, "%s", strerror(errno));
    for (size_t i = r->guests.n; i-- > 0;) { /* who came before we knew */
        struct impid_guest *g = (struct impid_guest *)r->guests.all[i];

        if (r->proved)
            guest_greet(g);
        else if (g->len == RANK_SIZE)
            guest_seat(g, be_load32(g->said));
    }
    return 0;
}

static void dance_stop(struct impid_relay *r)
{
    while (r->guests.n > 0)
        guest_drop((struct impid_guest *)r->guests.all[0]);
    guests_free(&r->guests);
    tcp_peer_close(&r->netlink);
    for (uint32_t h = 0; r->attempts && h < r->world.nhosts; h++)
        if (r->attempts[h])
            attempt_end(r->attempts[h]);
    free(r->attempts);
    r->attempts = NULL;
    if (r->listener >= 0) {
        ev_io_stop(loop_of(r), &r->accept);
        close(r->listener);
    }
    r->listener = -1;
}

static struct impid *agent(const struct impid_relay *r)
{
    return r->client->round->impid;
}

static void relay_fail(struct impid_relay *r, const char *fmt, ...)
{
    char text[SF_ERRBUF_SIZE];
    va_list ap;

    if (r->failed)
        return;
    r->failed = true;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    impid_fail(agent(r), 322, 1, NULL, "%s", text);
}

/* ---- packets ---- */

static void broken(struct impid_port *p, const char *why)
{
    if (p->is_host)
        relay_fail(p->relay, "host %u (client %u) broke the protocol: %s",
                   p->index, p->relay->world.hosts[p->index].client, why);
    else
        relay_fail(p->relay, "process %u: %s", p->index, why);
    port_close(p);
}

/* A whole packet came; data is header and payload.  -1: the port is closed,
 * do not touch it. */
static int relay_packet(struct impid_port *p, const struct impi_packet *pk,
                        const uint8_t *data, size_t len)
{
    struct impid_relay *r = p->relay;
    struct errbuf err = {""};
    int64_t to = p->is_host
                     ? impi_relay_from_host(r->engine, p->index, pk, &err)
                     : impi_relay_from_proc(r->engine, p->index, pk, &err);
    struct impid_port *port;

    if (to == IMPI_RELAY_TAKEN)
        return 0;
    if (to < 0) {
        broken(p, err.text);
        return -1;
    }
    port = p->is_host ? &r->procs[to] : &r->hosts[to];
    if (p->is_host && port->fd < 0)
        return 0; /* the process has left: an acknowledgement too late */
    if (port_send(port, data, len, impi_relay_is_urgent(pk)) == 0)
        return 0;
    relay_fail(r, "packets for %s %lld pile up: %s",
               p->is_host ? "process" : "host", (long long)to, strerror(errno));
    port_close(p);
    return -1;
}

/* The other side closed, or errno. */
static void relay_gone(struct impid_port *p, int error)
{
    struct impid_relay *r = p->relay;
    bool done = p->is_host ? impi_relay_host_done(r->engine, p->index) : true;

    port_close(p);
    /* What became of a process shows elsewhere. */
    if (!done && !agent(r)->stopping)
        relay_fail(r, "lost host %u (client %u): %s", p->index,
                   r->world.hosts[p->index].client,
                   error ? strerror(error) : "closed without FINI");
}

/* ---- when much waits ---- */

static void pause_procs(struct impid_relay *r, bool pause)
{
    r->paused = pause;
    for (uint32_t i = 0; i < impi_relay_nprocs(r->engine); i++)
        port_pause(&r->procs[i], pause);
}

static bool all_below(const struct impid_relay *r, size_t mark)
{
    for (uint32_t h = 0; h < r->world.nhosts; h++)
        if (r->hosts[h].out.bytes > mark)
            return false;
    return true;
}

/* A host of others may wait for us to go on: there flow control has to do. */
static void relay_balance(struct impid_port *p)
{
    struct impid_relay *r = p->relay;

    if (!r->proved)
        return;
    if (!r->paused && p->out.bytes > RELAY_PAUSE)
        pause_procs(r, true);
    else if (r->paused && p->out.bytes <= RELAY_RESUME &&
             all_below(r, RELAY_RESUME))
        pause_procs(r, false);
}

/* ---- the end ---- */

static void send_fini(struct impid_port *ports, uint32_t n,
                      const struct impid_relay *r)
{
    uint8_t data[IMPI_PACKET_SIZE];
    struct impi_packet pk = {.type = IMPI_PK_FINI};

    impi_packet_encode(data, &pk);
    for (uint32_t i = 0; i < n; i++)
        if (ports[i].is_host ? impi_relay_wants(r->engine, i)
                             : ports[i].fd >= 0)
            port_send(&ports[i], data, sizeof(data), false);
}

static bool hosts_flushed(const struct impid_relay *r)
{
    for (uint32_t h = 0; h < r->world.nhosts; h++)
        if (r->hosts[h].out.bytes > 0)
            return false;
    return true;
}

/* FINIs that have fallen due.  Processes get theirs last of all, so nothing of
 * theirs is lost when they end. */
static void on_prepare(struct ev_loop *loop, ev_prepare *w, int revents)
{
    struct impid_relay *r = w->data;

    if (!r->told_hosts && impi_relay_procs_done(r->engine)) {
        r->told_hosts = true;
        send_fini(r->hosts, r->world.nhosts, r);
    }
    if (r->told_hosts && !r->told_procs && impi_relay_hosts_done(r->engine) &&
        hosts_flushed(r)) {
        r->told_procs = true;
        send_fini(r->procs, impi_relay_nprocs(r->engine), r);
    }
}

/* ---- life ---- */

int impid_relay_listen(struct impid_client *c, uint16_t *port,
                       struct errbuf *err)
{
    struct impid_relay *r = calloc(1, sizeof(*r));

    if (!r)
        return errprintf(err, "%s", strerror(errno));
    r->client = c;
    r->listener = -1;
    r->proved = agent(r)->conf.foreign.port == 0;
    c->relay = r;
    if (r->proved)
        log_info("more processes of other clients than connections (%u): "
                 "hosts pass packets on",
                 agent(r)->conf.direct_max);
    if (dance_listen(r, err) < 0)
        return -1;
    *port = r->port;
    return 0;
}

/* The place of this node among all hosts of the world. */
static int find_host(struct impid_relay *r, struct errbuf *err)
{
    const struct impi_world *w = &r->world;
    uint32_t client = impid_client_number(r->client);

    for (uint32_t h = 0; h < w->nhosts; h++)
        if (w->hosts[h].client == client) {
            r->host = h + r->client->host;
            return r->host < w->nhosts ? 0 : -1;
        }
    return errprintf(err, "client %u is not in the joined world", client);
}

static int make_ports(struct impid_relay *r)
{
    uint32_t nprocs = impi_relay_nprocs(r->engine);

    r->hosts = calloc(r->world.nhosts, sizeof(*r->hosts));
    r->procs = calloc(nprocs, sizeof(*r->procs));
    if (!r->hosts || !r->procs)
        return -1;
    for (uint32_t h = 0; h < r->world.nhosts; h++)
        port_init(&r->hosts[h], r, true, h);
    for (uint32_t i = 0; i < nprocs; i++)
        port_init(&r->procs[i], r, false, i);
    return 0;
}

static int set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static int open_procs(struct impid_relay *r, int *fds)
{
    int pair[2];

    for (uint32_t i = 0; i < r->client->nlocal; i++) {
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
            return -1;
        fds[i] = pair[1];
        if (set_nonblocking(pair[0]) < 0) {
            close(pair[0]);
            return -1;
        }
        port_open(&r->procs[i], pair[0]);
    }
    return 0;
}

/* A host that takes no calls stands for processes that do. */
static bool is_direct(const struct impi_world *w)
{
    for (uint32_t h = 0; h < w->nhosts; h++)
        if ((w->flags & IMPI_WORLD_EXTENDED) && w->hosts[h].port == 0)
            return true;
    return false;
}

int impid_relay_start(struct impid_client *c, const void *world, size_t len,
                      int *fds, struct errbuf *err)
{
    struct impid_relay *r = c->relay;

    if (impi_world_decode(&r->world, world, len, err) < 0)
        return -1;
    if (is_direct(&r->world)) {
        impid_relay_free(c);
        return 1;
    }
    if (find_host(r, err) < 0)
        return -1;
    r->engine = impi_relay_create(&r->world, r->host);
    if (!r->engine || impi_relay_nprocs(r->engine) != c->nlocal ||
        make_ports(r) < 0 || open_procs(r, fds) < 0)
        return errprintf(err, "%s", strerror(errno));
    ev_prepare_init(&r->flush, on_prepare);
    r->flush.data = r;
    ev_prepare_start(agent(r)->loop, &r->flush);
    return dance_start(r, err);
}

bool impid_relay_active(const struct impid_client *c)
{
    return c->relay && c->relay->engine && !hosts_flushed(c->relay);
}

void impid_relay_free(struct impid_client *c)
{
    struct impid_relay *r = c->relay;

    if (!r)
        return;
    c->relay = NULL;
    dance_stop(r);
    ev_prepare_stop(agent(r)->loop, &r->flush);
    for (uint32_t h = 0; r->hosts && h < r->world.nhosts; h++)
        port_close(&r->hosts[h]);
    for (uint32_t i = 0; r->procs && i < impi_relay_nprocs(r->engine); i++)
        port_close(&r->procs[i]);
    free(r->hosts);
    free(r->procs);
    impi_relay_destroy(r->engine);
    impi_world_free(&r->world);
    free(r);
}
