/* SPDX-License-Identifier: BSD-3-Clause
 * Interfaces to swfabd on the same machine: calling it, and its answer.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/local.h"
#include "hsn/nic_unix.h"

#define AGAIN_NS 200000000ULL   /* between two tries to connect */
#define ANSWER_NS 5000000000ULL /* that swfabd may take to answer */

void unix_nic_hang_up(struct unix_nic *u, const char *why)
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

static void call(struct unix_nic *u, uint64_t now)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);

    u->next = now + AGAIN_NS;
    u->fd = local_connect(u->o.fabric, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
    if (u->fd < 0)
        return;
    if (getsockopt(u->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0)
        u->credentials.reader = peer.uid == 0 ? 0 : u->o.service;
    u->link = softlink_new_caller(u->o.name, u->o.board, u->carrier, 0,
                                  &u->credentials);
    if (u->link)
        ask(u, NULL, 0, hello_made);
    else
        give_up(u, "no memory");
}

/* One message of the handshake, with the rings' descriptors if any. */
static ssize_t take_message(struct unix_nic *u, int fds[2])
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(2 * sizeof(int))];
    } control;
    struct iovec iov = {u->buf, sizeof(u->buf)};
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof(control)};
    ssize_t n = recvmsg(u->fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
    size_t len;

    fds[0] = fds[1] = -1;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
        len = c->cmsg_len - CMSG_LEN(0);
        memcpy(fds, CMSG_DATA(c), len < 8 ? len : 8);
    }
    return n;
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
    ssize_t n = take_message(u, u->welcome);

    if (n > 0)
        ask(u, u->buf, (size_t)n, answer_read);
    else if (n == 0 || errno != EAGAIN)
        give_up(u, "the fabric hung up");
    else if (now >= u->next)
        give_up(u, "the fabric does not answer");
}

uint64_t unix_nic_tick(void *self, uint64_t now)
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
