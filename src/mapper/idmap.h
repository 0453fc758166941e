/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From a 64-bit number that is not 0 (board address, crossbar id) to a 32-bit
 * index: open addressing, entries are never removed.  Zeroed = empty.
 */
#ifndef SF_MAPPER_IDMAP_H
#define SF_MAPPER_IDMAP_H

#include <stdbool.h>
#include <stdint.h>

#define IDMAP_NONE UINT32_MAX

struct idmap_entry {
    uint64_t id;
    uint32_t value;
};

struct idmap {
    struct idmap_entry *entries;
    uint32_t mask; /* size - 1; entries is NULL or a power of two long */
    uint32_t used;
};

/* The value, or IDMAP_NONE. */
uint32_t idmap_get(const struct idmap *map, uint64_t id);
/* Add an id, or give it another value.  False: no memory, nothing changed. */
bool idmap_put(struct idmap *map, uint64_t id, uint32_t value);
void idmap_clear(struct idmap *map);

#endif
