/* SPDX-License-Identifier: BSD-3-Clause
 *
 * UDP and Ethernet sockets: opening and closing.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "swfabd/wire.h"

enum { ETHERTYPE_EXPERIMENT = 0x88b5, SOCKET_BUFFER = 4 * 1024 * 1024 };

static int wire_start(struct swfabd_wire *wire, struct swfabd *d,
                      const char *what, struct errbuf *err)
{
    int size = SOCKET_BUFFER;

    if (wire->fd < 0)
        return errprintf(err, "%s: %s", what, strerror(errno));
    setsockopt(wire->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    setsockopt(wire->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    ev_io_init(&wire->io, swfabd_wire_on_io, wire->fd, EV_READ);
    wire->io.data = wire;
    ev_io_start(d->loop, &wire->io);
    return 0;
}

static int open_udp(struct swfabd *d, struct errbuf *err)
{
    struct part at = {0};
    char text[64];

    snprintf(text, sizeof(text), "udp:%s", d->conf.udp);
    if (!parts_read_address(&at, text))
        return errprintf(err, "Udp=%s: not A.B.C.D:PORT", d->conf.udp);
    d->udp.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (d->udp.fd >= 0 &&
        bind(d->udp.fd, (struct sockaddr *)&at.udp, sizeof(at.udp)) < 0)
        return errprintf(err, "Udp=%s: %s", d->conf.udp, strerror(errno));
    return wire_start(&d->udp, d, "Udp", err);
}

static int open_ether(struct swfabd *d, struct errbuf *err)
{
    struct sockaddr_ll at = {.sll_family = AF_PACKET,
                             .sll_protocol = htons(ETHERTYPE_EXPERIMENT)};

    d->ether.ifindex = (int)if_nametoindex(d->conf.ethernet);
    at.sll_ifindex = d->ether.ifindex;
    if (!at.sll_ifindex)
        return errprintf(err, "Ethernet=%s: %s", d->conf.ethernet,
                         strerror(errno));
    d->ether.fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                         htons(ETHERTYPE_EXPERIMENT));
    if (d->ether.fd >= 0 &&
        bind(d->ether.fd, (struct sockaddr *)&at, sizeof(at)) < 0)
        return errprintf(err, "Ethernet=%s: %s", d->conf.ethernet,
                         strerror(errno));
    return wire_start(&d->ether, d, "Ethernet", err);
}

/* The ends of cables that call. */
static int open_calls(struct swfabd *d, struct errbuf *err)
{
    for (uint32_t i = 0; i < d->nseats; i++) {
        struct swfabd_seat *seat = &d->seats[i];

        if (!seat->calls)
            continue;
        if (!swfabd_wire_of(seat))
            return errprintf(err, "cable to %s needs %s", seat->peer_name,
                             seat->wire->ether ? "Ethernet=" : "Udp=");
        if (seat->wire->ether) {
            seat->address.ether.sll_ifindex = d->ether.ifindex;
            seat->address.ether.sll_protocol = htons(ETHERTYPE_EXPERIMENT);
        }
        seat->link = softlink_new_caller(seat->peer_name, 0, SOFTLINK_DATAGRAMS,
                                         seat->slot, &d->ops);
        if (!seat->link)
            return errprintf(err, "out of memory");
    }
    return 0;
}

/* The door, and the other daemons, whom it knows. */
static int open_door(struct swfabd *d, struct errbuf *err)
{
    uint64_t secret;

    if (d->ops.random(d->ops.arg, &secret, sizeof(secret)) < 0 ||
        door_open(&d->door, d->nseats + d->parts.n, secret, clock_ns()) < 0)
        return errprintf(err, "no memory, or no randomness");
    for (uint32_t i = 0; i < d->parts.n; i++) {
        const struct part *part = &d->parts.part[i];
        union swfabd_address at = {.udp = part->udp};

        if (part->ether)
            memcpy(at.ether.sll_addr, part->mac, 6);
        door_prove(&d->door, swfabd_source(part->ether, &at));
    }
    return 0;
}

int swfabd_wire_open(struct swfabd *d, struct errbuf *err)
{
    d->udp.d = d->ether.d = d;
    d->ether.ether = true;
    if (open_door(d, err) < 0)
        return -1;
    if (d->conf.udp && d->conf.udp[0] && open_udp(d, err) < 0)
        return -1;
    if (d->conf.ethernet && d->conf.ethernet[0] && open_ether(d, err) < 0)
        return -1;
    return open_calls(d, err);
}

static void wire_close(struct swfabd_wire *wire)
{
    if (wire->fd < 0)
        return;
    ev_io_stop(wire->d->loop, &wire->io);
    close(wire->fd);
    wire->fd = -1;
}

void swfabd_wire_goodbye(struct swfabd_seat *seat)
{
    if (!seat->link || seat->lent || !swfabd_wire_of(seat) ||
        !softlink_is_up(seat->link))
        return;
    softlink_close(seat->link);
    swfabd_wire_output(seat->wire, seat->link, &seat->address);
}

void swfabd_wire_close(struct swfabd *d)
{
    for (uint32_t i = 0; i < d->nseats; i++)
        swfabd_wire_goodbye(&d->seats[i]);
    swfabd_wire_flush(d);
    wire_close(&d->udp);
    wire_close(&d->ether);
    door_close(&d->door);
}
