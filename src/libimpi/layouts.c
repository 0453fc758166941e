/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The layout of a derived datatype, from what MPI_Type_get_contents says.
 */
#include "libimpi/layouts.h"

#include <stdbool.h>
#include <stdlib.h>

#include "libimpi/state.h"

/* What MPI_Type_get_contents says. */
struct contents {
    int nints, naddrs, ntypes, combiner;
    int *ints;
    MPI_Aint *addrs;
    MPI_Datatype *types;
};

static void contents_free(struct contents *c)
{
    for (int i = 0; c->types && i < c->ntypes; i++) {
        int a, b, t, combiner = MPI_COMBINER_NAMED;

        impi_real.Type_get_envelope(c->types[i], &a, &b, &t, &combiner);
        if (combiner != MPI_COMBINER_NAMED &&
            combiner != MPI_COMBINER_F90_REAL &&
            combiner != MPI_COMBINER_F90_COMPLEX &&
            combiner != MPI_COMBINER_F90_INTEGER)
            impi_real.Type_free(&c->types[i]);
    }
    free(c->ints);
    free(c->addrs);
    free(c->types);
}

static int contents_get(struct contents *c, MPI_Datatype type)
{
    int rc = MPI_ERR_NO_MEM;

    c->ints = calloc((size_t)c->nints + 1, sizeof(int));
    c->addrs = calloc((size_t)c->naddrs + 1, sizeof(MPI_Aint));
    c->types = calloc((size_t)c->ntypes + 1, sizeof(MPI_Datatype));
    if (c->ints && c->addrs && c->types)
        rc = impi_real.Type_get_contents(type, c->nints, c->naddrs, c->ntypes,
                                         c->ints, c->addrs, c->types);
    if (rc == MPI_SUCCESS)
        return rc;
    free(c->types);
    c->types = NULL;
    contents_free(c);
    return rc;
}

/* The inner type of all but structures, and how far its copies are apart. */
struct inner {
    struct impi_layout *l;
    MPI_Aint extent;
};

/* A block of n inner ones. */
static int add_block(struct impi_layout *to, ptrdiff_t disp, int n,
                     const struct inner *in)
{
    return layout_add(to, disp, (uint64_t)n, in->extent,
                      impi_layout_hold(in->l));
}

static int make_blocks(struct impi_layout **l, const struct contents *c,
                       const struct inner *in)
{
    bool same = c->combiner == MPI_COMBINER_INDEXED_BLOCK ||
                c->combiner == MPI_COMBINER_HINDEXED_BLOCK;
    const int *disps = c->ints + (same ? 2 : 1 + c->ints[0]);
    int n = c->ints[0], rc = layout_made(*l = impi_layout_list((size_t)n));

    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        MPI_Aint disp = c->naddrs ? c->addrs[i] : disps[i] * in->extent;

        rc = add_block(*l, disp, c->ints[1 + (same ? 0 : i)], in);
    }
    return rc;
}

static int make_vector(struct impi_layout **l, const struct contents *c,
                       const struct inner *in)
{
    MPI_Aint stride = c->naddrs ? c->addrs[0] : c->ints[2] * in->extent;
    struct impi_layout *block = impi_layout_list(1);
    int rc = layout_made(block);

    if (rc == MPI_SUCCESS)
        rc = add_block(block, 0, c->ints[1], in);
    if (rc == MPI_SUCCESS)
        rc = layout_made(*l = impi_layout_list(1));
    if (rc == MPI_SUCCESS)
        return layout_add(*l, 0, (uint64_t)c->ints[0], stride, block);
    impi_layout_free(block);
    return rc;
}

/* Numbers of an array, as MPI_Type_get_contents gives them.  Open MPI 6.0.0rc2
 * gives its own where it is asked by the standard ABI. */
#ifdef IMPI_FAMILY_ABI
#define IS_OWN(number, own) ((number) == (own))
#else
#define IS_OWN(number, own) false
#endif

static bool is_fortran(int order)
{
    return order == MPI_ORDER_FORTRAN || IS_OWN(order, 1);
}

static bool is_cyclic(int distribution)
{
    return distribution == MPI_DISTRIBUTE_CYCLIC || IS_OWN(distribution, 1);
}

static bool is_whole(int distribution)
{
    return distribution == MPI_DISTRIBUTE_NONE || IS_OWN(distribution, 2);
}

static bool is_default(int argument)
{
    return argument == MPI_DISTRIBUTE_DFLT_DARG || IS_OWN(argument, -1);
}

/* From the dimension that varies fastest outwards. */
static int make_subarray(struct impi_layout **l, const struct contents *c,
                         const struct inner *in)
{
    int n = c->ints[0], rc = MPI_SUCCESS;
    const int *sizes = c->ints + 1, *subsizes = sizes + n,
              *starts = sizes + 2L * n;
    bool fortran = is_fortran(sizes[3L * n]);
    struct impi_layout *sub = impi_layout_hold(in->l);
    MPI_Aint stride = in->extent;

    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        int d = fortran ? i : n - 1 - i;
        struct impi_layout *outer = impi_layout_list(1);

        rc = layout_made(outer);
        if (rc == MPI_SUCCESS)
            rc = layout_add(outer, starts[d] * stride, (uint64_t)subsizes[d],
                            stride, sub);
        if (rc == MPI_SUCCESS)
            sub = outer;
        stride *= sizes[d];
    }
    *l = sub;
    return rc;
}

/* One dimension of a distributed array: blocks of `block` elements, one for
 * each process in turn, this one being number `coord` of `procs`. */
struct dim {
    int size, block, procs, coord;
};

