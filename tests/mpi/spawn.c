/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A world that has others started, and these.
 *
 *   spawn WHAT [KEY=VALUE ...] PROGRAM N[/M] [PROGRAM N[/M]]
 *
 * N children, of which M come where the info key `soft` lets it be fewer. WHAT:
 * world (from MPI_COMM_WORLD), self (rank 0, from MPI_COMM_SELF), half (the
 * processes of this library, where the world has several), twice, lingers
 * (twice, and no child ends before there is a file "leave"), fails (the error
 * is MPI_ERR_SPAWN, and the world goes on), deaf (the same, while the last
 * process has no descriptor left, then it has and they come), dies (the
 * children's world ends with code 7 after it has met this one).  The children
 * are called with "child WHAT".
 */
#include <limits.h>
#include <unistd.h>

#include "check.h"
#include "descriptors.h"

#define MOST 20 /* children */

static char *commands[2];
static char **argvs[2];
static int maxprocs[2], comes[2];
static MPI_Info infos[2];
static int count;

/* ---- both ---- */

static void talk(MPI_Comm inter, int parents)
{
    int local, n, remote, sum = 0, value, flag = 0, all, one = 1;
    MPI_Comm both;

    MPI_Comm_test_inter(inter, &flag);
    MPI_Comm_rank(inter, &local);
    MPI_Comm_size(inter, &n);
    MPI_Comm_remote_size(inter, &remote);
    CHECK(flag);
    value = local + 1;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, inter);
    CHECK(sum == remote * (remote + 1) / 2);
    if (local == 0) {
        MPI_Sendrecv(&n, 1, MPI_INT, 0, 1, &value, 1, MPI_INT, MPI_ANY_SOURCE,
                     MPI_ANY_TAG, inter, MPI_STATUS_IGNORE);
        CHECK(value == remote);
    }
    MPI_Intercomm_merge(inter, !parents, &both);
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, both);
    CHECK(all == n + remote);
    MPI_Comm_free(&both);
}

/* ---- the children ---- */

static int child(const char *what)
{
    char cwd[PATH_MAX];
    const char *node = getenv("SLURMD_NODENAME");
    MPI_Comm parent, again;
    char name[MPI_MAX_OBJECT_NAME];
    int len;
    int *appnum, *universe, flag = 0;

    MPI_Comm_get_parent(&parent);
    CHECK(parent != MPI_COMM_NULL);
    MPI_Comm_get_parent(&again);
    CHECK(again == parent);
    MPI_Comm_get_name(parent, name, &len);
    CHECK(strcmp(name, "MPI_COMM_PARENT") == 0);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &appnum, &flag);
    CHECK(flag);
    printf("command %d\n", *appnum);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &flag);
    CHECK(flag);
    printf("universe %d\n", *universe);
    printf("child %d of %d on %s in %s\n", rank, size, node ? node : "-",
           getcwd(cwd, sizeof(cwd)));
    if (strcmp(what, "dies") == 0) {
        MPI_Barrier(parent);
        _exit(7);
    }
    talk(parent, 0);
    MPI_Comm_disconnect(&parent);
    MPI_Comm_get_parent(&again);
    CHECK(again == MPI_COMM_NULL);
    while (strcmp(what, "lingers") == 0 && access("leave", F_OK) < 0)
        usleep(10000);
    return end("child");
}

/* ---- the parents ---- */

static MPI_Comm start(MPI_Comm comm, int root)
{
    int codes[MOST], total = 0;
    MPI_Comm inter;

    for (int i = 0; i < MOST; i++)
        codes[i] = -1;
    for (int i = 0; i < count; i++)
        total += maxprocs[i];
    CHECK(total <= MOST);
    if (count == 1)
        MPI_Comm_spawn(commands[0], argvs[0], maxprocs[0], infos[0], root, comm,
                       &inter, codes);
    else
        MPI_Comm_spawn_multiple(count, commands, argvs, maxprocs, infos, root,
                                comm, &inter, codes);
    for (int i = 0, at = 0; i < count; i++)
        for (int k = 0; k < maxprocs[i]; k++, at++)
            CHECK((codes[at] == MPI_SUCCESS) == (k < comes[i]));
    return inter;
}

