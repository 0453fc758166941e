/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The message engine over TCP loopback between two processes, beside a raw
 * ping-pong on the same machine in turns: medians of half round trips, and the
 * system calls per message.  Usage: bench_p2p [rounds]
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "impi/channel.h"

#define PIECE (256 * 1024)
#define RUNS 9

static unsigned long sends, recvs, empty;

struct peer {
    int fd;
    struct impi_p2p *p2p;
    struct impi_channel *channel;
    uint32_t other;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static int tcp_pair(int fd[2])
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t len = sizeof(a);
    int l = socket(AF_INET, SOCK_STREAM, 0), one = 1;

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fd[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(l, (struct sockaddr *)&a, len) < 0 || listen(l, 1) < 0 ||
        getsockname(l, (struct sockaddr *)&a, &len) < 0 ||
        connect(fd[0], (struct sockaddr *)&a, len) < 0)
        return -1;
    fd[1] = accept(l, NULL, NULL);
    close(l);
    for (int i = 0; i < 2; i++) {
        setsockopt(fd[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        fcntl(fd[i], F_SETFL, O_NONBLOCK);
    }
    return 0;
}

static void raw_send(int fd, const char *p, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, p, len < PIECE ? len : PIECE, MSG_NOSIGNAL);

        if (n < 0 && errno != EAGAIN)
            die("send");
        if (n > 0) {
            p += n;
            len -= (size_t)n;
        }
    }
}

static void raw_recv(int fd, char *p, size_t len)
{
    while (len > 0) {
        ssize_t n = recv(fd, p, len, 0);

        if (n == 0 || (n < 0 && errno != EAGAIN))
            die("recv");
        if (n > 0) {
            p += n;
            len -= (size_t)n;
        }
    }
}

static void progress(struct peer *p)
{
    struct iovec iov[IMPI_TX_IOV];
    struct msghdr m = {.msg_iov = iov};
    ssize_t n;

    while (impi_channel_tx_ready(p->channel)) {
        m.msg_iovlen = (size_t)impi_channel_tx(p->channel, iov, IMPI_TX_IOV);
        if (m.msg_iovlen == 0)
            break;
        n = sendmsg(p->fd, &m, MSG_NOSIGNAL);
        sends++;
        if (n <= 0)
            break;
        impi_channel_tx_done(p->channel, (size_t)n);
    }
    m.msg_iovlen = (size_t)impi_channel_rx(p->channel, iov, IMPI_RX_IOV);
    n = recvmsg(p->fd, &m, 0);
    if (n > 0) {
        recvs++;
        if (impi_channel_rx_done(p->channel, (size_t)n) < 0)
            die(impi_channel_error(p->channel));
    } else {
        empty++;
    }
}

static void p2p_send(struct peer *p, char *buf, size_t len)
{
    struct impi_request req;
    struct impi_send args = {
        .peer = p->other, .tag = 1, .buf = {.base = buf, .len = len}};

    impi_p2p_isend(p->p2p, &req, &args);
    while (!req.done)
        progress(p);
}

static void p2p_recv(struct peer *p, char *buf, size_t len)
{
    struct impi_request req;
    struct impi_recv args = {
        .peer = p->other, .tag = 1, .buf = {.base = buf, .len = len}};

    impi_p2p_irecv(p->p2p, &req, &args);
    while (!req.done)
        progress(p);
}

static void rounds(struct peer *p, bool engine, bool first, char *buf,
                   size_t len, int n)
{
    for (int i = 0; i < n; i++) {
        for (int half = 0; half < 2; half++) {
            bool out = first == (half == 0);

            if (engine && out)
                p2p_send(p, buf, len);
            else if (engine)
                p2p_recv(p, buf, len);
            else if (out)
                raw_send(p->fd, buf, len);
            else
                raw_recv(p->fd, buf, len);
        }
    }
}

static void no_connect(void *arg, uint32_t peer)
{
}

static const struct impi_p2p_ops ops = {.connect = no_connect};

static void peer_open(struct peer *p, uint32_t rank, int fd)
{
    struct impi_world w = {.maxdatalen = IMPI_OWN_MAXDATALEN,
                           .ackmark = IMPI_OWN_ACKMARK,
                           .hiwater = IMPI_OWN_HIWATER,
                           .flags = IMPI_WORLD_EXTENDED,
                           .nprocs = 2};
    struct impi_proc procs[2] = {{.pid = 1}, {.pid = 2}};

    w.procs = procs;
    p->fd = fd;
    p->other = !rank;
    p->p2p = impi_p2p_create(&w, rank, &ops, NULL);
    p->channel = impi_p2p_attach(p->p2p, p->other);
    if (!p->channel)
        die("attach");
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static void measure(struct peer *raw, struct peer *engine, char *buf,
                    size_t len, int n)
{
    double t[2][RUNS];
    unsigned long s = sends, r = recvs;

    for (int run = 0; run < RUNS; run++) {
        for (int kind = 0; kind < 2; kind++) {
            double from = now();

            rounds(kind ? engine : raw, kind, true, buf, len, n);
            t[kind][run] = (now() - from) / n / 2;
        }
    }
    qsort(t[0], RUNS, sizeof(double), by_value);
    qsort(t[1], RUNS, sizeof(double), by_value);
    printf("%8zu B  raw %8.2f (best %8.2f)  engine %8.2f (best %8.2f) us  "
           "ratio %.2f  sends %.2f recvs %.2f per message\n",
           len, t[0][RUNS / 2], t[0][0], t[1][RUNS / 2], t[1][0],
           t[1][RUNS / 2] / t[0][RUNS / 2], (double)(sends - s) / RUNS / n,
           (double)(recvs - r) / RUNS / n);
}

int main(int argc, char **argv)
{
    static const size_t lens[] = {1,      1024,    16384,  65536,
                                  262144, 1 << 20, 4 << 20};
    int scale = argc > 1 ? atoi(argv[1]) : 2000;
    char *buf = calloc(1, 4 << 20);
    struct peer raw = {0}, engine = {0};
    int a[2], b[2];
    pid_t pid;

    if (!buf || tcp_pair(a) < 0 || tcp_pair(b) < 0)
        die("sockets");
    pid = fork();
    raw.fd = a[pid == 0];
    peer_open(&engine, pid == 0, b[pid == 0]);
    for (int i = 0; i < 7; i++) {
        int n = lens[i] > 65536 ? scale / 20 + 1 : scale;

        if (pid == 0) {
            for (int run = 0; run < RUNS; run++) {
                rounds(&raw, false, false, buf, lens[i], n);
                rounds(&engine, true, false, buf, lens[i], n);
            }
        } else {
            measure(&raw, &engine, buf, lens[i], n);
        }
    }
    impi_p2p_destroy(engine.p2p);
    free(buf);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    return 0;
}
