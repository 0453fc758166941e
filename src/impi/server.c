/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The IMPI server: conversations, events, time.
 */
#include "impi/server.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "base/bytebuf.h"
#include "impi/collect.h"
#include "impi/wire.h"

#define IMPI_PEER_NAME_SIZE 64

/* Conversation; also what a message calls the place where it broke. */
enum session_state {
    SESSION_AUTH,   /* nothing but AUTH may come */
    SESSION_ANSWER, /* the method's answer is awaited */
    SESSION_VERIFY, /* it is here, and being verified */
    SESSION_IMPI,   /* authenticated, has no rank yet */
    SESSION_COLL,   /* has a rank, sends labels */
    SESSION_DONE,   /* said DONE */
    SESSION_FINI,   /* said FINI: may go */
    SESSION_CLOSED, /* being closed by us */
};

/* What the bytes that are being gathered are. */
enum session_item {
    ITEM_HEADER,  /* IMPI_Cmd */
    ITEM_PAYLOAD, /* of a command that we know */
    ITEM_SKIP,    /* of one that we do not */
    ITEM_ANSWER,  /* of the authentication method */
    ITEM_ANSWER_LEN,
};

struct session_command;

struct session {
    bool used;
    enum session_state state;
    int client;     /* rank, or -1 */
    uint64_t since; /* counted time at connect */
    char peer[IMPI_PEER_NAME_SIZE];
    const struct impi_auth_method *method;
    uint8_t nonce[IMPI_AUTH_NONCE_SIZE];
    enum session_item item;
    struct impi_cmd cmd;
    const struct session_command *command; /* that cmd names */
    size_t want;                           /* bytes of the item still to come */
    struct bytebuf in, out;
    struct bytebuf held; /* what came while it was verified */
};

struct impi_server {
    struct impi_server_options options;
    struct impi_collect collect;
    struct session *sessions; /* by connection number */
    int nsessions;
    int by_rank[SF_IMPI_CLIENTS_MAX]; /* connection, or -1 */
    uint32_t njoined, nfini;
    bool started, ready, finished, noticed;
    bool moved; /* bytes came since the last tick */
    bool have_time;
    uint64_t now;     /* last told */
    uint64_t counted; /* time that counts for authentication */
    uint64_t waited;  /* time that counts for the notice */
};

/* ---- session ----------------------------------------------------------- */

/* The conversation on one connection of the IMPI server. Input is cut into
 * items of known length, so it does not matter how the bytes arrive; a
 * command that is not known is counted, not kept. */

/* The largest output of a connection: every other client's payloads. */
#define OUT_MAX                                                                \
    ((size_t)SF_IMPI_CLIENTS_MAX *                                             \
     (SF_IMPI_CLIENT_BYTES_MAX +                                               \
      SF_IMPI_CLIENT_LABELS_MAX * (IMPI_CMD_SIZE + IMPI_CHDR_SIZE)))

/* What may come behind an answer before it is verified: the caller stops
 * reading, so it is one read's. */
#define HELD_MAX (128 * 1024)

