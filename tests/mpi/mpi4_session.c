/* SPDX-License-Identifier: BSD-3-Clause
 * A program of sessions alone, where the library has them: mpi://SELF,
 * mpi://WORLD, and what is made of their groups.  "both": MPI_Init, too. */
#include "check.h"

#ifdef HAVE_MPI4
static MPI_Comm made_of(MPI_Session session, const char *pset, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;

    MPI_Group_from_session_pset(session, pset, &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                               &comm);
    MPI_Group_free(&group);
    return comm;
}

static void between_halves(MPI_Session session)
{
    MPI_Group all, low, high;
    MPI_Comm inter;
    int n, first[1][3] = {{0, size / 2 - 1, 1}};
    int second[1][3] = {{size / 2, size - 1, 1}}, sum = -1, want = 0;

    /* Small letters are the same. */
    MPI_Group_from_session_pset(session, "mpi://world", &all);
    MPI_Group_range_incl(all, 1, first, &low);
    MPI_Group_range_incl(all, 1, second, &high);
    if (rank < size / 2)
        MPI_Intercomm_create_from_groups(low, 0, high, 0, "halves",
                                         MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                                         &inter);
    else
        MPI_Intercomm_create_from_groups(high, 0, low, 0, "halves",
                                         MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                                         &inter);
    MPI_Comm_remote_size(inter, &n);
    CHECK(n == (rank < size / 2 ? size - size / 2 : size / 2));
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter);
    for (int i = 0; i < size; i++)
        want += (i < size / 2) != (rank < size / 2) ? i : 0;
    CHECK(sum == want);
    MPI_Comm_free(&inter);
    MPI_Group_free(&all);
    MPI_Group_free(&low);
    MPI_Group_free(&high);
}

static void use(MPI_Session session)
{
    MPI_Comm world = made_of(session, "mpi://WORLD", "all"), self;
#ifndef OPEN_MPI
    MPI_Info info;
    char value[32] = "";
    int flag;
#endif
    int n, sum, one = 1;

    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    CHECK(getenv("SESSION_SIZE") == NULL ||
          size == atoi(getenv("SESSION_SIZE")));
#ifndef OPEN_MPI /* 5.0.7 fails there, with no part of ours, too */
    MPI_Session_get_pset_info(session, "mpi://WORLD", &info);
    MPI_Info_get(info, "mpi_size", 31, value, &flag);
    CHECK(flag && atoi(value) == size);
    MPI_Info_free(&info);
#endif
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world);
    CHECK(sum == size);
    self = made_of(session, "mpi://SELF", "self");
    MPI_Comm_size(self, &n);
    CHECK(n == 1);
    if (size > 1)
        between_halves(session);
    MPI_Comm_free(&self);
    if (rank == 0)
        printf("PASS mpi4_session %d\n", size);
    MPI_Comm_free(&world);
}
#endif

int main(int argc, char **argv)
{
#ifdef HAVE_MPI4
    MPI_Session session, other;
    int both = argc > 1, flag;

    setvbuf(stdout, NULL, _IOLBF, 0);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    if (both) {
        MPI_Initialized(&flag);
        CHECK(!flag);
        MPI_Init(&argc, &argv);
        MPI_Initialized(&flag);
        CHECK(flag);
    }
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &other);
    use(session);
    MPI_Session_finalize(&session);
    use(other);
    MPI_Session_finalize(&other);
    if (both)
        MPI_Finalize();
    return 0;
#else
    begin(&argc, &argv);
    return end("mpi4_session");
#endif
}
