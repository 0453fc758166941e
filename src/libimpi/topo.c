/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Topologies of spanning communicators: who is beside whom.
 */
#include "libimpi/topo.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libimpi/comm.h"

struct topo *topo_new(int kind, size_t ints, int **room)
{
    size_t bytes = sizeof(struct topo) + ints * sizeof(int);
    struct topo *t = calloc(1, bytes);

    if (!t)
        return NULL;
    t->kind = kind;
    t->bytes = bytes;
    *room = (int *)(t + 1);
    return t;
}

static void move(int **list, const struct topo *from, struct topo *to)
{
    if (*list)
        *list = (int *)((char *)to + ((char *)*list - (const char *)from));
}

struct topo *topo_copy(const struct topo *t)
{
    struct topo *n = t ? malloc(t->bytes) : NULL;

    if (!n)
        return NULL;
    memcpy(n, t, t->bytes);
    move(&n->dims, t, n);
    move(&n->periods, t, n);
    move(&n->index, t, n);
    move(&n->edges, t, n);
    move(&n->in, t, n);
    move(&n->out, t, n);
    move(&n->in_weight, t, n);
    move(&n->out_weight, t, n);
    return n;
}

void topo_free(struct topo *t)
{
    free(t);
}

int topo_check(const struct impi_comm *c, int kind)
{
    return c->topo && c->topo->kind == kind ? MPI_SUCCESS : MPI_ERR_TOPOLOGY;
}

/* ---- grids: the last dimension varies fastest ---- */

int topo_cart_rank(const struct topo *t, const int *coords)
{
    int rank = 0;

    for (int i = 0; i < t->n; i++) {
        int x = coords[i], n = t->dims[i];

        if (t->periods[i])
            x = (x % n + n) % n;
        if (x < 0 || x >= n)
            return MPI_PROC_NULL;
        rank = rank * n + x;
    }
    return rank;
}

void topo_cart_coords(const struct topo *t, int rank, int *coords)
{
    for (int i = t->n - 1; i >= 0; i--) {
        coords[i] = rank % t->dims[i];
        rank /= t->dims[i];
    }
}

/* Ranks before `rank` in one step of dimension dim. */
static int stride(const struct topo *t, int dim)
{
    int s = 1;

    for (int i = dim + 1; i < t->n; i++)
        s *= t->dims[i];
    return s;
}

static int step(const struct topo *t, int rank, int dim, int disp)
{
    int s = stride(t, dim), n = t->dims[dim], x = rank / s % n;
    int64_t to = (int64_t)x + disp;

    if (t->periods[dim])
        to = (to % n + n) % n;
    if (to < 0 || to >= n)
        return MPI_PROC_NULL;
    return rank + (int)(to - x) * s;
}

void topo_cart_shift(const struct topo *t, int rank, int dim, int disp,
                     int *source, int *dest)
{
    *source = step(t, rank, dim, -disp);
    *dest = step(t, rank, dim, disp);
}

/* ---- neighbourhoods ---- */

static const int *graph_neighbours(const struct topo *t, int rank, int *n)
{
    int first = rank > 0 ? t->index[rank - 1] : 0;

    *n = t->index[rank] - first;
    return t->edges + first;
}

void topo_degree(const struct topo *t, int rank, int *in, int *out)
{
    *in = t->nin;
    *out = t->nout;
    if (t->kind == MPI_CART)
        *in = *out = 2 * t->n;
    if (t->kind == MPI_GRAPH) {
        graph_neighbours(t, rank, in);
        *out = *in;
    }
}

static void add(struct impi_neighbour *list, size_t *n, int rank, int block,
                int tag)
{
    if (rank == MPI_PROC_NULL)
        return;
    list[(*n)++] = (struct impi_neighbour){
        .rank = (uint32_t)rank, .block = (uint32_t)block, .tag = tag};
}

/* What goes down in a dimension comes in from above: the tag tells the two
 * directions apart where both neighbours are one process. */
static void cart(const struct topo *t, int rank, struct impi_neighbour *from,
                 size_t *nfrom, struct impi_neighbour *to, size_t *nto)
{
    for (int i = 0; i < t->n; i++) {
        int low, high;

        topo_cart_shift(t, rank, i, 1, &low, &high);
        add(from, nfrom, low, 2 * i, 2 * i + 1);
        add(from, nfrom, high, 2 * i + 1, 2 * i);
        add(to, nto, low, 2 * i, 2 * i);
        add(to, nto, high, 2 * i + 1, 2 * i + 1);
    }
}

void topo_neighbours(const struct topo *t, int rank,
                     struct impi_neighbour *from, size_t *nfrom,
                     struct impi_neighbour *to, size_t *nto)
{
    const int *in = t->in, *out = t->out;
    int nin, nout;

    *nfrom = *nto = 0;
    if (t->kind == MPI_CART) {
        cart(t, rank, from, nfrom, to, nto);
        return;
    }
    topo_degree(t, rank, &nin, &nout);
    if (t->kind == MPI_GRAPH)
        in = out = graph_neighbours(t, rank, &nin);
    for (int i = 0; i < nin; i++)
        add(from, nfrom, in[i], i, 0);
    for (int i = 0; i < nout; i++)
        add(to, nto, out[i], i, 0);
}
