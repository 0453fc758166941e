/* SPDX-License-Identifier: BSD-3-Clause */
#include "impid/out_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define IOVS 16

struct chunk {
    unsigned refs;
    size_t len;
    uint8_t data[];
};

struct chunk *chunk_new(const void *data, size_t len)
{
    struct chunk *c = malloc(sizeof(*c) + len);

    if (!c)
        return NULL;
    c->refs = 1;
    c->len = len;
    if (len)
        memcpy(c->data, data, len);
    return c;
}

void chunk_release(struct chunk *c)
{
    if (c && --c->refs == 0)
        free(c);
}

void out_init(struct out_queue *q, size_t max)
{
    STAILQ_INIT(&q->items);
    q->sent = q->bytes = 0;
    q->max = max;
}

static void drop_first(struct out_queue *q)
{
    struct out_item *i = STAILQ_FIRST(&q->items);

    STAILQ_REMOVE_HEAD(&q->items, next);
    chunk_release(i->chunk);
    free(i);
    q->sent = 0;
}

void out_free(struct out_queue *q)
{
    while (!STAILQ_EMPTY(&q->items))
        drop_first(q);
    q->bytes = 0;
}

static struct out_item *new_item(struct out_queue *q, struct chunk *c)
{
    struct out_item *i;

    if (q->bytes + c->len > q->max) {
        errno = ENOBUFS;
        return NULL;
    }
    i = calloc(1, sizeof(*i));
    if (!i)
        return NULL;
    c->refs++;
    i->chunk = c;
    q->bytes += c->len;
    return i;
}

int out_add(struct out_queue *q, struct chunk *c)
{
    struct out_item *i = new_item(q, c);

    if (!i)
        return -1;
    STAILQ_INSERT_TAIL(&q->items, i, next);
    return 0;
}

int out_add_urgent(struct out_queue *q, struct chunk *c)
{
    struct out_item *i = new_item(q, c), *after = NULL, *next;

    if (!i)
        return -1;
    i->urgent = true;
    next = STAILQ_FIRST(&q->items);
    while (next && (next->urgent || (!after && q->sent > 0))) {
        after = next;
        next = STAILQ_NEXT(next, next);
    }
    if (after)
        STAILQ_INSERT_AFTER(&q->items, after, i, next);
    else
        STAILQ_INSERT_HEAD(&q->items, i, next);
    return 0;
}

static int fill(const struct out_queue *q, struct iovec *iov)
{
    struct out_item *i;
    size_t skip = q->sent;
    int n = 0;

    STAILQ_FOREACH(i, &q->items, next)
    {
        if (n == IOVS)
            break;
        iov[n].iov_base = i->chunk->data + skip;
        iov[n++].iov_len = i->chunk->len - skip;
        skip = 0;
    }
    return n;
}

static void advance(struct out_queue *q, size_t n)
{
    q->bytes -= n;
    while (n > 0) {
        size_t left = STAILQ_FIRST(&q->items)->chunk->len - q->sent;

        if (n < left) {
            q->sent += n;
            return;
        }
        n -= left;
        drop_first(q);
    }
}

bool out_again(int error)
{
    return error == EAGAIN || error == ENOBUFS || error == ENOMEM;
}

int out_flush(struct out_queue *q, int fd)
{
    struct iovec iov[IOVS];

    while (q->bytes > 0) {
        ssize_t n = writev(fd, iov, fill(q, iov));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return out_again(errno) ? 0 : -1;
        advance(q, (size_t)n);
    }
    return 0;
}
