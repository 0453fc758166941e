/* SPDX-License-Identifier: BSD-3-Clause */
#include "libimpi/type_runs.h"

#include <stdlib.h>

#include "libimpi/layouts.h"

/* Neighbours become one. */
static bool merge(struct type_runs *r, int64_t disp, uint64_t len)
{
    struct impi_run *last = r->n ? &r->run[r->n - 1] : NULL;

    if (!last || last->repeat != 1 || last->disp + (int64_t)last->len != disp)
        return false;
    last->len += len;
    return true;
}

/* From the last block of one run to the first of the next. */
static int64_t distance(const struct impi_run *last,
                        const struct impi_run *next)
{
    uint64_t end =
        (uint64_t)last->disp + (last->repeat - 1) * (uint64_t)last->stride;

    return (int64_t)((uint64_t)next->disp - end);
}

/* Blocks of one length at one distance become one run. */
static void fold(struct type_runs *r)
{
    struct impi_run *last = r->run;

    for (uint32_t i = 1; i < r->n; i++) {
        const struct impi_run *next = &r->run[i];
        int64_t step = distance(last, next);

        if (next->repeat > 1 || next->len != last->len ||
            (last->repeat > 1 && step != last->stride)) {
            *++last = *next;
            continue;
        }
        last->stride = step;
        last->repeat++;
    }
    if (r->n > 0)
        r->n = (uint32_t)(last - r->run) + 1;
}

static int add_run(void *arg, ptrdiff_t disp, uint64_t len, uint64_t repeat,
                   ptrdiff_t stride)
{
    struct type_runs *r = arg;

    if (len == 0 || repeat == 0 || (repeat == 1 && merge(r, disp, len)))
        return 0;
    if (r->n == r->room) {
        uint32_t room = r->room ? 2 * r->room : 16;
        struct impi_run *more =
            r->n < r->most ? realloc(r->run, room * sizeof(*more)) : NULL;

        if (!more)
            return -1;
        r->run = more;
        r->room = room;
    }
    r->run[r->n++] = (struct impi_run){disp, len, repeat, stride};
    return 0;
}

int type_runs_get(struct type_runs *r, MPI_Datatype type, uint32_t most)
{
    struct impi_layout *l = NULL;
    MPI_Aint lb;
    int rc;

    *r = (struct type_runs){.most = most};
    rc = impi_real.Type_get_extent(type, &lb, &r->extent);
    if (rc == MPI_SUCCESS)
        rc = layout_make(&l, type);
    if (rc == MPI_SUCCESS && impi_layout_walk(l, add_run, r) < 0)
        rc = MPI_ERR_NO_MEM;
    fold(r);
    impi_layout_free(l);
    return rc;
}
