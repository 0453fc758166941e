/* SPDX-License-Identifier: BSD-3-Clause */
#include "hsn/alone.h"

static void ask_one(const struct hsn_alone *x, const struct hsn_routed *peer,
                    hsn_echo_ask_f *ask, void *arg)
{
    if (peer->nroutes)
        ask(arg, peer->address, (uint8_t)(x->way % peer->nroutes + 1),
            HSN_ALONE_NUMBER);
}

static void ask_neighbours(const struct hsn_alone *x,
                           const struct hsn_routes *r, hsn_echo_ask_f *ask,
                           void *arg)
{
    for (size_t i = 0; i < r->npeers; i++) {
        if (r->peers[i].neighbour && r->peers[i].address != x->board)
            ask_one(x, &r->peers[i], ask, arg);
    }
}

/* Each look the next ones of the list. */
static void ask_others(struct hsn_alone *x, const struct hsn_routes *r,
                       hsn_echo_ask_f *ask, void *arg)
{
    size_t n = r->npeers < HSN_ALONE_OTHERS ? r->npeers : HSN_ALONE_OTHERS;

    for (size_t i = 0; i < n; i++, x->at++) {
        const struct hsn_routed *peer = &r->peers[x->at % r->npeers];

        if (!peer->neighbour && peer->address != x->board)
            ask_one(x, peer, ask, arg);
    }
}

static bool has_peers(const struct hsn_alone *x, const struct hsn_routes *r)
{
    for (size_t i = 0; i < r->npeers; i++) {
        if (r->peers[i].address != x->board)
            return true;
    }
    return false;
}

static bool set(struct hsn_alone *x, bool alone)
{
    bool changed = x->alone != alone;

    x->alone = alone;
    return changed;
}

bool hsn_alone_look(struct hsn_alone *x, const struct hsn_routes *r,
                    uint64_t packets, hsn_echo_ask_f *ask, void *arg)
{
    bool lives = x->answered || (!x->unheard && packets != x->packets);

    x->packets = packets;
    x->answered = false;
    /* Nobody to hear it, or nobody who ever did: nothing can be said. */
    if (!x->heard || !has_peers(x, r)) {
        x->quiet = 0;
        x->unheard = false;
        return set(x, false);
    }
    if (lives) {
        x->quiet = 0;
        return false;
    }
    if (++x->quiet >= HSN_ALONE_LOOKS)
        x->unheard = true;
    ask_neighbours(x, r, ask, arg);
    if (x->quiet >= HSN_ALONE_WIDE)
        ask_others(x, r, ask, arg);
    x->way++;
    return x->quiet >= HSN_ALONE_LOOKS && set(x, true);
}

bool hsn_alone_answer(struct hsn_alone *x)
{
    x->heard = x->answered = true;
    x->unheard = false;
    x->quiet = x->unanswered = 0;
    return set(x, false);
}

void hsn_alone_round(struct hsn_alone *x, const struct hsn_routes *r)
{
    size_t silent = 0, asked = 0;

    for (size_t i = 0; i < r->npeers; i++) {
        if (!r->peers[i].neighbour || r->peers[i].address == x->board)
            continue;
        asked++;
        silent += r->peers[i].state.silent;
    }
    if (!asked || silent < asked)
        return;
    x->unheard = true;
    x->unanswered++;
}

static uint32_t count_peers(const struct hsn_alone *x,
                            const struct hsn_routes *r, bool neighbours)
{
    uint32_t n = 0;

    for (size_t i = 0; i < r->npeers; i++)
        n += r->peers[i].address != x->board && r->peers[i].nroutes > 0 &&
             (r->peers[i].neighbour || !neighbours);
    return n;
}

int hsn_alone_answers(const struct hsn_alone *x, const struct hsn_routes *r,
                      uint32_t *asked)
{
    bool never = !x->heard && x->unanswered >= HSN_ALONE_ROUNDS;

    *asked = 0;
    if (!has_peers(x, r))
        return 0;
    if (!x->alone && !never)
        return x->heard;
    /* Rounds ask neighbours only; looks at a board that had answers, all. */
    *asked = count_peers(x, r, !x->alone);
    return -1;
}
