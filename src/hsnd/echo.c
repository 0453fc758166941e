/* SPDX-License-Identifier: BSD-3-Clause
 * Echoes: module 0 answers them, and asks the neighbours from time to time.
 */
#include <stdlib.h>
#include <string.h>

#include "hsnd/hsnd.h"

#define ECHO_MAGIC 0x6563686f /* "echo" */
#define ECHO_ASK 1
#define ECHO_ANSWER 2
#define ECHO_SIZE 16

/* A message whose memory is freed when it is done. */
static void say(struct hsnd *d, uint64_t board, uint32_t what, uint64_t number)
{
    uint8_t *header = malloc(ECHO_SIZE);
    struct hsn_send s = {.board = board,
                         .header = {header, ECHO_SIZE},
                         .cookie = (uintptr_t)header};

    if (!header)
        return;
    be_store32(header, ECHO_MAGIC);
    be_store32(header + 4, what);
    be_store64(header + 8, number);
    if (hsn_engine_send(d->engine, HSN_MODULE_ECHO, &s, d->now) < 0)
        free(header);
}

static void done(void *arg, uint64_t cookie, int error)
{
    (void)arg;
    (void)error;
    free((void *)(uintptr_t)cookie);
}

/* The answer of a neighbour. */
static void came_back(struct hsnd *d, uint64_t board, uint64_t number)
{
    struct hsn_routed *peer =
        hsn_routes_find(hsn_engine_routes(d->engine), board);
    struct hsn_peer_state *s = peer ? &peer->state : NULL;

    if (!s || !s->echo_at || number != s->echo_number)
        return;
    s->rtt_ns = hsnd_clock() - s->echo_at;
    if (s->rtt_min_ns == 0 || s->rtt_ns < s->rtt_min_ns)
        s->rtt_min_ns = s->rtt_ns;
    s->echo_back++;
    s->echo_at = 0;
}

static void receive(void *arg, const struct hsn_delivery *m)
{
    struct hsnd *d = arg;
    const uint8_t *header = m->header.iov_base;

    if (m->header.iov_len != ECHO_SIZE || be_load32(header) != ECHO_MAGIC)
        return;
    if (be_load32(header + 4) == ECHO_ASK)
        say(d, m->from, ECHO_ANSWER, be_load64(header + 8));
    else
        came_back(d, m->from, be_load64(header + 8));
}

static void on_timer(struct ev_loop *loop, ev_timer *t, int events)
{
    struct hsnd *d = t->data;
    const struct hsn_routes *routes = hsn_engine_routes(d->engine);

    (void)loop;
    (void)events;
    for (size_t i = 0; i < routes->npeers; i++) {
        struct hsn_routed *peer = &routes->peers[i];

        if (!peer->neighbour || peer->address == d->board)
            continue;
        peer->state.echo_sent++;
        peer->state.echo_number++;
        peer->state.echo_at = hsnd_clock();
        say(d, peer->address, ECHO_ASK, peer->state.echo_number);
    }
}

int echo_open(struct hsnd *d)
{
    static const struct hsn_module_ops ops = {receive, done, true};

    if (hsn_engine_open(d->engine, HSN_MODULE_ECHO, &ops, d) < 0)
        return -1;
    if (d->conf.echo_s) {
        ev_timer_init(&d->echo_timer, on_timer, 0.1, (double)d->conf.echo_s);
        d->echo_timer.data = d;
        ev_timer_start(d->loop, &d->echo_timer);
    }
    return 0;
}
