/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types of every constructor, nested by chance, alike on all ranks that ask as
 * often.
 */
#ifndef TESTS_MPI_ANY_TYPE_H
#define TESTS_MPI_ANY_TYPE_H

#include <stdint.h>

#include "check.h"

#define ANY_TYPE_BYTES 20000      /* of data in one, at the most */
#define ANY_TYPE_MEMORY (1 << 18) /* its last byte lies below */

static uint64_t any_state = 88172645463325252u;

static int any(int n)
{
    any_state ^= any_state << 13;
    any_state ^= any_state >> 7;
    any_state ^= any_state << 17;
    return (int)(any_state % (unsigned)n);
}

static MPI_Datatype make_struct(MPI_Datatype in, MPI_Aint extent)
{
    MPI_Datatype t, old[3] = {in, MPI_INT, in};
    MPI_Aint at[3] = {0, extent * 2 + 4 * any(3), 0};
    int n[3] = {1 + any(2), any(3), any(2)};

    at[2] = at[1] + 8 + 4 * any(3);
    MPI_Type_create_struct(3, n, at, old, &t);
    return t;
}

static MPI_Datatype make_array(MPI_Datatype in, int distributed)
{
    int order = any(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    int sizes[3] = {1 + any(5), 1 + any(5), 1 + any(5)}, sub[3], start[3];
    int dist[3], arg[3], procs[3], nprocs = 1;
    MPI_Datatype t;

    for (int d = 0; d < 3; d++) {
        sub[d] = 1 + any(sizes[d]);
        start[d] = any(sizes[d] - sub[d] + 1);
        dist[d] = any(3) == 0   ? MPI_DISTRIBUTE_NONE
                  : any(2) == 0 ? MPI_DISTRIBUTE_BLOCK
                                : MPI_DISTRIBUTE_CYCLIC;
        procs[d] = dist[d] == MPI_DISTRIBUTE_NONE ? 1 : 1 + any(3);
        arg[d] = MPI_DISTRIBUTE_DFLT_DARG;
        if (dist[d] == MPI_DISTRIBUTE_CYCLIC && any(2))
            arg[d] = 1 + any(3);
        nprocs *= procs[d];
    }
    if (distributed)
        MPI_Type_create_darray(nprocs, any(nprocs), 3, sizes, dist, arg, procs,
                               order, in, &t);
    else
        MPI_Type_create_subarray(3, sizes, sub, start, order, in, &t);
    return t;
}

static MPI_Datatype make_from(MPI_Datatype in, MPI_Aint extent)
{
    int n[3] = {1 + any(3), any(3), 1 + any(2)}, at[3] = {0, 4, 9 + any(3)};
    MPI_Aint bytes[3] = {0, extent * 4 + 4, extent * 8 + 4 * any(5)};
    MPI_Datatype t;

    switch (any(11)) {
    case 0:
        MPI_Type_contiguous(1 + any(4), in, &t);
        break;
    case 1:
        MPI_Type_vector(1 + any(4), 1 + any(3), 3 + any(3), in, &t);
        break;
    case 2:
        MPI_Type_create_hvector(1 + any(4), 1 + any(2), 2 * extent + 4 * any(3),
                                in, &t);
        break;
    case 3:
        MPI_Type_indexed(3, n, at, in, &t);
        break;
    case 4:
        MPI_Type_create_hindexed(3, n, bytes, in, &t);
        break;
    case 5:
        MPI_Type_create_indexed_block(3, 1 + any(3), at, in, &t);
        break;
    case 6:
        MPI_Type_create_hindexed_block(3, 1 + any(3), bytes, in, &t);
        break;
    case 7:
        return make_struct(in, extent);
    case 8:
        MPI_Type_create_resized(in, 0, extent + 4 * any(3), &t);
        break;
    case 9:
        MPI_Type_dup(in, &t);
        break;
    default:
        return make_array(in, any(2));
    }
    return t;
}

static inline MPI_Datatype any_type(void)
{
    static MPI_Datatype named[] = {MPI_INT, MPI_FLOAT, MPI_2INT, MPI_UNSIGNED};
    MPI_Datatype t = named[any(4)];

    for (int depth = 1 + any(4), i = 0; i < depth; i++) {
        MPI_Datatype in = t;
        MPI_Aint lb, extent;
        int size;

        MPI_Type_get_extent(in, &lb, &extent);
        MPI_Type_size(in, &size);
        if (i > 0 &&
            (size > ANY_TYPE_BYTES / 150 || extent > ANY_TYPE_MEMORY / 500))
            break;
        t = make_from(in, extent);
        if (i > 0)
            MPI_Type_free(&in);
    }
    MPI_Type_commit(&t);
    return t;
}

#endif
