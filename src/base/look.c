/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>

#include "base/look.h"

#define PAUSES 8
/* What the owner does not say.  It is twice as long each time that it does not
 * look again. */
#define KEPT_NS 30000u
#define PAUSE_LEAST_NS 100000000u
#define PAUSE_MOST_NS 1600000000u

/* How long the rest after the last look took.  One long rest is an interrupt, a
 * burst of something urgent or the host of a virtual machine: sleeping would
 * have lost as much.  A competitor that does not give way takes every one. */
static void judge_rest(struct look *l, uint64_t now)
{
    if (!l->rested)
        return;
    if (now - l->rested <= (l->kept ? l->kept : KEPT_NS)) {
        l->late = false;
        return;
    }
    if (!l->late) {
        l->late = true;
        return;
    }
    if (l->pause)
        l->pause *= 2;
    else
        l->pause = l->least ? l->least : PAUSE_LEAST_NS;
    if (l->pause > PAUSE_MOST_NS)
        l->pause = PAUSE_MOST_NS;
    l->crowded = now + l->pause;
}

void look_found(struct look *l, uint64_t now)
{
    judge_rest(l, now);
    if (l->rested && now >= l->crowded)
        l->pause = 0; /* looking has paid */
    if (l->idle)
        l->pays = now - l->idle <= l->most;
    l->idle = l->rested = 0;
}

bool look_idle(struct look *l, uint64_t now)
{
    judge_rest(l, now);
    if (!l->idle)
        l->idle = now;
    l->rested =
        l->pays && now >= l->crowded && now - l->idle < l->most ? now : 0;
    return l->rested;
}

void look_rest(void)
{
    for (int i = 0; i < PAUSES; i++)
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ __volatile__("yield");
#else
        ;
#endif
    sched_yield();
}
