/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Persistent collective calls: their arguments, and what starts them.
 */
#include "libimpi/coll_init.h"

#include <stdlib.h>

#include "libimpi/comm_make.h"
#include "libimpi/compound.h"
#include "libimpi/late_free.h"
#include "libimpi/persist.h"
#include "libimpi/state.h"
#include "libimpi/topo.h"

static struct coll_init *all;

/* All there is of it, its place in the list apart. */
static void destroy(struct coll_init *i)
{
    impi_Comm_free(&i->comm);
    free(i->types);
    free(i);
}

int coll_init_new(struct impi_comm *c, int call, size_t size, void **made)
{
    struct coll_init *i;
    int rc;

    if (comm_strict())
        return impi_unsupported(c->comm, call);
    i = calloc(1, size);
    if (!i)
        return be_raise(c->comm, MPI_ERR_NO_MEM);
    i->op = MPI_OP_NULL;
    rc = comm_dup_own(c, &i->comm);
    if (rc != MPI_SUCCESS) {
        free(i);
        return rc;
    }
    *made = i;
    return MPI_SUCCESS;
}

void coll_init_type(struct coll_init *i, MPI_Datatype type)
{
    MPI_Datatype *types;

    if (i->ntypes == i->room) {
        i->room = i->room ? 2 * i->room : 2;
        types = realloc(i->types, (size_t)i->room * sizeof(*types));
        if (!types)
            be_die(1, "SF-E403: no memory for a collective call");
        i->types = types;
    }
    i->types[i->ntypes++] = type;
}

void coll_init_types(struct coll_init *i, const void *buf,
                     const MPI_Datatype *types, int n)
{
    for (int k = 0; buf != MPI_IN_PLACE && types && k < n; k++)
        coll_init_type(i, types[k]);
}

int coll_init_request(struct coll_init *i, struct impi_comm *c,
                      MPI_Request *request)
{
    int rc = persist_coll(i, impi_span_find(i->comm), request);

    if (rc != MPI_SUCCESS) {
        destroy(i);
        return be_raise(c->comm, rc);
    }
    be_lock();
    i->next = all;
    all = i;
    be_unlock();
    return MPI_SUCCESS;
}

int coll_init_start(struct coll_init *i, struct req *r, struct impi_comm *c)
{
    struct compound *parts = compound_new(1);
    int rc;

    if (!parts)
        return MPI_ERR_NO_MEM;
    rc = i->start(i, &parts->part[0]);
    if (rc == MPI_SUCCESS) {
        req_compound(r, c, parts);
    } else {
        r->raised = true;
        compound_free(parts);
    }
    return rc;
}

void coll_init_free(struct coll_init *i)
{
    struct coll_init **p = &all;

    if (!i)
        return;
    while (*p != i)
        p = &(*p)->next;
    *p = i->next;
    destroy(i);
    if (!coll_any())
        late_free_all();
}

static bool uses(const struct coll_init *i, MPI_Datatype type, MPI_Op op)
{
    if (op != MPI_OP_NULL)
        return i->op == op;
    for (int k = 0; k < i->ntypes; k++) {
        if (i->types[k] == type)
            return true;
    }
    return false;
}

bool coll_init_uses(MPI_Datatype type, MPI_Op op)
{
    for (const struct coll_init *i = all; i; i = i->next) {
        if (uses(i, type, op))
            return true;
    }
    return false;
}

#include "libimpi/calls_init.h"
