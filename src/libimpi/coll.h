/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective operations that other parts of a back end need.
 */
#ifndef LIBIMPI_COLL_H
#define LIBIMPI_COLL_H

#include "libimpi/assist.h"
#include "libimpi/coll_run.h"

/* As the standard wants them and the world has agreed. */
struct impi_coll_rules coll_rules(void);

/* What impi_schedule_X() returned -> MPI error class. */
static inline int coll_made(int rc)
{
    return rc < 0 ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

/* What the program gave for it: MPI_ERR_BUFFER, or MPI_SUCCESS.  What is not
 * significant in this process is COLL_NO_BUFFER. */
#define COLL_NO_BUFFER MPI_IN_PLACE

/* MPI error code, given to the error handler already. */
int coll_barrier(struct impi_comm *c);
int coll_bcast(struct impi_comm *c, void *buf, int count, MPI_Datatype type,
               int root);
int coll_allreduce(struct impi_comm *c, const void *in, void *out, int count,
                   MPI_Datatype type, MPI_Op op);

/* Its steps and buffers, in a call that goes on with other things. */
int coll_make_allreduce(struct coll *x, const void *in, void *out, int count,
                        MPI_Datatype type, MPI_Op op);

/* n ints of everybody, in rank order, to everybody: Gather to 0 and Bcast.
 * On an intercommunicator over both groups, as the three above. */
int coll_allgather_ints(struct impi_comm *c, const int *own, int n, int *all);

/* A call and its nonblocking form.  PARAMS and ARGS as LIST(...), without the
 * communicator; span: what to do when it spans, with c and request. */
#define COLL_BOTH(name, iname, PARAMS, ARGS, span)                             \
    int impi_##name(PARAMS, MPI_Comm comm)                                     \
    {                                                                          \
        struct impi_comm *c = impi_span_find(comm);                            \
        MPI_Request *request = NULL;                                           \
                                                                               \
        if (!c)                                                                \
            return ASSISTED(impi_real.name(ARGS, comm));                       \
        return span;                                                           \
    }                                                                          \
    int impi_##iname(PARAMS, MPI_Comm comm, MPI_Request *request)              \
    {                                                                          \
        struct impi_comm *c = impi_span_find(comm);                            \
                                                                               \
        if (!c)                                                                \
            return impi_real.iname(ARGS, comm, request);                       \
        return span;                                                           \
    }
#define LIST(...) __VA_ARGS__

#endif
