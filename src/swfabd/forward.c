/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A packet on its way: through our crossbars, into the seat where it ends.
 * The packet may lie in memory that its sender still writes to: the head is
 * copied and decides everything, the rest is read once.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "swfabd/swfabd.h"

static enum swfab_fate to_ring(struct swfabd_seat *seat,
                               const struct swfab_walk *w,
                               const uint8_t *packet)
{
    const struct swfab *fab = seat->d->fab;
    size_t size = swfab_walk_size(fab, w);
    uint8_t *at = ring_reserve(&seat->to, size);

    if (!at && errno == EPROTO) {
        swfabd_seat_clear(seat, "its ring is broken");
        return SWFAB_NO_HOST;
    }
    if (!at)
        return SWFAB_FULL;
    swfab_walk_write(fab, w, at, packet);
    ring_commit(&seat->to, size);
    seat->must_ring = true;
    return SWFAB_DELIVERED;
}

static enum swfab_fate to_socket(struct swfabd_seat *seat,
                                 const struct swfab_walk *w,
                                 const uint8_t *packet)
{
    const struct swfab *fab = seat->d->fab;
    uint8_t buf[NET_PACKET_MAX + NET_TAGS_MAX * NET_TAG_SIZE];

    swfab_walk_write(fab, w, buf, packet);
    if (send(seat->fd, buf, swfab_walk_size(fab, w),
             MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
        return SWFAB_DELIVERED;
    if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR)
        return SWFAB_FULL;
    swfabd_seat_clear(seat, "its socket is closed");
    return SWFAB_NO_HOST;
}

static void deliver(struct swfabd_seat *seat, const struct swfab_walk *w,
                    const uint8_t *packet)
{
    enum swfab_fate fate = SWFAB_NO_HOST;

    switch (seat->carrier) {
    case SOFTLINK_RING:
        fate = to_ring(seat, w, packet);
        break;
    case SOFTLINK_SEQPACKET:
        fate = to_socket(seat, w, packet);
        break;
    case SOFTLINK_DATAGRAMS:
        swfabd_wire_packet(seat, w, packet);
        return;
    }
    swfab_count_up(seat->d->fab, w->port, fate);
}

void swfabd_forward(struct swfabd_seat *from, const uint8_t *packet, size_t len)
{
    struct swfabd *d = from->d;
    uint8_t head[SWFAB_HEAD_MAX] = {0};
    struct swfab_walk w = {.head = head, .len = len};
    uint32_t node;

    memcpy(head, packet, len < sizeof(head) ? len : sizeof(head));
    if (swfab_follow(d->fab, from->node, &w) != SWFAB_DELIVERED) {
        swfab_count_up(d->fab, w.port, w.fate);
        return;
    }
    node = swfab_node_of(d->fab, w.port);
    if (d->seat_of[node] == NET_NONE) /* a host that a fault plugged in */
        swfab_count_up(d->fab, w.port, SWFAB_NO_HOST);
    else
        deliver(&d->seats[d->seat_of[node]], &w, packet);
}
