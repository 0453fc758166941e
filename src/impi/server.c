/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/server.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impi/server_priv.h"

void server_event(struct impi_server *s, enum impi_server_event_type type,
                  int client, const char *fmt, ...)
{
    struct errbuf text;
    struct impi_server_event event = {type, client, text.text};
    va_list ap;

    va_start(ap, fmt);
    verrprintf(&text, fmt, ap);
    va_end(ap);
    if (s->options.event)
        s->options.event(s->options.arg, &event);
}

static bool live(const struct session *c)
{
    return c->used && c->state != SESSION_CLOSED;
}

/* The connection's client leaves the job: before the start its rank becomes
 * free, afterwards the job is broken. */
static enum impi_server_event_type leave(struct impi_server *s, int conn)
{
    struct session *c = &s->sessions[conn];

    if (c->client < 0)
        return IMPI_SERVER_REFUSED;
    s->by_rank[c->client] = -1;
    if (s->started)
        return IMPI_SERVER_LOST;
    impi_collect_drop(&s->collect, (uint32_t)c->client);
    s->njoined--;
    return IMPI_SERVER_REFUSED;
}

static void report_break(struct impi_server *s, const struct session *c,
                         enum impi_server_event_type type, const char *code,
                         const char *text)
{
    if (c->client >= 0)
        server_event(s, type, c->client, "%s: client %d (%s): %s", code,
                     c->client, c->peer, text);
    else
        server_event(s, type, -1, "%s: connection from %s: %s", code, c->peer,
                     text);
}

void server_break(struct impi_server *s, int conn, const char *code,
                  const char *fmt, ...)
{
    struct session *c = &s->sessions[conn];
    struct errbuf text;
    va_list ap;

    va_start(ap, fmt);
    verrprintf(&text, fmt, ap);
    va_end(ap);
    c->state = SESSION_CLOSED;
    report_break(s, c, leave(s, conn), code, text.text);
}

static void answer_all(struct impi_server *s)
{
    for (uint32_t i = 0; i < s->options.nclients; i++)
        impi_impi_encode(&s->sessions[s->by_rank[i]].out,
                         (int32_t)s->options.nclients);
    s->started = true;
    server_event(s, IMPI_SERVER_STARTED, -1, "%s", "");
}

int server_join(struct impi_server *s, int conn, int32_t rank,
                struct errbuf *err)
{
    struct session *c = &s->sessions[conn];

    if (rank < 0 || (uint32_t)rank >= s->options.nclients)
        return errprintf(err, "client rank %d is not between 0 and %u", rank,
                         s->options.nclients - 1);
    if (s->started)
        return errprintf(err, "client %d comes after the start", rank);
    if (s->by_rank[rank] >= 0)
        return errprintf(err, "client rank %d is here already", rank);
    s->by_rank[rank] = conn;
    c->client = rank;
    c->state = SESSION_COLL;
    if (++s->njoined == s->options.nclients)
        answer_all(s);
    server_collected(s);
    return 0;
}

static bool wanted(const struct impi_server *s,
                   const struct impi_collect_set *set, uint32_t client)
{
    return !s->options.withhold || impi_label_standard(set->label) ||
           set->mask >> client & 1;
}

static void send_set(struct session *c, const struct impi_collect_set *set)
{
    struct impi_chdr h = {set->label, set->mask};

    impi_chdr_encode(&c->out, &h, set->total);
    for (int i = 0; i < SF_IMPI_CLIENTS_MAX; i++)
        bytebuf_add(&c->out, set->piece[i].data, set->piece[i].len);
}

static void broadcast(struct impi_server *s, const struct impi_collect_set *set)
{
    for (uint32_t i = 0; i < s->options.nclients; i++)
        if (s->by_rank[i] >= 0 && wanted(s, set, i))
            send_set(&s->sessions[s->by_rank[i]], set);
}

static void answer_done(struct impi_server *s)
{
    for (uint32_t i = 0; i < s->options.nclients; i++)
        if (s->by_rank[i] >= 0)
            impi_cmd_encode(&s->sessions[s->by_rank[i]].out, IMPI_CMD_DONE, 0);
    s->ready = true;
    server_event(s, IMPI_SERVER_READY, -1, "%s", "");
}

/* A queue that could not be filled is a connection without a future. */
static void break_full(struct impi_server *s)
{
    for (int i = 0; i < s->nsessions; i++)
        if (live(&s->sessions[i]) && s->sessions[i].out.bad) {
            s->sessions[i].out.bad = false;
            server_break(s, i, "SF-E204", "out of memory for its output");
        }
}

void server_collected(struct impi_server *s)
{
    struct impi_collect_set *set;

    if (!s->started)
        return;
    while ((set = impi_collect_next(&s->collect))) {
        broadcast(s, set);
        impi_collect_set_free(set);
    }
    if (!s->ready && impi_collect_all_done(&s->collect))
        answer_done(s);
    break_full(s);
}

