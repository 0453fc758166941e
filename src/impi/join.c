/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The conversation.  Between clients of ours the start costs three round
 * trips: the version; X_EXT with the first label behind it; all others and
 * DONE, when all have said X_EXT.  With anybody else we send one label, await
 * its answer, and send the next: a server that waits for all clients at each
 * label may lose what it has read ahead.
 */
#include "impi/join.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "impi/join_priv.h"

static void expect(struct impi_join *j, enum join_item item, size_t want)
{
    j->item = item;
    j->want = want;
}

static void expect_header(struct impi_join *j)
{
    expect(j, JOIN_HEADER, IMPI_CMD_SIZE);
}

static int fail(struct errbuf *err)
{
    errno = EPROTO;
    return -1;
}

/* ---- AUTH and IMPI ---- */

static const struct impi_auth_method *method(const struct impi_join *j)
{
    return &j->o.methods[j->method];
}

static void ask_to_join(struct impi_join *j)
{
    impi_impi_encode(&j->out, (int32_t)j->o.client);
    j->phase = JOIN_WAIT;
    j->refused_early = true;
    expect_header(j);
}

static int answer(struct impi_join *j, const uint8_t *challenge,
                  struct errbuf *err)
{
    const struct impi_auth_method *m = method(j);
    struct bytebuf text;
    int rc = 0;

    bytebuf_init(&text, SF_IMPI_CMD_MAX);
    if (m->answer)
        rc = m->answer(m, challenge, &text, err);
    if (rc == 0 && m->answer_max)
        bytebuf_add32(&j->out, (uint32_t)bytebuf_len(&text));
    if (rc == 0)
        bytebuf_add(&j->out, bytebuf_data(&text), bytebuf_len(&text));
    bytebuf_free(&text);
    if (rc == 0)
        ask_to_join(j);
    return rc;
}

static int find_method(const struct impi_join *j, int32_t number)
{
    for (size_t i = 0; i < j->o.nmethods; i++)
        if ((int32_t)j->o.methods[i].number == number)
            return (int)i;
    return -1;
}

static int got_choice(struct impi_join *j, const uint8_t *p, size_t len,
                      struct errbuf *err)
{
    struct impi_server_auth a = impi_server_auth_decode(p);

    j->method = find_method(j, a.which);
    if (j->method < 0) {
        errprintf(err,
                  "SF-E210: the server chose authentication method %d, "
                  "which was not offered",
                  a.which);
        return fail(err);
    }
    if (a.len < 0 || a.len > SF_IMPI_CREDENTIAL_MAX ||
        (method(j)->challenge && (size_t)a.len != method(j)->challenge)) {
        errprintf(err, "SF-E210: %s: the server announces %d bytes",
                  method(j)->name, a.len);
        return fail(err);
    }
    if (a.len == 0)
        return answer(j, NULL, err);
    expect(j, JOIN_CHALLENGE, (size_t)a.len);
    return 0;
}

static int got_challenge(struct impi_join *j, const uint8_t *p, size_t len,
                         struct errbuf *err)
{
    return answer(j, p, err);
}

static int got_size(struct impi_join *j, const uint8_t *p, size_t len,
                    struct errbuf *err)
{
    int32_t size = impi_impi_decode(p);

    if (size < 1 || size > SF_IMPI_CLIENTS_MAX ||
        (uint32_t)size <= j->o.client ||
        (j->o.nclients && (uint32_t)size != j->o.nclients)) {
        errprintf(err,
                  "SF-E210: the server says %d clients; we are client %u of %u",
                  size, j->o.client, j->o.nclients);
        return fail(err);
    }
    j->nclients = (uint32_t)size;
    join_send_version(j);
    j->phase = JOIN_VERSION;
    expect_header(j);
    return 0;
}

/* ---- COLL ---- */

static void end_labels(struct impi_join *j)
{
    impi_cmd_encode(&j->out, IMPI_CMD_DONE, 0);
    j->phase = JOIN_ENDING;
}

