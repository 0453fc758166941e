/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Topologies of spanning communicators: who is beside whom, the calls that
 * make and ask them, and collective calls along them.
 */
#include "libimpi/topo.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libimpi/assist.h"
#include "libimpi/coll.h"
#include "libimpi/comm.h"
#include "libimpi/state.h"

/* One with room for `ints` numbers, at *room.  NULL: no memory. */
static struct topo *topo_new(int kind, size_t ints, int **room)
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

/* Is c's topology of that kind?  MPI_ERR_TOPOLOGY if not. */
static int topo_check(const struct impi_comm *c, int kind)
{
    return c->topo && c->topo->kind == kind ? MPI_SUCCESS : MPI_ERR_TOPOLOGY;
}

/* ---- grids: the last dimension varies fastest ---- */

/* A cartesian one's rank of coordinates, or MPI_PROC_NULL off a side that is
 * not periodic. */
static int topo_cart_rank(const struct topo *t, const int *coords)
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

static void topo_cart_coords(const struct topo *t, int rank, int *coords)
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

/* Neighbours of `rank`: source and destination of a shift. */
static void topo_cart_shift(const struct topo *t, int rank, int dim, int disp,
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

/* The messages of a neighbourhood call of `rank`: from[], to[] with room for
 * topo_degree() each; *nfrom, *nto how many. */
/* How many neighbours `rank` receives from, and how many it sends to. */
static void topo_degree(const struct topo *t, int rank, int *in, int *out)
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

static void topo_neighbours(const struct topo *t, int rank,
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

/* ---- topo make --------------------------------------------------------- */

/* MPI_Cart_create, MPI_Cart_sub and MPI_Graph_create on spanning
 * communicators: a part of the old one, in the same order (nothing is
 * reordered), with a topology. */

impi_Comm_split_f impi_Comm_split;

/* A communicator of the first n processes of c, with t if it spans; else
 * *native: it is theirs and the native library shall make its own of it.  Takes
 * t.  The error handler has had the error. */
static int topo_make(struct impi_comm *c, int n, struct topo *t,
                     MPI_Comm *newcomm, bool *native)
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

/* ---- topo dist --------------------------------------------------------- */

/* MPI_Dist_graph_create and MPI_Dist_graph_create_adjacent on spanning
 * communicators: each process keeps the edges that end or begin at it. */

static bool weights_given(const int *w)
{
    return w && w != MPI_UNWEIGHTED && w != MPI_WEIGHTS_EMPTY;
}

static struct topo *new_adjacent(int nin, const int in[], const int in_w[],
                                 int nout, const int out[], const int out_w[],
                                 bool weighted)
{
    int *room;
    struct topo *t =
        topo_new(MPI_DIST_GRAPH, 2 * ((size_t)nin + (size_t)nout), &room);

    if (!t)
        return NULL;
    t->weighted = weighted;
    t->nin = nin;
    t->nout = nout;
    t->in = room;
    t->out = t->in + nin;
    t->in_weight = t->out + nout;
    t->out_weight = t->in_weight + nin;
    for (int i = 0; i < nin; i++) {
        t->in[i] = in[i];
        t->in_weight[i] = weighted && weights_given(in_w) ? in_w[i] : 1;
    }
    for (int i = 0; i < nout; i++) {
        t->out[i] = out[i];
        t->out_weight[i] = weighted && weights_given(out_w) ? out_w[i] : 1;
    }
    return t;
}

static int ranks_check(const struct impi_comm *c, int n, const int ranks[])
{
    if (n < 0)
        return MPI_ERR_ARG;
    for (int i = 0; i < n; i++) {
        if (ranks[i] < 0 || ranks[i] >= c->size)
            return MPI_ERR_RANK;
    }
    return MPI_SUCCESS;
}

/* A duplicate without attributes, so that it always spans. */
static int make_dist(struct impi_comm *c, struct topo *t, MPI_Comm *newcomm)
{
    bool native;

    return topo_make(c, c->size, t, newcomm, &native);
}

int impi_Dist_graph_create_adjacent(MPI_Comm comm, int indegree,
                                    const int sources[],
                                    const int sourceweights[], int outdegree,
                                    const int destinations[],
                                    const int destweights[], MPI_Info info,
                                    int reorder, MPI_Comm *newcomm)
{
    struct impi_comm *c = impi_span_find(comm);
    int rc;

    if (!c)
        return ASSISTED(impi_real.Dist_graph_create_adjacent(
            comm, indegree, sources, sourceweights, outdegree, destinations,
            destweights, info, reorder, newcomm));
    rc = c->inter ? MPI_ERR_COMM : ranks_check(c, indegree, sources);
    if (rc == MPI_SUCCESS)
        rc = ranks_check(c, outdegree, destinations);
    if (rc != MPI_SUCCESS)
        return be_raise(comm, rc);
    return make_dist(c,
                     new_adjacent(indegree, sources, sourceweights, outdegree,
                                  destinations, destweights,
                                  sourceweights != MPI_UNWEIGHTED),
                     newcomm);
}

/* Edges that somebody has given: source, destination, weight. */
struct edge {
    int from, to, weight;
};

static int count_edges(int n, const int degrees[])
{
    int sum = 0;

    for (int i = 0; i < n; i++) {
        if (degrees[i] < 0)
            return -1;
        sum += degrees[i];
    }
    return sum;
}

static void list_edges(int n, const int sources[], const int degrees[],
                       const int destinations[], const int weights[],
                       struct edge *e)
{
    for (int i = 0, k = 0; i < n; i++) {
        for (int j = 0; j < degrees[i]; j++, k++)
            e[k] = (struct edge){sources[i], destinations[k],
                                 weights_given(weights) ? weights[k] : 1};
    }
}

/* Everybody gets all edges: own ones of the n given to rank 0 and back. */
static struct edge *all_edges(struct impi_comm *c, const struct edge *own,
                              int n, int *total, int *rc)
{
    int *counts = malloc(2 * (size_t)c->size * sizeof(int)), sum = 0;
    struct edge *all = NULL;
    int mine = 3 * n;

    *rc = counts ? coll_allgather_ints(c, &mine, 1, counts) : MPI_ERR_NO_MEM;
    for (int i = 0; *rc == MPI_SUCCESS && i < c->size; i++) {
        counts[c->size + i] = sum;
        sum += counts[i];
    }
    if (*rc == MPI_SUCCESS && !(all = malloc((size_t)sum * sizeof(int) + 1)))
        *rc = MPI_ERR_NO_MEM;
    if (*rc == MPI_SUCCESS)
        *rc = impi_Gatherv(own, mine, MPI_INT, all, counts, counts + c->size,
                           MPI_INT, 0, c->comm);
    if (*rc == MPI_SUCCESS)
        *rc = coll_bcast(c, all, sum, MPI_INT, 0);
    *total = sum / 3;
    free(counts);
    return all;
}

/* Those that end here, and those that begin here. */
static struct topo *own_edges(const struct impi_comm *c, const struct edge *e,
                              int n, bool weighted)
{
    int *list = malloc(4 * ((size_t)n + 1) * sizeof(int));
    int *in = list, *out, *in_w, *out_w;
    int nin = 0, nout = 0;
    struct topo *t;

    if (!list)
        return NULL;
    out = in + n;
    in_w = out + n;
    out_w = in_w + n;
    for (int i = 0; i < n; i++) {
        if (e[i].to == c->rank) {
            in_w[nin] = e[i].weight;
            in[nin++] = e[i].from;
        }
        if (e[i].from == c->rank) {
            out_w[nout] = e[i].weight;
            out[nout++] = e[i].to;
        }
    }
    t = new_adjacent(nin, in, in_w, nout, out, out_w, weighted);
    free(list);
    return t;
}

static int dist_graph(struct impi_comm *c, const struct edge *own, int n,
                      bool weighted, MPI_Comm *newcomm)
{
    int total, rc;
    struct edge *all = all_edges(c, own, n, &total, &rc);

    if (rc == MPI_SUCCESS)
        rc = make_dist(c, own_edges(c, all, total, weighted), newcomm);
    free(all);
    return rc;
}

int impi_Dist_graph_create(MPI_Comm comm, int n, const int sources[],
                           const int degrees[], const int destinations[],
                           const int weights[], MPI_Info info, int reorder,
                           MPI_Comm *newcomm)
{
    struct impi_comm *c = impi_span_find(comm);
    struct edge *own;
    int rc, count = 0;

    if (!c)
        return ASSISTED(impi_real.Dist_graph_create(comm, n, sources, degrees,
                                                    destinations, weights, info,
                                                    reorder, newcomm));
    rc = c->inter ? MPI_ERR_COMM : ranks_check(c, n, sources);
    if (rc == MPI_SUCCESS && (count = count_edges(n, degrees)) < 0)
        rc = MPI_ERR_ARG;
    if (rc == MPI_SUCCESS)
        rc = ranks_check(c, count, destinations);
    own = malloc(((size_t)(count > 0 ? count : 0) + 1) * sizeof(*own));
    if (rc != MPI_SUCCESS || !own) {
        free(own);
        return be_raise(comm, rc == MPI_SUCCESS ? MPI_ERR_NO_MEM : rc);
    }
    list_edges(n, sources, degrees, destinations, weights, own);
    rc = dist_graph(c, own, count, weights != MPI_UNWEIGHTED, newcomm);
    free(own);
    return rc;
}

/* ---- topo calls -------------------------------------------------------- */

/* What a program asks about the topology of a spanning communicator. */

/* The communicator's data when it spans and has that topology; else RETURNs
 * what the native function does, or the error. */
#define TOPO_OF(c, kind, call)                                                 \
    const struct impi_comm *c = impi_span_find(comm);                          \
                                                                               \
    if (!c)                                                                    \
        return impi_real.call;                                                 \
    if (topo_check(c, kind) != MPI_SUCCESS)                                    \
    return be_raise(comm, MPI_ERR_TOPOLOGY)

static int at_most(int n, int max)
{
    return n < max ? n : max;
}

static bool is_rank(const struct impi_comm *c, int rank)
{
    return rank >= 0 && rank < c->size;
}

int topo_sources(const struct impi_comm *c)
{
    int in = 0, out;

    if (c->topo)
        topo_degree(c->topo, c->rank, &in, &out);
    return in;
}

int topo_destinations(const struct impi_comm *c)
{
    int in, out = 0;

    if (c->topo)
        topo_degree(c->topo, c->rank, &in, &out);
    return out;
}

int impi_Topo_test(MPI_Comm comm, int *status)
{
    const struct impi_comm *c = impi_span_find(comm);

    if (!c)
        return impi_real.Topo_test(comm, status);
    *status = c->topo ? c->topo->kind : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

/* ---- grids ---- */

int impi_Cartdim_get(MPI_Comm comm, int *ndims)
{
    TOPO_OF(c, MPI_CART, Cartdim_get(comm, ndims));

    *ndims = c->topo->n;
    return MPI_SUCCESS;
}

int impi_Cart_coords(MPI_Comm comm, int rank, int maxdims, int coords[])
{
    TOPO_OF(c, MPI_CART, Cart_coords(comm, rank, maxdims, coords));

    if (!is_rank(c, rank))
        return be_raise(comm, MPI_ERR_RANK);
    if (maxdims < c->topo->n)
        return be_raise(comm, MPI_ERR_ARG);
    topo_cart_coords(c->topo, rank, coords);
    return MPI_SUCCESS;
}

int impi_Cart_get(MPI_Comm comm, int maxdims, int dims[], int periods[],
                  int coords[])
{
    TOPO_OF(c, MPI_CART, Cart_get(comm, maxdims, dims, periods, coords));

    if (maxdims < c->topo->n)
        return be_raise(comm, MPI_ERR_ARG);
    for (int i = 0; i < c->topo->n; i++) {
        dims[i] = c->topo->dims[i];
        periods[i] = c->topo->periods[i];
    }
    topo_cart_coords(c->topo, c->rank, coords);
    return MPI_SUCCESS;
}

int impi_Cart_rank(MPI_Comm comm, const int coords[], int *rank)
{
    TOPO_OF(c, MPI_CART, Cart_rank(comm, coords, rank));

    *rank = topo_cart_rank(c->topo, coords);
    return *rank < 0 ? be_raise(comm, MPI_ERR_ARG) : MPI_SUCCESS;
}

int impi_Cart_shift(MPI_Comm comm, int direction, int disp, int *rank_source,
                    int *rank_dest)
{
    TOPO_OF(c, MPI_CART,
            Cart_shift(comm, direction, disp, rank_source, rank_dest));

    if (direction < 0 || direction >= c->topo->n)
        return be_raise(comm, MPI_ERR_DIMS);
    topo_cart_shift(c->topo, c->rank, direction, disp, rank_source, rank_dest);
    return MPI_SUCCESS;
}

/* Nobody is moved. */
int impi_Cart_map(MPI_Comm comm, int ndims, const int dims[],
                  const int periods[], int *newrank)
{
    const struct impi_comm *c = impi_span_find(comm);
    int64_t n = 1;

    if (!c)
        return impi_real.Cart_map(comm, ndims, dims, periods, newrank);
    if (ndims < 0)
        return be_raise(comm, MPI_ERR_ARG);
    for (int i = 0; i < ndims; i++) {
        if (dims[i] <= 0)
            return be_raise(comm, MPI_ERR_DIMS);
        n *= dims[i];
        if (n > c->size)
            return be_raise(comm, MPI_ERR_ARG);
    }
    *newrank = c->rank < n ? c->rank : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

/* ---- graphs ---- */

int impi_Graph_map(MPI_Comm comm, int nnodes, const int index[],
                   const int edges[], int *newrank)
{
    const struct impi_comm *c = impi_span_find(comm);

    if (!c)
        return impi_real.Graph_map(comm, nnodes, index, edges, newrank);
    if (nnodes < 1 || nnodes > c->size)
        return be_raise(comm, MPI_ERR_ARG);
    *newrank = c->rank < nnodes ? c->rank : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int impi_Graphdims_get(MPI_Comm comm, int *nnodes, int *nedges)
{
    TOPO_OF(c, MPI_GRAPH, Graphdims_get(comm, nnodes, nedges));

    *nnodes = c->topo->n;
    *nedges = c->topo->nedges;
    return MPI_SUCCESS;
}

int impi_Graph_get(MPI_Comm comm, int maxindex, int maxedges, int index[],
                   int edges[])
{
    TOPO_OF(c, MPI_GRAPH, Graph_get(comm, maxindex, maxedges, index, edges));

    for (int i = 0; i < at_most(c->topo->n, maxindex); i++)
        index[i] = c->topo->index[i];
    for (int i = 0; i < at_most(c->topo->nedges, maxedges); i++)
        edges[i] = c->topo->edges[i];
    return MPI_SUCCESS;
}

int impi_Graph_neighbors_count(MPI_Comm comm, int rank, int *nneighbors)
{
    TOPO_OF(c, MPI_GRAPH, Graph_neighbors_count(comm, rank, nneighbors));
    int out;

    if (!is_rank(c, rank))
        return be_raise(comm, MPI_ERR_RANK);
    topo_degree(c->topo, rank, nneighbors, &out);
    return MPI_SUCCESS;
}

int impi_Graph_neighbors(MPI_Comm comm, int rank, int maxneighbors,
                         int neighbors[])
{
    TOPO_OF(c, MPI_GRAPH, Graph_neighbors(comm, rank, maxneighbors, neighbors));
    int n, out, first;

    if (!is_rank(c, rank))
        return be_raise(comm, MPI_ERR_RANK);
    topo_degree(c->topo, rank, &n, &out);
    first = rank > 0 ? c->topo->index[rank - 1] : 0;
    for (int i = 0; i < at_most(n, maxneighbors); i++)
        neighbors[i] = c->topo->edges[first + i];
    return MPI_SUCCESS;
}

int impi_Dist_graph_neighbors_count(MPI_Comm comm, int *indegree,
                                    int *outdegree, int *weighted)
{
    TOPO_OF(c, MPI_DIST_GRAPH,
            Dist_graph_neighbors_count(comm, indegree, outdegree, weighted));

    *indegree = c->topo->nin;
    *outdegree = c->topo->nout;
    *weighted = c->topo->weighted;
    return MPI_SUCCESS;
}

static void give(const struct topo *t, const int *ranks, const int *weights,
                 int n, int to[], int to_weights[])
{
    for (int i = 0; i < n; i++) {
        to[i] = ranks[i];
        if (t->weighted && to_weights && to_weights != MPI_UNWEIGHTED)
            to_weights[i] = weights[i];
    }
}

int impi_Dist_graph_neighbors(MPI_Comm comm, int maxindegree, int sources[],
                              int sourceweights[], int maxoutdegree,
                              int destinations[], int destweights[])
{
    TOPO_OF(c, MPI_DIST_GRAPH,
            Dist_graph_neighbors(comm, maxindegree, sources, sourceweights,
                                 maxoutdegree, destinations, destweights));
    const struct topo *t = c->topo;

    give(t, t->in, t->in_weight, at_most(t->nin, maxindegree), sources,
         sourceweights);
    give(t, t->out, t->out_weight, at_most(t->nout, maxoutdegree), destinations,
         destweights);
    return MPI_SUCCESS;
}

/* ---- topo coll --------------------------------------------------------- */

/* Collective operations over the neighbours of a topology, blocking and not. */

static int schedule(struct coll *x, int in, int out)
{
    size_t nfrom, nto;
    struct impi_neighbour *from =
        malloc((size_t)(in + out + 1) * sizeof(*from));
    int rc;

    if (!from)
        return MPI_ERR_NO_MEM;
    topo_neighbours(x->c->topo, x->c->rank, from, &nfrom, from + in, &nto);
    rc = impi_schedule_neighbours(&x->steps, x->c->units, (uint32_t)x->c->rank,
                                  from, nfrom, from + in, nto);
    free(from);
    return coll_made(rc);
}

static int make(struct coll *x)
{
    int in, out, rc;

    if (!x->c->topo)
        return MPI_ERR_TOPOLOGY;
    topo_degree(x->c->topo, x->c->rank, &in, &out);
    rc = blocks_check(&x->in, in);
    if (rc == MPI_SUCCESS)
        rc = blocks_check(&x->out, x->out.single ? 1 : out);
    return rc == MPI_SUCCESS ? schedule(x, in, out) : rc;
}

static int neighbours(struct impi_comm *c, struct blocks out, struct blocks in,
                      MPI_Request *request)
{
    struct coll *x = coll_new(c);

    x->out = out;
    x->in = in;
    return coll_run(x, make(x), request);
}

COLL_BOTH(Neighbor_allgather, Ineighbor_allgather,
          LIST(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
               void *recvbuf, int recvcount, MPI_Datatype recvtype),
          LIST(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),
          neighbours(c, blocks_one(sendbuf, sendcount, sendtype),
                     blocks_even(recvbuf, recvcount, recvtype), request))

COLL_BOTH(Neighbor_allgatherv, Ineighbor_allgatherv,
          LIST(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
               void *recvbuf, const int recvcounts[], const int displs[],
               MPI_Datatype recvtype),
          LIST(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
               recvtype),
          neighbours(c, blocks_one(sendbuf, sendcount, sendtype),
                     blocks_uneven(recvbuf, recvcounts, displs, recvtype),
                     request))

COLL_BOTH(Neighbor_allgatherv_c, Ineighbor_allgatherv_c,
          LIST(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
               void *recvbuf, const MPI_Count recvcounts[],
               const MPI_Aint displs[], MPI_Datatype recvtype),
          LIST(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
               recvtype),
          neighbours(c, blocks_one(sendbuf, sendcount, sendtype),
                     blocks_uneven_c(recvbuf, recvcounts, displs, recvtype),
                     request))

COLL_BOTH(Neighbor_alltoall, Ineighbor_alltoall,
          LIST(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
               void *recvbuf, int recvcount, MPI_Datatype recvtype),
          LIST(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),
          neighbours(c, blocks_even(sendbuf, sendcount, sendtype),
                     blocks_even(recvbuf, recvcount, recvtype), request))

COLL_BOTH(Neighbor_alltoallv, Ineighbor_alltoallv,
          LIST(const void *sendbuf, const int sendcounts[], const int sdispls[],
               MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
               const int rdispls[], MPI_Datatype recvtype),
          LIST(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
               rdispls, recvtype),
          neighbours(c, blocks_uneven(sendbuf, sendcounts, sdispls, sendtype),
                     blocks_uneven(recvbuf, recvcounts, rdispls, recvtype),
                     request))

COLL_BOTH(Neighbor_alltoallv_c, Ineighbor_alltoallv_c,
          LIST(const void *sendbuf, const MPI_Count sendcounts[],
               const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf,
               const MPI_Count recvcounts[], const MPI_Aint rdispls[],
               MPI_Datatype recvtype),
          LIST(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
               rdispls, recvtype),
          neighbours(c, blocks_uneven_c(sendbuf, sendcounts, sdispls, sendtype),
                     blocks_uneven_c(recvbuf, recvcounts, rdispls, recvtype),
                     request))

COLL_BOTH(
    Neighbor_alltoallw, Ineighbor_alltoallw,
    LIST(const void *sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
         const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
         const MPI_Aint rdispls[], const MPI_Datatype recvtypes[]),
    LIST(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
         recvtypes),
    neighbours(c, blocks_typed(sendbuf, sendcounts, NULL, sdispls, sendtypes),
               blocks_typed(recvbuf, recvcounts, NULL, rdispls, recvtypes),
               request))

COLL_BOTH(Neighbor_alltoallw_c, Ineighbor_alltoallw_c,
          LIST(const void *sendbuf, const MPI_Count sendcounts[],
               const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
               void *recvbuf, const MPI_Count recvcounts[],
               const MPI_Aint rdispls[], const MPI_Datatype recvtypes[]),
          LIST(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
               rdispls, recvtypes),
          neighbours(c, blocks_typed_c(sendbuf, sendcounts, sdispls, sendtypes),
                     blocks_typed_c(recvbuf, recvcounts, rdispls, recvtypes),
                     request))
