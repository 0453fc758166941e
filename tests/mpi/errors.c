/* SPDX-License-Identifier: BSD-3-Clause
 * What is wrong is an error of the right class through the error handler of
 * the communicator, and the world goes on. */
#include "check.h"

static int class_of(int code)
{
    int class;

    MPI_Error_class(code, &class);
    return class;
}

/* A rank that another library serves than rank 0: the last of each world. */
#define far_rank (size - 1)

#define MAX_RANKS 64

static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    handled = *code;
}

static void tag_ub_is_the_negotiated_bound(void)
{
    const char *text = getenv("BARE_TAGUB");
    int x = 0, *ub, flag;

    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &ub, &flag);
    CHECK(flag && *ub >= 32767);
    if (*ub < 2147483647)
        CHECK(class_of(MPI_Send(&x, 1, MPI_INT, size - 1, *ub + 1,
                                MPI_COMM_WORLD)) == MPI_ERR_TAG);
    if (text)
        CHECK(*ub == atoi(text));
}

static void the_null_communicator_is_compared_with_nothing(void)
{
    int result;

    CHECK(class_of(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_NULL, &result)) ==
          MPI_ERR_COMM);
    CHECK(class_of(MPI_Comm_compare(MPI_COMM_NULL, MPI_COMM_WORLD, &result)) ==
          MPI_ERR_COMM);
}

/* MPICH's programs read of the function and its arguments in the text. */
static void text_of_a_returned_error_says_what_the_librarys_does(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int len, x = 0,
             code = MPI_Ssend(&x, 3, MPI_INT, size + 2, 4, MPI_COMM_WORLD);

    MPI_Error_string(code, text, &len);
    CHECK(len == (int)strlen(text));
#ifdef MPICH_VERSION
    CHECK(strncmp(text, "Invalid rank, error stack:\nMPI_Ssend(buf=0x", 43) ==
          0);
    CHECK(strstr(text, "count=3, MPI_INT"));
    code = MPI_Ssend(&x, 3, MPI_INT, 0, -4, MPI_COMM_WORLD);
    MPI_Error_string(MPI_ERR_RANK, text, &len);
    CHECK(strcmp(text, "Invalid rank") == 0);
#else
    CHECK(strstr(text, "MPI_ERR_RANK: invalid rank"));
#endif
}

static void arguments(void)
{
    int x = 0;
    MPI_Errhandler own;

    CHECK(class_of(MPI_Send(&x, 1, MPI_INT, size, 0, MPI_COMM_WORLD)) ==
          MPI_ERR_RANK);
    CHECK(class_of(MPI_Send(&x, 1, MPI_INT, 0, -5, MPI_COMM_WORLD)) ==
          MPI_ERR_TAG);
    CHECK(class_of(MPI_Send(&x, -1, MPI_INT, size - 1, 0, MPI_COMM_WORLD)) ==
          MPI_ERR_COUNT);
    CHECK(class_of(MPI_Bcast(&x, 1, MPI_INT, size, MPI_COMM_WORLD)) ==
          MPI_ERR_ROOT);
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
    MPI_Send(&x, 1, MPI_INT, size + 3, 0, MPI_COMM_WORLD);
    CHECK(class_of(handled) == MPI_ERR_RANK);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&own);
}

/* Null is no buffer for data, which both libraries say; for none it is, and so
 * is MPI_BOTTOM, which is null, for a type with addresses.  (Crashed.) */
