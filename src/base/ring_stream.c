/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "base/ring_priv.h"
#include "base/ring_stream.h"

/* Bytes of iov[0..n), at most max. */
static size_t total(const struct iovec *iov, int n, size_t max)
{
    size_t sum = 0;

    for (int i = 0; i < n && sum < max; i++)
        sum += iov[i].iov_len;
    return sum < max ? sum : max;
}

/* Where in iov[0..n) the stream stands; for a writer, who has the bytes of an
 * entry without an address. */
struct place {
    const struct iovec *iov;
    int n;
    size_t off;
    ring_stream_fetch_f *fetch;
    void *arg;
};

/* The next contiguous bytes there, at most max; without an address *at is
 * NULL. */
static size_t next_bytes(struct place *p, size_t max, uint8_t **at)
{
    size_t n;

    while (p->n > 0 && p->off == p->iov->iov_len) {
        p->iov++;
        p->n--;
        p->off = 0;
    }
    if (p->n == 0)
        return 0;
    n = p->iov->iov_len - p->off;
    n = n < max ? n : max;
    *at = p->iov->iov_base ? (uint8_t *)p->iov->iov_base + p->off : NULL;
    p->off += n;
    return n;
}

static void gather(uint8_t *to, struct place *p, size_t len)
{
    uint8_t *from = NULL;

    while (len > 0) {
        size_t n = next_bytes(p, len, &from);

        if (from)
            memcpy(to, from, n);
        else
            p->fetch(p->arg, to, n);
        to += n;
        len -= n;
    }
}

int ring_stream_attach(struct ring_stream *s, int fd_out, int fd_in,
                       uint64_t salt, struct errbuf *err)
{
    if (ring_attach(&s->out, fd_out, RING_PRODUCER, RING_STREAM_PIECE, err) <
            0 ||
        ring_attach(&s->in, fd_in, RING_CONSUMER, RING_STREAM_PIECE, err) < 0)
        return -1;
    ring_quicken(&s->out, salt);
    ring_quicken(&s->in, salt);
    return 0;
}

enum { HEAD = RING_STREAM_WORDS * 8, NOTE_HEAD = 1 << RING_STREAM_WORDS };

/* Returns what is behind the word, if it had to be put at `to`.  It mostly is
 * the same words that differ, and a jump that is foreseen costs little. */
static inline uint8_t *put_word(uint64_t *last, uint8_t *to,
                                const uint8_t *head, unsigned i, uint32_t *note)
{
    uint64_t word;

    memcpy(&word, head, 8);
    if (word == *last)
        return to;
    memcpy(to, &word, 8);
    *last = word;
    *note |= 1u << i;
    return to + 8;
}

/* The head of a short piece at `to`: the words that are not those of `last`,
 * which becomes it.  Returns the bytes; *note: which words. */
static size_t put_head(uint64_t *last, uint8_t *to, const uint8_t *head,
                       uint32_t *note)
{
    uint8_t *end = to;

    *note = NOTE_HEAD;
#pragma GCC unroll 8
    for (unsigned i = 0; i < RING_STREAM_WORDS; i += 2) {
        if (memcmp(head + i * 8, &last[i], 16) == 0)
            continue;
        end = put_word(&last[i], end, head + i * 8, i, note);
        end = put_word(&last[i + 1], end, head + i * 8 + 8, i + 1, note);
    }
    return (size_t)(end - to);
}

/* One record of len bytes of the stream, into what record_reserve() gave. */
static void put_record(struct ring_stream *s, uint8_t *to, struct place *p,
                       size_t len)
{
    uint8_t copy[HEAD], *head = NULL;
    uint32_t note = 0;
    size_t n = 0;

    if (len >= HEAD && len <= RING_STREAM_SHORT) {
        n = next_bytes(p, HEAD, &head);
        if (n < HEAD || !head) {
            p->off -= n;
            gather(copy, p, HEAD);
            head = copy;
        }
        n = put_head(s->head_out, to, head, &note);
        len -= HEAD;
    }
    gather(to + n, p, len);
    record_commit(&s->out, n + len, note);
}

size_t ring_stream_write(struct ring_stream *s, const struct iovec *iov, int n,
                         ring_stream_fetch_f *fetch, void *arg, bool *ring)
{
    struct place p = {iov, n, 0, fetch, arg};
    size_t left = total(iov, n, SIZE_MAX), done = 0;

    *ring = false;
    while (left > 0) {
        size_t len = left < RING_STREAM_PIECE ? left : RING_STREAM_PIECE;
        uint8_t *to = record_reserve(&s->out, len);

        if (!to)
            break;
        put_record(s, to, &p, len);
        done += len;
        left -= len;
    }
    if (done > 0)
        *ring = take_flag(&s->out.shared->consumer_sleeps);
    return done;
}

