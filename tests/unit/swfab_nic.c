/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/mac.h"
#include "base/seal.h"
#include "swfab_nic.h"
#include "ring_wait.h"

enum { ETHERTYPE = 0x88b5 };

struct nic {
    enum softlink_carrier carrier;
    bool ether;
    bool hung_up;
    int fd;
    union {
        struct sockaddr any;
        struct sockaddr_in udp;
        struct sockaddr_ll ether;
    } to;
    socklen_t to_len;
    const char *munge;
    struct softlink *link;
    struct ring out, in;
    struct ring_spin spin;
};

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

static int nic_seal(void *arg, char **cred, const void *payload, size_t len,
                    uid_t reader, struct errbuf *err)
{
    struct nic *nic = arg;

    return seal_make(cred, payload, len, reader, 60, nic->munge, err);
}

static int nic_unseal(void *arg, void **payload, size_t *len,
                      struct softlink_origin *origin, const char *cred,
                      struct errbuf *err)
{
    struct nic *nic = arg;
    struct seal_info info;

    if (seal_open(payload, len, &info, cred, nic->munge, err) < 0)
        return -1;
    origin->uid = info.uid;
    origin->replayed = info.replayed;
    origin->expired = info.expired;
    return 0;
}

static int nic_random(void *arg, void *buf, size_t len)
{
    return mac_random(buf, len);
}

/* ---- sockets ---- */

static bool open_unix(struct nic *nic, const char *path)
{
    struct sockaddr_un sa = {.sun_family = AF_UNIX};

    strncpy(sa.sun_path, path, sizeof(sa.sun_path) - 1);
    nic->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    return connect(nic->fd, (struct sockaddr *)&sa, sizeof(sa)) == 0;
}

static bool open_udp(struct nic *nic, const char *to)
{
    char host[32];
    unsigned port;

    if (sscanf(to, "%31[0-9.]:%u", host, &port) != 2)
        return false;
    nic->to.udp.sin_family = AF_INET;
    nic->to.udp.sin_port = htons((uint16_t)port);
    inet_pton(AF_INET, host, &nic->to.udp.sin_addr);
    nic->to_len = sizeof(nic->to.udp);
    nic->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return nic->fd >= 0;
}

static bool open_ether(struct nic *nic, const char *to)
{
    struct sockaddr_ll *ll = &nic->to.ether;
    char ifname[IFNAMSIZ];
    unsigned b[6];

    if (sscanf(to, "%15[^/]/%2x:%2x:%2x:%2x:%2x:%2x", ifname, &b[0], &b[1],
               &b[2], &b[3], &b[4], &b[5]) != 7)
        return false;
    for (int i = 0; i < 6; i++)
        ll->sll_addr[i] = (uint8_t)b[i];
    ll->sll_family = AF_PACKET;
    ll->sll_protocol = htons(ETHERTYPE);
    ll->sll_ifindex = (int)if_nametoindex(ifname);
    ll->sll_halen = 6;
    nic->to_len = sizeof(*ll);
    nic->ether = true;
    nic->fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETHERTYPE));
    return nic->fd >= 0 && bind(nic->fd, &nic->to.any, nic->to_len) == 0;
}

static bool open_socket(struct nic *nic, const struct nic_options *o)
{
    if (strcmp(o->carrier, "udp") == 0 || strcmp(o->carrier, "ether") == 0) {
        nic->carrier = SOFTLINK_DATAGRAMS;
        return o->carrier[0] == 'u' ? open_udp(nic, o->to)
                                    : open_ether(nic, o->to);
    }
    nic->carrier =
        strcmp(o->carrier, "ring") == 0 ? SOFTLINK_RING : SOFTLINK_SEQPACKET;
    return open_unix(nic, o->to);
}

