/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Program numbers: 1, 2, ... INT32_MAX, then 1 again; never one that a live
 * program has.
 *
 * A number is not given out twice across a crash either: the number saved on
 * disk is ELAN_PROGNUM_RESERVE ahead of those given out, and a controller
 * that was killed goes on from there.  What lies between is skipped: it may
 * belong to steps whose record was lost while their processes still run.
 * elan_prognum_wants_save() tells when the reserve is used up.
 */
#ifndef SF_ELAN_PROGNUM_H
#define SF_ELAN_PROGNUM_H

#include <stdbool.h>
#include <stdint.h>

#define ELAN_PROGNUM_MAX INT32_MAX
#define ELAN_PROGNUM_RESERVE 1024
/* Numbers that a job is leased at once: a multiple of this and those behind
 * it.  0 is none, so the first such block begins with this number. */
#define ELAN_PROGNUM_BLOCK 1024

struct elan_prognum {
    uint32_t first, count; /* the numbers that there are */
    uint32_t next;
    uint32_t reserved; /* that many may be given out before the next save */
};

typedef bool elan_prognum_live_f(uint32_t prognum, void *arg);

/* Start anywhere (no saved state): `random` picks the first number. */
void elan_prognum_init_random(struct elan_prognum *p, uint32_t random);
/* Go on from a saved number.  -1 (EINVAL) when it is not 1..INT32_MAX. */
int elan_prognum_init_saved(struct elan_prognum *p, uint32_t next);

/* Only those of one block. */
void elan_prognum_init_block(struct elan_prognum *p, uint32_t first);

/* First number of the block that a number is in. */
static inline uint32_t elan_prognum_block(uint32_t number)
{
    return number - number % ELAN_PROGNUM_BLOCK;
}

/* The next number that no live program has; 0 (EBUSY) when all are live. */
uint32_t elan_prognum_take(struct elan_prognum *p, elan_prognum_live_f *live,
                           void *arg);

/* First number of the next block that is not taken: `taken` is asked about that
 * number.  0 (EBUSY) when `most` blocks in a row are taken. */
uint32_t elan_prognum_take_block(struct elan_prognum *p, uint32_t most,
                                 elan_prognum_live_f *taken, void *arg);

/* Numbers to save: `exact` when the controller ends in order, else the one to
 * go on from after a crash. */
uint32_t elan_prognum_to_save(const struct elan_prognum *p, bool exact);
bool elan_prognum_wants_save(const struct elan_prognum *p);
/* The number of elan_prognum_to_save(p, false) is on disk. */
void elan_prognum_saved(struct elan_prognum *p);

#endif
