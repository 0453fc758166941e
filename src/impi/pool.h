/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A pool of objects of one size: allocation without malloc in the steady
 * state.  Memory goes back to the system only with the pool.
 */
#ifndef SF_IMPI_POOL_H
#define SF_IMPI_POOL_H

#include <stddef.h>

struct impi_pool {
    size_t size;        /* of an object */
    size_t chunk_count; /* objects allocated at a time */
    void *free_list;
    void *chunks;
};

/* size is rounded up to the alignment of malloc(). */
void impi_pool_init(struct impi_pool *pool, size_t size, size_t chunk_count);
/* Uninitialised memory, or NULL with errno ENOMEM. */
void *impi_pool_get(struct impi_pool *pool);
void impi_pool_put(struct impi_pool *pool, void *object);
/* Free all; objects still out are gone. */
void impi_pool_destroy(struct impi_pool *pool);

#endif
