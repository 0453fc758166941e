/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators in a world of strict peers.  The lower half of the world calls
 * MPI; the upper half plays a foreign library and answers with the messages
 * that the standard writes down for that call, and no other.  Of an odd number
 * the upper half has one more.
 */
#include "check.h"
#include "../../src/libimpi/impi.h"

#include <stdint.h>

#define DUP_TAG 210
#define MERGE_TAG 220
#define FREE_TAG 230
#define LAST_ID UINT64_C(18446744073709551600)

/* What a peer proposes lies above all that our side uses, and that of each
 * process of it above those before. */
#define PROPOSAL UINT64_C(100001)

static int half, local, remote;

/* The highest of them, which their own first process learns from our side. */
static int is_highest(uint64_t got, uint64_t proposal)
{
    int others = size - half - 1;

    return others == 0 ? got % 2 == 1 : got == proposal + 2 * (uint64_t)others;
}

static int calls_mpi(void)
{
    return rank < half;
}

/* What the other side's others tell this one's first. */
static void collect(MPI_Comm ic, int tag, int count)
{
    for (int i = 1; i < remote; i++) {
        MPI_Status status;
        uint64_t got = 0;
        int n;

        MPI_Recv(&got, 1, MPI_UINT64_T, i, tag, ic, &status);
        MPI_Get_count(&status, MPI_UINT64_T, &n);
        CHECK(n == count);
        CHECK(count == 0 || got % 2 == 1);
    }
}

static void by_hand(MPI_Comm ic, int tag, int in, int out, const uint64_t *own,
                    uint64_t *theirs)
{
    uint64_t told[2] = {own[0], own[1]};
    MPI_Status status;
    int n;

    if (local == 0) {
        collect(ic, tag, in);
        MPI_Sendrecv(own, out, MPI_UINT64_T, 0, tag, theirs, out, MPI_UINT64_T,
                     0, tag, ic, &status);
        if (theirs[0] > told[0])
            told[0] = theirs[0];
        for (int i = 1; i < remote; i++)
            MPI_Send(told, out, MPI_UINT64_T, i, tag, ic);
    } else {
        MPI_Send(own, in, MPI_UINT64_T, 0, tag, ic);
        MPI_Recv(theirs, out, MPI_UINT64_T, 0, tag, ic, &status);
    }
    MPI_Get_count(&status, MPI_UINT64_T, &n);
    CHECK(n == out);
}

static void dup_of_an_intercommunicator(MPI_Comm ic)
{
    uint64_t own[2] = {PROPOSAL + 2 * (uint64_t)local, 0}, theirs[2] = {0, 0};
    MPI_Comm dup;
    int n;

    if (calls_mpi()) {
        MPI_Comm_dup(ic, &dup);
        MPI_Comm_remote_size(dup, &n);
        CHECK(n == remote);
        return;
    }
    by_hand(ic, DUP_TAG, 1, 1, own, theirs);
    CHECK(is_highest(theirs[0], PROPOSAL));
}

/* high: this side's; the merged group begins with the side that says 0. */
static void merged_intercommunicators_span(MPI_Comm ic, int high, int first)
{
    uint64_t proposal = PROPOSAL + (first ? 1000 : 2000), theirs[2] = {0, 7};
    uint64_t own[2] = {proposal + 2 * (uint64_t)local, !high};
    MPI_Comm one;
    int place, n;

    if (calls_mpi()) {
        MPI_Intercomm_merge(ic, high, &one);
        MPI_Comm_rank(one, &place);
        MPI_Comm_size(one, &n);
        CHECK(n == size && place == (first ? local : remote + local));
        return;
    }
    by_hand(ic, MERGE_TAG, 1, 2, own, theirs);
    CHECK(is_highest(theirs[0], proposal) && theirs[1] == (uint64_t)high);
}

static void free_of_an_intercommunicator(MPI_Comm *ic)
{
    uint64_t none[2] = {0, 0};

    if (calls_mpi()) {
        MPI_Comm_free(ic);
        CHECK(*ic == MPI_COMM_NULL);
    } else {
        by_hand(*ic, FREE_TAG, 0, 0, none, none);
    }
}

