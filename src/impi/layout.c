/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Conversion turns loops inside out: of an array of structures the first
 * members of many are converted, then the second ones, each in one tight loop
 * that steps over what lies between on both sides.
 */
#include "impi/layout.h"

#include <stdbool.h>
#include <stdlib.h>

#include "impi/swap.h"

#define BLOCK_BYTES                                                            \
    8192 /* of the wire, done member by member: in the cache                   \
          */

struct run {
    ptrdiff_t disp;
    uint64_t repeat;
    ptrdiff_t stride;
    struct impi_layout *of;
};

struct impi_layout {
    unsigned users;
    enum impi_x32 kind; /* a leaf's */
    uint64_t n;         /* its elements; 0: a list */
    uint64_t wire, native;
    size_t nruns;
    struct run runs[];
};

/* ---- trees ---- */

struct impi_layout *impi_layout_list(size_t runs)
{
    struct impi_layout *l = calloc(1, sizeof(*l) + runs * sizeof(l->runs[0]));

    if (l)
        l->users = 1;
    return l;
}

struct impi_layout *impi_layout_leaf(enum impi_x32 kind, uint64_t n)
{
    struct impi_layout *l = impi_layout_list(0);

    if (!l)
        return NULL;
    l->kind = kind;
    l->n = n;
    l->wire = n * impi_x32_wire_size(kind);
    l->native = n * impi_x32_native_size(kind);
    return l;
}

struct impi_layout *impi_layout_hold(struct impi_layout *l)
{
    l->users++;
    return l;
}

void impi_layout_free(struct impi_layout *l)
{
    if (!l || --l->users > 0)
        return;
    for (size_t i = 0; i < l->nruns; i++)
        impi_layout_free(l->runs[i].of);
    free(l);
}

/* Many one-run layouts in each other are one: that of a vector's blocks, a
 * resized or a contiguous type.  Returns what to use instead. */
static struct impi_layout *simpler(struct impi_layout *of, ptrdiff_t *disp)
{
    while (of->nruns == 1) {
        const struct run *run = &of->runs[0];
        struct impi_layout *in = NULL;

        if (run->repeat == 1)
            in = impi_layout_hold(run->of);
        else if (run->of->n > 0 && run->stride == (ptrdiff_t)run->of->native)
            in = impi_layout_leaf(run->of->kind, run->of->n * run->repeat);
        if (!in)
            break;
        *disp += run->disp;
        impi_layout_free(of);
        of = in;
    }
    return of;
}

void impi_layout_add(struct impi_layout *l, ptrdiff_t disp, uint64_t repeat,
                     ptrdiff_t stride, struct impi_layout *of)
{
    of = simpler(of, &disp);
    l->runs[l->nruns++] = (struct run){disp, repeat, stride, of};
    l->wire += repeat * of->wire;
    l->native += repeat * of->native;
}

uint64_t impi_layout_wire(const struct impi_layout *l)
{
    return l->wire;
}

uint64_t impi_layout_native(const struct impi_layout *l)
{
    return l->native;
}

/* ---- memory ---- */

static int walk(const struct impi_layout *l, ptrdiff_t disp,
                impi_layout_walk_f *f, void *arg);

static int walk_run(const struct run *run, ptrdiff_t disp,
                    impi_layout_walk_f *f, void *arg)
{
    const struct impi_layout *of = run->of;
    int rc = 0;

    disp += run->disp;
    if (of->n > 0 && run->stride == (ptrdiff_t)of->native)
        return f(arg, disp, run->repeat * of->native, 1, 0);
    if (of->n > 0)
        return f(arg, disp, of->native, run->repeat, run->stride);
    for (uint64_t i = 0; i < run->repeat && rc == 0; i++)
        rc = walk(of, disp + (ptrdiff_t)i * run->stride, f, arg);
    return rc;
}

