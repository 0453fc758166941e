/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The line to srun (fd 3), and the end of the job.  Its closing is the only
 * thing that ends the server.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "impid/impi_server.h"

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
    server_control_line(
        s, "abort code=%d rank=%d node=%s client=%d %stext=%s", cause->code,
        cause->rank, plain, cause->client, cause->lost ? "lost=1 " : "",
        cause->text);
    kill_all(s, cause->code, cause->text);
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

    if (server_agents_flushed(s) || ev_now(loop) - s->leave_began > 2.)
        ev_break(loop, EVBREAK_ALL);
}

void server_leave(struct server *s)
{
    if (s->leaving)
        return;
    if (!s->aborted)
        kill_all(s, 137, "srun is gone");
    s->leaving = true;
    s->leave_began = ev_now(s->loop);
    if (server_agents_flushed(s)) {
        ev_break(s->loop, EVBREAK_ALL);
        return;
    }
    ev_timer_init(&s->leave_timer, leave_now, 0.01, 0.01);
    s->leave_timer.data = s;
    ev_timer_start(s->loop, &s->leave_timer);
}
