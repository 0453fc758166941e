/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Type_free and MPI_Op_free.  A program may free a type or an operation
 * as soon as it has started a nonblocking call with it; a collective call of
 * ours may still have steps to begin.  While one runs, what is freed waits; so
 * does what a persistent one was made with, as long as there is that.
 */
#include <stdlib.h>

#include "libimpi/coll_init.h"
#include "libimpi/coll_run.h"
#include "libimpi/late_free.h"
#include "libimpi/state.h"

static struct late {
    MPI_Datatype type;
    MPI_Op op;
    struct late *next;
} * list;

static void free_now(struct late *l)
{
    if (l->type != MPI_DATATYPE_NULL)
        impi_real.Type_free(&l->type);
    if (l->op != MPI_OP_NULL)
        impi_real.Op_free(&l->op);
}

void late_free_all(void)
{
    struct late **p = &list;

    while (*p) {
        struct late *l = *p;

        if (coll_init_uses(l->type, l->op)) {
            p = &l->next;
            continue;
        }
        *p = l->next;
        free_now(l);
        free(l);
    }
}

/* Whether it is to wait. */
static bool keep(MPI_Datatype type, MPI_Op op)
{
    struct late *l = NULL;

    be_lock();
    if ((coll_any() || coll_init_uses(type, op)) && (l = malloc(sizeof(*l)))) {
        *l = (struct late){type, op, list};
        list = l;
    }
    be_unlock();
    return l != NULL;
}

int impi_Type_free(MPI_Datatype *datatype)
{
    if (*datatype == MPI_DATATYPE_NULL || !keep(*datatype, MPI_OP_NULL))
        return impi_real.Type_free(datatype);
    *datatype = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

int impi_Op_free(MPI_Op *op)
{
    if (*op == MPI_OP_NULL || !keep(MPI_DATATYPE_NULL, *op))
        return impi_real.Op_free(op);
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}
