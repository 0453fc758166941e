/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/be.h"
#include "impi/chan_open.h"

#define MAGIC 0x5346434fu /* "SFCO" */
#define VERSION 1
#define LABEL_SIZE 8

static const char *code_text(uint32_t code)
{
    static const char *const texts[] = {
        "accepted",
        "refused: such channels are not served here",
        "refused: of another MPI program of the job",
        "refused: no such peer",
        "refused: meant for somebody else",
        "refused: that peer is connected already",
        "refused: too many connections",
    };

    if (code >= sizeof(texts) / sizeof(texts[0]))
        return "refused for an unknown reason";
    return texts[code];
}

static int fail(struct impi_chan_open *o, int code, struct errbuf *err,
                const char *text)
{
    o->failed = true;
    errprintf(err, "%s", text);
    errno = code;
    return -1;
}

static int sign(const struct impi_chan_open *o, const char *label,
                uint8_t mac[MAC_SIZE])
{
    const struct mac_part parts[] = {
        {label, LABEL_SIZE},
        {o->hello, sizeof(o->hello)},
        {o->peer_nonce, sizeof(o->peer_nonce)},
    };

    return mac_sign(mac, o->secret, sizeof(o->secret), parts, 3);
}

static void put_hello(struct impi_chan_open *o)
{
    struct be_writer w;

    be_writer_init(&w, o->hello, sizeof(o->hello));
    be_put32(&w, MAGIC);
    be_put16(&w, VERSION);
    be_put16(&w, o->id.role);
    be_put32(&w, o->id.generation);
    be_put32(&w, o->id.from);
    be_put32(&w, o->id.to);
    be_put_bytes(&w, o->nonce, sizeof(o->nonce));
    assert(!w.bad && w.len == sizeof(o->hello));
}

static void send_bytes(struct impi_chan_open *o, const void *data, size_t len)
{
    assert(o->out_len == o->out_sent && len <= sizeof(o->out));
    memcpy(o->out, data, len);
    o->out_len = len;
    o->out_sent = 0;
}

void impi_chan_open_connect(struct impi_chan_open *o,
                            const struct impi_chan_id *id,
                            const uint8_t secret[IMPI_CHAN_SECRET_SIZE],
                            const uint8_t nonce[IMPI_CHAN_NONCE_SIZE])
{
    memset(o, 0, sizeof(*o));
    o->initiator = true;
    o->id = *id;
    memcpy(o->secret, secret, sizeof(o->secret));
    memcpy(o->nonce, nonce, sizeof(o->nonce));
    put_hello(o);
    send_bytes(o, o->hello, sizeof(o->hello));
}

void impi_chan_open_accept(struct impi_chan_open *o,
                           const uint8_t secret[IMPI_CHAN_SECRET_SIZE],
                           const uint8_t nonce[IMPI_CHAN_NONCE_SIZE],
                           impi_chan_check_f *check, void *check_arg)
{
    memset(o, 0, sizeof(*o));
    memcpy(o->secret, secret, sizeof(o->secret));
    memcpy(o->nonce, nonce, sizeof(o->nonce));
    memcpy(o->peer_nonce, nonce, sizeof(o->peer_nonce));
    o->check = check;
    o->check_arg = check_arg;
}

void impi_chan_open_use(struct impi_chan_open *o,
                        const uint8_t secret[IMPI_CHAN_SECRET_SIZE])
{
    memcpy(o->secret, secret, sizeof(o->secret));
}

static size_t stage_size(const struct impi_chan_open *o)
{
    static const size_t sizes[2][2] = {
        {IMPI_CHAN_HELLO_SIZE, MAC_SIZE},
        {IMPI_CHAN_REPLY_SIZE, IMPI_CHAN_CODE_SIZE},
    };

    return o->failed || o->stage > 1 ? 0 : sizes[o->initiator][o->stage];
}

size_t impi_chan_open_want(const struct impi_chan_open *o)
{
    size_t size = stage_size(o);

    return size ? size - o->in_len : 0;
}

/* We prove ourselves only to a peer that looks for us.  Otherwise a stranger at
 * the address of another process could have us prove its part. */
static bool is_for_us(struct impi_chan_open *o)
{
    uint32_t code = o->check ? o->check(o->check_arg, &o->id) : 0;

    o->verdict = code;
    return code != IMPI_CHAN_REFUSE_ROLE &&
           code != IMPI_CHAN_REFUSE_GENERATION && code != IMPI_CHAN_REFUSE_TO;
}

