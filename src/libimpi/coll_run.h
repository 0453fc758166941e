/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective calls under way.  One is made by coll_new(), filled with the
 * steps of impi/schedule.h and the buffers that they name, and handed to
 * coll_run(), which waits for it (a blocking call) or gives a request (a
 * nonblocking one).  Calls on one communicator run one after the other, in
 * the order in which they were made: their messages could not be told apart
 * otherwise.  Local steps are the native library's, on the hidden duplicate
 * and nonblocking: a process with something pending must not block.
 */
#ifndef LIBIMPI_COLL_RUN_H
#define LIBIMPI_COLL_RUN_H

#include "impi/schedule.h"
#include "libimpi/blocks.h"
#include "libimpi/comm.h"

struct req;

#define COLL_MEMORY 5

struct coll {
    /* Stay with it for the next call. */
    struct impi_schedule steps;
    MPI_Request *native;
    struct req **cross;
    int native_room, cross_room;

    /* All zero to begin with. */
    struct impi_comm *c;
    void *buf[IMPI_NBUFS]; /* all but out and in: count elements of type */
    unsigned given;        /* a bit for each that is the program's */
    int count;
    MPI_Datatype type;
    MPI_Op op;
    struct blocks out, in;
    /* Before each part, and of all (schedule.h): elements, or bytes at `wire`.
     */
    const int64_t *cuts;
    char *wire;
    /* Of the ranks' blocks the elements, and those before them, by rank and in
     * the order of the parts. */
    const int *lens, *by_rank, *places;
    int32_t tag;               /* for the maker of the steps */
    void *memory[COLL_MEMORY]; /* freed at the end */
    unsigned nmemory;
    /* What IMPI_STEP_LOCAL_OTHER does. */
    int (*local)(struct coll *x);
    /* When all steps are done, under the lock: an MPI error code.  Also takes
     * apart what arg points to when rc says that it failed. */
    int (*finish)(struct coll *x, int rc);
    void *arg;
    uint64_t bytes; /* for the status, of an access to a file ... */
    bool of_file;   /* ... whose error handler is the one to be told */
    MPI_File file;

    /* Of coll_run.c. */
    size_t next; /* step */
    int nnative, ncross;
    int rc;
    bool done;
    bool waits;  /* its caller does, and so may a step for some microseconds */
    bool agreed; /* coll_agree.h: on what was done so far */
    int agreeing, said;
    int *heard;         /* from each client, and from the own one */
    struct coll *queue; /* the next one on this communicator */
    struct coll *link;  /* running, or free */
};

struct coll *coll_new(struct impi_comm *c);
/* A buffer of the program, which may be MPI_BOTTOM: null does not say that
 * there is none. */
void coll_use(struct coll *x, enum impi_step_buf buf, const void *p);
/* Memory that lives as long as the call: freed with it.  Returns p. */
void *coll_keep(struct coll *x, void *p);

/* rc: how making it went; an error frees it.  request NULL: wait.  Returns an
 * MPI error code that the error handler has had. */
int coll_run(struct coll *x, int rc, MPI_Request *request);
/* The same, waiting, without the error handler. */
int coll_run_quiet(struct coll *x, int rc);
/* The same; *bytes: its own. */
int coll_run_bytes(struct coll *x, int rc, uint64_t *bytes);

/* Another native request that the step under way waits for. */
MPI_Request *coll_native(struct coll *x);
/* rc: of the native call that was to make that request; if it failed there is
 * none. */
int coll_started(struct coll *x, int rc);

/* ---- for coll_agree.c ---- */

/* Start a message to or from a process of another client. */
struct message;
int coll_cross(struct coll *x, const struct message *m, bool recv);
/* Keep the first error. */
void coll_note(struct coll *x, int rc);

/* ---- coll_run.c ---- */

/* It is done: its error code; frees it.  Under the lock, as what follows. */
int coll_end(struct coll *x);
bool coll_waits_native(const struct coll *x);
/* One round over all that run. */
void coll_progress(void);
bool coll_any(void);

#endif
