/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks of a collective call.
 */
#include "libimpi/blocks.h"

#include <stdint.h>
#include <string.h>

#include "libimpi/buffer.h"
#include "libimpi/data.h"

struct blocks blocks_even(const void *buf, int count, MPI_Datatype type)
{
    return (struct blocks){
        .base = (char *)(uintptr_t)buf, .count = count, .type = type};
}

struct blocks blocks_one(const void *buf, int count, MPI_Datatype type)
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
    for (int i = 0; b->counts && i < n; i++) {
        if (b->counts[i] < 0)
            return MPI_ERR_COUNT;
    }
    if (b->types)
        return look_at_buffers(b, n);
    if (b->type == MPI_DATATYPE_NULL)
        return MPI_ERR_TYPE;
    if (!b->counts && b->count < 0)
        return MPI_ERR_COUNT;
    rc = impi_real.Type_get_extent(b->type, &lb, &b->extent);
    return rc == MPI_SUCCESS ? look_at_buffers(b, n) : rc;
}

int block_count(const struct blocks *b, int i)
{
    return b->counts ? b->counts[i] : b->count;
}

MPI_Datatype block_type(const struct blocks *b, int i)
{
    return b->types ? b->types[i] : b->type;
}

void *block_at(const struct blocks *b, int i)
{
    MPI_Aint at = (MPI_Aint)i * (MPI_Aint)b->count;

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
