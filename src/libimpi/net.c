/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections to the processes of other clients.
 *
 * Two processes may want each other at the same time.  The connection that
 * the lower rank began is kept: it refuses the other one (REFUSE_TWICE), and
 * the higher rank lets go of its own when it is refused or when the lower
 * rank's is proved, whichever comes first.
 */
#define _GNU_SOURCE /* accept4 */
#include "libimpi/net.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/mac.h"
#include "impi/chan_open.h"
#include "impi/channel.h"
#include "libimpi/state.h"
#include "libimpi/sockaddr.h"

/* Connections that strangers may hold half open, beyond one for each rank. */
#ifndef GUESTS_EXTRA
#define GUESTS_EXTRA 64
#endif
/* How long a half open connection counts as something that is under way, s:
 * a stranger who only holds one shall not slow the program down for ever. */
#define GUEST_NEWS 10
/* How often an attempt is made again that the peer dropped half way. */
#define TRIES_MAX 8
/* Above this many, ask the kernel which are ready instead of trying each. */
#define TRY_EACH_MAX 4
/* Look for new connections at every n-th round without any other reason. */
#define LOOK_EVERY 32
/* Bytes taken from one connection before the next one has its turn. */
#define ROUND_BYTES (1u << 20)
/* In place of a rank: everybody, behind impid. */
#define PEER_RELAY UINT32_MAX

enum link_state {
    LINK_CONNECTING, /* TCP under way */
    LINK_OPENING,    /* proving each other */
    LINK_AWAITED,    /* refused: the peer's own connection is on its way */
    LINK_OPEN,
    LINK_CLOSED
};

struct link {
    uint32_t peer; /* a guest: not known */
    int fd;
    enum link_state state;
    bool blocked; /* the socket takes no more for now */
    unsigned tries;
    time_t since; /* a guest: when it came */
    struct impi_chan_open open;
    struct impi_channel *channel;
};

static struct net {
    int listener;
    struct link **by_peer; /* [nprocs] */
    struct link **links;   /* all that is not a guest, dense */
    size_t nlinks;
    size_t nopening;     /* of them: not open yet */
    struct link **guest; /* oldest first */
    size_t nguests;
    size_t guests_max;
    struct pollfd *fds; /* listener, guests, links */
    unsigned round;
    bool finishing;
} net = {.listener = -1};

/* ---- descriptors ---- */

static void set_up_socket(int fd)
{
    int one = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static int bind_in_range(int fd, const uint8_t addr[16], unsigned lo,
                         unsigned hi)
{
    struct sockaddr_storage ss;
    /* Processes of one node start at different places of the range. */
    unsigned n = hi - lo + 1, first = n > 1 ? (unsigned)getpid() % n : 0;

    for (unsigned i = 0; i < n; i++) {
        unsigned port = lo + (first + i) % n;
        socklen_t len = sockaddr_set(&ss, addr, (uint16_t)port);

        if (bind(fd, (struct sockaddr *)&ss, len) == 0 &&
            listen(fd, SOMAXCONN) == 0)
            return 0;
        if (errno != EADDRINUSE)
            return -1;
    }
    return -1;
}

int net_listen(const uint8_t addr[16], unsigned lo, unsigned hi,
               struct errbuf *err)
{
    struct sockaddr_storage ss;
    socklen_t len = sizeof(ss);
    int fd = socket(sockaddr_family(addr),
                    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return errprintf(err, "socket: %s", strerror(errno));
    if (bind_in_range(fd, addr, lo, hi) < 0 ||
        getsockname(fd, (struct sockaddr *)&ss, &len) < 0) {
        errprintf(err, "cannot listen for other clients in ports %u-%u: %s", lo,
                  hi, strerror(errno));
        close(fd);
        return -1;
    }
    net.listener = fd;
    return sockaddr_port(&ss);
}

/* A descriptor for each peer, if the site's hard limit has so many. */
static void want_descriptors(rlim_t n)
{
    struct rlimit r;

    n += 256; /* the program's own */
    if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur >= n)
        return;
    r.rlim_cur = n < r.rlim_max ? n : r.rlim_max;
    setrlimit(RLIMIT_NOFILE, &r);
}

int net_start(struct errbuf *err)
{
    size_t n = impi_be.world.nprocs;

    want_descriptors(n);
    net.guests_max = n + GUESTS_EXTRA;
    net.guest = calloc(net.guests_max, sizeof(struct link *));
    net.by_peer = calloc(n, sizeof(struct link *));
    net.links = calloc(n, sizeof(struct link *));
    net.fds = calloc(n + net.guests_max + 1, sizeof(struct pollfd));
    if (!net.by_peer || !net.links || !net.fds || !net.guest)
        return errprintf(err, "no memory");
    return 0;
}

static time_t now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return t.tv_sec;
}

