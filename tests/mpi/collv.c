/* SPDX-License-Identifier: BSD-3-Clause
 * Gather, Scatter, Allgather, Alltoall with their v and w forms, Scan, Exscan,
 * Reduce_scatter and its block form: every root, MPI_IN_PLACE, blocks of
 * different lengths (none, too), gaps between blocks, an operation that does
 * not commute. */
#include "check.h"

/* Rank r has len(r) ints in a block; block r of an array begins at at(r). */
static int *lens, *ats, total;

static int value(int from, int to, int i)
{
    return from * 10007 + to * 101 + i;
}

static int *array(int n)
{
    int *a = malloc(((size_t)n + 1) * sizeof(int));

    for (int i = 0; i <= n; i++)
        a[i] = -1;
    return a;
}

static void shape(int unit)
{
    lens = array(size);
    ats = array(size);
    total = 0;
    for (int r = 0; r < size; r++) {
        lens[r] = (r * 5 + 1) % 4 * unit;
        ats[r] = total;
        total += lens[r] + 3; /* a gap of three */
    }
}

static void fill_block(int *p, int n, int from, int to)
{
    for (int i = 0; i < n; i++)
        p[i] = value(from, to, i);
}

static int is_block(const int *p, int n, int from, int to)
{
    for (int i = 0; i < n; i++)
        if (p[i] != value(from, to, i))
            return 0;
    return 1;
}

static void check_v(const int *all)
{
    for (int r = 0; r < size; r++) {
        CHECK(is_block(all + ats[r], lens[r], r, 0));
        CHECK(all[ats[r] + lens[r]] == -1 && all[ats[r] + lens[r] + 2] == -1);
    }
}

static void gathers(int n)
{
    int *own = array(n), *all;

    fill_block(own, n, rank, 0);
    for (int root = 0; root < size; root++) {
        all = array(n * size);
        MPI_Gather(own, n, MPI_INT, rank == root ? all : NULL, n, MPI_INT, root,
                   MPI_COMM_WORLD);
        for (int r = 0; rank == root && r < size; r++)
            CHECK(is_block(all + r * n, n, r, 0));
        free(all);
        all = array(n * size);
        fill_block(all + rank * n, n, rank, 0);
        MPI_Gather(rank == root ? MPI_IN_PLACE : own, n, MPI_INT, all, n,
                   MPI_INT, root, MPI_COMM_WORLD);
        for (int r = 0; rank == root && r < size; r++)
            CHECK(is_block(all + r * n, n, r, 0));
        MPI_Scatter(all, n, MPI_INT, rank == root ? MPI_IN_PLACE : own, n,
                    MPI_INT, root, MPI_COMM_WORLD);
        CHECK(is_block(own, n, rank, 0));
        free(all);
    }
    free(own);
}

static void gathervs(void)
{
    int *own = array(lens[rank]), *all, *back;

    fill_block(own, lens[rank], rank, 0);
    for (int root = 0; root < size; root++) {
        all = array(total);
        back = array(lens[rank]);
        MPI_Gatherv(own, lens[rank], MPI_INT, all, lens, ats, MPI_INT, root,
                    MPI_COMM_WORLD);
        if (rank == root)
            check_v(all);
        MPI_Scatterv(all, lens, ats, MPI_INT, back, lens[rank], MPI_INT, root,
                     MPI_COMM_WORLD);
        CHECK(is_block(back, lens[rank], rank, 0));
        CHECK(back[lens[rank]] == -1);
        free(all);
        free(back);
    }
    free(own);
}

static void allgathers(int n)
{
    int *own = array(n), *all = array(n * size), *v = array(total);

    fill_block(own, n, rank, 0);
    MPI_Allgather(own, n, MPI_INT, all, n, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < size; r++)
        CHECK(is_block(all + r * n, n, r, 0));
    fill_block(v + ats[rank], lens[rank], rank, 0);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, v, lens, ats, MPI_INT,
                   MPI_COMM_WORLD);
    check_v(v);
    free(own);
    free(all);
    free(v);
}

/* The pieces of a vector become neighbours. */
static void derived(void)
{
    int *a = array(2 * 50), *all = array(50 * size);
    MPI_Datatype t;

    MPI_Type_vector(50, 1, 2, MPI_INT, &t);
    MPI_Type_commit(&t);
    for (int i = 0; i < 50; i++)
        a[2 * i] = value(rank, 0, i);
    MPI_Allgather(a, 1, t, all, 50, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < size; r++)
        CHECK(is_block(all + r * 50, 50, r, 0));
    MPI_Type_free(&t);
    free(a);
    free(all);
}

static void alltoalls(int n)
{
    int *out = array(n * size), *in = array(n * size);

    for (int r = 0; r < size; r++)
        fill_block(out + r * n, n, rank, r);
    MPI_Alltoall(out, n, MPI_INT, in, n, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < size; r++)
        CHECK(is_block(in + r * n, n, r, rank));
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, n, MPI_INT,
                 MPI_COMM_WORLD);
    CHECK(memcmp(in, out, (size_t)(n * size) * sizeof(int)) == 0);
    free(out);
    free(in);
}