void server_fini(struct impi_server *s, int conn)
{
    server_event(s, IMPI_SERVER_LEFT, s->sessions[conn].client, "%s", "");
    if (++s->nfini == s->options.nclients) {
        s->finished = true;
        server_event(s, IMPI_SERVER_FINISHED, -1, "%s", "");
    }
}

/* ---- connections ---- */

static struct session *get(const struct impi_server *s, int conn)
{
    if (conn < 0 || conn >= s->nsessions || !s->sessions[conn].used)
        return NULL;
    return &s->sessions[conn];
}

struct impi_server *
impi_server_create(const struct impi_server_options *options,
                   struct errbuf *err)
{
    struct impi_server *s;

    errno = EINVAL;
    if (options->nclients < 1 || options->nclients > SF_IMPI_CLIENTS_MAX) {
        errprintf(err, "SF-E207: %u clients: IMPI allows 1 to %d",
                  options->nclients, SF_IMPI_CLIENTS_MAX);
        return NULL;
    }
    if (options->nmethods == 0) {
        errprintf(err, "SF-E201: %s", IMPI_AUTH_NOTHING);
        return NULL;
    }
    s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->options = *options;
    impi_collect_init(&s->collect, options->nclients);
    for (int i = 0; i < SF_IMPI_CLIENTS_MAX; i++)
        s->by_rank[i] = -1;
    return s;
}

void impi_server_destroy(struct impi_server *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->nsessions; i++)
        session_end(&s->sessions[i]);
    impi_collect_free(&s->collect);
    free(s->sessions);
    free(s);
}

/* Too many strangers: the one that had most time goes. */
static void evict(struct impi_server *s)
{
    int n = 0, oldest = -1;

    for (int i = 0; i < s->nsessions; i++) {
        const struct session *c = &s->sessions[i];

        if (!live(c) || c->client >= 0)
            continue;
        n++;
        if (oldest < 0 || c->order < s->sessions[oldest].order)
            oldest = i;
    }
    if (n > SF_IMPI_PENDING_MAX)
        server_break(s, oldest, "SF-E206",
                     "more than %d connections without authentication",
                     SF_IMPI_PENDING_MAX);
}

static int free_slot(struct impi_server *s)
{
    struct session *more;
    int i = 0;

    while (i < s->nsessions && s->sessions[i].used)
        i++;
    if (i < s->nsessions)
        return i;
    more = reallocarray(s->sessions, (size_t)i + 8, sizeof(*more));
    if (!more)
        return -1;
    memset(more + i, 0, 8 * sizeof(*more));
    s->sessions = more;
    s->nsessions = i + 8;
    return i;
}

int impi_server_connect(struct impi_server *s, const char *peer,
                        const uint8_t nonce[IMPI_AUTH_NONCE_SIZE])
{
    int conn = free_slot(s);

    if (conn < 0)
        return -1;
    session_begin(&s->sessions[conn], peer, nonce, s->counted);
    s->sessions[conn].order = s->nconnects++;
    evict(s);
    return conn;
}

void impi_server_input(struct impi_server *s, int conn, const void *data,
                       size_t len)
{
    if (!get(s, conn))
        return;
    s->moved |= len > 0;
    session_input(s, conn, data, len);
}

size_t impi_server_output(const struct impi_server *s, int conn,
                          const uint8_t **data)
{
    const struct session *c = get(s, conn);

    if (!c)
        return 0;
    *data = bytebuf_data(&c->out);
    return bytebuf_len(&c->out);
}

void impi_server_sent(struct impi_server *s, int conn, size_t n)
{
    struct session *c = get(s, conn);

    if (c)
        bytebuf_consume(&c->out, n);
}

bool impi_server_open(const struct impi_server *s, int conn)
{
    const struct session *c = get(s, conn);

    return c && c->state < SESSION_FINI;
}

void impi_server_close(struct impi_server *s, int conn)
{
    struct session *c = get(s, conn);

    if (!c)
        return;
    if (c->state == SESSION_FINI)
        s->by_rank[c->client] = -1;
    else if (c->state != SESSION_CLOSED && c->client >= 0)
        server_break(s, conn, "SF-E205", "its connection was lost before FINI");
    else if (c->state != SESSION_CLOSED)
        server_break(s, conn, "SF-E206", "it left without joining");
    session_end(c);
}

bool impi_server_waits(const struct impi_server *s, int conn)
{
    const struct session *c = get(s, conn);

    return c && c->state == SESSION_VERIFY;
}

void impi_server_retry(struct impi_server *s, int conn)
{
    if (get(s, conn))
        session_retry(s, conn);
}

bool impi_server_started(const struct impi_server *s)
{
    return s->started;
}

bool impi_server_finished(const struct impi_server *s)
{
    return s->finished;
}
