/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/typemap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "base/limits.h"

#define HEAD 16 /* extent, number of runs */
#define RUN 32
/* Every address and length lies below, so that no sum of two overflows. */
#define FAR (INT64_C(1) << 47)

static bool is_near(int64_t v)
{
    return v > -FAR && v < FAR;
}

/* a * b where both are near; false: the product is not. */
static bool product(uint64_t a, int64_t b, int64_t *out)
{
    return a < (uint64_t)FAR && !__builtin_mul_overflow((int64_t)a, b, out) &&
           is_near(*out);
}

/* What one run adds. */
static bool add_run(struct impi_typemap *t, const struct impi_run *r)
{
    int64_t last, bytes, lo = r->disp, hi = r->disp;

    if (!is_near(r->disp) || !is_near(r->stride) || r->len == 0 ||
        r->repeat == 0 || r->len >= (uint64_t)FAR ||
        !product(r->repeat - 1, r->stride, &last) ||
        !product(r->repeat, (int64_t)r->len, &bytes))
        return false;
    if (last < 0)
        lo += last;
    else
        hi += last;
    hi += (int64_t)r->len;
    if (t->size == 0 || lo < t->lb)
        t->lb = lo;
    if (t->size == 0 || hi > t->ub)
        t->ub = hi;
    t->size += (uint64_t)bytes;
    t->blocks += r->repeat;
    return is_near(lo) && is_near(hi) && t->size < (uint64_t)FAR;
}

struct impi_typemap *
impi_typemap_make(int64_t extent, const struct impi_run *runs, uint32_t nruns)
{
    struct impi_typemap *t;
    bool good = is_near(extent);

    if (nruns > SF_IMPI_RUNS_MAX) {
        errno = EINVAL;
        return NULL;
    }
    t = calloc(1, sizeof(*t) + nruns * sizeof(t->runs[0]));
    if (!t)
        return NULL;
    t->extent = extent;
    t->nruns = nruns;
    for (uint32_t i = 0; good && i < nruns; i++) {
        t->runs[i] = runs[i];
        good = add_run(t, &runs[i]);
    }
    if (good)
        return t;
    free(t);
    errno = EINVAL;
    return NULL;
}

bool impi_typemap_fits(const struct impi_typemap *type, uint64_t count,
                       int64_t disp, uint64_t size)
{
    int64_t last, lo = type->lb, hi = type->ub;

    if (count == 0 || type->size == 0)
        return true;
    if (!is_near(disp) || !product(count - 1, type->extent, &last))
        return false;
    if (last < 0)
        lo += last;
    else
        hi += last;
    return lo + disp >= 0 && (uint64_t)(hi + disp) <= size;
}

/* ---- moving ---- */

/* A block by its two ends, which may overlap. */
#define COPY_ENDS(n)                                                           \
    do {                                                                       \
        memcpy(to, from, n);                                                   \
        memcpy(to + len - (n), from + len - (n), n);                           \
    } while (0)

/* A block of 33 to 128 bytes: whole words from both ends on. */
static inline void copy_words(uint8_t *to, const uint8_t *from, size_t len)
{
    COPY_ENDS(32);
    if (len > 64) {
        memcpy(to + 32, from + 32, 32);
        memcpy(to + len - 64, from + len - 64, 32);
    }
}

#define COPY_EACH(copy)                                                        \
    do {                                                                       \
        for (uint64_t i = 0; i < repeat; i++) {                                \
            copy;                                                              \
            to += to_step;                                                     \
            from += from_step;                                                 \
        }                                                                      \
    } while (0)
#define COPY_OF(n)                                                             \
    case n:                                                                    \
        COPY_EACH(memcpy(to, from, n));                                        \
        break

/* Blocks of one length at fixed distances on both sides.  A copy of known size
 * is a few instructions, so the usual lengths have loops of their own. */
static void copy_blocks(uint8_t *to, int64_t to_step, const uint8_t *from,
                        int64_t from_step, size_t len, uint64_t repeat)
{
    switch (len) {
        COPY_OF(1);
        COPY_OF(2);
        COPY_OF(4);
        COPY_OF(8);
        COPY_OF(12);
        COPY_OF(16);
        COPY_OF(20);
        COPY_OF(24);
        COPY_OF(32);
    default:
        if (len > 128)
            COPY_EACH(memcpy(to, from, len));
        else if (len > 32)
            COPY_EACH(copy_words(to, from, len));
        else if (len > 16)
            COPY_EACH(COPY_ENDS(16));
        else if (len > 8)
            COPY_EACH(COPY_ENDS(8));
        else if (len > 4)
            COPY_EACH(COPY_ENDS(4));
        else
            COPY_EACH(COPY_ENDS(2));
    }
}

