/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One IMPI server engine per generation (round of MPI programs), each with a
 * listener of its own, so that a standard IMPI client can join it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clerk.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mac.h"
#include "base/seal.h"
#include "impid/impi_server.h"

#define READ_SIZE (64 * 1024)
#define AUTH_TIMEOUT_MS 60000
#define NOTICE_MS 30000
/* A client's connection and its agent's end together; the agent's is the
 * better message.  So the client's is told only if nothing else is. */
#define LOST_DELAY 0.5
#define REFUSED_TOLD 8

struct world_conn {
    struct guest guest; /* first: tcp_peer_choose() gives it */
    struct world *world;
    int conn;
    int fd;
    ev_io io;
};

static size_t server_world_methods(struct world *w, struct errbuf *err);

/* ---- events of the engine ---- */

static void lost_told(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct world *world = w->data;

    server_abort(world->server,
                 &(struct server_cause){.code = 1,
                                        .rank = -1,
                                        .client = world->lost_client,
                                        .node = "-",
                                        .text = world->lost});
}

static void on_lost(struct world *w, const struct impi_server_event *event)
{
    if (ev_is_active(&w->lost_timer) || w->lost[0])
        return;
    snprintf(w->lost, sizeof(w->lost), "%s", event->text);
    w->lost_client = event->client;
    ev_timer_start(w->server->loop, &w->lost_timer);
}

/* The user hears why a client was turned away; a port scanner, or a peer that
 * tries again and again, is not worth more than a few lines. */
static void on_refused(struct world *w, const char *text)
{
    if (w->nlogged++ < REFUSED_TOLD)
        log_warn("%s", text);
    if (strncmp(text, "SF-E206", 7) != 0 && w->nrefused++ < REFUSED_TOLD)
        server_note(w->server, text);
}

/* Every client is admitted once; strangers may be refused any number of times,
 * but only some refusals are reported. */
static void on_warning(struct world *w, const char *text)
{
    if (w->nwarned++ < w->nclients + REFUSED_TOLD)
        server_note(w->server, text);
}

static void on_event(void *arg, const struct impi_server_event *event)
{
    struct world *w = arg;

    switch (event->type) {
    case IMPI_SERVER_WARNING:
        on_warning(w, event->text);
        break;
    case IMPI_SERVER_REFUSED:
        on_refused(w, event->text);
        break;
    case IMPI_SERVER_LOST:
        on_lost(w, event);
        break;
    case IMPI_SERVER_FINISHED:
        if (w->server->start.world)
            server_control_line(w->server, "end code=0");
        break;
    default:
        break;
    }
}

/* ---- connections ---- */

static void conn_close(struct world_conn *c)
{
    struct world *w = c->world;

    guests_leave(&w->guests, &c->guest);
    ev_io_stop(w->server->loop, &c->io);
    close(c->fd);
    c->fd = -1;
    impi_server_close(w->engine, c->conn);
}

static void watch(struct world_conn *c, int events)
{
    if (c->io.events == events && ev_is_active(&c->io))
        return;
    ev_io_stop(c->world->server->loop, &c->io);
    ev_io_set(&c->io, c->fd, events);
    ev_io_start(c->world->server->loop, &c->io);
}

static void conn_flush(struct world_conn *c)
{
    struct impi_server *engine = c->world->engine;
    const uint8_t *data;
    size_t len;

    while ((len = impi_server_output(engine, c->conn, &data)) > 0) {
        ssize_t n = send(c->fd, data, len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && out_again(errno)) {
            watch(c, EV_READ | EV_WRITE);
            return;
        }
        if (n < 0) {
            conn_close(c);
            return;
        }
        impi_server_sent(engine, c->conn, (size_t)n);
    }
    if (impi_server_proved(engine, c->conn))
        guests_leave(&c->world->guests, &c->guest);
    if (!impi_server_open(engine, c->conn))
        conn_close(c);
    else if (impi_server_waits(engine, c->conn))
        ev_io_stop(c->world->server->loop, &c->io);
    else
        watch(c, EV_READ);
}

/* Input of one moves output of all. */
static void flush_all(struct world *w)
{
    for (int i = 0; i < w->nconns; i++)
        if (w->conns[i]->fd >= 0)
            conn_flush(w->conns[i]);
}