static void no_buffer_is_an_error(void)
{
    int to = rank ? 0 : far_rank, x = rank, y = -1, one = 1;
    MPI_Datatype t;
    MPI_Aint at;
    MPI_Request r;

    CHECK(class_of(MPI_Send(NULL, 1, MPI_INT, to, 0, MPI_COMM_WORLD)) ==
          MPI_ERR_BUFFER);
    CHECK(class_of(MPI_Isend(NULL, 5000, MPI_INT, to, 0, MPI_COMM_WORLD, &r)) ==
          MPI_ERR_BUFFER);
    CHECK(class_of(MPI_Recv(NULL, 1, MPI_INT, to, 0, MPI_COMM_WORLD,
                            MPI_STATUS_IGNORE)) == MPI_ERR_BUFFER);
    CHECK(class_of(MPI_Irecv(NULL, 1, MPI_INT, to, 0, MPI_COMM_WORLD, &r)) ==
          MPI_ERR_BUFFER);
    CHECK(class_of(MPI_Bcast(NULL, 1, MPI_INT, 0, MPI_COMM_WORLD)) ==
          MPI_ERR_BUFFER);
    CHECK(class_of(MPI_Alltoall(NULL, 1, MPI_INT, &y, 1, MPI_INT,
                                MPI_COMM_WORLD)) == MPI_ERR_BUFFER);
    if (rank != 0 && rank != far_rank)
        return;
    MPI_Get_address(&x, &at);
    MPI_Type_create_hindexed(1, &one, &at, MPI_INT, &t);
    MPI_Type_commit(&t);
    for (int i = 0; i < 2; i++) { /* what a page is remembered as */
        MPI_Sendrecv(NULL, 0, MPI_INT, to, 1, NULL, 0, MPI_INT, to, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(MPI_BOTTOM, 1, t, to, 1, &y, 1, MPI_INT, to, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(y == to);
        CHECK(class_of(MPI_Send(NULL, 1, MPI_INT, to, 0, MPI_COMM_WORLD)) ==
              MPI_ERR_BUFFER);
    }
    MPI_Type_free(&t);
}

/* The same of reductions, of what each adds and of the result.  (Crashed, or
 * gave no result.) */
static void no_buffer_of_a_reduction_is_an_error(void)
{
    const MPI_Comm w = MPI_COMM_WORLD;
    int own = 1, sum = -1, counts[MAX_RANKS];
    MPI_Request r;

    CHECK(size <= MAX_RANKS);
    for (int i = 0; i < size; i++)
        counts[i] = 1;
#define REFUSED(call) CHECK(class_of(call) == MPI_ERR_BUFFER)
    REFUSED(MPI_Reduce(NULL, &sum, 1, MPI_INT, MPI_SUM, 0, w));
    REFUSED(MPI_Ireduce(NULL, &sum, 1, MPI_INT, MPI_SUM, 0, w, &r));
    REFUSED(MPI_Allreduce(NULL, &sum, 1, MPI_INT, MPI_SUM, w));
    REFUSED(MPI_Allreduce(&own, NULL, 1, MPI_INT, MPI_SUM, w));
    REFUSED(MPI_Allreduce(MPI_IN_PLACE, NULL, 1, MPI_INT, MPI_SUM, w));
    REFUSED(MPI_Iallreduce(NULL, &sum, 1, MPI_INT, MPI_SUM, w, &r));
    REFUSED(MPI_Scan(NULL, &sum, 1, MPI_INT, MPI_SUM, w));
    REFUSED(MPI_Scan(&own, NULL, 1, MPI_INT, MPI_SUM, w));
    REFUSED(MPI_Exscan(NULL, &sum, 1, MPI_INT, MPI_SUM, w));
    REFUSED(MPI_Reduce_scatter(NULL, &sum, counts, MPI_INT, MPI_SUM, w));
    REFUSED(MPI_Reduce_scatter(&own, NULL, counts, MPI_INT, MPI_SUM, w));
    REFUSED(MPI_Reduce_scatter_block(NULL, &sum, 1, MPI_INT, MPI_SUM, w));
#undef REFUSED
    /* Of no data, and where none is asked for, it is right. */
    CHECK(MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, w) == MPI_SUCCESS);
    CHECK(MPI_Reduce(&own, rank ? NULL : &sum, 1, MPI_INT, MPI_SUM, 0, w) ==
          MPI_SUCCESS);
    CHECK(rank || sum == size);
}

/* The side of the root adds nothing, nor takes who is not the root. */
static void no_buffer_of_an_idle_side_is_right(void)
{
    int upper = rank >= size / 2, own = 1, sum = -1;
    int root = !upper ? 0 : rank == size / 2 ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Comm half, inter;

    MPI_Comm_split(MPI_COMM_WORLD, upper, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : size / 2, 3,
                         &inter);
    CHECK(MPI_Reduce(upper ? NULL : &own, root == MPI_ROOT ? &sum : NULL, 1,
                     MPI_INT, MPI_SUM, root, inter) == MPI_SUCCESS);
    CHECK(root != MPI_ROOT || sum == size / 2);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

/* Short and long messages into buffers that are too small. */
static void truncated(int to, int from)
{
    /* Open MPI itself writes all of a long message of a neighbour. */
    static char big[300000], small[300000];
    int lens[] = {17, 300000};

    for (int i = 0; i < 2; i++) {
        MPI_Request r;
        MPI_Status st;
        int code;

        MPI_Isend(big, lens[i], MPI_CHAR, to, 4, MPI_COMM_WORLD, &r);
        code = MPI_Recv(small, 10, MPI_CHAR, from, 4, MPI_COMM_WORLD, &st);
        CHECK(class_of(code) == MPI_ERR_TRUNCATE);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        MPI_Sendrecv(&rank, 1, MPI_INT, to, 5, &code, 1, MPI_INT, from, 5,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(code == from);
    }
}

/* external32 has four bytes for a long: more is an error, not another value. */
static void long_range(void)
{
    const char *data = getenv("SLURM_IMPI_DATA");
    long big = 1L << 40;

    if (rank != 0 || !data || strcmp(data, "external32") != 0)
        return;
    CHECK(class_of(MPI_Send(&big, 1, MPI_LONG, far_rank, 7, MPI_COMM_WORLD)) ==
          MPI_ERR_CONVERSION);
}

/* Processes that disagree on the length: each that gets more than it takes
 * has the error of its own receive, and the world goes on. */
static void collectives_return_the_errors_inside(void)
{
    int data[8] = {0}, code;

    if (size > 3) /* the local phase would be the library's own affair */
        return;
    code = MPI_Bcast(data, rank == 0 ? 8 : 2, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(class_of(code) == (rank == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE));
    MPI_Barrier(MPI_COMM_WORLD);
}

static int file_handled;

static void file_handler(MPI_File *file, int *code, ...)
{
    file_handled = *file == MPI_FILE_NULL ? *code : MPI_SUCCESS;
}

/* A file that is not there; or no file may span in this world. */
static int is_refusal(int code)
{
    return class_of(code) == MPI_ERR_NO_SUCH_FILE ||
           class_of(code) == MPI_ERR_UNSUPPORTED_OPERATION;
}

static void file_is_refused(void)
{
    char text[MPI_MAX_ERROR_STRING];
    MPI_File file;
    int len, code = MPI_File_open(MPI_COMM_WORLD, "none", MPI_MODE_RDONLY,
                                  MPI_INFO_NULL, &file);

    CHECK(is_refusal(code));
    MPI_Error_string(code, text, &len);
    if (class_of(code) == MPI_ERR_UNSUPPORTED_OPERATION)
        CHECK(strstr(text, "SF-E510: MPI_File_open is not supported"));
}

/* Files have handlers of their own, and the default of what has no file yet is
 * to return.  (Open MPI's program was ended, without a word of why.) */
static void no_file_is_a_returned_error_by_default(void)
{
    MPI_Errhandler own, was;

    file_is_refused();
    MPI_File_get_errhandler(MPI_FILE_NULL, &was);
    MPI_File_create_errhandler(file_handler, &own);
    MPI_File_set_errhandler(MPI_FILE_NULL, own);
    MPI_Errhandler_free(&own);
    file_is_refused();
    CHECK(is_refusal(file_handled));
    MPI_File_set_errhandler(MPI_FILE_NULL, was);
    MPI_Errhandler_free(&was);
    file_handled = MPI_SUCCESS;
    file_is_refused();
    CHECK(file_handled == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    no_file_is_a_returned_error_by_default();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    arguments();
    the_null_communicator_is_compared_with_nothing();
    text_of_a_returned_error_says_what_the_librarys_does();
    MPI_Barrier(MPI_COMM_WORLD);
    no_buffer_is_an_error();
    no_buffer_of_a_reduction_is_an_error();
    no_buffer_of_an_idle_side_is_right();
    tag_ub_is_the_negotiated_bound();
    MPI_Barrier(MPI_COMM_WORLD);
    long_range();
    for (int d = 1; d < size; d++)
        truncated((rank + d) % size, (rank + size - d) % size);
    collectives_return_the_errors_inside();
    return end("errors");
}
