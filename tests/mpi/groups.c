/* SPDX-License-Identifier: BSD-3-Clause
 * Groups with members of other clients, communicators made from them, and
 * intercommunicators with messages and collective operations over them. */
#include "check.h"

static void group_is(MPI_Group g, int n, const int *world)
{
    MPI_Group all;
    int size_, r[64];

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_size(g, &size_);
    CHECK(size_ == n);
    for (int i = 0; i < n; i++) {
        MPI_Group_translate_ranks(g, 1, &i, all, r);
        CHECK(r[0] == world[i]);
    }
    MPI_Group_free(&all);
    CHECK(all == MPI_GROUP_NULL);
}

static void group_algebra_with_ranks_of_other_clients(void)
{
    MPI_Group all, even, odd, u, rest, none, first;
    int evens[32], odds[32], ne = 0, no = 0, result, r;
    int range[1][3] = {{0, size - 1, 2}};

    for (int i = 0; i < size; i++)
        i % 2 ? (odds[no++] = i) : (evens[ne++] = i);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_rank(all, &r);
    CHECK(r == rank);
    MPI_Group_range_incl(all, 1, range, &even);
    MPI_Group_excl(all, ne, evens, &odd);
    group_is(even, ne, evens);
    group_is(odd, no, odds);
    MPI_Group_union(odd, even, &u);
    MPI_Group_compare(u, all, &result);
    CHECK(size == 1 || result == MPI_SIMILAR);
    MPI_Group_difference(all, odd, &rest);
    MPI_Group_compare(rest, even, &result);
    CHECK(result == MPI_IDENT);
    MPI_Group_intersection(odd, even, &none);
    CHECK(none == MPI_GROUP_EMPTY);
    MPI_Group_incl(even, 1, (int[]){0}, &first);
    group_is(first, 1, (int[]){0});
    MPI_Group_rank(odd, &r);
    CHECK(r == (rank % 2 ? rank / 2 : MPI_UNDEFINED));
    MPI_Group_free(&all);
    MPI_Group_free(&even);
    MPI_Group_free(&odd);
    MPI_Group_free(&u);
    MPI_Group_free(&rest);
    MPI_Group_free(&none);
    MPI_Group_free(&first);
}

static void is_backwards(MPI_Comm c)
{
    int r, n, sum;

    MPI_Comm_rank(c, &r);
    MPI_Comm_size(c, &n);
    CHECK(n == size && r == size - 1 - rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, c);
    CHECK(sum == size * (size - 1) / 2);
}

static void communicators_made_from_groups(void)
{
    MPI_Group all, back, part;
    MPI_Comm c;
    int range[1][3] = {{size - 1, 0, -1}}, n = (size + 1) / 2;
    int low[1][3] = {{0, n - 1, 1}}, sum;

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_range_incl(all, 1, range, &back);
    MPI_Group_range_incl(all, 1, low, &part);
    /* only half of them come, and know of a context that the others do not */
    if (rank < n) {
        MPI_Comm_create_group(MPI_COMM_WORLD, part, 3, &c);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, c);
        CHECK(sum == n * (n - 1) / 2);
        MPI_Comm_free(&c);
    }
    MPI_Comm_create(MPI_COMM_WORLD, back, &c);
    is_backwards(c);
    MPI_Comm_free(&c);
    MPI_Comm_create_group(MPI_COMM_WORLD, back, 17, &c);
    is_backwards(c);
    MPI_Comm_free(&c);
    MPI_Comm_create(MPI_COMM_WORLD, rank < n ? part : MPI_GROUP_EMPTY, &c);
    CHECK((c == MPI_COMM_NULL) == (rank >= n));
    if (c != MPI_COMM_NULL)
        MPI_Comm_free(&c);
    MPI_Group_free(&all);
    MPI_Group_free(&back);
    MPI_Group_free(&part);
}

/* ---- intercommunicators: even ranks and odd ranks ---- */

static void messages(MPI_Comm ic, int n)
{
    int v = -1;
    MPI_Status st;
    MPI_Request req;

    for (int i = 0; i < n; i++) {
        MPI_Isend(&rank, 1, MPI_INT, i, 5, ic, &req);
        MPI_Recv(&v, 1, MPI_INT, i, 5, ic, &st);
        CHECK(v == 2 * i + !(rank % 2) && st.MPI_SOURCE == i);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
        MPI_Isend(&rank, 1, MPI_INT, i, 6, ic, &req);
        MPI_Probe(MPI_ANY_SOURCE, 6, ic, &st);
        MPI_Recv(&v, 1, MPI_INT, MPI_ANY_SOURCE, 6, ic, &st);
        CHECK(v == 2 * st.MPI_SOURCE + !(rank % 2));
        MPI_Wait(&req, MPI_STATUS_IGNORE);
    }
}

