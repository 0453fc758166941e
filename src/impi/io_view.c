/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/io_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool is_near(int64_t v)
{
    return v > -IMPI_IO_FAR && v < IMPI_IO_FAR;
}

/* ---- lists ---- */

/* The last block's end. */
static int64_t run_end(const struct impi_run *r)
{
    return r->disp + (int64_t)(r->repeat - 1) * r->stride + (int64_t)r->len;
}

/* A run that is one block, or goes on as the last one did, is part of it. */
static bool merge(struct impi_run *last, const struct impi_run *r)
{
    if (last->repeat == 1 && r->repeat == 1 && run_end(last) == r->disp) {
        last->len += r->len;
        return true;
    }
    if (last->len != r->len)
        return false;
    if (last->repeat == 1 && r->repeat == 1 && r->disp > run_end(last)) {
        last->stride = r->disp - last->disp;
        last->repeat = 2;
        return true;
    }
    if (last->repeat == 1 ||
        r->disp != last->disp + (int64_t)last->repeat * last->stride ||
        (r->repeat > 1 && r->stride != last->stride))
        return false;
    last->repeat += r->repeat;
    return true;
}

int impi_io_list_add(struct impi_io_list *l, struct impi_run run)
{
    if (run.repeat > 1 && run.stride == (int64_t)run.len) {
        run.len *= run.repeat;
        run.repeat = 1;
    }
    l->bytes += run.len * run.repeat;
    if (l->n > 0 && merge(&l->run[l->n - 1], &run))
        return 0;
    if (l->n == l->room) {
        size_t room = l->room ? 2 * l->room : 8;
        struct impi_run *more = realloc(l->run, room * sizeof(*more));

        if (!more)
            return -1;
        l->run = more;
        l->room = room;
    }
    l->run[l->n++] = run;
    return 0;
}

void impi_io_list_free(struct impi_io_list *l)
{
    free(l->run);
    *l = (struct impi_io_list){0};
}

int64_t impi_io_list_first(const struct impi_io_list *l)
{
    return l->run[0].disp;
}

int64_t impi_io_list_end(const struct impi_io_list *l)
{
    return run_end(&l->run[l->n - 1]);
}

/* Bytes of a rising run that lie before this place. */
static uint64_t run_before(const struct impi_run *r, int64_t at)
{
    uint64_t far, blocks;

    if (at <= r->disp)
        return 0;
    far = (uint64_t)(at - r->disp);
    if (r->repeat == 1)
        return least(far, r->len);
    blocks = least(far / (uint64_t)r->stride, r->repeat);
    if (blocks == r->repeat)
        return blocks * r->len;
    return blocks * r->len + least(far - blocks * (uint64_t)r->stride, r->len);
}

uint64_t impi_io_list_before(const struct impi_io_list *l, int64_t at)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < l->n && l->run[i].disp < at; i++)
        sum += run_before(&l->run[i], at);
    return sum;
}

void impi_io_start(struct impi_io_cursor *c, const struct impi_io_list *l)
{
    *c = (struct impi_io_cursor){.l = l};
}

void impi_io_start_at(struct impi_io_cursor *c, const struct impi_io_list *l,
                      int64_t at)
{
    impi_io_start(c, l);
    for (; c->i < l->n && run_end(&l->run[c->i]) <= at; c->i++)
        c->mem += l->run[c->i].len * l->run[c->i].repeat;
    if (c->i == l->n)
        return;
    c->inside = run_before(&l->run[c->i], at);
    c->mem += c->inside;
    c->block = c->inside / l->run[c->i].len;
    c->inside %= l->run[c->i].len;
}

bool impi_io_next(struct impi_io_cursor *c, int64_t end, int64_t *at,
                  uint64_t *len)
{
    const struct impi_run *r;

    if (c->i == c->l->n)
        return false;
    r = &c->l->run[c->i];
    *at = r->disp + (int64_t)c->block * r->stride + (int64_t)c->inside;
    if (*at >= end)
        return false;
    *len = least(r->len - c->inside, (uint64_t)(end - *at));
    c->mem += *len;
    c->inside += *len;
    if (c->inside < r->len)
        return true;
    c->inside = 0;
    if (++c->block == r->repeat) {
        c->block = 0;
        c->i++;
    }
    return true;
}