/* Every second int of 2 n into n in a row, while another one is under way. */
static void alltoall_of_a_vector(int n)
{
    int *out = array(2 * n * size), *in = array(n * size);
    int *more = array(n * size), *first = array(n * size);
    MPI_Datatype t, wide;
    MPI_Request request;

    MPI_Type_vector(n, 1, 2, MPI_INT, &t);
    MPI_Type_create_resized(t, 0, 2 * n * (int)sizeof(int), &wide);
    MPI_Type_commit(&wide);
    for (int r = 0; r < size; r++) {
        fill_block(first + r * n, n, rank, r);
        for (int i = 0; i < n; i++)
            out[2 * (r * n + i)] = first[r * n + i];
    }
    MPI_Ialltoall(first, n, MPI_INT, more, n, MPI_INT, MPI_COMM_WORLD,
                  &request);
    MPI_Alltoall(out, 1, wide, in, n, MPI_INT, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int r = 0; r < size; r++) {
        CHECK(is_block(in + r * n, n, r, rank));
        CHECK(is_block(more + r * n, n, r, rank));
    }
    MPI_Type_free(&t);
    MPI_Type_free(&wide);
    free(out);
    free(in);
    free(more);
    free(first);
}

/* a sends lens[(a + b) % size] ints to b. */
static void alltoallvs(void)
{
    int *n = array(size), *at = array(size), *bytes = array(size);
    int room = size * (lens[0] + 3 + total), *out = array(room), *in;
    MPI_Datatype *types = malloc((size_t)size * sizeof(*types));

    for (int r = 0, next = 0; r < size; r++) {
        n[r] = lens[(rank + r) % size];
        at[r] = next;
        bytes[r] = next * (int)sizeof(int);
        next += n[r] + 2;
        types[r] = MPI_INT;
        fill_block(out + at[r], n[r], rank, r);
    }
    in = array(room);
    MPI_Alltoallv(out, n, at, MPI_INT, in, n, at, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < size; r++)
        CHECK(is_block(in + at[r], n[r], r, rank) && in[at[r] + n[r]] == -1);
    free(in);
    in = array(room);
    MPI_Alltoallw(out, n, bytes, types, in, n, bytes, types, MPI_COMM_WORLD);
    for (int r = 0; r < size; r++)
        CHECK(is_block(in + at[r], n[r], r, rank) && in[at[r] + n[r]] == -1);
    MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, out, n, bytes, types,
                  MPI_COMM_WORLD);
    for (int r = 0; r < size; r++)
        CHECK(is_block(out + at[r], n[r], r, rank));
    free(in);
    free(out);
    free(n);
    free(at);
    free(bytes);
    free(types);
}

/* x -> a x + b, one after the other: (a, b) pairs do not commute. */
static void affine(void *in, void *inout, int *len, MPI_Datatype *type)
{
    long long *f = in, *g = inout;

    (void)type;
    for (int i = 0; i < *len; i++, f += 2, g += 2) {
        long long a = f[0] * g[0] % 1000003, b = (f[1] * g[0] + g[1]) % 1000003;

        g[0] = a;
        g[1] = b;
    }
}

static void own_function(long long f[2], int r, int i)
{
    f[0] = r + 2 + i;
    f[1] = 3 * r + 1;
}

/* That of ranks first..last. */
static void expected(long long f[2], int first, int last, int i)
{
    int one = 1;

    own_function(f, first, i);
    for (int r = first + 1; r <= last; r++) {
        long long g[2];

        own_function(g, r, i);
        affine(f, g, &one, NULL);
        f[0] = g[0];
        f[1] = g[1];
    }
}

static void check_functions(long long (*got)[2], int n, int last, int from)
{
    for (int i = 0; i < n; i++) {
        long long f[2];

        expected(f, 0, last, from + i);
        CHECK(got[i][0] == f[0] && got[i][1] == f[1]);
    }
}

static void scans(MPI_Datatype pair, MPI_Op op)
{
    long long own[7][2], out[7][2] = {{-1, -1}};

    for (int i = 0; i < 7; i++)
        own_function(own[i], rank, i);
    MPI_Scan(own, out, 7, pair, op, MPI_COMM_WORLD);
    check_functions(out, 7, rank, 0);
    memcpy(out, own, sizeof(own));
    MPI_Scan(MPI_IN_PLACE, out, 7, pair, op, MPI_COMM_WORLD);
    check_functions(out, 7, rank, 0);
    out[0][0] = -1;
    MPI_Exscan(own, out, 7, pair, op, MPI_COMM_WORLD);
    if (rank > 0)
        check_functions(out, 7, rank - 1, 0);
    else
        CHECK(out[0][0] == -1);
    MPI_Exscan(MPI_IN_PLACE, own, 7, pair, op, MPI_COMM_WORLD);
    if (rank > 0)
        check_functions(own, 7, rank - 1, 0);
}

