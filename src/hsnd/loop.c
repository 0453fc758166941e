/* SPDX-License-Identifier: BSD-3-Clause
 * The test of our own cable: frames that turn round at its other end
 * (hsn/loop_test.h).
 */
#include <stdlib.h>
#include <string.h>

#include "base/mac.h"
#include "hsnd/hsnd.h"
#include "net/packet.h"

#define SIZE 256 /* of a frame; the rest is zeros */
#define MINE 1u  /* in a cookie: no port's */

/* One that is under way. */
struct loop_frame {
    uint32_t number;
    unsigned frame;
    uint8_t bytes[SIZE];
};

static bool send_frame(void *arg, uint32_t number, unsigned frame)
{
    static const uint8_t back = 0x80; /* by the port that it came in by */
    struct hsnd *d = arg;
    struct loop_frame *f = calloc(1, sizeof(*f));
    struct hsn_send_raw s = {.route = &back,
                             .route_len = 1,
                             .type = HSN_TYPE_LOOP,
                             .cookie = (uintptr_t)f | MINE};

    if (!f)
        return false;
    f->number = number;
    f->frame = frame;
    be_store64(f->bytes, d->loop_key);
    be_store32(f->bytes + 8, number);
    f->bytes[12] = (uint8_t)frame;
    s.payload = (struct iovec){f->bytes, sizeof(f->bytes)};
    if (hsn_engine_send_raw(d->engine, &s, d->now) == 0)
        return true;
    free(f);
    return false;
}

bool loop_complete(struct hsnd *d, uint64_t cookie, int error)
{
    struct loop_frame *f = (struct loop_frame *)(uintptr_t)(cookie & ~1ull);

    if (!(cookie & MINE))
        return false;
    if (error)
        hsn_loop_unsent(&d->loop_test, f->number, f->frame);
    free(f);
    return true;
}

void loop_receive(struct hsnd *d, const struct iovec *parts, size_t nparts)
{
    const uint8_t *p = nparts ? parts[0].iov_base : NULL;

    if (nparts != 1 || parts[0].iov_len != SIZE || be_load64(p) != d->loop_key)
        return;
    d->loop_back++;
    hsn_loop_returned(&d->loop_test, be_load32(p + 8), p[12]);
}

/* Packets that had no room here, or never left. */
static uint64_t crowded(const struct hsnd *d)
{
    const struct hsn_nic_counters *c = &d->nic->counters;

    return c->crowded + c->dropped_system + c->dropped_down;
}

static void on_look(struct ev_loop *loop, ev_timer *t, int events)
{
    struct hsnd *d = t->data;

    (void)events;
    ev_timer_set(t, (double)hsn_loop_pause(&d->loop_test) / 1e9, 0.);
    ev_timer_start(loop, t);
    d->now = clock_ns();
    if (!d->nic->up) {
        hsn_loop_forget(&d->loop_test);
        return;
    }
    hsn_engine_hold(d->engine, true, d->now);
    hsn_loop_look(&d->loop_test, crowded(d), send_frame, d);
    hsn_engine_hold(d->engine, false, d->now);
}

int loop_open(struct hsnd *d)
{
    if (mac_random(&d->loop_key, sizeof(d->loop_key)) < 0)
        return -1;
    if (strcmp(d->nic->kind, "none") == 0)
        return 0;
    ev_timer_init(&d->loop_timer, on_look, HSN_LOOP_LOOK_NS / 1e9, 0.);
    d->loop_timer.data = d;
    ev_timer_start(d->loop, &d->loop_timer);
    return 0;
}
