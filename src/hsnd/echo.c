/* SPDX-License-Identifier: BSD-3-Clause
 * Echoes.  Module 0 answers them by all routes, and from time to time asks the
 * neighbours and the peers that messages go to, by all routes; and others when
 * it is too quiet (hsn/alone.h).
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "hsnd/hsnd.h"

#define ECHO_MAGIC 0x6563686f /* "echo" */
#define ECHO_ASK 1
#define ECHO_ANSWER 2
#define ECHO_SIZE 16
#define ECHO_WAIT_NS 1000000000ULL /* for answers, at most */

/* A message whose memory is freed when it is done. */
static void say(struct hsnd *d, uint64_t board, uint8_t by, uint32_t what,
                uint64_t number)
{
    uint8_t *header = malloc(ECHO_SIZE);
    struct hsn_send s = {.board = board,
                         .header = {header, ECHO_SIZE},
                         .cookie = (uintptr_t)header,
                         .by = by};

    if (!header)
        return;
    be_store32(header, ECHO_MAGIC);
    be_store32(header + 4, what);
    be_store64(header + 8, number);
    if (hsn_engine_send(d->engine, HSN_MODULE_ECHO, &s, d->now) < 0)
        free(header);
}

static void ask(void *arg, uint64_t board, uint8_t by, uint64_t number)
{
    say(arg, board, by, ECHO_ASK, number);
}

static void answer(struct hsnd *d, uint64_t board, uint64_t number)
{
    const struct hsn_routed *peer =
        hsn_routes_find(hsn_engine_routes(d->engine), board);

    for (uint8_t i = 1; peer && i <= peer->nroutes; i++)
        say(d, board, i, ECHO_ANSWER, number);
}

static void done(void *arg, uint64_t cookie, int error)
{
    (void)arg;
    (void)error;
    free((void *)(uintptr_t)cookie);
}

/* Routes died or live again, or a peer did: switchmgrd wants to know. */
static void changed(struct hsnd *d)
{
    log_info("echoes: %llu routes have died so far, %llu live again",
             (unsigned long long)d->echo.died,
             (unsigned long long)d->echo.revived);
    health_soon(d);
}

/* Whether anybody hears us. */
static void alone_changed(struct hsnd *d)
{
    if (d->alone.alone)
        log_warn("SF-E804 nobody answers: is the cable of this node pulled?");
    else
        log_info("somebody answers again");
    health_now(d);
}

static void receive(void *arg, const struct hsn_delivery *m)
{
    struct hsnd *d = arg;
    const uint8_t *header = m->header.iov_base;

    if (m->header.iov_len != ECHO_SIZE || be_load32(header) != ECHO_MAGIC)
        return;
    if (be_load32(header + 4) == ECHO_ASK) {
        answer(d, m->from, be_load64(header + 8));
        return;
    }
    if (hsn_alone_answer(&d->alone))
        alone_changed(d);
    if (hsn_echo_answer(&d->echo, hsn_engine_routes_of(d->engine), m->from,
                        be_load64(header + 8), clock_ns()))
        changed(d);
}

/* The answers of a round have had their time. */
static void on_due(struct ev_loop *loop, ev_timer *t, int events)
{
    struct hsnd *d = t->data;

    (void)loop;
    (void)events;
    if (hsn_echo_judge(&d->echo, hsn_engine_routes_of(d->engine)))
        changed(d);
    hsn_alone_round(&d->alone, hsn_engine_routes(d->engine));
}

static void on_look(struct ev_loop *loop, ev_timer *t, int events)
{
    struct hsnd *d = t->data;

    (void)loop;
    (void)events;
    if (hsn_alone_look(&d->alone, hsn_engine_routes(d->engine),
                       hsn_engine_counts(d->engine)->n[HSN_COUNT_received] -
                           d->loop_back,
                       ask, d))
        alone_changed(d);
}

static void on_timer(struct ev_loop *loop, ev_timer *t, int events)
{
    struct hsnd *d = t->data;

    (void)events;
    if (hsn_echo_begin(&d->echo, hsn_engine_routes_of(d->engine), clock_ns(),
                       ask, d))
        changed(d);
    ev_timer_stop(loop, &d->echo_due);
    if (!d->echo.due)
        return;
    ev_timer_set(&d->echo_due, (double)d->echo.wait_ns / 1e9, 0.);
    ev_timer_start(loop, &d->echo_due);
}

int echo_open(struct hsnd *d)
{
    static const struct hsn_module_ops ops = {receive, done};
    uint64_t every = (uint64_t)d->conf.echo_s * 1000000000;

    if (hsn_engine_open(d->engine, HSN_MODULE_ECHO, &ops, d) < 0)
        return -1;
    if (!d->conf.echo_s)
        return 0;
    d->echo.board = d->alone.board = d->board;
    d->echo.wait_ns =
        every / 10 * 9 < ECHO_WAIT_NS ? every / 10 * 9 : ECHO_WAIT_NS;
    ev_timer_init(&d->echo_timer, on_timer, 0.1, (double)d->conf.echo_s);
    ev_timer_init(&d->echo_due, on_due, 0., 0.);
    ev_timer_init(&d->alone_timer, on_look, 0., HSN_ALONE_LOOK_NS / 1e9);
    d->echo_timer.data = d->echo_due.data = d->alone_timer.data = d;
    ev_timer_start(d->loop, &d->echo_timer);
    ev_timer_again(d->loop, &d->alone_timer);
    return loop_open(d);
}
