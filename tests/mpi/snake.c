/* SPDX-License-Identifier: BSD-3-Clause
 * The C side of snake.py: the same calls in the same order. */
#include "check.h"

static void numbers(int left, int right)
{
    static double out[1000], got[1000];
    MPI_Message message;
    MPI_Request req;
    MPI_Status status;
    int n;

    for (int i = 0; i < 1000; i++)
        out[i] = rank + i / 4.;
    MPI_Irecv(got, 1000, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &req);
    MPI_Send(out, 1000, MPI_DOUBLE, right, 1, MPI_COMM_WORLD);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    CHECK(got[999] == left + 999 / 4.);
    MPI_Isend(out, 1000, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &req);
    MPI_Mprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &message, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &n);
    CHECK(status.MPI_SOURCE == left && n == 1000);
    MPI_Mrecv(got, 1000, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
}

static void everybody(void)
{
    int value = rank == 0 ? 42 : 0, square = rank * rank, sum, all[64];
    MPI_Request req;

    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2);
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(value == 42);
    MPI_Allgather(&square, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        CHECK(all[i] == i * i);
    MPI_Ibarrier(MPI_COMM_WORLD, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
}

static void parts(int left, int right)
{
    int range[1][3] = {{size - 1, 0, -1}}, periodic = 1, r, a, b;
    MPI_Group group, back;
    MPI_Comm c;

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &c);
    MPI_Comm_free(&c);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Group_range_incl(group, 1, range, &back);
    MPI_Comm_create(MPI_COMM_WORLD, back, &c);
    MPI_Comm_rank(c, &r);
    CHECK(r == size - 1 - rank);
    MPI_Comm_free(&c);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &c);
    MPI_Cart_shift(c, 0, 1, &a, &b);
    CHECK(a == left && b == right);
    MPI_Comm_free(&c);
    MPI_Group_free(&group);
    MPI_Group_free(&back);
}

/* Each has every size-th block. */
static void file_of_all(const char *name, int right)
{
    MPI_Datatype blocks;
    MPI_File file;
    int ints[1000];

    for (int i = 0; i < 1000; i++)
        ints[i] = rank * 1000 + i;
    MPI_Type_vector(10, 100, 100 * size, MPI_INT, &blocks);
    MPI_Type_commit(&blocks);
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR,
                        MPI_INFO_NULL, &file) == MPI_SUCCESS);
    MPI_File_set_view(file, rank * 400, MPI_INT, blocks, "native",
                      MPI_INFO_NULL);
    MPI_File_write_all(file, ints, 1000, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_set_view(file, right * 400, MPI_INT, blocks, "native",
                      MPI_INFO_NULL);
    MPI_File_read_at_all(file, 0, ints, 1000, MPI_INT, MPI_STATUS_IGNORE);
    for (int i = 0; i < 1000; i++)
        CHECK(ints[i] == right * 1000 + i);
    MPI_File_close(&file);
    MPI_Type_free(&blocks);
}

int main(int argc, char **argv)
{
    int right, left;

    begin(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    numbers(left, right);
    everybody();
    parts(left, right);
    if (getenv("SNAKE_FILE"))
        file_of_all(getenv("SNAKE_FILE"), right);
    if (rank == 0)
        printf("PASS snake\n");
    MPI_Finalize();
    return 0;
}
