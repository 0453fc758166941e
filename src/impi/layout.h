/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the basic elements of a datatype lie in memory, so that external32 is
 * made from them, and they from it, in one pass.
 *
 * A layout is a tree: a leaf is n elements of one kind without gaps, all else
 * a list of runs, each some inner layout several times at a fixed distance.
 * The order is that of the type map, which is that of the wire.  Inner layouts
 * may be shared; each holds a count of its users, which is not atomic: a tree
 * belongs to one thread.
 */
#ifndef SF_IMPI_LAYOUT_H
#define SF_IMPI_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "impi/external32.h"

struct impi_layout;

/* NULL: no memory. */
struct impi_layout *impi_layout_leaf(enum impi_x32 kind, uint64_t n);
/* Of at most `runs` runs, none yet. */
struct impi_layout *impi_layout_list(size_t runs);
struct impi_layout *impi_layout_hold(struct impi_layout *l);
void impi_layout_free(struct impi_layout *l);

/* `of` so many times, the first at byte `disp`, the others `stride` bytes
 * apart.  Takes the caller's reference to `of`. */
void impi_layout_add(struct impi_layout *l, ptrdiff_t disp, uint64_t repeat,
                     ptrdiff_t stride, struct impi_layout *of);

/* Bytes of the data of one: on the wire, and in memory without gaps. */
uint64_t impi_layout_wire(const struct impi_layout *l);
uint64_t impi_layout_native(const struct impi_layout *l);

/* Tell where the bytes of one lie in memory, in the order of the type map:
 * `repeat` blocks of len bytes, the first at byte disp.  Ends early when f
 * does not return 0; returns what it returned last. */
typedef int impi_layout_walk_f(void *arg, ptrdiff_t disp, uint64_t len,
                               uint64_t repeat, ptrdiff_t stride);
int impi_layout_walk(const struct impi_layout *l, impi_layout_walk_f *f,
                     void *arg);

/* count of them, `extent` bytes apart from address `native` on.  0, or -1 when
 * a value did not fit: it is cut, all others are right. */
int impi_layout_pack(const struct impi_layout *l, void *wire, intptr_t native,
                     ptrdiff_t extent, uint64_t count);
/* From len bytes, which may end before `count` do: basic elements that are
 * there in part only stay untouched.  Returns the bytes written to memory. */
uint64_t impi_layout_unpack(const struct impi_layout *l, intptr_t native,
                            const void *wire, uint64_t len, ptrdiff_t extent,
                            uint64_t count);

#endif
