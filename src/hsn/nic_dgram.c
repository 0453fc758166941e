/* SPDX-License-Identifier: BSD-3-Clause
 * Interfaces over datagrams: the link, and what munged is asked for it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "hsn/nic_priv.h"
#include "net/softlink_job.h"

/* Interfaces whose link is tagged datagrams: UDP and Ethernet.  Packets to
 * send are collected in one buffer, one behind the other, and leave together;
 * runs of the same length leave as one (GSO).
 */
#ifndef UDP_SEGMENT /* of older C libraries */
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define DGRAM_OUT 64              /* packets collected */
#define DGRAM_IN 8                /* datagrams received in one call */
#define DGRAM_IN_SIZE (64 * 1024) /* of one: GRO merges up to this */
#define DGRAM_PREFIX 2            /* Ethernet: length, frames are padded */
#define DGRAM_GSO_BYTES 65000     /* of one send */
#define DGRAM_MAX (DGRAM_PREFIX + SOFTLINK_DATAGRAM_MAX)

struct dgram_nic {
    struct softlink_job ask; /* while `asking`: the clerk's, and the link */
    bool asking;
    bool complained; /* that asking failed */
    struct hsn_nic nic;
    struct hsn_nic_options o;
    struct hsn_nic_done done;
    struct softlink_ops credentials;
    struct softlink *link;
    int fd;
    bool ether;
    size_t gso_most;         /* longest packets of which several leave as one */
    struct sockaddr_ll peer; /* ethernet */
    uint64_t now;

    uint8_t *out; /* DGRAM_OUT * DGRAM_MAX */
    size_t out_len[DGRAM_OUT], out_at[DGRAM_OUT];
    size_t nout, out_end, flushed; /* flushed: packets gone already */

    uint8_t *in; /* DGRAM_IN * DGRAM_IN_SIZE */
    struct mmsghdr msg[DGRAM_IN];
    struct iovec iov[DGRAM_IN];
    char control[DGRAM_IN][CMSG_SPACE(sizeof(int))];
    struct sockaddr_ll from[DGRAM_IN];
    unsigned nin, in_msg; /* received, being looked at */
    size_t in_at, in_segment;
};

static void dgram_event(struct dgram_nic *d, enum softlink_event e,
                        const struct errbuf *err);
static void dgram_ask(struct dgram_nic *d, const uint8_t *p, size_t len);

static inline size_t dgram_prefix(const struct dgram_nic *d)
{
    return d->ether ? DGRAM_PREFIX : 0;
}

/* ---- nic dgram open ---------------------------------------------------- */

/* Sockets of the interfaces over datagrams. */

#define ETHERTYPE 0x88b5
#define BUFFER (4 * 1024 * 1024)

static void large_buffers(int fd)
{
    int size = BUFFER;

    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) < 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

static int split(const char *text, char *host, size_t size, const char **port)
{
    const char *colon = text ? strrchr(text, ':') : NULL;

    if (!colon || colon == text || !colon[1] || (size_t)(colon - text) >= size)
        return -1;
    snprintf(host, size, "%.*s", (int)(colon - text), text);
    *port = colon + 1;
    return 0;
}

/* A socket to the other end.  -1 with errno and text. */
static int dgram_open_udp(struct dgram_nic *d, struct errbuf *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_family = AF_UNSPEC},
                    *list = NULL;
    char host[256];
    const char *port;
    int rc;

    if (split(d->o.fabric, host, sizeof(host), &port) < 0) {
        errno = EINVAL;
        return errprintf(err, "Fabric: ADDRESS:PORT of swfabd is needed");
    }
    rc = getaddrinfo(host, port, &hints, &list);
    if (rc != 0)
        return errprintf(err, "Fabric: %s: %s", d->o.fabric, gai_strerror(rc));
    d->fd =
        socket(list->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    rc = d->fd < 0 ? -1 : connect(d->fd, list->ai_addr, list->ai_addrlen);
    freeaddrinfo(list);
    if (rc < 0)
        return errprintf(err, "Fabric: %s: %s", d->o.fabric, strerror(errno));
    large_buffers(d->fd);
    return 0;
}