static void meet(MPI_Comm comm, int root)
{
    MPI_Comm inter = start(comm, root);
    int remote, total = 0;

    for (int i = 0; i < count; i++)
        total += comes[i];
    MPI_Comm_remote_size(inter, &remote);
    CHECK(remote == total);
    talk(inter, 1);
    MPI_Comm_disconnect(&inter);
    CHECK(inter == MPI_COMM_NULL);
}

static void fails(int root)
{
    int codes[MOST] = {0}, class = 0, rc;
    MPI_Comm inter;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    rc = MPI_Comm_spawn(commands[0], argvs[0], maxprocs[0], infos[0], root,
                        MPI_COMM_WORLD, &inter, codes);
    MPI_Error_class(rc, &class);
    CHECK(class == MPI_ERR_SPAWN && inter == MPI_COMM_NULL);
    for (int i = 0; i < maxprocs[0] && i < MOST; i++)
        CHECK(codes[i] != MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* That process is not the root, then it is. */
static void deaf(void)
{
    MPI_Barrier(MPI_COMM_WORLD); /* all can talk */
    if (rank == size - 1)
        take_descriptors();
    fails(0);
    fails(size - 1);
    if (rank == size - 1)
        give_descriptors_back();
    meet(MPI_COMM_WORLD, 0);
}

static void dies(void)
{
    MPI_Comm inter = start(MPI_COMM_WORLD, 0);
    int value;

    MPI_Barrier(inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    if (rank == 0) /* who had a connection to it */
        CHECK(MPI_Recv(&value, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE) !=
              MPI_SUCCESS);
    MPI_Comm_free(&inter);
}

static void half(void)
{
    int color, len;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Comm own;

    MPI_Get_library_version(text, &len);
    color = strncmp(text, "MPICH", 5) == 0;
    MPI_Comm_split(MPI_COMM_WORLD, color, 0, &own);
    if (color)
        meet(own, 0);
    MPI_Comm_free(&own);
}

static void read_arguments(int argc, char **argv, char **args)
{
    const char *less;
    MPI_Info info;
    int i = 2;

    MPI_Info_create(&info);
    for (; i < argc && strchr(argv[i], '='); i++) {
        char *value = strchr(argv[i], '=');

        *value++ = '\0';
        MPI_Info_set(info, argv[i], value);
    }
    for (; i + 1 < argc && count < 2; i += 2) {
        commands[count] = argv[i];
        argvs[count] = args;
        infos[count] = info;
        less = strchr(argv[i + 1], '/');
        maxprocs[count] = atoi(argv[i + 1]);
        comes[count++] = less ? atoi(less + 1) : atoi(argv[i + 1]);
    }
    CHECK(count > 0);
}

int main(int argc, char **argv)
{
    static char child_word[] = "child";
    char *args[] = {child_word, NULL, NULL};
    MPI_Comm parent;
    const char *what;

    begin(&argc, &argv);
    CHECK(argc >= 3);
    if (strcmp(argv[1], "child") == 0)
        return child(argv[2]);
    MPI_Comm_get_parent(&parent);
    CHECK(parent == MPI_COMM_NULL);
    what = args[1] = argv[1];
    read_arguments(argc, argv, args);
    if (strcmp(what, "world") == 0)
        meet(MPI_COMM_WORLD, size - 1);
    else if (strcmp(what, "self") == 0 && rank == 0)
        meet(MPI_COMM_SELF, 0);
    else if (strcmp(what, "half") == 0)
        half();
    else if (strcmp(what, "fails") == 0)
        fails(0);
    else if (strcmp(what, "deaf") == 0)
        deaf();
    else if (strcmp(what, "dies") == 0)
        dies();
    else if (strcmp(what, "twice") == 0 || strcmp(what, "lingers") == 0)
        for (int i = 0; i < 2; i++)
            meet(MPI_COMM_WORLD, 0);
    MPI_Info_free(&infos[0]);
    return end("spawn");
}
