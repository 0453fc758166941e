/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Pack and MPI_Unpack on MPI_COMM_WORLD, where it is external32, beside
 * memcpy of the same bytes (block by block where the type has gaps) and the
 * library's own MPI_Pack_external, in turn.  One rank after the other prints
 * "RANK KEY BYTES OURS MEMCPY LIBRARY", medians in us.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "bench/sizes.h"

#define MOST (16 << 20)
#define WORK (24 << 20) /* bytes per sample */

struct thing {
    char c;
    double d;
    int i[3];
};

struct shape {
    const char *key;
    size_t bytes; /* of data */
    int count;
    MPI_Datatype type;
    MPI_Aint extent;
    int nblocks; /* of one */
    size_t at[16], len[16];
    int unpack;
};

static char *user, *wire;

/* The lengths are not constants, as those of a type are not. */
__attribute__((noinline)) static void copy(const struct shape *s)
{
    char *at = user, *to = wire;

    if (s->nblocks == 1) {
        memcpy(s->unpack ? user : wire, s->unpack ? wire : user, s->bytes);
        return;
    }
    for (int k = 0; k < s->count; k++, at += s->extent) {
        for (int b = 0; b < s->nblocks; b++) {
            if (s->unpack)
                memcpy(at + s->at[b], to, s->len[b]);
            else
                memcpy(to, at + s->at[b], s->len[b]);
            to += s->len[b];
        }
    }
}

static void ours(const struct shape *s)
{
    int pos = 0;

    if (s->unpack)
        MPI_Unpack(wire, MOST, &pos, user, s->count, s->type, MPI_COMM_WORLD);
    else
        MPI_Pack(user, s->count, s->type, wire, MOST, &pos, MPI_COMM_WORLD);
}

/* MPICH 4.0.2 dies of an illegal instruction in MPI_Pack_external of doubles:
 * nothing is measured there. */
static void library(const struct shape *s)
{
#ifdef MPICH
    (void)s;
#else
    MPI_Aint pos = 0;

    if (s->unpack)
        MPI_Unpack_external("external32", wire, MOST, &pos, user, s->count,
                            s->type);
    else
        MPI_Pack_external("external32", user, s->count, s->type, wire, MOST,
                          &pos);
#endif
}

static double sample(const struct shape *s, void (*what)(const struct shape *))
{
    int rounds = (int)(WORK / s->bytes) + 1;
    double start = now_us();

    for (int i = 0; i < rounds; i++)
        what(s);
    return (now_us() - start) / rounds;
}

static void measure(int rank, struct shape *s)
{
    double a[BATCHES], b[BATCHES], c[BATCHES];
    MPI_Aint lb;

    MPI_Type_get_extent(s->type, &lb, &s->extent);
    for (int i = -1; i < BATCHES; i++) {
        int at = i < 0 ? 0 : i;

        b[at] = sample(s, copy);
        a[at] = sample(s, ours);
        c[at] = sample(s, library);
    }
    printf("%d %s %zu %.4f %.4f %.4f\n", rank, s->key, s->bytes,
           median(a, BATCHES), median(b, BATCHES), median(c, BATCHES));
    fflush(stdout);
}

static void measure_doubles(int rank, const char *key, size_t bytes, int unpack)
{
    struct shape s = {.key = key,
                      .bytes = bytes,
                      .count = (int)(bytes / 8),
                      .type = MPI_DOUBLE,
                      .nblocks = 1,
                      .len = {bytes},
                      .unpack = unpack};

    measure(rank, &s);
}

/* 16 blocks of n doubles, each with a gap as long after it. */
static void measure_vector(int rank, const char *key, int n, int unpack)
{
    struct shape s = {.key = key, .nblocks = 16, .unpack = unpack};
    MPI_Datatype raw;

    for (size_t b = 0; b < 16; b++) {
        s.at[b] = b * 16 * (size_t)n;
        s.len[b] = 8 * (size_t)n;
    }
    s.count = (1 << 20) / (16 * 8 * n);
    s.bytes = (size_t)s.count * 16 * 8 * (size_t)n;
    MPI_Type_vector(16, n, 2 * n, MPI_DOUBLE, &raw);
    MPI_Type_create_resized(raw, 0, 16 * 16 * (MPI_Aint)n, &s.type);
    MPI_Type_commit(&s.type);
    measure(rank, &s);
    MPI_Type_free(&raw);
    MPI_Type_free(&s.type);
}

static void measure_struct(int rank, const char *key, int unpack)
{
    struct shape s = {
        .key = key,
        .nblocks = 3,
        .count = 40000,
        .at = {0, offsetof(struct thing, d), offsetof(struct thing, i)},
        .len = {1, 8, 12},
        .bytes = 40000 * 21,
        .unpack = unpack};
    MPI_Aint at[3] = {0, offsetof(struct thing, d), offsetof(struct thing, i)};
    MPI_Datatype old[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT}, raw;
    int len[3] = {1, 1, 3};

    MPI_Type_create_struct(3, len, at, old, &raw);
    MPI_Type_create_resized(raw, 0, sizeof(struct thing), &s.type);
    MPI_Type_commit(&s.type);
    measure(rank, &s);
    MPI_Type_free(&raw);
    MPI_Type_free(&s.type);
}

static void measure_all(int rank)
{
    measure_doubles(rank, "doubles-32K", 32 << 10, 0);
    measure_doubles(rank, "doubles-1M", 1 << 20, 0);
    measure_doubles(rank, "doubles-16M", 16 << 20, 0);
    measure_doubles(rank, "doubles-1M-unpack", 1 << 20, 1);
    measure_vector(rank, "vector-8B", 1, 0);
    measure_vector(rank, "vector-8B-unpack", 1, 1);
    measure_vector(rank, "vector-64B", 8, 0);
    measure_vector(rank, "vector-1K", 128, 0);
    measure_struct(rank, "struct", 0);
    measure_struct(rank, "struct-unpack", 1);
}

int main(int argc, char *argv[])
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    user = malloc(2 * MOST);
    wire = malloc(MOST);
    if (!user || !wire)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(user, 1, 2 * MOST);
    memset(wire, 2, MOST);
    for (int r = 0; r < size; r++) {
        if (r == rank)
            measure_all(rank);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    free(user);
    free(wire);
    return 0;
}
