/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "elan/prognum.h"

static uint32_t advance(uint32_t number, uint32_t by)
{
    return (number - 1 + by) % ELAN_PROGNUM_MAX + 1;
}

void elan_prognum_init_random(struct elan_prognum *p, uint32_t random)
{
    p->next = random % ELAN_PROGNUM_MAX + 1;
    p->reserved = 0;
}

int elan_prognum_init_saved(struct elan_prognum *p, uint32_t next)
{
    if (next == 0 || next > ELAN_PROGNUM_MAX) {
        errno = EINVAL;
        return -1;
    }
    p->next = next;
    p->reserved = 0;
    return 0;
}

static void step(struct elan_prognum *p)
{
    p->next = advance(p->next, 1);
    if (p->reserved > 0)
        p->reserved--;
}

uint32_t elan_prognum_take(struct elan_prognum *p, elan_prognum_live_f *live,
                           void *arg)
{
    for (uint32_t tries = 0; tries < ELAN_PROGNUM_MAX; tries++) {
        uint32_t number = p->next;

        step(p);
        if (!live || !live(number, arg))
            return number;
    }
    errno = EBUSY;
    return 0;
}

uint32_t elan_prognum_to_save(const struct elan_prognum *p, bool exact)
{
    return exact ? p->next : advance(p->next, ELAN_PROGNUM_RESERVE);
}

bool elan_prognum_wants_save(const struct elan_prognum *p)
{
    return p->reserved == 0;
}

void elan_prognum_saved(struct elan_prognum *p)
{
    p->reserved = ELAN_PROGNUM_RESERVE;
}