static void rooted(MPI_Comm ic, int n, int sum)
{
    int root = rank == 0 ? MPI_ROOT : MPI_PROC_NULL, v, all[64];

    if (rank % 2)
        root = 0;
    v = rank == 0 ? 4711 : -1;
    MPI_Bcast(&v, 1, MPI_INT, root, ic);
    CHECK(v == (rank == 0 || rank % 2 ? 4711 : -1));
    v = -1;
    MPI_Reduce(&rank, &v, 1, MPI_INT, MPI_SUM, root, ic);
    CHECK(v == (rank == 0 ? sum : -1));
    MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, root, ic);
    for (int i = 0; rank == 0 && i < n; i++)
        CHECK(all[i] == 2 * i + 1);
    MPI_Scatter(all, 1, MPI_INT, &v, 1, MPI_INT, root, ic);
    CHECK(rank % 2 == 0 || v == rank);
}

static void everybody(MPI_Comm ic, int n, int sum)
{
    int v = -1, all[64], out[64];
    MPI_Request req[2];

    MPI_Barrier(ic);
    MPI_Allreduce(&rank, &v, 1, MPI_INT, MPI_SUM, ic);
    CHECK(v == sum);
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, ic);
    for (int i = 0; i < n; i++)
        CHECK(all[i] == 2 * i + !(rank % 2));
    for (int i = 0; i < n; i++)
        out[i] = rank * 100 + i;
    MPI_Ialltoall(out, 1, MPI_INT, all, 1, MPI_INT, ic, &req[0]);
    MPI_Ibarrier(ic, &req[1]);
    MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++)
        CHECK(all[i] == (2 * i + !(rank % 2)) * 100 + rank / 2);
}

/* odd, even: what the two sides say; even ranks have the lower first one. */
static void merged_intercommunicator_is_ordered(MPI_Comm ic, int odd, int even)
{
    MPI_Comm c;
    int r, n, low = (size + 1) / 2;

    MPI_Intercomm_merge(ic, rank % 2 ? odd : even, &c);
    MPI_Comm_rank(c, &r);
    MPI_Comm_size(c, &n);
    CHECK(n == size);
    if (!odd && even)
        CHECK(r == (rank % 2 ? rank / 2 : size / 2 + rank / 2));
    else
        CHECK(r == (rank % 2 ? low + rank / 2 : rank / 2));
    MPI_Barrier(c);
    MPI_Comm_free(&c);
}

static void use(MPI_Comm ic)
{
    int inter, n, m, r, sum = 0;
    MPI_Group g;

    MPI_Comm_test_inter(ic, &inter);
    MPI_Comm_remote_size(ic, &n);
    MPI_Comm_size(ic, &m);
    MPI_Comm_rank(ic, &r);
    CHECK(inter && n + m == size && r == rank / 2);
    MPI_Comm_remote_group(ic, &g);
    MPI_Group_size(g, &m);
    MPI_Group_rank(g, &r);
    CHECK(m == n && r == MPI_UNDEFINED);
    MPI_Group_free(&g);
    for (int i = 0; i < n; i++)
        sum += 2 * i + !(rank % 2);
    if (size % 2 == 0)
        messages(ic, n);
    rooted(ic, n, sum);
    everybody(ic, n, sum);
}

static void intercommunicators_span(void)
{
    MPI_Comm half, ic, dup, part;
    int result;

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 99, &ic);
    use(ic);
    MPI_Comm_dup(ic, &dup);
    MPI_Comm_compare(ic, dup, &result);
    CHECK(result == MPI_CONGRUENT);
    use(dup);
    for (int odd = 0; odd < 2; odd++)
        for (int even = 0; even < 2; even++)
            merged_intercommunicator_is_ordered(dup, odd, even);
    MPI_Comm_free(&dup);
    /* one of each side at a time */
    MPI_Comm_split(ic, rank / 2, 0, &part);
    if (rank / 2 * 2 + 1 < size) {
        int v = -1, n;

        MPI_Comm_remote_size(part, &n);
        CHECK(n == 1);
        MPI_Sendrecv(&rank, 1, MPI_INT, 0, 0, &v, 1, MPI_INT, 0, 0, part,
                     MPI_STATUS_IGNORE);
        CHECK(v == (rank ^ 1));
        MPI_Comm_free(&part);
    } else {
        CHECK(part == MPI_COMM_NULL);
    }
    MPI_Comm_free(&ic);
    MPI_Comm_free(&half);
}

/* Two processes, one of each side, use more communicators than all others: a
 * new id that is not above theirs, too, would mix up what they say there and
 * in the new one. */
