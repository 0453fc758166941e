/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shared pointer of a file that spans: eight bytes in the memory of the
 * file's rank 0, which others change by one-sided operations (impi/rma.h).  So
 * it needs nothing of the file system, and rank 0 need not be in MPI.  Where
 * processes of another world have the file, and one of these worlds has no
 * windows (of older clients), there is none but in the collective calls of
 * those pointers, which need no such operations.
 */
#include "impi/rma_op.h"
#include "libimpi/background.h"
#include "libimpi/file.h"
#include "libimpi/foreign.h"
#include "libimpi/progress.h"
#include "libimpi/win_wire.h"

/* Rank 0 serves others from now on, or no more. */
static void serve(int more)
{
    be_lock();
    impi_be.windows += more;
    be_serve(more);
    be_unlock();
    background_wake();
}

int file_shared_open(struct file *f)
{
    if (f->c->foreign && !foreign_all_can(f->c, IMPI_SIDE_WINDOWS))
        return MPI_SUCCESS;
    be_lock();
    f->core = impi_rma_win_create(win_engine(), f->c->cid,
                                  (const uint32_t *)f->c->world,
                                  (uint32_t)f->c->size, (uint32_t)f->c->rank);
    if (f->core &&
        impi_rma_win_memory(f->core, &f->shared,
                            f->c->rank == 0 ? sizeof(f->shared) : 0) < 0) {
        impi_rma_win_free(f->core);
        f->core = NULL;
    }
    be_unlock();
    if (!f->core)
        return MPI_ERR_NO_MEM;
    if (f->c->rank == 0)
        serve(1);
    return MPI_SUCCESS;
}

void file_shared_close(struct file *f)
{
    if (!f->core)
        return;
    if (f->c->rank == 0)
        serve(-1);
    be_lock();
    impi_rma_win_free(f->core);
    f->core = NULL;
    be_unlock();
}

int file_shared_add(struct file *f, int64_t etypes, int64_t *old)
{
    struct impi_rma_op op = {0};
    struct waiter w = {.native = false};
    struct impi_rma_args args = {.kind = IMPI_RMA_GACC,
                                 .count = 1,
                                 .len = sizeof(etypes),
                                 .op = IMPI_RMA_SUM,
                                 .elem = IMPI_RMA_INT64,
                                 .data = &etypes,
                                 .result = old};
    int rc = MPI_SUCCESS;

    if (!f->core)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    file_wait_begins(f);
    be_lock();
    impi_be.windows++; /* the answer is one of its messages */
    if (impi_rma_start(f->core, &args, &op) < 0)
        rc = MPI_ERR_NO_MEM;
    while (rc == MPI_SUCCESS && !op.done)
        progress_wait(&w);
    impi_be.windows--;
    be_unlock();
    file_wait_ends(f);
    if (rc == MPI_SUCCESS && op.error != IMPI_RMA_OK)
        rc = MPI_ERR_OTHER;
    return rc;
}
