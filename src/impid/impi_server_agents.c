/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections of agents.  Nothing but the channel opening is parsed before
 * the peer has proved that it knows the step's secret.  Output is queued and
 * bounded, so an agent that does not read delays nobody.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mac.h"
#include "impid/impi_server.h"

#define READ_SIZE (64 * 1024)
#define OPENING_SECONDS 60
#define MISSING_SECONDS 30

static void agent_close(struct agent *a)
{
    struct server *s = a->server;

    if (a->dead)
        return;
    a->dead = true;
    ev_io_stop(s->loop, &a->read);
    ev_io_stop(s->loop, &a->write);
    close(a->fd);
    if (a->state == AGENT_OPENING)
        guests_leave(&s->opening, &a->guest);
    else if (s->by_index[a->index] == a) {
        s->by_index[a->index] = NULL;
        s->nlive--;
    }
}

void server_agent_drop(struct agent *a)
{
    agent_close(a);
}

/* Close it; what that means for the job depends on its state. */
static void agent_lost(struct agent *a, const char *why)
{
    struct server *s = a->server;
    enum agent_state state = a->state;
    struct errbuf text;

    agent_close(a);
    if (state == AGENT_OPENING || state == AGENT_BYE_SAID)
        return;
    errprintf(&text, "SF-E221: lost impid on node %s%s%s: %s",
              a->node[0] ? a->node : a->peer, a->holds[0] ? " with " : "",
              a->holds, why);
    server_abort(s, &(struct server_cause){.code = 1,
                                           .rank = -1,
                                           .client = -1,
                                           .node = a->node[0] ? a->node : "-",
                                           .lost = true,
                                           .text = text.text});
    server_bye(s);
}

/* ---- output ---- */

/* When the connection is broken the reading side says why: an agent that goes
 * may have left its BYE there. */
static void agent_flush(struct agent *a)
{
    if (a->dead)
        return;
    if (out_flush(&a->out, a->fd) < 0)
        out_free(&a->out);
    if (a->out.bytes)
        ev_io_start(a->server->loop, &a->write);
    else
        ev_io_stop(a->server->loop, &a->write);
}

void server_agent_send_chunk(struct agent *a, struct chunk *c)
{
    if (a->dead)
        return;
    if (out_add(&a->out, c) < 0)
        agent_lost(a, "it does not read what it is sent");
    else
        agent_flush(a);
}

void server_agent_send(struct agent *a, const struct agent_msg *msg)
{
    struct bytebuf b;
    struct chunk *c = NULL;

    bytebuf_init(&b, SF_AGENT_FRAME_MAX + AGENT_HEADER_SIZE);
    if (agent_msg_encode(&b, msg) == 0)
        c = chunk_new(bytebuf_data(&b), bytebuf_len(&b));
    bytebuf_free(&b);
    if (c)
        server_agent_send_chunk(a, c);
    else
        agent_lost(a, "out of memory");
    chunk_release(c);
}

bool server_agents_flushed(const struct server *s)
{
    const struct agent *a;

    TAILQ_FOREACH(a, &s->agents, next)
    if (!a->dead && a->state != AGENT_OPENING && a->out.bytes)
        return false;
    return true;
}

/* ---- opening ---- */

static uint32_t check_opening(void *arg, const struct impi_chan_id *id)
{
    struct agent *a = arg;

    if (id->role != IMPI_CHAN_AGENT_SERVER)
        return IMPI_CHAN_REFUSE_ROLE;
    if (id->from >= a->server->start.agents)
        return IMPI_CHAN_REFUSE_FROM;
    if (a->server->by_index[id->from])
        return IMPI_CHAN_REFUSE_TWICE;
    return IMPI_CHAN_ACCEPT;
}

static void opened(struct agent *a)
{
    struct server *s = a->server;

    a->index = a->open.id.from;
    a->state = AGENT_SILENT;
    s->reported[a->index] = true;
    guests_leave(&s->opening, &a->guest);
    s->by_index[a->index] = a;
    s->nlive++;
    impi_chan_open_wipe(&a->open);
    if (!s->came)
        server_presence_came(s);
}

