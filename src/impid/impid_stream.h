/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A nonblocking stream socket on the event loop with a queue for each way.
 * The owner embeds the struct, gives callbacks, and closes it.
 */
#ifndef SF_IMPID_STREAM_H
#define SF_IMPID_STREAM_H

#include <stddef.h>

#include <ev.h>

#include "base/bytebuf.h"

struct impid_stream;

struct impid_stream_ops {
    /* More bytes are in s->in: consume what is complete.  Returns 0, or -1
     * when the stream was closed meanwhile (it is not touched again). */
    int (*input)(struct impid_stream *s, void *arg);
    /* The peer closed (error 0) or an errno.  Close the stream. */
    void (*closed)(struct impid_stream *s, void *arg, int error);
};

struct impid_stream {
    struct ev_loop *loop;
    ev_io io;
    int fd; /* -1: closed */
    struct bytebuf in, out;
    const struct impid_stream_ops *ops;
    void *arg;
};

/* Take over fd, which is connected and nonblocking. */
void impid_stream_open(struct impid_stream *s, struct ev_loop *loop, int fd,
                       size_t max, const struct impid_stream_ops *ops,
                       void *arg);

/* Of all that can be read at once, this is read first. */
void impid_stream_prefer(struct impid_stream *s);

/* What was added to s->out has to go. */
void impid_stream_send(struct impid_stream *s);
void impid_stream_write(struct impid_stream *s, const void *data, size_t len);

/* Send what is queued, waiting at most `seconds`.  0, or -1. */
int impid_stream_flush(struct impid_stream *s, int seconds);

/* Close and free the queues.  Harmless on a closed or zeroed stream. */
void impid_stream_close(struct impid_stream *s);

#endif
