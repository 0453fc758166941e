/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Seats at rings.  While there is traffic all rings are looked at again and
 * again, by an idle watcher when sockets have had their turn; after a while
 * without any (base/look.h), the loop sleeps, and the first who puts something
 * into a ring wakes it by the bell.
 */

#include "swfabd/swfabd.h"

enum {
    TURNS = 16, /* rounds with packets, until sockets have their turn */
};

/* Forward what is in one ring, not all if there is much: the others' turn. */
static unsigned drain(struct swfabd_seat *seat)
{
    unsigned n = 0;
    const uint8_t *packet;
    size_t len;

    while (n < SWFABD_BATCH && (packet = ring_peek(&seat->from, &len))) {
        swfabd_forward(seat, packet, len);
        if (seat->carrier != SOFTLINK_RING)
            return n; /* its packet came back to it, and it did not live */
        ring_consume(&seat->from);
        n++;
    }
    if (seat->from.broken)
        swfabd_seat_clear(seat, "it does not keep to the rules of rings");
    else if (n && ring_must_wake_full(&seat->from))
        ring_bell(seat->fd);
    return n;
}

void swfabd_rings_ring(struct swfabd *d)
{
    for (uint32_t i = 0; i < d->nrings; i++) {
        struct swfabd_seat *seat = &d->seats[d->rings[i]];

        if (!seat->must_ring)
            continue;
        seat->must_ring = false;
        if (ring_must_wake(&seat->to))
            ring_bell(seat->fd);
    }
}

static unsigned drain_all(struct swfabd *d)
{
    unsigned n = 0;

    for (uint32_t i = d->nrings; i-- > 0;)
        if (i < d->nrings)
            n += drain(&d->seats[d->rings[i]]);
    if (n) {
        swfabd_rings_ring(d);
        swfabd_wire_flush(d);
    }
    return n;
}

static void awake(struct swfabd *d)
{
    if (!d->asleep)
        return;
    d->asleep = false;
    for (uint32_t i = 0; i < d->nrings; i++)
        ring_awake(&d->seats[d->rings[i]].from);
}

/* Forward, and look until nothing comes for a while.  False: sockets have
 * their turn, then there is more. */
static bool serve(struct swfabd *d)
{
    for (unsigned turns = 0; turns < TURNS;) {
        uint64_t now = clock_ns();

        if (drain_all(d)) {
            turns++;
            look_found(&d->look, now);
        } else if (look_idle(&d->look, now)) {
            look_rest();
        } else {
            return true;
        }
    }
    return false;
}

/* Nothing else is to be done. */
static void on_idle(struct ev_loop *loop, ev_idle *w, int revents)
{
    if (serve(w->data))
        ev_idle_stop(loop, w);
}

/* Sockets may be busy enough that the idle watcher never gets its turn. */
static void on_check(struct ev_loop *loop, ev_check *w, int revents)
{
    struct swfabd *d = w->data;

    if (ev_is_active(&d->idle))
        drain_all(d);
}

/* The loop is about to sleep, unless the idle watcher runs. */
static void on_prepare(struct ev_loop *loop, ev_prepare *w, int revents)
{
    struct swfabd *d = w->data;
    bool stay = false;

    swfabd_rings_ring(d);
    swfabd_wire_flush(d);
    if (ev_is_active(&d->idle))
        return;
    for (uint32_t i = 0; i < d->nrings; i++)
        stay |= !ring_sleep(&d->seats[d->rings[i]].from);
    d->asleep = true;
    if (stay) {
        awake(d);
        ev_idle_start(loop, &d->idle);
    }
}

/* A bell: somebody put something in, or made room, or is gone. */
static void on_bell(struct ev_loop *loop, ev_io *w, int revents)
{
    struct swfabd_seat *seat = w->data;
    struct swfabd *d = seat->d;

    if (ring_bell_take(seat->fd) < 0) {
        drain(seat); /* its last words */
        swfabd_seat_clear(seat, "it is gone");
        return;
    }
    awake(d);
    if (!ev_is_active(&d->idle) && !serve(d))
        ev_idle_start(loop, &d->idle);
}

void swfabd_rings_add(struct swfabd_seat *seat)
{
    struct swfabd *d = seat->d;

    seat->ring_index = d->nrings;
    d->rings[d->nrings++] = seat->slot;
    ev_io_init(&seat->io, on_bell, seat->fd, EV_READ);
    seat->io.data = seat;
    ev_io_start(d->loop, &seat->io);
    ev_idle_start(d->loop, &d->idle);
}

void swfabd_rings_remove(struct swfabd_seat *seat)
{
    struct swfabd *d = seat->d;
    uint32_t last = d->rings[--d->nrings];

    d->rings[seat->ring_index] = last;
    d->seats[last].ring_index = seat->ring_index;
}

void swfabd_rings_open(struct swfabd *d)
{
    d->look.most = LOOK_MOST_NS;
    ev_idle_init(&d->idle, on_idle);
    d->idle.data = d;
    ev_prepare_init(&d->prepare, on_prepare);
    d->prepare.data = d;
    ev_prepare_start(d->loop, &d->prepare);
    ev_check_init(&d->check, on_check);
    d->check.data = d;
    ev_check_start(d->loop, &d->check);
}
