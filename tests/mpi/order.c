/* SPDX-License-Identifier: BSD-3-Clause
 * Messages of one sender arrive in order whatever the receiver asks for. */
#include "check.h"

#define ROUNDS 50
#define BURST 20

static void send_bursts(void)
{
    for (int i = 0; i < ROUNDS * BURST; i++)
        MPI_Send(&i, 1, MPI_INT, 0, i % 3, MPI_COMM_WORLD);
}

/* Everything from anybody with any tag. */
static void receive_any(void)
{
    int *next = calloc((size_t)size, sizeof(int));

    for (int n = 0; n < (size - 1) * ROUNDS * BURST; n++) {
        MPI_Status st;
        int v, count;

        MPI_Recv(&v, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                 &st);
        CHECK(st.MPI_SOURCE > 0 && st.MPI_SOURCE < size);
        CHECK(v == next[st.MPI_SOURCE]++);
        CHECK(st.MPI_TAG == v % 3);
        MPI_Get_count(&st, MPI_INT, &count);
        CHECK(count == 1);
    }
    free(next);
}

/* Many wildcards posted at once, completed in any order. */
static void receive_posted(void)
{
    int n = (size - 1) * ROUNDS * BURST;
    int *value = malloc((size_t)n * sizeof(int));
    int *next = calloc((size_t)size, sizeof(int));
    MPI_Request *req = malloc((size_t)n * sizeof(*req));
    MPI_Status *st = malloc((size_t)n * sizeof(*st));

    for (int i = 0; i < n; i++)
        MPI_Irecv(&value[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                  MPI_COMM_WORLD, &req[i]);
    MPI_Waitall(n, req, st);
    for (int i = 0; i < n; i++) {
        CHECK(req[i] == MPI_REQUEST_NULL);
        CHECK(value[i] == next[st[i].MPI_SOURCE]++);
    }
    free(value);
    free(next);
    free(req);
    free(st);
}

/* Wildcards and named sources mixed: a named one must not be overtaken. */
static void receive_mixed(void)
{
    int *next = calloc((size_t)size, sizeof(int));
    int left = (size - 1) * ROUNDS * BURST;

    while (left > 0) {
        for (int s = 1; s < size && left > 0; s++) {
            MPI_Status st;
            int v;

            if (next[s] == ROUNDS * BURST)
                continue;
            MPI_Recv(&v, 1, MPI_INT, s, next[s] % 3, MPI_COMM_WORLD, &st);
            CHECK(v == next[s]++ && st.MPI_SOURCE == s);
            left--;
            if (left == 0)
                break;
            MPI_Recv(&v, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                     MPI_COMM_WORLD, &st);
            CHECK(v == next[st.MPI_SOURCE]++);
            left--;
        }
    }
    free(next);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int phase = 0; phase < 3; phase++) {
        if (rank != 0)
            send_bursts();
        else if (phase == 0)
            receive_any();
        else if (phase == 1)
            receive_posted();
        else
            receive_mixed();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return end("order");
}