bool ring_stream_put(struct ring_stream *s, const void *head, const void *data,
                     size_t len, bool *ring)
{
    uint8_t *to = record_reserve(&s->out, HEAD + len);
    uint32_t note;
    size_t n;

    *ring = false;
    if (!to)
        return false;
    n = put_head(s->head_out, to, head, &note);
    if (len > 0) /* data may be NULL */
        memcpy(to + n, data, len);
    record_commit(&s->out, n + len, note);
    *ring = take_flag(&s->out.shared->consumer_sleeps);
    return true;
}

/* Take the changed words of a short piece's head from the record.  False: its
 * note is not right. */
static bool take_head(struct ring_stream *s, uint32_t note)
{
    uint32_t changed = note & (NOTE_HEAD - 1);
    const uint8_t *at = s->at, *end = at + s->left;

    if (note >= 2 * NOTE_HEAD)
        return false;
    for (; changed; changed &= changed - 1, at += 8) {
        if (end - at < 8)
            return false;
        memcpy(&s->head_in[__builtin_ctz(changed)], at, 8);
    }
    s->at = at;
    s->left = (size_t)(end - at);
    s->head_left = HEAD;
    return true;
}

static void next_record(struct ring_stream *s)
{
    uint32_t note;

    s->at = record_peek(&s->in, &s->left);
    if (!s->at) {
        s->left = 0;
        return;
    }
    s->reading = true;
    s->size = s->left + 64; /* about what it takes */
    note = record_note(&s->in);
    /* Nobody of ours writes an empty record. */
    if (note ? !take_head(s, note) : s->left == 0) {
        s->in.broken = true;
        s->left = 0;
    }
}

size_t ring_stream_ready(struct ring_stream *s)
{
    if (!s->reading && !s->in.broken)
        next_record(s);
    return s->head_left + s->left;
}

bool ring_stream_has_news(struct ring_stream *s)
{
    return s->reading || has_record(&s->in) || s->in.broken;
}

/* A writer that sleeps has found the ring all but full: it is told several
 * times while that is read. */
static void made_room(struct ring_stream *s, size_t len, bool *ring)
{
    record_skip(&s->in);
    record_release(&s->in);
    s->freed += len;
    if (s->freed < s->in.size / 8)
        return;
    s->freed = 0;
    *ring |= ring_must_wake_full(&s->in);
}

const uint8_t *ring_stream_look(struct ring_stream *s, const uint8_t **data,
                                size_t *len)
{
    if (ring_stream_ready(s) == 0 || s->head_left != HEAD)
        return NULL;
    *data = s->at;
    *len = s->left;
    return (const uint8_t *)s->head_in;
}

void ring_stream_drop(struct ring_stream *s, bool *ring)
{
    *ring = false;
    s->head_left = 0;
    s->left = 0;
    s->reading = false;
    made_room(s, s->size, ring);
}

/* len bytes of the record are read. */
static void pass(struct ring_stream *s, size_t len, bool *ring)
{
    s->at += len;
    s->left -= len;
    if (s->head_left + s->left > 0)
        return;
    s->reading = false;
    made_room(s, s->size, ring);
}

const uint8_t *ring_stream_peek(struct ring_stream *s, size_t *len)
{
    if (ring_stream_ready(s) == 0 || s->head_left > 0)
        return NULL;
    *len = s->left;
    return s->at;
}

void ring_stream_pass(struct ring_stream *s, size_t n, bool *ring)
{
    *ring = false;
    pass(s, n, ring);
}

/* At most len bytes of the record to `to`. */
static void take(struct ring_stream *s, uint8_t *to, size_t len, bool *ring)
{
    size_t head = len < s->head_left ? len : s->head_left;

    if (head > 0)
        memcpy(to, (uint8_t *)s->head_in + HEAD - s->head_left, head);
    s->head_left -= head;
    len -= head;
    if (len > 0)
        memcpy(to + head, s->at, len);
    pass(s, len, ring);
}

ssize_t ring_stream_read(struct ring_stream *s, const struct iovec *iov, int n,
                         bool *ring)
{
    struct place p = {.iov = iov, .n = n};
    ssize_t done = 0;
    uint8_t *to = NULL;
    size_t ready;

    *ring = false;
    while ((ready = ring_stream_ready(s)) > 0) {
        size_t len = next_bytes(&p, ready, &to);

        if (len == 0)
            break;
        take(s, to, len, ring);
        done += (ssize_t)len;
    }
    if (done == 0 && (s->in.broken || s->out.broken)) {
        errno = EPROTO;
        return -1;
    }
    return done;
}

bool ring_stream_sleep(struct ring_stream *s, bool blocked)
{
    return !s->reading && ring_sleep(&s->in) &&
           (!blocked || ring_sleep_full(&s->out, RING_STREAM_PIECE));
}

void ring_stream_awake(struct ring_stream *s)
{
    ring_awake(&s->in);
    ring_awake(&s->out);
}
