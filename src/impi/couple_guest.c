/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/couple_guest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void impi_couple_guest_init(struct impi_couple_guest *g,
                            const uint8_t key[IMPI_CHAN_SECRET_SIZE],
                            const uint8_t nonce[IMPI_CHAN_NONCE_SIZE],
                            impi_chan_check_f *check, void *check_arg,
                            const uint8_t *say, size_t say_len)
{
    memset(g, 0, sizeof(*g));
    impi_chan_open_accept(&g->open, key, nonce, check, check_arg);
    g->say = say;
    g->say_len = say_len;
}

void impi_couple_guest_free(struct impi_couple_guest *g)
{
    impi_chan_open_wipe(&g->open);
    free(g->in);
    free(g->side);
    free(g->credential);
    memset(g, 0, sizeof(*g));
}

bool impi_couple_guest_proved(const struct impi_couple_guest *g)
{
    return impi_chan_open_done(&g->open);
}

bool impi_couple_guest_ready(const struct impi_couple_guest *g)
{
    return g->credential && g->said == g->say_len;
}

size_t impi_couple_guest_want(const struct impi_couple_guest *g)
{
    size_t want;

    if (!impi_couple_guest_proved(g))
        return impi_chan_open_want(&g->open);
    if (g->credential)
        return 0;
    want = g->head_len < sizeof(g->head) ? sizeof(g->head) - g->head_len
                                         : g->due - g->len;
    return want < IMPI_COUPLE_GUEST_READ ? want : IMPI_COUPLE_GUEST_READ;
}

static int refused(struct errbuf *err, const char *why)
{
    errno = EPROTO;
    return errprintf(err, "%s", why);
}

/* The frame is whole: g->in[0..due), and a NUL. */
static int take_frame(struct impi_couple_guest *g, struct errbuf *err)
{
    uint32_t due = g->side ? IMPI_COUPLE_PROOF : IMPI_COUPLE_SIDE;

    if (g->type == IMPI_COUPLE_REFUSE) {
        errno = EACCES;
        return errprintf(err, "it refuses: %s", g->in ? (char *)g->in : "");
    }
    if (g->type != due || !g->in)
        return refused(err, "it says what was not due");
    if (g->side) {
        g->credential = (char *)g->in;
    } else {
        g->side = g->in;
        g->side_len = g->due;
    }
    g->in = NULL;
    g->len = g->size = g->head_len = 0;
    return 0;
}

static int take_head(struct impi_couple_guest *g, const void *data, size_t len,
                     struct errbuf *err)
{
    ssize_t due;

    memcpy(g->head + g->head_len, data, len);
    g->head_len += len;
    if (g->head_len < sizeof(g->head))
        return 0;
    due = impi_couple_header_get(&g->type, g->head);
    if (due < 0)
        return refused(err, "it says nonsense");
    g->due = (size_t)due;
    return due == 0 ? take_frame(g, err) : 0;
}

/* Memory is taken for what has come, not for what is announced. */
static int reserve(struct impi_couple_guest *g, size_t len)
{
    size_t size = g->size ? 2 * g->size : IMPI_COUPLE_GUEST_READ;
    uint8_t *in;

    if (g->len + len + 1 <= g->size)
        return 0;
    while (size < g->len + len + 1)
        size *= 2;
    in = realloc(g->in, size);
    if (!in)
        return -1;
    g->in = in;
    g->size = size;
    return 0;
}

static int take_payload(struct impi_couple_guest *g, const void *data,
                        size_t len, struct errbuf *err)
{
    if (reserve(g, len) < 0)
        return errprintf(err, "no memory");
    memcpy(g->in + g->len, data, len);
    g->len += len;
    g->in[g->len] = '\0';
    return g->len == g->due ? take_frame(g, err) : 0;
}

int impi_couple_guest_input(struct impi_couple_guest *g, const void *data,
                            size_t len, struct errbuf *err)
{
    if (!impi_couple_guest_proved(g))
        return impi_chan_open_input(&g->open, data, len, err);
    return g->head_len < sizeof(g->head) ? take_head(g, data, len, err)
                                         : take_payload(g, data, len, err);
}

size_t impi_couple_guest_output(const struct impi_couple_guest *g,
                                const uint8_t **data)
{
    if (!impi_couple_guest_proved(g))
        return impi_chan_open_output(&g->open, data);
    *data = g->say + g->said;
    return g->say_len - g->said;
}

void impi_couple_guest_sent(struct impi_couple_guest *g, size_t n)
{
    if (!impi_couple_guest_proved(g))
        impi_chan_open_sent(&g->open, n);
    else
        g->said += n;
}