static int take_hello(struct impi_chan_open *o, struct errbuf *err)
{
    uint8_t reply[IMPI_CHAN_REPLY_SIZE];
    struct be_reader r;

    be_reader_init(&r, o->in, IMPI_CHAN_HELLO_SIZE);
    if (be_get32(&r) != MAGIC)
        return fail(o, EPROTO, err, "not a channel of ours");
    if (be_get16(&r) != VERSION)
        return fail(o, EPROTONOSUPPORT, err,
                    "the peer speaks another version of the channel opening");
    o->id.role = be_get16(&r);
    o->id.generation = be_get32(&r);
    o->id.from = be_get32(&r);
    o->id.to = be_get32(&r);
    if (!is_for_us(o))
        return fail(o, EACCES, err, code_text(o->verdict));
    memcpy(o->hello, o->in, sizeof(o->hello));
    memcpy(reply, o->nonce, IMPI_CHAN_NONCE_SIZE);
    if (sign(o, "acceptor", reply + IMPI_CHAN_NONCE_SIZE) < 0)
        return fail(o, ENOMEM, err, "no memory");
    send_bytes(o, reply, sizeof(reply));
    return 0;
}

static int take_reply(struct impi_chan_open *o, struct errbuf *err)
{
    uint8_t mac[MAC_SIZE];

    memcpy(o->peer_nonce, o->in, sizeof(o->peer_nonce));
    if (sign(o, "acceptor", mac) < 0)
        return fail(o, ENOMEM, err, "no memory");
    if (!mac_equal(mac, o->in + IMPI_CHAN_NONCE_SIZE, MAC_SIZE))
        return fail(o, EACCES, err, "the peer does not know the job's secret");
    if (sign(o, "initiate", mac) < 0)
        return fail(o, ENOMEM, err, "no memory");
    send_bytes(o, mac, sizeof(mac));
    return 0;
}

static int take_proof(struct impi_chan_open *o, struct errbuf *err)
{
    uint8_t mac[MAC_SIZE], code[IMPI_CHAN_CODE_SIZE];

    if (sign(o, "initiate", mac) < 0)
        return fail(o, ENOMEM, err, "no memory");
    if (!mac_equal(mac, o->in, MAC_SIZE))
        return fail(o, EACCES, err, "the peer does not know the job's secret");
    if (o->check)
        o->verdict = o->check(o->check_arg, &o->id);
    be_store32(code, o->verdict);
    send_bytes(o, code, sizeof(code));
    if (o->verdict != IMPI_CHAN_ACCEPT)
        return fail(o, EACCES, err, code_text(o->verdict));
    return 0;
}

static int take_code(struct impi_chan_open *o, struct errbuf *err)
{
    o->verdict = be_load32(o->in);
    if (o->verdict != IMPI_CHAN_ACCEPT)
        return fail(o, EACCES, err, code_text(o->verdict));
    return 0;
}

static int take_stage(struct impi_chan_open *o, struct errbuf *err)
{
    static int (*const take[2][2])(struct impi_chan_open *, struct errbuf *) = {
        {take_hello, take_proof}, {take_reply, take_code}};

    return take[o->initiator][o->stage](o, err);
}

int impi_chan_open_input(struct impi_chan_open *o, const void *data, size_t len,
                         struct errbuf *err)
{
    assert(len <= impi_chan_open_want(o));
    if (len == 0)
        return 0;
    if (o->out_sent < o->out_len)
        return fail(o, EPROTO, err, "the peer answers what was not said yet");
    memcpy(o->in + o->in_len, data, len);
    o->in_len += len;
    if (o->in_len < stage_size(o))
        return 0;
    if (take_stage(o, err) < 0)
        return -1;
    o->stage++;
    o->in_len = 0;
    return 0;
}

size_t impi_chan_open_output(const struct impi_chan_open *o,
                             const uint8_t **data)
{
    *data = o->out + o->out_sent;
    return o->out_len - o->out_sent;
}

void impi_chan_open_sent(struct impi_chan_open *o, size_t n)
{
    assert(n <= o->out_len - o->out_sent);
    o->out_sent += n;
}

bool impi_chan_open_accepted(const struct impi_chan_open *o)
{
    return !o->failed && o->stage == 2;
}

bool impi_chan_open_done(const struct impi_chan_open *o)
{
    return impi_chan_open_accepted(o) && o->out_sent == o->out_len;
}

uint64_t impi_chan_open_key(const struct impi_chan_open *o, bool to_acceptor)
{
    uint8_t mac[MAC_SIZE];

    assert(impi_chan_open_accepted(o));
    sign(o, to_acceptor ? "fabric>a" : "fabric>i", mac);
    return be_load64(mac);
}

void impi_chan_open_wipe(struct impi_chan_open *o)
{
    explicit_bzero(o->secret, sizeof(o->secret));
    explicit_bzero(o->nonce, sizeof(o->nonce));
}
