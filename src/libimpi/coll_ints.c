/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A small gather, for making communicators.
 */
#include <stdlib.h>
#include <string.h>

#include "libimpi/coll.h"
#include "libimpi/progress.h"

static uint32_t locals(const struct impi_comm *c, uint32_t master)
{
    return impi_group_num_local_to_master(&c->group, master);
}

/* A client's block to its places in rank order. */
static void place_block(const struct impi_comm *c, uint32_t master,
                        const int *block, int n, int *all)
{
    const uint32_t *local = impi_group_locals_to_master(&c->group, master);

    for (uint32_t i = 0; i < locals(c, master); i++)
        memcpy(all + (size_t)local[i] * (size_t)n, block + i * (size_t)n,
               (size_t)n * sizeof(int));
}

/* Masters send their client's block to rank 0, which has one place behind the
 * other for them in `blocks`. */
static int gather_blocks(struct impi_comm *c, int *block, int n, int *blocks)
{
    struct coll *x = coll_new(c);
    uint32_t nmasters = impi_group_num_masters(&c->group),
             rank = (uint32_t)c->rank;
    int *counts = coll_keep(x, calloc(2 * nmasters, sizeof(int)));

    if (!counts) {
        return coll_run_quiet(x, MPI_ERR_NO_MEM);
    }
    for (uint32_t m = 0; m < nmasters; m++) {
        counts[m] = n * (int)locals(c, m);
        if (m + 1 < nmasters)
            counts[nmasters + m + 1] = counts[nmasters + m] + counts[m];
    }
    x->in = (struct blocks){.base = (char *)blocks,
                            .counts = counts,
                            .displs = counts + nmasters,
                            .type = MPI_INT,
                            .extent = sizeof(int)};
    x->out = (struct blocks){.base = (char *)block,
                             .count = n * c->native_size,
                             .type = MPI_INT,
                             .single = true};
    return coll_run_quiet(
        x, coll_made(impi_schedule_gather_masters(&x->steps, &c->group, rank)));
}

/* Rank 0: what came, in rank order. */
static void place_all(const struct impi_comm *c, const int *own,
                      const int *blocks, int n, int *all)
{
    place_block(c, 0, own, n, all);
    blocks += (size_t)n * locals(c, 0);
    for (uint32_t m = 1; m < impi_group_num_masters(&c->group); m++) {
        place_block(c, m, blocks, n, all);
        blocks += (size_t)n * locals(c, m);
    }
}

static int local_ints(struct impi_comm *c, const int *own, int n, int *block)
{
    MPI_Request req;
    int rc = impi_real.Iallgather(own, n, MPI_INT, block, n, MPI_INT, c->hidden,
                                  &req);

    return rc == MPI_SUCCESS ? progress_native_wait(&req, MPI_STATUS_IGNORE)
                             : rc;
}

int coll_allgather_ints(struct impi_comm *c, const int *own, int n, int *all)
{
    size_t local = (size_t)c->native_size * (size_t)n, sum = c->size;
    int *block = malloc((local + sum * (size_t)n) * sizeof(int));
    int rc = MPI_ERR_NO_MEM;

    if (block)
        rc = local_ints(c, own, n, block);
    if (rc == MPI_SUCCESS)
        rc = gather_blocks(c, block, n, block + local);
    if (rc == MPI_SUCCESS && c->rank == 0)
        place_all(c, block, block + local, n, all);
    free(block);
    if (rc != MPI_SUCCESS)
        return be_raise(c->comm, rc);
    return coll_bcast(c, all, n * c->size, MPI_INT, 0);
}
