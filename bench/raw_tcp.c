/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ping-pong over a bare TCP connection on loopback: the floor under every
 * message between processes.  Nonblocking sockets that both sides spin on,
 * TCP_NODELAY, writes of at most 256 KB.
 * Prints "BYTES MICROSECONDS" per size: median half round trip.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/sizes.h"

#define PIECE (256 * 1024)

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void send_all(int fd, const char *buf, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, buf, len < PIECE ? len : PIECE, MSG_NOSIGNAL);

        if (n > 0) {
            buf += n;
            len -= (size_t)n;
        } else if (errno != EAGAIN) {
            die("send");
        }
    }
}

static void recv_all(int fd, char *buf, size_t len)
{
    while (len > 0) {
        ssize_t n = recv(fd, buf, len, 0);

        if (n > 0) {
            buf += n;
            len -= (size_t)n;
        } else if (n == 0 || errno != EAGAIN) {
            die("recv");
        }
    }
}

static void prepare(int fd)
{
    int one = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    fcntl(fd, F_SETFL, O_NONBLOCK);
}

static void answer(int fd, char *buf)
{
    for (int s = 0; s < NSIZES; s++)
        for (int i = 0; i < total_rounds(s); i++) {
            recv_all(fd, buf, sizes[s].bytes);
            send_all(fd, buf, sizes[s].bytes);
        }
}

static void measure(int fd, char *buf)
{
    double batch[BATCHES];

    for (int s = 0; s < NSIZES; s++) {
        for (int b = -WARMUPS; b < BATCHES; b++) {
            double start = now_us();

            for (int i = 0; i < sizes[s].rounds; i++) {
                send_all(fd, buf, sizes[s].bytes);
                recv_all(fd, buf, sizes[s].bytes);
            }
            if (b >= 0)
                batch[b] = (now_us() - start) / sizes[s].rounds / 2;
        }
        printf("%zu %.4f\n", sizes[s].bytes, median(batch, BATCHES));
    }
}

int main(void)
{
    struct sockaddr_in addr = {.sin_family = AF_INET};
    socklen_t len = sizeof(addr);
    int listener = socket(AF_INET, SOCK_STREAM, 0), fd;
    char *buf = calloc(1, MAX_BYTES);
    pid_t child;

    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (!buf || bind(listener, (struct sockaddr *)&addr, len) < 0 ||
        listen(listener, 1) < 0 ||
        getsockname(listener, (struct sockaddr *)&addr, &len) < 0)
        die("listen");
    child = fork();
    if (child == 0) {
        fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&addr, len) < 0)
            die("connect");
        prepare(fd);
        answer(fd, buf);
        _exit(0);
    }
    fd = accept(listener, NULL, NULL);
    prepare(fd);
    measure(fd, buf);
    waitpid(child, NULL, 0);
    free(buf);
    return 0;
}
