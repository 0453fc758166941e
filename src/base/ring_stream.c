/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "base/ring_stream.h"

/* Bytes of iov[0..n), at most max. */
static size_t total(const struct iovec *iov, int n, size_t max)
{
    size_t sum = 0;

    for (int i = 0; i < n && sum < max; i++)
        sum += iov[i].iov_len;
    return sum < max ? sum : max;
}

/* Where in iov[0..n) the stream stands. */
struct place {
    const struct iovec *iov;
    int n;
    size_t off;
};

/* The next contiguous bytes there, at most max. */
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
    *at = (uint8_t *)p->iov->iov_base + p->off;
    p->off += n;
    return n;
}

static void gather(uint8_t *to, struct place *p, size_t len)
{
    uint8_t *from = NULL;

    while (len > 0) {
        size_t n = next_bytes(p, len, &from);

        memcpy(to, from, n);
        to += n;
        len -= n;
    }
}

size_t ring_stream_write(struct ring_stream *s, const struct iovec *iov, int n,
                         bool *ring)
{
    struct place p = {iov, n, 0};
    size_t left = total(iov, n, SIZE_MAX), done = 0;

    *ring = false;
    while (left > 0) {
        size_t len = left < RING_STREAM_PIECE ? left : RING_STREAM_PIECE;
        uint8_t *to = ring_reserve(&s->out, len);

        if (!to)
            break;
        gather(to, &p, len);
        ring_commit(&s->out, len);
        *ring |= ring_must_wake(&s->out);
        done += len;
        left -= len;
    }
    return done;
}

size_t ring_stream_ready(struct ring_stream *s, bool *ring)
{
    if (s->left == 0) {
        s->at = ring_peek(&s->in, &s->left);
        if (!s->at)
            s->left = 0;
        else if (s->left == 0) /* nobody of ours writes such a record */
            s->in.broken = true;
    }
    /* Told when there is nothing better to do; where much is freed at once,
     * the reader says so itself. */
    if (s->left == 0 && s->freed) {
        s->freed = false;
        *ring |= ring_must_wake_full(&s->in);
    }
    return s->left;
}

static void took(struct ring_stream *s, size_t n, bool *ring)
{
    s->at += n;
    s->left -= n;
    if (s->left > 0)
        return;
    ring_consume(&s->in);
    s->freed = true;
    if (n >= RING_STREAM_PIECE / 2) {
        s->freed = false;
        *ring |= ring_must_wake_full(&s->in);
    }
}

ssize_t ring_stream_read(struct ring_stream *s, const struct iovec *iov, int n,
                         bool *ring)
{
    struct place p = {iov, n, 0};
    ssize_t done = 0;
    uint8_t *to = NULL;

    *ring = false;
    while (ring_stream_ready(s, ring) > 0) {
        size_t len = next_bytes(&p, s->left, &to);

        if (len == 0)
            break;
        memcpy(to, s->at, len);
        took(s, len, ring);
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
    return s->left == 0 && ring_sleep(&s->in) &&
           (!blocked || ring_sleep_full(&s->out, RING_STREAM_PIECE));
}

void ring_stream_awake(struct ring_stream *s)
{
    ring_awake(&s->in);
    ring_awake(&s->out);
}
