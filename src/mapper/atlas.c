/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The atlas: records, hosts and the facts about them.  See atlas.h.
 */
#include "mapper/atlas.h"

#include <stdlib.h>
#include <string.h>

/* ---- atlas ------------------------------------------------------------- */

#define SLAB_BLOCKS 64

static void atlas_drop_slots(struct atlas *a, void *slots);

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

/* Room for one more element behind the `used` of an array, which may move.
 * False: no memory, nothing changed. */
static bool atlas_room_z(struct atlas *a, void **array, size_t size,
                         size_t used, size_t *cap)
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

/* Slots of a crossbar that is gone, for the next one. */
static void atlas_drop_slots(struct atlas *a, void *slots)
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

/* ---- atlas merge ------------------------------------------------------- */

/* Adding facts to the atlas, and what follows from them: two records with a
 * port in common are one, and then all their other ports are the same too. */

static bool tell(struct atlas *a, struct atlas_ref at)
{
    if (!atlas_room_z(a, (void **)&a->news, sizeof(*a->news), a->nnews,
                      &a->cap_news))
        return false;
    a->news[a->nnews++] = at;
    return true;
}

static bool later_same(struct atlas *a, struct atlas_ref x, struct atlas_ref y)
{
    if (!atlas_room_z(a, (void **)&a->todo, sizeof(*a->todo), a->ntodo,
                      &a->cap_todo))
        return false;
    a->todo[a->ntodo++] = (struct atlas_pair){x, y};
    return true;
}

static bool torn(struct atlas *a)
{
    a->torn = true;
    return true;
}

static void widen(struct atlas *a, struct atlas_ref at)
{
    struct atlas_rec *rec = &a->recs[at.rec];

    if (at.slot < rec->lo)
        rec->lo = (int16_t)at.slot;
    if (at.slot > rec->hi)
        rec->hi = (int16_t)at.slot;
    if (rec->hi - rec->lo >= a->ports)
        torn(a);
}

static void count(struct atlas *a, struct atlas_ref at, uint8_t before,
                  uint8_t after)
{
    struct atlas_rec *rec = &a->recs[at.rec];

    if (before == after)
        return;
    rec->nhosts = (uint16_t)(rec->nhosts + (after == SLOT_HOST));
    rec->nlinks = (uint16_t)(rec->nlinks + (after == SLOT_LINK));
}

/* Put a better state into a slot. */
static bool settle(struct atlas *a, struct atlas_ref at, uint8_t state,
                   uint32_t far, int far_slot)
{
    struct atlas_slot *slot = atlas_slot(a, at);

    count(a, at, slot->state, state);
    slot->state = state;
    slot->far = far;
    slot->far_slot = (int16_t)far_slot;
    widen(a, at);
    return tell(a, at);
}

/* One end of a link. */
static bool half_link(struct atlas *a, struct atlas_ref at, struct atlas_ref to)
{
    struct atlas_slot *slot = atlas_slot(a, at);

    if (!slot || slot->state == SLOT_HOST)
        return torn(a);
    if (slot->state == SLOT_LINK)
        return later_same(a, to, (struct atlas_ref){slot->far, slot->far_slot});
    return settle(a, at, SLOT_LINK, to.rec, to.slot);
}

static bool take_slot(struct atlas *a, struct atlas_ref to,
                      const struct atlas_slot *from)
{
    struct atlas_slot *slot = atlas_slot(a, to);

    if (!slot)
        return slot_wired(from) ? torn(a) : true;
    slot->flags |= from->flags;
    if (from->state == SLOT_HOST) {
        if (slot->state == SLOT_HOST)
            return slot->far == from->far ? true : torn(a);
        if (slot->state >= SLOT_XBAR)
            return torn(a);
        return settle(a, to, SLOT_HOST, from->far, 0);
    }
    if (from->state == SLOT_LINK)
        return half_link(a, to, (struct atlas_ref){from->far, from->far_slot});
    if (from->state == SLOT_XBAR && slot->state == SLOT_HOST)
        return torn(a);
    if (from->state == SLOT_XBAR && slot->state < SLOT_XBAR)
        return settle(a, to, SLOT_XBAR, 0, 0);
    if (from->state == SLOT_SILENT && slot->state == SLOT_UNKNOWN)
        slot->state = SLOT_SILENT;
    return true;
}

static void take_head(struct atlas *a, struct atlas_rec *to,
                      const struct atlas_rec *from, int shift)
{
    if (from->id && to->id && from->id != to->id)
        torn(a);
    if (from->entry >= 0 && to->entry >= 0 && from->entry - shift != to->entry)
        torn(a);
    if (from->entry >= 0 && to->entry < 0) {
        to->entry = (int16_t)(from->entry - shift);
        to->nports = from->nports;
    }
    if (!to->id)
        to->id = from->id;
    if (!to->name)
        to->name = from->name;
    if (from->rank < to->rank)
        to->rank = from->rank;
    if (!(from->flags & REC_NEW))
        to->flags &= (uint8_t)~REC_NEW;
    to->active = (uint16_t)(to->active + from->active);
}

