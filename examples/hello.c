/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A plain MPI program: tells what each rank of MPI_COMM_WORLD is, passes a
 * token around a ring, adds up with MPI_Allreduce, and checks both.  It is
 * not linked to anything of slurm-fabric.  Built once with each MPI library,
 * the two programs can be one job:
 *
 *     srun --mpi=impi -n2 ./hello_mpich : -n2 ./hello_openmpi
 *
 * Exit status 0 when all results are right, else 1.  If libelan can be loaded
 * the contexts of the capability are shown, too.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elan/elanvp.h"

#define TEXT_MAX 1024
#define TAG_TEXT 1
#define TAG_RING 2

static void describe_library(char *buf, size_t size)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int len;

    MPI_Get_library_version(version, &len);
    version[strcspn(version, ",\n")] = '\0';
    for (char *p = version; *p; p++) {
        if (*p == '\t')
            *p = ' ';
    }
    snprintf(buf, size, "%s", version);
}

/* "contexts 0x400-0x401", or why there are none. */
static void describe_contexts(char *buf, size_t size)
{
    int (*getcap)(int, ELAN_CAPABILITY *) = NULL;
    void *lib = dlopen("libelan.so", RTLD_NOW | RTLD_LOCAL);
    ELAN_CAPABILITY cap;

    if (lib)
        *(void **)&getcap = dlsym(lib, "rms_getcap");
    memset(&cap, 0, sizeof(cap));
    if (!getcap)
        snprintf(buf, size, "contexts ? (no libelan)");
    else if (getcap(0, &cap) < 0)
        snprintf(buf, size, "contexts none (%m)");
    else
        snprintf(buf, size, "contexts %#x-%#x, own %#x", cap.LowContext,
                 cap.HighContext, cap.MyContext);
}

static const char *env(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "-";
}

static void describe(char text[TEXT_MAX], int rank, int size)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING], host[256], contexts[128];
    const char *node = getenv("SLURMD_NODENAME"); /* Slurm's name of it */

    if (gethostname(host, sizeof(host)) == 0 && !node)
        node = host;
    describe_library(library, sizeof(library));
    describe_contexts(contexts, sizeof(contexts));
    snprintf(text, TEXT_MAX,
             "rank %d of %d  node %s  %.100s\n"
             "        RMS_RANK=%s RMS_NPROCS=%s RMS_PROCID=%s "
             "RMS_NODEID=%s RMS_NNODES=%s  %s",
             rank, size, node, library, env("RMS_RANK"), env("RMS_NPROCS"),
             env("RMS_PROCID"), env("RMS_NODEID"), env("RMS_NNODES"), contexts);
}

/* Rank 0 prints what every rank says of itself, in order. */
static void introduce(int rank, int size)
{
    char text[TEXT_MAX];

    describe(text, rank, size);
    if (rank != 0) {
        MPI_Send(text, TEXT_MAX, MPI_CHAR, 0, TAG_TEXT, MPI_COMM_WORLD);
        return;
    }
    puts(text);
    for (int from = 1; from < size; from++) {
        MPI_Recv(text, TEXT_MAX, MPI_CHAR, from, TAG_TEXT, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        puts(text);
    }
    fflush(stdout);
}

/* The token starts as 0 and every rank adds its number plus one. */
static int ring(int rank, int size)
{
    int next = (rank + 1) % size, prev = (rank + size - 1) % size;
    int token = 0;

    if (size == 1)
        return 1;
    if (rank == 0) {
        token = 1;
        MPI_Send(&token, 1, MPI_INT, next, TAG_RING, MPI_COMM_WORLD);
    }
    MPI_Recv(&token, 1, MPI_INT, prev, TAG_RING, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    if (rank != 0) {
        token += rank + 1;
        MPI_Send(&token, 1, MPI_INT, next, TAG_RING, MPI_COMM_WORLD);
        return 1;
    }
    printf("ring       %d, expected %d\n", token, size * (size + 1) / 2);
    return token == size * (size + 1) / 2;
}

static int allreduce(int rank, int size)
{
    double mine = rank + 0.5, sum = 0, expected = size * size / 2.0;

    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("allreduce  %g, expected %g\n", sum, expected);
    return sum == expected;
}

int main(int argc, char **argv)
{
    int rank, size, good, all_good = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    introduce(rank, size);
    good = ring(rank, size);
    good &= allreduce(rank, size);
    MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0)
        puts(all_good ? "all results are right" : "WRONG RESULTS");
    fflush(stdout);
    MPI_Finalize();
    return all_good ? 0 : 1;
}
