/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Long messages of derived types, nested by chance: each rank sends to the next
 * and receives from the one before it, in all the ways there are.  What is in
 * memory then is what the library itself unpacks there, gaps included.
 */
#include "any_type.h"

#define ROUNDS 64
#define MEMORY (6 * ANY_TYPE_MEMORY)
#define MOST (256 * 1024) /* bytes of data of a message */

enum way {
    POSTED,      /* Irecv, Send */
    SYNCHRONOUS, /* Irecv, Ssend */
    PROBED,
    MATCHED,    /* Mprobe, Mrecv */
    TYPE_FREED, /* while the requests are open */
    PERSISTENT,
    AT_BOTTOM,
    SHORT, /* ends within an element */
    WAYS
};

static unsigned char mine[MEMORY], got[MEMORY], wanted[MEMORY];
static unsigned char packed[MOST + ANY_TYPE_BYTES];
static int to, from;

static void paint(unsigned char *p, int who)
{
    for (size_t i = 0; i < MEMORY; i++)
        p[i] = (unsigned char)(who * 37 + i * 7 + i / 256);
}

/* What `bytes` of the sender's message make of the memory.  The sender packs,
 * too: the two libraries do not agree on the extent of every type. */
static void expect(int count, MPI_Datatype t, int bytes)
{
    static unsigned char own[sizeof(packed)];
    int len = 0, pos = 0;

    MPI_Pack(mine, count, t, own, sizeof(own), &len, MPI_COMM_SELF);
    MPI_Sendrecv(own, bytes, MPI_BYTE, to, 2, packed, bytes, MPI_BYTE, from, 2,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    paint(wanted, -1 - rank);
    MPI_Pack(wanted, count, t, own, sizeof(own), &pos, MPI_COMM_SELF);
    memcpy(packed + bytes, own + bytes, (size_t)(len - bytes));
    pos = 0;
    MPI_Unpack(packed, len, &pos, wanted, count, t, MPI_COMM_SELF);
}

static MPI_Datatype of_address(const void *at, MPI_Datatype t)
{
    MPI_Aint addr;
    MPI_Datatype whole;
    int one = 1;

    MPI_Get_address(at, &addr);
    MPI_Type_create_hindexed(1, &one, &addr, t, &whole);
    MPI_Type_commit(&whole);
    return whole;
}

static void at_bottom(int count, MPI_Datatype t)
{
    MPI_Datatype many, out, in;

    MPI_Type_contiguous(count, t, &many);
    out = of_address(mine, many);
    in = of_address(got, many);
    MPI_Sendrecv(MPI_BOTTOM, 1, out, to, 1, MPI_BOTTOM, 1, in, from, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&many);
    MPI_Type_free(&out);
    MPI_Type_free(&in);
}

static void persistent(int count, MPI_Datatype t)
{
    MPI_Request r[2];

    MPI_Recv_init(got, count, t, from, 1, MPI_COMM_WORLD, &r[0]);
    MPI_Send_init(mine, count, t, to, 1, MPI_COMM_WORLD, &r[1]);
    for (int i = 0; i < 2; i++) {
        paint(got, -1 - rank);
        MPI_Startall(2, r);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

static void type_freed(int count, MPI_Datatype t)
{
    MPI_Request r[2];
    MPI_Datatype own;

    MPI_Type_dup(t, &own);
    MPI_Irecv(got, count, own, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(mine, count, own, to, 1, MPI_COMM_WORLD, &r[1]);
    MPI_Type_free(&own);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

/* Asked for before or behind the message. */
static void announced(enum way way, int count, MPI_Datatype t)
{
    MPI_Request r;
    MPI_Message m;
    MPI_Status st;
    int n = -1;

    MPI_Isend(mine, count, t, to, 1, MPI_COMM_WORLD, &r);
    if (way == MATCHED) {
        MPI_Mprobe(from, 1, MPI_COMM_WORLD, &m, &st);
        MPI_Mrecv(got, count, t, &m, &st);
    } else {
        MPI_Probe(from, 1, MPI_COMM_WORLD, &st);
        MPI_Recv(got, count, t, from, 1, MPI_COMM_WORLD, &st);
    }
    MPI_Get_count(&st, t, &n);
    CHECK(n == count);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void posted(enum way way, int count, MPI_Datatype t, int bytes)
{
    MPI_Request r;
    MPI_Status st;
    int n = -1, pos = 0;

    MPI_Irecv(got, count, t, from, 1, MPI_COMM_WORLD, &r);
    if (way == SYNCHRONOUS) {
        MPI_Ssend(mine, count, t, to, 1, MPI_COMM_WORLD);
    } else if (way == SHORT) {
        MPI_Pack(mine, count, t, packed, sizeof(packed), &pos, MPI_COMM_SELF);
        MPI_Send(packed, bytes, MPI_PACKED, to, 1, MPI_COMM_WORLD);
    } else {
        MPI_Send(mine, count, t, to, 1, MPI_COMM_WORLD);
    }
    MPI_Wait(&r, &st);
    MPI_Get_count(&st, MPI_BYTE, &n);
    CHECK(n == bytes);
}

static void one_round(enum way way, int count, MPI_Datatype t, int bytes)
{
    paint(got, -1 - rank);
    if (way == AT_BOTTOM)
        at_bottom(count, t);
    else if (way == PERSISTENT)
        persistent(count, t);
    else if (way == TYPE_FREED)
        type_freed(count, t);
    else if (way == PROBED || way == MATCHED)
        announced(way, count, t);
    else
        posted(way, count, t, bytes);
    expect(count, t, bytes);
    CHECK(memcmp(got, wanted, MEMORY) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* So many of them are a message that is long, or nearly, and fit. */
static int count_of(MPI_Datatype t, int bytes)
{
    MPI_Aint lb, extent;
    int most = (MOST - 1) / bytes, fit;

    MPI_Type_get_extent(t, &lb, &extent);
    MPI_Allreduce(MPI_IN_PLACE, &extent, 1, MPI_AINT, MPI_MAX, MPI_COMM_WORLD);
    fit = extent > 0 ? (int)((MEMORY - ANY_TYPE_MEMORY) / extent) : 1;
    most = most < fit ? most : fit;
    return 1 + any(most);
}

int main(int argc, char *argv[])
{
    begin(&argc, &argv);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    paint(mine, rank);
    for (int i = 0; i < ROUNDS; i++) {
        enum way way = (enum way)(i % WAYS);
        MPI_Datatype t = any_type();
        int bytes, count;

        MPI_Type_size(t, &bytes);
        if (bytes == 0) {
            MPI_Type_free(&t);
            continue;
        }
        count = count_of(t, bytes);
        bytes *= count;
        one_round(way, count, t, way == SHORT ? 1 + any(bytes) : bytes);
        MPI_Type_free(&t);
    }
    return end("pieces");
}
