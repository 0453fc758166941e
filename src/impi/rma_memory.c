/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/rma_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool overlap(const struct rma_piece *p, uintptr_t base, uint64_t size)
{
    uintptr_t own = (uintptr_t)p->base;

    return base < own + p->size && own < base + size;
}

int rma_memory_attach(struct rma_memory *memory, void *base, uint64_t size)
{
    struct rma_piece *more;
    size_t at = 0;

    for (size_t i = 0; i < memory->npieces; i++) {
        if (overlap(&memory->pieces[i], (uintptr_t)base, size)) {
            errno = EEXIST;
            return -1;
        }
        if ((uintptr_t)memory->pieces[i].base < (uintptr_t)base)
            at = i + 1;
    }
    more = realloc(memory->pieces, (memory->npieces + 1) * sizeof(*more));
    if (!more)
        return -1;
    memory->pieces = more;
    memmove(more + at + 1, more + at, (memory->npieces - at) * sizeof(*more));
    more[at] = (struct rma_piece){base, size};
    memory->npieces++;
    return 0;
}

int rma_memory_detach(struct rma_memory *memory, const void *base)
{
    for (size_t i = 0; i < memory->npieces; i++) {
        struct rma_piece *p = &memory->pieces[i];

        if (p->base != base)
            continue;
        memory->npieces--;
        memmove(p, p + 1, (memory->npieces - i) * sizeof(*p));
        return 0;
    }
    errno = ENOENT;
    return -1;
}

bool rma_piece_holds(const struct rma_piece *p, const struct impi_typemap *type,
                     const struct rma_head *h, int64_t disp, uint8_t **at)
{
    if (type ? !impi_typemap_fits(type, h->count, disp, p->size)
             : disp < 0 || (uint64_t)disp > p->size ||
                   h->len > p->size - (uint64_t)disp)
        return false;
    *at = p->base + disp;
    return true;
}

/* The piece at *i and those that follow it without a gap, as one; *i: the one
 * behind them. */
static struct rma_piece take_neighbours(const struct rma_memory *memory,
                                        size_t *i)
{
    struct rma_piece all = memory->pieces[(*i)++];

    while (*i < memory->npieces &&
           memory->pieces[*i].base == all.base + all.size)
        all.size += memory->pieces[(*i)++].size;
    return all;
}

bool rma_memory_find(const struct rma_memory *memory,
                     const struct impi_typemap *type, const struct rma_head *h,
                     uint8_t **at)
{
    size_t i = 0;

    *at = NULL;
    if (h->len == 0)
        return true;
    while (i < memory->npieces) {
        struct rma_piece p = take_neighbours(memory, &i);
        int64_t disp = h->disp;

        if (memory->dynamic &&
            __builtin_sub_overflow(disp, (int64_t)(intptr_t)p.base, &disp))
            continue;
        if (rma_piece_holds(&p, type, h, disp, at))
            return true;
    }
    return false;
}
