/* SPDX-License-Identifier: BSD-3-Clause
 * From the endpoints' rings to the engine; the loop.
 *
 * A round looks at the NIC and at every active endpoint. After rounds in which
 * nothing happened the loop goes on looking for a while, then every ring is
 * told to ring its bell, and the loop sleeps in libev.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "hsnd/hsnd.h"

#define RECORDS 32    /* of one endpoint in a round */
#define LOOK_EVERY 32 /* rounds with work between two looks at libev */

/* Hand one record to the engine.  As hsn_engine_send(). */
static int send_record(struct port *p, const struct hsn_record *r,
                       const uint8_t *body, const uint8_t *page)
{
    struct hsnd *d = p->d;
    const uint8_t *data = body + r->route_len;
    const uint8_t *header = data + hsn_record_inline(r);
    struct iovec parts[2] = {
        {(void *)(uintptr_t)(page ? page : data), r->data_len},
        {(void *)(uintptr_t)header, r->header_len}};

    if (p->kind == PORT_RAW) {
        struct hsn_send_raw s = {.route = body,
                                 .route_len = r->route_len,
                                 .type = p->number,
                                 .subtype = r->subtype,
                                 .payload = parts[0],
                                 .cookie = (uintptr_t)p};

        return hsn_engine_send_raw(d->engine, &s, d->now);
    }
    if (p->kind == PORT_DGRAM) {
        struct hsn_send s = {.board = r->board,
                             .to = r->module,
                             .data = parts[0],
                             .header = parts[1]};

        return hsn_engine_send(d->engine, p->number, &s, d->now);
    }
    return elan_send(p, r, &parts[0], &parts[1]);
}

/* May the endpoint send to that module?  Those for everybody reach no others,
 * and hsnd's own are nobody's. */
static bool may_reach(const struct port *p, uint16_t module)
{
    if (module == 0 || p->kind != PORT_DGRAM)
        return true;
    return module != HSN_MODULE_ELAN &&
           (module >= HSN_MODULE_FREE || p->number < HSN_MODULE_FREE);
}

static void malformed(struct port *p)
{
    p->counts.malformed++;
    p->d->counts.port_malformed++;
    ring_consume(&p->from);
}

/* The endpoint of this node that a record is for; NULL: none, or itself. */
static struct port *receiver_here(const struct port *p,
                                  const struct hsn_record *r)
{
    struct hsnd *d = p->d;
    struct port *to = NULL;

    if (p->kind == PORT_DGRAM && r->board == d->board)
        to = d->dgram[r->module ? r->module : p->number];
    else if (p->kind == PORT_ELAN && r->node == d->elan_id &&
             r->context < ELAN_MAX_CONTEXTS)
        to = d->contexts.user[r->context];
    return to == p ? NULL : to;
}

/* Within a node a full receiver first slows the sender down, for HOLD_NS at
 * most; one that makes no room by then loses messages until it does. */
#define HOLD_NS 2000000

static bool hold_back(struct port *p, const struct hsn_record *r)
{
    struct port *to = receiver_here(p, r);
    size_t len = sizeof(*r) + r->data_len + r->header_len;

    p->held = false;
    if (!to || to->dead)
        return false;
    ring_awake(&to->to);
    if (ring_reserve(&to->to, len) || errno != EAGAIN) {
        to->slow = false;
        p->held_since = 0;
        return false;
    }
    if (!p->held_since)
        p->held_since = p->d->now;
    to->slow |= p->d->now - p->held_since >= HOLD_NS;
    if (to->slow || !ring_sleep_full(&to->to, len)) {
        p->held_since = 0;
        return false;
    }
    return p->held = p->d->holding = true;
}

/* Does the head of a record of len bytes make sense for the endpoint? */
static bool makes_sense(const struct port *p, const struct hsn_record *r,
                        size_t len)
{
    if (!hsn_record_valid(r, len) || !may_reach(p, r->module))
        return false;
    return p->kind == PORT_RAW ? r->header_len == 0 && r->page == 0
                               : r->route_len == 0;
}

/* A message that is whole: to the engine.  As pump_one(). */
static bool send_one(struct port *p, const struct hsn_record *r,
                     const uint8_t *body)
{
    const uint8_t *page = NULL;

    if (r->page && !(page = pages_sent(p, r))) {
        malformed(p);
        return true;
    }
    p->underway = true;
    if (send_record(p, r, body, page) == 0)
        return !p->underway;
    p->underway = false;
    if (errno == EAGAIN)
        return false;
    pages_done(p);
    ring_consume(&p->from);
    return true;
}

