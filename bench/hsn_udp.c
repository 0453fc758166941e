/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One way over UDP on loopback, packets received per second:
 *
 *     hsn_udp ours SIZE SECONDS MUNGE    hsnd's interface; the other end takes
 *                                        the link's tags off and checks them
 *     hsn_udp plain SIZE SECONDS         sendmmsg, recvmmsg of 32
 *     hsn_udp segmented SIZE SECONDS     the same with the help that hsnd takes
 *                                        of the kernel: UDP_SEGMENT, UDP_GRO
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mac.h"
#include "base/seal.h"
#include "hsn/nic_link.h"
#include "net/packet.h"
#include "net/softlink.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#define SEGMENTED_MAX 65000
#define BATCH 32
#define IN_SIZE 65536

struct shared {
    volatile int up, stop;
    volatile uint64_t received;
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static int bound_socket(uint16_t *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int size = 4 << 20;

    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
        getsockname(fd, (struct sockaddr *)&a, &len) < 0)
        die("socket");
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    *port = ntohs(a.sin_port);
    return fd;
}

/* ---- credentials ---- */

static int seal(void *arg, char **cred, const void *payload, size_t len,
                uid_t reader, struct errbuf *err)
{
    return seal_make(cred, payload, len, SEAL_ANY_UID, 0, arg, err);
}

static int open_seal(void *arg, void **payload, size_t *len,
                     struct softlink_origin *origin, const char *cred,
                     struct errbuf *err)
{
    struct seal_info info;

    if (seal_open(payload, len, &info, cred, arg, err) < 0)
        return -1;
    *origin = (struct softlink_origin){.uid = info.uid};
    return 0;
}

static int randomness(void *arg, void *buf, size_t len)
{
    (void)arg;
    return mac_random(buf, len);
}

/* ---- the other end ---- */

struct receiver {
    int fd;
    struct softlink *link; /* NULL: plain */
    bool gro;
    struct softlink_ops ops;
    struct shared *s;
    struct mmsghdr msg[BATCH];
    struct iovec iov[BATCH];
    struct sockaddr_in from[BATCH];
    char control[BATCH][CMSG_SPACE(sizeof(int))];
};

static void flush_link(struct receiver *r, const struct sockaddr_in *to)
{
    uint8_t out[SOFTLINK_CONTROL_MAX];
    size_t n;

    while ((n = softlink_output(r->link, out, sizeof(out))) > 0)
        sendto(r->fd, out, n, 0, (const struct sockaddr *)to, sizeof(*to));
}

static void take(struct receiver *r, const uint8_t *p, size_t len,
                 const struct sockaddr_in *from)
{
    const uint8_t *packet = NULL;
    struct softlink_hello hello;
    struct net_packet parsed;
    size_t packet_len;
    uint64_t session;
    struct errbuf err;

    if (softlink_look(p, len, &session) == SOFTLINK_HELLO) {
        if (softlink_read_hello(&hello, &r->ops, p, len, &err) < 0 ||
            softlink_answer(r->link, clock_ns(), &hello, &err) < 0)
            fprintf(stderr, "%s\n", err.text);
        flush_link(r, from);
        return;
    }
    softlink_input(r->link, 1, p, len, &packet, &packet_len, &err);
    if (packet && net_packet_parse(&parsed, packet, packet_len) == 0 &&
        parsed.crc_ok)
        r->s->received++;
    if (softlink_is_up(r->link))
        r->s->up = 1;
}

static size_t segment(struct msghdr *m, size_t len)
{
    int size;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
        if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
            memcpy(&size, CMSG_DATA(c), sizeof(size));
            return (size_t)size;
        }
    return len;
}

static void receive(struct receiver *r)
{
    uint8_t *in = calloc(BATCH, IN_SIZE);

    for (;;) {
        int n;

        for (int i = 0; i < BATCH; i++) {
            r->iov[i] = (struct iovec){in + (size_t)i * IN_SIZE, IN_SIZE};
            r->msg[i].msg_hdr = (struct msghdr){
                .msg_name = &r->from[i],
                .msg_namelen = sizeof(r->from[i]),
                .msg_iov = &r->iov[i],
                .msg_iovlen = 1,
                .msg_control = r->gro ? r->control[i] : NULL,
                .msg_controllen = r->gro ? sizeof(r->control[i]) : 0};
        }
        n = recvmmsg(r->fd, r->msg, BATCH, MSG_WAITFORONE, NULL);
        for (int i = 0; i < n; i++) {
            size_t len = r->msg[i].msg_len, at = 0;
            size_t step = r->gro ? segment(&r->msg[i].msg_hdr, len) : len;

            if (!r->link)
                r->s->received += (len + step - 1) / step;
            for (; r->link && at < len; at += step)
                take(r, (uint8_t *)r->iov[i].iov_base + at,
                     len - at < step ? len - at : step, &r->from[i]);
        }
    }
}