/* Where bytes go to and come from, and how far the next element is. */
struct sides {
    uint8_t *to;
    const uint8_t *from;
    int64_t to_step, from_step;
    bool out; /* of the elements; else into them */
};

/* The run of n elements, whichever loop is longer inside.  `done`: bytes of an
 * element that lie before it. */
static void copy_run(const struct sides *s, const struct impi_run *r,
                     uint64_t done, uint64_t n)
{
    uint8_t *to = s->to + (s->out ? (int64_t)done : r->disp);
    const uint8_t *from = s->from + (s->out ? r->disp : (int64_t)done);
    int64_t to_next = s->out ? (int64_t)r->len : r->stride;
    int64_t from_next = s->out ? r->stride : (int64_t)r->len;

    if (r->repeat < n) {
        for (uint64_t i = 0; i < r->repeat; i++)
            copy_blocks(to + (int64_t)i * to_next, s->to_step,
                        from + (int64_t)i * from_next, s->from_step, r->len, n);
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        copy_blocks(to + (int64_t)i * s->to_step, to_next,
                    from + (int64_t)i * s->from_step, from_next, r->len,
                    r->repeat);
}

/* So many bytes of data are moved run by run: they stay in the first cache,
 * with the gaps between them. */
#define TURN_BYTES 4096

static void copy_elements(const struct impi_typemap *type, uint64_t count,
                          struct sides s)
{
    uint64_t turn = 1;

    if (type->size == 0)
        return;
    if (type->size < TURN_BYTES)
        turn = TURN_BYTES / type->size;
    while (count > 0) {
        uint64_t n = count < turn ? count : turn, done = 0;

        for (uint32_t i = 0; i < type->nruns; i++) {
            copy_run(&s, &type->runs[i], done, n);
            done += type->runs[i].len * type->runs[i].repeat;
        }
        s.to += (int64_t)n * s.to_step;
        s.from += (int64_t)n * s.from_step;
        count -= n;
    }
}

void impi_typemap_gather(const struct impi_typemap *type, uint64_t count,
                         const uint8_t *at, uint8_t *packed)
{
    copy_elements(
        type, count,
        (struct sides){packed, at, (int64_t)type->size, type->extent, true});
}

void impi_typemap_scatter(const struct impi_typemap *type, uint64_t count,
                          uint8_t *at, const uint8_t *packed)
{
    copy_elements(
        type, count,
        (struct sides){at, packed, type->extent, (int64_t)type->size, false});
}

void impi_typemap_begin(struct impi_typemap_cursor *c,
                        const struct impi_typemap *map, void *at)
{
    *c = (struct impi_typemap_cursor){.map = map, .at = (uintptr_t)at};
}

static uint8_t *cursor_at(const struct impi_typemap_cursor *c)
{
    const struct impi_run *r = &c->map->runs[c->run];

    return (uint8_t *)(c->at + (uintptr_t)r->disp +
                       c->block * (uintptr_t)r->stride + c->done);
}

/* Behind the blocks that are passed of a run. */
static void cursor_turn(struct impi_typemap_cursor *c)
{
    if (c->block < c->map->runs[c->run].repeat)
        return;
    c->block = 0;
    if (++c->run < c->map->nruns)
        return;
    c->run = 0;
    c->at += (uintptr_t)c->map->extent;
}

/* Behind n bytes of the block, as far as its end. */
static void cursor_step(struct impi_typemap_cursor *c, size_t n)
{
    c->done += n;
    if (c->done < c->map->runs[c->run].len)
        return;
    c->done = 0;
    c->block++;
    cursor_turn(c);
}

static size_t move_elements(struct impi_typemap_cursor *c, uint8_t *packed,
                            uint64_t count, bool out)
{
    uint8_t *at = (uint8_t *)c->at;

    if (out)
        impi_typemap_gather(c->map, count, at, packed);
    else
        impi_typemap_scatter(c->map, count, at, packed);
    c->at += count * (uintptr_t)c->map->extent;
    return count * c->map->size;
}

static size_t move_blocks(struct impi_typemap_cursor *c, uint8_t *packed,
                          uint64_t count, bool out)
{
    const struct impi_run *r = &c->map->runs[c->run];
    int64_t len = (int64_t)r->len;

    if (count > r->repeat - c->block)
        count = r->repeat - c->block;
    if (out)
        copy_blocks(packed, len, cursor_at(c), r->stride, r->len, count);
    else
        copy_blocks(cursor_at(c), r->stride, packed, len, r->len, count);
    c->block += count;
    cursor_turn(c);
    return count * r->len;
}

static size_t move_part(struct impi_typemap_cursor *c, uint8_t *packed,
                        size_t n, bool out)
{
    uint64_t len = c->map->runs[c->run].len;

    if (n > len - c->done)
        n = len - c->done;
    memcpy(out ? packed : cursor_at(c), out ? cursor_at(c) : packed, n);
    cursor_step(c, n);
    return n;
}

/* As much of n bytes as goes at once. */
static size_t move(struct impi_typemap_cursor *c, uint8_t *packed, size_t n,
                   bool out)
{
    uint64_t len = c->map->runs[c->run].len;

    if (c->done > 0 || n < len)
        return move_part(c, packed, n, out);
    if (c->run == 0 && c->block == 0 && n >= c->map->size)
        return move_elements(c, packed, n / c->map->size, out);
    return move_blocks(c, packed, n / len, out);
}

void impi_typemap_take(struct impi_typemap_cursor *c, void *packed, size_t n)
{
    for (size_t off = 0; off < n;)
        off += move(c, (uint8_t *)packed + off, n - off, true);
}

void impi_typemap_put(struct impi_typemap_cursor *c, const void *packed,
                      size_t n)
{
    uint8_t *from = (uint8_t *)(uintptr_t)packed; /* only read */

    for (size_t off = 0; off < n;)
        off += move(c, from + off, n - off, false);
}

int impi_typemap_places(const struct impi_typemap_cursor *cursor,
                        struct iovec *at, int max, size_t n)
{
    struct impi_typemap_cursor c = *cursor;
    int i;

    for (i = 0; i < max && n > 0; i++) {
        size_t len = c.map->runs[c.run].len - c.done;

        if (len > n)
            len = n;
        at[i] = (struct iovec){cursor_at(&c), len};
        cursor_step(&c, len);
        n -= len;
    }
    return i;
}

/* As much of n bytes as goes at once. */
static size_t pass(struct impi_typemap_cursor *c, size_t n)
{
    const struct impi_run *r = &c->map->runs[c->run];
    uint64_t count;

    if (c->done > 0 || n < r->len) {
        n = n < r->len - c->done ? n : r->len - c->done;
        cursor_step(c, n);
        return n;
    }
    if (c->run == 0 && c->block == 0 && n >= c->map->size) {
        count = n / c->map->size;
        c->at += count * (uintptr_t)c->map->extent;
        return count * c->map->size;
    }
    count = n / r->len;
    if (count > r->repeat - c->block)
        count = r->repeat - c->block;
    c->block += count;
    cursor_turn(c);
    return count * r->len;
}

void impi_typemap_pass(struct impi_typemap_cursor *c, size_t n)
{
    while (n > 0)
        n -= pass(c, n);
}

/* ---- on the wire ---- */

size_t impi_typemap_wire(const struct impi_typemap *type)
{
    return HEAD + (size_t)type->nruns * RUN;
}

void impi_typemap_encode(const struct impi_typemap *type, uint8_t *out)
{
    be_store64(out, (uint64_t)type->extent);
    be_store64(out + 8, type->nruns);
    out += HEAD;
    for (uint32_t i = 0; i < type->nruns; i++, out += RUN) {
        const struct impi_run *r = &type->runs[i];

        be_store64(out, (uint64_t)r->disp);
        be_store64(out + 8, r->len);
        be_store64(out + 16, r->repeat);
        be_store64(out + 24, (uint64_t)r->stride);
    }
}

static struct impi_typemap *bad(struct errbuf *err, const char *what)
{
    errprintf(err, "a datatype %s", what);
    errno = EPROTO;
    return NULL;
}

struct impi_typemap *impi_typemap_decode(const uint8_t *in, size_t len,
                                         struct errbuf *err)
{
    struct impi_run *runs;
    struct impi_typemap *t;
    uint64_t n;

    if (len < HEAD)
        return bad(err, "is cut short");
    n = be_load64(in + 8);
    if (n > SF_IMPI_RUNS_MAX)
        return bad(err, "has too many runs");
    if (len != HEAD + n * RUN)
        return bad(err, "is not as long as its runs");
    runs = malloc(n * sizeof(*runs) + 1);
    if (!runs)
        return NULL;
    for (uint64_t i = 0; i < n; i++) {
        const uint8_t *p = in + HEAD + i * RUN;

        runs[i] =
            (struct impi_run){(int64_t)be_load64(p), be_load64(p + 8),
                              be_load64(p + 16), (int64_t)be_load64(p + 24)};
    }
    t = impi_typemap_make((int64_t)be_load64(in), runs, (uint32_t)n);
    free(runs);
    return t || errno == ENOMEM ? t : bad(err, "is nowhere in memory");
}
