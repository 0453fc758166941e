/* SPDX-License-Identifier: BSD-3-Clause
 * Communicators made from a spanning one: duplicates keep messages apart,
 * parts have the right members in the right order, all of it again from
 * these; freed while a receive is open. */
#include <stdbool.h>

#include "check.h"

static void use(MPI_Comm comm, int expected_size, int expected_rank)
{
    int r, n, v, sum, prev, next;
    MPI_Status st;

    MPI_Comm_rank(comm, &r);
    MPI_Comm_size(comm, &n);
    CHECK(r == expected_rank && n == expected_size);
    next = (r + 1) % n;
    prev = (r + n - 1) % n;
    MPI_Sendrecv(&r, 1, MPI_INT, next, 1, &v, 1, MPI_INT, prev, 1, comm, &st);
    CHECK(v == prev && st.MPI_SOURCE == prev);
    MPI_Sendrecv(&r, 1, MPI_INT, next, 2, &v, 1, MPI_INT, MPI_ANY_SOURCE, 2,
                 comm, &st);
    CHECK(v == prev && st.MPI_SOURCE == prev);
    MPI_Allreduce(&r, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == n * (n - 1) / 2);
    for (int root = 0; root < n; root++) {
        v = r == root ? 77 + root : -1;
        MPI_Bcast(&v, 1, MPI_INT, root, comm);
        CHECK(v == 77 + root);
        sum = -1;
        MPI_Reduce(&r, &sum, 1, MPI_INT, MPI_MAX, root, comm);
        CHECK(sum == (r == root ? n - 1 : -1));
    }
    MPI_Barrier(comm);
}

static void dup_keeps_messages_apart(void)
{
    MPI_Comm a, b;
    MPI_Request req[2];
    int out[2] = {10, 20}, in[2] = {0, 0}, result, *ub, flag;
    int next = (rank + 1) % size, prev = (rank + size - 1) % size;

    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_dup(a, &b);
    use(a, size, rank);
    use(b, size, rank);
    MPI_Comm_compare(a, MPI_COMM_WORLD, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Comm_compare(a, a, &result);
    CHECK(result == MPI_IDENT);
    MPI_Irecv(&in[0], 1, MPI_INT, prev, 0, a, &req[0]);
    MPI_Irecv(&in[1], 1, MPI_INT, prev, 0, b, &req[1]);
    MPI_Send(&out[1], 1, MPI_INT, next, 0, b);
    MPI_Send(&out[0], 1, MPI_INT, next, 0, a);
    MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
    CHECK(in[0] == 10 && in[1] == 20);
    MPI_Comm_get_attr(b, MPI_TAG_UB, &ub, &flag);
    CHECK(flag && *ub >= 32767);
    MPI_Comm_free(&a);
    CHECK(a == MPI_COMM_NULL);
    use(b, size, rank);
    MPI_Comm_free(&b);
}

static void split_sorts_by_color_key_rank(void)
{
    MPI_Comm c, cc;
    int half = (size + 1 - rank % 2) / 2, result;

    /* even and odd ranks */
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &c);
    use(c, half, rank / 2);
    /* the same, backwards, from the part */
    MPI_Comm_split(c, 5, -rank, &cc);
    use(cc, half, half - 1 - rank / 2);
    MPI_Comm_compare(c, cc, &result);
    CHECK(half == 1 || result == MPI_SIMILAR);
    MPI_Comm_free(&c);
    use(cc, half, half - 1 - rank / 2);
    MPI_Comm_free(&cc);
    /* all backwards */
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &c);
    use(c, size, size - 1 - rank);
    MPI_Comm_compare(c, MPI_COMM_WORLD, &result);
    CHECK(size == 1 || result == MPI_SIMILAR);
    MPI_Comm_free(&c);
}

static void undefined_color_gets_none(void)
{
    MPI_Comm c;

    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, rank, &c);
    if (rank == 0) {
        CHECK(c == MPI_COMM_NULL);
        return;
    }
    use(c, size - 1, rank - 1);
    MPI_Comm_free(&c);
}

