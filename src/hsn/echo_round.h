/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which routes live: rounds of echoes, one by each route to every neighbour
 * and to those peers to which messages go.  A peer answers each by all of its
 * own routes, so that one live way back is enough.  A route without an answer
 * is dead when another one of the same peer has one; a peer of which no route
 * has one is silent, and its routes stay as they are.
 *
 * Pure: time is an argument (nanoseconds), echoes leave by a callback.
 */
#ifndef SF_HSN_ECHO_ROUND_H
#define SF_HSN_ECHO_ROUND_H

#include "hsn/routes.h"

/* Peers that are no neighbours, asked in one round. */
#define HSN_ECHO_BUSY_MAX 64

struct hsn_echo {
    uint64_t board;   /* own: not asked */
    uint64_t wait_ns; /* for answers */
    uint64_t due;     /* when hsn_echo_judge() is; 0: no echo is on its way */
    size_t at;        /* where the last round stopped */
    uint64_t died, revived; /* routes, so far */
};

/* Ask by alternative `by` (from 1 on). */
typedef void hsn_echo_ask_f(void *arg, uint64_t board, uint8_t by,
                            uint64_t number);

/* Each returns whether a route has died or lives again, or a peer has become
 * silent or is so no more. */

/* A new round; judges what is left of the one before. */
bool hsn_echo_begin(struct hsn_echo *x, struct hsn_routes *r, uint64_t now,
                    hsn_echo_ask_f *ask, void *arg);
bool hsn_echo_answer(struct hsn_echo *x, struct hsn_routes *r, uint64_t board,
                     uint64_t number, uint64_t now);
/* Time is over: who has not answered? */
bool hsn_echo_judge(struct hsn_echo *x, struct hsn_routes *r);

#endif
