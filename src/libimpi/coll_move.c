/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gather, Scatter, Allgather, Alltoall and their v and w forms on spanning
 * communicators: each block goes straight from the process that has it to the
 * one that wants it, all at once.
 */
#include <stdlib.h>

#include "libimpi/assist.h"
#include "libimpi/exchange.h"

/* The blocks of one side: block i is counts[i] (or count) elements of
 * types[i] (or type); it begins displs[i] (or i * count) extents, with `bytes`
 * displs[i] bytes, after base. */
struct blocks {
    char *base;
    int count;
    const int *counts, *displs;
    MPI_Datatype type;
    const MPI_Datatype *types;
    bool bytes;
    MPI_Aint extent;
};

static int blocks_check(struct blocks *b, int n)
{
    MPI_Aint lb;

    b->extent = 1;
    if (b->types)
        return MPI_SUCCESS;
    if (b->type == MPI_DATATYPE_NULL)
        return MPI_ERR_TYPE;
    if (!b->counts && b->count < 0)
        return MPI_ERR_COUNT;
    for (int i = 0; b->counts && i < n; i++) {
        if (b->counts[i] < 0)
            return MPI_ERR_COUNT;
    }
    return impi_real.Type_get_extent(b->type, &lb, &b->extent);
}

static int block_count(const struct blocks *b, int i)
{
    return b->counts ? b->counts[i] : b->count;
}

static MPI_Datatype block_type(const struct blocks *b, int i)
{
    return b->types ? b->types[i] : b->type;
}

static void *block_at(const struct blocks *b, int i)
{
    MPI_Aint at = b->displs ? b->displs[i] : (MPI_Aint)i * (MPI_Aint)b->count;

    return b->base + at * (b->bytes ? 1 : b->extent);
}

static void recv_block(struct exchange *x, const struct blocks *b, int i)
{
    exchange_recv(x, block_at(b, i), block_count(b, i), block_type(b, i), i);
}

static void send_block(struct exchange *x, const struct blocks *b, int i)
{
    exchange_send(x, block_at(b, i), block_count(b, i), block_type(b, i), i);
}

static bool root_wrong(const struct impi_comm *c, int root)
{
    return root < 0 || root >= c->size;
}

/* ---- Gather ---- */

static int gather_root(struct impi_comm *c, const void *own, int count,
                       MPI_Datatype type, struct blocks *in)
{
    struct exchange x;
    int rc = blocks_check(in, c->size);

    if (rc != MPI_SUCCESS)
        return rc;
    exchange_begin(&x, c, c->size + 1);
    for (int i = 0; i < c->size; i++) {
        if (i != c->rank || own != MPI_IN_PLACE)
            recv_block(&x, in, i);
    }
    if (own != MPI_IN_PLACE)
        exchange_send(&x, own, count, type, c->rank);
    return exchange_end(&x);
}

static int gather(struct impi_comm *c, const void *own, int count,
                  MPI_Datatype type, struct blocks *in, int root)
{
    struct exchange x;

    if (root_wrong(c, root))
        return MPI_ERR_ROOT;
    if (c->rank == root)
        return gather_root(c, own, count, type, in);
    exchange_begin(&x, c, 1);
    exchange_send(&x, own, count, type, root);
    return exchange_end(&x);
}

int impi_Gather(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                void *recvbuf, int recvcount, MPI_Datatype recvtype, int root,
                MPI_Comm comm)
{
    struct impi_comm *c = impi_span_find(comm);
    struct blocks in = {.base = recvbuf, .count = recvcount, .type = recvtype};

    if (!c)
        return ASSISTED(impi_real.Gather(sendbuf, sendcount, sendtype, recvbuf,
                                         recvcount, recvtype, root, comm));
    return be_raise(comm, gather(c, sendbuf, sendcount, sendtype, &in, root));
}

int impi_Gatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                 void *recvbuf, const int recvcounts[], const int displs[],
                 MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    struct impi_comm *c = impi_span_find(comm);
    struct blocks in = {.base = recvbuf,
                        .counts = recvcounts,
                        .displs = displs,
                        .type = recvtype};

    if (!c)
        return ASSISTED(impi_real.Gatherv(sendbuf, sendcount, sendtype, recvbuf,
                                          recvcounts, displs, recvtype, root,
                                          comm));
    return be_raise(comm, gather(c, sendbuf, sendcount, sendtype, &in, root));
}

/* ---- Scatter ---- */

