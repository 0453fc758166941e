/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An area: the token at its begin, words, and behind them the memory.
 */
#define _GNU_SOURCE /* process_vm_readv */
#include "libimpi/win_share.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mac.h"
#include "libimpi/lives.h"
#include "libimpi/loss.h"
#include "libimpi/state.h"

#define WORDS_AT 64 /* behind the token, a cache line */
/* Memory begins in the middle of a page of this size, on every machine alike:
 * large memory of malloc() begins near that of a page, and a copy between two
 * places that differ by few bytes but for whole pages is ten times slower, for
 * a load has to wait for a store that it seems to meet. */
#define PAGE 4096
/* Looks at a lock that is held for some instructions, before others may run;
 * and then those between looks at its holder's life. */
#define SPINS 100
#define LOOK_EVERY 50000

_Static_assert(IMPI_SHARE_TOKEN_SIZE <= WORDS_AT, "no room for the token");

bool win_share_agreed(void)
{
    return impi_be.world.flags & IMPI_WORLD_RMA_SHARE;
}

bool win_by_messages(void)
{
    const char *text = getenv("SLURM_IMPI_WINDOWS");

    return text && strcmp(text, "messages") == 0;
}

bool win_share_wanted(void)
{
    return win_share_agreed() && !share_is_off() && !win_by_messages();
}

static size_t memory_at(const struct win_layout *l)
{
    size_t words = l->owners * impi_rma_words_size(l->members);

    return (WORDS_AT + words + PAGE / 2 - 1) / PAGE * PAGE + PAGE / 2;
}

/* Of its owner-th member. */
static struct impi_rma_words *words_of(const struct share_area *a,
                                       uint32_t members, uint32_t owner)
{
    size_t at = WORDS_AT + owner * impi_rma_words_size(members);

    return (struct impi_rma_words *)(void *)(a->at + at);
}

bool win_share_make(struct share_area *a, const struct win_layout *l,
                    void **memory)
{
    size_t at = memory_at(l);

    *a = SHARE_NO_AREA;
    if (l->bytes > SIZE_MAX / 2 || share_area_make(a, at + l->bytes) < 0)
        return false;
    if (mac_random(a->at, IMPI_SHARE_TOKEN_SIZE) < 0) {
        share_area_free(a);
        return false;
    }
    if (memory)
        *memory = a->at + at;
    return true;
}

/* Where a process of another machine listens, none of ours does. */
static bool is_near(int rank)
{
    struct netaddr own = listens_at((uint32_t)impi_be.rank);
    struct netaddr other = listens_at((uint32_t)rank);

    return share_is_one_machine(&own, &other);
}

bool win_share_open(struct share_area *a, const struct win_layout *l, int rank,
                    const int said[WIN_SAY_AREA], void **memory)
{
    const void *token = said + WIN_SAY_TOKEN;
    size_t at = memory_at(l);

    *a = SHARE_NO_AREA;
    if (l->bytes > SIZE_MAX / 2 ||
        share_area_open(a, (uint32_t)said[WIN_SAY_PID],
                        (uint32_t)said[WIN_SAY_FD], at + l->bytes,
                        is_near(rank) ? token : NULL) < 0)
        return false;
    if (!mac_equal(a->at, said + WIN_SAY_TOKEN, IMPI_SHARE_TOKEN_SIZE)) {
        share_area_free(a);
        return false;
    }
    if (memory)
        *memory = a->at + at;
    return true;
}

static void say_address(int said[2], const void *at)
{
    uint64_t address = (uintptr_t)at;

    said[0] = (int)(address >> 32);
    said[1] = (int)(uint32_t)address;
}

static uint64_t address_of(const int said[2])
{
    return (uint64_t)(uint32_t)said[0] << 32 | (uint32_t)said[1];
}

void win_share_say(const struct share_area *a, const void *base,
                   int said[WIN_SAY_AREA])
{
    memset(said, 0, WIN_SAY_AREA * sizeof(int));
    if (!a->at)
        return;
    said[WIN_SAY_PID] = (int)share_pid();
    said[WIN_SAY_FD] = a->fd;
    say_address(said + WIN_SAY_AT, a->at);
    say_address(said + WIN_SAY_BASE, base);
    memcpy(said + WIN_SAY_TOKEN, a->at, IMPI_SHARE_TOKEN_SIZE);
}

/* Is the memory of all in the own area? */
static bool is_one_area(const struct win *w)
{
    return w->flavor == MPI_WIN_FLAVOR_SHARED;
}

void win_share_own(struct win *w)
{
    uint32_t owner = is_one_area(w) ? (uint32_t)w->c->rank : 0;

    if (w->area.at)
        impi_rma_win_words(w->core,
                           words_of(&w->area, (uint32_t)w->c->size, owner));
}

/* ---- the others' ---- */

static void reach(struct win *w, int member, const struct share_area *a,
                  uint32_t owner, void *memory)
{
    w->direct[member] = memory != NULL;
    impi_rma_win_reach(w->core, (uint32_t)member,
                       words_of(a, (uint32_t)w->c->size, owner), memory,
                       w->sizes[member]);
}

