/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elan/capability.h"

void elan3_nullcap(struct elan_capability *cap)
{
    memset(cap, 0, sizeof(*cap));
    cap->Version = ELAN_CAP_VERSION_NUMBER;
    cap->Type = (uint32_t)ELAN_CAP_UNINITIALISED;
    cap->LowContext = ELAN_CAP_UNINITIALISED;
    cap->HighContext = ELAN_CAP_UNINITIALISED;
    cap->MyContext = ELAN_CAP_UNINITIALISED;
    cap->LowNode = ELAN_CAP_UNINITIALISED;
    cap->HighNode = ELAN_CAP_UNINITIALISED;
    cap->Entries = ELAN_CAP_UNINITIALISED;
}

static uint32_t node_range(const struct elan_capability *cap)
{
    return (uint32_t)(cap->HighNode - cap->LowNode) + 1;
}

static uint32_t width(const struct elan_capability *cap)
{
    return (uint32_t)(cap->HighContext - cap->LowContext) + 1;
}

static bool is_cyclic(const struct elan_capability *cap)
{
    return (cap->Type & ELAN_CAP_TYPE_MASK) == ELAN_CAP_TYPE_CYCLIC;
}

static uint32_t slot_bit(const struct elan_capability *cap, uint32_t node,
                         uint32_t slot)
{
    uint32_t offset = node - (uint32_t)cap->LowNode;

    if (is_cyclic(cap))
        return offset + slot * node_range(cap);
    return offset * width(cap) + slot;
}

bool elan_capability_bit(const struct elan_capability *cap, uint32_t bit)
{
    return bit < ELAN_MAX_VPS && (cap->Bitmap[bit / 32] >> (bit % 32) & 1) != 0;
}

bool elan_capability_has(const struct elan_capability *cap, uint32_t node,
                         uint32_t slot)
{
    if (node < (uint32_t)cap->LowNode || node > (uint32_t)cap->HighNode ||
        slot >= width(cap))
        return false;
    return elan_capability_bit(cap, slot_bit(cap, node, slot));
}

int elan3_locate(const struct elan_capability *cap, uint32_t n, uint32_t *node,
                 uint32_t *context)
{
    uint32_t slots = node_range(cap) * width(cap);

    for (uint32_t bit = 0; bit < slots; bit++) {
        if (!elan_capability_bit(cap, bit) || n-- > 0)
            continue;
        uint32_t per = is_cyclic(cap) ? node_range(cap) : width(cap);
        uint32_t offset = is_cyclic(cap) ? bit % per : bit / per;
        uint32_t slot = is_cyclic(cap) ? bit / per : bit % per;

        *node = (uint32_t)cap->LowNode + offset;
        *context = (uint32_t)cap->LowContext + slot;
        return 0;
    }
    errno = ENOENT;
    return -1;
}

/* Does the order of the bits, with the nodes ascending in Elan id, give every
 * process its number? */
static bool block_fits(const struct elan_layout *l, const uint32_t *by_id)
{
    uint32_t p = 0;

    for (uint32_t i = 0; i < l->nnodes; i++)
        for (uint32_t s = 0; s < elan_layout_tasks(l, by_id[i]); s++)
            if (elan_layout_proc(l, by_id[i], s) != p++)
                return false;
    return true;
}

static bool cyclic_fits(const struct elan_layout *l, const uint32_t *by_id)
{
    uint32_t p = 0;

    for (uint32_t s = 0; s < l->max_tasks; s++)
        for (uint32_t i = 0; i < l->nnodes; i++)
            if (s < elan_layout_tasks(l, by_id[i]) &&
                elan_layout_proc(l, by_id[i], s) != p++)
                return false;
    return true;
}