/* Processes of two clients have no part in it, and none of their own. */
static void undefined_colors_make_no_part(void)
{
    bool without = rank == 0 || rank == size - 1;
    MPI_Comm c;

    MPI_Comm_split(MPI_COMM_WORLD, without ? MPI_UNDEFINED : 1, rank, &c);
    CHECK((c == MPI_COMM_NULL) == without);
    if (without)
        return;
    use(c, size - 2, rank - 1);
    MPI_Comm_free(&c);
}

/* Each alone; each with its neighbour: native and spanning parts. */
static void small_parts(void)
{
    MPI_Comm c, node;
    int n;

    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &c);
    use(c, 1, 0);
    MPI_Comm_free(&c);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &c);
    use(c, rank / 2 == (size - 1) / 2 && size % 2 ? 1 : 2, rank % 2);
    MPI_Comm_free(&c);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank,
                        MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &n);
    CHECK(n >= 1 && n <= size);
    MPI_Barrier(node);
    MPI_Comm_free(&node);
}

/* Freeing a communicator leaves its open receives alone. */
static void freed_while_open(void)
{
    int v = -1, next = (rank + 1) % size, prev = (rank + size - 1) % size;
    MPI_Request req;
    MPI_Status st;
    MPI_Comm c;

    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    MPI_Irecv(&v, 1, MPI_INT, prev, 4, c, &req);
    MPI_Send(&rank, 1, MPI_INT, next, 4, c);
    MPI_Comm_free(&c);
    MPI_Wait(&req, &st);
    CHECK(v == prev && st.MPI_SOURCE == prev);
}

/* Receives from the own process, whose requests are used again: some end before
 * the communicator is freed, some after it, and one fails. */
static void freed_with_some_done(void)
{
    int v[4] = {-1, -1, -1, -1};
    MPI_Request req[4];
    MPI_Status st;
    MPI_Comm c;

    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    for (int round = 0; round < 3; round++) {
        CHECK(MPI_Irecv(v, -1, MPI_INT, rank, 4, c, req) != MPI_SUCCESS);
        for (int i = 0; i < 4; i++)
            MPI_Irecv(&v[i], 1, MPI_INT, rank, i, c, &req[i]);
        for (int i = 0; i < 4; i++)
            MPI_Send(&round, 1, MPI_INT, rank, i, c);
        for (int i = 0; i < (round == 2 ? 2 : 4); i++) {
            MPI_Wait(&req[i], &st);
            CHECK(v[i] == round && st.MPI_SOURCE == rank && st.MPI_TAG == i);
            CHECK(req[i] == MPI_REQUEST_NULL);
        }
    }
    MPI_Comm_free(&c);
    for (int i = 2; i < 4; i++) {
        MPI_Wait(&req[i], &st);
        CHECK(v[i] == 2 && st.MPI_SOURCE == rank);
    }
}

/* MPI_Comm_free does not wait for the others; but where another IMPI may be
 * the peer, the standard has a barrier there. */
static void freed_early(void)
{
    int v = -1;
    MPI_Request req;
    MPI_Comm c;

    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    if (rank == size - 1) {
        MPI_Irecv(&v, 1, MPI_INT, 0, 5, c, &req);
        MPI_Comm_free(&c);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
        CHECK(v == 0);
        return;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Ssend(&rank, 1, MPI_INT, size - 1, 5, c);
    MPI_Comm_free(&c);
}

static void many(void)
{
    for (int i = 0; i < 50; i++) {
        MPI_Comm c;

        MPI_Comm_dup(MPI_COMM_WORLD, &c);
        MPI_Barrier(c);
        MPI_Comm_free(&c);
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    dup_keeps_messages_apart();
    split_sorts_by_color_key_rank();
    undefined_color_gets_none();
    undefined_colors_make_no_part();
    small_parts();
    freed_while_open();
    freed_with_some_done();
    if (size > 1)
        if (!getenv("STRICT_WORLD"))
            freed_early();
    many();
    return end("comms");
}
