/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The conversation on one connection of the IMPI server.  Input is cut into
 * items of known length, so it does not matter how the bytes arrive; a
 * command that is not known is counted, not kept.
 */
#include <string.h>

#include "base/be.h"
#include "impi/server_priv.h"

/* The largest output of a connection: every other client's payloads. */
#define OUT_MAX                                                                \
    ((size_t)SF_IMPI_CLIENTS_MAX *                                             \
     (SF_IMPI_CLIENT_BYTES_MAX +                                               \
      SF_IMPI_CLIENT_LABELS_MAX * (IMPI_CMD_SIZE + IMPI_CHDR_SIZE)))

/* What may come behind an answer before it is verified: the caller stops
 * reading, so it is one read's. */
#define HELD_MAX (128 * 1024)

static void expect(struct session *c, enum session_item item, size_t want)
{
    c->item = item;
    c->want = want;
}

void session_begin(struct session *c, const char *peer, const uint8_t *nonce,
                   uint64_t since)
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

void session_end(struct session *c)
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

void session_input(struct impi_server *s, int conn, const uint8_t *data,
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

void session_retry(struct impi_server *s, int conn)
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
