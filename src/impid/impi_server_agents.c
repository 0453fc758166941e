/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections of agents.  Nothing but the channel opening is parsed before
 * the peer has proved that it knows the step's secret.  Output is queued and
 * bounded, so an agent that does not read delays nobody.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mac.h"
#include "impi/agent_merge.h"
#include "impid/impi_server.h"

#define READ_SIZE (64 * 1024)
#define OPENING_SECONDS 60
#define MISSING_SECONDS 30

static int server_frame(struct agent *a, const struct agent_msg *msg,
                        struct errbuf *err);
static void server_leave(struct server *s);

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
        server_tree_gone(s, a->index);
    }
}

static void server_agent_drop(struct agent *a)
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

static void server_agent_send(struct agent *a, const struct agent_msg *msg)
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

void server_agent_tell(struct server *s, uint32_t agent,
                       const struct agent_msg *msg)
{
    if (s->by_index[agent])
        server_agent_send(s->by_index[agent], msg);
}

/* Every connected agent has no output left. */
static bool server_agents_flushed(const struct server *s)
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

/* As often as strangers come, they do not fill the user's file. */
static void log_refusal(const struct agent *a, const char *why)
{
    uint64_t n = repeat_count(&a->server->refused, "SF-E222");

    if (n == 1)
        log_warn("SF-E222: connection from %s refused: %s", a->peer, why);
    else if (n > 1)
        log_warn("SF-E222: %llu connections refused so far, the last from %s: "
                 "%s",
                 (unsigned long long)n, a->peer, why);
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
        log_refusal(a, err.text);
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

/* Agents of a large step all come at once: strangers get some slots more. */
static void evict(struct server *s)
{
    if (s->opening.n <= s->start.agents + SF_IMPI_PENDING_MAX)
        return;
    agent_close((struct agent *)tcp_peer_choose(&s->opening, &s->netlink));
}

static void agent_new(struct server *s, int fd, const char *peer)
{
    struct agent *a = calloc(1, sizeof(*a));
    uint8_t nonce[IMPI_CHAN_NONCE_SIZE];

    if (!a || mac_random(nonce, sizeof(nonce)) < 0 ||
        guests_enter(&s->opening, &a->guest, fd) < 0) {
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
    if (server_tree_start(s, err) < 0)
        return -1;
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
    server_tree_stop(s);
}

/* ---- what agents ask --------------------------------------------------- */

static int do_job(struct agent *a, const struct agent_msg *msg,
                  struct errbuf *err)
{
    struct server *s = a->server;

    if (a->state != AGENT_SILENT)
        return errprintf(err, "JOB twice");
    if (msg->job.agent != a->index)
        return errprintf(err, "JOB of agent %u on the channel of agent %u",
                         msg->job.agent, a->index);
    if (msg->job.agents != s->start.agents)
        return errprintf(err, "it counts %u agents, srun %u", msg->job.agents,
                         s->start.agents);
    memcpy(a->node, msg->job.node, sizeof(a->node));
    a->state = AGENT_UP;
    if (s->kill)
        server_agent_send_chunk(a, s->kill);
    server_tree_came(s, a->index);
    return 0;
}

static int contribution(struct server *s, uint32_t agent,
                        const struct agent_put *put, bool gather,
                        struct errbuf *err)
{
    struct rendezvous_result result;
    int rc = rendezvous_put(s->rendezvous, agent, put, gather, &result, err);

    if (rc == 1) {
        server_spread(s, &result);
        rendezvous_result_free(&result);
    }
    return rc < 0 ? -1 : 0;
}

static int do_put(struct agent *a, const struct agent_msg *msg,
                  struct errbuf *err)
{
    return contribution(a->server, a->index, &msg->put,
                        msg->type == AGENT_GATHER, err);
}

/* The one who said it is to blame, not who passed it on. */
static int blame(const struct server *s, uint32_t agent, struct errbuf *err)
{
    struct errbuf why = *err;

    return errprintf(err, "from node %s: %.400s",
                     s->by_index[agent] ? s->by_index[agent]->node : "?",
                     why.text);
}

static int do_merged(struct agent *a, const struct agent_msg *msg,
                     struct errbuf *err)
{
    const struct agent_merged *m = &msg->merged;
    struct agent_put put = {.expected = m->expected};
    struct server *s = a->server;
    struct agent_part part;
    struct be_reader r;

    if (!s->tree)
        return errprintf(err, "MERGED, and there is no tree");
    if (agent_merged_check(m, a->index, s->start.agents, s->start.fanout, err) <
        0)
        return -1;
    memcpy(put.key, m->key, sizeof(put.key));
    agent_parts_init(&r, m);
    while (agent_parts_next(&r, &part)) {
        put.index = part.index;
        put.blob = part.blob;
        if (contribution(s, part.agent, &put, m->gather, err) < 0)
            return part.agent == a->index ? -1 : blame(s, part.agent, err);
    }
    return 0;
}

static int do_world(struct agent *a, const struct agent_msg *msg,
                    struct errbuf *err)
{
    struct agent_msg reply = {.type = AGENT_WORLD_AT};
    struct errbuf why;
    struct world *w = server_world_get(a->server, msg->world.generation,
                                       msg->world.nclients, &why);

    if (w) {
        reply.world_at.generation = w->generation;
        reply.world_at.port = w->port;
    } else {
        reply.type = AGENT_ERROR;
        memcpy(reply.text, why.text, sizeof(reply.text));
    }
    server_agent_send(a, &reply);
    return 0;
}

static int do_abort(struct agent *a, const struct agent_msg *msg,
                    struct errbuf *err)
{
    server_abort(a->server, &(struct server_cause){.code = msg->abort.code,
                                                   .rank = msg->abort.rank,
                                                   .client = msg->abort.client,
                                                   .node = a->node,
                                                   .lost = msg->abort.lost,
                                                   .text = msg->abort.text});
    return 0;
}

static int do_note(struct agent *a, const struct agent_msg *msg,
                   struct errbuf *err)
{
    server_note(a->server, msg->text);
    return 0;
}

static int do_holds(struct agent *a, const struct agent_msg *msg,
                    struct errbuf *err)
{
    snprintf(a->holds, sizeof(a->holds), "%.*s", SF_AGENT_HOLDS_MAX - 1,
             msg->text);
    return 0;
}

static int do_bye(struct agent *a, const struct agent_msg *msg,
                  struct errbuf *err)
{
    struct server *s = a->server;

    a->state = AGENT_BYE_SAID;
    server_agent_drop(a);
    server_presence_bye(s, a->index, a->node);
    server_bye(s);
    return 0;
}

static int do_spawn(struct agent *a, const struct agent_msg *msg,
                    struct errbuf *err)
{
    server_spawn_step(a->server, a->index, &msg->spawn);
    return 0;
}

static int (*const handlers[])(struct agent *a, const struct agent_msg *msg,
                               struct errbuf *err) = {
    [AGENT_JOB] = do_job,
    [AGENT_PUT] = do_put,
    [AGENT_WORLD] = do_world,
    [AGENT_ABORT] = do_abort,
    [AGENT_NOTE] = do_note,
    [AGENT_BYE] = do_bye,
    [AGENT_HOLDS] = do_holds,
    [AGENT_GATHER] = do_put,
    [AGENT_SPAWN] = do_spawn,
    [AGENT_LISTENS] = server_tree_listens,
    [AGENT_ATTACHED] = server_tree_attached,
    [AGENT_LEAVING] = server_tree_leaving,
    [AGENT_LEAVE] = server_tree_left,
    [AGENT_MERGED] = do_merged,
};
#define N_HANDLERS (sizeof(handlers) / sizeof(handlers[0]))

/* frames: 0, or -1 with the rule that was broken */
static int server_frame(struct agent *a, const struct agent_msg *msg,
                        struct errbuf *err)
{
    if (a->state == AGENT_SILENT && msg->type != AGENT_JOB)
        return errprintf(err, "frame %d before JOB", (int)msg->type);
    if (msg->type >= N_HANDLERS || !handlers[msg->type])
        return errprintf(err, "frame %d is the server's to send",
                         (int)msg->type);
    return handlers[msg->type](a, msg, err);
}

/* ---- the line to srun, and the end of the job -------------------------- */

/* The line to srun (fd 3), and the end of the job. Its closing is the only
 * thing that ends the server. */

/* Notes beyond this are dropped when srun does not read; the abort and end
 * lines fit behind them. */
#define NOTES_MAX (64 * 1024)
#define CONTROL_MAX (NOTES_MAX + 16 * 1024)

static void control_flush(struct server *s)
{
    while (bytebuf_len(&s->control_out) > 0) {
        ssize_t n =
            send(SERVER_CONTROL_FD, bytebuf_data(&s->control_out),
                 bytebuf_len(&s->control_out), MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && out_again(errno)) {
            ev_io_start(s->loop, &s->control_write);
            return;
        }
        if (n < 0) {
            bytebuf_consume(&s->control_out, bytebuf_len(&s->control_out));
            break;
        }
        bytebuf_consume(&s->control_out, (size_t)n);
    }
    ev_io_stop(s->loop, &s->control_write);
}

static void control_writable(struct ev_loop *loop, ev_io *w, int revents)
{
    control_flush(w->data);
}

/* All have said goodbye; or some were never here, and the step is over. */
static void end_maybe(struct server *s)
{
    bool over = s->nbye >= s->start.agents || (s->asked && s->nlive == 0);

    if (!over || s->ended)
        return;
    s->ended = true;
    server_control_line(s, "end code=%d", s->code);
}

static void control_readable(struct ev_loop *loop, ev_io *w, int revents)
{
    struct server *s = w->data;
    char ignored[256];
    ssize_t n = recv(SERVER_CONTROL_FD, ignored, sizeof(ignored), MSG_DONTWAIT);

    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        ev_io_stop(loop, w);
        server_leave(s);
    } else if (n > 0) {
        s->asked = true;
        end_maybe(s);
    }
}

void server_control_start(struct server *s)
{
    bytebuf_init(&s->control_out, CONTROL_MAX);
    ev_io_init(&s->control_read, control_readable, SERVER_CONTROL_FD, EV_READ);
    ev_io_init(&s->control_write, control_writable, SERVER_CONTROL_FD,
               EV_WRITE);
    s->control_read.data = s->control_write.data = s;
    ev_io_start(s->loop, &s->control_read);
}

/* One line is one line: texts of agents may hold anything. */
static void make_plain(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = ' ';
}

void server_control_line(struct server *s, const char *fmt, ...)
{
    char line[SF_ERRBUF_SIZE + SF_AGENT_NODE_MAX + 128];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(line, sizeof(line) - 1, fmt, ap);
    va_end(ap);
    make_plain(line);
    strcat(line, "\n");
    bytebuf_add(&s->control_out, line, strlen(line));
    control_flush(s);
}

void server_note(struct server *s, const char *text)
{
    if (bytebuf_len(&s->control_out) < NOTES_MAX)
        server_control_line(s, "note %s", text);
}

/* ---- the end of the job ---- */

static struct chunk *make_kill(int code, const char *text)
{
    struct agent_msg m = {.type = AGENT_KILL, .abort = {.code = code}};
    struct chunk *c = NULL;
    struct bytebuf b;

    snprintf(m.abort.text, sizeof(m.abort.text), "%s", text);
    bytebuf_init(&b, 4096);
    if (agent_msg_encode(&b, &m) == 0)
        c = chunk_new(bytebuf_data(&b), bytebuf_len(&b));
    bytebuf_free(&b);
    return c;
}

static void kill_all(struct server *s, int code, const char *text)
{
    struct agent *a;

    if (!s->kill)
        s->kill = make_kill(code, text);
    if (!s->kill)
        return;
    TAILQ_FOREACH(a, &s->agents, next)
    if (a->state == AGENT_UP)
        server_agent_send_chunk(a, s->kill);
}

void server_abort(struct server *s, const struct server_cause *cause)
{
    char plain[SF_AGENT_NODE_MAX];

    if (s->aborted || s->leaving)
        return;
    s->aborted = true;
    s->code = cause->code;
    snprintf(plain, sizeof(plain), "%s", cause->node);
    for (char *c = plain; *c; c++)
        if (*c == ' ')
            *c = '_';
    server_control_line(s, "abort code=%d rank=%d node=%s client=%d %stext=%s",
                        cause->code, cause->rank, plain, cause->client,
                        cause->lost ? "lost=1 " : "", cause->text);
    kill_all(s, cause->code, cause->text);
    server_spawn_kill(s);
}

void server_bye(struct server *s)
{
    s->nbye++;
    end_maybe(s);
}

/* ---- the end of the server ---- */

static void leave_now(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct server *s = w->data;

    if (!server_agents_flushed(s) && ev_now(loop) - s->leave_began <= 2.)
        return;
    ev_timer_stop(loop, w);
    s->left = true;
    if (s->nspawned == 0)
        ev_break(loop, EVBREAK_ALL);
}

void server_spawned_all(struct server *s)
{
    if (s->left)
        ev_break(s->loop, EVBREAK_ALL);
}

/* srun is gone or done.  Steps that were spawned run on if all went well:
 * their standard error passes through here. */
static void server_leave(struct server *s)
{
    if (s->leaving)
        return;
    if (!s->aborted)
        kill_all(s, 137, "srun is gone");
    if (!s->ended || s->aborted)
        server_spawn_kill(s);
    s->leaving = true;
    s->leave_began = ev_now(s->loop);
    ev_timer_init(&s->leave_timer, leave_now, 0., 0.01);
    s->leave_timer.data = s;
    ev_timer_start(s->loop, &s->leave_timer);
}
