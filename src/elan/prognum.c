/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "elan/prognum.h"

static uint32_t advance(const struct elan_prognum *p, uint32_t number,
                        uint32_t by)
{
    return (uint32_t)(((uint64_t)number - p->first + by) % p->count) + p->first;
}

static void start(struct elan_prognum *p, uint32_t next)
{
    *p = (struct elan_prognum){
        .first = 1,
        .count = ELAN_PROGNUM_MAX,
        .next = next,
    };
}

void elan_prognum_init_random(struct elan_prognum *p, uint32_t random)
{
    start(p, random % ELAN_PROGNUM_MAX + 1);
}

void elan_prognum_init_block(struct elan_prognum *p, uint32_t first)
{
    *p = (struct elan_prognum){
        .first = first,
        .count = ELAN_PROGNUM_BLOCK,
        .next = first,
    };
}

int elan_prognum_init_saved(struct elan_prognum *p, uint32_t next)
{
    if (next == 0 || next > ELAN_PROGNUM_MAX) {
        errno = EINVAL;
        return -1;
    }
    start(p, next);
    return 0;
}

static void step(struct elan_prognum *p, uint32_t by)
{
    p->next = advance(p, p->next, by);
    p->reserved = p->reserved > by ? p->reserved - by : 0;
}

uint32_t elan_prognum_take(struct elan_prognum *p, elan_prognum_live_f *live,
                           void *arg)
{
    for (uint32_t tries = 0; tries < p->count; tries++) {
        uint32_t number = p->next;

        step(p, 1);
        if (!live || !live(number, arg))
            return number;
    }
    errno = EBUSY;
    return 0;
}

/* How far it is to a number that begins a block. */
static uint32_t to_block(const struct elan_prognum *p)
{
    uint32_t by = (ELAN_PROGNUM_BLOCK - p->next % ELAN_PROGNUM_BLOCK) %
                  ELAN_PROGNUM_BLOCK;

    return p->next > ELAN_PROGNUM_MAX - by
               ? ELAN_PROGNUM_MAX - p->next + ELAN_PROGNUM_BLOCK
               : by;
}

uint32_t elan_prognum_take_block(struct elan_prognum *p, uint32_t most,
                                 elan_prognum_live_f *taken, void *arg)
{
    for (uint32_t tries = 0; tries < most; tries++) {
        uint32_t number;

        step(p, to_block(p));
        number = p->next;
        step(p, ELAN_PROGNUM_BLOCK);
        if (!taken(number, arg))
            return number;
    }
    errno = EBUSY;
    return 0;
}

uint32_t elan_prognum_to_save(const struct elan_prognum *p, bool exact)
{
    return exact ? p->next : advance(p, p->next, ELAN_PROGNUM_RESERVE);
}

bool elan_prognum_wants_save(const struct elan_prognum *p)
{
    return p->reserved == 0;
}

void elan_prognum_saved(struct elan_prognum *p)
{
    p->reserved = ELAN_PROGNUM_RESERVE;
}
