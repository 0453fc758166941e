/* SPDX-License-Identifier: BSD-3-Clause
 * The attributes of impi.h on every kind of communicator; what does not span
 * works on the parts of a split by IMPI_CLIENT_COLOR. */
#include "check.h"

#include "../../src/libimpi/impi.h"

static int attr(MPI_Comm comm, int keyval)
{
    int *v, flag;

    MPI_Comm_get_attr(comm, keyval, &v, &flag);
    CHECK(flag);
    return *v;
}

/* Colors are 0 to size - 1, everybody sees the same size. */
static void fits(MPI_Comm comm, int size_key, int color_key)
{
    int n = attr(comm, size_key), color = attr(comm, color_key), r, m;
    int own[2] = {n, color}, all[64][2], seen[64] = {0};

    MPI_Comm_rank(comm, &r);
    MPI_Comm_size(comm, &m);
    MPI_Allgather(own, 2, MPI_INT, all, 2, MPI_INT, comm);
    for (int i = 0; i < m; i++) {
        CHECK(all[i][0] == n && all[i][1] >= 0 && all[i][1] < n);
        seen[all[i][1]] = 1;
    }
    for (int i = 0; i < n; i++)
        CHECK(seen[i]);
}

/* Of two processes of a part the lower color is that of the client, or host,
 * that has the lower one in the world, also where the ranks go the other way.
 */
static void colors_keep_the_order_of_the_world(int key)
{
    MPI_Comm c;
    int n, own[2], all[64][2];

    MPI_Comm_split(MPI_COMM_WORLD, rank % 3 == 1, -rank, &c);
    MPI_Comm_size(c, &n);
    own[0] = attr(MPI_COMM_WORLD, key);
    own[1] = attr(c, key);
    MPI_Allgather(own, 2, MPI_INT, all, 2, MPI_INT, c);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            CHECK((all[i][0] < all[j][0]) == (all[i][1] < all[j][1]));
    MPI_Comm_free(&c);
}

static void on_every_communicator(void)
{
    MPI_Comm c, ic;
    int inter, world = attr(MPI_COMM_WORLD, IMPI_CLIENT_SIZE);

    fits(MPI_COMM_WORLD, IMPI_CLIENT_SIZE, IMPI_CLIENT_COLOR);
    fits(MPI_COMM_WORLD, IMPI_HOST_SIZE, IMPI_HOST_COLOR);
    fits(MPI_COMM_SELF, IMPI_CLIENT_SIZE, IMPI_CLIENT_COLOR);
    CHECK(attr(MPI_COMM_SELF, IMPI_CLIENT_SIZE) == 1);
    CHECK(attr(MPI_COMM_SELF, IMPI_HOST_COLOR) == 0);
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    CHECK(attr(c, IMPI_CLIENT_SIZE) == world);
    MPI_Comm_free(&c);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &c);
    fits(c, IMPI_CLIENT_SIZE, IMPI_CLIENT_COLOR);
    fits(c, IMPI_HOST_SIZE, IMPI_HOST_COLOR);
    MPI_Intercomm_create(c, 0, MPI_COMM_WORLD, !(rank % 2), 0, &ic);
    MPI_Comm_test_inter(ic, &inter);
    CHECK(inter && attr(ic, IMPI_CLIENT_SIZE) == world);
    MPI_Comm_free(&ic);
    MPI_Comm_free(&c);
}

/* An intercommunicator of the library's own has the hosts of both groups. */
static void both_sides_count(MPI_Comm part, int n)
{
    MPI_Comm side, ic;
    int r;

    if (n < 2)
        return;
    MPI_Comm_rank(part, &r);
    MPI_Comm_split(part, r % 2, 0, &side);
    MPI_Intercomm_create(side, 0, part, !(r % 2), 0, &ic);
    CHECK(attr(ic, IMPI_HOST_SIZE) == n && attr(ic, IMPI_CLIENT_SIZE) == 1);
    MPI_Comm_free(&ic);
    MPI_Comm_free(&side);
}

/* In a world where each process is a host: as many, and in the order of their
 * ranks; clients are fewer. */
