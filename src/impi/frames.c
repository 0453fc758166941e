/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/frames.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/be.h"

void impi_frames_init(struct impi_frames *f, const struct impi_fabric_end *own,
                      const struct impi_fabric_end *peer, uint64_t key_out,
                      uint64_t key_in)
{
    memset(f, 0, sizeof(*f));
    f->key_out = key_out;
    f->key_in = key_in;
    f->number_out = peer->number;
    f->may_send = f->window_out = peer->credits;
    f->may_come = f->window = own->credits;
    if (own->lends > 0 && peer->lends > 0) {
        f->lends_out = peer->lends;
        if (f->lends_out > SF_FABRIC_LENDS)
            f->lends_out = SF_FABRIC_LENDS;
        f->lends_in = own->lends;
    }
}

static bool takes_credit(uint32_t kind)
{
    return kind == IMPI_FRAME_DATA || kind == IMPI_FRAME_LEND;
}

void impi_frames_put(struct impi_frames *f, uint8_t head[IMPI_FRAME_SIZE],
                     enum impi_frame_kind kind, size_t len)
{
    struct be_writer w;

    assert(!takes_credit(kind) || f->may_send > 0);
    assert(kind != IMPI_FRAME_LEND || impi_frames_may_lend(f));
    be_writer_init(&w, head, IMPI_FRAME_SIZE);
    be_put64(&w, f->key_out);
    be_put32(&w, f->number_out);
    be_put32(&w, f->sequence_out++);
    be_put32(&w, (uint32_t)len);
    be_put16(&w, (uint16_t)kind);
    be_put16(&w, (uint16_t)f->owed);
    assert(!w.bad);
    f->may_come += f->owed;
    f->owed = 0;
    f->may_send -= takes_credit(kind);
    f->lent += kind == IMPI_FRAME_LEND;
}

bool impi_frame_decode(struct impi_frame *frame, const void *data, size_t size)
{
    struct be_reader r;

    be_reader_init(&r, data, size);
    frame->key = be_get64(&r);
    frame->number = be_get32(&r);
    frame->sequence = be_get32(&r);
    frame->length = be_get32(&r);
    frame->kind = be_get16(&r);
    frame->credits = be_get16(&r);
    return !r.bad && frame->length == r.left;
}

static int broken(struct errbuf *err, const char *text)
{
    errprintf(err, "%s", text);
    errno = EPROTO;
    return -1;
}

/* Does the length fit the kind? */
static int check_length(const struct impi_frame *frame, struct errbuf *err)
{
    switch (frame->kind) {
    case IMPI_FRAME_DATA:
        return frame->length > 0
                   ? 0
                   : broken(err, "sends a frame of data without data");
    case IMPI_FRAME_LEND:
        return frame->length >= IMPI_LEND_SIZE
                   ? 0
                   : broken(err, "lends memory in a wrong form");
    case IMPI_FRAME_READ:
        return frame->length == IMPI_READ_SIZE
                   ? 0
                   : broken(err, "returns memory in a wrong form");
    default:
        return frame->length == 0 ? 0
                                  : broken(err, "sends data where none belong");
    }
}

/* Those that take a credit. */
static int take_counted(struct impi_frames *f, const struct impi_frame *frame,
                        struct errbuf *err)
{
    if (f->may_come == 0)
        return broken(err, "sends more frames than it has credits for");
    if (frame->kind == IMPI_FRAME_LEND && f->borrowed == f->lends_in)
        return broken(err, "lends more memory than was agreed");
    f->may_come--;
    f->borrowed += frame->kind == IMPI_FRAME_LEND;
    return 0;
}

/* Does the kind fit its place? */
static bool is_in_place(const struct impi_frames *f,
                        const struct impi_frame *frame)
{
    if (!f->met)
        return frame->kind == IMPI_FRAME_HELLO;
    return frame->kind > IMPI_FRAME_HELLO && frame->kind <= IMPI_FRAME_READ;
}

int impi_frames_is_next(const struct impi_frames *f,
                        const struct impi_frame *frame, struct errbuf *err)
{
    uint32_t ahead = frame->sequence - f->sequence_in;

    if (ahead >= f->window + IMPI_FRAMES_SPARE)
        return broken(err, "sends frames out of order");
    return ahead == 0;
}

int impi_frames_take(struct impi_frames *f, const struct impi_frame *frame,
                     struct errbuf *err)
{
    assert(frame->sequence == f->sequence_in);
    if (!is_in_place(f, frame))
        return broken(err, "sends a frame of the wrong kind");
    if (frame->credits > f->window_out - f->may_send)
        return broken(err, "gives back more credits than were used");
    if (check_length(frame, err) < 0)
        return -1;
    if (takes_credit(frame->kind) && take_counted(f, frame, err) < 0)
        return -1;
    f->sequence_in++;
    f->met = true;
    f->may_send += frame->credits;
    return 0;
}

void impi_frames_freed(struct impi_frames *f)
{
    assert(f->may_come + f->owed < f->window);
    f->owed++;
}

bool impi_frames_owes(const struct impi_frames *f)
{
    return f->owed >= (f->window + 1) / 2;
}

/* ---- pieces that are lent ---- */

bool impi_frames_may_lend(const struct impi_frames *f)
{
    return f->lent < f->lends_out;
}

void impi_lend_encode(uint8_t data[IMPI_LEND_SIZE], const struct impi_lend *l)
{
    be_store64(data, l->address);
    be_store64(data + 8, l->key);
    be_store32(data + 16, l->length);
}

int impi_lend_decode(struct impi_lend *l, const uint8_t *data, size_t len,
                     struct errbuf *err)
{
    size_t before = len - IMPI_LEND_SIZE;

    assert(len >= IMPI_LEND_SIZE);
    l->address = be_load64(data + before);
    l->key = be_load64(data + before + 8);
    l->length = be_load32(data + before + 16);
    if (l->length == 0 || l->length > SF_FABRIC_LEND_MAX)
        return broken(err, "lends an impossible piece of memory");
    return (int)before;
}

void impi_frames_read(struct impi_frames *f, uint8_t data[IMPI_READ_SIZE],
                      uint32_t n)
{
    assert(0 < n && n <= f->borrowed);
    f->borrowed -= n;
    be_store32(data, n);
}

int impi_frames_returned(struct impi_frames *f,
                         const uint8_t data[IMPI_READ_SIZE], struct errbuf *err)
{
    uint32_t n = be_load32(data);

    if (n == 0 || n > f->lent)
        return broken(err, "returns memory that it was not lent");
    f->lent -= n;
    return (int)n;
}
