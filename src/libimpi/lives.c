/* SPDX-License-Identifier: BSD-3-Clause */
#include "libimpi/lives.h"

#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include "libimpi/loss.h"
#include "libimpi/share.h"

/* Rounds without a look at the clock; the longest sleep in one is 0.1 s. */
#define ROUNDS 8
/* So many are looked at, which takes some 5 us each, at most so often. */
#define LOOK_AT 16
#define LOOK_MS 20

struct life {
    uint32_t rank, pid, uses;
};

static struct {
    struct life *all;
    size_t n, room;
    size_t next; /* to be looked at */
    unsigned round;
    int64_t due; /* ms */
} lives;

static struct life *find(uint32_t rank)
{
    for (size_t i = 0; i < lives.n; i++)
        if (lives.all[i].rank == rank)
            return &lives.all[i];
    return NULL;
}

/* Without room it is not looked at. */
static void add(uint32_t rank, uint32_t pid)
{
    size_t room = lives.room ? 2 * lives.room : 16;
    struct life *all = lives.all;

    if (lives.n == lives.room) {
        all = realloc(all, room * sizeof(*all));
        if (!all)
            return;
        lives.all = all;
        lives.room = room;
    }
    all[lives.n++] = (struct life){rank, pid, 1};
}

void lives_add(uint32_t rank, uint32_t pid)
{
    struct life *l = find(rank);

    if (l)
        l->uses++;
    else if (!share_is_gone(pid))
        add(rank, pid);
}

void lives_drop(uint32_t rank)
{
    struct life *l = find(rank);

    if (l && --l->uses == 0)
        *l = lives.all[--lives.n];
    if (lives.n == 0)
        lives_stop();
}

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void look(void)
{
    for (size_t i = 0; i < LOOK_AT && i < lives.n; i++) {
        const struct life *l = &lives.all[lives.next++ % lives.n];

        if (share_is_gone(l->pid))
            loss_of_peer(l->rank, "its process has ended");
    }
}

void lives_look(void)
{
    int64_t now;

    if (lives.n == 0 || ++lives.round % ROUNDS)
        return;
    now = now_ms();
    if (now < lives.due)
        return;
    lives.due = now + LOOK_MS;
    look();
}

void lives_stop(void)
{
    free(lives.all);
    lives.all = NULL;
    lives.n = lives.room = 0;
}