bool net_opening(void)
{
    if (net.nopening > 0 || net.nguests == 0)
        return net.nopening > 0;
    return now_s() - net.guest[net.nguests - 1]->since < GUEST_NEWS;
}

/* ---- life of a link ---- */

static struct link *link_create(int fd, enum link_state state)
{
    struct link *l = calloc(1, sizeof(*l));

    if (!l)
        be_die(1, "SF-E403: no memory for a connection");
    l->fd = fd;
    l->state = state;
    return l;
}

static void link_close_fd(struct link *l)
{
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
}

static void link_add(struct link *l, uint32_t peer)
{
    l->peer = peer;
    net.by_peer[peer] = l;
    net.links[net.nlinks++] = l;
}

static void lost(uint32_t peer, const char *why)
{
    char where[64];
    const struct impi_proc *p;

    if (net.finishing)
        return;
    if (peer == PEER_RELAY)
        be_die(1, "SF-E402: lost impid, which relays to other clients: %s",
               why);
    p = &impi_be.world.procs[peer];
    sockaddr_print(where, sizeof(where), p->addr);
    be_die(1, "SF-E402: lost rank %u (client %u, %s): %s", peer, p->client,
           where, why);
}

static void link_fail(struct link *l, const char *why)
{
    link_close_fd(l);
    if (l->state != LINK_OPEN && l->state != LINK_CLOSED)
        net.nopening--;
    l->state = LINK_CLOSED;
    lost(l->peer, why);
}

/* The opening is through: hand over to the engine. */
static void link_opened(struct link *l)
{
    impi_chan_open_wipe(&l->open);
    l->channel = impi_p2p_attach(impi_be.p2p, l->peer);
    if (!l->channel)
        be_die(1, "SF-E403: no channel to rank %u: %s", l->peer,
               strerror(errno));
    l->state = LINK_OPEN;
    net.nopening--;
}

/* ---- the opening ---- */

static void fresh_nonce(uint8_t nonce[IMPI_CHAN_NONCE_SIZE])
{
    if (mac_random(nonce, IMPI_CHAN_NONCE_SIZE) < 0)
        be_die(1, "SF-E403: no random numbers: %s", strerror(errno));
}

static void begin_opening(struct link *l)
{
    uint8_t nonce[IMPI_CHAN_NONCE_SIZE];
    struct impi_chan_id id = {.role = IMPI_CHAN_PROC_PROC,
                              .generation = impi_be.generation,
                              .from = (uint32_t)impi_be.rank,
                              .to = l->peer};

    fresh_nonce(nonce);
    impi_chan_open_connect(&l->open, &id, impi_be.world.secret, nonce);
    l->state = LINK_OPENING;
}

static void start_connect(struct link *l)
{
    const struct impi_proc *p = &impi_be.world.procs[l->peer];
    struct sockaddr_storage ss;
    socklen_t len = sockaddr_set(&ss, p->addr, p->port);

    l->state = LINK_CONNECTING;
    l->fd = socket(ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0)
        be_die(1, "SF-E403: no socket for rank %u: %s", l->peer,
               strerror(errno));
    set_up_socket(l->fd);
    if (connect(l->fd, (struct sockaddr *)&ss, len) == 0)
        begin_opening(l);
    else if (errno != EINPROGRESS)
        link_fail(l, strerror(errno));
}

void net_connect(void *arg, uint32_t peer)
{
    struct link *l;

    if (net.by_peer[peer])
        return;
    l = link_create(-1, LINK_CONNECTING);
    link_add(l, peer);
    net.nopening++;
    start_connect(l);
}

int net_use_relay(int fd)
{
    const struct impi_world *w = &impi_be.world;
    struct link *l = link_create(fd, LINK_OPEN);

    if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
        return -1;
    l->peer = PEER_RELAY;
    for (uint32_t i = 0; i < w->nprocs; i++) {
        if (w->procs[i].client == impi_be.client)
            continue;
        net.by_peer[i] = l;
        if (!l->channel)
            l->channel = impi_p2p_attach(impi_be.p2p, i);
        else if (impi_p2p_attach_more(impi_be.p2p, l->channel, i) < 0)
            return -1;
        if (!l->channel)
            return -1;
    }
    close(net.listener); /* nobody else connects */
    net.listener = -1;
    if (l->channel)
        net.links[net.nlinks++] = l;
    else
        free(l); /* no other client */
    return 0;
}

