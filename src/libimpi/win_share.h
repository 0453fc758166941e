/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of windows that processes of one machine share (doc/impi-rma.md).
 * Each member makes an area: words that guard its memory (impi/rma_words.h)
 * and, in a window of MPI_Win_allocate, the memory itself.  Who can opens it
 * (libimpi/share.h) and needs no messages to it from then on; each pair finds
 * out for itself.
 */
#ifndef LIBIMPI_WIN_SHARE_H
#define LIBIMPI_WIN_SHARE_H

#include "libimpi/share.h"
#include "libimpi/win.h"

/* What a member says of its area, in ints: its process, descriptor, where it
 * has the area and where its memory in the window, both in two parts, the
 * token. */
enum {
    WIN_SAY_PID,
    WIN_SAY_FD,
    WIN_SAY_AT,
    WIN_SAY_BASE = WIN_SAY_AT + 2,
    WIN_SAY_TOKEN = WIN_SAY_BASE + 2,
    WIN_SAY_AREA = WIN_SAY_TOKEN + IMPI_SHARE_TOKEN_SIZE / (int)sizeof(int)
};

/* The user wants windows to use messages for everything. */
bool win_by_messages(void);
/* Have all agreed, and does this process want to? */
bool win_share_agreed(void);
bool win_share_wanted(void);

/* What is in an area: words of as many of the window's members as have their
 * memory in it (one, or all), and that memory. */
struct win_layout {
    uint32_t members, owners;
    uint64_t bytes;
};

/* An area of our own; *memory (or NULL): where its memory begins.  False: it
 * cannot be made. */
bool win_share_make(struct share_area *a, const struct win_layout *l,
                    void **memory);
/* That of another one that said so, by its rank in the world. */
bool win_share_open(struct share_area *a, const struct win_layout *l, int rank,
                    const int said[WIN_SAY_AREA], void **memory);
/* For the others; also if there is no area. */
void win_share_say(const struct share_area *a, const void *base,
                   int said[WIN_SAY_AREA]);

/* Our own members' words, once the window is there. */
void win_share_own(struct win *w);
/* Open what a member told of, which may have its memory in it; one after the
 * other.  All of a window of MPI_Win_allocate_shared are in the own area. */
void win_share_reach(struct win *w, int member, const int said[WIN_SAY_AREA]);
/* Does this process reach that one's memory, or what needs none? */
bool win_share_reaches(const struct win *w, int member);

/* To be called now and then while waiting for a lock of this target: is a
 * process that holds it still there?  If not, the job ends. */
void win_share_watch(const struct win *w, int target);

/* struct impi_rma_ops' copy: memory that a program gave to MPI_Win_create. */
int win_share_copy(void *arg, const struct impi_rma_win *core, uint32_t target,
                   uint64_t address, void *own, size_t len, bool write);
/* Its pause. */
void win_share_pause(void *arg, const struct impi_rma_win *core,
                     uint32_t target, uint32_t who, unsigned round);

void win_share_free(struct win *w);

#endif