static uint32_t address_type(const struct elan_layout *l, const uint32_t *by_id)
{
    bool block = block_fits(l, by_id);
    bool cyclic = cyclic_fits(l, by_id);

    if (block != cyclic)
        return block ? ELAN_CAP_TYPE_BLOCK : ELAN_CAP_TYPE_CYCLIC;
    return (l->cyclic ? ELAN_CAP_TYPE_CYCLIC : ELAN_CAP_TYPE_BLOCK) |
           (block ? 0 : ELAN_CAP_TYPE_MAPPED);
}

static void set_bits(struct elan_capability *cap, const struct elan_layout *l,
                     uint32_t rail)
{
    for (uint32_t n = 0; n < l->nnodes; n++) {
        for (uint32_t s = 0; s < elan_layout_tasks(l, n); s++) {
            uint32_t bit = slot_bit(cap, elan_layout_id(l, rail, n), s);

            cap->Bitmap[bit / 32] |= 1u << (bit % 32);
        }
    }
}

static void id_bounds(const struct elan_layout *l, uint32_t rail, uint32_t *low,
                      uint32_t *high)
{
    *low = *high = elan_layout_id(l, rail, 0);
    for (uint32_t n = 1; n < l->nnodes; n++) {
        uint32_t id = elan_layout_id(l, rail, n);

        if (id < *low)
            *low = id;
        if (id > *high)
            *high = id;
    }
}

int elan_capability_fits(const struct elan_layout *l, uint32_t rail,
                         uint32_t ncontexts, struct errbuf *err)
{
    uint32_t low, high;
    uint64_t slots;

    id_bounds(l, rail, &low, &high);
    slots = ((uint64_t)high - low + 1) * ncontexts;
    if (slots <= ELAN_MAX_VPS)
        return 0;
    errno = E2BIG;
    return errprintf(err,
                     "Elan ids %u to %u with %u contexts a node are %llu "
                     "possible processes, a capability holds %d",
                     low, high, ncontexts, (unsigned long long)slots,
                     ELAN_MAX_VPS);
}

static int check_spec(const struct elan_capability_spec *s, struct errbuf *err)
{
    errno = EINVAL;
    if (s->rail >= s->layout->nrails)
        return errprintf(err, "rail %u of a step with %u rails", s->rail,
                         s->layout->nrails);
    if (s->ncontexts == 0 || s->ncontexts < s->layout->max_tasks)
        return errprintf(err, "%u contexts for %u tasks a node", s->ncontexts,
                         s->layout->max_tasks);
    if (s->low_context >= ELAN_MAX_CONTEXTS ||
        s->ncontexts > ELAN_MAX_CONTEXTS - s->low_context)
        return errprintf(err,
                         "contexts %u on, %u of them, are not all below "
                         "%d",
                         s->low_context, s->ncontexts, ELAN_MAX_CONTEXTS);
    return elan_capability_fits(s->layout, s->rail, s->ncontexts, err);
}

int elan_capability_build(struct elan_capability *cap,
                          const struct elan_capability_spec *spec,
                          struct errbuf *err)
{
    const struct elan_layout *l = spec->layout;
    uint32_t low, high, *by_id;

    elan3_nullcap(cap);
    if (check_spec(spec, err) < 0)
        return -1;
    by_id = elan_layout_by_id(l, spec->rail);
    if (!by_id)
        return errprintf(err, "out of memory");
    id_bounds(l, spec->rail, &low, &high);
    cap->Type = address_type(l, by_id);
    free(by_id);
    if (high - low + 1 == l->nnodes && !spec->no_broadcast)
        cap->Type |= ELAN_CAP_TYPE_BROADCASTABLE;
    cap->Type |= ELAN_CAP_TYPE_MULTI_RAIL;
    cap->RailMask = 1u << spec->rail;
    cap->UserKey = spec->key;
    cap->LowContext = (int32_t)spec->low_context;
    cap->HighContext = (int32_t)(spec->low_context + spec->ncontexts - 1);
    cap->Entries = (int32_t)l->nprocs;
    cap->LowNode = (int32_t)low;
    cap->HighNode = (int32_t)high;
    set_bits(cap, l, spec->rail);
    return 0;
}
