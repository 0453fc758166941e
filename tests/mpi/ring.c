/* SPDX-License-Identifier: BSD-3-Clause
 * One world: every rank says what it is; a token goes round; sums agree. */
#include "check.h"

static void say_who(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int len;

    MPI_Get_library_version(text, &len);
    text[strcspn(text, "\n,")] = '\0';
    printf("rank %d of %d: %.40s\n", rank, size, text);
}

int main(int argc, char **argv)
{
    int token = -1, sum, next, prev;
    double x, max[2], loc[2];

    begin(&argc, &argv);
    say_who();
    next = (rank + 1) % size;
    prev = (rank + size - 1) % size;
    for (int lap = 0; lap < 10; lap++) {
        if (rank == 0) {
            MPI_Send(&lap, 1, MPI_INT, next, lap, MPI_COMM_WORLD);
            MPI_Recv(&token, 1, MPI_INT, prev, lap, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            CHECK(token == lap + size - 1);
        } else {
            MPI_Status st;

            MPI_Recv(&token, 1, MPI_INT, prev, lap, MPI_COMM_WORLD, &st);
            CHECK(token == lap + rank - 1);
            CHECK(st.MPI_SOURCE == prev && st.MPI_TAG == lap);
            token++;
            MPI_Send(&token, 1, MPI_INT, next, lap, MPI_COMM_WORLD);
        }
    }
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2);
    x = rank + 0.5;
    MPI_Allreduce(&x, &max[0], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    CHECK(max[0] == size - 0.5);
    loc[0] = -rank;
    loc[1] = 2.0 * rank;
    MPI_Allreduce(MPI_IN_PLACE, loc, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK(loc[0] == -sum && loc[1] == 2.0 * sum);
    if (rank == 0)
        printf("ring and allreduce right, %d ranks\n", size);
    return end("ring");
}
