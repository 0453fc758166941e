/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ctl_priv.h"
#include "base/jsonx.h"

struct ctl_later {
    struct ctl_conn *conn; /* NULL: gone meanwhile */
    struct json_object *out;
};

void ctl_conn_free(struct ctl_conn *c)
{
    struct ev_loop *loop;

    if (!c)
        return;
    loop = c->server->loop;
    if (c->later)
        c->later->conn = NULL;
    ev_io_stop(loop, &c->in);
    ev_io_stop(loop, &c->out);
    ev_timer_stop(loop, &c->timer);
    LIST_REMOVE(c, link);
    c->server->nconns--;
    close(c->fd);
    bytebuf_free(&c->rx);
    bytebuf_free(&c->tx);
    free(c);
}

static struct json_object *help(const struct ctl_server *s)
{
    struct json_object *verbs = json_object_new_object();

    for (size_t i = 0; verbs && i < s->options.nverbs; i++)
        jsonx_add_str(verbs, s->options.verbs[i].name,
                      s->options.verbs[i].help ? s->options.verbs[i].help : "");
    return verbs;
}

static const struct ctl_verb *find_verb(const struct ctl_server *s,
                                        const char *name)
{
    for (size_t i = 0; i < s->options.nverbs; i++) {
        if (strcmp(s->options.verbs[i].name, name) == 0)
            return &s->options.verbs[i];
    }
    return NULL;
}

/* Do what the request says; 0, or -1 with text.  *denied: not allowed. */
static int dispatch(struct ctl_conn *c, struct json_object *in,
                    struct json_object *out, bool *denied, struct errbuf *err)
{
    const char *name = jsonx_str(in, "verb", 64);
    const struct ctl_verb *verb = name ? find_verb(c->server, name) : NULL;

    if (!name)
        return errprintf(err, "the request has no \"verb\"");
    if (!verb && strcmp(name, "help") == 0) {
        json_object_object_add(out, "verbs", help(c->server));
        return 0;
    }
    if (!verb)
        return errprintf(err, "no verb \"%s\" here; try \"help\"", name);
    if (verb->access == CTL_WRITE && !c->may_write) {
        *denied = true;
        return errprintf(err,
                         "\"%s\" is for root and the control group, not for "
                         "uid %u",
                         name, (unsigned)c->peer.uid);
    }
    return verb->call(
        &(struct ctl_request){in, out, &c->peer, c->server->options.arg, c},
        err);
}

/* One line of answer into tx. */
static void answer(struct ctl_conn *c, struct json_object *out)
{
    size_t len = 0;
    const char *text = out ? jsonx_text(out, &len) : NULL;

    if (!text || len >= SF_CTL_REPLY_MAX) {
        text = "{\"ok\":false,\"error\":\"the answer is too long\"}";
        len = strlen(text);
    }
    bytebuf_add(&c->tx, text, len);
    bytebuf_add(&c->tx, "\n", 1);
    if (c->tx.bad)
        c->closing = true;
}

static void refuse(struct ctl_conn *c, const char *why, bool denied)
{
    struct json_object *out = json_object_new_object();

    if (out) {
        jsonx_add_bool(out, "ok", false);
        jsonx_add_str(out, "error", why);
        if (denied)
            jsonx_add_bool(out, "denied", true);
    }
    answer(c, out);
    json_object_put(out);
}

static void serve_line(struct ctl_conn *c, const char *line, size_t len)
{
    struct errbuf err = {"failed"};
    bool denied = false;
    struct json_object *in = jsonx_parse(line, len, &err), *out;

    if (!in) {
        refuse(c, err.text, false);
        c->closing = true; /* no idea where the next one begins */
        return;
    }
    out = json_object_new_object();
    jsonx_add_bool(out, "ok", true);
    if (!out || dispatch(c, in, out, &denied, &err) < 0)
        refuse(c, err.text, denied);
    else if (!c->later)
        answer(c, out);
    json_object_put(out);
    json_object_put(in);
}

/* Serve whole lines as long as no answer waits or is waited for: a client that
 * does not read is not served more. */
static void serve(struct ctl_conn *c)
{
    while (!c->closing && !c->later && bytebuf_len(&c->tx) == 0) {
        const char *at = (const char *)bytebuf_data(&c->rx);
        size_t have = bytebuf_len(&c->rx);
        const char *nl = have ? memchr(at, '\n', have) : NULL;

        if (!nl) {
            if (have < SF_CTL_REQUEST_MAX)
                return;
            refuse(c, "the request is too long", false);
            c->closing = true;
            return;
        }
        serve_line(c, at, (size_t)(nl - at));
        bytebuf_consume(&c->rx, (size_t)(nl - at) + 1);
    }
}

