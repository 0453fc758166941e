/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tables of one spanning communicator.
 */
#include "libimpi/comm.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "libimpi/topo.h"

/* Native ranks follow the order of ranks: both sides of the table. */
static void fill_native(struct impi_comm *c, const uint32_t *client_of, int own)
{
    c->same = true;
    for (int i = 0; i < c->size; i++) {
        c->native[i] = -1;
        if (c->world[i] == own)
            c->rank = i;
        if (client_of[c->world[i]] != client_of[own])
            continue;
        if (c->rank == i)
            c->native_rank = c->native_size;
        if (c->native_size != i)
            c->same = false;
        c->members[c->native_size] = i;
        c->native[i] = c->native_size++;
    }
}

static int fill_group(struct impi_comm *c, const uint32_t *client_of)
{
    uint32_t *client = malloc((size_t)c->size * sizeof(*client));
    int rc;

    if (!client)
        return -1;
    for (int i = 0; i < c->size; i++)
        client[i] = client_of[c->world[i]];
    rc = impi_group_init(&c->group, client, (uint32_t)c->size);
    free(client);
    return rc;
}

static bool is_flat(const struct impi_comm *c, const bool *crowded_of)
{
    bool flat = crowded_of && c->size <= SF_IMPI_FLAT_MAX;

    for (int i = 0; flat && i < c->size; i++)
        flat = crowded_of[c->world[i]];
    return flat;
}

static int fill_units(struct impi_comm *c, const bool *crowded_of)
{
    c->units = &c->group;
    if (!is_flat(c, crowded_of))
        return 0;
    c->units = &c->flat;
    return impi_group_init(&c->flat, (const uint32_t *)c->world,
                           (uint32_t)c->size);
}

static void destroy(struct impi_comm *c)
{
    impi_group_free(&c->group);
    impi_group_free(&c->flat);
    free(c->world);
    free(c->native);
    free(c->members);
    topo_free(c->topo);
    free(c);
}

/* Which ranks are whose. */
static void fill_sides(struct impi_comm *c, int low)
{
    c->inter = low > 0;
    c->local = c->peers = c->size;
    c->straight = c->size;
    if (!c->inter)
        return;
    c->straight = 0;
    c->same = false;
    c->first = c->rank < low ? 0 : low;
    c->peer = c->rank < low ? low : 0;
    c->local = c->rank < low ? low : c->size - low;
    c->peers = c->size - c->local;
}

struct impi_comm *comm_create(const struct comm_parts *parts, int own,
                              const uint32_t *client_of, const bool *crowded_of)
{
    struct impi_comm *c = calloc(1, sizeof(*c));
    size_t bytes = (size_t)parts->size * sizeof(int);

    if (!c)
        return NULL;
    c->refs = 1;
    c->late = MPI_COMM_NULL;
    c->comm = parts->comm;
    c->p2p = parts->p2p;
    c->hidden = parts->hidden;
    c->cid = parts->cid;
    c->size = parts->size;
    c->rank = -1;
    c->queue_end = &c->queue;
    c->world = malloc(bytes);
    c->native = malloc(bytes);
    c->members = malloc(bytes);
    if (c->world && c->native && c->members) {
        memcpy(c->world, parts->world, bytes);
        fill_native(c, client_of, own);
        fill_sides(c, parts->low);
        if (fill_group(c, client_of) == 0 && fill_units(c, crowded_of) == 0)
            return c;
    }
    destroy(c);
    return NULL;
}

void comm_hold(struct impi_comm *c)
{
    c->refs++;
}

void comm_release(struct impi_comm *c)
{
    if (--c->refs > 0)
        return;
    impi_real.Comm_free(&c->hidden);
    if (c->late != MPI_COMM_NULL)
        impi_real.Comm_free(&c->late);
    if (c->inter)
        impi_real.Comm_free(&c->p2p);
    destroy(c);
}
