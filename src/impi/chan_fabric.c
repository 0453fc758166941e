/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/chan_fabric.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/be.h"

#define MAGIC 0x53464642u /* "SFFB" */

bool impi_fabric_fits(const struct impi_fabric_end *a,
                      const struct impi_fabric_end *b)
{
    return a->name[0] && strcmp(a->name, b->name) == 0 &&
           a->protocol == b->protocol && a->version == b->version &&
           a->addr_format == b->addr_format;
}

/* ---- ends on the wire ---- */

static void put_end(struct impi_chan_fabric *f,
                    const struct impi_fabric_end *end)
{
    static const struct impi_fabric_end none;
    struct be_writer w;

    if (!end)
        end = &none;
    assert(strlen(end->name) <= SF_FABRIC_NAME_MAX &&
           end->addr_len <= SF_FABRIC_ADDR_MAX);
    f->own = *end;
    be_writer_init(&w, f->out, sizeof(f->out));
    be_put32(&w, MAGIC);
    be_put16(&w, (uint16_t)strlen(end->name));
    be_put16(&w, (uint16_t)end->addr_len);
    be_put32(&w, end->protocol);
    be_put32(&w, end->version);
    be_put32(&w, end->addr_format);
    be_put32(&w, end->frame);
    be_put16(&w, end->lends);
    be_put16(&w, end->credits);
    be_put32(&w, end->number);
    be_put_bytes(&w, end->name, strlen(end->name));
    be_put_bytes(&w, end->addr, end->addr_len);
    assert(!w.bad);
    f->out_len = w.len;
    f->out_sent = 0;
}

static int fail(struct impi_chan_fabric *f, struct errbuf *err,
                const char *text)
{
    f->stage = FABRIC_FAILED;
    f->in_len = 0;
    errprintf(err, "%s", text);
    errno = EPROTO;
    return -1;
}

static size_t body_size(const struct impi_chan_fabric *f)
{
    struct be_reader r;
    size_t name;

    be_reader_init(&r, f->in + 4, 4);
    name = be_get16(&r);
    return name + be_get16(&r);
}

/* The lengths are good, and no more can be wanted than there is room for. */
static int check_head(struct impi_chan_fabric *f, struct errbuf *err)
{
    struct be_reader r;
    uint16_t name, addr;

    be_reader_init(&r, f->in, IMPI_FABRIC_HEAD_SIZE);
    if (be_get32(&r) != MAGIC)
        return fail(f, err, "does not say whether it has a fabric");
    name = be_get16(&r);
    addr = be_get16(&r);
    if (name > SF_FABRIC_NAME_MAX || addr > SF_FABRIC_ADDR_MAX)
        return fail(f, err, "names a fabric at too great length");
    if ((name == 0) != (addr == 0))
        return fail(f, err, "has a fabric without a name or an address");
    return 0;
}

static bool is_between(uint32_t v, uint32_t lo, uint32_t hi)
{
    return lo <= v && v <= hi;
}

static int take_end(struct impi_chan_fabric *f, struct errbuf *err)
{
    struct impi_fabric_end *end = &f->peer;
    struct be_reader r;
    uint16_t name;

    memset(end, 0, sizeof(*end));
    be_reader_init(&r, f->in + 4, f->in_len - 4);
    name = be_get16(&r);
    end->addr_len = be_get16(&r);
    end->protocol = be_get32(&r);
    end->version = be_get32(&r);
    end->addr_format = be_get32(&r);
    end->frame = be_get32(&r);
    end->lends = be_get16(&r);
    end->credits = be_get16(&r);
    end->number = be_get32(&r);
    be_copy_bytes(&r, end->name, name);
    be_copy_bytes(&r, end->addr, end->addr_len);
    assert(be_reader_done(&r));
    if (name == 0)
        return 0;
    if (strlen(end->name) != name)
        return fail(f, err, "names a fabric with a zero inside");
    if (!is_between(end->frame, SF_FABRIC_FRAME_MIN, SF_FABRIC_FRAME_MAX) ||
        !is_between(end->credits, SF_FABRIC_CREDITS_MIN,
                    SF_FABRIC_CREDITS_MAX) ||
        end->lends > SF_FABRIC_LENDS_MAX)
        return fail(f, err, "has a fabric with impossible frames");
    return 0;
}

/* ---- states ---- */

void impi_chan_fabric_offer(struct impi_chan_fabric *f,
                            const struct impi_fabric_end *own)
{
    memset(f, 0, sizeof(*f));
    f->initiator = true;
    put_end(f, own);
    f->stage = f->own.name[0] ? FABRIC_HEAD : FABRIC_DONE;
}