/* head and body as one message, on a wire with its length in front. */
static bool put(struct nic *nic, const void *head, size_t head_len,
                const void *body, size_t len)
{
    uint8_t prefix[2] = {(uint8_t)((head_len + len) >> 8),
                         (uint8_t)(head_len + len)};
    struct iovec iov[3] = {{prefix, nic->ether ? 2 : 0},
                           {(void *)head, head_len},
                           {(void *)body, len}};
    struct msghdr msg = {.msg_name = nic->to_len ? &nic->to : NULL,
                         .msg_namelen = nic->to_len,
                         .msg_iov = iov,
                         .msg_iovlen = 3};

    if (sendmsg(nic->fd, &msg, MSG_NOSIGNAL) >= 0)
        return true;
    nic->hung_up = errno == EPIPE;
    return false;
}

/* One message; *at is where it begins.  0: none in time. */
static size_t take(struct nic *nic, uint8_t *buf, size_t size, uint8_t **at,
                   int timeout_ms, int fds[2])
{
    struct pollfd p = {.fd = nic->fd, .events = POLLIN};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control;
    struct iovec iov = {buf, size};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.bytes,
                         .msg_controllen = sizeof(control)};
    struct cmsghdr *c;
    ssize_t n;

    if (poll(&p, 1, timeout_ms) <= 0)
        return 0;
    n = recvmsg(nic->fd, &msg, nic->to_len ? 0 : MSG_CMSG_CLOEXEC);
    nic->hung_up = n == 0 && nic->carrier != SOFTLINK_DATAGRAMS;
    c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
    if (fds && c && c->cmsg_len == CMSG_LEN(2 * sizeof(int)))
        memcpy(fds, CMSG_DATA(c), 2 * sizeof(int));
    *at = buf + (nic->ether ? 2 : 0);
    if (nic->ether)
        n = n > 2 ? (ssize_t)((size_t)buf[0] << 8 | buf[1]) : 0;
    return n > 0 ? (size_t)n : 0;
}

/* ---- attaching ---- */

static bool map_rings(struct nic *nic, const int fds[2], struct errbuf *err)
{
    bool ok =
        ring_attach(&nic->out, fds[0], RING_PRODUCER, NET_PACKET_MAX, err) ==
            0 &&
        ring_attach(&nic->in, fds[1], RING_CONSUMER, NET_PACKET_MAX, err) == 0;

    close(fds[0]);
    close(fds[1]);
    return ok;
}

/* Was there anything? */
static bool flush_link(struct nic *nic)
{
    uint8_t buf[SOFTLINK_CONTROL_MAX];
    size_t len = softlink_output(nic->link, buf, sizeof(buf));

    if (len)
        put(nic, buf, len, NULL, 0);
    return len > 0;
}

static bool attach(struct nic *nic, struct errbuf *err)
{
    uint64_t end = now_ns() + 60000000000ULL;
    uint8_t buf[SOFTLINK_DATAGRAM_MAX], *at;
    const uint8_t *packet;
    int fds[2] = {-1, -1};
    bool called = false;

    errprintf(err, "no answer");
    while (!softlink_is_up(nic->link) && !nic->hung_up && now_ns() < end) {
        size_t n;

        /* A unix socket loses nothing: a second HELLO would be a packet, and
         * the answer to the first one's for nobody. */
        if (nic->carrier == SOFTLINK_DATAGRAMS || !called)
            softlink_tick(nic->link, now_ns(), err);
        called |= flush_link(nic);
        n = take(nic, buf, sizeof(buf), &at, 500, fds);
        if (n && softlink_input(nic->link, now_ns(), at, n, &packet, &n, err) ==
                     SOFTLINK_WAS_REFUSED)
            return false;
    }
    if (nic->hung_up)
        errprintf(err, "the fabric hung up");
    if (!softlink_is_up(nic->link))
        return false;
    if (nic->carrier == SOFTLINK_DATAGRAMS)
        flush_link(nic); /* the KEEP that shows the key */
    return nic->carrier != SOFTLINK_RING || map_rings(nic, fds, err);
}

