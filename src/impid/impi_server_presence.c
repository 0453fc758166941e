/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nodes whose agent has not started (impi/presence.h).  As soon as one agent
 * has proved itself some task has called MPI: so every node that is in touch is
 * woken, and one that goes without its agent having been here is missed by
 * those who wait.  (That we run means less: anybody who connects has us
 * started.)
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/netaddr.h"
#include "impi/presence.h"
#include "impid/impi_server.h"

struct presence {
    struct guest guest; /* first; until it has proved who it is */
    struct server *server;
    int fd;
    ev_io read;
    uint8_t in[IMPI_PRESENCE_SIZE];
    size_t len; /* all of it: who is believed */
    struct impi_presence who;
    bool stands; /* it is counted as a line of its node */
    bool over;   /* it has said goodbye, when nobody missed it yet */
    uint8_t code;
    TAILQ_ENTRY(presence) next; /* oldest first */
};

static bool proved(const struct presence *p)
{
    return p->len == sizeof(p->in);
}

/* Of a large step all go at once: none may be looked for among all. */
static void stands(struct presence *p, bool does)
{
    if (p->stands == does)
        return;
    p->stands = does;
    if (does)
        p->server->standing[p->who.agent]++;
    else
        p->server->standing[p->who.agent]--;
}

static void drop(struct presence *p)
{
    struct server *s = p->server;

    stands(p, false);
    guests_leave(&s->unknown, &p->guest);
    ev_io_stop(s->loop, &p->read);
    close(p->fd);
    TAILQ_REMOVE(&s->presences, p, next);
    s->npresences--;
    free(p);
}

static void stepd_lost(struct server *s, const char *node)
{
    struct errbuf text;

    errprintf(&text, "SF-E316: " IMPI_LOST_NODE, node);
    server_abort(s, &(struct server_cause){.code = 1,
                                           .rank = -1,
                                           .client = -1,
                                           .node = node,
                                           .lost = true,
                                           .text = text.text});
}

/* code: the highest of its tasks, 0: none or not known. */
static void never_called(struct server *s, const struct impi_presence *who,
                         uint8_t code)
{
    struct errbuf text;

    errprintf(&text,
              "SF-E312: rank %u on node %s ended without calling MPI_Init, "
              "for which other ranks wait (is it an MPI program, and not "
              "statically linked?)",
              who->rank, who->node);
    server_abort(s, &(struct server_cause){.code = code ? code : 1,
                                           .rank = -1,
                                           .client = -1,
                                           .node = who->node,
                                           .text = text.text});
}

/* said: slurmstepd has sent the byte that says that it ends in order.  If it
 * has not, it may still owe srun the ends of its tasks, even after its agent's
 * goodbye.  While the agent is connected, that is the first to know why. */
static void gone(struct presence *p, bool said, uint8_t code)
{
    struct server *s = p->server;
    struct impi_presence who = p->who;
    bool known = proved(p);

    if (known && said && !s->came) {
        ev_io_stop(s->loop, &p->read);
        stands(p, false);
        p->over = true;
        p->code = code;
        return;
    }
    drop(p);
    if (!known || s->standing[who.agent] > 0)
        return;
    if (s->reported[who.agent]) {
        if (!said && s->by_index[who.agent])
            s->orphaned[who.agent] = true;
        else if (!said)
            stepd_lost(s, who.node);
        return;
    }
    s->reported[who.agent] = true;
    if (said)
        never_called(s, &who, code);
    else
        stepd_lost(s, who.node);
    server_bye(s);
}

