/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Dist_graph_create and MPI_Dist_graph_create_adjacent on spanning
 * communicators: each process keeps the edges that end or begin at it.
 */
#include <stdlib.h>

#include "libimpi/assist.h"
#include "libimpi/coll.h"
#include "libimpi/state.h"
#include "libimpi/topo.h"

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