/* How far the conversation may go on with what has arrived. */
static int advance(struct impi_join *j, int32_t label, struct errbuf *err)
{
    if (j->phase == JOIN_VERSION) {
        if (!join_label(j, IMPI_C_VERSION)->got)
            return 0;
        if (join_pick_version(j, err) < 0)
            return -1;
        j->phase = JOIN_LABELS;
    }
    if (j->phase != JOIN_LABELS)
        return 0;
    if (j->o.extensions && join_agree_extended(j, IMPI_EXT_FIRST)) {
        j->extended = true;
        join_send_rest(j);
        end_labels(j);
        return 0;
    }
    while (j->phase == JOIN_LABELS && label >= j->asked)
        if (!join_send_next(j))
            end_labels(j);
    return 0;
}

static int got_label(struct impi_join *j, const uint8_t *p, size_t len,
                     struct errbuf *err)
{
    struct join_label *l = &j->labels[j->current];

    l->data = malloc(len ? len : 1);
    if (!l->data)
        return errprintf(err, "out of memory");
    if (len)
        memcpy(l->data, p, len);
    l->len = (uint32_t)len;
    l->got = true;
    expect_header(j);
    return advance(j, impi_labels[j->current].label, err);
}

static int known_label(struct impi_join *j, const struct impi_chdr *h,
                       uint32_t rest, struct errbuf *err)
{
    const char *name = impi_labels[j->current].name;

    if (j->labels[j->current].got) {
        errprintf(err, "SF-E210: the server sent %s twice", name);
        return fail(err);
    }
    if (j->nclients < 32 && h->client_mask >> j->nclients) {
        errprintf(err, "SF-E210: %s: client mask 0x%x, but %u clients", name,
                  h->client_mask, j->nclients);
        return fail(err);
    }
    if (rest > JOIN_LABEL_MAX) {
        errprintf(err, "SF-E210: %s of %u bytes", name, rest);
        return fail(err);
    }
    j->labels[j->current].mask = h->client_mask;
    expect(j, JOIN_LABEL, rest);
    return rest ? 0 : got_label(j, NULL, 0, err);
}

static int got_chdr(struct impi_join *j, const uint8_t *p, size_t len,
                    struct errbuf *err)
{
    struct impi_chdr h = impi_chdr_decode(p);
    uint32_t rest = (uint32_t)j->cmd.len - IMPI_CHDR_SIZE;

    j->current = impi_label_find(h.label);
    if (j->current >= 0)
        return known_label(j, &h, rest, err);
    if (rest)
        expect(j, JOIN_SKIP, rest);
    else
        expect_header(j);
    return advance(j, h.label, err);
}

static int got_done(struct impi_join *j, const uint8_t *p, size_t len,
                    struct errbuf *err)
{
    if (join_make_world(j, err) < 0)
        return fail(err);
    j->phase = JOIN_DONE;
    expect_header(j);
    return 0;
}

/* ---- headers ---- */

static const struct reply {
    int32_t cmd;
    enum join_phase first, last; /* when it may come */
    int32_t min, max;
    enum join_item item;
    uint32_t want;
} replies[] = {
    {IMPI_CMD_IMPI, JOIN_WAIT, JOIN_WAIT, 4, 4, JOIN_SIZE, 4},
    {IMPI_CMD_COLL, JOIN_VERSION, JOIN_ENDING, IMPI_CHDR_SIZE, INT32_MAX,
     JOIN_CHDR, IMPI_CHDR_SIZE},
    {IMPI_CMD_DONE, JOIN_ENDING, JOIN_ENDING, 0, 0, JOIN_HEADER, 0},
};

static int known_reply(struct impi_join *j, const struct reply *r,
                       struct errbuf *err)
{
    char name[24];

    if (j->phase < r->first || j->phase > r->last || j->cmd.len < r->min ||
        j->cmd.len > r->max) {
        errprintf(err, "SF-E210: the server sent %s of %d bytes out of turn",
                  impi_cmd_name(j->cmd.cmd, name), j->cmd.len);
        return fail(err);
    }
    if (r->cmd == IMPI_CMD_DONE)
        return got_done(j, NULL, 0, err);
    expect(j, r->item, r->want);
    return 0;
}

