/* SPDX-License-Identifier: BSD-3-Clause */
#include "hsn/echo_round.h"

/* The number of an echo: the round's and the route's. */
static uint64_t number_of(const struct hsn_peer_state *s, unsigned route)
{
    return (uint64_t)s->echo_number << 8 | route;
}

static void ask_peer(struct hsn_echo *x, struct hsn_routes *r,
                     struct hsn_routed *peer, uint64_t now, hsn_echo_ask_f *ask,
                     void *arg)
{
    struct hsn_peer_state *s = &peer->state;

    s->in_use = false;
    s->echo_sent++;
    s->echo_number++;
    s->echo_at = now;
    s->asked = (uint8_t)((1u << peer->nroutes) - 1);
    s->answered = 0;
    x->due = now + x->wait_ns;
    for (unsigned i = 0; i < peer->nroutes; i++) {
        r->states[peer->first + i].echo_sent++;
        ask(arg, peer->address, (uint8_t)(i + 1), number_of(s, i));
    }
}

bool hsn_echo_begin(struct hsn_echo *x, struct hsn_routes *r, uint64_t now,
                    hsn_echo_ask_f *ask, void *arg)
{
    bool changed = hsn_echo_judge(x, r);
    size_t from = x->at, busy = 0;

    for (size_t i = 0; i < r->npeers; i++) {
        size_t k = (from + i) % r->npeers;
        struct hsn_routed *peer = &r->peers[k];

        if (peer->address == x->board)
            continue;
        if (!peer->neighbour && !peer->state.in_use)
            continue;
        if (!peer->neighbour && ++busy > HSN_ECHO_BUSY_MAX)
            continue;
        if (!peer->neighbour)
            x->at = k + 1;
        ask_peer(x, r, peer, now, ask, arg);
    }
    return changed;
}

/* An answer by one route is enough to know it lives. */
static bool route_lives(struct hsn_echo *x, struct hsn_routes *r,
                        struct hsn_routed *peer, unsigned route)
{
    bool revived = hsn_routes_mark(r, peer, route, false);

    r->states[peer->first + route].echo_back++;
    x->revived += revived;
    return revived;
}

bool hsn_echo_answer(struct hsn_echo *x, struct hsn_routes *r, uint64_t board,
                     uint64_t number, uint64_t now)
{
    struct hsn_routed *peer = hsn_routes_find(r, board);
    struct hsn_peer_state *s = peer ? &peer->state : NULL;
    unsigned route = number & 0xff;
    bool changed = false;

    if (!s || route >= peer->nroutes || number != number_of(s, route) ||
        !(s->asked & ~s->answered & 1u << route))
        return false;
    if (!s->answered) {
        s->rtt_ns = now - s->echo_at;
        if (s->rtt_min_ns == 0 || s->rtt_ns < s->rtt_min_ns)
            s->rtt_min_ns = s->rtt_ns;
        s->echo_back++;
        changed = s->silent;
        s->silent = false;
    }
    s->answered |= (uint8_t)(1u << route);
    return route_lives(x, r, peer, route) || changed;
}

static bool judge_peer(struct hsn_echo *x, struct hsn_routes *r,
                       struct hsn_routed *peer)
{
    struct hsn_peer_state *s = &peer->state;
    unsigned lost = s->asked & ~s->answered;
    bool changed = false;

    if (s->answered) {
        for (unsigned i = 0; i < peer->nroutes; i++)
            if (lost >> i & 1 && hsn_routes_mark(r, peer, i, true)) {
                x->died++;
                changed = true;
            }
    } else {
        changed = !s->silent;
        s->silent = true;
    }
    s->asked = s->answered = 0;
    s->echo_at = 0;
    return changed;
}

bool hsn_echo_judge(struct hsn_echo *x, struct hsn_routes *r)
{
    bool changed = false;

    x->due = 0;
    for (size_t i = 0; i < r->npeers; i++)
        if (r->peers[i].state.asked)
            changed |= judge_peer(x, r, &r->peers[i]);
    return changed;
}
