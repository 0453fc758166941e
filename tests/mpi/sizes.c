/* SPDX-License-Identifier: BSD-3-Clause
 * All to all by Isend, Irecv and Waitall, 0 B .. 4 MB; long buffers for
 * short messages; the same by Send, Ssend, Rsend and Sendrecv. */
#include "check.h"

static void exchange(size_t len)
{
    unsigned char **out = calloc((size_t)size, sizeof(*out));
    unsigned char **in = calloc((size_t)size, sizeof(*in));
    MPI_Request *req = malloc(2 * (size_t)size * sizeof(*req));
    MPI_Status *st = malloc(2 * (size_t)size * sizeof(*st));

    for (int p = 0; p < size; p++) {
        out[p] = malloc(len + 1);
        in[p] = malloc(len + 9);
        fill(out[p], len, rank, p);
        memset(in[p], 0xee, len + 9);
    }
    for (int p = 0; p < size; p++)
        MPI_Irecv(in[p], (int)len + 8, MPI_BYTE, p, 5, MPI_COMM_WORLD, &req[p]);
    for (int p = 0; p < size; p++)
        MPI_Isend(out[p], (int)len, MPI_BYTE, p, 5, MPI_COMM_WORLD,
                  &req[size + p]);
    MPI_Waitall(2 * size, req, st);
    for (int p = 0; p < size; p++) {
        int n;

        MPI_Get_count(&st[p], MPI_BYTE, &n);
        CHECK(st[p].MPI_SOURCE == p && st[p].MPI_TAG == 5);
        CHECK((size_t)n == len);
        CHECK(same(in[p], len, p, rank) && in[p][len] == 0xee);
        free(out[p]);
        free(in[p]);
    }
    free(out);
    free(in);
    free(req);
    free(st);
}

/* In pairs, both ways, by blocking calls of each mode. */
static void blocking(int peer, size_t len)
{
    unsigned char *a = malloc(len + 1), *b = malloc(len + 1);
    MPI_Request req;
    MPI_Status st;

    fill(a, len, rank, 77);
    for (int mode = 0; mode < 3; mode++) {
        MPI_Irecv(b, (int)len, MPI_BYTE, peer, mode, MPI_COMM_WORLD, &req);
        MPI_Sendrecv(NULL, 0, MPI_BYTE, peer, 9, NULL, 0, MPI_BYTE, peer, 9,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (mode == 0)
            MPI_Send(a, (int)len, MPI_BYTE, peer, mode, MPI_COMM_WORLD);
        else if (mode == 1)
            MPI_Ssend(a, (int)len, MPI_BYTE, peer, mode, MPI_COMM_WORLD);
        else
            MPI_Rsend(a, (int)len, MPI_BYTE, peer, mode, MPI_COMM_WORLD);
        MPI_Wait(&req, &st);
        CHECK(st.MPI_SOURCE == peer && same(b, len, peer, 77));
    }
    memset(b, 0, len);
    MPI_Sendrecv(a, (int)len, MPI_BYTE, peer, 1, b, (int)len, MPI_BYTE, peer, 1,
                 MPI_COMM_WORLD, &st);
    CHECK(st.MPI_SOURCE == peer && same(b, len, peer, 77));
    MPI_Sendrecv_replace(a, (int)len, MPI_BYTE, peer, 2, peer, 2,
                         MPI_COMM_WORLD, &st);
    CHECK(st.MPI_SOURCE == peer && same(a, len, peer, 77));
    free(a);
    free(b);
}

int main(int argc, char **argv)
{
    static const size_t lens[] = {0,     1,     4,      100,     4096,   65535,
                                  65536, 65537, 300000, 1 << 20, 4 << 20};

    begin(&argc, &argv);
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
        exchange(lens[i]);
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
        for (int d = 1; d < size; d <<= 1)
            if ((rank ^ d) < size)
                blocking(rank ^ d, lens[i]);
    return end("sizes");
}
