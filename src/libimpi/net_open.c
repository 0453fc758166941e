/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening connections to the processes of other clients.
 *
 * Two processes may want each other at the same time.  The connection that
 * the lower rank began is kept: it refuses the other one (REFUSE_TWICE), and
 * the higher rank lets go of its own when it is refused or when the lower
 * rank's is proved, whichever comes first.
 */
#define _GNU_SOURCE /* accept4 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mac.h"
#include "impi/hostaddr.h"
#include "libimpi/net_priv.h"

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
    struct netaddr to = impi_hostaddr(p->addr, p->port);

    l->state = LINK_CONNECTING;
    l->fd = netaddr_open(&to.ip);
    if (l->fd < 0)
        be_die(1, "SF-E403: no socket for rank %u: %s", l->peer,
               strerror(errno));
    link_set_up_socket(l->fd);
    if (netaddr_connect(l->fd, &to) == 0)
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

/* Processes of the own client only where flat collective calls want them. */
static bool may_meet(uint32_t rank)
{
    return impi_be.world.procs[rank].client != impi_be.client ||
           (impi_be.crowded_of && rank != (uint32_t)impi_be.rank);
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
    if (id->from >= w->nprocs || !may_meet(id->from))
        return IMPI_CHAN_REFUSE_FROM;
    own = net.by_peer[id->from];
    if (own &&
        (own->state == LINK_SHARING || own->state == LINK_OPEN ||
         own->state == LINK_CLOSED ||
         (own->state != LINK_AWAITED && (uint32_t)impi_be.rank < id->from)))
        return IMPI_CHAN_REFUSE_TWICE;
    return IMPI_CHAN_ACCEPT;
}

/* From when a guest is let in there is no connection of our own to its rank:
 * each side would keep the one that the other gives up. */
static void expect_guest(const struct link *g)
{
    if (net.by_peer[g->open.id.from])
        return;
    link_add(link_create(-1, LINK_AWAITED), g->open.id.from);
    net.nopening++;
}

/* A guest knows that it is let in: it becomes the link to its rank, in place of
 * our own attempt if there was one. */
static void seat_guest(struct link *g)
{
    struct link *own;

    expect_guest(g);
    own = net.by_peer[g->open.id.from];
    link_close_fd(own);
    own->fd = g->fd;
    impi_chan_open_wipe(&g->open);
    free(g);
    link_proved(own, false);
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

bool link_drive_opening(struct link *l)
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
        link_proved(l, true);
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

    if (rc == 0) {
        if (impi_chan_open_accepted(&g->open))
            expect_guest(g);
        return false;
    }
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

/* Others wait for us: once, the user is told why. */
static void accept_failed(int error)
{
    accept_rest_begin(&net.rest, error, net_now_s());
    if ((error != EMFILE && error != ENFILE) || net.told_full)
        return;
    net.told_full = true;
    be_say("SF-E403: processes of other clients wait for a connection: %s",
           strerror(error));
}

/* accept4() makes a socket before it finds that nobody has come, which costs as
 * much as a short message. */
static bool somebody_calls(void)
{
    struct pollfd p = {.fd = net_listener(), .events = POLLIN};

    return p.fd >= 0 && poll(&p, 1, 0) > 0;
}

static bool accept_guests(void)
{
    bool any = false;

    if (!somebody_calls())
        return false;
    for (int i = 0; i < SF_ACCEPTS_MAX; i++) {
        uint8_t nonce[IMPI_CHAN_NONCE_SIZE];
        struct link *g;
        int fd =
            accept4(net.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0) {
            accept_failed(errno);
            return any;
        }
        any = true;
        link_set_up_socket(fd);
        if (net.nguests == net.guests_max) { /* the oldest has had its time */
            link_close_fd(net.guest[0]);
            impi_chan_open_wipe(&net.guest[0]->open);
            free(net.guest[0]);
            drop_guest(0);
        }
        g = link_create(fd, LINK_OPENING);
        g->since = net_now_s();
        fresh_nonce(nonce);
        impi_chan_open_accept(&g->open, impi_be.world.secret, nonce,
                              check_guest, NULL);
        net.guest[net.nguests++] = g;
    }
    return any;
}

bool net_look_for_guests(void)
{
    bool moved = accept_guests();

    for (size_t i = net.nguests; i > 0; i--)
        moved |= drive_guest(i - 1);
    return moved;
}
