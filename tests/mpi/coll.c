/* SPDX-License-Identifier: BSD-3-Clause
 * Barrier, Bcast, Reduce and Allreduce from every root: predefined
 * operations, IN_PLACE, pair types, a user operation that does not commute. */
#include "check.h"

#define N 1000

static void barriers(void)
{
    for (int i = 0; i < 20; i++)
        MPI_Barrier(MPI_COMM_WORLD);
}

static void bcasts(int n)
{
    int *v = malloc((size_t)n * sizeof(int) + 1);

    for (int root = 0; root < size; root++) {
        for (int i = 0; i < n; i++)
            v[i] = rank == root ? root * 1000 + i : -1;
        MPI_Bcast(v, n, MPI_INT, root, MPI_COMM_WORLD);
        for (int i = 0; i < n; i++)
            CHECK(v[i] == root * 1000 + i);
    }
    free(v);
}

static void reduces(int n)
{
    double *a = malloc((size_t)n * sizeof(*a)), *b = malloc((size_t)n * 8);
    int sum = size * (size - 1) / 2;

    for (int root = 0; root < size; root++) {
        for (int i = 0; i < n; i++) {
            a[i] = rank + i;
            b[i] = -1;
        }
        MPI_Reduce(a, b, n, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
        for (int i = 0; i < n; i++)
            CHECK(b[i] == (rank == root ? sum + (double)size * i : -1));
        if (rank == root)
            MPI_Reduce(MPI_IN_PLACE, a, n, MPI_DOUBLE, MPI_MAX, root,
                       MPI_COMM_WORLD);
        else
            MPI_Reduce(a, NULL, n, MPI_DOUBLE, MPI_MAX, root, MPI_COMM_WORLD);
        for (int i = 0; i < n; i++)
            CHECK(a[i] == (rank == root ? size - 1 : rank) + i);
    }
    free(a);
    free(b);
}

static void pairs(void)
{
    struct {
        double v;
        int at;
    } in = {100.0 - rank, rank}, out = {0, -1};
    int two[2] = {rank % 3, rank}, res[2];

    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
    CHECK(out.at == size - 1 && out.v == 100.0 - (size - 1));
    MPI_Allreduce(two, res, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD);
    CHECK(res[0] == 0 && res[1] == 0);
}

/* 2 x 2 matrices modulo a prime: associative, does not commute. */
static void multiply(void *in, void *inout, int *len, MPI_Datatype *type)
{
    long long *a = in, *b = inout;

    (void)type;
    for (int i = 0; i < *len; i++, a += 4, b += 4) {
        long long c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                          a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};

        for (int k = 0; k < 4; k++)
            b[k] = c[k] % 1000003;
    }
}

static void matrix_of(int r, int i, long long *m)
{
    m[0] = r + 2;
    m[1] = i + 1;
    m[2] = 1;
    m[3] = r * r + 3;
}

static void products(void)
{
    long long mine[8], want[8], got[8];
    MPI_Datatype matrix;
    MPI_Op op;

    MPI_Type_contiguous(4, MPI_LONG_LONG, &matrix);
    MPI_Type_commit(&matrix);
    MPI_Op_create(multiply, 0, &op);
    for (int i = 0; i < 2; i++) {
        matrix_of(size - 1, i, want + 4 * i);
        matrix_of(rank, i, mine + 4 * i);
        for (int r = size - 2; r >= 0; r--) {
            long long m[4];
            int one = 1;

            matrix_of(r, i, m);
            multiply(m, want + 4 * i, &one, &matrix);
        }
    }
    for (int root = 0; root < size; root++) {
        memset(got, 0, sizeof(got));
        MPI_Reduce(mine, got, 2, matrix, op, root, MPI_COMM_WORLD);
        CHECK(rank != root || memcmp(got, want, sizeof(got)) == 0);
    }
    MPI_Allreduce(mine, got, 2, matrix, op, MPI_COMM_WORLD);
    CHECK(memcmp(got, want, sizeof(got)) == 0);
    MPI_Allreduce(MPI_IN_PLACE, mine, 2, matrix, op, MPI_COMM_WORLD);
    CHECK(memcmp(mine, want, sizeof(mine)) == 0);
    MPI_Op_free(&op);
    MPI_Type_free(&matrix);
}

static void ops(void)
{
    int v = rank + 1, r;
    unsigned u = 1u << (rank % 20), ur;

    MPI_Allreduce(&v, &r, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    CHECK(r == 1);
    MPI_Allreduce(&v, &r, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    CHECK(r == 1);
    MPI_Allreduce(&u, &ur, 1, MPI_UNSIGNED, MPI_BOR, MPI_COMM_WORLD);
    CHECK(ur == (size >= 20 ? 0xfffffu : (1u << size) - 1));
    MPI_Allreduce(&u, &ur, 1, MPI_UNSIGNED, MPI_BXOR, MPI_COMM_WORLD);
    CHECK(size > 20 || ur == (1u << size) - 1);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    barriers();
    bcasts(0);
    bcasts(1);
    bcasts(N);
    bcasts(100 * N);
    reduces(1);
    reduces(N);
    reduces(100 * N);
    pairs();
    ops();
    products();
    return end("coll");
}
