/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI errors for what does not work across clients.  Each function gets an
 * error code of its own at its first failure, so that MPI_Error_string names
 * it.  The codes live in an error class of ours, because MPICH loses the text
 * of codes added to a predefined class; MPI_Error_class is overridden and
 * gives MPI_ERR_UNSUPPORTED_OPERATION for them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "libimpi/buffer.h"
#include "libimpi/state.h"

static int own_class;
static int codes[IMPI_NCALLS];

static int make_code(int call)
{
    char text[MPI_MAX_ERROR_STRING];
    int code;

    if (!own_class && impi_real.Add_error_class(&own_class) != MPI_SUCCESS)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    if (impi_real.Add_error_code(own_class, &code) != MPI_SUCCESS)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    snprintf(text, sizeof(text),
             "SF-E510: %s is not supported across IMPI clients (a communicator "
             "split by the attribute IMPI_CLIENT_COLOR has it)",
             impi_calls[call].name);
    impi_real.Add_error_string(code, text);
    return code;
}

/* Two threads may make a code each; both are right, one is kept. */
static int code_of(int call)
{
    int code = __atomic_load_n(&codes[call], __ATOMIC_ACQUIRE);

    if (!code) {
        code = make_code(call);
        __atomic_store_n(&codes[call], code, __ATOMIC_RELEASE);
    }
    return code;
}

int impi_unsupported(MPI_Comm comm, int call)
{
    return be_raise(comm, code_of(call));
}

/* ---- files: errors before there is one go to MPI_FILE_NULL's handler ---- */

#ifdef IMPI_FAMILY_OPENMPI
/* Open MPI's MPI_File_call_errhandler takes MPI_FILE_NULL for a mistake of the
 * program, which it ends.  So the functions of C behind handlers are known
 * here; what Fortran makes is not seen, and its error is only returned. */
static struct file_handler {
    struct file_handler *next;
    MPI_Errhandler handler;
    MPI_File_errhandler_function *fn;
} *file_handlers;

int impi_File_create_errhandler(MPI_File_errhandler_function *fn,
                                MPI_Errhandler *errhandler)
{
    int rc = impi_real.File_create_errhandler(fn, errhandler);
    struct file_handler *h;

    if (rc != MPI_SUCCESS)
        return rc;
    h = malloc(sizeof(*h));
    if (!h)
        be_die(1, "SF-E403: no memory for an error handler");
    h->handler = *errhandler;
    h->fn = fn;
    be_lock();
    h->next = file_handlers; /* a handle that is used again is found first */
    file_handlers = h;
    be_unlock();
    return MPI_SUCCESS;
}

static void call_file_handler(MPI_Errhandler handler, int code)
{
    MPI_File none = MPI_FILE_NULL;
    struct file_handler *h;

    be_lock();
    for (h = file_handlers; h && h->handler != handler; h = h->next)
        ;
    be_unlock();
    if (h)
        h->fn(&none, &code);
}
#else
int impi_File_create_errhandler(MPI_File_errhandler_function *fn,
                                MPI_Errhandler *errhandler)
{
    return impi_real.File_create_errhandler(fn, errhandler);
}

static void call_file_handler(MPI_Errhandler handler, int code)
{
    (void)handler;
    impi_real.File_call_errhandler(MPI_FILE_NULL, code);
}
#endif

int impi_unsupported_file(int call)
{
    int code = code_of(call);
    MPI_Errhandler handler;

    if (impi_real.File_get_errhandler(MPI_FILE_NULL, &handler) != MPI_SUCCESS)
        return code;
    if (handler == MPI_ERRORS_ARE_FATAL)
        be_fatal(code);
    if (handler != MPI_ERRORS_RETURN)
        call_file_handler(handler, code);
    impi_real.Errhandler_free(&handler);
    return code;
}

int impi_Error_class(int errorcode, int *errorclass)
{
    int rc = impi_real.Error_class(errorcode, errorclass);

    if (rc == MPI_SUCCESS && own_class && *errorclass == own_class)
        *errorclass = MPI_ERR_UNSUPPORTED_OPERATION;
    if (rc == MPI_SUCCESS)
        *errorclass = buffer_error_class(*errorclass);
    return rc;
}
