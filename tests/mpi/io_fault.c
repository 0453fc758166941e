/* SPDX-License-Identifier: BSD-3-Clause
 *
 *   io_fault quota|close|write|ordered|absent|stalled
 *
 * What a file system does to one process (faulty_disk.c) in a call of all:
 *
 *   quota    everybody hears of it, collective, ordered and nonblocking
 *   close    also where it shows when the file is closed only
 *   write    nobody comes through a collective write
 *   ordered  nor through an ordered one
 *   absent   nor through one before which rank 1 is killed
 *   stalled  everybody does, when the file system is there again
 */
#include <signal.h>

#include "io.h"

/* More than what rank 0 writes for others in an ordered call. */
#define BYTES (16 * 4096)

static unsigned char out[BYTES], in[BYTES];

static int write_all(MPI_File f)
{
    return MPI_File_write_at_all(f, 0, out, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
}

/* Each its own. */
static int write_ordered(MPI_File f)
{
    return MPI_File_write_ordered(f, out, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void quota(MPI_File f)
{
    MPI_Request r;

    CHECK(class_of(write_ordered(f)) == MPI_ERR_QUOTA);
    interleave(f, BYTES);
    CHECK(class_of(write_all(f)) == MPI_ERR_QUOTA);
    CHECK(MPI_File_iwrite_at_all(f, 0, out, BYTES, MPI_BYTE, &r) ==
          MPI_SUCCESS);
    CHECK(class_of(MPI_Wait(&r, MPI_STATUS_IGNORE)) == MPI_ERR_QUOTA);
    closed(&f);
}

static int told_file, told_of_none;

static void tell_file(MPI_File *f, int *code, ...)
{
    CHECK(*f == MPI_FILE_NULL);
    told_file = class_of(*code);
}

static void tell_of_none(MPI_File *f, int *code, ...)
{
    told_of_none += *f == MPI_FILE_NULL && *code != MPI_SUCCESS;
}

/* The file's own handler is told, and that of no file is as before. */
static void close_it(MPI_File f)
{
    MPI_Errhandler own, none, is;

    MPI_File_create_errhandler(tell_file, &own);
    MPI_File_create_errhandler(tell_of_none, &none);
    MPI_File_set_errhandler(MPI_FILE_NULL, none);
    MPI_File_set_errhandler(f, own);
    CHECK(write_ordered(f) == MPI_SUCCESS);
    CHECK(class_of(MPI_File_close(&f)) == MPI_ERR_QUOTA);
    CHECK(f == MPI_FILE_NULL);
    CHECK(told_file == MPI_ERR_QUOTA && told_of_none == 0);
    MPI_File_get_errhandler(MPI_FILE_NULL, &is);
    CHECK(is == none);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
}

static void stalled(MPI_File f)
{
    fill(out, BYTES, rank, 3);
    interleave(f, BYTES);
    CHECK(write_all(f) == MPI_SUCCESS);
    CHECK(MPI_File_read_at_all(f, 0, in, BYTES, MPI_BYTE, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(same(in, BYTES, rank, 3));
    closed(&f);
}

static void no_way_through(MPI_File f, const char *what)
{
    int rc;

    if (strcmp(what, "absent") == 0 && rank == 1)
        raise(SIGKILL);
    if (strcmp(what, "write") == 0) {
        interleave(f, BYTES);
        rc = write_all(f);
    } else {
        rc = write_ordered(f);
    }
    fprintf(stderr, "rank %d came through: %d\n", rank, rc);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    MPI_File f;

    begin(&argc, &argv);
    f = fresh("fault");
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(what, "quota") == 0)
        quota(f);
    else if (strcmp(what, "close") == 0)
        close_it(f);
    else if (strcmp(what, "stalled") == 0)
        stalled(f);
    else
        no_way_through(f, what);
    return end("io_fault");
}