static int scatter_root(struct impi_comm *c, struct blocks *out, void *own,
                        int count, MPI_Datatype type)
{
    struct exchange x;
    int rc = blocks_check(out, c->size);

    if (rc != MPI_SUCCESS)
        return rc;
    exchange_begin(&x, c, c->size + 1);
    if (own != MPI_IN_PLACE)
        exchange_recv(&x, own, count, type, c->rank);
    for (int i = 0; i < c->size; i++) {
        if (i != c->rank || own != MPI_IN_PLACE)
            send_block(&x, out, i);
    }
    return exchange_end(&x);
}

static int scatter(struct impi_comm *c, struct blocks *out, void *own,
                   int count, MPI_Datatype type, int root)
{
    struct exchange x;

    if (root_wrong(c, root))
        return MPI_ERR_ROOT;
    if (c->rank == root)
        return scatter_root(c, out, own, count, type);
    exchange_begin(&x, c, 1);
    exchange_recv(&x, own, count, type, root);
    return exchange_end(&x);
}

int impi_Scatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                 void *recvbuf, int recvcount, MPI_Datatype recvtype, int root,
                 MPI_Comm comm)
{
    struct impi_comm *c = impi_span_find(comm);
    struct blocks out = {.base = (char *)(uintptr_t)sendbuf,
                         .count = sendcount,
                         .type = sendtype};

    if (!c)
        return ASSISTED(impi_real.Scatter(sendbuf, sendcount, sendtype, recvbuf,
                                          recvcount, recvtype, root, comm));
    return be_raise(comm, scatter(c, &out, recvbuf, recvcount, recvtype, root));
}

int impi_Scatterv(const void *sendbuf, const int sendcounts[],
                  const int displs[], MPI_Datatype sendtype, void *recvbuf,
                  int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    struct impi_comm *c = impi_span_find(comm);
    struct blocks out = {.base = (char *)(uintptr_t)sendbuf,
                         .counts = sendcounts,
                         .displs = displs,
                         .type = sendtype};

    if (!c)
        return ASSISTED(impi_real.Scatterv(sendbuf, sendcounts, displs,
                                           sendtype, recvbuf, recvcount,
                                           recvtype, root, comm));
    return be_raise(comm, scatter(c, &out, recvbuf, recvcount, recvtype, root));
}

/* ---- Allgather ---- */

static int allgather(struct impi_comm *c, const void *own, int count,
                     MPI_Datatype type, struct blocks *in)
{
    bool in_place = own == MPI_IN_PLACE;
    struct exchange x;
    int rc = blocks_check(in, c->size);

    if (rc != MPI_SUCCESS)
        return rc;
    if (in_place) {
        own = block_at(in, c->rank);
        count = block_count(in, c->rank);
        type = in->type;
    }
    exchange_begin(&x, c, 2 * c->size);
    for (int i = 0; i < c->size; i++) {
        if (i != c->rank || !in_place)
            recv_block(&x, in, i);
    }
    for (int k = 0; k < c->size; k++) {
        int i = (c->rank + k) % c->size;

        if (i != c->rank || !in_place)
            exchange_send(&x, own, count, type, i);
    }
    return exchange_end(&x);
}

int impi_Allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                   void *recvbuf, int recvcount, MPI_Datatype recvtype,
                   MPI_Comm comm)
{
    struct impi_comm *c = impi_span_find(comm);
    struct blocks in = {.base = recvbuf, .count = recvcount, .type = recvtype};

    if (!c)
        return ASSISTED(impi_real.Allgather(
            sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm));
    return be_raise(comm, allgather(c, sendbuf, sendcount, sendtype, &in));
}

int impi_Allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                    void *recvbuf, const int recvcounts[], const int displs[],
                    MPI_Datatype recvtype, MPI_Comm comm)
{
    struct impi_comm *c = impi_span_find(comm);
    struct blocks in = {.base = recvbuf,
                        .counts = recvcounts,
                        .displs = displs,
                        .type = recvtype};

    if (!c)
        return ASSISTED(impi_real.Allgatherv(sendbuf, sendcount, sendtype,
                                             recvbuf, recvcounts, displs,
                                             recvtype, comm));
    return be_raise(comm, allgather(c, sendbuf, sendcount, sendtype, &in));
}

/* ---- Alltoall ---- */

