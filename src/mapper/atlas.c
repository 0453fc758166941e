/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The atlas: records, hosts and the facts about them.  See atlas.h; making
 * two records one is in atlas_merge.c.
 */
#include "mapper/atlas.h"
#include "mapper/atlas_priv.h"

#include <stdlib.h>
#include <string.h>

#define SLAB_BLOCKS 64

static bool atlas_room(void **array, size_t size, uint32_t used, uint32_t *cap)
{
    uint32_t more = *cap ? *cap * 2 : 64;
    void *grown;

    if (used < *cap)
        return true;
    grown = realloc(*array, (size_t)more * size);
    if (!grown)
        return false;
    *array = grown;
    *cap = more;
    return true;
}

bool atlas_room_z(struct atlas *a, void **array, size_t size, size_t used,
                  size_t *cap)
{
    size_t more = *cap ? *cap * 2 : 256;
    void *grown;

    if (used < *cap)
        return true;
    grown = realloc(*array, more * size);
    if (!grown)
        return false;
    a->bytes += (more - *cap) * size;
    *array = grown;
    *cap = more;
    return true;
}

bool atlas_init(struct atlas *a, int ports, bool wary)
{
    memset(a, 0, sizeof(*a));
    a->ports = ports;
    a->wary = wary;
    a->nslots = 2 * ports - 1;
    return true;
}

struct atlas_slab {
    struct atlas_slab *next;
    char blocks[];
};

void atlas_clear(struct atlas *a)
{
    struct atlas_slab *slab = a->slabs;

    while (slab) {
        struct atlas_slab *next = slab->next;

        free(slab);
        slab = next;
    }
    free(a->recs);
    free(a->hosts);
    free(a->todo);
    free(a->news);
    free(a->names);
    idmap_clear(&a->by_address);
    idmap_clear(&a->by_id);
    memset(a, 0, sizeof(*a));
}

static bool more_slots(struct atlas *a)
{
    size_t block = (size_t)a->nslots * sizeof(struct atlas_slot);
    struct atlas_slab *slab = malloc(sizeof(*slab) + block * SLAB_BLOCKS);

    if (!slab)
        return false;
    a->bytes += block * SLAB_BLOCKS;
    slab->next = a->slabs;
    a->slabs = slab;
    for (int i = 0; i < SLAB_BLOCKS; i++)
        atlas_drop_slots(a, slab->blocks + (size_t)i * block);
    return true;
}

void atlas_drop_slots(struct atlas *a, void *slots)
{
    *(void **)slots = a->spare;
    a->spare = slots;
}

static struct atlas_slot *take_slots(struct atlas *a)
{
    struct atlas_slot *slots;

    if (!a->spare && !more_slots(a))
        return NULL;
    slots = a->spare;
    a->spare = *(void **)slots;
    memset(slots, 0, (size_t)a->nslots * sizeof(*slots));
    return slots;
}

uint32_t atlas_add(struct atlas *a, struct atlas_ref from)
{
    struct atlas_slot *slots = take_slots(a);
    uint32_t index = a->nrecs;
    struct atlas_rec *rec;
    uint32_t cap = a->cap_recs;

    if (!slots || !atlas_room((void **)&a->recs, sizeof(*a->recs), a->nrecs,
                              &a->cap_recs))
        return ATLAS_NONE;
    a->bytes += (a->cap_recs - cap) * sizeof(*a->recs);
    rec = &a->recs[a->nrecs++];
    memset(rec, 0, sizeof(*rec));
    rec->slots = slots;
    rec->up = index;
    rec->entry = -1;
    rec->rank = ATLAS_RANK_NONE;
    rec->from = from.rec;
    rec->from_slot = (int16_t)from.slot;
    rec->depth =
        from.rec == ATLAS_NONE ? 0 : (uint16_t)(a->recs[from.rec].depth + 1);
    a->nlive++;
    return index;
}

struct atlas_ref atlas_at(struct atlas *a, uint32_t rec, int slot)
{
    uint32_t root = rec;
    int shift = 0;

    while (a->recs[root].up != root) {
        shift += a->recs[root].shift;
        root = a->recs[root].up;
    }
    if (a->recs[rec].up != root) {
        /* Shorten the way for the next time. */
        a->recs[rec].up = root;
        a->recs[rec].shift = (int16_t)shift;
    }
    return (struct atlas_ref){root, slot + shift};
}

uint32_t atlas_host(struct atlas *a, const struct probe_host *info)
{
    uint32_t index = idmap_get(&a->by_address, info->address);
    uint32_t cap = a->cap_hosts;

    if (index != IDMAP_NONE) {
        a->hosts[index].info = *info;
        return index;
    }
    if (!atlas_room((void **)&a->hosts, sizeof(*a->hosts), a->nhosts,
                    &a->cap_hosts) ||
        !idmap_put(&a->by_address, info->address, a->nhosts))
        return ATLAS_NONE;
    a->bytes += (a->cap_hosts - cap) * sizeof(*a->hosts);
    a->hosts[a->nhosts] = (struct atlas_host){.info = *info, .rec = ATLAS_NONE};
    return a->nhosts++;
}

void atlas_window(const struct atlas *a, const struct atlas_rec *rec,
                  int *first, int *last)
{
    if (rec->entry >= 0 && rec->nports) {
        *first = -rec->entry;
        *last = rec->nports - 1 - rec->entry;
        return;
    }
    *first = rec->hi - (a->ports - 1);
    *last = rec->lo + (a->ports - 1);
}

bool atlas_way(struct atlas *a, uint32_t rec, int16_t *deltas, unsigned max,
               unsigned *n)
{
    unsigned depth = 0;

    for (struct atlas_rec *r = &a->recs[atlas_at(a, rec, 0).rec];
         r->from != ATLAS_NONE; depth++) {
        struct atlas_ref before = atlas_at(a, r->from, r->from_slot);

        if (depth == max)
            return false;
        deltas[depth] = (int16_t)before.slot;
        r = &a->recs[before.rec];
    }
    for (unsigned i = 0; i < depth / 2; i++) {
        int16_t swap = deltas[i];

        deltas[i] = deltas[depth - 1 - i];
        deltas[depth - 1 - i] = swap;
    }
    *n = depth;
    return true;
}
