/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Open addressing with linear probing; a free slot ends a search, a removed
 * entry keeps its handle with data NULL until the table is made anew.
 */
#include "libimpi/span.h"

#include <stdint.h>
#include <stdlib.h>

#define SPAN_MIN_SLOTS 16

struct span_table {
    size_t slots; /* a power of two, at least twice the entries */
    size_t used;  /* entries, removed ones included */
    struct impi_span_entry *entry[];
};

static struct impi_span_entry nothing = {.comm = MPI_COMM_NULL};
struct impi_span_cache impi_span_cache = {
    .plain = MPI_COMM_NULL,
    .hot = &nothing,
};
static struct span_table *table;

static size_t hash(MPI_Comm comm, size_t slots)
{
    uint64_t h = (uint64_t)(uintptr_t)comm * 0x9e3779b97f4a7c15ULL;

    return (h >> 32) & (slots - 1);
}

static struct impi_span_entry *find(const struct span_table *t, MPI_Comm comm)
{
    struct impi_span_entry *e;

    for (size_t i = hash(comm, t->slots);; i = (i + 1) & (t->slots - 1)) {
        e = __atomic_load_n(&t->entry[i], __ATOMIC_ACQUIRE);
        if (!e || e->comm == comm)
            return e;
    }
}

struct impi_comm *impi_span_lookup(MPI_Comm comm)
{
    const struct span_table *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
    const struct impi_span_entry *e = t ? find(t, comm) : NULL;
    struct impi_comm *data;

    data = e ? __atomic_load_n(&e->data, __ATOMIC_ACQUIRE) : NULL;
    if (data)
        __atomic_store_n(&impi_span_cache.hot, e, __ATOMIC_RELEASE);
    else
        __atomic_store_n(&impi_span_cache.plain, comm, __ATOMIC_RELAXED);
    return data;
}

static void put(struct span_table *t, struct impi_span_entry *e)
{
    size_t i = hash(e->comm, t->slots);

    while (t->entry[i])
        i = (i + 1) & (t->slots - 1);
    __atomic_store_n(&t->entry[i], e, __ATOMIC_RELEASE);
    t->used++;
}

/* A table with room for one more; the old one stays for its readers. */
static int grow(void)
{
    struct span_table *t;
    size_t live = 0, slots = SPAN_MIN_SLOTS;

    if (table && 2 * (table->used + 1) <= table->slots)
        return 0;
    for (size_t i = 0; table && i < table->slots; i++)
        live += table->entry[i] && table->entry[i]->data;
    while (slots < 4 * (live + 1))
        slots *= 2;
    t = calloc(1, sizeof(*t) + slots * sizeof(t->entry[0]));
    if (!t)
        return -1;
    t->slots = slots;
    for (size_t i = 0; table && i < table->slots; i++)
        if (table->entry[i] && table->entry[i]->data)
            put(t, table->entry[i]);
    __atomic_store_n(&table, t, __ATOMIC_RELEASE);
    return 0;
}

int impi_span_add(MPI_Comm comm, struct impi_comm *data)
{
    struct impi_span_entry *e = table ? find(table, comm) : NULL;

    if (!e) {
        if (grow() < 0 || !(e = calloc(1, sizeof(*e))))
            return -1;
        e->comm = comm;
        e->data = data;
        put(table, e);
    }
    __atomic_store_n(&e->data, data, __ATOMIC_RELEASE);
    __atomic_store_n(&impi_span_cache.hot, e, __ATOMIC_RELEASE);
    if (impi_span_cache.plain == comm)
        __atomic_store_n(&impi_span_cache.plain, MPI_COMM_NULL,
                         __ATOMIC_RELAXED);
    return 0;
}

void impi_span_remove(MPI_Comm comm)
{
    struct impi_span_entry *e = table ? find(table, comm) : NULL;

    if (e)
        __atomic_store_n(&e->data, NULL, __ATOMIC_RELEASE);
}
