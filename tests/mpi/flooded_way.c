/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "flooded_way.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#define STRANGER 65534
#define CROWD 200
#define WAYS_MAX 16
#define BUSY 10

static struct pollfd crowd[CROWD];
/* The listener, then both ends of each way, side by side. */
static struct pollfd ways[1 + 2 * WAYS_MAX];
static nfds_t nways = 1;
static unsigned came;
static struct sockaddr_in to;
static pid_t parent;

static int call(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static void fill_crowd(void)
{
    if (seteuid(STRANGER) < 0)
        _exit(1);
    for (int i = 0; i < CROWD; i++)
        if (crowd[i].fd < 0)
            crowd[i] = (struct pollfd){.fd = call(), .events = POLLIN};
    /* Another user's process does not end with its parent. */
    if (seteuid(0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
        getppid() != parent)
        _exit(1);
}

/* False: the process there has ended. */
static bool flood(void)
{
    fill_crowd();
    for (int gone = 0; gone < CROWD / 2;) {
        if (poll(crowd, CROWD, -1) < 0)
            return false;
        for (int i = 0; i < CROWD; i++)
            if (crowd[i].fd >= 0 && crowd[i].revents) {
                close(crowd[i].fd);
                crowd[i].fd = -1;
                gone++;
            }
    }
    return true;
}

static void begin(void)
{
    int near = accept4(ways[0].fd, NULL, NULL, SOCK_CLOEXEC);
    bool goes_on = near >= 0 && came++ >= BUSY && nways < 2 * WAYS_MAX;
    int far = goes_on ? call() : -1;

    if (far < 0 || !flood()) {
        close(near);
        close(far);
        return;
    }
    ways[nways++] = (struct pollfd){.fd = near, .events = POLLIN};
    ways[nways++] = (struct pollfd){.fd = far, .events = POLLIN};
}

static void carry(nfds_t i)
{
    nfds_t first = (i - 1) / 2 * 2 + 1;
    int other = ways[i == first ? first + 1 : first].fd;
    char buf[65536];
    ssize_t n = recv(ways[i].fd, buf, sizeof(buf), 0);

    if (n > 0 && send(other, buf, (size_t)n, MSG_NOSIGNAL) == n)
        return;
    close(ways[first].fd);
    close(ways[first + 1].fd);
    ways[first].fd = ways[first + 1].fd = -1;
}

static void run(int listener)
{
    ways[0] = (struct pollfd){.fd = listener, .events = POLLIN};
    for (int i = 0; i < CROWD; i++)
        crowd[i].fd = -1;
    while (poll(ways, nways, -1) >= 0) {
        nfds_t n = nways;

        for (nfds_t i = 1; i < n; i++)
            if (ways[i].fd >= 0 && ways[i].revents)
                carry(i);
        if (ways[0].revents)
            begin();
    }
}

uint16_t flooded_way(uint16_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to = at;
    to.sin_port = htons(port);
    if (listener < 0 ||
        bind(listener, (struct sockaddr *)&at, sizeof(at)) < 0 ||
        listen(listener, WAYS_MAX) < 0 ||
        getsockname(listener, (struct sockaddr *)&at, &len) < 0)
        return 0;
    parent = getpid();
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        run(listener);
        _exit(1);
    }
    close(listener);
    return ntohs(at.sin_port);
}
