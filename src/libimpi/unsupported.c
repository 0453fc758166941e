/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI errors for what does not work across clients.  Each function gets an
 * error code of its own at its first failure, so that MPI_Error_string names
 * it.  The codes live in an error class of ours, because MPICH loses the text
 * of codes added to a predefined class; MPI_Error_class is overridden and
 * gives MPI_ERR_UNSUPPORTED_OPERATION for them.
 */
#include <stdio.h>

#include "libimpi/buffer.h"
#include "libimpi/failed.h"
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

int impi_unsupported_file(MPI_File file, int call)
{
    return failed_note_file(file, code_of(call));
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
