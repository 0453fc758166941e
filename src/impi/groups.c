/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "impi/groups.h"

/* A rank's client, to be sorted: equal clients in rank order. */
struct member {
    uint32_t client, rank;
};

static int by_client(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    if (x->client != y->client)
        return x->client < y->client ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static struct member *sorted(const uint32_t *client, uint32_t size)
{
    struct member *m = malloc(size * sizeof(*m));

    if (!m)
        return NULL;
    for (uint32_t r = 0; r < size; r++)
        m[r] = (struct member){client[r], r};
    qsort(m, size, sizeof(*m), by_client);
    return m;
}

/* The first member of each client is its master: num_of[rank] of everyone
 * becomes the rank of its master. */
static void find_masters(struct impi_group *g, const struct member *m)
{
    uint32_t master = 0;

    for (uint32_t i = 0; i < g->size; i++) {
        if (i == 0 || m[i].client != m[i - 1].client)
            master = m[i].rank;
        g->num_of[m[i].rank] = master;
    }
}

/* Number the masters in rank order and turn ranks of masters to numbers. */
static void number_masters(struct impi_group *g)
{
    for (uint32_t r = 0; r < g->size; r++) {
        if (g->num_of[r] == r) {
            g->masters[g->nmasters] = r;
            g->num_of[r] = g->nmasters++;
        } else {
            g->num_of[r] = g->num_of[g->num_of[r]];
        }
    }
}

static void list_locals(struct impi_group *g)
{
    uint32_t at = 0;

    for (uint32_t r = 0; r < g->size; r++)
        g->first[g->num_of[r] + 1]++;
    for (uint32_t n = 0; n < g->nmasters; n++)
        g->first[n + 1] += g->first[n];
    for (uint32_t r = 0; r < g->size; r++) {
        at = g->first[g->num_of[r]]++;
        g->locals[at] = r;
    }
    for (uint32_t n = g->nmasters; n > 0; n--)
        g->first[n] = g->first[n - 1];
    g->first[0] = 0;
}

int impi_group_init(struct impi_group *g, const uint32_t *client, uint32_t size)
{
    struct member *m = sorted(client, size);

    *g = (struct impi_group){.size = size};
    g->num_of = calloc(size, sizeof(uint32_t));
    g->masters = calloc(size, sizeof(uint32_t));
    g->first = calloc(size + 1, sizeof(uint32_t));
    g->locals = calloc(size, sizeof(uint32_t));
    if (!m || !g->num_of || !g->masters || !g->first || !g->locals) {
        free(m);
        impi_group_free(g);
        return -1;
    }
    find_masters(g, m);
    number_masters(g);
    list_locals(g);
    free(m);
    return 0;
}

void impi_group_free(struct impi_group *g)
{
    free(g->num_of);
    free(g->masters);
    free(g->first);
    free(g->locals);
    *g = (struct impi_group){0};
}

bool impi_group_is_master(const struct impi_group *g, uint32_t r)
{
    return g->masters[g->num_of[r]] == r;
}

bool impi_group_are_local(const struct impi_group *g, uint32_t r1, uint32_t r2)
{
    return g->num_of[r1] == g->num_of[r2];
}

uint32_t impi_group_master_rank(const struct impi_group *g, uint32_t n)
{
    return g->masters[n];
}

uint32_t impi_group_local_master_num(const struct impi_group *g, uint32_t r)
{
    return g->num_of[r];
}

uint32_t impi_group_local_master_rank(const struct impi_group *g, uint32_t r)
{
    return g->masters[g->num_of[r]];
}

uint32_t impi_group_num_masters(const struct impi_group *g)
{
    return g->nmasters;
}

uint32_t impi_group_num_local_to_master(const struct impi_group *g, uint32_t n)
{
    return g->first[n + 1] - g->first[n];
}

uint32_t impi_group_num_local_to_rank(const struct impi_group *g, uint32_t r)
{
    return impi_group_num_local_to_master(g, g->num_of[r]);
}

const uint32_t *impi_group_locals_to_master(const struct impi_group *g,
                                            uint32_t n)
{
    return g->locals + g->first[n];
}

int impi_cubedim(uint32_t n)
{
    int i = 0;

    if (n == 0)
        return -1;
    while (i < 32 && (UINT64_C(1) << i) < n)
        i++;
    return i;
}

int impi_hibit(uint32_t value, int start)
{
    for (int i = start - 1; i >= 0; i--) {
        if (value & (UINT32_C(1) << i))
            return i;
    }
    return -1;
}
