/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One file of all processes: collective access to interleaved pieces,
 * independent access to large ones, many small ordered ones.  Prints
 * "CASE MICROSECONDS", the median of batches, the slowest process of each.
 *
 *   io FILE [BATCHES]
 *
 * Each batch writes a file that it has made, so that no process finds the
 * blocks of another's.  What is read is compared with what was written; data
 * are left to the system's cache, so that the disk's pace is nobody's.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "bench/sizes.h"

#define TOTAL (64 << 20) /* bytes of the file */
#define PIECE 4096       /* of the interleaved ones */
#define LARGE (8 << 20)  /* of the independent ones */
#define ORDERED 1000     /* collective calls */
#define SMALL 64         /* bytes of an ordered one */
#define MAX_BATCHES 99

static int rank, size, share; /* bytes of TOTAL that are this process's */
static char *mem, *back;
static MPI_File file;

static void check(int error, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;

    if (!error)
        return;
    MPI_Error_string(error, text, &len);
    fprintf(stderr, "io: %s: %s\n", what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void open_new(const char *name)
{
    if (rank == 0)
        remove(name);
    MPI_Barrier(MPI_COMM_WORLD);
    check(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR,
                        MPI_INFO_NULL, &file),
          "MPI_File_open");
}

/* Piece k of the file is that of process k modulo their number. */
static void interleave(void)
{
    MPI_Datatype type;

    MPI_Type_vector(share / PIECE, PIECE, PIECE * size, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    check(MPI_File_set_view(file, (MPI_Offset)rank * PIECE, MPI_BYTE, type,
                            "native", MPI_INFO_NULL),
          "MPI_File_set_view");
    MPI_Type_free(&type);
}

static void write_pieces(void)
{
    check(
        MPI_File_write_at_all(file, 0, mem, share, MPI_BYTE, MPI_STATUS_IGNORE),
        "MPI_File_write_at_all");
}

static void read_pieces(void)
{
    check(
        MPI_File_read_at_all(file, 0, back, share, MPI_BYTE, MPI_STATUS_IGNORE),
        "MPI_File_read_at_all");
}

/* Each process has a part of the file for itself. */
static void write_large(void)
{
    for (int at = 0; at < share; at += LARGE)
        check(MPI_File_write_at(file, (MPI_Offset)rank * share + at, mem + at,
                                share - at < LARGE ? share - at : LARGE,
                                MPI_BYTE, MPI_STATUS_IGNORE),
              "MPI_File_write_at");
}

static void read_large(void)
{
    for (int at = 0; at < share; at += LARGE)
        check(MPI_File_read_at(file, (MPI_Offset)rank * share + at, back + at,
                               share - at < LARGE ? share - at : LARGE,
                               MPI_BYTE, MPI_STATUS_IGNORE),
              "MPI_File_read_at");
}

static void write_ordered(void)
{
    for (int i = 0; i < ORDERED; i++)
        check(MPI_File_write_ordered(file, mem, SMALL, MPI_BYTE,
                                     MPI_STATUS_IGNORE),
              "MPI_File_write_ordered");
}

/* The time of the slowest process. */
static double time_of(void (*call)(void))
{
    double start, took, most;

    MPI_Barrier(MPI_COMM_WORLD);
    start = now_us();
    call();
    took = now_us() - start;
    MPI_Allreduce(&took, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

/* The same bytes, or no figure. */
static void compare(const char *what)
{
    if (memcmp(mem, back, (size_t)share) != 0) {
        fprintf(stderr, "io: %s: rank %d reads other bytes\n", what, rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(back, 0, (size_t)share);
}

static void figure(const char *name, double *took, int batches)
{
    double us = median(took, batches);

    if (rank == 0)
        printf("%s %.1f\n", name, us);
}

static void measure(const char *name, int batches)
{
    double took[5][MAX_BATCHES];

    for (int b = 0; b < batches; b++) {
        open_new(name);
        interleave();
        took[0][b] = time_of(write_pieces);
        took[1][b] = time_of(read_pieces);
        compare("interleaved pieces");
        MPI_File_close(&file);
        open_new(name);
        took[2][b] = time_of(write_large);
        took[3][b] = time_of(read_large);
        compare("large pieces");
        MPI_File_close(&file);
        open_new(name);
        took[4][b] = time_of(write_ordered);
        MPI_File_close(&file);
    }
    figure("collective-write", took[0], batches);
    figure("collective-read", took[1], batches);
    figure("independent-write", took[2], batches);
    figure("independent-read", took[3], batches);
    figure("ordered", took[4], batches);
}

int main(int argc, char *argv[])
{
    int batches = argc > 2 ? atoi(argv[2]) : BATCHES;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    share = TOTAL / size / PIECE * PIECE;
    mem = malloc((size_t)share);
    back = malloc((size_t)share);
    if (argc < 2 || batches < 1 || batches > MAX_BATCHES || !mem || !back) {
        fprintf(stderr, "usage: io FILE [BATCHES]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int i = 0; i < share; i++)
        mem[i] = (char)(i * 31 + i / PIECE + rank);
    memset(back, 0, (size_t)share);
    measure(argv[1], batches);
    if (rank == 0)
        remove(argv[1]);
    free(mem);
    free(back);
    MPI_Finalize();
    return 0;
}
