/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Does anybody hear this board?  Looked at five times a second.  While packets
 * come, somebody is there and nothing is asked.  After a look without any,
 * neighbours are asked, each time by another route; when they stay silent,
 * others as well, so that neighbours which are switched off together are no
 * proof.  A board that had answers once and now had none for HSN_ALONE_LOOKS
 * looks is alone: its cable, its crossbar or its sender is dead.
 *
 * Packets prove only that we hear.  After a round of echoes that nobody
 * answered, and while the board is alone, only an answer counts.
 *
 * Pure: echoes leave by a callback.
 */
#ifndef SF_HSN_ALONE_H
#define SF_HSN_ALONE_H

#include "hsn/echo_round.h"

#define HSN_ALONE_LOOK_NS 200000000ULL /* between two looks */
#define HSN_ALONE_LOOKS 5
#define HSN_ALONE_WIDE 2    /* from the second silent look on others, too */
#define HSN_ALONE_OTHERS 16 /* that are no neighbours, in one look */
#define HSN_ALONE_NUMBER (UINT64_C(1) << 63) /* of these echoes: no round's */

struct hsn_alone {
    uint64_t board;   /* own: not asked */
    uint64_t packets; /* at the last look */
    unsigned quiet;   /* looks in a row without a sign of life */
    bool heard;       /* somebody has answered since the start */
    bool answered;    /* since the last look */
    bool unheard;     /* packets do not count */
    bool alone;
    unsigned unanswered; /* rounds of echoes in a row without any answer */
    size_t at;           /* where the last look stopped */
    unsigned way;        /* route of the next look */
};

/* Each returns whether `alone` has changed. */

/* `packets`: received from the network so far. */
bool hsn_alone_look(struct hsn_alone *x, const struct hsn_routes *r,
                    uint64_t packets, hsn_echo_ask_f *ask, void *arg);
/* Any answer to any echo, late ones too. */
bool hsn_alone_answer(struct hsn_alone *x);
/* A round of echoes is over. */
void hsn_alone_round(struct hsn_alone *x, const struct hsn_routes *r);

#define HSN_ALONE_ROUNDS 2 /* of that sort: nobody answers */

/* Does anybody answer?  1: yes.  -1: no, of so many boards that were *asked.
 * 0: nothing can be said, as long as there is nobody to ask. */
int hsn_alone_answers(const struct hsn_alone *x, const struct hsn_routes *r,
                      uint32_t *asked);

#endif