/* The oldest record of an endpoint.  False: there is none, or it must wait. */
static bool pump_one(struct port *p)
{
    struct hsn_record r;
    size_t len;
    const uint8_t *at = ring_peek(&p->from, &len);

    if (!at) {
        if (errno != EAGAIN) {
            if (hsnd_count(p->d, &p->d->counts.broken_rings))
                log_info("pid %d of uid %u broke its ring", (int)p->pid,
                         (unsigned)p->uid);
            port_end(p);
        }
        return false;
    }
    if (len < sizeof(r)) {
        malformed(p);
        return true;
    }
    memcpy(&r, at, sizeof(r));
    if (!makes_sense(p, &r, len)) {
        malformed(p);
        return true;
    }
    if (p->kind != PORT_RAW && r.type == HSN_RECORD_FREE) {
        if (pages_freed(p, at + sizeof(r), hsn_record_inline(&r)))
            ring_consume(&p->from);
        else
            malformed(p);
        return true;
    }
    if (hold_back(p, &r))
        return false;
    return send_one(p, &r, at + sizeof(r));
}

static unsigned pump(struct port *p)
{
    unsigned n = 0;

    while (n < RECORDS && !p->dead && !p->underway && pump_one(p))
        n++;
    if (n && !p->dead && ring_must_wake_full(&p->from))
        ring_bell(p->bell);
    return n;
}

static unsigned round_once(struct hsnd *d)
{
    unsigned work;

    d->counts.rounds++;
    work = hsn_engine_wake(d->engine, d->now);
    d->holding = false;
    if (d->nactive) {
        hsn_engine_hold(d->engine, true, d->now);
        for (unsigned i = d->nactive; i-- > 0;)
            if (i < d->nactive)
                work += pump(d->act[i]);
        hsn_engine_hold(d->engine, false, d->now);
    }
    port_ring_bells(d);
    return work;
}

/* Put all endpoints to sleep; false when one of them has something. */
static bool ports_sleep(struct hsnd *d)
{
    bool quiet = true;

    for (unsigned i = d->nactive; i-- > 0;) {
        struct port *p = d->act[i];

        if (p->underway || p->held)
            continue;
        if (ring_sleep(&p->from)) {
            port_deactivate(p);
        } else {
            ring_awake(&p->from);
            quiet = false;
        }
    }
    return quiet;
}

/* The NIC's descriptor may be another one by now. */
static void watch_nic(struct hsnd *d)
{
    int fd = d->nic->fd(d->nic->self);

    if (fd == d->nic_fd)
        return;
    ev_io_stop(d->loop, &d->nic_io);
    d->nic_fd = fd;
    if (fd < 0)
        return;
    ev_io_set(&d->nic_io, fd, EV_READ);
    ev_io_start(d->loop, &d->nic_io);
}

/* Sleep until something happens or the engine or the NIC is due. */
static void sleep_once(struct hsnd *d)
{
    struct hsn_levels l;
    uint64_t due = d->nic->tick(d->nic->self, d->now), engine;
    bool pending;

    watch_nic(d);
    hsn_engine_levels(d->engine, &l);
    pending = l.pending + l.busy > 0;
    engine = hsn_engine_deadline(d->engine);
    if (engine < due)
        due = engine;
    if (d->holding && due > d->now + HOLD_NS)
        due = d->now + HOLD_NS;
    if (pending && due > d->now + 1000000)
        due = d->now + 1000000; /* there may be room again */
    if (!d->nic->sleep(d->nic->self, pending)) {
        d->nic->awake(d->nic->self);
        return;
    }
    d->counts.sleeps++;
    ev_timer_stop(d->loop, &d->timer);
    if (due != UINT64_MAX) {
        double s = due > d->now ? (double)(due - d->now) / 1e9 : 0;

        ev_timer_set(&d->timer, s > 60 ? 60 : s, 0.);
        ev_timer_start(d->loop, &d->timer);
    }
    ev_run(d->loop, EVRUN_ONCE);
    d->nic->awake(d->nic->self);
}

/* Nothing happened: look again for a while, or sleep. */
static void idle(struct hsnd *d)
{
    if (look_idle(&d->look, d->now))
        look_rest();
    else if (ports_sleep(d))
        sleep_once(d);
}

void hsnd_run(struct hsnd *d)
{
    d->look.most = (uint64_t)d->conf.spin_us * 1000;
    while (!d->stopping) {
        d->now = clock_ns();
        if (round_once(d))
            look_found(&d->look, d->now);
        else
            idle(d);
        if (d->counts.rounds % LOOK_EVERY == 0) {
            d->nic->tick(d->nic->self, d->now);
            watch_nic(d);
            ev_run(d->loop, EVRUN_NOWAIT);
        }
        if (d->nic->up != d->link_seen) {
            d->link_seen = d->nic->up;
            health_now(d);
        }
        if (d->sweep)
            port_sweep(d);
    }
}
