/* SPDX-License-Identifier: BSD-3-Clause
 * An error of the kind that argv[1] names, in the last rank, with the error
 * handlers as MPI_Init leaves them; the others wait.  FATAL_CLASS has its
 * class, which is also the exit code of a process that either library ends for
 * it. Of messages that are longer than their buffers rank 0 is the sender. */
#include "check.h"

static MPI_Comm w = MPI_COMM_WORLD;
static int x[4], two[2] = {1, 1};

/* In a file: what is under way on stdout when the job is ended may be lost. */
static void expect(int class)
{
    FILE *f = fopen(getenv("FATAL_CLASS"), "w");

    if (!f || fprintf(f, "%d\n", class) < 0 || fclose(f) != 0)
        exit(98);
}

static void send_rank(void)
{
    expect(MPI_ERR_RANK);
    MPI_Send(x, 1, MPI_INT, size + 3, 7, w);
}

static void send_tag(void)
{
    expect(MPI_ERR_TAG);
    MPI_Send(x, 1, MPI_INT, 0, -5, w);
}

static void ssend_count(void)
{
    expect(MPI_ERR_COUNT);
    MPI_Ssend(x, -1, MPI_INT, 0, 7, w);
}

static void isend_type(void)
{
    MPI_Request r;

    expect(MPI_ERR_TYPE);
    MPI_Isend(x, 1, MPI_DATATYPE_NULL, 0, 7, w, &r);
}

static void irecv_tag(void)
{
    MPI_Request r;

    expect(MPI_ERR_TAG);
    MPI_Irecv(x, 1, MPI_DOUBLE, 0, -7, w, &r);
}

static void recv_rank(void)
{
    expect(MPI_ERR_RANK);
    MPI_Recv(x, 2, MPI_INT, size, 7, w, MPI_STATUS_IGNORE);
}

static void sendrecv_rank(void)
{
    expect(MPI_ERR_RANK);
    MPI_Sendrecv(x, 1, MPI_INT, size + 1, 7, x + 1, 1, MPI_INT, 0, 7, w,
                 MPI_STATUS_IGNORE);
}

static void probe_rank(void)
{
    expect(MPI_ERR_RANK);
    MPI_Probe(-9, 7, w, MPI_STATUS_IGNORE);
}

static void recv_truncate(void)
{
    expect(MPI_ERR_TRUNCATE);
    MPI_Recv(x, 1, MPI_INT, 0, 1, w, MPI_STATUS_IGNORE);
}