static void opening_send(struct agent *a)
{
    const uint8_t *data;
    size_t len;

    while ((len = impi_chan_open_output(&a->open, &data)) > 0) {
        ssize_t n = send(a->fd, data, len, MSG_NOSIGNAL);

        if (n <= 0) {
            /* what is sent here always fits a fresh socket's buffer */
            agent_close(a);
            return;
        }
        impi_chan_open_sent(&a->open, (size_t)n);
    }
}

/* Returns false when nothing more can be read now. */
static bool opening_readable(struct agent *a)
{
    uint8_t buf[IMPI_CHAN_REPLY_SIZE];
    size_t want = impi_chan_open_want(&a->open);
    ssize_t n = recv(a->fd, buf, want < sizeof(buf) ? want : sizeof(buf), 0);
    struct errbuf err;
    int rc;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        agent_close(a);
        return false;
    }
    a->guest.spoke = true;
    rc = impi_chan_open_input(&a->open, buf, (size_t)n, &err);
    opening_send(a);
    if (a->dead)
        return false;
    if (rc < 0) {
        log_warn("SF-E222: connection from %s refused: %s", a->peer, err.text);
        agent_close(a);
        return false;
    }
    if (impi_chan_open_done(&a->open))
        opened(a);
    return true;
}

/* ---- input ---- */

static int take_frames(struct agent *a, struct errbuf *err)
{
    struct agent_msg msg;

    while (!a->dead && a->state != AGENT_BYE_SAID) {
        ssize_t n = agent_msg_decode(&msg, bytebuf_data(&a->in),
                                     bytebuf_len(&a->in), err);

        if (n <= 0)
            return (int)n;
        if (server_frame(a, &msg, err) < 0)
            return -1;
        bytebuf_consume(&a->in, (size_t)n);
    }
    return 0;
}

static void frames_readable(struct agent *a)
{
    uint8_t *room = bytebuf_room(&a->in, READ_SIZE);
    struct errbuf err;
    ssize_t n;

    if (!room) {
        agent_lost(a, "out of memory for its frame");
        return;
    }
    n = recv(a->fd, room, READ_SIZE, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        agent_lost(a, n ? strerror(errno) : "it hung up");
        return;
    }
    a->server->moved = true;
    bytebuf_grow(&a->in, (size_t)n);
    if (take_frames(a, &err) < 0) {
        struct errbuf why;

        errprintf(&why, "protocol error: %.400s", err.text);
        agent_lost(a, why.text);
    }
}

static void agent_readable(struct ev_loop *loop, ev_io *w, int revents)
{
    struct agent *a = w->data;

    while (!a->dead && a->state == AGENT_OPENING)
        if (!opening_readable(a))
            return;
    if (!a->dead)
        frames_readable(a);
}

static void agent_writable(struct ev_loop *loop, ev_io *w, int revents)
{
    agent_flush(w->data);
}

/* ---- accepting ---- */

static void ask_who(void *arg, const struct guest *g, struct guest_source *out)
{
    struct server *s = arg;

    tcp_peer_ask(((const struct agent *)g)->fd, &s->netlink, out);
}

/* Agents of a large step all come at once: strangers get some slots more. */
static void evict(struct server *s)
{
    if (s->opening.n <= s->start.agents + SF_IMPI_PENDING_MAX)
        return;
    agent_close((struct agent *)guests_choose(&s->opening, ask_who, s,
                                              server_net_random()));
}

static void agent_new(struct server *s, int fd, const char *peer)
{
    struct agent *a = calloc(1, sizeof(*a));
    uint8_t nonce[IMPI_CHAN_NONCE_SIZE];

    if (!a || mac_random(nonce, sizeof(nonce)) < 0 ||
        guests_enter(&s->opening, &a->guest) < 0) {
        free(a);
        close(fd);
        return;
    }
    a->server = s;
    a->fd = fd;
    a->since = s->counted;
    snprintf(a->peer, sizeof(a->peer), "%s", peer);
    impi_chan_open_accept(&a->open, s->start.secret, nonce, check_opening, a);
    bytebuf_init(&a->in, SF_AGENT_FRAME_MAX + AGENT_HEADER_SIZE + READ_SIZE);
    out_init(&a->out, SF_AGENT_OUT_MAX);
    ev_io_init(&a->read, agent_readable, fd, EV_READ);
    ev_io_init(&a->write, agent_writable, fd, EV_WRITE);
    a->read.data = a->write.data = a;
    ev_io_start(s->loop, &a->read);
    TAILQ_INSERT_TAIL(&s->agents, a, next);
    evict(s);
}