static void dim_get(struct dim *d, const struct contents *c, int i, int coord)
{
    int n = c->ints[2];
    const int *size = c->ints + 3, *dist = size + n, *arg = dist + n;
    const int *procs = arg + n;

    *d = (struct dim){size[i], arg[i], procs[i], coord};
    if (is_whole(dist[i]))
        *d = (struct dim){size[i], size[i], 1, 0};
    else if (is_default(arg[i]))
        d->block = is_cyclic(dist[i]) ? 1 : (size[i] + procs[i] - 1) / procs[i];
}

/* The process's elements of `in`, `stride` bytes apart: whole blocks, then
 * what is there of another one.  Takes the reference to `in`. */
static int add_dim(struct impi_layout **l, const struct dim *d, MPI_Aint stride,
                   struct impi_layout *in)
{
    int64_t round = (int64_t)d->block * d->procs;
    int64_t first = (int64_t)d->block * d->coord;
    int64_t whole = d->size / round, rest = d->size % round - first;
    struct impi_layout *block = impi_layout_list(1);
    int rc = layout_made(block);

    *l = impi_layout_list(2);
    if (rc == MPI_SUCCESS)
        rc = layout_made(*l);
    if (rc != MPI_SUCCESS) {
        impi_layout_free(block);
        impi_layout_free(in);
        return rc;
    }
    if (rest >= d->block) {
        whole++;
        rest = 0;
    }
    impi_layout_add(block, 0, (uint64_t)d->block, stride, impi_layout_hold(in));
    impi_layout_add(*l, first * stride, (uint64_t)whole, round * stride, block);
    if (rest > 0)
        impi_layout_add(*l, (whole * round + first) * stride, (uint64_t)rest,
                        stride, in);
    else
        impi_layout_free(in);
    return MPI_SUCCESS;
}

/* Processes are numbered with the last dimension varying fastest, whatever
 * the order of the array is. */
static int proc_coord(const struct contents *c, int i)
{
    int n = c->ints[2], rank = c->ints[1];
    const int *procs = c->ints + 3 + 3L * n;

    for (int d = n - 1; d > i; d--)
        rank /= procs[d];
    return rank % procs[i];
}

static int make_darray(struct impi_layout **l, const struct contents *c,
                       const struct inner *in)
{
    int n = c->ints[2], rc = MPI_SUCCESS;
    bool fortran = is_fortran(c->ints[3 + 4L * n]);
    struct impi_layout *sub = impi_layout_hold(in->l);
    MPI_Aint stride = in->extent;

    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        int at = fortran ? i : n - 1 - i;
        struct dim d;

        dim_get(&d, c, at, proc_coord(c, at));
        rc = add_dim(l, &d, stride, sub);
        sub = *l;
        stride *= d.size;
    }
    *l = sub;
    return rc;
}

static int make(struct impi_layout **l, MPI_Datatype type);

static int make_struct(struct impi_layout **l, const struct contents *c)
{
    int rc = layout_made(*l = impi_layout_list((size_t)c->ntypes));

    for (int i = 0; i < c->ntypes && rc == MPI_SUCCESS; i++) {
        struct impi_layout *in = NULL;
        MPI_Aint lb, extent;

        rc = impi_real.Type_get_extent(c->types[i], &lb, &extent);
        if (rc == MPI_SUCCESS)
            rc = make(&in, c->types[i]);
        if (rc == MPI_SUCCESS)
            impi_layout_add(*l, c->addrs[i], (uint64_t)c->ints[1 + i], extent,
                            in);
        else
            impi_layout_free(in);
    }
    return rc;
}

static int make_of_one(struct impi_layout **l, const struct contents *c)
{
    struct inner in = {0};
    MPI_Aint lb;
    int rc = impi_real.Type_get_extent(c->types[0], &lb, &in.extent);

    if (rc == MPI_SUCCESS)
        rc = make(&in.l, c->types[0]);
    if (rc != MPI_SUCCESS) {
        impi_layout_free(in.l);
        return rc;
    }
    switch (c->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
        *l = in.l;
        return MPI_SUCCESS;
    case MPI_COMBINER_CONTIGUOUS:
        rc = layout_made(*l = impi_layout_list(1));
        if (rc == MPI_SUCCESS)
            rc = add_block(*l, 0, c->ints[0], &in);
        break;
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
        rc = make_vector(l, c, &in);
        break;
    case MPI_COMBINER_SUBARRAY:
        rc = make_subarray(l, c, &in);
        break;
    case MPI_COMBINER_DARRAY:
        rc = make_darray(l, c, &in);
        break;
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
        rc = make_blocks(l, c, &in);
        break;
    default:
        rc = MPI_ERR_UNSUPPORTED_DATAREP;
    }
    impi_layout_free(in.l);
    return rc;
}

/* *l also after a failure: free it. */
static int make(struct impi_layout **l, MPI_Datatype type)
{
    struct contents c;
    int rc;

    *l = NULL;
    rc = impi_real.Type_get_envelope(type, &c.nints, &c.naddrs, &c.ntypes,
                                     &c.combiner);
    if (rc != MPI_SUCCESS)
        return rc;
    switch (c.combiner) {
    case MPI_COMBINER_NAMED:
        return layout_of_named(l, type);
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER:
        return layout_of_f90(l, type, c.combiner);
    default:
        break;
    }
    rc = contents_get(&c, type);
    if (rc != MPI_SUCCESS)
        return rc;
    if (c.combiner == MPI_COMBINER_STRUCT)
        rc = make_struct(l, &c);
    else
        rc = make_of_one(l, &c);
    contents_free(&c);
    return rc;
}

int layout_make(struct impi_layout **l, MPI_Datatype type)
{
    int rc = make(l, type);

    if (rc != MPI_SUCCESS) {
        impi_layout_free(*l);
        *l = NULL;
    }
    return rc;
}