/* Behind that of those before it. */
static void reach_within(struct win *w, int member)
{
    uint8_t *at = (uint8_t *)w->base;

    for (int i = 0; i < w->c->rank; i++)
        at -= w->sizes[i];
    for (int i = 0; i < member; i++)
        at += w->sizes[i];
    reach(w, member, &w->area, (uint32_t)member, at);
}

static void reach_apart(struct win *w, int member, const int said[WIN_SAY_AREA])
{
    bool memory = w->flavor == MPI_WIN_FLAVOR_ALLOCATE;
    struct win_layout l = {(uint32_t)w->c->size, 1,
                           memory ? w->sizes[member] : 0};
    struct share_area *a = &w->areas[member];
    void *at;

    if (member == w->c->rank)
        reach(w, member, &w->area, 0, memory ? w->base : NULL);
    else if (win_share_open(a, &l, w->c->world[member], said, &at))
        reach(w, member, a, 0, memory ? at : NULL);
}

/* ---- memory that is not in an area ---- */

static int copy(uint32_t pid, uint64_t address, void *own, size_t len,
                bool write)
{
    while (len > 0) {
        struct iovec here = {own, len};
        struct iovec there = {(void *)(uintptr_t)address, len};
        ssize_t n = write
                        ? process_vm_writev((pid_t)pid, &here, 1, &there, 1, 0)
                        : process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0);

        if (n <= 0)
            return -1;
        own = (uint8_t *)own + n;
        address += (uint64_t)n;
        len -= (size_t)n;
    }
    return 0;
}

int win_share_copy(void *arg, const struct impi_rma_win *core, uint32_t target,
                   uint64_t address, void *own, size_t len, bool write)
{
    const struct win *w = win_of(core);

    (void)arg;
    return w ? copy(w->pids[target], address, own, len, write) : -1;
}

/* Does the kernel let us?  Then the token is where the member says. */
static bool may_copy(const struct win *w, int member,
                     const int said[WIN_SAY_AREA])
{
    uint8_t token[IMPI_SHARE_TOKEN_SIZE];

    return member != w->c->rank && w->pids[member] &&
           copy(w->pids[member], address_of(said + WIN_SAY_AT), token,
                sizeof(token), false) == 0 &&
           mac_equal(token, said + WIN_SAY_TOKEN, sizeof(token));
}

/* Other windows may have its memory, too.  In a pid namespace of our own the
 * pids of others mean nothing: impid alone sees their ends. */
static void know_process(struct win *w, int member, uint32_t pid)
{
    if (!share_sees_others())
        return;
    w->pids[member] = pid;
    if (member == w->c->rank)
        return;
    be_lock();
    lives_add((uint32_t)w->c->world[member], pid);
    be_unlock();
}

void win_share_reach(struct win *w, int member, const int said[WIN_SAY_AREA])
{
    if (!w->area.at)
        return;
    if (is_one_area(w))
        reach_within(w, member);
    else
        reach_apart(w, member, said);
    if (impi_rma_win_reached(w->core, (uint32_t)member))
        know_process(w, member, (uint32_t)said[WIN_SAY_PID]);
    if (w->flavor == MPI_WIN_FLAVOR_CREATE && may_copy(w, member, said))
        impi_rma_win_reach_far(w->core, (uint32_t)member,
                               address_of(said + WIN_SAY_BASE),
                               w->sizes[member]);
}

bool win_share_reaches(const struct win *w, int member)
{
    return w->direct[member];
}

/* ---- those who end while others wait ---- */

static void look_at(const struct win *w, uint32_t who, uint32_t target,
                    const char *what)
{
    char window[WIN_TEXT_MAX];

    if (who >= (uint32_t)w->c->size || w->pids[who] == 0 ||
        !share_is_gone(w->pids[who]))
        return;
    loss_in_window((uint32_t)w->c->world[who], what,
                   (uint32_t)w->c->world[target], win_text(w, window));
}

void win_share_watch(const struct win *w, int target)
{
    const struct impi_rma_words *words =
        impi_rma_win_reached(w->core, (uint32_t)target);

    for (int i = 0; words && i < w->c->size; i++)
        if (atomic_load_explicit(&words->holds[i], memory_order_relaxed))
            look_at(w, (uint32_t)i, (uint32_t)target,
                    "had or awaited a lock of");
}

void win_share_pause(void *arg, const struct impi_rma_win *core,
                     uint32_t target, uint32_t who, unsigned round)
{
    const struct win *w;

    (void)arg;
    if (round < SPINS)
        return;
    sched_yield();
    if (round % LOOK_EVERY == 0 && (w = win_of(core)))
        look_at(w, who, target, "was changing memory of");
}

void win_share_free(struct win *w)
{
    share_area_free(&w->area);
    for (int i = 0; w->areas && i < w->c->size; i++)
        share_area_free(&w->areas[i]);
    for (int i = 0; w->pids && i < w->c->size; i++)
        if (w->pids[i] && i != w->c->rank)
            lives_drop((uint32_t)w->c->world[i]);
    free(w->areas);
    free(w->pids);
}