/* Asked when the initiator of a guest connection is proved. */
static uint32_t check_guest(void *arg, const struct impi_chan_id *id)
{
    const struct impi_world *w = &impi_be.world;
    struct link *own;

    if (id->role != IMPI_CHAN_PROC_PROC)
        return IMPI_CHAN_REFUSE_ROLE;
    if (id->generation != impi_be.generation)
        return IMPI_CHAN_REFUSE_GENERATION;
    if (id->to != (uint32_t)impi_be.rank)
        return IMPI_CHAN_REFUSE_TO;
    if (id->from >= w->nprocs || w->procs[id->from].client == impi_be.client)
        return IMPI_CHAN_REFUSE_FROM;
    own = net.by_peer[id->from];
    if (own &&
        (own->state == LINK_OPEN || own->state == LINK_CLOSED ||
         (own->state != LINK_AWAITED && (uint32_t)impi_be.rank < id->from)))
        return IMPI_CHAN_REFUSE_TWICE;
    return IMPI_CHAN_ACCEPT;
}

/* A guest is proved: it becomes the link to its rank, in place of our own
 * attempt if there was one. */
static void seat_guest(struct link *g)
{
    struct link *own = net.by_peer[g->open.id.from];

    if (!own) {
        link_add(g, g->open.id.from);
        net.nopening++;
        link_opened(g);
        return;
    }
    link_close_fd(own);
    own->fd = g->fd;
    impi_chan_open_wipe(&g->open);
    free(g);
    link_opened(own);
}

static bool refused_twice(const struct link *l)
{
    return l->open.initiator && l->open.verdict == IMPI_CHAN_REFUSE_TWICE;
}

/* Send and receive for the opening until the socket has no more.
 * Returns 1 done, 0 not yet, -1 failed (text). */