static int got_header(struct impi_join *j, const uint8_t *p, size_t len,
                      struct errbuf *err)
{
    char name[24];

    j->refused_early = false;
    j->cmd = impi_cmd_decode(p);
    for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++)
        if (replies[i].cmd == j->cmd.cmd)
            return known_reply(j, &replies[i], err);
    if (j->cmd.len < 0) {
        errprintf(err, "SF-E210: the server sent %s of %d bytes",
                  impi_cmd_name(j->cmd.cmd, name), j->cmd.len);
        return fail(err);
    }
    if (j->cmd.len)
        expect(j, JOIN_SKIP, (size_t)j->cmd.len);
    else
        expect_header(j);
    return 0;
}

static int got_skipped(struct impi_join *j, const uint8_t *p, size_t len,
                       struct errbuf *err)
{
    expect_header(j);
    return 0;
}

static int (*const handlers[])(struct impi_join *j, const uint8_t *p,
                               size_t len, struct errbuf *err) = {
    [JOIN_CHOICE] = got_choice, [JOIN_CHALLENGE] = got_challenge,
    [JOIN_HEADER] = got_header, [JOIN_SIZE] = got_size,
    [JOIN_CHDR] = got_chdr,     [JOIN_LABEL] = got_label,
    [JOIN_SKIP] = got_skipped,
};

static int finish_item(struct impi_join *j, struct errbuf *err)
{
    struct bytebuf item = j->in;
    int rc;

    bytebuf_init(&j->in, JOIN_LABEL_MAX);
    rc = handlers[j->item](j, bytebuf_data(&item), bytebuf_len(&item), err);
    bytebuf_free(&item);
    return rc;
}

int impi_join_input(struct impi_join *j, const void *data, size_t len,
                    struct errbuf *err)
{
    const uint8_t *p = data;

    while (len) {
        size_t n = len < j->want ? len : j->want;

        if (j->item != JOIN_SKIP)
            bytebuf_add(&j->in, p, n);
        if (j->in.bad || j->out.bad) {
            errno = ENOMEM;
            return errprintf(err, "out of memory");
        }
        p += n;
        len -= n;
        j->want -= n;
        if (j->want == 0 && finish_item(j, err) < 0)
            return -1;
    }
    return 0;
}

int impi_join_eof(struct impi_join *j, struct errbuf *err)
{
    if (j->phase == JOIN_FINI)
        return 0;
    errno = EPROTO;
    if (j->phase == JOIN_AUTH)
        return errprintf(err, "SF-E210: Server disconnected (no common "
                              "authentication method?)");
    if (j->refused_early && method(j)->number == IMPI_AUTH_KEY)
        return errprintf(err, "SF-E210: Server disconnected (wrong "
                              "authentication key?)");
    if (j->refused_early)
        return errprintf(err, "SF-E210: Server disconnected (%s refused?)",
                         method(j)->name);
    if (j->phase == JOIN_DONE)
        return errprintf(err, "SF-E210: the IMPI server is gone");
    return errprintf(err, "SF-E210: the IMPI server hung up during start-up");
}

size_t impi_join_output(const struct impi_join *j, const uint8_t **data)
{
    *data = bytebuf_data(&j->out);
    return bytebuf_len(&j->out);
}

void impi_join_sent(struct impi_join *j, size_t n)
{
    bytebuf_consume(&j->out, n);
}

bool impi_join_done(const struct impi_join *j)
{
    return j->phase >= JOIN_DONE;
}

void impi_join_take_world(struct impi_join *j, struct impi_world *world)
{
    *world = j->world;
    memset(&j->world, 0, sizeof(j->world));
}

void impi_join_fini(struct impi_join *j)
{
    if (j->phase != JOIN_DONE)
        return;
    impi_cmd_encode(&j->out, IMPI_CMD_FINI, 0);
    j->phase = JOIN_FINI;
}
