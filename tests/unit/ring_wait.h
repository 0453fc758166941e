/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who waits at a ring as daemons and libhsn do, for tests and benchmarks that
 * have neither: spins, then sleeps at the bell.
 */
#ifndef RING_WAIT_H
#define RING_WAIT_H

#include <errno.h>
#include <poll.h>

#include "base/ring.h"

/* How long a waiting thread spins before it sleeps: longer while that pays,
 * shorter while it does not.  All zero to begin with. */
struct ring_spin {
    unsigned rounds;
};

/* A round is one look and one pause, some 50 ns: 200 rounds are about what
 * falling asleep and waking costs, the longest spin is some ten times that. */
enum { SPIN_MIN = 16, SPIN_START = 200, SPIN_MAX = 2048 };

static inline void pause_a_moment(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* 1 a record, 0 none, -1 broken. */
static inline int has_one(struct ring *r)
{
    size_t len;

    if (ring_peek(r, &len))
        return 1;
    return errno == EAGAIN ? 0 : -1;
}

static inline int spin_for_one(struct ring *r, struct ring_spin *spin)
{
    int found = 0;

    if (!spin->rounds)
        spin->rounds = SPIN_START;
    for (unsigned i = 0; i < spin->rounds && !found; i++) {
        found = has_one(r);
        if (!found)
            pause_a_moment();
    }
    if (found)
        spin->rounds =
            spin->rounds * 2 < SPIN_MAX ? spin->rounds * 2 : SPIN_MAX;
    else
        spin->rounds =
            spin->rounds / 2 > SPIN_MIN ? spin->rounds / 2 : SPIN_MIN;
    return found;
}

/* 1 rung, 0 time is over, -1 with errno. */
static inline int sleep_at_bell(int bell, int timeout)
{
    struct pollfd p = {.fd = bell, .events = POLLIN};
    int n = poll(&p, 1, timeout);

    if (n <= 0)
        return n;
    return ring_bell_clear(bell) < 0 ? -1 : 1;
}

/* Consumer: wait until there is a record; timeout in ms, -1 for ever.  1: there
 * is one, 0: time is over, -1 with errno: EPROTO broken, ECONNRESET the peer
 * is gone (after its last record), EINTR. */
static inline int ring_wait(struct ring *r, int bell, int timeout,
                            struct ring_spin *spin)
{
    int found = timeout ? spin_for_one(r, spin) : has_one(r);

    while (!found) {
        int rung = 1, saved = 0;

        if (ring_sleep(r)) {
            rung = sleep_at_bell(bell, timeout);
            saved = errno;
            ring_awake(r);
            errno = saved;
        }
        found = has_one(r);
        if (!found && rung <= 0) {
            if (rung < 0)
                errno = saved;
            return rung;
        }
    }
    return found;
}

#endif