static void conn_read(struct world_conn *c)
{
    uint8_t buf[READ_SIZE];
    ssize_t n = recv(c->fd, buf, sizeof(buf), 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    c->guest.spoke = true;
    if (n <= 0)
        conn_close(c);
    else
        impi_server_input(c->world->engine, c->conn, buf, (size_t)n);
}

static void stop_listening(struct world *w)
{
    if (w->fd < 0)
        return;
    ev_io_stop(w->server->loop, &w->accept);
    close(w->fd);
    w->fd = -1;
}

static void conn_event(struct ev_loop *loop, ev_io *io, int revents)
{
    struct world_conn *c = io->data;
    struct world *w = c->world;

    if (revents & EV_READ)
        conn_read(c);
    flush_all(w);
    if (impi_server_started(w->engine))
        stop_listening(w);
}

static struct world_conn *conn_slot(struct world *w, int conn)
{
    while (conn >= w->nconns) {
        struct world_conn **more =
            reallocarray(w->conns, (size_t)w->nconns + 1, sizeof(*more));
        struct world_conn *c;

        if (!more)
            return NULL;
        w->conns = more;
        c = calloc(1, sizeof(*c));
        if (!c)
            return NULL;
        c->world = w;
        c->fd = -1;
        c->conn = w->nconns;
        w->conns[w->nconns++] = c;
    }
    return w->conns[conn];
}

static void make_room(struct world *w)
{
    struct world_conn *c;

    if (w->guests.n < SF_IMPI_PENDING_MAX)
        return;
    c = (struct world_conn *)tcp_peer_choose(&w->guests, &w->server->netlink);
    impi_server_crowded(w->engine, c->conn);
    conn_close(c);
}

static void conn_new(struct world *w, int fd, const char *peer)
{
    uint8_t nonce[IMPI_AUTH_NONCE_SIZE];
    struct world_conn *c = NULL;
    int conn = -1;

    make_room(w);
    if (mac_random(nonce, sizeof(nonce)) == 0)
        conn = impi_server_connect(w->engine, peer, nonce);
    if (conn >= 0)
        c = conn_slot(w, conn);
    if (!c || guests_enter(&w->guests, &c->guest, fd) < 0) {
        if (conn >= 0)
            impi_server_close(w->engine, conn);
        close(fd);
        return;
    }
    c->fd = fd;
    ev_io_init(&c->io, conn_event, fd, EV_READ);
    c->io.data = c;
    ev_io_start(w->server->loop, &c->io);
    flush_all(w);
}

static void accept_clients(struct ev_loop *loop, ev_io *io, int revents)
{
    struct world *w = io->data;
    char peer[64];
    int fd = 0;

    for (int i = 0; i < SF_ACCEPTS_MAX && fd >= 0; i++) {
        fd = server_net_accept(w->fd, peer, sizeof(peer));
        if (fd >= 0)
            conn_new(w, fd, peer);
    }
    if (fd >= 0)
        return;
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
        ev_io_stop(loop, io); /* the next tick tries again */
}

/* ---- worlds ---- */

static void world_free(struct world *w)
{
    stop_listening(w);
    ev_timer_stop(w->server->loop, &w->lost_timer);
    for (int i = 0; i < w->nconns; i++) {
        if (w->conns[i]->fd >= 0) {
            ev_io_stop(w->server->loop, &w->conns[i]->io);
            close(w->conns[i]->fd);
        }
        free(w->conns[i]);
    }
    free(w->conns);
    guests_free(&w->guests);
    impi_server_destroy(w->engine);
    free(w);
}

static int world_open(struct world *w, struct errbuf *err)
{
    struct impi_server_options o = {
        .nclients = w->nclients,
        .methods = w->methods,
        .nmethods = server_world_methods(w, err),
        .auth_timeout_ms = AUTH_TIMEOUT_MS,
        .withhold = w->server->start.withhold,
        .notice_ms = NOTICE_MS,
        .event = on_event,
        .arg = w,
    };

    if (o.nmethods == 0)
        return -1;
    w->engine = impi_server_create(&o, err);
    if (!w->engine)
        return -1;
    w->fd = w->server->start.world
                ? server_net_adopt(&w->server->start, &w->port, err)
                : server_net_listen(&w->server->start, &w->port, err);
    if (w->fd < 0)
        return -1;
    ev_io_init(&w->accept, accept_clients, w->fd, EV_READ);
    w->accept.data = w;
    ev_io_start(w->server->loop, &w->accept);
    return 0;
}

static struct world *world_new(struct server *s, uint32_t generation,
                               uint32_t nclients, struct errbuf *err)
{
    struct world *w = calloc(1, sizeof(*w));

    if (!w) {
        errprintf(err, "out of memory");
        return NULL;
    }
    w->server = s;
    w->generation = generation;
    w->nclients = nclients;
    w->fd = -1;
    ev_timer_init(&w->lost_timer, lost_told, LOST_DELAY, 0.);
    w->lost_timer.data = w;
    if (world_open(w, err) == 0) {
        LIST_INSERT_HEAD(&s->worlds, w, next);
        return w;
    }
    world_free(w);
    return NULL;
}

struct world *server_world_get(struct server *s, uint32_t generation,
                               uint32_t nclients, struct errbuf *err)
{
    struct world *w;
    unsigned n = 0;

    LIST_FOREACH(w, &s->worlds, next)
    {
        n++;
        if (w->generation != generation)
            continue;
        if (w->nclients == nclients)
            return w;
        errprintf(err, "SF-E224: generation %u has %u clients, not %u",
                  generation, w->nclients, nclients);
        return NULL;
    }
    if (n >= SF_IMPI_GENERATIONS_MAX) {
        errprintf(err, "SF-E224: %u generations at once", n);
        return NULL;
    }
    return world_new(s, generation, nclients, err);
}

static bool world_idle(const struct world *w)
{
    if (!impi_server_finished(w->engine))
        return false;
    for (int i = 0; i < w->nconns; i++)
        if (w->conns[i]->fd >= 0)
            return false;
    return true;
}

void server_worlds_tick(struct server *s)
{
    struct world *w, *next;
    uint64_t now = (uint64_t)(ev_now(s->loop) * 1000.);

    for (w = LIST_FIRST(&s->worlds); w; w = next) {
        next = LIST_NEXT(w, next);
        if (world_idle(w)) {
            LIST_REMOVE(w, next);
            world_free(w);
            continue;
        }
        impi_server_tick(w->engine, now);
        flush_all(w);
        if (w->fd >= 0)
            ev_io_start(s->loop, &w->accept);
    }
}

/* A credential was opened: all who wait look whether it is theirs. */
static void server_worlds_retry(struct server *s)
{
    struct world *w;

    LIST_FOREACH(w, &s->worlds, next)
    {
        for (int i = 0; i < w->nconns; i++)
            if (w->conns[i]->fd >= 0)
                impi_server_retry(w->engine, w->conns[i]->conn);
        flush_all(w);
        if (impi_server_started(w->engine))
            stop_listening(w);
    }
}

void server_worlds_stop(struct server *s)
{
    while (!LIST_EMPTY(&s->worlds)) {
        struct world *w = LIST_FIRST(&s->worlds);

        LIST_REMOVE(w, next);
        world_free(w);
    }
}

/* ---- opening credentials ----------------------------------------------- */

/* Opening credentials. munged is asked beside the loop (base/clerk.h), as its
 * answer may take seconds. A credential is opened when it is first seen; when
 * that is done every connection that waits asks again and finds its own. */

struct opener {
    struct clerk *clerk;
    LIST_HEAD(, opening) openings;
};

struct opening {
    struct clerk_job job; /* first */
    LIST_ENTRY(opening) next;
    struct server *server;
    char *cred;
    bool done; /* the rest is filled */
    int rc;
    struct seal_info info;
    void *data;
    size_t len;
    struct errbuf err;
};

/* ---- one credential ---- */

static void forget(struct opening *o)
{
    LIST_REMOVE(o, next);
    free(o->cred);
    free(o->data);
    free(o);
}

/* In the clerk's thread. */
static void ask_munged(struct clerk_job *job)
{
    struct opening *o = (struct opening *)job;
    const char *munge = o->server->start.munge;

    o->rc = seal_open(&o->data, &o->len, &o->info, o->cred,
                      munge[0] ? munge : NULL, &o->err);
}

/* Whose connection has gone meanwhile, nobody asks for. */
static void answered(struct clerk_job *job, bool cancelled)
{
    struct opening *o = (struct opening *)job;

    o->done = true;
    if (!cancelled)
        server_worlds_retry(o->server);
    forget(o);
}

/* ---- what the method asks ---- */

static int begin(struct server *s, const char *cred, struct errbuf *err)
{
    struct opening *o = calloc(1, sizeof(*o));

    if (o)
        o->cred = strdup(cred);
    if (!o || !o->cred) {
        free(o);
        return errprintf(err, "credential: out of memory");
    }
    o->job.work = ask_munged;
    o->job.done = answered;
    o->server = s;
    LIST_INSERT_HEAD(&s->opener->openings, o, next);
    if (clerk_give(s->opener->clerk, &o->job) == 0)
        return 1;
    forget(o);
    return errprintf(err, "credential: too many at once");
}

/* It must be of the user whose job this is. */
static int judge(const struct opening *o, struct bytebuf *payload,
                 struct errbuf *err)
{
    if (o->rc < 0)
        return errprintf(err, "%s", o->err.text);
    bytebuf_add(payload, o->data, o->len);
    if (o->info.uid != getuid())
        return errprintf(err, "credential: made by uid %u, not by the job's",
                         (unsigned)o->info.uid);
    if (o->info.expired)
        return errprintf(err, "credential: expired (clocks of the nodes?)");
    return 0;
}

static int start(struct server *s, struct errbuf *err)
{
    struct opener *o = calloc(1, sizeof(*o));

    if (o)
        o->clerk = clerk_new(s->loop, 2 * SF_IMPI_PENDING_MAX);
    if (!o || !o->clerk) {
        free(o);
        return errprintf(err, "credential: no thread to open it");
    }
    LIST_INIT(&o->openings);
    s->opener = o;
    return 0;
}

/* credentials: an impi_auth_open_f, arg is the server */
static int server_credential(void *arg, const char *cred,
                             struct bytebuf *payload, struct errbuf *err)
{
    struct server *s = arg;
    struct opening *o;

    if (!s->opener && start(s, err) < 0)
        return -1;
    LIST_FOREACH(o, &s->opener->openings, next)
    if (strcmp(o->cred, cred) == 0)
        return o->done ? judge(o, payload, err) : 1;
    return begin(s, cred, err);
}

void server_credential_stop(struct server *s)
{
    if (!s->opener || !clerk_free(s->opener->clerk))
        return; /* with munged: the process ends without it */
    free(s->opener);
    s->opener = NULL;
}

/* ---- how the clients of a generation prove themselves ------------------ */

/* How the clients of a generation prove themselves. */

/* For a step MUNGE always, and what the standard has when the user asked srun
 * for it.  Started by hand: the user's choice, MUNGE when there is none. */
static size_t server_world_methods(struct world *w, struct errbuf *err)
{
    const struct server_start *start = &w->server->start;
    struct impi_auth_list list;
    struct impi_auth_method *user = w->methods + 1;
    struct errbuf text;
    size_t left;
    int n;

    if (start->auth[0] && impi_auth_list_parse(&list, start->auth, err) < 0)
        return 0;

    w->munge.binding = (struct impi_auth_binding){
        .job = w->server->start.job,
        .step = w->server->start.step,
        .generation = w->generation,
    };
    w->munge.open = server_credential;
    w->munge.arg = w->server;
    w->methods[0] = impi_auth_munge(&w->munge);
    n = impi_auth_from_env(user, getenv("IMPI_AUTH_NONE"),
                           getenv("IMPI_AUTH_KEY"), err);
    if (n < 0)
        return 0;
    if (start->world && n > 0)
        memmove(w->methods, user, (size_t)n * sizeof(*user));
    else
        n++;
    left =
        impi_auth_order(w->methods, (size_t)n, start->auth[0] ? &list : NULL);
    if (left == 0)
        errprintf(err, IMPI_AUTH_NOTHING
                  " (set IMPI_AUTH_KEY or IMPI_AUTH_NONE, or name others by "
                  "-auth)");
    else if (impi_auth_warning(w->methods, left, &text))
        server_note(w->server, text.text);
    return left;
}
