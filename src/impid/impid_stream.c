/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "impid/impid_stream.h"
#include "impid/out_queue.h"

#define READ_SIZE 16384

/* Send what the socket takes now.  0, or -1 with errno. */
static int push(struct impid_stream *s)
{
    while (bytebuf_len(&s->out) > 0) {
        ssize_t n = send(s->fd, bytebuf_data(&s->out), bytebuf_len(&s->out),
                         MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return out_again(errno) ? 0 : -1;
        bytebuf_consume(&s->out, (size_t)n);
    }
    return 0;
}

static void watch(struct impid_stream *s)
{
    int events = EV_READ | (bytebuf_len(&s->out) > 0 ? EV_WRITE : 0);

    if ((s->io.events & (EV_READ | EV_WRITE)) == events)
        return;
    ev_io_stop(s->loop, &s->io);
    ev_io_set(&s->io, s->fd, events);
    ev_io_start(s->loop, &s->io);
}

/* Read once.  1: there was something, 0: nothing now or closed. */
static int pull(struct impid_stream *s)
{
    uint8_t *room = bytebuf_room(&s->in, READ_SIZE);
    ssize_t n;

    if (!room) {
        s->ops->closed(s, s->arg, EMSGSIZE);
        return 0;
    }
    n = recv(s->fd, room, READ_SIZE, MSG_DONTWAIT);
    if (n > 0) {
        bytebuf_grow(&s->in, (size_t)n);
        return 1;
    }
    if (n == 0)
        s->ops->closed(s, s->arg, 0);
    else if (errno != EAGAIN && errno != EINTR)
        s->ops->closed(s, s->arg, errno);
    return 0;
}

static void on_io(struct ev_loop *loop, ev_io *io, int revents)
{
    struct impid_stream *s = io->data;

    if ((revents & EV_WRITE) && push(s) < 0) {
        s->ops->closed(s, s->arg, errno);
        return;
    }
    if ((revents & EV_READ) && (!pull(s) || s->ops->input(s, s->arg) < 0))
        return;
    watch(s);
}

void impid_stream_open(struct impid_stream *s, struct ev_loop *loop, int fd,
                       size_t max, const struct impid_stream_ops *ops,
                       void *arg)
{
    s->loop = loop;
    s->fd = fd;
    s->ops = ops;
    s->arg = arg;
    bytebuf_init(&s->in, max + READ_SIZE);
    bytebuf_init(&s->out, SIZE_MAX / 2);
    ev_io_init(&s->io, on_io, fd, EV_READ);
    s->io.data = s;
    ev_io_start(loop, &s->io);
}

void impid_stream_prefer(struct impid_stream *s)
{
    ev_io_stop(s->loop, &s->io);
    ev_set_priority(&s->io, 1);
    ev_io_start(s->loop, &s->io);
}

void impid_stream_send(struct impid_stream *s)
{
    if (s->fd < 0 || !s->loop)
        return;
    /* An error shows up as a readable end of the stream. */
    if (push(s) < 0)
        bytebuf_free(&s->out);
    watch(s);
}

void impid_stream_write(struct impid_stream *s, const void *data, size_t len)
{
    bytebuf_add(&s->out, data, len);
    impid_stream_send(s);
}

int impid_stream_flush(struct impid_stream *s, int seconds)
{
    if (s->fd < 0 || !s->loop)
        return -1;
    for (int tries = 0; tries < seconds * 10; tries++) {
        struct pollfd pfd = {.fd = s->fd, .events = POLLOUT};

        if (push(s) < 0)
            return -1;
        if (bytebuf_len(&s->out) == 0)
            return 0;
        poll(&pfd, 1, 100);
    }
    return -1;
}

void impid_stream_close(struct impid_stream *s)
{
    if (!s->loop || s->fd < 0)
        return;
    ev_io_stop(s->loop, &s->io);
    close(s->fd);
    s->fd = -1;
    bytebuf_free(&s->in);
    bytebuf_free(&s->out);
}
