/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of a world: what its processes look up in it, laid out once per
 * node by the agent and read in place by all processes of the node.  An image
 * is bytes without pointers, in the machine's own order: it never leaves the
 * node.  No secret is in it.
 */
#ifndef SF_IMPI_TABLE_H
#define SF_IMPI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "impi/groups.h"
#include "impi/world.h"

struct impi_table_place {
    struct impi_place place;
    uint32_t neighbours; /* processes of its machine, whatever their client */
};

/* An image, to look things up.  It borrows all of it. */
struct impi_table {
    uint32_t nclients, nhosts, nprocs, nplaces;
    const struct impi_host *hosts;         /* [nhosts] */
    const struct impi_table_place *places; /* [nplaces] */
    const uint16_t *place;                 /* [nprocs] of each rank, or, with */
    const uint32_t *wide_place;            /* more than 65 536 places, this */
    const uint32_t *pid;                   /* [nprocs] lower half */
    const uint16_t *port;                  /* [nprocs] */
    /* As MPI_COMM_WORLD wants them: */
    const int *identity;     /* [nprocs] 0, 1, 2, ... */
    struct impi_group group; /* by client; not to be freed */
    uint32_t nnatives;       /* clients with processes on this node */
    const uint32_t *natives; /* [nnatives] their numbers */
    const int *native_ranks; /* [nnatives][nprocs], -1: another client's */
};

/* The image of a world with procs for a node with processes of these clients,
 * each once.  free() it.  0, or -1 with errno ENOMEM. */
int impi_table_build(uint8_t **image, size_t *len, const struct impi_world *w,
                     const uint32_t *clients, uint32_t nclients);

/* Look at an image, aligned to 8 bytes, that belongs to the world's head w and
 * stays for the table's life; every index in it is checked.  0, or -1 with
 * errno EPROTO and a text. */
int impi_table_open(struct impi_table *t, const struct impi_world *w,
                    const void *image, size_t len, struct errbuf *err);

/* Of a rank. */
static inline const struct impi_table_place *
impi_table_place(const struct impi_table *t, uint32_t rank)
{
    return &t->places[t->place ? t->place[rank] : t->wide_place[rank]];
}

/* [nprocs] rank of each process in the native world of a client, -1: it is
 * another's.  NULL: the client has no process on this node. */
const int *impi_table_native(const struct impi_table *t, uint32_t client);

/* The longest image there is: 32 clients on a node. */
#define IMPI_TABLE_MAX ((size_t)64 * 1024 * 1024)

#endif
