/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "impid/server_lines.h"

#define FD_LOWEST 10 /* what is handed over goes below */

static void drop(struct server_lines *l, size_t i)
{
    close(l->line[i].fd);
    l->n--;
    memmove(&l->line[i], &l->line[i + 1], (l->n - i) * sizeof(l->line[0]));
}

enum told { NOTHING, HELLO, GOODBYE };

/* What has arrived on a line so far; the data stays in the socket. */
static enum told look(const struct server_lines *l, size_t i,
                      struct impi_presence *who)
{
    uint8_t text[IMPI_PRESENCE_SIZE + 1];
    ssize_t n =
        recv(l->line[i].fd, text, sizeof(text), MSG_PEEK | MSG_DONTWAIT);

    if (n < IMPI_PRESENCE_SIZE ||
        impi_presence_decode(who, text, l->secret) < 0)
        return NOTHING;
    return n == IMPI_PRESENCE_SIZE ? HELLO : GOODBYE;
}

/* Is the agent still connected by another line?  A stranger that copied a
 * node's greeting can end its own line only, not the node's. */
static bool stands(const struct server_lines *l, uint32_t agent)
{
    struct impi_presence who;

    for (size_t i = 0; i < l->n; i++)
        if (!l->line[i].over && look(l, i, &who) != NOTHING &&
            who.agent == agent)
            return true;
    return false;
}

/* Line i has ended: was that node lost? */
static bool is_lost(struct server_lines *l, size_t i, struct impi_presence *who)
{
    enum told told = look(l, i, who);

    l->line[i].over = true;
    if (told == NOTHING)
        drop(l, i);
    return told == HELLO && !stands(l, who->agent);
}

/* As many as impi-server has: two for each node, and some for strangers. */
static size_t places(const struct server_lines *l)
{
    size_t n = 2 * (size_t)l->nodes + SF_IMPI_PENDING_MAX;

    return n < SF_IMPI_LINES_MAX ? n : SF_IMPI_LINES_MAX;
}

/* Make room for one more line by closing the oldest stranger's.  (A node says
 * who it is as soon as it is connected.) */
static bool make_place(struct server_lines *l)
{
    struct impi_presence who;
    size_t oldest = l->n;

    if (l->n < places(l))
        return true;
    for (size_t i = 0; i < l->n; i++) {
        struct node_line *line = &l->line[i];

        line->known = line->known || look(l, i, &who) != NOTHING;
        if (!line->known &&
            (oldest == l->n || line->birth < l->line[oldest].birth))
            oldest = i;
    }
    if (oldest == l->n)
        return false;
    drop(l, oldest);
    return true;
}

/* Lines stay in the order of their numbers; server_proc.c relies on it. */
static void insert(struct server_lines *l, int fd)
{
    size_t i = l->n++;

    for (; i > 0 && l->line[i - 1].fd > fd; i--)
        l->line[i] = l->line[i - 1];
    l->line[i] = (struct node_line){.fd = fd, .birth = l->births++};
}

/* Connections for which we have no descriptor wait for the server.  False:
 * there is none now. */
static bool accept_line(struct server_lines *l)
{
    int fd = accept4(l->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FD_LOWEST);

    if (fd >= 0)
        close(fd);
    if (high >= 0 && make_place(l))
        insert(l, high);
    else if (high >= 0)
        close(high);
    else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
        l->listener = -1;
    return high >= 0;
}

/* Some at once: to look at all lines takes longer the more there are. */
static void accept_lines(struct server_lines *l)
{
    for (int i = 0; i < SF_ACCEPTS_MAX && accept_line(l); i++)
        ;
}

/* Room for all lines and both listeners. */
static struct pollfd *to_poll(const struct server_lines *l, int agents,
                              nfds_t *n)
{
    struct pollfd *p = calloc(l->n + 2, sizeof(*p));

    if (!p)
        return NULL;
    p[0] = (struct pollfd){.fd = agents, .events = POLLIN};
    p[1] = (struct pollfd){.fd = l->listener, .events = POLLIN};
    for (size_t i = 0; i < l->n; i++)
        p[2 + i] = (struct pollfd){.fd = l->line[i].over ? -1 : l->line[i].fd,
                                   .events = POLLRDHUP};
    *n = l->n + 2;
    return p;
}

/* From last to first, because dropping a line moves those behind it. */
static bool find_lost(struct server_lines *l, const struct pollfd *lines,
                      size_t n, struct impi_presence *lost)
{
    for (size_t i = n; i-- > 0;)
        if (lines[i].revents && is_lost(l, i, lost))
            return true;
    return false;
}

/* Wait for the agents' listener only, for ms milliseconds or without limit
 * (-1). */
static bool wait_for_agent(int agents, int ms)
{
    struct pollfd p = {.fd = agents, .events = POLLIN};

    return poll(&p, 1, ms) == 1;
}

bool server_lines_wait(struct server_lines *l, int agents,
                       struct impi_presence *lost)
{
    int rest = l->rest_ms;

    l->rest_ms = 0;
    if (rest > 0 && wait_for_agent(agents, rest))
        return true;
    for (;;) {
        nfds_t n = 0;
        struct pollfd *p = to_poll(l, agents, &n);
        bool agent, gone;

        if (!p || poll(p, n, -1) < 0) {
            free(p);
            if (p && errno == EINTR)
                continue;
            while (!wait_for_agent(agents, -1)) /* at least that */
                ;
            return true;
        }
        agent = p[0].revents != 0;
        gone = find_lost(l, p + 2, n - 2, lost);
        if (p[1].revents)
            accept_lines(l);
        free(p);
        if (gone || agent)
            return !gone;
    }
}

void server_lines_close(struct server_lines *l)
{
    while (l->n > 0)
        drop(l, l->n - 1);
}