static void server_event(struct impi_server *s,
                         enum impi_server_event_type type, int client,
                         const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static void server_break(struct impi_server *s, int conn, const char *code,
                         const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static int server_join(struct impi_server *s, int conn, int32_t rank,
                       struct errbuf *err);
static void server_collected(struct impi_server *s);
static void server_fini(struct impi_server *s, int conn);

static void expect(struct session *c, enum session_item item, size_t want)
{
    c->item = item;
    c->want = want;
}

static void session_begin(struct session *c, const char *peer,
                          const uint8_t *nonce, uint64_t since)
{
    memset(c, 0, sizeof(*c));
    c->used = true;
    c->client = -1;
    c->since = since;
    strncpy(c->peer, peer, sizeof(c->peer) - 1);
    memcpy(c->nonce, nonce, sizeof(c->nonce));
    bytebuf_init(&c->in, SF_IMPI_CMD_MAX);
    bytebuf_init(&c->out, OUT_MAX);
    bytebuf_init(&c->held, HELD_MAX);
    expect(c, ITEM_HEADER, IMPI_CMD_SIZE);
}

static void session_end(struct session *c)
{
    bytebuf_free(&c->in);
    bytebuf_free(&c->out);
    bytebuf_free(&c->held);
    explicit_bzero(c, sizeof(*c));
}

/* ---- AUTH ---- */

static void authenticated(struct impi_server *s, int conn)
{
    struct session *c = &s->sessions[conn];

    c->state = SESSION_IMPI;
    if (c->method->number == IMPI_AUTH_NONE)
        server_event(s, IMPI_SERVER_WARNING, -1,
                     "SF-E200: warning: %s has authenticated with "
                     "IMPI_AUTH_NONE",
                     c->peer);
    expect(c, ITEM_HEADER, IMPI_CMD_SIZE);
}

static void send_choice(struct session *c)
{
    struct impi_server_auth a = {(int32_t)c->method->number,
                                 (int32_t)c->method->challenge};

    impi_server_auth_encode(&c->out, &a);
    bytebuf_add(&c->out, c->nonce, c->method->challenge);
}

static void got_auth(struct impi_server *s, int conn, const uint8_t *p,
                     size_t len)
{
    struct session *c = &s->sessions[conn];
    uint32_t mask[SF_IMPI_AUTH_WORDS_MAX], words = (uint32_t)(len / 4);
    int which;

    for (uint32_t i = 0; i < words; i++)
        mask[i] = be_load32(p + i * 4);
    which =
        impi_auth_choose(s->options.methods, s->options.nmethods, mask, words);
    if (which < 0) {
        server_break(s, conn, "SF-E202",
                     "no common authentication method (it offers 0x%x)",
                     mask[0]);
        return;
    }
    c->method = &s->options.methods[which];
    send_choice(c);
    c->state = SESSION_ANSWER;
    if (c->method->answer_fixed)
        expect(c, ITEM_ANSWER, c->method->answer_fixed);
    else if (c->method->answer_max)
        expect(c, ITEM_ANSWER_LEN, 4);
    else
        authenticated(s, conn);
}

static void got_answer_len(struct impi_server *s, int conn, const uint8_t *p,
                           size_t len)
{
    struct session *c = &s->sessions[conn];
    uint32_t want = be_load32(p);

    if (want == 0 || want > c->method->answer_max)
        server_break(s, conn, "SF-E203", "%s: answer of %u bytes",
                     c->method->name, want);
    else
        expect(c, ITEM_ANSWER, want);
}

static void got_answer(struct impi_server *s, int conn, const uint8_t *p,
                       size_t len)
{
    struct session *c = &s->sessions[conn];
    struct errbuf err;
    int rc = c->method->verify(c->method, c->nonce, p, len, &err);

    if (rc < 0) {
        server_break(s, conn, "SF-E203", "%s: %s", c->method->name, err.text);
    } else if (rc == 0) {
        authenticated(s, conn);
    } else {
        c->state = SESSION_VERIFY;
        bytebuf_add(&c->in, p, len); /* for the next time */
    }
}

/* ---- commands ---- */

static void got_impi(struct impi_server *s, int conn, const uint8_t *p,
                     size_t len)
{
    struct errbuf err;

    if (server_join(s, conn, impi_impi_decode(p), &err) < 0)
        server_break(s, conn, "SF-E208", "%s", err.text);
}

static void got_coll(struct impi_server *s, int conn, const uint8_t *p,
                     size_t len)
{
    struct session *c = &s->sessions[conn];
    struct errbuf err;

    if (impi_collect_put(&s->collect, (uint32_t)c->client, impi_coll_decode(p),
                         p + IMPI_COLL_SIZE, (uint32_t)(len - IMPI_COLL_SIZE),
                         &err) < 0)
        server_break(s, conn, "SF-E204", "%s", err.text);
    else
        server_collected(s);
}

static void got_done(struct impi_server *s, int conn, const uint8_t *p,
                     size_t len)
{
    struct session *c = &s->sessions[conn];

    c->state = SESSION_DONE;
    impi_collect_done(&s->collect, (uint32_t)c->client, NULL);
    server_collected(s);
}

static void got_fini(struct impi_server *s, int conn, const uint8_t *p,
                     size_t len)
{
    s->sessions[conn].state = SESSION_FINI;
    server_fini(s, conn);
}

static const struct session_command {
    int32_t cmd;
    enum session_state state; /* the only one in which it may come */
    uint32_t min, max, unit;  /* of its payload */
    void (*run)(struct impi_server *s, int conn, const uint8_t *p, size_t len);
} commands[] = {
    {IMPI_CMD_AUTH, SESSION_AUTH, 4, 4 * SF_IMPI_AUTH_WORDS_MAX, 4, got_auth},
    {IMPI_CMD_IMPI, SESSION_IMPI, 4, 4, 4, got_impi},
    {IMPI_CMD_COLL, SESSION_COLL, IMPI_COLL_SIZE, SF_IMPI_CMD_MAX, 1, got_coll},
    {IMPI_CMD_DONE, SESSION_COLL, 0, 0, 1, got_done},
    {IMPI_CMD_FINI, SESSION_DONE, 0, 0, 1, got_fini},
};
#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct session_command *find_command(int32_t cmd)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (commands[i].cmd == cmd)
            return &commands[i];
    return NULL;
}

static const char *const state_names[] = {
    [SESSION_AUTH] = "before AUTH",   [SESSION_ANSWER] = "during AUTH",
    [SESSION_VERIFY] = "during AUTH", [SESSION_IMPI] = "before IMPI",
    [SESSION_COLL] = "before DONE",   [SESSION_DONE] = "after DONE",
    [SESSION_FINI] = "after FINI",    [SESSION_CLOSED] = "after the end",
};

static void run_command(struct impi_server *s, int conn, const uint8_t *p,
                        size_t len)
{
    struct session *c = &s->sessions[conn];

    expect(c, ITEM_HEADER, IMPI_CMD_SIZE);
    c->command->run(s, conn, p, len);
}

/* A header of a command that may come now, with a length that it may have. */
static void known_header(struct impi_server *s, int conn,
                         const struct session_command *k)
{
    struct session *c = &s->sessions[conn];
    uint32_t len = (uint32_t)c->cmd.len;
    char name[24];

    if (c->state != k->state) {
        server_break(s, conn, "SF-E204", "%s %s",
                     impi_cmd_name(c->cmd.cmd, name), state_names[c->state]);
        return;
    }
    if (len < k->min || len > k->max || len % k->unit) {
        server_break(s, conn, "SF-E204", "%s of %d bytes",
                     impi_cmd_name(c->cmd.cmd, name), c->cmd.len);
        return;
    }
    c->command = k;
    if (len)
        expect(c, ITEM_PAYLOAD, len);
    else
        run_command(s, conn, NULL, 0);
}

static void got_header(struct impi_server *s, int conn, const uint8_t *p,
                       size_t len)
{
    struct session *c = &s->sessions[conn];
    const struct session_command *k;
    char name[24];

    c->cmd = impi_cmd_decode(p);
    k = find_command(c->cmd.cmd);
    if (c->cmd.len < 0 || c->cmd.len > SF_IMPI_CMD_MAX)
        server_break(s, conn, "SF-E204", "%s of %d bytes",
                     impi_cmd_name(c->cmd.cmd, name), c->cmd.len);
    else if (k)
        known_header(s, conn, k);
    else if (c->state == SESSION_AUTH)
        server_break(s, conn, "SF-E204", "%s before AUTH",
                     impi_cmd_name(c->cmd.cmd, name));
    else if (c->cmd.len)
        expect(c, ITEM_SKIP, (size_t)c->cmd.len);
    else
        expect(c, ITEM_HEADER, IMPI_CMD_SIZE);
}

static void got_skipped(struct impi_server *s, int conn, const uint8_t *p,
                        size_t len)
{
    expect(&s->sessions[conn], ITEM_HEADER, IMPI_CMD_SIZE);
}

static void (*const item_handlers[])(struct impi_server *s, int conn,
                                     const uint8_t *p, size_t len) = {
    [ITEM_HEADER] = got_header,         [ITEM_PAYLOAD] = run_command,
    [ITEM_SKIP] = got_skipped,          [ITEM_ANSWER] = got_answer,
    [ITEM_ANSWER_LEN] = got_answer_len,
};

/* Take the bytes of the item that is complete out of c->in and act.  The
 * handler may look at them until it returns. */
static void finish_item(struct impi_server *s, int conn)
{
    struct session *c = &s->sessions[conn];
    struct bytebuf item = c->in;

    bytebuf_init(&c->in, SF_IMPI_CMD_MAX);
    item_handlers[c->item](s, conn, bytebuf_data(&item), bytebuf_len(&item));
    bytebuf_free(&item);
}

static void hold(struct impi_server *s, int conn, const uint8_t *data,
                 size_t len)
{
    struct session *c = &s->sessions[conn];

    bytebuf_add(&c->held, data, len);
    if (c->held.bad)
        server_break(s, conn, "SF-E204", "too much before it was verified");
}

static void session_input(struct impi_server *s, int conn, const uint8_t *data,
                          size_t len)
{
    struct session *c = &s->sessions[conn];

    while (len && c->state < SESSION_FINI) {
        if (c->state == SESSION_VERIFY) {
            hold(s, conn, data, len);
            return;
        }
        size_t n = len < c->want ? len : c->want;

        if (c->item != ITEM_SKIP)
            bytebuf_add(&c->in, data, n);
        if (c->in.bad) {
            server_break(s, conn, "SF-E204", "out of memory for its command");
            return;
        }
        data += n;
        len -= n;
        c->want -= n;
        if (c->want == 0)
            finish_item(s, conn);
    }
}

static void session_retry(struct impi_server *s, int conn)
{
    struct session *c = &s->sessions[conn];
    struct bytebuf held;

    if (c->state != SESSION_VERIFY)
        return;
    c->state = SESSION_ANSWER;
    finish_item(s, conn);
    if (c->state == SESSION_VERIFY)
        return;
    held = c->held;
    bytebuf_init(&c->held, HELD_MAX);
    session_input(s, conn, bytebuf_data(&held), bytebuf_len(&held));
    bytebuf_free(&held);
}

/* ---- server ------------------------------------------------------------ */

/* What a conversation does to the job.  Each may break other
 * connections. */
static void server_event(struct impi_server *s,
                         enum impi_server_event_type type, int client,
                         const char *fmt, ...)
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

/* End this connection, for the reason given: SF-E code and text. */
static void server_break(struct impi_server *s, int conn, const char *code,
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

static int server_join(struct impi_server *s, int conn, int32_t rank,
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

static void server_collected(struct impi_server *s)
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

static void server_fini(struct impi_server *s, int conn)
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
    return conn;
}

void impi_server_crowded(struct impi_server *s, int conn)
{
    if (get(s, conn))
        server_break(s, conn, "SF-E206",
                     "more than %d connections without authentication",
                     SF_IMPI_PENDING_MAX);
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

bool impi_server_proved(const struct impi_server *s, int conn)
{
    const struct session *c = get(s, conn);

    return c && c->client >= 0;
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

/* ---- server time ------------------------------------------------------- */

/* Time of the IMPI server. A step between two ticks counts two seconds at
 * most: a machine that slept does not find everybody late. And for
 * authentication it counts only when bytes came from somebody meanwhile: a
 * job that is suspended as a whole loses nobody, and a silent stranger alone
 * harms nobody. */

#define TICK_MAX_MS 2000

static void end_late(struct impi_server *s)
{
    for (int i = 0; i < s->nsessions; i++) {
        struct session *c = &s->sessions[i];

        if (c->used && c->state <= SESSION_ANSWER &&
            s->counted - c->since > s->options.auth_timeout_ms)
            server_break(s, i, "SF-E206", "it did not authenticate in time");
    }
}

/* "1, 4" : ranks that have not joined. */
static void list_missing(const struct impi_server *s, char *buf, size_t size)
{
    size_t at = 0;

    buf[0] = '\0';
    for (uint32_t i = 0; i < s->options.nclients && at < size; i++)
        if (s->by_rank[i] < 0)
            at += (size_t)snprintf(buf + at, size - at, "%s%u", at ? ", " : "",
                                   i);
}

static void notice_missing(struct impi_server *s)
{
    char missing[160];

    s->noticed = true;
    list_missing(s, missing, sizeof(missing));
    server_event(s, IMPI_SERVER_WARNING, -1,
                 "SF-E209: still waiting for client %s of %u to join", missing,
                 s->options.nclients);
}

void impi_server_tick(struct impi_server *s, uint64_t now_ms)
{
    uint64_t step = s->have_time && now_ms > s->now ? now_ms - s->now : 0;

    if (step > TICK_MAX_MS)
        step = TICK_MAX_MS;
    s->have_time = true;
    s->now = now_ms;
    s->waited += step;
    if (s->moved)
        s->counted += step;
    s->moved = false;
    if (s->options.auth_timeout_ms)
        end_late(s);
    if (s->options.notice_ms && !s->started && !s->noticed &&
        s->waited > s->options.notice_ms)
        notice_missing(s);
}