static int parse_mac(const char *text, uint8_t mac[6])
{
    unsigned b[6];

    if (!text) {
        memset(mac, 0xff, 6); /* whoever answers */
        return 0;
    }
    if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x", &b[0], &b[1], &b[2], &b[3],
               &b[4], &b[5]) != 6)
        return -1;
    for (int i = 0; i < 6; i++)
        mac[i] = (uint8_t)b[i];
    return 0;
}

static int dgram_open_ether(struct dgram_nic *d, struct errbuf *err)
{
    struct sockaddr_ll *peer = &d->peer;

    if (!d->o.trusted) {
        errno = EINVAL;
        return errprintf(err, "ethernet needs TrustedSegment=yes");
    }
    *peer = (struct sockaddr_ll){.sll_family = AF_PACKET,
                                 .sll_protocol = htons(ETHERTYPE),
                                 .sll_halen = 6};
    peer->sll_ifindex =
        d->o.interface ? (int)if_nametoindex(d->o.interface) : 0;
    if (!peer->sll_ifindex)
        return errprintf(err, "Interface: %s: %s",
                         d->o.interface ? d->o.interface : "none",
                         strerror(errno));
    if (parse_mac(d->o.mac, peer->sll_addr) < 0) {
        errno = EINVAL;
        return errprintf(err, "PeerMac: %s: not an address", d->o.mac);
    }
    d->fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                   htons(ETHERTYPE));
    if (d->fd < 0 || bind(d->fd, (struct sockaddr *)peer, sizeof(*peer)) < 0)
        return errprintf(err, "%s: %s", d->o.interface, strerror(errno));
    large_buffers(d->fd);
    return 0;
}

/* ---- nic dgram send ---------------------------------------------------- */

/* Interfaces over datagrams: sending. */

static void put_prefix(const struct dgram_nic *d, uint8_t *at, size_t len)
{
    if (!d->ether)
        return;
    at[0] = (uint8_t)(len >> 8);
    at[1] = (uint8_t)len;
}

/* Datagrams of the link itself, one by one. */
static void dgram_flush_link(struct dgram_nic *d)
{
    uint8_t out[DGRAM_PREFIX + SOFTLINK_CONTROL_MAX];
    size_t n, p = dgram_prefix(d);

    while ((n = softlink_output(d->link, out + p, sizeof(out) - p)) > 0) {
        put_prefix(d, out, n);
        (void)!sendto(d->fd, out, n + p, MSG_DONTWAIT | MSG_NOSIGNAL,
                      d->ether ? (struct sockaddr *)&d->peer : NULL,
                      d->ether ? sizeof(d->peer) : 0);
    }
}

struct burst {
    struct mmsghdr msg[DGRAM_OUT];
    struct iovec iov[DGRAM_OUT];
    char control[DGRAM_OUT][CMSG_SPACE(sizeof(uint16_t))];
    size_t count[DGRAM_OUT]; /* packets in each */
    unsigned n;
};

static void add_segment_size(struct msghdr *m, char *control, size_t size)
{
    struct cmsghdr *c;
    uint16_t value = (uint16_t)size;

    m->msg_control = control;
    m->msg_controllen = CMSG_SPACE(sizeof(value));
    c = CMSG_FIRSTHDR(m);
    c->cmsg_level = SOL_UDP;
    c->cmsg_type = UDP_SEGMENT;
    c->cmsg_len = CMSG_LEN(sizeof(value));
    memcpy(CMSG_DATA(c), &value, sizeof(value));
}

/* Packets from `first` on that leave as one. */
static size_t run_length(const struct dgram_nic *d, size_t first)
{
    size_t len = d->out_len[first], n = 1;

    while (len <= d->gso_most && first + n < d->nout &&
           d->out_len[first + n] == len && (n + 1) * len <= DGRAM_GSO_BYTES)
        n++;
    return n;
}

/* The kernel did not take several packets as one: not so long ones over this
 * device (EMSGSIZE, of older kernels EINVAL), or none at all (EIO).  False: it
 * was one packet, or something else. */
static bool do_not_merge(struct dgram_nic *d, const struct burst *b, int error)
{
    if (b->count[0] == 1 ||
        (error != EMSGSIZE && error != EINVAL && error != EIO))
        return false;
    d->gso_most = error == EIO ? 0 : d->out_len[d->flushed] - 1;
    return true;
}

