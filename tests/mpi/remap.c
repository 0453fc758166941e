/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages from and into memory in whose place, after each, other memory is
 * mapped with something else in it: what the network was told of the memory
 * before must not be used again.  Nor is the process changed to learn of it:
 * the code of munmap() stays what the MPI library left.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"

#define ROUNDS 40
#define BYTES (600 * 1024)

static unsigned char *at;

/* In one step: what is unmapped could be given to the library meanwhile. */
static void map(void)
{
    void *p = mmap(at, BYTES, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

    CHECK(p != MAP_FAILED);
    at = p;
}

static unsigned char expected(int round, size_t i)
{
    return (unsigned char)(round * 31 + i / 4096 + i);
}

static void send_one(int round, int to)
{
    map();
    for (size_t i = 0; i < BYTES; i++)
        at[i] = expected(round, i);
    MPI_Send(at, BYTES, MPI_BYTE, to, round, MPI_COMM_WORLD);
}

/* Into fresh memory; what comes must be there, and later nothing more. */
static void receive_one(int round, int from)
{
    int good = 1;

    map();
    MPI_Recv(at, BYTES, MPI_BYTE, from, round, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    for (size_t i = 0; i < BYTES; i++)
        good &= at[i] == expected(round, i);
    CHECK(good);
    map();
    MPI_Barrier(MPI_COMM_WORLD);
    for (size_t i = 0; i < BYTES; i++)
        good &= at[i] == 0;
    CHECK(good);
}

static void copy_munmap(unsigned char code[16])
{
    const void *p = dlsym(RTLD_DEFAULT, "munmap");

    CHECK(p);
    memcpy(code, p, 16);
}

int main(int argc, char **argv)
{
    unsigned char before[16], after[16];

    begin(&argc, &argv);
    copy_munmap(before);
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == round % 2)
            send_one(round, 1 - rank);
        else if (rank < 2)
            receive_one(round, 1 - rank);
        if (rank == round % 2 || rank > 1)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    copy_munmap(after);
    CHECK(memcmp(before, after, sizeof(before)) == 0);
    return end("remap");
}
