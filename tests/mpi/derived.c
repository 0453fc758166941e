/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types of every constructor, nested by chance: what MPI_Pack makes on
 * MPI_COMM_WORLD, where it is external32, is what the library itself packs,
 * element by element in the other byte order; and back.
 */
#include "any_type.h"

#define ROUNDS 400
#define COUNT 3
#define MEMORY (4 * ANY_TYPE_MEMORY)
#define MOST ANY_TYPE_BYTES

static unsigned char user[MEMORY], ours[MEMORY], theirs[MEMORY];
static unsigned char packed[COUNT * MOST], wire[COUNT * MOST];
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
        MPI_Datatype t = any_type();
        MPI_Aint lb, extent;

        MPI_Type_get_true_extent(t, &lb, &extent);
        CHECK(lb >= 0 && lb + extent <= ANY_TYPE_MEMORY);
        check_type(t);
        MPI_Type_free(&t);
    }
    check_empty();
    return end("derived");
}