/* The record `gone` is the record `stays`, its slots shifted. */
static bool absorb(struct atlas *a, uint32_t stays, uint32_t gone, int shift)
{
    struct atlas_rec *from = &a->recs[gone];
    struct atlas_slot *slots = from->slots;
    bool ok = true;

    a->merges++;
    a->nlive--;
    take_head(a, &a->recs[stays], from, shift);
    from->up = stays;
    from->shift = (int16_t)shift;
    from->slots = NULL;
    for (int i = 0; ok && i < a->nslots; i++)
        if (slots[i].state || slots[i].flags)
            ok = take_slot(a,
                           (struct atlas_ref){stays, i - a->ports + 1 + shift},
                           &slots[i]);
    atlas_drop_slots(a, slots);
    return ok && tell(a, (struct atlas_ref){stays, 0});
}

static bool make_one(struct atlas *a, struct atlas_ref x, struct atlas_ref y)
{
    x = atlas_at(a, x.rec, x.slot);
    y = atlas_at(a, y.rec, y.slot);
    if (x.rec == y.rec)
        return x.slot == y.slot ? true : torn(a);
    if (a->recs[y.rec].depth < a->recs[x.rec].depth) {
        struct atlas_ref swap = x;

        x = y;
        y = swap;
    }
    return absorb(a, x.rec, y.rec, x.slot - y.slot);
}

/* Until nothing more follows. */
static bool conclude(struct atlas *a)
{
    bool ok = true;

    while (ok && a->ntodo > 0 && !a->torn) {
        struct atlas_pair pair = a->todo[--a->ntodo];

        ok = make_one(a, pair.a, pair.b);
    }
    a->ntodo = 0;
    return ok;
}

bool atlas_same(struct atlas *a, struct atlas_ref x, struct atlas_ref y)
{
    return later_same(a, x, y) && conclude(a);
}

bool atlas_set_link(struct atlas *a, struct atlas_ref at, struct atlas_ref to)
{
    at = atlas_at(a, at.rec, at.slot);
    to = atlas_at(a, to.rec, to.slot);
    return half_link(a, at, to) && half_link(a, to, at) && conclude(a);
}

bool atlas_set_xbar(struct atlas *a, struct atlas_ref at)
{
    struct atlas_slot *slot;

    at = atlas_at(a, at.rec, at.slot);
    slot = atlas_slot(a, at);
    if (!slot || slot->state == SLOT_HOST)
        return torn(a);
    if (slot->state >= SLOT_XBAR)
        return true;
    return settle(a, at, SLOT_XBAR, 0, 0);
}

bool atlas_set_host(struct atlas *a, struct atlas_ref at, uint32_t host)
{
    struct atlas_host *h = &a->hosts[host];
    struct atlas_slot *slot;

    at = atlas_at(a, at.rec, at.slot);
    slot = atlas_slot(a, at);
    if (!slot || (slot->state == SLOT_HOST && slot->far != host) ||
        slot->state == SLOT_XBAR || slot->state == SLOT_LINK)
        return torn(a);
    if (slot->state == SLOT_HOST)
        return true;
    if (!settle(a, at, SLOT_HOST, host, 0))
        return false;
    if (h->rec == ATLAS_NONE) {
        h->rec = at.rec;
        h->slot = (int16_t)at.slot;
        return true;
    }
    return a->wary || atlas_same(a, at, (struct atlas_ref){h->rec, h->slot});
}

static uint32_t keep_name(struct atlas *a, const char *name)
{
    size_t len = strnlen(name, PROBE_NAME_MAX - 1);
    size_t at;

    if (len == 0)
        return 0;
    if (a->names_len == 0)
        a->names_len = 1; /* offset 0 means none */
    while (a->names_len + len + 1 > a->cap_names)
        if (!atlas_room_z(a, (void **)&a->names, 1, a->cap_names,
                          &a->cap_names))
            return 0;
    at = a->names_len;
    memcpy(a->names + at, name, len);
    a->names[at + len] = '\0';
    a->names_len += len + 1;
    return (uint32_t)at;
}

void atlas_name(struct atlas *a, uint32_t rec, const char *name)
{
    rec = atlas_at(a, rec, 0).rec;
    if (!a->recs[rec].name)
        a->recs[rec].name = keep_name(a, name);
}

bool atlas_set_id(struct atlas *a, uint32_t rec, const struct probe_id *id)
{
    struct atlas_ref at = atlas_at(a, rec, 0);
    struct atlas_rec *r = &a->recs[at.rec];
    uint32_t known = idmap_get(&a->by_id, id->id);
    int entry = id->entry - at.slot; /* of the living record's slot 0 */

    if (id->nports > a->ports || id->entry >= id->nports ||
        (r->id && (r->id != id->id || r->entry != entry)))
        return torn(a);
    if (known != IDMAP_NONE) {
        struct atlas_ref there = atlas_at(a, known, 0);

        return atlas_same(a, at,
                          (struct atlas_ref){
                              there.rec, id->entry - a->recs[there.rec].entry});
    }
    if (!idmap_put(&a->by_id, id->id, at.rec))
        return false;
    r->id = id->id;
    r->entry = (int16_t)entry;
    r->nports = id->nports;
    r->name = keep_name(a, id->name);
    r->flags &= (uint8_t)~REC_NEW;
    return tell(a, at);
}
