/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/chan_share.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/be.h"

#define MAGIC 0x53465348u /* "SFSH" */

void impi_chan_share_offer(struct impi_chan_share *s,
                           const struct impi_chan_offer *offer)
{
    struct be_writer w;

    memset(s, 0, sizeof(*s));
    s->initiator = true;
    if (offer)
        s->offer = *offer;
    be_writer_init(&w, s->out, sizeof(s->out));
    be_put32(&w, MAGIC);
    be_put32(&w, s->offer.pid);
    be_put32(&w, s->offer.fd_out);
    be_put32(&w, s->offer.fd_in);
    be_put_bytes(&w, s->offer.token, sizeof(s->offer.token));
    assert(!w.bad && w.len == sizeof(s->out));
    s->out_len = w.len;
    s->stage = s->offer.pid ? SHARE_INPUT : SHARE_DONE;
}

void impi_chan_share_await(struct impi_chan_share *s)
{
    memset(s, 0, sizeof(*s));
}

static size_t stage_size(const struct impi_chan_share *s)
{
    if (s->stage != SHARE_INPUT)
        return 0;
    return s->initiator ? IMPI_SHARE_ANSWER_SIZE : IMPI_SHARE_OFFER_SIZE;
}

size_t impi_chan_share_want(const struct impi_chan_share *s)
{
    return stage_size(s) - s->in_len;
}

static int fail(struct impi_chan_share *s, struct errbuf *err, const char *text)
{
    s->stage = SHARE_FAILED;
    s->in_len = 0;
    errprintf(err, "%s", text);
    errno = EPROTO;
    return -1;
}

static int take_offer(struct impi_chan_share *s, struct errbuf *err)
{
    const uint8_t *token;
    struct be_reader r;

    be_reader_init(&r, s->in, IMPI_SHARE_OFFER_SIZE);
    if (be_get32(&r) != MAGIC)
        return fail(s, err, "does not say whether it shares memory");
    s->offer.pid = be_get32(&r);
    s->offer.fd_out = be_get32(&r);
    s->offer.fd_in = be_get32(&r);
    token = be_get_bytes(&r, sizeof(s->offer.token));
    assert(token);
    memcpy(s->offer.token, token, sizeof(s->offer.token));
    s->stage = s->offer.pid ? SHARE_JUDGE : SHARE_DONE;
    return 0;
}

static int take_answer(struct impi_chan_share *s, struct errbuf *err)
{
    uint32_t answer = be_load32(s->in);

    if (answer > 1)
        return fail(s, err, "gives no answer to an offer of shared memory");
    s->agreed = answer == 1;
    s->stage = SHARE_DONE;
    return 0;
}

int impi_chan_share_input(struct impi_chan_share *s, const void *data,
                          size_t len, struct errbuf *err)
{
    assert(len <= impi_chan_share_want(s));
    if (len == 0)
        return 0;
    if (s->out_sent < s->out_len)
        return fail(s, err, "answers what was not said yet");
    memcpy(s->in + s->in_len, data, len);
    s->in_len += len;
    if (s->in_len < stage_size(s))
        return 0;
    s->in_len = 0;
    return s->initiator ? take_answer(s, err) : take_offer(s, err);
}

bool impi_chan_share_asked(const struct impi_chan_share *s)
{
    return s->stage == SHARE_JUDGE;
}

void impi_chan_share_answer(struct impi_chan_share *s, bool yes)
{
    assert(s->stage == SHARE_JUDGE);
    be_store32(s->out, yes);
    s->out_len = IMPI_SHARE_ANSWER_SIZE;
    s->out_sent = 0;
    s->agreed = yes;
    s->stage = SHARE_DONE;
}

size_t impi_chan_share_output(const struct impi_chan_share *s,
                              const uint8_t **data)
{
    *data = s->out + s->out_sent;
    return s->out_len - s->out_sent;
}

void impi_chan_share_sent(struct impi_chan_share *s, size_t n)
{
    assert(n <= s->out_len - s->out_sent);
    s->out_sent += n;
}

bool impi_chan_share_done(const struct impi_chan_share *s)
{
    return s->stage == SHARE_DONE && s->out_sent == s->out_len;
}
