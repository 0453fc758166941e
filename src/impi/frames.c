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
}

void impi_frames_put(struct impi_frames *f, uint8_t head[IMPI_FRAME_SIZE],
                     enum impi_frame_kind kind, size_t len)
{
    struct be_writer w;

    assert(kind != IMPI_FRAME_DATA || f->may_send > 0);
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
    f->may_send -= kind == IMPI_FRAME_DATA;
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

static int take_data(struct impi_frames *f, const struct impi_frame *frame,
                     struct errbuf *err)
{
    if (frame->length == 0)
        return broken(err, "sends a frame of data without data");
    if (f->may_come == 0)
        return broken(err, "sends more frames than it has credits for");
    f->may_come--;
    return 0;
}

/* Does the kind fit its place? */
static bool is_in_place(const struct impi_frames *f,
                        const struct impi_frame *frame)
{
    if (!f->met)
        return frame->kind == IMPI_FRAME_HELLO;
    return frame->kind == IMPI_FRAME_DATA || frame->kind == IMPI_FRAME_CREDITS;
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
    if (frame->kind != IMPI_FRAME_DATA && frame->length > 0)
        return broken(err, "sends data where none belong");
    if (frame->kind == IMPI_FRAME_DATA && take_data(f, frame, err) < 0)
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
