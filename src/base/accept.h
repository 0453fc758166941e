/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Accepting when there are no descriptors left: the connection stays in the
 * listener, which stays readable, and a loop that waits for it spins.  Two ways
 * out: turn the caller away by a descriptor kept for that, or let the listener
 * rest for a while, for callers that must not be turned away.
 */
#ifndef SF_BASE_ACCEPT_H
#define SF_BASE_ACCEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/* accept4(2), nonblocking and close-on-exec.  *spare is the caller's, 0 at
 * first; from then on it holds a descriptor in reserve.  When there is no
 * other, that one is used to close the connection of the peer that comes.  -1
 * with errno as accept4 sets it. */
int accept_or_shed(int listener, int *spare);

/* Raise this process's limit of descriptors as far as it may; returns the
 * limit. */
size_t accept_room(void);

/* The spare one is not needed any more. */
void accept_spare_close(int *spare);

/* Seconds of any clock; all zero: no rest. */
struct accept_rest {
    time_t until;
};

/* accept failed with `error` at `now`: rest if it would again at once. */
void accept_rest_begin(struct accept_rest *r, int error, time_t now);
static inline bool accept_resting(const struct accept_rest *r, time_t now)
{
    return now < r->until;
}

#endif