/* Write what waits.  False: the peer is gone. */
static bool flush(struct ctl_conn *c)
{
    size_t len;

    while ((len = bytebuf_len(&c->tx)) > 0) {
        ssize_t n = send(c->fd, bytebuf_data(&c->tx), len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN;
        bytebuf_consume(&c->tx, (size_t)n);
        ev_timer_again(c->server->loop, &c->timer);
    }
    bytebuf_free(&c->tx);
    return true;
}

/* Serve and write in turn until something has to be waited for. */
static void go_on(struct ctl_conn *c)
{
    struct ev_loop *loop = c->server->loop;
    bool waits;

    do {
        serve(c);
        waits = bytebuf_len(&c->tx) > 0;
        if (!flush(c)) {
            ctl_conn_free(c);
            return;
        }
    } while (waits && bytebuf_len(&c->tx) == 0 && !c->closing);
    waits = bytebuf_len(&c->tx) > 0;
    if (c->closing && !waits) {
        ctl_conn_free(c);
        return;
    }
    c->timer.repeat =
        waits || c->later ? SF_CTL_STALL_SECONDS : SF_CTL_IDLE_SECONDS;
    ev_timer_again(loop, &c->timer);
    if (c->later) {
        ev_io_stop(loop, &c->in);
        ev_io_stop(loop, &c->out);
    } else if (waits) {
        ev_io_stop(loop, &c->in);
        ev_io_start(loop, &c->out);
    } else {
        ev_io_stop(loop, &c->out);
        ev_io_start(loop, &c->in);
    }
}

static void on_readable(struct ev_loop *loop, ev_io *w, int events)
{
    struct ctl_conn *c = w->data;
    uint8_t *room = bytebuf_room(&c->rx, 16384);
    ssize_t n = room ? recv(c->fd, room, 16384, 0) : 0;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        ctl_conn_free(c);
        return;
    }
    bytebuf_grow(&c->rx, (size_t)n);
    go_on(c);
}

static void on_writable(struct ev_loop *loop, ev_io *w, int events)
{
    struct ctl_conn *c = w->data;

    if (flush(c))
        go_on(c);
    else
        ctl_conn_free(c);
}

static void on_timer(struct ev_loop *loop, ev_timer *w, int events)
{
    ctl_conn_free(w->data);
}

struct ctl_later *ctl_later_new(const struct ctl_request *q,
                                struct json_object **out)
{
    struct ctl_later *later = calloc(1, sizeof(*later));

    if (!later)
        return NULL;
    later->conn = q->conn;
    later->out = *out = json_object_get(q->out);
    q->conn->later = later;
    return later;
}

void ctl_later_cancel(struct ctl_later *later)
{
    if (later->conn)
        later->conn->later = NULL;
    json_object_put(later->out);
    free(later);
}

void ctl_later_end(struct ctl_later *later, const char *error)
{
    struct ctl_conn *c = later->conn;

    if (c && error)
        refuse(c, error, false);
    else if (c)
        answer(c, later->out);
    ctl_later_cancel(later);
    if (c)
        go_on(c);
}

struct ctl_conn *ctl_conn_new(struct ctl_server *server, int fd,
                              const struct ctl_peer *peer, bool may_write)
{
    struct ctl_conn *c = calloc(1, sizeof(*c));

    if (!c) {
        close(fd);
        return NULL;
    }
    *c = (struct ctl_conn){
        .server = server, .fd = fd, .peer = *peer, .may_write = may_write};
    bytebuf_init(&c->rx, SF_CTL_REQUEST_MAX + 16384);
    bytebuf_init(&c->tx, SF_CTL_REPLY_MAX + 1);
    LIST_INSERT_HEAD(&server->conns, c, link);
    server->nconns++;
    ev_io_init(&c->in, on_readable, fd, EV_READ);
    ev_io_init(&c->out, on_writable, fd, EV_WRITE);
    ev_init(&c->timer, on_timer);
    ev_set_priority(&c->timer, EV_MINPRI); /* after what a long turn kept */
    c->in.data = c->out.data = c->timer.data = c;
    c->timer.repeat = SF_CTL_IDLE_SECONDS;
    ev_timer_again(server->loop, &c->timer);
    ev_io_start(server->loop, &c->in);
    return c;
}
