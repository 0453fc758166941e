/* SPDX-License-Identifier: BSD-3-Clause
 * Interfaces to swfabd on the same machine: rings, and a plain SEQPACKET
 * socket.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd_pass.h"
#include "base/local.h"
#include "base/ring.h"
#include "hsn/nic_priv.h"
#include "net/softlink_job.h"

/* Interfaces to swfabd on the same machine: what the link and the packets
 * share.
 */
struct unix_nic {
    struct softlink_job ask; /* while `asking`: the clerk's, and the link */
    bool asking;
    int welcome[2]; /* the rings that came with what is asked about */
    struct hsn_nic nic;
    struct hsn_nic_options o;
    struct hsn_nic_done done;
    struct softlink_ops credentials;
    enum softlink_carrier carrier;
    struct softlink *link; /* while connecting and connected */
    int fd;
    uint64_t next; /* when to try again */
    struct ring to, from;
    struct ring lent_from;   /* hung up while packets of it are lent */
    struct ring_crowd crowd; /* of `from` */
    bool lent, asleep;
    bool put; /* something into `to`, since the bell was seen to */
    uint8_t buf[NET_PACKET_MAX];
};

/* ---- nic unix link ----------------------------------------------------- */

/* Interfaces to swfabd on the same machine: calling it, and its answer. */

#define AGAIN_NS 200000000ULL   /* between two tries to connect */
#define ANSWER_NS 5000000000ULL /* that swfabd may take to answer */

static void ask(struct unix_nic *u, const void *buf, size_t len,
                void (*done)(struct clerk_job *job, bool cancelled));

/* The link is down, its rings are gone; the next tick calls again. */
static void unix_nic_hang_up(struct unix_nic *u, const char *why)
{
    if (u->fd >= 0)
        close(u->fd);
    u->fd = -1;
    softlink_free(u->link);
    u->link = NULL;
    ring_detach(&u->to);
    if (u->lent && u->from.shared)
        u->lent_from = u->from; /* somebody may look at its packets still */
    else
        ring_detach(&u->from);
    memset(&u->from, 0, sizeof(u->from));
    memset(&u->crowd, 0, sizeof(u->crowd));
    u->asleep = false;
    hsn_nic_link(&u->nic, &u->o, false, why);
}

