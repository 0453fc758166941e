/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Cart_create, MPI_Cart_sub and MPI_Graph_create on spanning
 * communicators: a part of the old one, in the same order (nothing is
 * reordered), with a topology.
 */
#include <stdlib.h>
#include <string.h>

#include "libimpi/assist.h"
#include "libimpi/coll.h"
#include "libimpi/state.h"
#include "libimpi/topo.h"

impi_Comm_split_f impi_Comm_split;

int topo_make(struct impi_comm *c, int n, struct topo *t, MPI_Comm *newcomm,
              bool *native)
{
    struct impi_comm *made;
    int rc;

    *native = false;
    if (!t)
        return be_raise(c->comm, MPI_ERR_NO_MEM);
    rc = impi_Comm_split(c->comm, c->rank < n ? 0 : MPI_UNDEFINED, 0, newcomm);
    made = rc == MPI_SUCCESS ? impi_span_find(*newcomm) : NULL;
    if (made) {
        made->topo = t;
        return rc;
    }
    topo_free(t);
    *native = rc == MPI_SUCCESS && *newcomm != MPI_COMM_NULL;
    return rc;
}

/* The plain communicator has done its work. */
static int replaced(int rc, MPI_Comm *plain)
{
    impi_real.Comm_free(plain);
    return rc;
}

/* ---- grids ---- */

static int cart_size(const struct impi_comm *c, int ndims, const int dims[],
                     int *size)
{
    int64_t n = 1;

    if (ndims < 0)
        return MPI_ERR_ARG;
    for (int i = 0; i < ndims; i++) {
        if (dims[i] <= 0)
            return MPI_ERR_DIMS;
        n *= dims[i];
        if (n > c->size)
            return MPI_ERR_ARG;
    }
    *size = (int)n;
    return MPI_SUCCESS;
}

static struct topo *new_cart(int ndims, const int dims[], const int periods[])
{
    int *room;
    struct topo *t = topo_new(MPI_CART, 2 * (size_t)ndims, &room);

    if (!t)
        return NULL;
    t->n = ndims;
    t->dims = room;
    t->periods = room + ndims;
    for (int i = 0; i < ndims; i++) {
        t->dims[i] = dims[i];
        t->periods[i] = periods[i] != 0;
    }
    return t;
}

int impi_Cart_create(MPI_Comm comm, int ndims, const int dims[],
                     const int periods[], int reorder, MPI_Comm *newcomm)
{
    struct impi_comm *c = impi_span_find(comm);
    MPI_Comm plain;
    bool native;
    int rc, n;

    if (!c)
        return ASSISTED(impi_real.Cart_create(comm, ndims, dims, periods,
                                              reorder, newcomm));
    rc = c->inter ? MPI_ERR_COMM : cart_size(c, ndims, dims, &n);
    if (rc != MPI_SUCCESS)
        return be_raise(comm, rc);
    rc = topo_make(c, n, new_cart(ndims, dims, periods), newcomm, &native);
    if (!native)
        return rc;
    plain = *newcomm;
    rc = ASSISTED(
        impi_real.Cart_create(plain, ndims, dims, periods, 0, newcomm));
    return replaced(rc, &plain);
}

/* Dimensions that stay, and the color of the part: the others' place. */
static struct topo *sub_of(const struct impi_comm *c, const int remain[],
                           int *color)
{
    const struct topo *t = c->topo;
    int *room, *coords = malloc(((size_t)t->n + 1) * sizeof(int));
    struct topo *s = topo_new(MPI_CART, 2 * (size_t)t->n, &room);

    if (!s || !coords) {
        topo_free(s);
        free(coords);
        return NULL;
    }
    s->dims = room;
    s->periods = room + t->n;
    topo_cart_coords(t, c->rank, coords);
    *color = 0;
    for (int i = 0; i < t->n; i++) {
        if (!remain[i]) {
            *color = *color * t->dims[i] + coords[i];
            continue;
        }
        s->dims[s->n] = t->dims[i];
        s->periods[s->n++] = t->periods[i];
    }
    free(coords);
    return s;
}

static int sub(struct impi_comm *c, struct topo *s, int color,
               MPI_Comm *newcomm)
{
    struct impi_comm *made;
    MPI_Comm plain;
    int rc = impi_Comm_split(c->comm, color, 0, newcomm);

    if (rc != MPI_SUCCESS)
        return rc;
    made = impi_span_find(*newcomm);
    if (made) {
        made->topo = topo_copy(s);
        return made->topo ? rc : be_raise(c->comm, MPI_ERR_NO_MEM);
    }
    plain = *newcomm;
    rc = ASSISTED(
        impi_real.Cart_create(plain, s->n, s->dims, s->periods, 0, newcomm));
    return replaced(rc, &plain);
}

int impi_Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm *newcomm)
{
    struct impi_comm *c = impi_span_find(comm);
    struct topo *s;
    int rc, color;

    if (!c)
        return ASSISTED(impi_real.Cart_sub(comm, remain_dims, newcomm));
    rc = topo_check(c, MPI_CART);
    if (rc != MPI_SUCCESS)
        return be_raise(comm, rc);
    s = sub_of(c, remain_dims, &color);
    if (!s)
        return be_raise(comm, MPI_ERR_NO_MEM);
    rc = sub(c, s, color, newcomm);
    topo_free(s);
    return rc;
}

/* ---- graphs ---- */

static int graph_check(const struct impi_comm *c, int nnodes, const int index[],
                       const int edges[])
{
    if (c->inter)
        return MPI_ERR_COMM;
    if (nnodes < 0 || nnodes > c->size)
        return MPI_ERR_ARG;
    for (int i = 0; i < nnodes; i++) {
        if (index[i] < (i > 0 ? index[i - 1] : 0))
            return MPI_ERR_ARG;
    }
    for (int i = 0; nnodes > 0 && i < index[nnodes - 1]; i++) {
        if (edges[i] < 0 || edges[i] >= nnodes)
            return MPI_ERR_ARG;
    }
    return MPI_SUCCESS;
}

static struct topo *new_graph(int nnodes, const int index[], const int edges[])
{
    int nedges = nnodes > 0 ? index[nnodes - 1] : 0, *room;
    struct topo *t =
        topo_new(MPI_GRAPH, (size_t)nnodes + (size_t)nedges, &room);

    if (!t)
        return NULL;
    t->n = nnodes;
    t->nedges = nedges;
    t->index = room;
    t->edges = room + nnodes;
    memcpy(t->index, index, (size_t)nnodes * sizeof(int));
    memcpy(t->edges, edges, (size_t)nedges * sizeof(int));
    return t;
}

int impi_Graph_create(MPI_Comm comm, int nnodes, const int index[],
                      const int edges[], int reorder, MPI_Comm *newcomm)
{
    struct impi_comm *c = impi_span_find(comm);
    MPI_Comm plain;
    bool native;
    int rc;

    if (!c)
        return ASSISTED(impi_real.Graph_create(comm, nnodes, index, edges,
                                               reorder, newcomm));
    rc = graph_check(c, nnodes, index, edges);
    if (rc != MPI_SUCCESS)
        return be_raise(comm, rc);
    rc =
        topo_make(c, nnodes, new_graph(nnodes, index, edges), newcomm, &native);
    if (!native)
        return rc;
    plain = *newcomm;
    rc = ASSISTED(
        impi_real.Graph_create(plain, nnodes, index, edges, 0, newcomm));
    return replaced(rc, &plain);
}
