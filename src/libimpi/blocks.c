/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks of a collective call.
 */
#include "libimpi/blocks.h"

int blocks_check(struct blocks *b, int n)
{
    MPI_Aint lb;

    b->extent = 1;
    for (int i = 0; b->counts && i < n; i++) {
        if (b->counts[i] < 0)
            return MPI_ERR_COUNT;
    }
    if (b->types)
        return MPI_SUCCESS;
    if (b->type == MPI_DATATYPE_NULL)
        return MPI_ERR_TYPE;
    if (!b->counts && b->count < 0)
        return MPI_ERR_COUNT;
    return impi_real.Type_get_extent(b->type, &lb, &b->extent);
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
