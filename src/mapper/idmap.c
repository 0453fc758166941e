/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See idmap.h.
 */
#include "mapper/idmap.h"

#include <stdlib.h>
#include <string.h>

static uint32_t place(const struct idmap *map, uint64_t id)
{
    uint32_t i = (uint32_t)((id * 0x9e3779b97f4a7c15ULL) >> 32) & map->mask;

    while (map->entries[i].id && map->entries[i].id != id)
        i = (i + 1) & map->mask;
    return i;
}

uint32_t idmap_get(const struct idmap *map, uint64_t id)
{
    uint32_t i;

    if (!map->entries)
        return IDMAP_NONE;
    i = place(map, id);
    return map->entries[i].id ? map->entries[i].value : IDMAP_NONE;
}

static bool grow(struct idmap *map)
{
    uint32_t size = map->entries ? (map->mask + 1) * 2 : 64;
    struct idmap bigger = {.mask = size - 1, .used = map->used};

    bigger.entries = calloc(size, sizeof(*bigger.entries));
    if (!bigger.entries)
        return false;
    for (uint32_t i = 0; map->entries && i <= map->mask; i++)
        if (map->entries[i].id)
            bigger.entries[place(&bigger, map->entries[i].id)] =
                map->entries[i];
    free(map->entries);
    *map = bigger;
    return true;
}

bool idmap_put(struct idmap *map, uint64_t id, uint32_t value)
{
    uint32_t i;

    if ((!map->entries || map->used * 4 >= (map->mask + 1) * 3) && !grow(map))
        return false;
    i = place(map, id);
    map->used += map->entries[i].id == 0;
    map->entries[i] = (struct idmap_entry){id, value};
    return true;
}

void idmap_clear(struct idmap *map)
{
    free(map->entries);
    memset(map, 0, sizeof(*map));
}