/* ---- views ---- */

static bool is_run(const struct impi_run *r)
{
    int64_t last;

    return r->len > 0 && r->repeat > 0 && r->len < (uint64_t)IMPI_IO_FAR &&
           r->repeat < (uint64_t)IMPI_IO_FAR && is_near(r->disp) &&
           is_near(r->stride) &&
           !__builtin_mul_overflow((int64_t)(r->repeat - 1), r->stride,
                                   &last) &&
           is_near(last) && is_near(last + r->disp) &&
           r->len * r->repeat / r->repeat == r->len &&
           r->len * r->repeat < (uint64_t)IMPI_IO_FAR;
}

static bool is_rising(const struct impi_io_view *v)
{
    int64_t end = 0;

    for (uint32_t i = 0; i < v->nruns; i++) {
        const struct impi_run *r = &v->runs[i];

        if ((i > 0 && r->disp < end) ||
            (r->repeat > 1 && r->stride < (int64_t)r->len))
            return false;
        end = run_end(r);
    }
    return v->nruns == 0 || v->runs[0].disp + v->extent >= end;
}

static int take_runs(struct impi_io_view *v, const struct impi_run *runs)
{
    for (uint32_t i = 0; i < v->nruns; i++) {
        if (!is_run(&runs[i]))
            return -1;
        v->runs[i] = runs[i];
        v->before[i] = v->size;
        v->size += runs[i].len * runs[i].repeat;
        if (v->size >= (uint64_t)IMPI_IO_FAR)
            return -1;
    }
    return v->size % v->etype == 0 ? 0 : -1;
}

int impi_io_view_init(struct impi_io_view *v, int64_t disp, uint64_t etype,
                      int64_t extent, const struct impi_run *runs,
                      uint32_t nruns)
{
    *v = (struct impi_io_view){
        .disp = disp, .etype = etype, .extent = extent, .nruns = nruns};
    v->runs = calloc((size_t)nruns + 1, sizeof(*v->runs));
    v->before = calloc((size_t)nruns + 1, sizeof(*v->before));
    errno = ENOMEM;
    if (v->runs && v->before) {
        errno = EINVAL;
        if (etype > 0 && disp >= 0 && is_near(disp) && is_near(extent) &&
            take_runs(v, runs) == 0) {
            v->rising = is_rising(v);
            return 0;
        }
    }
    impi_io_view_free(v);
    return -1;
}

void impi_io_view_free(struct impi_io_view *v)
{
    int err = errno;

    free(v->runs);
    free(v->before);
    *v = (struct impi_io_view){0};
    errno = err;
}

/* The run that has byte `pos` of a filetype. */
static uint32_t run_of(const struct impi_io_view *v, uint64_t pos)
{
    uint32_t low = 0, high = v->nruns;

    while (high - low > 1) {
        uint32_t mid = low + (high - low) / 2;

        if (v->before[mid] <= pos)
            low = mid;
        else
            high = mid;
    }
    return low;
}

int64_t impi_io_view_at(const struct impi_io_view *v, uint64_t pos)
{
    uint64_t tile = pos / v->size, inside = pos % v->size;
    uint32_t i = run_of(v, inside);
    const struct impi_run *r = &v->runs[i];

    inside -= v->before[i];
    return v->disp + (int64_t)tile * v->extent + r->disp +
           (int64_t)(inside / r->len) * r->stride + (int64_t)(inside % r->len);
}

uint64_t impi_io_view_before(const struct impi_io_view *v, int64_t at)
{
    struct impi_io_list one = {v->runs, v->nruns, 0, v->size};
    int64_t first, tiles;

    if (v->size == 0 || v->extent <= 0)
        return 0;
    first = v->disp + v->runs[0].disp;
    if (at <= first)
        return 0;
    tiles = (at - first) / v->extent;
    if (!v->rising)
        return (uint64_t)(tiles + ((at - first) % v->extent > 0)) * v->size;
    return (uint64_t)tiles * v->size +
           impi_io_list_before(&one, at - v->disp - tiles * v->extent);
}

