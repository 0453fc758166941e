/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two worlds that have met; one is killed while the other one is in collective
 * calls with it.
 *
 *   lost_coll accept|connect|third NAME KIND [fatal|three]
 *
 * The first process of the accepting world kills itself when the first one of
 * the other world is about to make the call of KIND, in which the rest of its
 * own wait already.  All of the other world have an error, and so they have of
 * all other kinds of calls, which they make then.  With "fatal" the error
 * handlers are those of MPI_Init.  With "three" the two worlds are one group
 * that has met a third world, whose first process makes the call.
 */
#include <signal.h>

#include "ports.h"

#define MOST 16     /* processes of both worlds */
#define LONG 100000 /* elements */

static MPI_Comm inter, both; /* the accepting world in front */
static MPI_File shelf;       /* of both */
static int in_front;         /* in it, or in a group with it */
static int all, own;         /* size of all, rank in it */
static int out[MOST * 4], in[MOST * 4], counts[MOST], displs[MOST];
static int far[LONG], near[LONG];

/* Of an intercommunicator: the accepting world's first process is the root. */
static int root(void)
{
    return !in_front ? 0 : accepts && rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
}

static int wait_for(int rc, MPI_Request *r)
{
    return rc == MPI_SUCCESS ? MPI_Wait(r, MPI_STATUS_IGNORE) : rc;
}

/* ---- calls that want something of the lost world ---- */

static int barrier(void)
{
    return MPI_Barrier(inter);
}

static int barrier_of_both(void)
{
    return MPI_Barrier(both);
}

static int bcast(void)
{
    return MPI_Bcast(near, 4, MPI_INT, root(), inter);
}

static int long_bcast(void)
{
    return MPI_Bcast(near, LONG, MPI_INT, 0, both);
}

static int reduce(void)
{
    return MPI_Reduce(out, in, 4, MPI_INT, MPI_SUM, all - 1, both);
}

static int allreduce(void)
{
    return MPI_Allreduce(out, in, 4, MPI_INT, MPI_SUM, inter);
}

static int long_allreduce(void)
{
    return MPI_Allreduce(far, near, LONG, MPI_INT, MPI_SUM, both);
}

static int gather(void)
{
    return MPI_Gather(out, 4, MPI_INT, in, 4, MPI_INT, all - 1, both);
}

static int gatherv(void)
{
    return MPI_Gatherv(out, 4, MPI_INT, in, counts, displs, MPI_INT, all - 1,
                       both);
}

static int scatter(void)
{
    return MPI_Scatter(out, 4, MPI_INT, in, 4, MPI_INT, root(), inter);
}

static int scatterv(void)
{
    return MPI_Scatterv(out, counts, displs, MPI_INT, in, 4, MPI_INT, 0, both);
}

static int allgather(void)
{
    return MPI_Allgather(out, 4, MPI_INT, in, 4, MPI_INT, both);
}

static int allgatherv(void)
{
    return MPI_Allgatherv(out, 4, MPI_INT, in, counts, displs, MPI_INT, inter);
}

static int alltoall(void)
{
    return MPI_Alltoall(out, 4, MPI_INT, in, 4, MPI_INT, inter);
}

static int alltoallv(void)
{
    return MPI_Alltoallv(out, counts, displs, MPI_INT, in, counts, displs,
                         MPI_INT, both);
}

static int reduce_scatter(void)
{
    return MPI_Reduce_scatter_block(out, in, 4, MPI_INT, MPI_SUM, both);
}

static int scan(void)
{
    return MPI_Scan(out, in, 4, MPI_INT, MPI_SUM, both);
}

static int exscan(void)
{
    return MPI_Exscan(out, in, 4, MPI_INT, MPI_SUM, both);
}

static int ibarrier(void)
{
    MPI_Request r;
    int rc = MPI_Ibarrier(inter, &r);

    return wait_for(rc, &r);
}

static int iallreduce(void)
{
    MPI_Request r;
    int rc = MPI_Iallreduce(out, in, 4, MPI_INT, MPI_SUM, both, &r);

    return wait_for(rc, &r);
}

static int duplicate(void)
{
    MPI_Comm made;

    return MPI_Comm_dup(both, &made);
}

static int idup(void)
{
    MPI_Request r;
    MPI_Comm made;
    int rc = MPI_Comm_idup(both, &made, &r);

    return wait_for(rc, &r);
}

static int split(void)
{
    MPI_Comm made;

    return MPI_Comm_split(both, own % 2, own, &made);
}

static int merge(void)
{
    MPI_Comm made;

    return MPI_Intercomm_merge(inter, !in_front, &made);
}

static int window(void)
{
    MPI_Win w;

    return MPI_Win_create(in, sizeof(in), 1, MPI_INFO_NULL, both, &w);
}

static int open_file(const char *name, MPI_File *f)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", getenv("TMPDIR"), name);
    return MPI_File_open(both, path, MPI_MODE_RDWR | MPI_MODE_CREATE,
                         MPI_INFO_NULL, f);
}

static int file(void)
{
    MPI_File f;

    return open_file("other.bin", &f);
}