void impi_chan_fabric_await(struct impi_chan_fabric *f)
{
    memset(f, 0, sizeof(*f));
}

static size_t stage_size(const struct impi_chan_fabric *f)
{
    switch (f->stage) {
    case FABRIC_HEAD:
        return IMPI_FABRIC_HEAD_SIZE;
    case FABRIC_BODY:
        return IMPI_FABRIC_HEAD_SIZE + body_size(f);
    case FABRIC_PROOF:
        return f->heard ? 0 : IMPI_FABRIC_PROOF_SIZE;
    default:
        return 0;
    }
}

size_t impi_chan_fabric_want(const struct impi_chan_fabric *f)
{
    size_t size = stage_size(f);

    return size ? size - f->in_len : 0;
}

static void begin_proof(struct impi_chan_fabric *f)
{
    f->stage = FABRIC_PROOF;
    f->agreed = true; /* unless one says no */
}

static int take_body(struct impi_chan_fabric *f, struct errbuf *err)
{
    if (take_end(f, err) < 0)
        return -1;
    f->in_len = 0;
    if (!f->peer.name[0])
        f->stage = FABRIC_DONE;
    else if (!f->initiator)
        f->stage = FABRIC_JUDGE;
    else if (impi_fabric_fits(&f->own, &f->peer))
        begin_proof(f);
    else
        return fail(f, err, "answers with a fabric that does not fit");
    return 0;
}

static void take_proof(struct impi_chan_fabric *f, bool yes)
{
    f->heard = true;
    f->agreed &= yes;
    if (!yes && !f->said)
        impi_chan_fabric_prove(f, false);
    if (f->said)
        f->stage = FABRIC_DONE;
}

static int take_stage(struct impi_chan_fabric *f, struct errbuf *err)
{
    uint32_t proof;

    if (f->stage == FABRIC_HEAD) {
        if (check_head(f, err) < 0)
            return -1;
        f->stage = FABRIC_BODY;
        return body_size(f) == 0 ? take_body(f, err) : 0;
    }
    if (f->stage == FABRIC_BODY)
        return take_body(f, err);
    proof = be_load32(f->in);
    f->in_len = 0;
    if (proof > 1)
        return fail(f, err, "does not say whether its fabric works");
    take_proof(f, proof);
    return 0;
}

int impi_chan_fabric_input(struct impi_chan_fabric *f, const void *data,
                           size_t len, struct errbuf *err)
{
    assert(len <= impi_chan_fabric_want(f));
    if (len == 0)
        return 0;
    if (f->out_sent < f->out_len && !f->said)
        return fail(f, err, "answers what was not said yet");
    memcpy(f->in + f->in_len, data, len);
    f->in_len += len;
    return f->in_len < stage_size(f) ? 0 : take_stage(f, err);
}

bool impi_chan_fabric_asked(const struct impi_chan_fabric *f)
{
    return f->stage == FABRIC_JUDGE;
}

void impi_chan_fabric_answer(struct impi_chan_fabric *f,
                             const struct impi_fabric_end *own)
{
    assert(f->stage == FABRIC_JUDGE);
    assert(!own || impi_fabric_fits(own, &f->peer));
    put_end(f, own);
    if (own)
        begin_proof(f);
    else
        f->stage = FABRIC_DONE;
}

bool impi_chan_fabric_proving(const struct impi_chan_fabric *f)
{
    return f->stage == FABRIC_PROOF && !f->said;
}

void impi_chan_fabric_prove(struct impi_chan_fabric *f, bool yes)
{
    assert(impi_chan_fabric_proving(f));
    f->said = true;
    f->agreed &= yes;
    be_store32(f->out + f->out_len, yes);
    f->out_len += IMPI_FABRIC_PROOF_SIZE;
    if (f->heard)
        f->stage = FABRIC_DONE;
}

size_t impi_chan_fabric_output(const struct impi_chan_fabric *f,
                               const uint8_t **data)
{
    *data = f->out + f->out_sent;
    return f->out_len - f->out_sent;
}

void impi_chan_fabric_sent(struct impi_chan_fabric *f, size_t n)
{
    assert(n <= f->out_len - f->out_sent);
    f->out_sent += n;
}

bool impi_chan_fabric_done(const struct impi_chan_fabric *f)
{
    return f->stage == FABRIC_DONE && f->out_sent == f->out_len;
}