/* ---- accesses ---- */

/* `n` bytes of one run from its byte `from` on: the rest of a block, whole
 * ones, a part of one. */
static int cut_run(const struct impi_run *r, int64_t base, uint64_t from,
                   uint64_t n, struct impi_io_list *l)
{
    uint64_t block = from / r->len, inside = from % r->len, part;

    if (inside > 0) {
        part = least(r->len - inside, n);
        if (impi_io_list_add(l,
                             (struct impi_run){base + r->disp +
                                                   (int64_t)block * r->stride +
                                                   (int64_t)inside,
                                               part, 1, 0}) < 0)
            return -1;
        n -= part;
        block++;
    }
    if (n / r->len > 0 &&
        impi_io_list_add(
            l, (struct impi_run){base + r->disp + (int64_t)block * r->stride,
                                 r->len, n / r->len, r->stride}) < 0)
        return -1;
    block += n / r->len;
    n %= r->len;
    if (n == 0)
        return 0;
    return impi_io_list_add(
        l, (struct impi_run){base + r->disp + (int64_t)block * r->stride, n, 1,
                             0});
}

/* n bytes of the filetype at `base` from its byte `from` on. */
static int cut_tile(const struct impi_io_view *v, int64_t base, uint64_t from,
                    uint64_t n, struct impi_io_list *l)
{
    for (uint32_t i = run_of(v, from); n > 0; i++) {
        const struct impi_run *r = &v->runs[i];
        uint64_t skip = from - v->before[i];
        uint64_t part = least(r->len * r->repeat - skip, n);

        if (cut_run(r, base, skip, part, l) < 0)
            return -1;
        from += part;
        n -= part;
    }
    return 0;
}

/* Whole filetypes: where one is a block, they are a run. */
static int cut_tiles(const struct impi_io_view *v, int64_t base, uint64_t tiles,
                     struct impi_io_list *l)
{
    if (v->nruns == 1 && v->runs[0].repeat == 1)
        return impi_io_list_add(l, (struct impi_run){base + v->runs[0].disp,
                                                     v->runs[0].len, tiles,
                                                     v->extent});
    for (; tiles > 0; tiles--, base += v->extent)
        if (cut_tile(v, base, 0, v->size, l) < 0)
            return -1;
    return 0;
}

/* Are its first and last byte where a file can have them?  So are all others.
 */
static bool is_within(const struct impi_io_view *v, uint64_t pos, uint64_t len)
{
    int64_t tiles = (int64_t)((pos + len - 1) / v->size), far;

    if (__builtin_mul_overflow(tiles, v->extent, &far) || !is_near(far))
        return false;
    for (uint32_t i = 0; i < v->nruns; i++) {
        const struct impi_run *r = &v->runs[i];
        int64_t last = (int64_t)(r->repeat - 1) * r->stride;
        int64_t lo = v->disp + r->disp + (last < 0 ? last : 0);
        int64_t hi = v->disp + run_end(r) + (last < 0 ? -last : 0);

        if (lo + (far < 0 ? far : 0) < 0 || hi + far >= IMPI_IO_FAR)
            return false;
    }
    return true;
}

int impi_io_view_cut(const struct impi_io_view *v, uint64_t pos, uint64_t len,
                     struct impi_io_list *l)
{
    int64_t base;
    uint64_t part;

    if (len == 0)
        return 0;
    errno = EINVAL;
    if (v->size == 0 || pos >= (uint64_t)IMPI_IO_FAR ||
        len >= (uint64_t)IMPI_IO_FAR || !is_within(v, pos, len))
        return -1;
    errno = ENOMEM;
    base = v->disp + (int64_t)(pos / v->size) * v->extent;
    part = least(v->size - pos % v->size, len);
    if (part < v->size) {
        if (cut_tile(v, base, pos % v->size, part, l) < 0)
            return -1;
        len -= part;
        base += v->extent;
    }
    if (len / v->size > 0 && cut_tiles(v, base, len / v->size, l) < 0)
        return -1;
    base += (int64_t)(len / v->size) * v->extent;
    len %= v->size;
    return len > 0 ? cut_tile(v, base, 0, len, l) : 0;
}