static void accept_agents(struct ev_loop *loop, ev_io *w, int revents)
{
    struct server *s = w->data;
    char peer[64];

    for (int i = 0; i < SF_ACCEPTS_MAX; i++) {
        int fd = server_net_accept(s->fd, peer, sizeof(peer));

        if (fd >= 0) {
            agent_new(s, fd, peer);
            continue;
        }
        /* out of descriptors: the next tick tries again */
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
            ev_io_stop(loop, w);
        if (errno != ECONNABORTED && errno != EINTR)
            return;
    }
}

static void agent_free(struct agent *a)
{
    TAILQ_REMOVE(&a->server->agents, a, next);
    bytebuf_free(&a->in);
    out_free(&a->out);
    impi_chan_open_wipe(&a->open);
    free(a);
}

/* Connections end in the middle of their own callbacks; memory goes here. */
static void sweep(struct ev_loop *loop, ev_prepare *w, int revents)
{
    struct server *s = w->data;
    struct agent *a, *next;

    for (a = TAILQ_FIRST(&s->agents); a; a = next) {
        next = TAILQ_NEXT(a, next);
        if (a->dead)
            agent_free(a);
    }
}

int server_agents_start(struct server *s, struct errbuf *err)
{
    TAILQ_INIT(&s->agents);
    s->by_index = calloc(s->start.agents, sizeof(struct agent *));
    s->reported = calloc(s->start.agents, sizeof(bool));
    s->orphaned = calloc(s->start.agents, sizeof(bool));
    s->rendezvous = rendezvous_create();
    if (!s->by_index || !s->reported || !s->orphaned || !s->rendezvous)
        return errprintf(err, "out of memory");
    s->fd = server_net_adopt(&s->start, &s->port, err);
    if (s->fd < 0)
        return -1;
    ev_io_init(&s->accept, accept_agents, s->fd, EV_READ);
    ev_prepare_init(&s->sweep, sweep);
    s->accept.data = s->sweep.data = s;
    ev_io_start(s->loop, &s->accept);
    ev_prepare_start(s->loop, &s->sweep);
    return 0;
}

/* An agent that never reports makes the others wait without a word. */
static void name_missing(struct server *s)
{
    struct errbuf text;
    uint32_t missing = 0, first = 0;

    for (uint32_t i = s->start.agents; i-- > 0;)
        if (!s->reported[i]) {
            missing++;
            first = i;
        }
    if (missing == 0)
        return;
    errprintf(&text,
              "SF-E225: %u of %u agents have not reported yet (the first is "
              "number %u, nodes counted from 0)",
              missing, s->start.agents, first);
    server_note(s, text.text);
}

/* Once a second.  A second counts only when some agent moved in it: a step
 * that is suspended as a whole loses nobody. */
void server_agents_tick(struct server *s)
{
    struct agent *a;

    ev_io_start(s->loop, &s->accept);
    if (++s->ticks == MISSING_SECONDS && (s->came || !s->start.presence))
        name_missing(s);
    if (!s->moved)
        return;
    s->moved = false;
    s->counted++;
    TAILQ_FOREACH(a, &s->agents, next)
    if (!a->dead && a->state == AGENT_OPENING &&
        s->counted - a->since > OPENING_SECONDS)
        agent_close(a);
}

void server_agents_stop(struct server *s)
{
    struct agent *a, *next;

    ev_io_stop(s->loop, &s->accept);
    ev_prepare_stop(s->loop, &s->sweep);
    close(s->fd);
    for (a = TAILQ_FIRST(&s->agents); a; a = next) {
        next = TAILQ_NEXT(a, next);
        agent_close(a);
        agent_free(a);
    }
    guests_free(&s->opening);
    tcp_peer_close(&s->netlink);
    free(s->by_index);
    free(s->reported);
    free(s->orphaned);
    rendezvous_destroy(s->rendezvous);
}
