/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The exchange across an intercommunicator that the standard writes down for
 * MPI_Comm_free, MPI_Comm_dup and MPI_Intercomm_merge (IMPI 4.5, 4.6, 4.9):
 * each member but the first of its group talks to the first of the other group,
 * and the two first ones swap.  Messages are those of the program's context.
 */
#include "libimpi/comm_criss.h"

#include "impi/constants.h"
#include "libimpi/state.h"

struct criss {
    struct impi_comm *c;
    int tag;
    int in;        /* values told to the other first one */
    int out;       /* values swapped and told to the others */
    uint64_t v[2]; /* own proposal and flag; then the highest, their flag */
};

static int collect(struct criss *x)
{
    uint64_t got = 0;
    int rc = MPI_SUCCESS;

    for (int i = 1; i < x->c->peers && rc == MPI_SUCCESS; i++) {
        rc = impi_Recv(&got, x->in, MPI_UINT64_T, i, x->tag, x->c->comm,
                       MPI_STATUS_IGNORE);
        if (got > x->v[0])
            x->v[0] = got;
    }
    return rc;
}

static int tell(struct criss *x, const uint64_t *values)
{
    int rc = MPI_SUCCESS;

    for (int i = 1; i < x->c->peers && rc == MPI_SUCCESS; i++)
        rc = impi_Send(values, x->out, MPI_UINT64_T, i, x->tag, x->c->comm);
    return rc;
}

static int first_of_group(struct criss *x)
{
    uint64_t own[2], theirs[2] = {0, 0};
    int rc = collect(x);

    if (rc != MPI_SUCCESS)
        return rc;
    own[0] = x->v[0];
    own[1] = x->v[1];
    rc = impi_Sendrecv(own, x->out, MPI_UINT64_T, 0, x->tag, theirs, x->out,
                       MPI_UINT64_T, 0, x->tag, x->c->comm, MPI_STATUS_IGNORE);
    if (rc != MPI_SUCCESS)
        return rc;
    if (theirs[0] > own[0])
        own[0] = theirs[0];
    x->v[0] = own[0];
    x->v[1] = theirs[1];
    return tell(x, own);
}

static int criss_cross(struct criss *x)
{
    MPI_Comm comm = x->c->comm;
    int rc;

    if (x->c->rank == x->c->first)
        return first_of_group(x);
    rc = impi_Send(x->v, x->in, MPI_UINT64_T, 0, x->tag, comm);
    if (rc == MPI_SUCCESS)
        rc = impi_Recv(x->v, x->out, MPI_UINT64_T, 0, x->tag, comm,
                       MPI_STATUS_IGNORE);
    return rc;
}

int criss_barrier(struct impi_comm *c)
{
    struct criss x = {.c = c, .tag = IMPI_COMM_FREE_TAG};

    return criss_cross(&x);
}

int criss_dup(struct impi_comm *c, uint64_t *max)
{
    struct criss x = {
        .c = c, .tag = IMPI_DUP_TAG, .in = 1, .out = 1, .v = {*max, 0}};
    int rc = criss_cross(&x);

    *max = x.v[0];
    return rc;
}

int criss_merge(struct impi_comm *c, uint64_t *max, int high, int *other)
{
    struct criss x = {.c = c,
                      .tag = IMPI_MERGE_TAG,
                      .in = 1,
                      .out = 2,
                      .v = {*max, high != 0}};
    int rc = criss_cross(&x);

    *max = x.v[0];
    *other = x.v[1] != 0;
    return rc;
}
