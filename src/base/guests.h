/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections whose peer has not yet proved its identity, and which of them are
 * closed when there are too many.  A stranger can open any number; connections
 * of honest peers should live until their proof is read.  So
 *
 *   - those of other users of this machine are closed before those of unknown
 *     origin, these before other machines', and our own user's last;
 *   - among those of one kind the source that has most of them pays;
 *   - there the oldest that has not said a word goes, for an honest peer speaks
 *     at once; where few are silent a random one does, so that a stranger who
 *     speaks cannot know that the honest one is next.
 *
 * An honest peer that must go all the same comes again (guests_pause()).  A
 * pure engine: randomness is an argument, and the owner is asked who a peer is
 * only when one must be closed.
 */
#ifndef SF_BASE_GUESTS_H
#define SF_BASE_GUESTS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* In the order in which they go. */
enum guest_kind {
    GUEST_OTHER_USER, /* of this machine */
    GUEST_UNKNOWN,    /* of this machine, but not known whose */
    GUEST_REMOTE,
    GUEST_OWN /* this process's user, or root */
};

struct guest_source {
    enum guest_kind kind;
    uid_t uid;            /* GUEST_OTHER_USER, GUEST_OWN */
    struct in6_addr from; /* GUEST_REMOTE */
};

/* In the owner's record of a connection. */
struct guest {
    bool spoke; /* set by the owner: something was read */
    int fd;     /* the connection, for the function that is asked */
    /* private */
    bool asked;
    size_t at;
    uint64_t order;
    struct guest_source source;
};

struct guests {
    struct guest **all, **sorted;
    size_t n, room;
    uint64_t entered;
};

typedef void guest_ask_f(void *arg, const struct guest *g,
                         struct guest_source *source);

/* Zero to begin with. */
void guests_free(struct guests *t);
/* 0, or -1 with ENOMEM.  g is the owner's, and stays where it is. */
int guests_enter(struct guests *t, struct guest *g, int fd);
/* Nothing happens when it is not there. */
void guests_leave(struct guests *t, struct guest *g);

/* The guest to close; there must be at least one.  It is not removed. */
struct guest *guests_choose(struct guests *t, guest_ask_f *ask, void *arg,
                            uint64_t random);

/* How long to wait, in ms, before the try after so many that were closed
 * before the proof was answered (from 1 on): grows, with bounds, and is
 * scattered so that those who were sent away together do not meet again. */
unsigned guests_pause(unsigned tries, uint64_t random);

#endif
