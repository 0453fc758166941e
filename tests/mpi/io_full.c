/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A file system of 1 MB (IO_DIR) gets full: everybody who took part in a
 * collective write hears of it, and nobody of a write that had room.
 */
#include "io.h"

#define BYTES (1024 * 1024)

static unsigned char out[BYTES];

/* By the library's handle the reason may get lost. */
static int is_full(int rc)
{
    return class_of(rc) == MPI_ERR_NO_SPACE ||
           (getenv("IO_DRIVER") && rc != MPI_SUCCESS);
}

static void all_hear_that_it_is_full(void)
{
    MPI_File f = fresh("full");
    MPI_Request r;
    int rc;

    interleave(f, BYTES);
    CHECK(MPI_File_write_at_all(f, 0, out, 4096, MPI_BYTE, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    rc = MPI_File_write_at_all(f, 0, out, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(is_full(rc));
    CHECK(MPI_File_iwrite_at_all(f, 0, out, BYTES, MPI_BYTE, &r) ==
          MPI_SUCCESS);
    CHECK(is_full(MPI_Wait(&r, MPI_STATUS_IGNORE)));
    CHECK(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native",
                            MPI_INFO_NULL) == MPI_SUCCESS);
    rc = MPI_File_write_ordered(f, out, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(is_full(rc));
    /* The same where rank 0 writes what all have. */
    for (int i = 0; i == 0 || (rc == MPI_SUCCESS && i < 1000); i++)
        rc = MPI_File_write_ordered(f, out, 4096, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(is_full(rc));
    closed(&f);
}

/* Only one of them writes too much. */
static void all_hear_that_one_failed(void)
{
    MPI_File f = fresh("one");
    int n = rank == size - 1 ? BYTES : 16;
    int rc = MPI_File_write_at_all(f, (MPI_Offset)rank * BYTES, out, n,
                                   MPI_BYTE, MPI_STATUS_IGNORE);

    CHECK(is_full(rc));
    if (rank == size - 1)
        rc = MPI_File_write_at(f, 0, out, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(is_full(rc));
    closed(&f);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"all_hear_that_it_is_full", all_hear_that_it_is_full},
        {"all_hear_that_one_failed", all_hear_that_one_failed},
    };

    begin(&argc, &argv);
    run_parts(argc, argv, parts, sizeof(parts) / sizeof(parts[0]));
    return end("io_full");
}