static int walk(const struct impi_layout *l, ptrdiff_t disp,
                impi_layout_walk_f *f, void *arg)
{
    int rc = 0;

    if (l->n > 0)
        return f(arg, disp, l->native, 1, 0);
    for (size_t i = 0; i < l->nruns && rc == 0; i++)
        rc = walk_run(&l->runs[i], disp, f, arg);
    return rc;
}

int impi_layout_walk(const struct impi_layout *l, impi_layout_walk_f *f,
                     void *arg)
{
    return walk(l, 0, f, arg);
}

/* ---- conversion ---- */

/* Where something lies on both sides, and how far the next one is. */
struct at {
    uint8_t *wire;
    ptrdiff_t wire_step;
    intptr_t native;
    ptrdiff_t step;
};

struct work {
    bool pack;
    bool range; /* a value did not fit */
};

/* n elements, without gaps. */
static void convert_some(struct work *w, enum impi_x32 kind, uint8_t *wire,
                         uint8_t *native, uint64_t n)
{
    if (!w->pack)
        impi_x32_unpack(kind, native, wire, n);
    else if (impi_x32_pack(kind, wire, native, n, 0, NULL) < 0)
        w->range = true;
}

/* `repeat` times n elements of `size` bytes, the same on both sides, in the
 * other order; from and to in their turn. */
#define SWAP_ROWS(name, size, swap_one)                                        \
    static void name(uint8_t *to, ptrdiff_t to_step, const uint8_t *from,      \
                     ptrdiff_t from_step, uint64_t n, uint64_t repeat)         \
    {                                                                          \
        for (uint64_t r = 0; r < repeat; r++) {                                \
            for (uint64_t i = 0; i < n; i++)                                   \
                swap_one(to + i * size, from + i * size);                      \
            to += to_step;                                                     \
            from += from_step;                                                 \
        }                                                                      \
    }

SWAP_ROWS(rows16, 2, impi_swap_one16)
SWAP_ROWS(rows32, 4, impi_swap_one32)
SWAP_ROWS(rows64, 8, impi_swap_one64)

#define SHORT_ROW 8 /* elements: below, calls cost more than they bring */

/* Short rows of the usual kinds.  False: not one of these. */
static bool convert_short_rows(const struct work *w, enum impi_x32 kind,
                               const struct at *at, uint64_t n, uint64_t repeat)
{
    uint8_t *native = (uint8_t *)at->native;
    uint8_t *to = w->pack ? at->wire : native;
    const uint8_t *from = w->pack ? native : at->wire;
    ptrdiff_t to_step = w->pack ? at->wire_step : at->step;
    ptrdiff_t from_step = w->pack ? at->step : at->wire_step;

    if (kind == IMPI_X32_INT16)
        rows16(to, to_step, from, from_step, n, repeat);
    else if (kind == IMPI_X32_INT32)
        rows32(to, to_step, from, from_step, n, repeat);
    else if (kind == IMPI_X32_INT64)
        rows64(to, to_step, from, from_step, n, repeat);
    else
        return false;
    return true;
}

static void convert_rows(struct work *w, enum impi_x32 kind, struct at at,
                         uint64_t n, uint64_t repeat)
{
    ptrdiff_t wire = (ptrdiff_t)(n * impi_x32_wire_size(kind));
    ptrdiff_t native = (ptrdiff_t)(n * impi_x32_native_size(kind));

    if (at.wire_step == wire && at.step == native) {
        n *= repeat;
        repeat = 1;
    }
    if (n < SHORT_ROW && convert_short_rows(w, kind, &at, n, repeat))
        return;
    for (uint64_t r = 0; r < repeat; r++) {
        convert_some(w, kind, at.wire, (uint8_t *)at.native, n);
        at.wire += at.wire_step;
        at.native += at.step;
    }
}

static void convert(struct work *w, const struct impi_layout *l, struct at at,
                    uint64_t repeat);