static void the_id_is_above_those_of_all(void)
{
    enum { PAIRS = 6 };
    MPI_Comm side, ic, pair[PAIRS];
    MPI_Request req[PAIRS];
    int last = (size - 1) / 2 * 2 + (size % 2 ? -1 : 1), got[PAIRS], v;
    int member = rank == 0 || rank == last;

    MPI_Comm_split(MPI_COMM_WORLD, member ? 0 : MPI_UNDEFINED, rank, &pair[0]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &side);
    for (int i = 1; member && i < PAIRS; i++)
        MPI_Comm_dup(pair[0], &pair[i]);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 98, &ic);
    for (int i = 0; rank == last && i < PAIRS; i++)
        MPI_Irecv(&got[i], 1, MPI_INT, 0, 7, pair[i], &req[i]);
    MPI_Barrier(ic);
    if (rank == 0)
        MPI_Send(&size, 1, MPI_INT, last / 2, 7, ic);
    if (rank == last) {
        MPI_Recv(&v, 1, MPI_INT, 0, 7, ic, MPI_STATUS_IGNORE);
        CHECK(v == size);
    }
    for (int i = 0; rank == 0 && i < PAIRS; i++)
        MPI_Send(&i, 1, MPI_INT, 1, 7, pair[i]);
    for (int i = 0; rank == last && i < PAIRS; i++) {
        MPI_Wait(&req[i], MPI_STATUS_IGNORE);
        CHECK(got[i] == i);
    }
    for (int i = 0; member && i < PAIRS; i++)
        MPI_Comm_free(&pair[i]);
    MPI_Comm_free(&ic);
    MPI_Comm_free(&side);
}

/* One side uses more communicators than the other. */
static void both_sides_take_one_id(void)
{
    enum { MORE = 6 };
    MPI_Comm side, ic, more[MORE];

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &side);
    for (int i = 0; rank % 2 && i < MORE; i++)
        MPI_Comm_dup(side, &more[i]);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 97, &ic);
    MPI_Barrier(ic);
    for (int i = 0; rank % 2 && i < MORE; i++)
        MPI_Comm_free(&more[i]);
    MPI_Comm_free(&ic);
    MPI_Comm_free(&side);
}

static void many_idups_at_once(void)
{
    MPI_Comm c[8];
    MPI_Request req[16];
    int one = 1, sum[8];

    for (int i = 0; i < 8; i++) {
        MPI_Comm_idup(MPI_COMM_WORLD, &c[i], &req[2 * i]);
        MPI_Iallreduce(&one, &sum[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                       &req[2 * i + 1]);
    }
    MPI_Waitall(16, req, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 8; i++) {
        int v = i == 3 && rank == size - 1 ? 5 : -1;

        CHECK(sum[i] == size);
        MPI_Bcast(&v, 1, MPI_INT, size - 1, c[i]);
        CHECK(v == (i == 3 ? 5 : -1));
        MPI_Comm_free(&c[i]);
    }
}

static void add_ints(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++)
        ((int *)inout)[2 * i] += ((int *)in)[2 * i];
}

/* Types and operations may be freed as soon as the calls are started. */
static void freed_while_under_way(void)
{
    MPI_Datatype every_second;
    MPI_Request req[4];
    MPI_Op op;
    int a[8], b[9] = {0}, c[4] = {0};

    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &every_second);
    MPI_Type_commit(&every_second);
    MPI_Op_create(add_ints, 1, &op);
    for (int i = 0; i < 8; i++)
        a[i] = rank + i;
    MPI_Ibarrier(MPI_COMM_WORLD, &req[0]);
    MPI_Iallreduce(a, b, 4, every_second, op, MPI_COMM_WORLD, &req[1]);
    MPI_Ibcast(c, 4, MPI_INT, 0, MPI_COMM_WORLD, &req[2]);
    MPI_Ireduce(a, b + 1, 1, every_second, op, 0, MPI_COMM_WORLD, &req[3]);
    MPI_Type_free(&every_second);
    MPI_Op_free(&op);
    CHECK(every_second == MPI_DATATYPE_NULL && op == MPI_OP_NULL);
    MPI_Waitall(4, req, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 8; i += 2)
        CHECK(b[i] == size * (size - 1) / 2 + i * size);
}

/* The standard forbids it; mpi4py 3.1 does it.  Rank 0 has called, and the
 * numbers are gone, before any other calls. */
static void counts_gone_while_under_way(void)
{
    int counts[64], own[64], sum = -1;
    MPI_Request req;

    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        own[i] = rank + i;
    }
    if (rank > 0)
        MPI_Recv(NULL, 0, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Ireduce_scatter(own, &sum, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                        &req);
    for (int i = 0; i < size; i++)
        counts[i] = -7;
    for (int i = 1; rank == 0 && i < size; i++)
        MPI_Send(NULL, 0, MPI_INT, i, 9, MPI_COMM_WORLD);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    CHECK(sum == size * (size - 1) / 2 + rank * size);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    group_algebra_with_ranks_of_other_clients();
    communicators_made_from_groups();
    if (size > 1)
        intercommunicators_span();
    if (size > 1)
        the_id_is_above_those_of_all();
    if (size > 1)
        both_sides_take_one_id();
    many_idups_at_once();
    freed_while_under_way();
    counts_gone_while_under_way();
    return end("groups");
}
