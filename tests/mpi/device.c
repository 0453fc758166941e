/* SPDX-License-Identifier: BSD-3-Clause
 * Memory that this process cannot read stands for an accelerator's, the
 * library argv[1] for its driver.  Every call that crosses between clients
 * gives MPI_ERR_BUFFER for it, and the world goes on. */
#include <dlfcn.h>
#include <sys/mman.h>
#include "check.h"

#define LEN 4096
#define W MPI_COMM_WORLD
#define N 16, MPI_INT

static char *device;
static int host[16 * 64], far;

static int refused(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int class, len;

    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &len);
    return class == MPI_ERR_BUFFER && strstr(text, "SF-E511");
}

static void point_to_point(void)
{
    MPI_Request r;
    MPI_Datatype vector;

    CHECK(refused(MPI_Send(device, N, far, 1, W)));
    CHECK(refused(MPI_Bsend(device, N, far, 1, W)));
    CHECK(refused(MPI_Ssend(device, N, far, 1, W)));
    CHECK(refused(MPI_Isend(device, N, far, 1, W, &r)));
    CHECK(refused(MPI_Recv(device, N, far, 1, W, MPI_STATUS_IGNORE)));
    CHECK(
        refused(MPI_Recv(device, N, MPI_ANY_SOURCE, 1, W, MPI_STATUS_IGNORE)));
    CHECK(refused(MPI_Irecv(device, N, far, 1, W, &r)));
    CHECK(refused(
        MPI_Sendrecv_replace(device, N, far, 1, far, 1, W, MPI_STATUS_IGNORE)));
    MPI_Type_vector(4, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    CHECK(refused(MPI_Send(device, 2, vector, far, 1, W)));
    CHECK(refused(MPI_Recv(device, 2, vector, far, 1, W, MPI_STATUS_IGNORE)));
    MPI_Type_free(&vector);
    /* The last byte counts, and no data are no memory. */
    CHECK(refused(MPI_Send(device - 8, N, far, 1, W)));
    CHECK(MPI_Send(device, 0, MPI_INT, far, 9, W) == MPI_SUCCESS);
    CHECK(MPI_Recv(device, 0, MPI_INT, far, 9, W, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
}

static void collectives(void)
{
    int counts[64], displs[64];

    for (int i = 0; i < size; i++)
        counts[i] = 4, displs[i] = 4 * i;
    CHECK(refused(MPI_Bcast(device, N, 0, W)));
    CHECK(refused(MPI_Allreduce(device, host, N, MPI_SUM, W)));
    CHECK(refused(MPI_Allreduce(MPI_IN_PLACE, device, N, MPI_SUM, W)));
    CHECK(refused(MPI_Reduce(device, host, N, MPI_SUM, 0, W)));
    CHECK(refused(MPI_Scan(host, device, N, MPI_SUM, W)));
    CHECK(refused(MPI_Exscan(host, device, N, MPI_SUM, W)));
    CHECK(
        refused(MPI_Reduce_scatter(host, device, counts, MPI_INT, MPI_SUM, W)));
    CHECK(refused(MPI_Gather(device, 4, MPI_INT, host, 4, MPI_INT, 0, W)));
    CHECK(refused(MPI_Allgather(host, 4, MPI_INT, device, 4, MPI_INT, W)));
    CHECK(refused(MPI_Alltoall(device, 4, MPI_INT, host, 4, MPI_INT, W)));
    CHECK(refused(MPI_Alltoallv(host, counts, displs, MPI_INT, device, counts,
                                displs, MPI_INT, W)));
}

static void world_goes_on(void)
{
    int v = rank, got = -1;

    MPI_Sendrecv(&v, 1, MPI_INT, far, 2, &got, 1, MPI_INT, far, 2, W,
                 MPI_STATUS_IGNORE);
    CHECK(got == far);
}

/* Short messages from and to a page that is the host's. */
static void before(void)
{
    int *page = (int *)device;

    page[0] = rank;
    MPI_Send(page, 1, MPI_INT, far, 3, W);
    MPI_Recv(page, 1, MPI_INT, far, 3, W, MPI_STATUS_IGNORE);
    CHECK(page[0] == far);
    MPI_Send(page, 1, MPI_INT, far, 4, W);
    MPI_Recv(host, 1, MPI_INT, far, 4, W, MPI_STATUS_IGNORE);
    CHECK(host[0] == rank);
}

/* That page becomes the accelerator's.  To start a driver takes longer than
 * that one is looked for again (src/libimpi/buffer.h). */
static int start_driver(const char *library)
{
    double start = MPI_Wtime();

    if (!dlopen(library, RTLD_NOW) || mprotect(device, LEN, PROT_NONE) != 0)
        return -1;
    while (MPI_Wtime() < start + 0.05)
        ;
    return 0;
}

int main(int argc, char **argv)
{
    const char *library = argc > 1 ? argv[1] : "";
    char *two = mmap(NULL, 2 * LEN, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (two == MAP_FAILED)
        return 3;
    device = two + LEN;
    begin(&argc, &argv);
    far = size - 1 - rank; /* of another client: both are as large */
    MPI_Comm_set_errhandler(W, MPI_ERRORS_RETURN);
    before();
    if (start_driver(library) < 0) {
        fprintf(stderr, "no driver library\n");
        MPI_Abort(W, 3);
    }
    point_to_point();
    collectives();
    world_goes_on();
    return end("device");
}