static void collect(struct dgram_nic *d, struct burst *b)
{
    b->n = 0;
    for (size_t i = d->flushed; i < d->nout;) {
        size_t n = run_length(d, i), len = d->out_len[i];
        struct msghdr *m = &b->msg[b->n].msg_hdr;

        b->iov[b->n] = (struct iovec){d->out + d->out_at[i], n * len};
        *m = (struct msghdr){.msg_iov = &b->iov[b->n], .msg_iovlen = 1};
        if (d->ether) {
            m->msg_name = &d->peer;
            m->msg_namelen = sizeof(d->peer);
        }
        if (n > 1)
            add_segment_size(m, b->control[b->n], len);
        b->count[b->n++] = n;
        i += n;
    }
}

/* Everything left, or nothing more goes: begin anew. */
static void reset_out(struct dgram_nic *d)
{
    d->nout = d->out_end = d->flushed = 0;
}

static void dgram_flush(void *self)
{
    struct dgram_nic *d = self;
    struct burst b;
    int n;

    while (d->flushed < d->nout) {
        collect(d, &b);
        n = sendmmsg(d->fd, b.msg, b.n, MSG_DONTWAIT | MSG_NOSIGNAL);
        d->nic.counters.calls++;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0 && do_not_merge(d, &b, errno))
            continue;
        if (n < 0) { /* nobody there, or too long for the device */
            d->nic.counters.dropped_system += b.count[0];
            n = 1;
        }
        for (int i = 0; i < n; i++)
            d->flushed += b.count[i];
    }
    reset_out(d);
}

static int dgram_send(void *self, const struct hsn_tx *tx)
{
    struct dgram_nic *d = self;
    size_t p = dgram_prefix(d), len = hsn_nic_packet_len(tx);
    uint8_t *at;

    if (!d->nic.up) {
        d->nic.counters.dropped_down++;
        return ENETDOWN;
    }
    if (d->nout == DGRAM_OUT)
        dgram_flush(d);
    if (d->nout == DGRAM_OUT ||
        d->done.n == sizeof(d->done.slot) / sizeof(d->done.slot[0]))
        return EAGAIN;
    at = d->out + d->out_end;
    hsn_nic_packet_put(at + p + SOFTLINK_HEAD, tx);
    if (softlink_wrap(d->link, d->now, at + p, at + p + SOFTLINK_HEAD, len) < 0)
        return errno == ENOTCONN ? ENETDOWN : errno;
    put_prefix(d, at, SOFTLINK_HEAD + len);
    d->out_at[d->nout] = d->out_end;
    d->out_len[d->nout++] = p + SOFTLINK_HEAD + len;
    d->out_end += p + SOFTLINK_HEAD + len;
    d->done.slot[d->done.n++] = tx->slot;
    return 0;
}

/* ---- nic dgram recv ---------------------------------------------------- */

/* Interfaces over datagrams: receiving. */

/* Bytes of each of the datagrams that were merged into one. */
static size_t segment_size(struct msghdr *m, size_t len)
{
    int size;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
        if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
            memcpy(&size, CMSG_DATA(c), sizeof(size));
            return size > 0 ? (size_t)size : len;
        }
    return len;
}

static bool refill(struct dgram_nic *d)
{
    int n;

    for (int i = 0; i < DGRAM_IN; i++) {
        d->iov[i] =
            (struct iovec){d->in + (size_t)i * DGRAM_IN_SIZE, DGRAM_IN_SIZE};
        d->msg[i].msg_hdr = (struct msghdr){
            .msg_name = d->ether ? &d->from[i] : NULL,
            .msg_namelen = d->ether ? sizeof(d->from[i]) : 0,
            .msg_iov = &d->iov[i],
            .msg_iovlen = 1,
            .msg_control = d->control[i],
            .msg_controllen = sizeof(d->control[i]),
        };
    }
    n = recvmmsg(d->fd, d->msg, DGRAM_IN, MSG_DONTWAIT, NULL);
    d->nic.counters.calls++;
    d->nin = n > 0 ? (unsigned)n : 0;
    d->nic.counters.crowded += n == DGRAM_IN;
    d->in_msg = 0;
    d->in_at = 0;
    d->now = clock_ns();
    return n > 0;
}

