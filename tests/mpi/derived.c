/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types of every constructor, nested by chance: what MPI_Pack makes on
 * MPI_COMM_WORLD, where it is external32, is what the library itself packs,
 * element by element in the other byte order; and back.
 */
#include <stdint.h>

#include "check.h"

#define ROUNDS 400
#define COUNT 3
#define MEMORY (1 << 20)
#define MOST 20000 /* bytes of data in a type */

static unsigned char user[MEMORY], ours[MEMORY], theirs[MEMORY];
static unsigned char packed[COUNT * MOST], wire[COUNT * MOST];
static uint64_t state = 88172645463325252u;

static int any(int n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int)(state % (unsigned)n);
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

static MPI_Datatype make_type(void)
{
    static MPI_Datatype named[] = {MPI_INT, MPI_FLOAT, MPI_2INT, MPI_UNSIGNED};
    MPI_Datatype t = named[any(4)];

    for (int depth = 1 + any(4), i = 0; i < depth; i++) {
        MPI_Datatype in = t;
        MPI_Aint lb, extent;
        int size;

        MPI_Type_get_extent(in, &lb, &extent);
        MPI_Type_size(in, &size);
        if (i > 0 && (size > MOST / 150 || extent > MEMORY / 2000))
            break;
        t = make_from(in, extent);
        if (i > 0)
            MPI_Type_free(&in);
    }
    MPI_Type_commit(&t);
    return t;
}

static void check_type(MPI_Datatype t)
{
    int size, pos = 0, len = 0;

    MPI_Type_size(t, &size);
    size *= COUNT;
    CHECK(size <= (int)sizeof(packed));
    MPI_Pack(user, COUNT, t, packed, sizeof(packed), &pos, MPI_COMM_SELF);
    MPI_Pack(user, COUNT, t, wire, sizeof(wire), &len, MPI_COMM_WORLD);
    CHECK(pos == size && len == size);
    for (int i = 0; i < size; i++)
        CHECK(wire[i] == packed[i ^ 3]);
    memset(ours, 0, sizeof(ours));
    memset(theirs, 0, sizeof(theirs));
    pos = len = 0;
    MPI_Unpack(packed, size, &pos, theirs, COUNT, t, MPI_COMM_SELF);
    MPI_Unpack(wire, size, &len, ours, COUNT, t, MPI_COMM_WORLD);
    CHECK(pos == size && len == size);
    CHECK(memcmp(ours, theirs, sizeof(ours)) == 0);
}

/* The part of a distributed array that has nothing of it. */
static void check_empty(void)
{
    int one[1] = {1}, block[1] = {MPI_DISTRIBUTE_BLOCK}, three[1] = {3};
    int any_arg[1] = {MPI_DISTRIBUTE_DFLT_DARG}, bytes = 1, n = 1;
    int next = (rank + 1) % size, pos = 0;
    MPI_Datatype t;
    MPI_Status st;

    MPI_Type_create_darray(3, 2, 1, one, block, any_arg, three, MPI_ORDER_C,
                           MPI_INT, &t);
    MPI_Type_commit(&t);
    MPI_Type_size(t, &bytes);
    CHECK(bytes == 0);
    MPI_Sendrecv(user, 2, t, next, 5, ours, 2, t, MPI_ANY_SOURCE, 5,
                 MPI_COMM_WORLD, &st);
    MPI_Get_count(&st, MPI_BYTE, &n);
    CHECK(n == 0);
    MPI_Bcast(user, 2, t, 0, MPI_COMM_WORLD);
    MPI_Allgather(user, 2, t, ours, 2, t, MPI_COMM_WORLD);
    MPI_Alltoall(user, 1, t, ours, 1, t, MPI_COMM_WORLD);
    MPI_Pack(user, 2, t, wire, sizeof(wire), &pos, MPI_COMM_WORLD);
    CHECK(pos == 0);
    MPI_Type_free(&t);
}

int main(int argc, char *argv[])
{
    begin(&argc, &argv);
    for (size_t i = 0; i < sizeof(user); i++)
        user[i] = (unsigned char)(i * 7 + i / 256);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Datatype t = make_type();
        MPI_Aint lb, extent;

        MPI_Type_get_true_extent(t, &lb, &extent);
        CHECK(lb >= 0 && lb + extent <= MEMORY / 4);
        check_type(t);
        MPI_Type_free(&t);
    }
    check_empty();
    return end("derived");
}