static void wait_truncate(void)
{
    MPI_Request r;

    expect(MPI_ERR_TRUNCATE);
    MPI_Irecv(x, 1, MPI_INT, 0, 1, w, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void waitall_truncate(void)
{
    MPI_Request r[2];

    expect(MPI_ERR_TRUNCATE);
    MPI_Irecv(x, 1, MPI_INT, 0, 1, w, &r[0]);
    MPI_Irecv(x, 3, MPI_INT, 0, 1, w, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static void bcast_root(void)
{
    expect(MPI_ERR_ROOT);
    MPI_Bcast(x, 3, MPI_INT, size + 1, w);
}

static void allreduce_buffer(void)
{
    expect(MPI_ERR_BUFFER);
    MPI_Allreduce(NULL, x, 1, MPI_INT, MPI_MAX, w);
}

static void igather_root(void)
{
    MPI_Request r;

    expect(MPI_ERR_ROOT);
    MPI_Igather(x, 1, MPI_INT, x, 1, MPI_INT, -4, w, &r);
}

static void cart_dims(void)
{
    MPI_Comm c;

    two[0] = size + 1;
    expect(MPI_ERR_ARG);
    MPI_Cart_create(w, 2, two, two, 0, &c);
}

static void cart_coords(void)
{
    expect(MPI_ERR_TOPOLOGY);
    MPI_Cart_coords(w, 0, 2, x);
}

static void create_group(void)
{
    MPI_Comm c;

    expect(MPI_ERR_GROUP);
    MPI_Comm_create(w, MPI_GROUP_NULL, &c);
}

static void remote_size(void)
{
    expect(MPI_ERR_COMM);
    MPI_Comm_remote_size(w, x);
}

static void leader(void)
{
    MPI_Comm c;

    expect(MPI_ERR_RANK);
    MPI_Intercomm_create(MPI_COMM_SELF, 0, w, size + 2, 7, &c);
}

static void window(void)
{
    MPI_Win win;
    void *base;

    expect(MPI_ERR_UNSUPPORTED_OPERATION);
    MPI_Win_allocate_shared(sizeof(x), 1, MPI_INFO_NULL, w, &base, &win);
}

static MPI_Win shelf;

static void open_shelf(const char *kind)
{
    int *base;

    if (strcmp(kind, "put_nowhere") == 0)
        MPI_Win_create_dynamic(MPI_INFO_NULL, w, &shelf);
    else if (strcmp(kind, "put_allocated") == 0)
        MPI_Win_allocate(sizeof(two), 1, MPI_INFO_NULL, w, &base, &shelf);
    else
        MPI_Win_create(two, sizeof(two), 1, MPI_INFO_NULL, w, &shelf);
    MPI_Win_set_name(shelf, "shelf");
    MPI_Win_fence(0, shelf);
}

static void put_range(void)
{
    expect(MPI_ERR_RMA_RANGE);
    MPI_Put(x, 1, MPI_INT, 0, sizeof(two) - 2, 1, MPI_INT, shelf);
}

/* Rank 0 asks for more than there is, and lives on. */
static void no_memory(void)
{
    MPI_Win win;
    void *base;

    if (rank == 0)
        MPI_Comm_set_errhandler(w, MPI_ERRORS_RETURN);
    else
        expect(MPI_ERR_NO_MEM);
    MPI_Win_allocate(rank == 0 ? (MPI_Aint)1 << 46 : 8, 1, MPI_INFO_NULL, w,
                     &base, &win);
}

/* Rank 0 shares none with others, and lives on, too. */
static void apart(void)
{
    MPI_Win win;
    void *base;

    if (rank == 0)
        MPI_Comm_set_errhandler(w, MPI_ERRORS_RETURN);
    if (rank == 0)
        setenv("SLURM_IMPI_WINDOWS", "messages", 1);
    else
        expect(MPI_ERR_RMA_SHARED);
    MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, w, &base, &win);
}

/* Only the target knows what is attached there. */
static void put_nowhere(void)
{
    MPI_Win_fence(MPI_MODE_NOSUCCEED, shelf);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, shelf);
    MPI_Put(x, 1, MPI_INT, 0, 4096, 1, MPI_INT, shelf);
    expect(MPI_ERR_RMA_RANGE);
    MPI_Win_unlock(0, shelf);
}

static void spawn(void)
{
    MPI_Comm c;

    expect(MPI_ERR_ROOT);
    MPI_Comm_spawn("true", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 4, w, &c,
                   MPI_ERRCODES_IGNORE);
}

static void file(void)
{
    MPI_File f;

    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    expect(MPI_ERR_UNSUPPORTED_OPERATION);
    MPI_File_open(w, "data.bin", MPI_MODE_RDONLY, MPI_INFO_NULL, &f);
}

static const struct {
    const char *name;
    void (*make)(void);
} kinds[] = {{"send_rank", send_rank},
             {"send_tag", send_tag},
             {"ssend_count", ssend_count},
             {"isend_type", isend_type},
             {"irecv_tag", irecv_tag},
             {"recv_rank", recv_rank},
             {"sendrecv_rank", sendrecv_rank},
             {"probe_rank", probe_rank},
             {"recv_truncate", recv_truncate},
             {"wait_truncate", wait_truncate},
             {"waitall_truncate", waitall_truncate},
             {"bcast_root", bcast_root},
             {"allreduce_buffer", allreduce_buffer},
             {"igather_root", igather_root},
             {"cart_dims", cart_dims},
             {"cart_coords", cart_coords},
             {"create_group", create_group},
             {"remote_size", remote_size},
             {"leader", leader},
             {"window", window},
             {"put_range", put_range},
             {"put_allocated", put_range},
             {"put_nowhere", put_nowhere},
             {"no_memory", no_memory},
             {"apart", apart},
             {"spawn", spawn},
             {"file", file}};

int main(int argc, char **argv)
{
    size_t n = sizeof(kinds) / sizeof(kinds[0]), i = 0;

    begin(&argc, &argv);
    if (argc > 2) { /* a communicator of that name */
        MPI_Comm_dup(MPI_COMM_WORLD, &w);
        MPI_Comm_set_name(w, argv[2]);
    }
    for (; argc > 1 && i < n && strcmp(kinds[i].name, argv[1]) != 0; i++)
        ;
    if (argc < 2 || i == n)
        MPI_Abort(MPI_COMM_WORLD, 99);
    if (strstr(argv[1], "put"))
        open_shelf(argv[1]);
    if (rank == 0 && strstr(argv[1], "truncate"))
        for (int k = 0; k < 2; k++)
            MPI_Send(x, 3, MPI_INT, size - 1, 1, w);
    if (rank == size - 1 || kinds[i].make == no_memory ||
        kinds[i].make == apart)
        kinds[i].make();
    else if (strcmp(argv[1], "put_nowhere") == 0)
        MPI_Win_fence(MPI_MODE_NOSUCCEED, shelf);
    MPI_Recv(x, 1, MPI_INT, size - 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
