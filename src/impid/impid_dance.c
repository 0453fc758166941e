/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections between IMPI hosts (section 2.3.8): of two hosts the one with
 * the higher host rank connects, from the address that it has declared, and
 * says its rank in four bytes; nothing is answered.  The one with the lower
 * rank takes whoever says the rank of a host that is due, and drops the rest
 * without a word: the standard has no more than that.
 *
 * Where all hosts are ours, the opening of impi/chan_open.h stands in place of
 * the four bytes: both sides prove the job's secret.
 */
#define _GNU_SOURCE /* accept4 */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/accept.h"
#include "base/be.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mac.h"
#include "impi/hostaddr.h"
#include "impid/impid_relay.h"

/* Connections that strangers may hold without saying a rank. */
#define GUESTS_EXTRA 64
#define RANK_SIZE 4

struct impid_guest {
    struct impid_guest *next; /* newest first */
    struct impid_relay *relay;
    int fd;
    ev_io io;
    uint8_t said[RANK_SIZE];
    size_t len;
    struct impi_chan_open open; /* or this */
};

/* A connection under way to a host. */
struct attempt {
    struct impid_relay *relay;
    uint32_t host;
    int fd;
    ev_io io;
    bool opening;
    struct impi_chan_open open;
};

static struct ev_loop *loop_of(const struct impid_relay *r)
{
    return r->client->round->impid->loop;
}

static void no_delay(int fd)
{
    int one = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    netaddr_keep_alive(fd, SF_SILENCE);
}

/* ---- those who come ---- */

static void guest_remove(struct impid_guest *g)
{
    struct impid_guest **at = &g->relay->guests;

    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
    g->relay->nguests--;
    impi_chan_open_wipe(&g->open);
    ev_io_stop(loop_of(g->relay), &g->io);
    free(g);
}

static void guest_drop(struct impid_guest *g)
{
    close(g->fd);
    guest_remove(g);
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
        log_warn("a stranger said it was host %u: dropped", host);
        guest_drop(g);
        return;
    }
    impid_port_open(&r->hosts[host], g->fd);
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
    int rc = impid_opening_run(g->fd, &g->open, &err);

    if (rc > 0) {
        guest_seat(g, g->open.id.from);
    } else if (rc < 0) {
        log_warn("dropped a stranger: %s", err.text);
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
    g->len += (size_t)n;
    if (g->len < RANK_SIZE)
        return;
    if (g->relay->engine)
        guest_seat(g, be_load32(g->said));
    else
        ev_io_stop(loop, io); /* seated when we know the world, too */
}

static void drop_oldest(struct impid_relay *r)
{
    struct impid_guest *g = r->guests;

    while (g->next)
        g = g->next;
    guest_drop(g);
}

static void on_accept(struct ev_loop *loop, ev_io *io, int revents)
{
    struct impid_relay *r = io->data;
    int fd = accept_or_shed(r->listener, &r->spare);
    struct impid_guest *g;

    if (fd < 0)
        return;
    if (r->nguests == r->guests_max)
        drop_oldest(r);
    g = calloc(1, sizeof(*g));
    if (!g) {
        close(fd);
        return;
    }
    no_delay(fd);
    g->relay = r;
    g->fd = fd;
    g->next = r->guests;
    r->guests = g;
    r->nguests++;
    ev_io_init(&g->io, on_guest, fd, EV_READ);
    g->io.data = g;
    if (r->proved && r->engine)
        guest_greet(g);
    else if (!r->proved)
        ev_io_start(loop, &g->io);
}

int impid_dance_listen(struct impid_relay *r, struct errbuf *err)
{
    const struct impid *a = r->client->round->impid;
    struct netaddr at = impi_hostaddr(a->host_addr, 0);

    r->guests_max = GUESTS_EXTRA + r->client->round->clients.nhosts;
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
    impid_relay_fail(r,
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
        return errprintf(err, "%s", strerror(error));
    return t->relay->proved ? begin_opening(t, err) : say_rank(t, err);
}

static void on_attempt(struct ev_loop *loop, ev_io *io, int revents)
{
    struct attempt *t = io->data;
    struct errbuf err = {""};
    int rc = attempt_go_on(t, &err);

    if (rc == 0)
        return;
    ev_io_stop(loop, io);
    impi_chan_open_wipe(&t->open);
    t->relay->attempts[t->host] = NULL;
    if (rc > 0) {
        impid_port_open(&t->relay->hosts[t->host], t->fd);
    } else {
        unreachable(t->relay, t->host, err.text);
        close(t->fd);
    }
    free(t);
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

static int go_to(struct impid_relay *r, uint32_t host)
{
    const struct impi_host *h = &r->world.hosts[host];
    struct netaddr to = impi_hostaddr(h->addr, h->port);
    struct attempt *t;
    int fd = netaddr_open(&to.ip);

    if (fd < 0 && errno == EAFNOSUPPORT) {
        unreachable(r, host, "no IPv6 here");
        return 0;
    }
    t = calloc(1, sizeof(*t));
    if (!t || fd < 0) {
        free(t);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    t->relay = r;
    t->host = host;
    t->fd = fd;
    r->attempts[host] = t;
    no_delay(fd);
    bind_declared(r, fd, &to);
    ev_io_init(&t->io, on_attempt, fd, EV_WRITE);
    t->io.data = t;
    if (netaddr_connect(fd, &to) == 0 || errno == EINPROGRESS) {
        ev_io_start(loop_of(r), &t->io);
        return 0;
    }
    unreachable(r, host, strerror(errno));
    close(fd);
    r->attempts[host] = NULL;
    free(t);
    return 0;
}

int impid_dance_start(struct impid_relay *r, struct errbuf *err)
{
    struct impid_guest *g, *next;

    r->attempts = calloc(r->world.nhosts, sizeof(struct attempt *));
    if (!r->attempts)
        return errprintf(err, "%s", strerror(errno));
    for (uint32_t h = 0; h < r->world.nhosts; h++)
        if (impi_relay_connects(r->engine, h) && go_to(r, h) < 0)
            return errprintf(err, "no socket for host %u: %s", h,
                             strerror(errno));
    for (g = r->guests; g; g = next) { /* who came before we knew */
        next = g->next;
        if (r->proved)
            guest_greet(g);
        else if (g->len == RANK_SIZE)
            guest_seat(g, be_load32(g->said));
    }
    return 0;
}

void impid_dance_stop(struct impid_relay *r)
{
    while (r->guests)
        guest_drop(r->guests);
    for (uint32_t h = 0; r->attempts && h < r->world.nhosts; h++)
        if (r->attempts[h]) {
            ev_io_stop(loop_of(r), &r->attempts[h]->io);
            close(r->attempts[h]->fd);
            free(r->attempts[h]);
        }
    free(r->attempts);
    r->attempts = NULL;
    if (r->listener >= 0) {
        ev_io_stop(loop_of(r), &r->accept);
        close(r->listener);
    }
    r->listener = -1;
}