struct nic *nic_open(const struct nic_options *o, struct errbuf *err)
{
    struct nic *nic = calloc(1, sizeof(*nic));
    struct softlink_ops ops = {.seal = nic_seal,
                               .open = nic_unseal,
                               .random = nic_random,
                               .arg = nic,
                               .service = geteuid(),
                               .reader = geteuid()};

    nic->munge = o->munge;
    if (!open_socket(nic, o)) {
        errprintf(err, "%s: %s", o->to, strerror(errno));
        free(nic);
        return NULL;
    }
    nic->link = softlink_new_caller(o->name, o->address, nic->carrier, 0, &ops);
    if (attach(nic, err))
        return nic;
    nic_close(nic);
    return NULL;
}

void nic_close(struct nic *nic)
{
    if (!nic)
        return;
    if (nic->carrier == SOFTLINK_DATAGRAMS) {
        softlink_close(nic->link);
        flush_link(nic);
    }
    softlink_free(nic->link);
    ring_detach(&nic->out);
    ring_detach(&nic->in);
    close(nic->fd);
    free(nic);
}

/* ---- packets ---- */

static bool ring_send(struct nic *nic, const void *packet, size_t len)
{
    void *at;

    while (!(at = ring_reserve(&nic->out, len))) {
        struct pollfd p = {.fd = nic->fd, .events = POLLIN};

        if (errno != EAGAIN)
            return false;
        if (!ring_sleep_full(&nic->out, len))
            continue;
        poll(&p, 1, 1000);
        ring_awake(&nic->out);
        if (ring_bell_clear(nic->fd) < 0)
            return false;
    }
    memcpy(at, packet, len);
    ring_commit(&nic->out, len);
    if (ring_must_wake(&nic->out))
        ring_bell(nic->fd);
    return true;
}

bool nic_send(struct nic *nic, const void *packet, size_t len)
{
    uint8_t head[SOFTLINK_HEAD];

    if (nic->carrier == SOFTLINK_RING)
        return ring_send(nic, packet, len);
    if (nic->carrier == SOFTLINK_SEQPACKET)
        return put(nic, NULL, 0, packet, len);
    return softlink_wrap(nic->link, now_ns(), head, packet, len) == 0 &&
           put(nic, head, sizeof(head), packet, len);
}

static size_t ring_recv(struct nic *nic, uint8_t *buf, int timeout_ms)
{
    const void *at;
    size_t len;

    if (ring_wait(&nic->in, nic->fd, timeout_ms, &nic->spin) != 1)
        return 0;
    at = ring_peek(&nic->in, &len);
    memcpy(buf, at, len);
    ring_consume(&nic->in);
    return len;
}

/* A packet out of a datagram, or 0 when it carried none. */
static size_t datagram_recv(struct nic *nic, uint8_t *buf, int timeout_ms)
{
    uint8_t in[SOFTLINK_DATAGRAM_MAX + 2], *at;
    const uint8_t *packet = NULL;
    struct errbuf err;
    size_t n = take(nic, in, sizeof(in), &at, timeout_ms, NULL);

    if (n)
        softlink_input(nic->link, now_ns(), at, n, &packet, &n, &err);
    if (packet)
        memcpy(buf, packet, n);
    if (now_ns() >= softlink_next(nic->link))
        softlink_tick(nic->link, now_ns(), &err);
    flush_link(nic);
    return packet ? n : 0;
}

size_t nic_recv(struct nic *nic, uint8_t *buf, int timeout_ms)
{
    uint64_t end = now_ns() + (uint64_t)timeout_ms * 1000000;
    uint8_t *at;
    size_t n = 0;

    if (nic->carrier == SOFTLINK_RING)
        return ring_recv(nic, buf, timeout_ms);
    if (nic->carrier == SOFTLINK_SEQPACKET)
        return take(nic, buf, NET_PACKET_MAX, &at, timeout_ms, NULL);
    do {
        uint64_t left = (end - now_ns()) / 1000000;

        n = datagram_recv(nic, buf, left < 500 ? (int)left : 500);
    } while (!n && now_ns() < end);
    return n;
}
