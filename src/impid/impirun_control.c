/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "impid/impirun.h"

#define LINES_MAX (256 * 1024)
#define READ_SIZE 4096

int impirun_control_open(struct impirun_control *c,
                         const struct server_options *o,
                         char address[SERVER_ADDRESS_MAX], struct errbuf *err)
{
    bytebuf_init(&c->in, LINES_MAX);
    c->taken = 0;
    c->fd = server_start(o, address, err);
    return c->fd < 0 ? -1 : 0;
}

bool impirun_control_read(struct impirun_control *c)
{
    uint8_t *room;
    ssize_t n;

    bytebuf_consume(&c->in, c->taken);
    c->taken = 0;
    room = bytebuf_room(&c->in, READ_SIZE);
    n = room ? recv(c->fd, room, READ_SIZE, MSG_DONTWAIT) : 0;
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    bytebuf_grow(&c->in, (size_t)n);
    return n > 0;
}

bool impirun_control_next(struct impirun_control *c, struct server_line *line)
{
    char *text, *end;

    bytebuf_consume(&c->in, c->taken);
    c->taken = 0;
    text = (char *)bytebuf_data(&c->in);
    end = text ? memchr(text, '\n', bytebuf_len(&c->in)) : NULL;
    if (!end)
        return false;
    *end = '\0';
    c->taken = (size_t)(end - text) + 1;
    server_line_parse(line, text);
    return true;
}

void impirun_control_close(struct impirun_control *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    bytebuf_free(&c->in);
}