static void hosts_are_not_clients(void)
{
    int n, color;
    MPI_Comm c;

    if (!getenv("ATTRS_OWN_HOSTS"))
        return;
    CHECK(attr(MPI_COMM_WORLD, IMPI_HOST_SIZE) == size);
    CHECK(attr(MPI_COMM_WORLD, IMPI_HOST_COLOR) == rank);
    CHECK(attr(MPI_COMM_WORLD, IMPI_CLIENT_SIZE) < size);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &c);
    MPI_Comm_size(c, &n);
    CHECK(attr(c, IMPI_HOST_SIZE) == n);
    CHECK(attr(c, IMPI_HOST_COLOR) == rank / 2);
    MPI_Comm_free(&c);
    color = attr(MPI_COMM_WORLD, IMPI_CLIENT_COLOR);
    MPI_Comm_split(MPI_COMM_WORLD, color, 0, &c); /* the library's own */
    MPI_Comm_size(c, &n);
    CHECK(attr(c, IMPI_HOST_SIZE) == n && attr(c, IMPI_CLIENT_SIZE) == 1);
    both_sides_count(c, n);
    MPI_Comm_free(&c);
}

/* A program that spawns as many as there is room for spawns none, and one that
 * compares times of two processes does not. */
static void of_all_clients(void)
{
    CHECK(attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE) == size);
    CHECK(!attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL));
}

static void split_by_host_color(void)
{
    MPI_Comm c;

    MPI_Comm_split(MPI_COMM_WORLD, attr(MPI_COMM_WORLD, IMPI_HOST_COLOR), 0,
                   &c);
    CHECK(attr(c, IMPI_HOST_SIZE) == 1 && attr(c, IMPI_CLIENT_SIZE) == 1);
    MPI_Comm_free(&c);
}

static void is_refused(int code, const char *function)
{
    char text[MPI_MAX_ERROR_STRING];
    int class, len;

    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_UNSUPPORTED_OPERATION);
    MPI_Error_string(code, text, &len);
    CHECK(strstr(text, function) && strstr(text, "IMPI_CLIENT_COLOR"));
}

/* Where a client knows nothing of windows that span. */
static void windows_that_are_refused(void)
{
    MPI_Win win;
    int v, *base;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    is_refused(MPI_Win_create(&v, sizeof(v), sizeof(v), MPI_INFO_NULL,
                              MPI_COMM_WORLD, &win),
               "MPI_Win_create");
    is_refused(
        MPI_Win_allocate(4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win),
        "MPI_Win_allocate");
    is_refused(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win),
               "MPI_Win_create_dynamic");
    is_refused(MPI_Win_allocate_shared(4, 4, MPI_INFO_NULL, MPI_COMM_WORLD,
                                       &base, &win),
               "MPI_Win_allocate_shared");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void parts_of_one_client_are_native(void)
{
    MPI_Comm part;
    MPI_Group group;
    MPI_Win win;
    int *base, n, r;

    MPI_Comm_split(MPI_COMM_WORLD, attr(MPI_COMM_WORLD, IMPI_CLIENT_COLOR), 0,
                   &part);
    MPI_Comm_size(part, &n);
    /* No message: MPICH 4.0.2 over UCX loses an MPI_Put now and then. */
    MPI_Win_allocate(sizeof(*base), sizeof(*base), MPI_INFO_NULL, part, &base,
                     &win);
    MPI_Win_fence(0, win);
    MPI_Win_get_group(win, &group);
    MPI_Group_size(group, &r);
    CHECK(r == n);
    MPI_Group_free(&group);
    MPI_Win_free(&win);
    MPI_Comm_free(&part);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (attr(MPI_COMM_WORLD, IMPI_CLIENT_SIZE) == 1)
        return end("attrs");
    if (size > 1)
        on_every_communicator();
    colors_keep_the_order_of_the_world(IMPI_CLIENT_COLOR);
    colors_keep_the_order_of_the_world(IMPI_HOST_COLOR);
    hosts_are_not_clients();
    of_all_clients();
    split_by_host_color();
    if (getenv("NO_WINDOWS"))
        windows_that_are_refused();
    parts_of_one_client_are_native();
    return end("attrs");
}