static void reduce_scatters(MPI_Datatype pair, MPI_Op op)
{
    int n = 0, mine = 0;
    long long(*own)[2], (*out)[2];

    for (int r = 0; r < size; r++) {
        if (r == rank)
            mine = n;
        n += lens[r];
    }
    n = n > 2 * size ? n : 2 * size;
    own = malloc((size_t)n * sizeof(*own));
    out = malloc((size_t)n * sizeof(*out));
    for (int i = 0; i < n; i++)
        own_function(own[i], rank, i);
    MPI_Reduce_scatter(own, out, lens, pair, op, MPI_COMM_WORLD);
    check_functions(out, lens[rank], size - 1, mine);
    MPI_Reduce_scatter_block(own, out, 2, pair, op, MPI_COMM_WORLD);
    check_functions(out, 2, size - 1, 2 * rank);
    MPI_Reduce_scatter_block(MPI_IN_PLACE, own, 2, pair, op, MPI_COMM_WORLD);
    check_functions(own, 2, size - 1, 2 * rank);
    free(own);
    free(out);
}

static void operations(void)
{
    MPI_Datatype pair;
    MPI_Op op;

    MPI_Type_contiguous(2, MPI_LONG_LONG, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(affine, 0, &op);
    scans(pair, op);
    reduce_scatters(pair, op);
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
}

static void wrong_root(void)
{
    int code, class;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code =
        MPI_Gather(&rank, 1, MPI_INT, &class, 1, MPI_INT, size, MPI_COMM_WORLD);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_ROOT);
}

/* Short blocks of ints with gaps, one after the other and at once; the type
 * is gone before they are done. */
static void gaps_in_types_are_kept(void)
{
    int *own = array(6), *all = array(6 * size), *back = array(6);
    MPI_Datatype raw, t;
    MPI_Request req[2];

    MPI_Type_vector(2, 1, 2, MPI_INT, &raw);
    MPI_Type_create_resized(raw, 0, 3 * (MPI_Aint)sizeof(int), &t);
    MPI_Type_commit(&t);
    for (int i = 0; i < 4; i++)
        own[i / 2 * 3 + i % 2 * 2] = value(rank, 0, i);
    MPI_Igather(own, 2, t, all, 2, t, size - 1, MPI_COMM_WORLD, &req[0]);
    MPI_Type_free(&raw);
    MPI_Type_free(&t);
    MPI_Wait(&req[0], MPI_STATUS_IGNORE);
    for (int i = 0; rank == size - 1 && i < 6 * size; i++) {
        int at = i % 6 / 3 * 2 + i % 3 / 2;

        CHECK(all[i] == (i % 3 == 1 ? -1 : value(i / 6, 0, at)));
    }
    /* Ints out, halves of them in two calls that are under way together. */
    MPI_Iscatter(all, 3, MPI_INT, back, 3, MPI_INT, size - 1, MPI_COMM_WORLD,
                 &req[0]);
    MPI_Iscatter(all + 3, 3, MPI_INT, back + 3, 3, MPI_INT, size - 1,
                 MPI_COMM_WORLD, &req[1]);
    MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
    CHECK(back[1] == -1 && back[4] == -1);
    CHECK(back[0] == value(rank / 2, 0, rank % 2 * 2));
    CHECK(back[2] == value(rank / 2, 0, rank % 2 * 2 + 1));
    free(own);
    free(all);
    free(back);
}

/* Who has nothing to give or take need not have a buffer; every other rank. */
static void buffers_of_nothing(void)
{
    int *none = calloc((size_t)size, sizeof(*none)), value = rank, *mine, *all;

    mine = rank % 2 ? &value : NULL;
    all = calloc((size_t)size, sizeof(*all));
    lens = calloc((size_t)size, sizeof(*lens));
    for (int r = 1; r < size; r += 2)
        lens[r] = 1;
    MPI_Alltoallv(NULL, none, none, MPI_INT, NULL, none, none, MPI_INT,
                  MPI_COMM_WORLD);
    MPI_Alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD);
    MPI_Gatherv(mine, lens[rank], MPI_INT, all, lens, none, MPI_INT, 0,
                MPI_COMM_WORLD);
    MPI_Scatterv(all, lens, none, MPI_INT, mine, lens[rank], MPI_INT, 0,
                 MPI_COMM_WORLD);
    MPI_Bcast(NULL, 0, MPI_INT, size - 1, MPI_COMM_WORLD);
    MPI_Gather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
    free(lens);
    free(none);
    free(all);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int unit = 1; unit < 30000; unit *= 150) {
        shape(unit);
        gathers(unit);
        gathervs();
        allgathers(unit);
        alltoalls(unit);
        alltoall_of_a_vector(unit);
        alltoallvs();
        if (unit < 30000 / 150)
            operations();
        free(lens);
        free(ats);
    }
    derived();
    gaps_in_types_are_kept();
    wrong_root();
    buffers_of_nothing();
    return end("collv");
}
