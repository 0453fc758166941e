/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files on communicators that span (doc/impi-io.md).  The program's handle is
 * the library's own, of MPI_COMM_SELF: info, error handlers and Fortran's
 * handle are its.  Views (impi/io_view.h), file pointers and collective access
 * (impi/io_plan.h) are ours; bytes go by disk.h.
 */
#ifndef LIBIMPI_FILE_H
#define LIBIMPI_FILE_H

#include "impi/io_view.h"
#include "impi/rma.h"
#include "libimpi/comm.h"
#include "libimpi/data.h"
#include "libimpi/disk.h"

/* MPI_MODE_SEQUENTIAL allows the shared pointer alone. */
enum file_pointer { FILE_AT, FILE_OWN, FILE_SHARED };

struct file {
    MPI_File handle;
    MPI_Comm comm; /* its own */
    struct impi_comm *c;
    char *name;
    int amode;
    struct disk disk;
    bool atomic;
    struct impi_io_view view;
    MPI_Datatype etype, filetype; /* copies, unless predefined */
    bool external;                /* external32 in the file */
    bool alike;                   /* all processes have the same view */
    char datarep[MPI_MAX_DATAREP_STRING];
    uint64_t pos; /* the individual pointer, in etypes */
    uint32_t naggs;
    int64_t window;
    MPI_Request split;         /* a split collective call, or null */
    int split_call;            /* the _begin of it */
    struct impi_rma_win *core; /* rank 0's memory is the shared pointer */
    int64_t shared;
    int waits; /* calls of it that wait for others */
    struct file *next;
};

/* Of a handle; NULL: the library's own alone. */
struct file *file_find(MPI_File handle);
static inline bool impi_file_spans(MPI_File fh)
{
    return file_find(fh) != NULL;
}

/* A call of it waits for others, until file_wait_ends(). */
void file_wait_begins(struct file *f);
void file_wait_ends(struct file *f);
/* The name of a file that such a call is of, and that this rank of the world
 * has opened with us; or NULL. */
const char *file_waits(uint32_t rank);

/* Note an error for the file's handler.  Returns the code. */
int file_raise(const struct file *f, int code);

/* Error classes have other numbers in other libraries: as they are told to
 * others (0: none), and back. */
int file_error_told(int code);
int file_error_heard(int64_t told);

/* The bytes of one element in the file's representation.  MPI error class. */
int file_type_size(const struct file *f, MPI_Datatype type, size_t *size);

/* ---- an access (file_data.c) ---- */

struct file_access {
    struct file *f;
    bool write;
    int count;
    MPI_Datatype type;
    struct data d;
    void *user;     /* of one in external32, with the file's bytes ... */
    char *external; /* ... here */
    char *base;     /* the bytes as they are in the file, in a row */
    uint64_t len;   /* how many */
    uint64_t etypes;
    struct impi_io_list list; /* where they go */
};

/* Look at what the program gives; MPI error class.  file_access_end() also
 * after an error. */
int file_access_begin(struct file_access *a, struct file *f, bool write,
                      enum file_pointer by, void *buf, int count,
                      MPI_Datatype type);
/* Where it is: from so many etypes on. */
int file_access_place(struct file_access *a, uint64_t etypes);
/* Do it by itself.  *ended: the file ended there. */
int file_access_alone(struct file_access *a, int64_t *ended);
/* How many of its bytes are before the file's end. */
uint64_t file_access_there(const struct file_access *a, int64_t ended);
/* It is done, up to where the file ended.  *bytes: of the program's memory. */
int file_access_end(struct file_access *a, int rc, int64_t ended,
                    uint64_t *bytes);

/* ---- collective (file_coll.c) ---- */

/* A call with all members: by FILE_AT from `etypes` on, by FILE_SHARED in the
 * order of ranks from the shared pointer on.  request NULL: wait. */
int file_together(struct file *f, bool write, enum file_pointer by,
                  uint64_t etypes, void *buf, int count, MPI_Datatype type,
                  MPI_Status *status, MPI_Request *request);

/* ---- the shared pointer (file_shared.c) ---- */

int file_shared_open(struct file *f);
void file_shared_close(struct file *f);
/* Add to it; *old: what it was. */
int file_shared_add(struct file *f, int64_t etypes, int64_t *old);

#endif