/* ---- this end ---- */

/* As many datagrams in one message as the kernel takes: 64, or 64 KB. */
static size_t segments(int fd, size_t size)
{
    int segment = (int)size;

    if (setsockopt(fd, SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment)) < 0)
        die("UDP_SEGMENT");
    return SEGMENTED_MAX / size < 64 ? SEGMENTED_MAX / size : 64;
}

static void send_plain(uint16_t port, size_t size, bool segmented,
                       uint64_t until)
{
    static uint8_t buf[SEGMENTED_MAX];
    size_t n = 1;
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons(port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct mmsghdr msg[BATCH];
    struct iovec iov = {buf, size};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
        die("connect");
    if (segmented)
        iov.iov_len = size * (n = segments(fd, size));
    for (int i = 0; i < BATCH; i++)
        msg[i] =
            (struct mmsghdr){.msg_hdr = {.msg_iov = &iov, .msg_iovlen = 1}};
    while (clock_ns() < until)
        if (sendmmsg(fd, msg, n < BATCH ? BATCH / (unsigned)n : 1, 0) < 0)
            die("sendmmsg");
}

static void send_ours(struct hsn_nic *nic, size_t size, uint64_t until)
{
    static uint8_t buf[8192];
    struct hsn_tx tx = {.type = 0x0701, .part = {{buf, size}, {NULL, 0}}};
    struct hsn_sent sent[64];
    uint64_t now;

    while ((now = clock_ns()) < until) {
        for (int i = 0; i < 64; i++)
            if (nic->ops->send(nic->self, &tx) == EAGAIN)
                break;
        nic->ops->flush(nic->self);
        while (nic->ops->reap(nic->self, sent, 64) == 64)
            ;
        nic->tick(nic->self, now);
    }
}

static struct hsn_nic *open_nic(uint16_t port, const char *munge,
                                struct shared *s)
{
    char where[32];
    struct hsn_nic_options o = {.kind = "udp",
                                .fabric = where,
                                .name = "bench",
                                .board = 1,
                                .munge = munge};
    struct errbuf err;
    struct hsn_rx rx = {0};
    struct hsn_nic *nic;

    snprintf(where, sizeof(where), "127.0.0.1:%u", port);
    nic = hsn_nic_open(&o, &err);
    if (!nic) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    for (int i = 0; i < 2000 && !(nic->up && s->up); i++) {
        nic->tick(nic->self, clock_ns());
        nic->ops->recv(nic->self, &rx, 1);
        poll(NULL, 0, 5);
    }
    if (!nic->up)
        die("link");
    return nic;
}

int main(int argc, char **argv)
{
    struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool ours = argc == 5 && strcmp(argv[1], "ours") == 0;
    bool segmented = argc == 4 && strcmp(argv[1], "segmented") == 0;
    size_t size = argc > 2 ? (size_t)atol(argv[2]) : 0;
    double seconds = argc > 3 ? atof(argv[3]) : 0;
    struct receiver *r = calloc(1, sizeof(*r));
    struct hsn_nic *nic = NULL;
    uint64_t begin, end;
    uint16_t port;
    int one = 1;
    pid_t pid;

    if ((!ours && argc != 4) || !r || size == 0 || size > 8192)
        return 2;
    r->fd = bound_socket(&port);
    r->s = s;
    r->gro = ours || segmented;
    if (r->gro)
        setsockopt(r->fd, SOL_UDP, UDP_GRO, &one, sizeof(one));
    if (ours) {
        r->ops =
            (struct softlink_ops){seal, open_seal, randomness, argv[4], 0, 0};
        r->link = softlink_new_called(0, &r->ops);
    }
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        receive(r);
    }
    if (ours)
        nic = open_nic(port, argv[4], s);
    begin = clock_ns();
    s->received = 0;
    end = begin + (uint64_t)(seconds * 1e9);
    if (ours)
        send_ours(nic, size, end);
    else
        send_plain(port, size, segmented, end);
    printf("%.0f\n",
           (double)s->received / ((double)(clock_ns() - begin) / 1e9));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return 0;
}