/* A run in `repeat` neighbours; the run's own rows follow each other on the
 * wire. */
static void convert_run(struct work *w, const struct run *run, struct at at,
                        uint64_t repeat)
{
    const struct impi_layout *of = run->of;
    struct at row;

    at.native += run->disp;
    if (run->repeat == 1) {
        convert(w, of, at, repeat);
        return;
    }
    if (of->n > 0 && run->stride == (ptrdiff_t)of->native) {
        convert_rows(w, of->kind, at, of->n * run->repeat, repeat);
        return;
    }
    row = at;
    row.wire_step = (ptrdiff_t)of->wire;
    row.step = run->stride;
    for (uint64_t r = 0; r < repeat; r++) {
        convert(w, of, row, run->repeat);
        row.wire += at.wire_step;
        row.native += at.step;
    }
}

/* l, `repeat` times. */
static void convert(struct work *w, const struct impi_layout *l, struct at at,
                    uint64_t repeat)
{
    uint64_t block;

    if (l->wire == 0)
        return;
    if (l->n > 0) {
        convert_rows(w, l->kind, at, l->n, repeat);
        return;
    }
    block = l->nruns == 1 ? repeat : BLOCK_BYTES / l->wire;
    for (; repeat > 0; repeat -= block) {
        struct at run = at;

        if (block == 0)
            block = 1;
        if (block > repeat)
            block = repeat;
        for (size_t i = 0; i < l->nruns; i++) {
            convert_run(w, &l->runs[i], run, block);
            run.wire += l->runs[i].repeat * l->runs[i].of->wire;
        }
        at.wire += (ptrdiff_t)block * at.wire_step;
        at.native += (ptrdiff_t)block * at.step;
    }
}

int impi_layout_pack(const struct impi_layout *l, void *wire, intptr_t native,
                     ptrdiff_t extent, uint64_t count)
{
    struct work w = {.pack = true};
    struct at at = {wire, (ptrdiff_t)l->wire, native, extent};

    convert(&w, l, at, count);
    return w.range ? -1 : 0;
}

/* The whole elements in the first *len bytes of one; *len is what is left.
 * Returns the bytes written to memory. */
static uint64_t unpack_part(const struct impi_layout *l, struct at at,
                            uint64_t *len)
{
    struct work w = {.pack = false};
    uint64_t n, done = 0, size = 1;

    if (l->n > 0) {
        size = impi_x32_wire_size(l->kind);
        n = *len / size < l->n ? *len / size : l->n;
        convert_some(&w, l->kind, at.wire, (uint8_t *)at.native, n);
        /* Nothing after an element that is not whole. */
        *len = n < l->n ? 0 : *len - n * size;
        return n * impi_x32_native_size(l->kind);
    }
    for (size_t i = 0; i<l->nruns && * len> 0; i++) {
        const struct run *run = &l->runs[i];

        for (uint64_t r = 0; r<run->repeat && * len> 0; r++) {
            struct at one = {.wire = at.wire,
                             .native = at.native + run->disp +
                                       (ptrdiff_t)r * run->stride};

            done += unpack_part(run->of, one, len);
            at.wire += run->of->wire;
        }
    }
    return done;
}

uint64_t impi_layout_unpack(const struct impi_layout *l, intptr_t native,
                            const void *wire, uint64_t len, ptrdiff_t extent,
                            uint64_t count)
{
    struct work w = {.pack = false};
    struct at at = {(uint8_t *)(uintptr_t)wire, (ptrdiff_t)l->wire, native,
                    extent};
    uint64_t whole;

    if (l->wire == 0)
        return 0;
    whole = len / l->wire < count ? len / l->wire : count;
    convert(&w, l, at, whole);
    if (whole == count)
        return whole * l->native;
    at.wire += whole * l->wire;
    at.native += (ptrdiff_t)whole * extent;
    len -= whole * l->wire;
    return whole * l->native + unpack_part(l, at, &len);
}
