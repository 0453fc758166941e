/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "impid/impid_relay.h"

#define READ_SIZE (256 * 1024)
#define ROUND_READS 4 /* then others have their turn */

static struct ev_loop *loop_of(const struct impid_port *p)
{
    return p->relay->client->round->impid->loop;
}

void impid_port_init(struct impid_port *p, struct impid_relay *r, bool is_host,
                     uint32_t index)
{
    p->relay = r;
    p->is_host = is_host;
    p->index = index;
    p->fd = -1;
    bytebuf_init(&p->in, IMPI_PACKET_SIZE + r->world.maxdatalen + READ_SIZE);
    out_init(&p->out, SF_IMPI_RELAY_QUEUE_MAX);
}

void impid_port_close(struct impid_port *p)
{
    if (!p->relay)
        return;
    if (p->fd >= 0) {
        ev_io_stop(loop_of(p), &p->read);
        ev_io_stop(loop_of(p), &p->write);
        close(p->fd);
        p->fd = -1;
    }
    bytebuf_free(&p->in);
    out_free(&p->out);
}

/* Hand on what is complete.  0; -1 when the port was closed meanwhile. */
static int take_packets(struct impid_port *p)
{
    while (bytebuf_len(&p->in) >= IMPI_PACKET_SIZE) {
        struct impi_packet pk;
        size_t len;

        impi_packet_decode(&pk, bytebuf_data(&p->in));
        len = IMPI_PACKET_SIZE;
        if (impi_packet_payload(&pk) > p->relay->world.maxdatalen)
            len = 0; /* refused by its header alone */
        else
            len += impi_packet_payload(&pk);
        if (bytebuf_len(&p->in) < len)
            return 0;
        if (impid_relay_packet(p, &pk, bytebuf_data(&p->in), len) < 0)
            return -1;
        bytebuf_consume(&p->in, len);
    }
    return 0;
}

void impid_port_pause(struct impid_port *p, bool pause)
{
    if (p->fd < 0)
        return;
    if (pause)
        ev_io_stop(loop_of(p), &p->read);
    else
        ev_io_start(loop_of(p), &p->read);
}

static void on_readable(struct ev_loop *loop, ev_io *io, int revents)
{
    struct impid_port *p = io->data;

    for (int i = 0; i < ROUND_READS && ev_is_active(io); i++) {
        uint8_t *room = bytebuf_room(&p->in, READ_SIZE);
        ssize_t n = room ? recv(p->fd, room, READ_SIZE, 0) : 0;

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            impid_relay_gone(p, room ? (n < 0 ? errno : 0) : ENOMEM);
            return;
        }
        bytebuf_grow(&p->in, (size_t)n);
        if (take_packets(p) < 0)
            return;
    }
}

/* When the connection is broken the reading side says why. */
static void flush(struct impid_port *p)
{
    if (p->fd >= 0) {
        if (out_flush(&p->out, p->fd) < 0 || p->out.bytes == 0)
            ev_io_stop(loop_of(p), &p->write);
        else
            ev_io_start(loop_of(p), &p->write);
    }
    if (p->is_host)
        impid_relay_balance(p);
}

static void on_writable(struct ev_loop *loop, ev_io *io, int revents)
{
    flush(io->data);
}

void impid_port_open(struct impid_port *p, int fd)
{
    p->fd = fd;
    ev_io_init(&p->read, on_readable, fd, EV_READ);
    ev_io_init(&p->write, on_writable, fd, EV_WRITE);
    p->read.data = p->write.data = p;
    ev_io_start(loop_of(p), &p->read);
    flush(p);
}

int impid_port_send(struct impid_port *p, const void *data, size_t len,
                    bool urgent)
{
    struct chunk *c = chunk_new(data, len);
    int rc = c ? 0 : -1;

    if (c)
        rc = urgent ? out_add_urgent(&p->out, c) : out_add(&p->out, c);
    chunk_release(c);
    if (rc == 0)
        flush(p);
    return rc;
}
