/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks of a collective call.
 */
#include "libimpi/blocks.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libimpi/buffer.h"
#include "libimpi/data.h"
#include "libimpi/large.h"

struct blocks blocks_even(const void *buf, MPI_Count count, MPI_Datatype type)
{
    return (struct blocks){
        .base = (char *)(uintptr_t)buf, .count = count, .type = type};
}

struct blocks blocks_one(const void *buf, MPI_Count count, MPI_Datatype type)
{
    struct blocks b = blocks_even(buf, count, type);

    b.single = true;
    return b;
}

struct blocks blocks_uneven(const void *buf, const int counts[],
                            const int displs[], MPI_Datatype type)
{
    struct blocks b = blocks_even(buf, 0, type);

    b.counts = counts;
    b.displs = displs;
    return b;
}

struct blocks blocks_uneven_c(const void *buf, const MPI_Count counts[],
                              const MPI_Aint displs[], MPI_Datatype type)
{
    struct blocks b = blocks_even(buf, 0, type);

    b.large_counts = counts;
    b.adispls = displs;
    return b;
}

struct blocks blocks_typed(const void *buf, const int counts[],
                           const int displs[], const MPI_Aint adispls[],
                           const MPI_Datatype types[])
{
    struct blocks b = blocks_uneven(buf, counts, displs, MPI_BYTE);

    b.adispls = adispls;
    b.types = types;
    b.bytes = true;
    return b;
}

struct blocks blocks_typed_c(const void *buf, const MPI_Count counts[],
                             const MPI_Aint displs[],
                             const MPI_Datatype types[])
{
    struct blocks b = blocks_uneven_c(buf, counts, displs, MPI_BYTE);

    b.types = types;
    b.bytes = true;
    return b;
}

/* ---- more elements than an int counts ---- */

MPI_Count block_number(const struct blocks *b, int i)
{
    if (b->large_counts)
        return b->large_counts[i];
    return b->counts ? b->counts[i] : b->count;
}

/* Which of those made. */
static int slot(const struct blocks *b, int i)
{
    return b->large_counts ? i : 0;
}

static bool is_made(const struct blocks *b, int i)
{
    return b->made && b->made[slot(b, i)] != MPI_DATATYPE_NULL;
}

static int make_type(struct blocks *b, int i, int n)
{
    if (!b->made) {
        n = slot(b, n - 1) + 1;
        b->made = malloc((size_t)n * sizeof(MPI_Datatype));
        if (!b->made)
            return MPI_ERR_NO_MEM;
        b->nmade = n;
        for (int k = 0; k < n; k++)
            b->made[k] = MPI_DATATYPE_NULL;
    }
    return large_type(block_number(b, i), block_type(b, i),
                      &b->made[slot(b, i)]);
}

static int look_at_numbers(struct blocks *b, int n)
{
    int rc = MPI_SUCCESS;

    if (!b->counts && !b->large_counts)
        n = 1;
    for (int i = 0; rc == MPI_SUCCESS && i < n; i++) {
        if (block_number(b, i) < 0)
            return MPI_ERR_COUNT;
        if (unlikely(block_number(b, i) > INT_MAX))
            rc = make_type(b, i, n);
    }
    return rc;
}

void blocks_drop(struct blocks *b)
{
    for (int i = 0; i < b->nmade; i++) {
        if (b->made[i] != MPI_DATATYPE_NULL)
            impi_real.Type_free(&b->made[i]);
    }
    if (b->nmade > 0)
        free(b->made);
    b->made = NULL;
    b->nmade = 0;
}

/* Of each block, because there may be none that has data. */
static int look_at_buffers(const struct blocks *b, int n)
{
    int rc = MPI_SUCCESS;

    if (likely(!buffer_devices() && (b->base || b->at)))
        return MPI_SUCCESS;
    for (int i = 0; rc == MPI_SUCCESS && i < (b->single ? 1 : n); i++)
        rc = buffer_check(block_at(b, i), block_count(b, i), block_type(b, i));
    return rc;
}

int blocks_check(struct blocks *b, int n)
{
    MPI_Aint lb;
    int rc;

    b->extent = 1;
    if (!b->types && b->type == MPI_DATATYPE_NULL)
        return MPI_ERR_TYPE;
    rc = look_at_numbers(b, n);
    if (rc == MPI_SUCCESS && !b->types)
        rc = impi_real.Type_get_extent(b->type, &lb, &b->extent);
    return rc == MPI_SUCCESS ? look_at_buffers(b, n) : rc;
}

int block_count(const struct blocks *b, int i)
{
    return is_made(b, i) ? 1 : (int)block_number(b, i);
}

MPI_Datatype block_type(const struct blocks *b, int i)
{
    if (is_made(b, i))
        return b->made[slot(b, i)];
    return b->types ? b->types[i] : b->type;
}

void *block_at(const struct blocks *b, int i)
{
    MPI_Aint at = (MPI_Aint)i * b->count;

    if (b->at)
        return b->at[i];
    if (b->single)
        return b->base;
    if (b->adispls)
        at = b->adispls[i];
    else if (b->displs)
        at = b->displs[i];
    return b->base + at * (b->bytes ? 1 : b->extent);
}

int block_put(char *to, size_t len, const struct blocks *b, int i)
{
    struct data d;
    int rc =
        data_for_send(&d, block_at(b, i), block_count(b, i), block_type(b, i));

    if (rc != MPI_SUCCESS)
        return rc;
    if (d.len > len)
        rc = MPI_ERR_TRUNCATE;
    else if (d.len > 0)
        memcpy(to, d.base, d.len);
    data_drop(&d);
    return rc;
}

int block_take(const char *from, size_t len, const struct blocks *b, int i)
{
    struct data d;
    uint64_t bytes;
    int rc =
        data_for_recv(&d, block_at(b, i), block_count(b, i), block_type(b, i));

    if (rc != MPI_SUCCESS)
        return rc;
    if (len > d.len)
        len = d.len;
    if (len > 0)
        memcpy(d.base, from, len);
    return data_received(&d, len, &bytes);
}
