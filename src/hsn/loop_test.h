/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What does the cable of this board lose or break, and does it come and go?
 * Five times a second a few
 * frames go to the crossbar at its other end and turn round there, so that
 * nobody else's daemon, cable or load has a part in it.  After a frame was
 * missed it is many frames for a while.
 *
 * Counted are crossings of the cable, two a frame, and frames that did not
 * come back within HSN_LOOP_WAIT looks.  Not counted are looks around which
 * nothing came back at all: then the cable or the crossbar was dead, which is
 * a gap and no rate.  Nor are those around which packets that arrived had no
 * room here.
 *
 * Where nothing ever comes back (the other end is no crossbar) nothing is
 * counted and hardly anything sent.
 *
 * Pure: frames leave by a callback.
 */
#ifndef SF_HSN_LOOP_TEST_H
#define SF_HSN_LOOP_TEST_H

#include <stdbool.h>
#include <stdint.h>

/* Between two looks, on the average; uneven by a quarter, so that a cable that
 * goes down and up in step with them does not look well. */
#define HSN_LOOP_LOOK_NS 200000000ULL
#define HSN_LOOP_FEW 4 /* frames of a look */
#define HSN_LOOP_MANY 32
#define HSN_LOOP_WARY 150 /* looks with many, after a frame was missed */
#define HSN_LOOP_SOON 3   /* looks after which it is missed */
#define HSN_LOOP_WAIT 25  /* ... and counts as lost */
#define HSN_LOOP_KEPT 32  /* looks that are remembered */
#define HSN_LOOP_RARE 50  /* looks between two tries where none ever came */

struct hsn_loop_look {
    uint32_t number;
    uint32_t sent, back; /* frames, a bit each */
    uint64_t crowded;    /* how often there was no room, until then */
};

struct hsn_loop {
    struct hsn_loop_look looks[HSN_LOOP_KEPT];
    uint32_t number; /* of the last look */
    uint32_t began;  /* the first one since nothing was known */
    unsigned wary;   /* looks with many frames, still */
    bool works;      /* a frame has come back */
    uint64_t sent;   /* crossings; the cable's counters */
    uint64_t lost;
    uint64_t gaps; /* times that nothing came back any more */
};

/* False: it did not leave. */
typedef bool hsn_loop_send_f(void *arg, uint32_t number, unsigned frame);

/* crowded: a counter of the times that packets had no room here. */
void hsn_loop_look(struct hsn_loop *x, uint64_t crowded, hsn_loop_send_f *send,
                   void *arg);
/* Does the other end answer?  1: yes.  -1: no, not in the last looks, though it
 * did before.  0: it never did. */
int hsn_loop_answers(const struct hsn_loop *x);
/* How long until the next look. */
uint64_t hsn_loop_pause(const struct hsn_loop *x);
/* A frame is back; or it never left. */
void hsn_loop_returned(struct hsn_loop *x, uint32_t number, unsigned frame);
void hsn_loop_unsent(struct hsn_loop *x, uint32_t number, unsigned frame);
/* There is no link: what is under way says nothing. */
void hsn_loop_forget(struct hsn_loop *x);

#endif
