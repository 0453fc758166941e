/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scan, Exscan, Reduce_scatter and Reduce_scatter_block on spanning
 * communicators, blocking and not.  A scan goes from rank to rank; the others
 * reduce to one process, which hands out the blocks.
 */
#include <stdint.h>
#include <stdlib.h>

#include "libimpi/buffer.h"
#include "libimpi/coll.h"
#include "libimpi/data.h"

static void args(struct coll *x, int count, MPI_Datatype type, MPI_Op op)
{
    x->count = count;
    x->type = type;
    x->op = op;
}

/* ---- Scan, Exscan ---- */

static int make_scan(struct coll *x, const void *own, void *result)
{
    int rc = x->c->inter ? MPI_ERR_COMM
                         : coll_check_reduction(x->count, x->type, x->op);
    bool copy = own != MPI_IN_PLACE;

    coll_use(x, IMPI_BUF_OWN, own);
    coll_use(x, IMPI_BUF_ACC, result);
    if (rc == MPI_SUCCESS)
        rc = coll_check_buffers(x, own, result);
    if (rc == MPI_SUCCESS)
        rc = coll_made(impi_schedule_scan(&x->steps, x->c->units,
                                          (uint32_t)x->c->rank, copy));
    return rc == MPI_SUCCESS ? coll_add_buffers(x, true) : rc;
}

/* What came from below lands in the result; rank 0's is not touched. */
static int make_exscan(struct coll *x, const void *own, void *result)
{
    int rc = x->c->inter ? MPI_ERR_COMM
                         : coll_check_reduction(x->count, x->type, x->op);
    bool first = x->c->rank == x->c->first;
    void *copy;

    if (rc == MPI_SUCCESS)
        rc = coll_check_buffers(x, own,
                                first && !result ? COLL_NO_BUFFER : result);
    if (rc != MPI_SUCCESS)
        return rc;
    copy = data_clone(own == MPI_IN_PLACE ? result : own, x->count, x->type,
                      &x->buf[IMPI_BUF_ACC]);
    if (!copy)
        return MPI_ERR_NO_MEM;
    coll_keep(x, copy);
    coll_use(x, IMPI_BUF_DATA, result);
    return coll_made(
        impi_schedule_exscan(&x->steps, x->c->units, (uint32_t)x->c->rank));
}

typedef int make_f(struct coll *x, const void *own, void *result);

static int chain(struct impi_comm *c, make_f *make, const void *in, void *out,
                 int count, MPI_Datatype type, MPI_Op op, MPI_Request *request)
{
    struct coll *x = coll_new(c);

    args(x, count, type, op);
    return coll_run(x, make(x, in, out), request);
}

COLL_BOTH(Scan, Iscan,
          LIST(const void *sendbuf, void *recvbuf, int count,
               MPI_Datatype datatype, MPI_Op op),
          LIST(sendbuf, recvbuf, count, datatype, op),
          chain(c, make_scan, sendbuf, recvbuf, count, datatype, op, request))

COLL_BOTH(Exscan, Iexscan,
          LIST(const void *sendbuf, void *recvbuf, int count,
               MPI_Datatype datatype, MPI_Op op),
          LIST(sendbuf, recvbuf, count, datatype, op),
          chain(c, make_exscan, sendbuf, recvbuf, count, datatype, op, request))

/* ---- Reduce_scatter ---- */

static int total(const struct impi_comm *c, const int *counts, int count)
{
    int sum = 0;

    for (int i = 0; i < c->local; i++) {
        int n = counts ? counts[i] : count;

        if (n < 0 || sum > INT32_MAX - n)
            return -1;
        sum += n;
    }
    return sum;
}

/* counts[i] (counts NULL: count) elements for each of the own group; in is
 * what this process adds, of an intercommunicator to the others' result. */
static int schedule(struct coll *x, bool commutes)
{
    const struct impi_group *g = x->c->units;
    struct impi_coll_rules r = coll_rules();
    struct impi_sides sides = coll_sides(x->c);
    uint32_t me = (uint32_t)x->c->rank;

    if (x->c->inter)
        return impi_schedule_inter_reduce_scatter(&x->steps, g, me, &sides,
                                                  commutes);
    return impi_schedule_reduce_scatter(&x->steps, g, &r, me, commutes);
}

/* Where each one's block begins in the sum. */
static int set_blocks(struct coll *x, const int *counts, int count, char *base)
{
    int n = x->c->local, at = 0;
    int *displs = coll_keep(x, calloc((size_t)n, sizeof(int)));

    if (!displs)
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < n; i++) {
        displs[i] = at;
        at += counts ? counts[i] : count;
    }
    x->out = (struct blocks){.base = base,
                             .count = count,
                             .counts = counts,
                             .displs = displs,
                             .type = x->type};
    return blocks_check(&x->out, n);
}

static int make_reduce_scatter(struct coll *x, const void *own, void *result,
                               const int *counts, int count)
{
    int me = x->c->rank - x->c->first, commutes = 0;
    int rc = coll_check_reduction(x->count, x->type, x->op);

    coll_use(x, IMPI_BUF_OWN, own == MPI_IN_PLACE ? result : own);
    x->in = (struct blocks){.base = result,
                            .count = counts ? counts[me] : count,
                            .type = x->type,
                            .single = true};
    if (rc == MPI_SUCCESS)
        rc = buffer_check(result, x->in.count, x->type);
    if (rc == MPI_SUCCESS)
        rc = coll_check_buffers(x, x->buf[IMPI_BUF_OWN], COLL_NO_BUFFER);
    if (rc == MPI_SUCCESS)
        rc = impi_real.Op_commutative(x->op, &commutes);
    if (rc == MPI_SUCCESS)
        rc = coll_made(schedule(x, commutes));
    if (rc == MPI_SUCCESS)
        rc = coll_add_buffers(x, commutes);
    if (rc == MPI_SUCCESS && me == 0)
        rc = set_blocks(x, counts, count,
                        x->buf[x->c->inter ? IMPI_BUF_TMP : IMPI_BUF_ACC]);
    return rc;
}

static int reduce_scatter(struct impi_comm *c, const void *in, void *out,
                          const int *counts, int count, MPI_Datatype type,
                          MPI_Op op, MPI_Request *request)
{
    struct coll *x = coll_new(c);

    args(x, total(c, counts, count), type, op);
    return coll_run(x, make_reduce_scatter(x, in, out, counts, count), request);
}

COLL_BOTH(Reduce_scatter, Ireduce_scatter,
          LIST(const void *sendbuf, void *recvbuf, const int recvcounts[],
               MPI_Datatype datatype, MPI_Op op),
          LIST(sendbuf, recvbuf, recvcounts, datatype, op),
          reduce_scatter(c, sendbuf, recvbuf, recvcounts, 0, datatype, op,
                         request))

COLL_BOTH(Reduce_scatter_block, Ireduce_scatter_block,
          LIST(const void *sendbuf, void *recvbuf, int recvcount,
               MPI_Datatype datatype, MPI_Op op),
          LIST(sendbuf, recvbuf, recvcount, datatype, op),
          reduce_scatter(c, sendbuf, recvbuf, NULL, recvcount, datatype, op,
                         request))
