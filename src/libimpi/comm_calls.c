/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a program asks about a communicator, and its end.
 */

#include "libimpi/assist.h"
#include "libimpi/coll.h"
#include "libimpi/comm_criss.h"
#include "libimpi/comm_make.h"
#include "libimpi/state.h"

int impi_Comm_rank(MPI_Comm comm, int *rank)
{
    const struct impi_comm *c = impi_span_find(comm);

    if (likely(!c))
        return impi_real.Comm_rank(comm, rank);
    *rank = c->rank - c->first;
    return MPI_SUCCESS;
}

int impi_Comm_size(MPI_Comm comm, int *size)
{
    const struct impi_comm *c = impi_span_find(comm);

    if (likely(!c))
        return impi_real.Comm_size(comm, size);
    *size = c->local;
    return MPI_SUCCESS;
}

int impi_Comm_test_inter(MPI_Comm comm, int *flag)
{
    const struct impi_comm *c = impi_span_find(comm);

    if (!c)
        return impi_real.Comm_test_inter(comm, flag);
    *flag = c->inter;
    return MPI_SUCCESS;
}

int impi_Comm_remote_size(MPI_Comm comm, int *size)
{
    const struct impi_comm *c = impi_span_find(comm);

    if (!c)
        return impi_real.Comm_remote_size(comm, size);
    if (!c->inter)
        return be_raise(comm, MPI_ERR_COMM);
    *size = c->peers;
    return MPI_SUCCESS;
}

/* ---- comparing ---- */

/* n ranks of each, from world ranks a and b on. */
static int compare_groups(const int *a, const int *b, int n)
{
    int result = MPI_CONGRUENT;

    for (int i = 0; i < n; i++) {
        int k = 0;

        if (a[i] == b[i])
            continue;
        while (k < n && b[k] != a[i])
            k++;
        if (k == n)
            return MPI_UNEQUAL;
        result = MPI_SIMILAR;
    }
    return result;
}

static int compare(const struct impi_comm *a, const struct impi_comm *b)
{
    int mine, theirs;

    if (!a || !b || a->inter != b->inter || a->local != b->local ||
        a->peers != b->peers)
        return MPI_UNEQUAL;
    mine = compare_groups(a->world + a->first, b->world + b->first, a->local);
    theirs = compare_groups(a->world + a->peer, b->world + b->peer, a->peers);
    if (mine == MPI_UNEQUAL || theirs == MPI_UNEQUAL)
        return MPI_UNEQUAL;
    return mine == MPI_SIMILAR ? mine : theirs;
}

int impi_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int *result)
{
    struct impi_comm *a = impi_span_find(comm1), *b = impi_span_find(comm2);

    if (!a && !b)
        return impi_real.Comm_compare(comm1, comm2, result);
    *result = a == b ? MPI_IDENT : compare(a, b);
    return MPI_SUCCESS;
}

/* ---- the end ---- */

/* IMPI ends a communicator with a barrier.  Among our own it is left out:
 * context ids are never used again, and programs count on both libraries'
 * not waiting there. */
static int last_barrier(struct impi_comm *c)
{
    if (!comm_strict())
        return MPI_SUCCESS;
    return c->inter ? criss_barrier(c) : coll_barrier(c);
}

static int let_go(struct impi_comm *c, MPI_Comm *comm)
{
    int rc = last_barrier(c);

    if (rc != MPI_SUCCESS)
        return rc;
    be_lock();
    impi_span_remove(*comm);
    c->comm = MPI_COMM_WORLD; /* for errors of requests still open */
    if (c->queue) {
        c->late = *comm;
        *comm = MPI_COMM_NULL;
    }
    comm_release(c);
    be_unlock();
    return *comm == MPI_COMM_NULL ? MPI_SUCCESS : impi_real.Comm_free(comm);
}

int impi_Comm_free(MPI_Comm *comm)
{
    struct impi_comm *c = impi_span_find(*comm);

    if (!c || *comm == MPI_COMM_WORLD)
        return ASSISTED(impi_real.Comm_free(comm));
    return let_go(c, comm);
}

/* Waits for the others, which is as good as waiting for what is under way
 * with them. */
int impi_Comm_disconnect(MPI_Comm *comm)
{
    struct impi_comm *c = impi_span_find(*comm);
    int rc;

    if (!c || *comm == MPI_COMM_WORLD)
        return ASSISTED(impi_real.Comm_disconnect(comm));
    rc = coll_barrier(c);
    return rc == MPI_SUCCESS ? let_go(c, comm) : rc;
}