/* The leaders swap proposal and size as two values of eight bytes. */
static void leaders_swap_eight_bytes_each(MPI_Comm side)
{
    uint64_t own[2] = {1, 0}, theirs[2] = {0, 0};
    int ranks[64], others[64], n;
    MPI_Status status;
    MPI_Comm ic;

    own[1] = (uint64_t)(size - half);
    for (int i = 0; i < size - half; i++)
        ranks[i] = half + i;
    if (calls_mpi()) {
        MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, half, 77, &ic);
        MPI_Comm_remote_size(ic, &n);
        CHECK(n == size - half);
    } else if (local == 0) {
        MPI_Sendrecv(own, 2, MPI_UINT64_T, 0, 77, theirs, 2, MPI_UINT64_T, 0,
                     77, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_UINT64_T, &n);
        CHECK(n == 2 && theirs[0] % 2 == 1 && theirs[1] == (uint64_t)half);
        MPI_Sendrecv(ranks, size - half, MPI_INT, 0, 77, others, half, MPI_INT,
                     0, 77, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &n);
        CHECK(n == half);
        for (int i = 0; i < half; i++)
            CHECK(others[i] == i);
    }
}

/* A foreign library that has used all context ids. */
static void out_of_contexts(MPI_Comm ic)
{
    uint64_t own[2] = {LAST_ID - 1, 0}, theirs[2];
    MPI_Comm dup;

    if (calls_mpi()) {
        MPI_Comm_set_errhandler(ic, MPI_ERRORS_RETURN);
        CHECK(MPI_Comm_dup(ic, &dup) != MPI_SUCCESS);
        MPI_Comm_set_errhandler(ic, MPI_ERRORS_ARE_FATAL);
    } else {
        by_hand(ic, DUP_TAG, 1, 1, own, theirs);
    }
}

/* Who frees waits for the others.  Each of the lower half says that it has, to
 * every one of the upper half whose partner it is; a word that comes before
 * they free comes from one that did not wait. */
static void free_is_a_barrier(void)
{
    int partner = rank < half ? rank : (rank - half) % half, early = 0;
    MPI_Comm dup;

    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; !calls_mpi() && i < 20000; i++)
        MPI_Iprobe(partner, 3, MPI_COMM_WORLD, &early, MPI_STATUS_IGNORE);
    CHECK(!early);
    MPI_Comm_free(&dup);
    if (!calls_mpi())
        MPI_Recv(&early, 1, MPI_INT, partner, 3, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int r = half + rank; calls_mpi() && r < size; r += half)
        MPI_Send(&rank, 1, MPI_INT, r, 3, MPI_COMM_WORLD);
}

/* Members of one client do such things among themselves as their library has
 * it, so no client may have some in either half. */
static int halves_are_whole_clients(void)
{
    int *value, flag, clients[64] = {0};

    if (size < 2 || size > 64)
        return 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, IMPI_CLIENT_COLOR, &value, &flag);
    if (!flag)
        return 0;
    MPI_Allgather(value, 1, MPI_INT, clients, 1, MPI_INT, MPI_COMM_WORLD);
    return clients[half - 1] != clients[half];
}

int main(int argc, char **argv)
{
    MPI_Comm side, ic;

    begin(&argc, &argv);
    half = size / 2;
    CHECK(halves_are_whole_clients());
    free_is_a_barrier();
    MPI_Comm_split(MPI_COMM_WORLD, calls_mpi(), rank, &side);
    MPI_Comm_rank(side, &local);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, calls_mpi() ? half : 0, 5,
                         &ic);
    MPI_Comm_remote_size(ic, &remote);
    dup_of_an_intercommunicator(ic);
    merged_intercommunicators_span(ic, 0, 1);
    merged_intercommunicators_span(ic, 1, 0);
    out_of_contexts(ic);
    free_of_an_intercommunicator(&ic);
    leaders_swap_eight_bytes_each(side);
    return end("foreign");
}
