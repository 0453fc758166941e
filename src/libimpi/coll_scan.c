/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scan, Exscan, Reduce_scatter and Reduce_scatter_block on spanning
 * communicators.  A scan goes from rank to rank; the others reduce to rank 0,
 * which hands out the blocks.
 */
#include <stdint.h>
#include <stdlib.h>

#include "libimpi/assist.h"
#include "libimpi/coll.h"
#include "libimpi/exchange.h"

/* ---- one message, or none ---- */

static int send_to(struct impi_comm *c, const void *buf, int count,
                   MPI_Datatype type, int to)
{
    struct exchange x;

    if (to >= c->size)
        return MPI_SUCCESS;
    exchange_begin(&x, c, 1);
    exchange_send(&x, buf, count, type, to);
    return exchange_end(&x);
}

static int recv_from(struct impi_comm *c, void *buf, int count,
                     MPI_Datatype type, int from)
{
    struct exchange x;

    if (from < 0)
        return MPI_SUCCESS;
    exchange_begin(&x, c, 1);
    exchange_recv(&x, buf, count, type, from);
    return exchange_end(&x);
}

/* What the type covers, and nothing between. */
static int copy_to_self(struct impi_comm *c, const void *from, void *to,
                        int count, MPI_Datatype type)
{
    struct exchange x;

    exchange_begin(&x, c, 2);
    exchange_recv(&x, to, count, type, c->rank);
    exchange_send(&x, from, count, type, c->rank);
    return exchange_end(&x);
}

static int check(int count, MPI_Datatype type, MPI_Op op)
{
    if (count < 0)
        return MPI_ERR_COUNT;
    if (type == MPI_DATATYPE_NULL)
        return MPI_ERR_TYPE;
    return op == MPI_OP_NULL ? MPI_ERR_OP : MPI_SUCCESS;
}

/* ---- Scan, Exscan ---- */

/* acc: own data at first, then what rank + 1 is to get; before: what came
 * from rank - 1. */
static int chain(struct impi_comm *c, void *before, void *acc, int count,
                 MPI_Datatype type, MPI_Op op)
{
    int rc = recv_from(c, before, count, type, c->rank - 1);

    if (rc == MPI_SUCCESS && c->rank > 0)
        rc = impi_real.Reduce_local(before, acc, count, type, op);
    if (rc == MPI_SUCCESS)
        rc = send_to(c, acc, count, type, c->rank + 1);
    return rc;
}

static int scan(struct impi_comm *c, const void *own, void *result, int count,
                MPI_Datatype type, MPI_Op op)
{
    void *before, *copy;
    int rc = check(count, type, op);

    if (rc == MPI_SUCCESS && own != MPI_IN_PLACE)
        rc = copy_to_self(c, own, result, count, type);
    if (rc != MPI_SUCCESS)
        return rc;
    copy = data_like(NULL, count, type, &before);
    if (!copy)
        return MPI_ERR_NO_MEM;
    rc = chain(c, before, result, count, type, op);
    free(copy);
    return rc;
}

int impi_Scan(const void *sendbuf, void *recvbuf, int count,
              MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    struct impi_comm *c = impi_span_find(comm);

    if (!c)
        return ASSISTED(
            impi_real.Scan(sendbuf, recvbuf, count, datatype, op, comm));
    return be_raise(comm, scan(c, sendbuf, recvbuf, count, datatype, op));
}

/* The result of rank 0 is not touched. */
static int exscan(struct impi_comm *c, const void *own, void *result, int count,
                  MPI_Datatype type, MPI_Op op)
{
    void *before, *acc, *copy1, *copy2;
    int rc = check(count, type, op);

    if (rc != MPI_SUCCESS)
        return rc;
    copy1 = data_like(own == MPI_IN_PLACE ? result : own, count, type, &acc);
    copy2 = data_like(NULL, count, type, &before);
    rc = copy1 && copy2 ? chain(c, before, acc, count, type, op)
                        : MPI_ERR_NO_MEM;
    if (rc == MPI_SUCCESS && c->rank > 0)
        rc = copy_to_self(c, before, result, count, type);
    free(copy1);
    free(copy2);
    return rc;
}

int impi_Exscan(const void *sendbuf, void *recvbuf, int count,
                MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    struct impi_comm *c = impi_span_find(comm);

    if (!c)
        return ASSISTED(
            impi_real.Exscan(sendbuf, recvbuf, count, datatype, op, comm));
    return be_raise(comm, exscan(c, sendbuf, recvbuf, count, datatype, op));
}

/* ---- Reduce_scatter ---- */

/* counts NULL: `count` for everybody.  From rank 0's `all`. */
static int hand_out(struct impi_comm *c, const int *counts, int count,
                    const char *all, void *own, MPI_Datatype type)
{
    struct exchange x;
    MPI_Aint lb, extent = 0;
    int rc = MPI_SUCCESS;

    exchange_begin(&x, c, c->size + 1);
    exchange_recv(&x, own, counts ? counts[c->rank] : count, type, 0);
    if (c->rank == 0)
        rc = impi_real.Type_get_extent(type, &lb, &extent);
    for (int i = 0; c->rank == 0 && i < c->size; i++) {
        int n = counts ? counts[i] : count;

        exchange_send(&x, all, n, type, i);
        all += n * extent;
    }
    if (rc == MPI_SUCCESS)
        return exchange_end(&x);
    exchange_end(&x);
    return rc;
}

static int total(const struct impi_comm *c, const int *counts, int count)
{
    int sum = 0;

    for (int i = 0; i < c->size; i++) {
        int n = counts ? counts[i] : count;

        if (n < 0 || sum > INT32_MAX - n)
            return -1;
        sum += n;
    }
    return sum;
}

/* Errors are given to the handler. */
static int reduce_scatter(struct impi_comm *c, const void *in, void *out,
                          const int *counts, int count, MPI_Datatype type,
                          MPI_Op op)
{
    int sum = total(c, counts, count), rc = check(sum, type, op);
    void *all = NULL, *copy = NULL;

    if (rc != MPI_SUCCESS)
        return be_raise(c->comm, rc);
    if (c->rank == 0) {
        copy = data_like(NULL, sum, type, &all);
        if (!copy)
            return be_raise(c->comm, MPI_ERR_NO_MEM);
    }
    rc = coll_reduce(c, in == MPI_IN_PLACE ? out : in, all, sum, type, op, 0);
    if (rc == MPI_SUCCESS)
        rc = be_raise(c->comm, hand_out(c, counts, count, all, out, type));
    free(copy);
    return rc;
}

int impi_Reduce_scatter(const void *sendbuf, void *recvbuf,
                        const int recvcounts[], MPI_Datatype datatype,
                        MPI_Op op, MPI_Comm comm)
{
    struct impi_comm *c = impi_span_find(comm);

    if (!c)
        return ASSISTED(impi_real.Reduce_scatter(sendbuf, recvbuf, recvcounts,
                                                 datatype, op, comm));
    return reduce_scatter(c, sendbuf, recvbuf, recvcounts, 0, datatype, op);
}

int impi_Reduce_scatter_block(const void *sendbuf, void *recvbuf, int recvcount,
                              MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    struct impi_comm *c = impi_span_find(comm);

    if (!c)
        return ASSISTED(impi_real.Reduce_scatter_block(
            sendbuf, recvbuf, recvcount, datatype, op, comm));
    return reduce_scatter(c, sendbuf, recvbuf, NULL, recvcount, datatype, op);
}
