/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

#include "impi/pool.h"

struct node {
    struct node *next;
};

#define ALIGN alignof(max_align_t)

void impi_pool_init(struct impi_pool *pool, size_t size, size_t chunk_count)
{
    size = size < sizeof(struct node) ? sizeof(struct node) : size;
    *pool = (struct impi_pool){
        .size = (size + ALIGN - 1) / ALIGN * ALIGN,
        .chunk_count = chunk_count,
    };
}

static int grow(struct impi_pool *pool)
{
    uint8_t *chunk = malloc(ALIGN + pool->size * pool->chunk_count);

    if (!chunk)
        return -1;
    ((struct node *)chunk)->next = pool->chunks;
    pool->chunks = chunk;
    for (size_t i = pool->chunk_count; i-- > 0;)
        impi_pool_put(pool, chunk + ALIGN + i * pool->size);
    return 0;
}

void *impi_pool_get(struct impi_pool *pool)
{
    struct node *node;

    if (!pool->free_list && grow(pool) < 0)
        return NULL;
    node = pool->free_list;
    pool->free_list = node->next;
    return node;
}

void impi_pool_put(struct impi_pool *pool, void *object)
{
    struct node *node = object;

    node->next = pool->free_list;
    pool->free_list = node;
}

void impi_pool_destroy(struct impi_pool *pool)
{
    struct node *chunk = pool->chunks;

    while (chunk) {
        struct node *next = chunk->next;

        free(chunk);
        chunk = next;
    }
    pool->chunks = NULL;
    pool->free_list = NULL;
}