/* The next datagram that was received; NULL: none. */
static const uint8_t *next_datagram(struct dgram_nic *d, size_t *len)
{
    for (;; d->in_msg++, d->in_at = 0) {
        size_t all;

        if (d->in_msg == d->nin)
            return NULL;
        all = d->msg[d->in_msg].msg_len;
        if (d->in_at >= all)
            continue;
        if (d->in_at == 0)
            d->in_segment = segment_size(&d->msg[d->in_msg].msg_hdr, all);
        *len = all - d->in_at < d->in_segment ? all - d->in_at : d->in_segment;
        d->in_at += *len;
        return d->in + (size_t)d->in_msg * DGRAM_IN_SIZE + d->in_at - *len;
    }
}

/* Without the prefix; false: malformed. */
static bool strip(const struct dgram_nic *d, const uint8_t **p, size_t *len)
{
    size_t said;

    if (!d->ether)
        return true;
    if (*len < DGRAM_PREFIX)
        return false;
    said = (size_t)(*p)[0] << 8 | (*p)[1];
    if (said > *len - DGRAM_PREFIX)
        return false;
    *p += DGRAM_PREFIX;
    *len = said;
    return true;
}

/* What a datagram carries; false: nothing for the engine. */
static bool look_inside(struct dgram_nic *d, struct hsn_rx *rx,
                        const uint8_t *p, size_t len)
{
    const uint8_t *packet = NULL;
    struct errbuf err = {""};
    size_t packet_len;

    if (!strip(d, &p, &len)) {
        d->nic.counters.dropped_bad++;
        return false;
    }
    if (softlink_is_answer(d->link, p, len)) {
        dgram_ask(d, p, len);
        return false;
    }
    dgram_event(
        d, softlink_input(d->link, d->now, p, len, &packet, &packet_len, &err),
        &err);
    return packet && hsn_nic_packet_get(&d->nic, rx, packet, packet_len);
}

static size_t dgram_recv(void *self, struct hsn_rx *rx, size_t n)
{
    struct dgram_nic *d = self;
    const struct softlink_counters *c = softlink_counters(d->link);
    const uint8_t *p;
    size_t k = 0, len;

    if (d->asking || (d->in_msg == d->nin && !refill(d)))
        return 0;
    while (k < n && !d->asking && (p = next_datagram(d, &len)))
        k += look_inside(d, &rx[k], p, len);
    if (d->asking)
        return k;
    d->nic.counters.dropped_tag =
        c->malformed + c->bad_tag + c->replayed + c->foreign;
    return k;
}

/* ---- nic dgram --------------------------------------------------------- */

/* What the link said to its user; err: why it was refused. */
static void dgram_event(struct dgram_nic *d, enum softlink_event e,
                        const struct errbuf *err)
{
    if (e == SOFTLINK_WENT_UP)
        hsn_nic_link(&d->nic, &d->o, true,
                     d->ether ? d->o.interface : d->o.fabric);
    else if (e == SOFTLINK_WENT_DOWN)
        hsn_nic_link(&d->nic, &d->o, false, "the fabric is silent");
    else if (e == SOFTLINK_WAS_REFUSED && d->o.say)
        d->o.say(d->o.arg, true, err->text);
}

/* That munged does not answer is said once, not each second. */
static void complain(struct dgram_nic *d, const char *why)
{
    if (why[0] && !d->complained && d->o.say)
        d->o.say(d->o.arg, true, why);
    d->complained = why[0];
}

static void asked(struct clerk_job *job, bool cancelled)
{
    struct dgram_nic *d = (struct dgram_nic *)(void *)job;

    d->asking = false;
    if (cancelled)
        return;
    dgram_event(d, d->ask.event, &d->ask.err);
    if (d->ether && d->ask.event == SOFTLINK_WENT_UP)
        memcpy(d->peer.sll_addr, d->from[d->in_msg].sll_addr, 6);
    if (d->ask.event == SOFTLINK_NOTHING)
        complain(d, d->ask.err.text);
    dgram_flush_link(d);
}

/* Time passes for a link that calls, or it was answered: p[0..len).  Until
 * munged has answered, `asking` is set and the link is the clerk's. */
