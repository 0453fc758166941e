/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sessions.  The first MPI_Session_init of a process without MPI_Init starts
 * the world as MPI_Init would (world.c), so that mpi://WORLD is all processes
 * of the step, of every client; mpi://SELF is the library's own.  What is made
 * from groups that span comes the way of MPI_Comm_create_group.  The world ends
 * at exit, because there may always be another session.
 */
#include "libimpi/session.h"

#include <stdio.h>
#include <strings.h>

#include "libimpi/calls.h"
#include "libimpi/ours.h"
#include "libimpi/state.h"

static int nsessions;

int session_count(void)
{
    return nsessions;
}

int impi_Session_init(MPI_Info info, MPI_Errhandler errhandler,
                      MPI_Session *session)
{
    int rc = world_session_begin();

    if (rc == MPI_SUCCESS)
        rc = impi_real.Session_init(info, errhandler, session);
    world_session_begun();
    nsessions += rc == MPI_SUCCESS;
    return rc;
}

int impi_Session_finalize(MPI_Session *session)
{
    int rc = impi_real.Session_finalize(session);

    nsessions -= rc == MPI_SUCCESS;
    return rc;
}

/* Libraries take small letters, too. */
static bool is_world(const char *pset)
{
    return impi_be.spanning && strcasecmp(pset, "mpi://WORLD") == 0;
}

int impi_Group_from_session_pset(MPI_Session session, const char *pset_name,
                                 MPI_Group *newgroup)
{
    if (is_world(pset_name))
        return impi_Comm_group(MPI_COMM_WORLD, newgroup);
    return impi_real.Group_from_session_pset(session, pset_name, newgroup);
}

int impi_Session_get_pset_info(MPI_Session session, const char *pset_name,
                               MPI_Info *newinfo)
{
    int rc = impi_real.Session_get_pset_info(session, pset_name, newinfo);
    char size[16];

    if (rc != MPI_SUCCESS || !is_world(pset_name))
        return rc;
    snprintf(size, sizeof(size), "%u", impi_be.world.nprocs);
    return impi_real.Info_set(*newinfo, "mpi_size", size);
}

/* Calls with different strings may be under way at once. */
static int tag_of(const char *s)
{
    uint32_t h = 2166136261u;

    for (; *s; s++)
        h = (h ^ (uint8_t)*s) * 16777619u;
    return (int)(h % 32768); /* which every library has as a tag */
}

static int use_errors(int rc, MPI_Errhandler errors, MPI_Comm comm)
{
    if (rc != MPI_SUCCESS || comm == MPI_COMM_NULL)
        return rc;
    return impi_real.Comm_set_errhandler(comm, errors);
}

int impi_Comm_create_from_group(MPI_Group group, const char *stringtag,
                                MPI_Info info, MPI_Errhandler errhandler,
                                MPI_Comm *newcomm)
{
    int rc;

    if (!impi_group_ours(group))
        return impi_real.Comm_create_from_group(group, stringtag, info,
                                                errhandler, newcomm);
    rc = impi_Comm_create_group(MPI_COMM_WORLD, group, tag_of(stringtag),
                                newcomm);
    return use_errors(rc, errhandler, *newcomm);
}

static int world_rank(MPI_Group group, int rank, int *in_world)
{
    MPI_Group world;
    int rc = impi_Comm_group(MPI_COMM_WORLD, &world);

    if (rc != MPI_SUCCESS)
        return rc;
    rc = impi_Group_translate_ranks(group, 1, &rank, world, in_world);
    impi_Group_free(&world);
    return rc;
}

int impi_Intercomm_create_from_groups(MPI_Group local_group, int local_leader,
                                      MPI_Group remote_group, int remote_leader,
                                      const char *stringtag, MPI_Info info,
                                      MPI_Errhandler errhandler,
                                      MPI_Comm *newintercomm)
{
    MPI_Comm local;
    int leader, rc;

    if (!impi_group_ours(local_group) && !impi_group_ours(remote_group))
        return impi_real.Intercomm_create_from_groups(
            local_group, local_leader, remote_group, remote_leader, stringtag,
            info, errhandler, newintercomm);
    rc = world_rank(remote_group, remote_leader, &leader);
    if (rc == MPI_SUCCESS)
        rc = impi_Comm_create_group(MPI_COMM_WORLD, local_group,
                                    tag_of(stringtag), &local);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = impi_Intercomm_create(local, local_leader, MPI_COMM_WORLD, leader,
                               tag_of(stringtag), newintercomm);
    impi_Comm_free(&local);
    return use_errors(rc, errhandler, *newintercomm);
}