/* Send what the link itself has to say. */
static void flush_link(struct unix_nic *u)
{
    uint8_t out[SOFTLINK_CONTROL_MAX];
    size_t n;

    while (u->link && (n = softlink_output(u->link, out, sizeof(out))) > 0)
        if (send(u->fd, out, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            return;
}

/* No link this time: the next try later. */
static void give_up(struct unix_nic *u, const char *why)
{
    if (u->o.say)
        u->o.say(u->o.arg, true, why);
    unix_nic_hang_up(u, why);
    u->next = clock_ns() + ANSWER_NS;
}

/* Let the link ask munged; done() goes on. */
static void ask(struct unix_nic *u, const void *buf, size_t len,
                void (*done)(struct clerk_job *job, bool cancelled))
{
    if (!softlink_job_make(&u->ask, u->link, buf, len, done)) {
        give_up(u, "the fabric's answer is too long");
        return;
    }
    u->asking = true;
    if (clerk_give(u->o.clerk, &u->ask.job) == 0)
        return;
    u->asking = false;
    give_up(u, "too many wait for munged");
}

static void hello_made(struct clerk_job *job, bool cancelled)
{
    struct unix_nic *u = (struct unix_nic *)(void *)job;

    u->asking = false;
    if (cancelled)
        return;
    if (u->ask.err.text[0]) {
        give_up(u, u->ask.err.text);
        return;
    }
    flush_link(u);
    u->next = clock_ns() + ANSWER_NS;
}

static void say_nobody(const struct unix_nic *u)
{
    struct errbuf text;

    errprintf(&text, "%s: %s; does swfabd run, and make its socket there?",
              u->o.fabric, strerror(errno));
    if (u->o.say)
        u->o.say(u->o.arg, true, text.text);
}

static void call(struct unix_nic *u, uint64_t now)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);

    u->next = now + AGAIN_NS;
    u->fd = local_connect(u->o.fabric, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
    if (u->fd < 0) {
        say_nobody(u);
        return;
    }
    if (getsockopt(u->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0)
        u->credentials.reader = peer.uid == 0 ? 0 : u->o.service;
    u->link = softlink_new_caller(u->o.name, u->o.board, u->carrier, 0,
                                  &u->credentials);
    if (u->link)
        ask(u, NULL, 0, hello_made);
    else
        give_up(u, "no memory");
}

/* Map the rings that came, if they are wanted; closes their descriptors. */
static bool map_rings(struct unix_nic *u, bool wanted)
{
    int *fds = u->welcome;
    bool ok = wanted && fds[0] >= 0 && fds[1] >= 0;

    if (ok)
        ok = ring_attach(&u->to, fds[0], RING_PRODUCER, NET_PACKET_MAX, NULL) ==
                 0 &&
             ring_attach(&u->from, fds[1], RING_CONSUMER, NET_PACKET_MAX,
                         NULL) == 0;
    for (int i = 0; i < 2; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
        fds[i] = -1;
    }
    return ok;
}

/* What the fabric said was looked at. */
static void answer_read(struct clerk_job *job, bool cancelled)
{
    struct unix_nic *u = (struct unix_nic *)(void *)job;
    bool up = !cancelled && u->ask.event == SOFTLINK_WENT_UP;
    bool rings = u->carrier == SOFTLINK_RING;
    bool mapped = map_rings(u, up && rings);

    u->asking = false;
    if (up && (mapped || !rings)) {
        hsn_nic_link(&u->nic, &u->o, true, u->o.fabric);
        u->next = UINT64_MAX;
    } else if (!cancelled && u->ask.event != SOFTLINK_NOTHING) {
        give_up(u, up ? "no rings came with the fabric's answer"
                      : u->ask.err.text);
    }
}

/* Waiting for the answer to our call. */
static void handshake(struct unix_nic *u, uint64_t now)
{
    ssize_t n = fd_pass_receive(u->fd, u->buf, sizeof(u->buf), u->welcome, 2,
                                NULL, MSG_DONTWAIT);

    if (n > 0)
        ask(u, u->buf, (size_t)n, answer_read);
    else if (n == 0 || errno != EAGAIN)
        give_up(u, "the fabric hung up");
    else if (now >= u->next)
        give_up(u, "the fabric does not answer");
}

/* Calls swfabd, waits for its answer; the time of the next look. */
static uint64_t unix_nic_tick(void *self, uint64_t now)
{
    struct unix_nic *u = self;

    if (!u->asking && u->fd < 0 && now >= u->next)
        call(u, now);
    if (u->asking)
        return UINT64_MAX;
    if (u->fd >= 0 && !u->nic.up)
        handshake(u, now);
    if (u->fd < 0 && u->next == UINT64_MAX)
        u->next = now + AGAIN_NS;
    return u->next;
}

/* ---- nic unix ---------------------------------------------------------- */

#define LENT_MAX 16 /* packets that lie in the ring meanwhile */

/* A ring of the bell, or the other end has hung up. */
static void unix_rung(void *self)
{
    struct unix_nic *u = self;

    if (u->nic.up && u->carrier == SOFTLINK_RING && ring_bell_take(u->fd) < 0)
        unix_nic_hang_up(u, "the fabric hung up");
}

/* Wake swfabd, if there is something for it. */
static void bell(struct unix_nic *u)
{
    if (u->put && ring_must_wake(&u->to))
        ring_bell(u->fd);
    u->put = false;
}

static int ring_send(struct unix_nic *u, const struct hsn_tx *tx, size_t len)
{
    uint8_t *at = ring_reserve(&u->to, len);

    if (!at && errno == EAGAIN) {
        bell(u);
        return EAGAIN;
    }
    if (!at) {
        unix_nic_hang_up(u, "broken ring");
        return ENETDOWN;
    }
    hsn_nic_packet_put(at, tx);
    ring_commit(&u->to, len);
    u->put = true;
    return 0;
}

static int socket_send(struct unix_nic *u, const struct hsn_tx *tx, size_t len)
{
    hsn_nic_packet_put(u->buf, tx);
    u->nic.counters.calls++;
    if (send(u->fd, u->buf, len, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
        return 0;
    if (errno == EAGAIN || errno == ENOBUFS)
        return EAGAIN;
    unix_nic_hang_up(u, strerror(errno));
    return ENETDOWN;
}

static int unix_send(void *self, const struct hsn_tx *tx)
{
    struct unix_nic *u = self;
    size_t len = hsn_nic_packet_len(tx);
    int error;

    if (!u->nic.up) {
        u->nic.counters.dropped_down++;
        return ENETDOWN;
    }
    if (u->done.n == sizeof(u->done.slot) / sizeof(u->done.slot[0]))
        return EAGAIN;
    error = u->carrier == SOFTLINK_RING ? ring_send(u, tx, len)
                                        : socket_send(u, tx, len);
    if (error == 0)
        u->done.slot[u->done.n++] = tx->slot;
    return error;
}

static void unix_flush(void *self)
{
    struct unix_nic *u = self;

    if (u->nic.up && u->carrier == SOFTLINK_RING)
        bell(u);
}

static size_t unix_reap(void *self, struct hsn_sent *sent, size_t max)
{
    struct unix_nic *u = self;

    return hsn_nic_reap(&u->done, sent, max);
}

static void unix_cancel(void *self, uint32_t slot)
{
    (void)self; /* packets are copied: none is held */
    (void)slot;
}

static void unix_release(void *self)
{
    struct unix_nic *u = self;

    if (!u->lent)
        return;
    u->lent = false;
    ring_detach(&u->lent_from);
    if (!u->from.shared)
        return;
    ring_release(&u->from);
    if (ring_must_wake_full(&u->from))
        ring_bell(u->fd);
}

static size_t ring_recv(struct unix_nic *u, struct hsn_rx *rx, size_t max)
{
    const uint8_t *p = NULL;
    size_t len, n = 0, seen = 0;

    /* What found no room is lost: swfabd does not wait. */
    u->nic.counters.crowded +=
        ring_was_full(&u->from, &u->crowd, NET_PACKET_MAX);
    max = max < LENT_MAX ? max : LENT_MAX;
    for (; seen < max && (p = ring_peek(&u->from, &len)); seen++) {
        n += hsn_nic_packet_get(&u->nic, &rx[n], p, len);
        ring_skip(&u->from);
    }
    u->lent = seen > 0;
    if (!p && seen < max && errno != EAGAIN)
        unix_nic_hang_up(u, "broken ring");
    if (u->lent && n == 0)
        unix_release(u);
    return n;
}

static size_t socket_recv(struct unix_nic *u, struct hsn_rx *rx)
{
    ssize_t n;

    while ((n = recv(u->fd, u->buf, sizeof(u->buf), MSG_DONTWAIT)) > 0) {
        u->nic.counters.calls++;
        if (hsn_nic_packet_get(&u->nic, rx, u->buf, (size_t)n))
            return 1;
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR))
        unix_nic_hang_up(u, n == 0 ? "the fabric hung up" : strerror(errno));
    return 0;
}

static size_t unix_recv(void *self, struct hsn_rx *rx, size_t n)
{
    struct unix_nic *u = self;

    if (!u->nic.up || n == 0)
        return 0;
    return u->carrier == SOFTLINK_RING ? ring_recv(u, rx, n)
                                       : socket_recv(u, rx);
}

static int unix_fd(void *self)
{
    const struct unix_nic *u = self;

    return u->asking ? -1 : u->fd;
}

static bool unix_sleep(void *self, bool room)
{
    struct unix_nic *u = self;

    if (!u->nic.up || u->carrier != SOFTLINK_RING)
        return true;
    u->asleep = true;
    return ring_sleep(&u->from) &&
           (!room || ring_sleep_full(&u->to, NET_PACKET_MAX));
}

static void unix_awake(void *self)
{
    struct unix_nic *u = self;

    if (!u->asleep || !u->nic.up)
        return;
    u->asleep = false;
    ring_awake(&u->from);
    ring_awake(&u->to);
}

static void unix_close(void *self)
{
    struct unix_nic *u = self;

    if (u->asking)
        return;
    u->o.say = NULL; /* on purpose */
    unix_nic_hang_up(u, "closed");
    ring_detach(&u->lent_from);
    hsn_nic_options_free(&u->o);
    free(u);
}

static const struct hsn_nic_ops ops = {unix_send,   unix_flush, unix_reap,
                                       unix_cancel, unix_recv,  unix_release};

struct hsn_nic *hsn_nic_unix_open(const struct hsn_nic_options *o,
                                  enum softlink_carrier carrier,
                                  struct errbuf *err)
{
    struct unix_nic *u;

    if (!o->fabric || o->fabric[0] != '/' ||
        strlen(o->fabric) >= sizeof(((struct sockaddr_un *)0)->sun_path)) {
        errno = EINVAL;
        errprintf(err, "Fabric: the path of swfabd's socket is needed");
        return NULL;
    }
    u = calloc(1, sizeof(*u));
    if (!u || hsn_nic_options_copy(&u->o, o) < 0) {
        free(u);
        errprintf(err, "no memory");
        return NULL;
    }
    u->fd = u->welcome[0] = u->welcome[1] = -1;
    u->carrier = carrier;
    u->credentials = hsn_nic_credentials(&u->o);
    u->nic = (struct hsn_nic){.ops = &ops,
                              .self = u,
                              .kind = carrier == SOFTLINK_RING ? "ring"
                                                               : "seqpacket",
                              .fd = unix_fd,
                              .rung = unix_rung,
                              .sleep = unix_sleep,
                              .awake = unix_awake,
                              .tick = unix_nic_tick,
                              .close = unix_close};
    return &u->nic;
}