static bool wake(const struct presence *p)
{
    return send(p->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

void server_presence_came(struct server *s)
{
    struct presence *p, *next;

    s->came = true;
    for (p = TAILQ_FIRST(&s->presences); p; p = next) {
        next = TAILQ_NEXT(p, next);
        if (p->over)
            gone(p, true, p->code);
        else
            wake(p); /* that it is lost shows when we read */
    }
}

void server_presence_bye(struct server *s, uint32_t agent, const char *node)
{
    if (s->orphaned[agent])
        stepd_lost(s, node);
}

static void readable(struct ev_loop *loop, ev_io *w, int revents)
{
    struct presence *p = w->data;
    struct server *s = p->server;
    uint8_t more = 0;
    ssize_t n;

    if (proved(p))
        n = recv(p->fd, &more, 1, 0);
    else
        n = recv(p->fd, p->in + p->len, sizeof(p->in) - p->len, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || proved(p)) {
        gone(p, n > 0, more);
        return;
    }
    p->len += (size_t)n;
    p->guest.spoke = true;
    if (!proved(p))
        return;
    if (impi_presence_decode(&p->who, p->in, s->start.secret) < 0 ||
        p->who.agent >= s->start.agents)
        drop(p);
    else {
        guests_leave(&s->unknown, &p->guest);
        stands(p, true);
    }
}

/* As with agents: all may come at once, and strangers get some slots more. */
static void evict(struct server *s)
{
    if (s->npresences <= 2 * s->start.agents + SF_IMPI_PENDING_MAX)
        return;
    if (s->unknown.n > 0)
        drop((struct presence *)tcp_peer_choose(&s->unknown, &s->netlink));
    else
        drop(TAILQ_LAST(&s->presences, presence_list));
}

static void presence_new(struct server *s, int fd)
{
    struct presence *p = calloc(1, sizeof(*p));

    if (p)
        p->fd = fd;
    if (!p || (s->came && !wake(p)) ||
        guests_enter(&s->unknown, &p->guest, fd) < 0) {
        free(p);
        close(fd);
        return;
    }
    p->server = s;
    ev_io_init(&p->read, readable, fd, EV_READ);
    p->read.data = p;
    ev_io_start(s->loop, &p->read);
    TAILQ_INSERT_TAIL(&s->presences, p, next);
    s->npresences++;
    evict(s);
}

static void accept_presences(struct ev_loop *loop, ev_io *w, int revents)
{
    struct server *s = w->data;
    char peer[64];

    for (int i = 0; i < SF_ACCEPTS_MAX; i++) {
        int fd = server_net_accept(SERVER_PRESENCE_FD, peer, sizeof(peer));

        if (fd >= 0) {
            presence_new(s, fd);
            continue;
        }
        /* out of descriptors: the next tick tries again */
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
            ev_io_stop(loop, w);
        if (errno != ECONNABORTED && errno != EINTR)
            return;
    }
}

/* Those that srun has accepted before us. */
static int inherit(struct server *s, struct errbuf *err)
{
    for (uint32_t i = 0; i < s->start.lines; i++) {
        int fd = SERVER_LINES_FD + (int)i;

        if (netaddr_port(fd) == 0)
            return errprintf(err, "no socket on fd %d", fd);
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        fcntl(fd, F_SETFL, O_NONBLOCK);
        presence_new(s, fd);
    }
    return 0;
}

int server_presence_start(struct server *s, struct errbuf *err)
{
    if (!s->start.presence)
        return s->start.lines ? errprintf(err, "lines without presence") : 0;
    if (netaddr_port(SERVER_PRESENCE_FD) == 0)
        return errprintf(err, "no listening socket on fd %d",
                         SERVER_PRESENCE_FD);
    fcntl(SERVER_PRESENCE_FD, F_SETFD, FD_CLOEXEC);
    s->standing = calloc(s->start.agents, sizeof(*s->standing));
    if (!s->standing)
        return errprintf(err, "out of memory");
    ev_io_init(&s->presence_accept, accept_presences, SERVER_PRESENCE_FD,
               EV_READ);
    s->presence_accept.data = s;
    ev_io_start(s->loop, &s->presence_accept);
    return inherit(s, err);
}

void server_presence_tick(struct server *s)
{
    if (s->start.presence)
        ev_io_start(s->loop, &s->presence_accept);
}

void server_presence_stop(struct server *s)
{
    struct presence *p;

    if (!s->start.presence)
        return;
    ev_io_stop(s->loop, &s->presence_accept);
    close(SERVER_PRESENCE_FD);
    while ((p = TAILQ_FIRST(&s->presences)))
        drop(p);
    free(s->standing);
    guests_free(&s->unknown);
}
