/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A back end for the fake MPI: says that it was asked, answers for one
 * function, and on the first call of that one steps out of the way.
 */
#include <stdio.h>
#include <string.h>

#include "libimpi/backend.h"

impi_backend_open_f impi_backend_open;
impi_backend_symbol_f impi_backend_symbol;

static const struct impi_front *front;
static int native_only;

static double my_wtime(void)
{
    native_only = 1;
    front->rebind();
    return 99.5;
}

int impi_backend_open(const struct impi_front *f, void *mpi, char *err,
                      size_t errsize)
{
    front = f;
#ifdef REFUSE
    snprintf(err, errsize, "not today");
    return -1;
#endif
    puts("opened");
    return 0;
}

void *impi_backend_symbol(const char *name)
{
    double (*f)(void) = my_wtime;
    void *sym = NULL;

    if (!native_only && strcmp(name, "MPI_Wtime") == 0)
        memcpy(&sym, &f, sizeof(sym));
    return sym;
}