static int write_all(void)
{
    return MPI_File_write_at_all(shelf, 16 * own, out, 4, MPI_INT,
                                 MPI_STATUS_IGNORE);
}

static int read_all(void)
{
    return MPI_File_read_all(shelf, near, LONG, MPI_INT, MPI_STATUS_IGNORE);
}

static int write_ordered(void)
{
    return MPI_File_write_ordered(shelf, out, 4, MPI_INT, MPI_STATUS_IGNORE);
}

static const struct {
    const char *name;
    int (*make)(void);
} kinds[] = {{"barrier", barrier},
             {"barrier_of_both", barrier_of_both},
             {"bcast", bcast},
             {"long_bcast", long_bcast},
             {"reduce", reduce},
             {"allreduce", allreduce},
             {"long_allreduce", long_allreduce},
             {"gather", gather},
             {"gatherv", gatherv},
             {"scatter", scatter},
             {"scatterv", scatterv},
             {"allgather", allgather},
             {"allgatherv", allgatherv},
             {"alltoall", alltoall},
             {"alltoallv", alltoallv},
             {"reduce_scatter", reduce_scatter},
             {"scan", scan},
             {"exscan", exscan},
             {"ibarrier", ibarrier},
             {"iallreduce", iallreduce},
             {"duplicate", duplicate},
             {"idup", idup},
             {"split", split},
             {"merge", merge},
             {"window", window},
             {"file", file},
             {"write_all", write_all},
             {"read_all", read_all},
             {"write_ordered", write_ordered}};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static size_t kind_of(const char *name)
{
    size_t i = 0;

    while (i < KINDS && strcmp(kinds[i].name, name) != 0)
        i++;
    CHECK(i < KINDS);
    return i;
}

/* ---- calls that need not fail, but do so everywhere or nowhere ---- */

/* All of the world have had the same. */
static void check_all(int rc, int must, const char *name)
{
    int failed = class_of(rc) != MPI_SUCCESS, least, most;

    MPI_Allreduce(&failed, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&failed, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (least != most || (must && !least))
        fprintf(stderr, "rank %d: MPI_%s: %d (%d to %d)\n", rank, name, failed,
                least, most);
    CHECK(least == most && (!must || least));
}

static void others_get_what_is_here(void)
{
    for (int i = 0; i < 3; i++) {
        check_all(MPI_Bcast(near, 4, MPI_INT, all - 1, both), 0, "Bcast");
        check_all(MPI_Scatter(out, 4, MPI_INT, in, 4, MPI_INT, all - 1, both),
                  0, "Scatter");
        check_all(MPI_Reduce(out, in, 4, MPI_INT, MPI_SUM, 0, both), 0,
                  "Reduce");
        check_all(MPI_Gather(out, 4, MPI_INT, in, 4, MPI_INT, root(), inter), 0,
                  "Gather");
    }
}

/* ---- */

/* Of the first two worlds the group that meets the third one. */
static void meet_third(const char *name, int third)
{
    MPI_Comm group;
    char again[64];

    snprintf(again, sizeof(again), "%s again", name);
    if (third) {
        inter = meet(again, MPI_COMM_WORLD, 0);
        return;
    }
    inter = meet(name, MPI_COMM_WORLD, 0);
    MPI_Intercomm_merge(inter, !accepts, &group);
    in_front = 1;
    third = accepts;
    accepts = 1;
    inter = meet(again, group, 0);
    accepts = third;
}

static void know_all(void)
{
    int value = 0;

    MPI_Intercomm_merge(inter, !in_front, &both);
    MPI_Comm_size(both, &all);
    MPI_Comm_rank(both, &own);
    CHECK(all <= MOST);
    for (int i = 0; i < MOST; i++) {
        counts[i] = 4;
        displs[i] = 4 * i;
    }
    MPI_Allreduce(&own, &value, 1, MPI_INT, MPI_SUM, both);
    CHECK(value == all * (all - 1) / 2);
    CHECK(open_file("shelf.bin", &shelf) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int value = 0;
    size_t first;

    begin(&argc, &argv);
    CHECK(argc == 4 || argc == 5);
    accepts = strcmp(argv[1], "accept") == 0;
    first = kind_of(argv[3]);
    in_front = accepts;
    if (argc == 5 && strcmp(argv[4], "three") == 0)
        meet_third(argv[2], strcmp(argv[1], "third") == 0);
    else
        inter = meet(argv[2], MPI_COMM_WORLD, 0);
    know_all();
    if (accepts && rank == 0) {
        MPI_Recv(&value, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE);
        raise(SIGKILL);
    }
    if (argc == 4 || strcmp(argv[4], "fatal") != 0) {
        MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
    }
    if (!in_front && rank == 0)
        MPI_Send(&value, 1, MPI_INT, 0, 1, inter);
    check_all(kinds[first].make(), 1, kinds[first].name);
    others_get_what_is_here();
    for (size_t i = 1; i < KINDS; i++)
        check_all(kinds[(first + i) % KINDS].make(), 1,
                  kinds[(first + i) % KINDS].name);
    MPI_Comm_free(&both);
    MPI_Comm_free(&inter);
    return end("lost_coll");
}
