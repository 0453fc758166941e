/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An area: the token at its begin, words, and behind them the memory.
 */
#include "libimpi/win_share.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mac.h"
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

bool win_share_wanted(void)
{
    const char *text = getenv("SLURM_IMPI_WINDOWS");

    return win_share_agreed() && !share_is_off() &&
           !(text && strcmp(text, "messages") == 0);
}

static size_t memory_at(uint32_t members)
{
    return (WORDS_AT + impi_rma_words_size(members) + PAGE / 2 - 1) / PAGE *
               PAGE +
           PAGE / 2;
}

static struct impi_rma_words *words_of(const struct share_area *a)
{
    return (struct impi_rma_words *)(void *)(a->at + WORDS_AT);
}

bool win_share_make(struct share_area *a, uint32_t members, MPI_Aint bytes,
                    void **memory)
{
    size_t at = memory_at(members);

    *a = SHARE_NO_AREA;
    if ((uint64_t)bytes > SIZE_MAX / 2 ||
        share_area_make(a, at + (size_t)bytes) < 0)
        return false;
    if (mac_random(a->at, IMPI_SHARE_TOKEN_SIZE) < 0) {
        share_area_free(a);
        return false;
    }
    if (memory)
        *memory = a->at + at;
    return true;
}

void win_share_say(const struct share_area *a, int said[WIN_SAY_AREA])
{
    memset(said, 0, WIN_SAY_AREA * sizeof(int));
    if (!a->at)
        return;
    said[0] = (int)getpid();
    said[1] = a->fd;
    memcpy(said + 2, a->at, IMPI_SHARE_TOKEN_SIZE);
}

void win_share_own(struct win *w)
{
    if (w->area.at)
        impi_rma_win_words(w->core, words_of(&w->area));
}

/* ---- the others' ---- */

static void reach(struct win *w, int member, const struct share_area *a,
                  bool memory)
{
    uint8_t *at = memory ? a->at + memory_at((uint32_t)w->c->size) : NULL;

    w->direct[member] = memory;
    impi_rma_win_reach(w->core, (uint32_t)member, words_of(a), at,
                       memory ? w->sizes[member] : 0);
}

void win_share_reach(struct win *w, int member, const int said[WIN_SAY_AREA],
                     bool memory)
{
    struct share_area *a = &w->areas[member];
    uint64_t bytes = memory ? w->sizes[member] : 0;
    size_t len = memory_at((uint32_t)w->c->size) + bytes;

    if (member == w->c->rank) {
        if (w->area.at)
            reach(w, member, &w->area, memory);
        return;
    }
    if (!w->area.at || bytes > SIZE_MAX / 2 ||
        share_area_open(a, (uint32_t)said[0], (uint32_t)said[1], len) < 0)
        return;
    if (!mac_equal(a->at, said + 2, IMPI_SHARE_TOKEN_SIZE)) {
        share_area_free(a);
        return;
    }
    w->pids[member] = (uint32_t)said[0];
    reach(w, member, a, memory);
}

bool win_share_reaches(const struct win *w, int member)
{
    return w->direct[member];
}

/* ---- those who end while others wait ---- */

static void look_at(const struct win *w, uint32_t who, uint32_t target,
                    const char *what)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    uint32_t rank;
    int n;

    if (who >= (uint32_t)w->c->size || w->pids[who] == 0 ||
        !share_is_gone(w->pids[who]))
        return;
    rank = (uint32_t)w->c->world[who];
    be_last_words();
    impi_real.Win_get_name(w->handle, name, &n);
    be_die(1,
           "SF-E402: lost rank %u (client %u), which %s rank %d in a window "
           "of %d processes%s%s",
           rank, impi_be.world.procs[rank].client, what, w->c->world[target],
           w->c->size, name[0] ? ", " : "", name);
}

void win_share_watch(const struct win *w, int target)
{
    const struct impi_rma_words *words =
        impi_rma_win_reached(w->core, (uint32_t)target);

    for (int i = 0; words && i < w->c->size; i++)
        if (atomic_load_explicit(&words->holds[i], memory_order_relaxed))
            look_at(w, (uint32_t)i, (uint32_t)target, "had a lock of");
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
    free(w->areas);
    free(w->pids);
}
