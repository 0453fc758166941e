/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Functions with large counts, made of those without.
 */
#include "libimpi/large.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

#include "libimpi/assist.h"
#include "libimpi/failed.h"
#include "libimpi/file.h"
#include "libimpi/ours.h"
#include "libimpi/p2p_calls.h"
#include "libimpi/win.h"

static void note(struct large *l, int rc)
{
    if (l->rc == MPI_SUCCESS)
        l->rc = rc;
}

/* ---- one count ---- */

/* A divisor of count that leaves an int, and is one; 0: none is near. */
static int divisor(MPI_Count count)
{
    MPI_Count n = count / INT_MAX + 1;

    for (int tries = 0; tries < 1 << 16 && n <= INT_MAX; tries++, n++) {
        if (count % n == 0)
            return (int)n;
    }
    return 0;
}

/* outer times inner of type, one after the other. */
static int many(int outer, int inner, MPI_Datatype type, MPI_Datatype *made)
{
    MPI_Datatype row;
    int rc = impi_real.Type_contiguous(inner, type, &row);

    if (rc != MPI_SUCCESS)
        return rc;
    rc = impi_real.Type_contiguous(outer, row, made);
    impi_real.Type_free(&row);
    return rc;
}

/* Pieces, and what is left. */
static int pieces(MPI_Count count, MPI_Datatype type, MPI_Datatype *made)
{
    int left = (int)(count % LARGE_PIECE), rc;
    int n = (int)(count / LARGE_PIECE), ones[2] = {1, 1};
    MPI_Datatype part[2];
    MPI_Aint lb, extent, at[2] = {0, 0};

    rc = impi_real.Type_get_extent(type, &lb, &extent);
    if (rc == MPI_SUCCESS)
        rc = many(n, LARGE_PIECE, type, &part[0]);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = impi_real.Type_contiguous(left, type, &part[1]);
    if (rc == MPI_SUCCESS) {
        at[1] = (MPI_Aint)n * LARGE_PIECE * extent;
        rc = impi_real.Type_create_struct(2, ones, at, part, made);
        impi_real.Type_free(&part[1]);
    }
    impi_real.Type_free(&part[0]);
    return rc;
}

int large_type(MPI_Count count, MPI_Datatype type, MPI_Datatype *made)
{
    int n = divisor(count);
    int rc =
        n ? many(n, (int)(count / n), type, made) : pieces(count, type, made);

    if (rc != MPI_SUCCESS)
        *made = MPI_DATATYPE_NULL;
    return rc == MPI_SUCCESS ? impi_real.Type_commit(made) : rc;
}

void large_count(struct large *l, MPI_Count *count, MPI_Datatype *type)
{
    MPI_Datatype made;
    int rc;

    if (*count <= INT_MAX || *type == MPI_DATATYPE_NULL) {
        *count = *count < 0 ? -1 : *count <= INT_MAX ? *count : 1;
        return;
    }
    rc = large_type(*count, *type, &made);
    if (made != MPI_DATATYPE_NULL)
        l->types[l->ntypes++] = made;
    if (rc == MPI_SUCCESS) {
        *type = made;
        *count = 1;
    }
    note(l, rc);
}

int large_int(struct large *l, MPI_Aint n)
{
    if (n >= INT_MIN && n <= INT_MAX)
        return (int)n;
    note(l, MPI_ERR_ARG);
    return -1;
}

/* ---- the end ---- */

int large_end(struct large *l, int rc)
{
    for (int i = 0; i < l->ntypes; i++)
        impi_Type_free(&l->types[i]);
    return rc;
}

/* ---- reductions ---- */

void *large_at(const void *buf, MPI_Count n, MPI_Datatype type)
{
    MPI_Aint lb, extent;

    if (n == 0 || !buf || buf == MPI_IN_PLACE ||
        impi_real.Type_get_extent(type, &lb, &extent) != MPI_SUCCESS)
        return (void *)(uintptr_t)buf;
    return (char *)(uintptr_t)buf + n * extent;
}

int large_request(struct compound *parts, int rc, struct impi_comm *c,
                  MPI_Request *request)
{
    struct req *r;

    be_lock();
    r = req_alloc();
    if (!r)
        be_die(1, "SF-E403: no memory for a collective call");
    req_compound(r, c, parts);
    if (rc == MPI_SUCCESS)
        *request = req_handle(r);
    else
        req_detach(r); /* what was started goes on */
    be_unlock();
    return rc;
}

#include "libimpi/calls_large.h"