static int alltoall(struct impi_comm *c, struct blocks *out, struct blocks *in)
{
    struct exchange x;
    int rc = blocks_check(in, c->size);

    if (rc == MPI_SUCCESS)
        rc = blocks_check(out, c->size);
    if (rc != MPI_SUCCESS)
        return rc;
    exchange_begin(&x, c, 2 * c->size);
    for (int i = 0; i < c->size; i++)
        recv_block(&x, in, i);
    for (int k = 0; k < c->size; k++)
        send_block(&x, out, (c->rank + k) % c->size);
    return exchange_end(&x);
}

static void free_copies(void **copies, int n)
{
    for (int i = 0; copies && i < n; i++)
        free(copies[i]);
    free(copies);
}

/* MPI_IN_PLACE: what goes out is copied before anything comes in. */
static int alltoall_in_place(struct impi_comm *c, struct blocks *in)
{
    void **copies = calloc((size_t)c->size, sizeof(*copies)), *from;
    struct exchange x;
    int rc = copies ? blocks_check(in, c->size) : MPI_ERR_NO_MEM;

    exchange_begin(&x, c, 2 * c->size);
    if (x.rc == MPI_SUCCESS)
        x.rc = rc;
    for (int i = 0; i < c->size && x.rc == MPI_SUCCESS; i++) {
        copies[i] = data_like(block_at(in, i), block_count(in, i),
                              block_type(in, i), &from);
        if (!copies[i]) {
            x.rc = MPI_ERR_NO_MEM;
            break;
        }
        recv_block(&x, in, i);
        exchange_send(&x, from, block_count(in, i), block_type(in, i), i);
    }
    rc = exchange_end(&x);
    free_copies(copies, c->size);
    return rc;
}

static int alltoall_any(struct impi_comm *c, const void *sendbuf,
                        struct blocks *out, struct blocks *in)
{
    int rc = sendbuf == MPI_IN_PLACE ? alltoall_in_place(c, in)
                                     : alltoall(c, out, in);

    return be_raise(c->comm, rc);
}

int impi_Alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                  void *recvbuf, int recvcount, MPI_Datatype recvtype,
                  MPI_Comm comm)
{
    struct impi_comm *c = impi_span_find(comm);
    struct blocks out = {.base = (char *)(uintptr_t)sendbuf,
                         .count = sendcount,
                         .type = sendtype};
    struct blocks in = {.base = recvbuf, .count = recvcount, .type = recvtype};

    if (!c)
        return ASSISTED(impi_real.Alltoall(sendbuf, sendcount, sendtype,
                                           recvbuf, recvcount, recvtype, comm));
    return alltoall_any(c, sendbuf, &out, &in);
}

int impi_Alltoallv(const void *sendbuf, const int sendcounts[],
                   const int sdispls[], MPI_Datatype sendtype, void *recvbuf,
                   const int recvcounts[], const int rdispls[],
                   MPI_Datatype recvtype, MPI_Comm comm)
{
    struct impi_comm *c = impi_span_find(comm);
    struct blocks out = {.base = (char *)(uintptr_t)sendbuf,
                         .counts = sendcounts,
                         .displs = sdispls,
                         .type = sendtype};
    struct blocks in = {.base = recvbuf,
                        .counts = recvcounts,
                        .displs = rdispls,
                        .type = recvtype};

    if (!c)
        return ASSISTED(impi_real.Alltoallv(sendbuf, sendcounts, sdispls,
                                            sendtype, recvbuf, recvcounts,
                                            rdispls, recvtype, comm));
    return alltoall_any(c, sendbuf, &out, &in);
}

int impi_Alltoallw(const void *sendbuf, const int sendcounts[],
                   const int sdispls[], const MPI_Datatype sendtypes[],
                   void *recvbuf, const int recvcounts[], const int rdispls[],
                   const MPI_Datatype recvtypes[], MPI_Comm comm)
{
    struct impi_comm *c = impi_span_find(comm);
    struct blocks out = {.base = (char *)(uintptr_t)sendbuf,
                         .counts = sendcounts,
                         .displs = sdispls,
                         .types = sendtypes,
                         .bytes = true};
    struct blocks in = {.base = recvbuf,
                        .counts = recvcounts,
                        .displs = rdispls,
                        .types = recvtypes,
                        .bytes = true};

    if (!c)
        return ASSISTED(impi_real.Alltoallw(sendbuf, sendcounts, sdispls,
                                            sendtypes, recvbuf, recvcounts,
                                            rdispls, recvtypes, comm));
    return alltoall_any(c, sendbuf, &out, &in);
}