static void dgram_ask(struct dgram_nic *d, const uint8_t *p, size_t len)
{
    if (!softlink_job_make(&d->ask, d->link, p, len, asked)) {
        d->nic.counters.dropped_bad++; /* too long for a WELCOME */
        return;
    }
    d->asking = true;
    if (clerk_give(d->o.clerk, &d->ask.job) == 0)
        return;
    d->asking = false;
    complain(d, "too many wait for munged");
}

static uint64_t dgram_tick(void *self, uint64_t now)
{
    struct dgram_nic *d = self;
    struct errbuf err = {""};

    d->now = now;
    if (!d->asking && now >= softlink_next(d->link)) {
        if (softlink_is_up(d->link))
            dgram_event(d, softlink_tick(d->link, now, &err), &err);
        else
            dgram_ask(d, NULL, 0);
    }
    if (d->asking)
        return UINT64_MAX;
    dgram_flush_link(d);
    return softlink_next(d->link);
}

static size_t dgram_reap(void *self, struct hsn_sent *sent, size_t max)
{
    struct dgram_nic *d = self;

    return hsn_nic_reap(&d->done, sent, max);
}

static void dgram_cancel(void *self, uint32_t slot)
{
    (void)self; /* packets are copied: none is held */
    (void)slot;
}

static void dgram_release(void *self)
{
    (void)self; /* buffers are used again by the next refill only */
}

static int dgram_fd(void *self)
{
    const struct dgram_nic *d = self;

    return d->asking ? -1 : d->fd;
}

static bool dgram_sleep(void *self, bool room)
{
    struct dgram_nic *d = self;

    (void)room;
    dgram_flush(d);
    return d->asking || d->in_msg == d->nin;
}

static void dgram_nothing(void *self)
{
    (void)self;
}

static void dgram_close(void *self)
{
    struct dgram_nic *d = self;

    if (d->asking)
        return;
    if (d->link && d->fd >= 0) {
        softlink_close(d->link);
        dgram_flush_link(d);
    }
    softlink_free(d->link);
    if (d->fd >= 0)
        close(d->fd);
    free(d->in);
    free(d->out);
    hsn_nic_options_free(&d->o);
    free(d);
}

static const struct hsn_nic_ops ops = {dgram_send, dgram_flush,
                                       dgram_reap, dgram_cancel,
                                       dgram_recv, dgram_release};

static struct hsn_nic *dgram_new(const struct hsn_nic_options *o, bool ether,
                                 struct errbuf *err)
{
    struct dgram_nic *d = calloc(1, sizeof(*d));
    int one = 1;

    if (!d || hsn_nic_options_copy(&d->o, o) < 0) {
        free(d);
        errprintf(err, "no memory");
        return NULL;
    }
    d->fd = -1;
    d->ether = ether;
    d->credentials = hsn_nic_credentials(&d->o);
    d->nic = (struct hsn_nic){.ops = &ops,
                              .self = d,
                              .kind = ether ? "ethernet" : "udp",
                              .fd = dgram_fd,
                              .rung = dgram_nothing,
                              .sleep = dgram_sleep,
                              .awake = dgram_nothing,
                              .tick = dgram_tick,
                              .close = dgram_close};
    d->in = malloc((size_t)DGRAM_IN * DGRAM_IN_SIZE);
    d->out = malloc((size_t)DGRAM_OUT * DGRAM_MAX);
    d->link = softlink_new_caller(d->o.name, d->o.board, SOFTLINK_DATAGRAMS, 0,
                                  &d->credentials);
    if (!d->in || !d->out || !d->link)
        errprintf(err, "no memory");
    else if ((ether ? dgram_open_ether(d, err) : dgram_open_udp(d, err)) == 0) {
        d->gso_most = ether ? 0 : DGRAM_GSO_BYTES;
        if (!ether)
            setsockopt(d->fd, SOL_UDP, UDP_GRO, &one, sizeof(one));
        return &d->nic;
    }
    dgram_close(d);
    return NULL;
}

struct hsn_nic *hsn_nic_udp_open(const struct hsn_nic_options *o,
                                 struct errbuf *err)
{
    return dgram_new(o, false, err);
}

struct hsn_nic *hsn_nic_ether_open(const struct hsn_nic_options *o,
                                   struct errbuf *err)
{
    return dgram_new(o, true, err);
}
