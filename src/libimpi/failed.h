/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How an MPI error of a call that spans clients is told.
 *
 * The code that finds an error only notes it with its communicator (be_raise()
 * in state.h).  On the way out of the call impi_told_X(), which still has the
 * program's arguments of MPI_X, gives it to the error handler.  If nobody
 * handles it the job ends, and the message says as much as the libraries' own
 * do: function, arguments, communicator, rank.  With MPICH, whose programs are
 * used to it, MPI_Error_string tells the same of the thread's last error.
 *
 * The functions impi_failed_X are made by calls.awk from the rest below.
 */
#ifndef LIBIMPI_FAILED_H
#define LIBIMPI_FAILED_H

#include <stdint.h>

#include "base/limits.h"
#include "libimpi/calls.h"

/* MPI_Alltoallw's arguments are the longest. */
#define FAILED_CALL_MAX 400

struct failed {
    MPI_Comm comm;
    int code;
    bool of_file;
    MPI_File file;                 /* whose handler it is, if of_file */
    MPI_Win win;                   /* or that of a window; else null */
    char why[SF_IMPI_REFUSAL_MAX]; /* more than the code says, or empty */
    size_t len;
    char call[FAILED_CALL_MAX]; /* "MPI_X(a=1, b=2)" */
};

/* The error is one of a file, or (MPI_FILE_NULL) of what is none yet. */
int failed_note_file(MPI_File file, int code);
/* The name of one that spans, else NULL (file.c). */
const char *failed_file_name(MPI_File file);

/* The error is one of a window. */
int failed_note_win(MPI_Win win, int code);

/* The error is one of comm, for this reason, which a class does not tell. */
int failed_note_why(MPI_Comm comm, int code, const char *why);

/* What failed_note_why() was told last in this thread. */
const char *failed_noted_why(void);

/* False: what failed was the library's own, which has told it. */
bool failed_begin(struct failed *f, const char *function);
void failed_number(struct failed *f, const char *name, long long value);
void failed_pointer(struct failed *f, const char *name, uintptr_t value);
void failed_string(struct failed *f, const char *name, const char *value);
/* The value `null` has a name. */
void failed_handle(struct failed *f, const char *name, uintptr_t value,
                   uintptr_t null, const char *null_name);
void failed_type(struct failed *f, MPI_Datatype type);
void failed_op(struct failed *f, MPI_Op op);
void failed_comm(struct failed *f, MPI_Comm comm);
void failed_win(struct failed *f, MPI_Win win);
void failed_file(struct failed *f, MPI_File file);
/* To the error handler. */
void failed_end(struct failed *f);

#endif