static int run_opening(struct link *l, struct errbuf *err)
{
    const uint8_t *out;
    uint8_t in[IMPI_CHAN_REPLY_SIZE];
    size_t want;
    ssize_t n;

    for (;;) {
        while ((want = impi_chan_open_output(&l->open, &out)) > 0) {
            n = send(l->fd, out, want, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
            if (n < 0)
                return errprintf(err, "%s", strerror(errno));
            impi_chan_open_sent(&l->open, (size_t)n);
        }
        if (impi_chan_open_done(&l->open))
            return 1;
        want = impi_chan_open_want(&l->open);
        if (want == 0)
            return errprintf(err, "the opening failed");
        n = recv(l->fd, in, want, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (n <= 0)
            return errprintf(err, "%s", n < 0 ? strerror(errno) : "closed");
        if (impi_chan_open_input(&l->open, in, (size_t)n, err) < 0) {
            if (impi_chan_open_output(&l->open, &out) > 0)
                (void)!send(l->fd, out, IMPI_CHAN_CODE_SIZE,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
            return -1;
        }
    }
}

/* A refused or overtaken attempt waits for the peer's own connection. */
static void await_peer(struct link *l)
{
    link_close_fd(l);
    impi_chan_open_wipe(&l->open);
    l->state = LINK_AWAITED;
}

/* The peer hung up half way: it had too many guests, or it is gone, which the
 * next attempt shows. */
static void try_again(struct link *l, const char *why)
{
    if (++l->tries == TRIES_MAX) {
        link_fail(l, why);
        return;
    }
    link_close_fd(l);
    impi_chan_open_wipe(&l->open);
    start_connect(l);
}

static bool drive_opening(struct link *l)
{
    struct errbuf err;
    int rc, soerr = 0;
    socklen_t len = sizeof(soerr);

    if (l->state == LINK_CONNECTING) {
        struct pollfd p = {.fd = l->fd, .events = POLLOUT};

        if (poll(&p, 1, 0) <= 0)
            return false;
        getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &soerr, &len);
        if (soerr) {
            link_fail(l, strerror(soerr));
            return true;
        }
        begin_opening(l);
    }
    rc = run_opening(l, &err);
    if (rc > 0)
        link_opened(l);
    else if (rc < 0 && refused_twice(l))
        await_peer(l);
    else if (rc < 0)
        try_again(l, err.text);
    return rc != 0;
}

static void drop_guest(size_t i)
{
    net.nguests--;
    memmove(&net.guest[i], &net.guest[i + 1],
            (net.nguests - i) * sizeof(net.guest[0]));
}

/* Strangers, and those that stall, are dropped without a word: a real peer
 * comes back with the job's secret. */
static bool drive_guest(size_t i)
{
    struct link *g = net.guest[i];
    struct errbuf err;
    int rc = run_opening(g, &err);

    if (rc == 0)
        return false;
    drop_guest(i);
    if (rc > 0) {
        seat_guest(g);
        return true;
    }
    link_close_fd(g);
    impi_chan_open_wipe(&g->open);
    free(g);
    return true;
}

static bool accept_guests(void)
{
    bool any = false;

    for (;;) {
        uint8_t nonce[IMPI_CHAN_NONCE_SIZE];
        struct link *g;
        int fd =
            accept4(net.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0)
            return any;
        any = true;
        set_up_socket(fd);
        if (net.nguests == net.guests_max) { /* the oldest has had its time */
            link_close_fd(net.guest[0]);
            impi_chan_open_wipe(&net.guest[0]->open);
            free(net.guest[0]);
            drop_guest(0);
        }
        g = link_create(fd, LINK_OPENING);
        g->since = now_s();
        fresh_nonce(nonce);
        impi_chan_open_accept(&g->open, impi_be.world.secret, nonce,
                              check_guest, NULL);
        net.guest[net.nguests++] = g;
    }
}

/* ---- data ---- */

static bool pump_out(struct link *l)
{
    struct iovec iov[IMPI_TX_IOV];
    bool moved = false;

    l->blocked = false;
    while (impi_channel_tx_ready(l->channel)) {
        int n = impi_channel_tx(l->channel, iov, IMPI_TX_IOV);
        struct msghdr msg = {.msg_iov = iov, .msg_iovlen = (size_t)n};
        ssize_t done;

        if (n == 0)
            break;
        done = sendmsg(l->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done < 0 && (errno == EAGAIN || errno == EINTR)) {
            l->blocked = true;
            break;
        }
        if (done < 0) {
            /* What it sent before is still to be read: the reading side
             * finds the end. */
            break;
        }
        impi_channel_tx_done(l->channel, (size_t)done);
        moved = true;
    }
    return moved;
}

static size_t iov_total(const struct iovec *iov, int n)
{
    size_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += iov[i].iov_len;
    return sum;
}

static void pump_failed(struct link *l)
{
    char why[SF_ERRBUF_SIZE];

    strncpy(why, impi_channel_error(l->channel), sizeof(why) - 1);
    why[sizeof(why) - 1] = '\0';
    link_fail(l, why);
}

static bool pump_in(struct link *l)
{
    struct iovec iov[IMPI_RX_IOV];
    size_t got = 0;

    while (got < ROUND_BYTES) {
        int n = impi_channel_rx(l->channel, iov, IMPI_RX_IOV);
        struct msghdr msg = {.msg_iov = iov, .msg_iovlen = (size_t)n};
        size_t want = iov_total(iov, n);
        ssize_t done = recvmsg(l->fd, &msg, MSG_DONTWAIT);

        if (done < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (done < 0)
            done = 0;
        got += (size_t)done;
        if (impi_channel_rx_done(l->channel, (size_t)done) < 0) {
            pump_failed(l);
            return true;
        }
        if (done == 0 || (size_t)done < want)
            break;
    }
    return got > 0;
}

static bool pump(struct link *l)
{
    bool moved = pump_out(l);

    moved |= pump_in(l);
    /* What came in may have released something to send. */
    if (l->state == LINK_OPEN && moved && impi_channel_tx_ready(l->channel))
        pump_out(l);
    if (l->state == LINK_OPEN && impi_channel_finished(l->channel)) {
        link_close_fd(l);
        l->state = LINK_CLOSED;
    }
    return moved;
}

static bool drive(struct link *l)
{
    switch (l->state) {
    case LINK_OPEN:
        return pump(l);
    case LINK_CONNECTING:
    case LINK_OPENING:
        return drive_opening(l);
    default:
        return false;
    }
}

/* ---- rounds ---- */

static bool look_for_guests(void)
{
    bool moved = accept_guests();

    for (size_t i = net.nguests; i > 0; i--)
        moved |= drive_guest(i - 1);
    return moved;
}

static short link_events(const struct link *l)
{
    switch (l->state) {
    case LINK_CONNECTING:
        return POLLOUT;
    case LINK_OPENING:
        return POLLIN;
    case LINK_OPEN:
        return l->blocked ? POLLIN | POLLOUT : POLLIN;
    default:
        return 0;
    }
}

/* Fill net.fds: listener, guests, links.  Returns how many. */
static nfds_t fill_fds(void)
{
    nfds_t n = 0;

    net.fds[n++] = (struct pollfd){.fd = net.listener, .events = POLLIN};
    for (size_t i = 0; i < net.nguests; i++)
        net.fds[n++] =
            (struct pollfd){.fd = net.guest[i]->fd, .events = POLLIN};
    for (size_t i = 0; i < net.nlinks; i++)
        net.fds[n++] = (struct pollfd){.fd = net.links[i]->fd,
                                       .events = link_events(net.links[i])};
    return n;
}

/* Many links: only those that the kernel names, or that have news. */
static bool drive_ready(void)
{
    size_t first = 1 + net.nguests, nlinks = net.nlinks;
    bool moved = false;

    if (poll(net.fds, fill_fds(), 0) < 0)
        return false;
    for (size_t i = 0; i < nlinks; i++) {
        struct link *l = net.links[i];

        if (net.fds[first + i].revents ||
            (l->state == LINK_OPEN && impi_channel_tx_ready(l->channel)))
            moved |= drive(l);
    }
    return moved;
}

bool net_progress(void)
{
    bool moved = false;

    if (net.nlinks > TRY_EACH_MAX) {
        moved = drive_ready();
    } else {
        for (size_t i = 0; i < net.nlinks; i++)
            moved |= drive(net.links[i]);
    }
    if (net_opening() || net.round++ % LOOK_EVERY == 0)
        moved |= look_for_guests();
    return moved;
}

bool net_progress_out(void)
{
    bool moved = false;

    for (size_t i = 0; i < net.nlinks; i++) {
        struct link *l = net.links[i];

        moved |= l->state == LINK_OPEN ? pump_out(l) : drive(l);
    }
    return moved | look_for_guests();
}

unsigned net_fds(struct pollfd *fds, unsigned max)
{
    nfds_t n = fill_fds();

    n = n < max ? n : max;
    memcpy(fds, net.fds, n * sizeof(fds[0]));
    return (unsigned)n;
}

void net_wait(int ms)
{
    nfds_t n = fill_fds();
    struct pollfd *fds = net.fds;

    /* With threads the list may change meanwhile: wait on a copy, shortly. */
    if (impi_be.threads) {
        struct pollfd copy[32];

        n = n < 32 ? n : 32;
        memcpy(copy, fds, n * sizeof(copy[0]));
        be_unlock();
        poll(copy, n, 1);
        be_lock();
        return;
    }
    poll(fds, n, ms);
}

/* ---- the end ---- */

static bool all_closed(void)
{
    for (size_t i = 0; i < net.nlinks; i++) {
        if (net.links[i]->state == LINK_OPEN)
            return false;
    }
    return true;
}

static void free_all(void)
{
    for (size_t i = 0; i < net.nlinks; i++) {
        link_close_fd(net.links[i]);
        free(net.links[i]);
    }
    for (size_t i = 0; i < net.nguests; i++) {
        link_close_fd(net.guest[i]);
        free(net.guest[i]);
    }
    if (net.listener >= 0)
        close(net.listener);
    free(net.by_peer);
    free(net.links);
    free(net.fds);
    free(net.guest);
    memset(&net, 0, sizeof(net));
    net.listener = -1;
}

void net_finish(void)
{
    for (size_t i = 0; i < net.nlinks; i++) {
        if (net.links[i]->state == LINK_OPEN)
            impi_channel_fini(net.links[i]->channel);
    }
    net.finishing = true;
    while (!all_closed()) {
        if (!net_progress())
            net_wait(10);
    }
    free_all();
}

void net_forget(void)
{
    for (size_t i = 0; i < net.nlinks; i++)
        link_close_fd(net.links[i]);
    for (size_t i = 0; i < net.nguests; i++)
        link_close_fd(net.guest[i]);
    if (net.listener >= 0)
        close(net.listener);
    net.listener = -1;
    net.nlinks = net.nguests = 0;
}
