/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "impid/server_words.h"

#define READ_SIZE 4096

void server_words_init(struct server_words *w, int fd)
{
    bytebuf_init(&w->in, SF_SERVER_WORDS_MAX);
    w->taken = 0;
    w->fd = fd;
}

static bool read_more(struct server_words *w, int flags)
{
    uint8_t *room;
    ssize_t n;

    bytebuf_consume(&w->in, w->taken);
    w->taken = 0;
    room = bytebuf_room(&w->in, READ_SIZE);
    n = room ? recv(w->fd, room, READ_SIZE, flags) : 0;
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    bytebuf_grow(&w->in, (size_t)n);
    return n > 0;
}

bool server_words_read(struct server_words *w)
{
    return read_more(w, MSG_DONTWAIT);
}

bool server_words_await(struct server_words *w)
{
    return read_more(w, 0);
}

bool server_words_next(struct server_words *w, struct server_line *line)
{
    char *text, *end;

    bytebuf_consume(&w->in, w->taken);
    w->taken = 0;
    text = (char *)bytebuf_data(&w->in);
    end = text ? memchr(text, '\n', bytebuf_len(&w->in)) : NULL;
    if (!end)
        return false;
    *end = '\0';
    w->taken = (size_t)(end - text) + 1;
    server_line_parse(line, text);
    return true;
}

void server_words_close(struct server_words *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
    bytebuf_free(&w->in);
}
